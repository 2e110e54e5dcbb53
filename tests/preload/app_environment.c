// SPDX-License-Identifier: MIT
/*
 * app_environment WAY: changes its environment as some daemons do, then makes a
 * set of one semaphore with key 0x7e, or executes app_environment to make it,
 * as WAY says. Exit status 0 if the set was made.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int make(void)
{
	return semget(0x7e, 1, IPC_CREAT | 0600) < 0 ? errno : 0;
}

/* The kernel's argument area is overwritten, too, as setproctitle does. */
static int overwritten(void)
{
	char **e;

	for (e = environ; *e; e++)
		memset(*e, 'x', strlen(*e));
	return make();
}

static int waited(pid_t pid)
{
	int status = 1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static char self[4096];
static char *const argv[] = {self, "make", NULL};
static char *const empty[] = {NULL};
static char *const made_up[] = {"PATH=/bin", "LANG=C", NULL};
static char *const other_preload[] = {
	"PATH=/bin", "LD_PRELOAD=/nonexistent.so", NULL};

static int spawned(char *const *env, int by_path)
{
	pid_t pid;
	int err = (by_path ? posix_spawnp : posix_spawn)(
		&pid, self, NULL, NULL, argv, env);

	return err ? err : waited(pid);
}

static void execute(const char *way)
{
	int fd;

	if (!strcmp(way, "execve"))
		execve(self, argv, empty);
	if (!strcmp(way, "execve-null"))
		execve(self, argv, NULL);
	if (!strcmp(way, "execve-invented"))
		execve(self, argv, made_up);
	if (!strcmp(way, "execve-preload"))
		execve(self, argv, other_preload);
	if (!strcmp(way, "execvpe"))
		execvpe(self, argv, made_up);
	if (!strcmp(way, "execle"))
		execle(self, self, "make", NULL, made_up);
	if (!strcmp(way, "fexecve")) {
		fd = open(self, O_RDONLY);
		fexecve(fd, argv, made_up);
	}
	clearenv();
	if (!strcmp(way, "execv"))
		execv(self, argv);
	if (!strcmp(way, "execvp"))
		execvp(self, argv);
	if (!strcmp(way, "execl"))
		execl(self, self, "make", NULL);
	if (!strcmp(way, "execlp"))
		execlp(self, self, "make", NULL);
	_exit(97);
}

int main(int argc, char **args)
{
	const char *way = argc > 1 ? args[1] : "";
	pid_t pid;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 96;
	if (!strcmp(way, "make"))
		return make();
	if (!strcmp(way, "clearenv"))
		return clearenv() ? 95 : make();
	if (!strcmp(way, "null")) {
		environ = NULL;
		return make();
	}
	if (!strcmp(way, "overwritten"))
		return overwritten();
	if (!strcmp(way, "posix_spawn"))
		return spawned(made_up, 0);
	if (!strcmp(way, "posix_spawnp"))
		return spawned(empty, 1);
	if (!strncmp(way, "vfork-", 6)) {
		pid = vfork();
		if (!pid)
			execute(way + 6);
		return waited(pid);
	}
	pid = fork();
	if (!pid)
		execute(way);
	return waited(pid);
}
