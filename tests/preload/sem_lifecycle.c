// SPDX-License-Identifier: MIT
/*
 * sem_lifecycle: semaphores at odd moments of a process's life.
 *
 * Before main and after it, with every descriptor closed, in children of each
 * kind that Linux can make, and in new images. The program executes itself;
 * the first argument then names the part to play, the second the set. Of the
 * set's semaphores 0 is what children do, 1 what exit handlers do, 2 what the
 * constructor does (if the environment variable T_CTOR names the set).
 */
#include "t.h"
#include <dirent.h>
#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

static char id_text[16];
static int set;

__attribute__((constructor)) static void before_main(void)
{
	const char *text = getenv("T_CTOR");

	if (text)
		semop(atoi(text), OPS({2, 1, 0}));
}

static int exit_set = -1;

__attribute__((destructor)) static void after_main(void)
{
	if (exit_set >= 0)
		semop(exit_set, OPS({1, 100, 0}));
}

static void at_exit(void)
{
	semop(exit_set, OPS({1, 1, 0}));
}

/* The numbers of all open descriptors. */
static void list_fds(char *text, size_t size)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t len = 0;

	text[0] = '\0';
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
			atoi(entry->d_name) != dirfd(dir))
			len += (size_t)snprintf(
				text + len, size - len, "%s ", entry->d_name);
	if (dir)
		closedir(dir);
}

static void close_all(void)
{
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
}

/* A fresh image: no descriptor may stay open behind the first calls. */
static int part_fds(int id)
{
	char before[4096], after[4096];
	int own, next, bad = 0;

	next = dup(0);
	close(next);
	list_fds(before, sizeof(before));
	bad += semctl(id, 0, GETVAL) < 0;
	list_fds(after, sizeof(after));
	bad += strcmp(before, after) != 0;
	own = semget(IPC_PRIVATE, 1, 0600);
	bad += semop(own, OPS({0, 1, U})) != 0;
	bad += semctl(own, 0, IPC_RMID) != 0;
	list_fds(after, sizeof(after));
	bad += strcmp(before, after) != 0;
	/* nor may the next descriptor be another one */
	bad += dup(0) != next;
	return bad;
}

static int play(const char *part, int id)
{
	if (strcmp(part, "add") == 0)
		return t_code(semop(id, OPS({0, 1, 0})));
	if (strcmp(part, "take-undo") == 0)
		return t_code(semop(id, OPS({0, -1, U})));
	if (strcmp(part, "fds") == 0)
		return part_fds(id);
	if (strcmp(part, "closed") == 0) {
		close_all();
		return t_code(semop(id, OPS({0, 1, 0})));
	}
	if (strcmp(part, "ends") == 0) {
		exit_set = id;
		atexit(at_exit);
		return 0;
	}
	return 99;
}

static void become_part(const char *part)
{
	execl("/proc/self/exe", "sem_lifecycle", part, id_text, (char *)NULL);
	_exit(98);
}

static void play_in_new_image(const char *part)
{
	int child = t_fork();

	if (child == 0)
		become_part(part);
	t_say("-- a new image: %s", part);
	t_eq(t_join(child), 0);
}

static void new_images(void)
{
	char *args[] = {"sem_lifecycle", "add", id_text, NULL};
	pid_t child;

	play_in_new_image("add");
	t_row(set, GETVAL, "1 0 0");
	play_in_new_image("take-undo");
	t_row(set, GETVAL, "1 0 0");
	play_in_new_image("fds");
	play_in_new_image("closed");
	t_row(set, GETVAL, "2 0 0");
	play_in_new_image("ends");
	t_row(set, GETVAL, "2 101 0");
	setenv("T_CTOR", id_text, 1);
	play_in_new_image("add");
	t_row(set, GETVAL, "3 101 1");
	play_in_new_image("ends");
	t_row(set, GETVAL, "3 202 2");
	unsetenv("T_CTOR");

	t_story("posix_spawn");
	t_eq(posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ),
		0);
	t_eq(t_join(child), 0);
	t_row(set, GETVAL, "4 202 2");
	t_pid_is(set, 0, child);
	t_eq(semctl(set, 0, SETALL, VALS(0, 0, 0)), 0);
}

static void exit_handlers_here(void)
{
	int child;

	t_story("exit handlers of a forked child");
	child = t_fork();
	if (child == 0) {
		exit_set = set;
		atexit(at_exit);
		exit(5);
	}
	t_eq(t_join(child), 5);
	t_row(set, GETVAL, "0 101 0");
	t_pid_is(set, 1, child);
	t_eq(semctl(set, 1, SETVAL, 0), 0);
}

static void without_descriptors(void)
{
	const struct rlimit nothing = {0, 0};
	int child;

	t_story("every descriptor closed");
	child = t_fork();
	if (child == 0) {
		int own, bad = 0;

		close_all();
		bad += semop(set, OPS({0, 2, 0})) != 0;
		bad += semop(set, OPS({0, -1, U})) != 0;
		bad += semop(set, OPS({1, -1, NW})) != -1 || errno != EAGAIN;
		own = semget(IPC_PRIVATE, 3, 0600);
		bad += own < 0 || semctl(own, 0, SETVAL, 1) != 0;
		bad += semctl(own, 0, IPC_RMID) != 0;
		/* the lowest descriptor is still the next */
		bad += dup(0) != -1 || open("/", O_RDONLY) != 0;
		_exit(bad);
	}
	t_eq(t_join(child), 0);
	t_row(set, GETVAL, "2 0 0");

	t_story("and none allowed");
	child = t_fork();
	if (child == 0) {
		int own, bad = 0;

		bad += setrlimit(RLIMIT_NOFILE, &nothing) != 0;
		bad += semop(set, OPS({0, -1, U})) != 0;
		own = semget(IPC_PRIVATE, 1000, 0600);
		bad += own < 0 || semctl(own, 0, IPC_RMID) != 0;
		_exit(bad);
	}
	t_eq(t_join(child), 0);
	t_row(set, GETVAL, "2 0 0");

	t_story("descriptors 0, 1, 2 closed before the sleep, woken after");
	child = t_fork();
	if (child == 0) {
		close_all();
		_exit(t_code(semop(set, OPS({0, -3, 0}))));
	}
	t_wait_blocked(set, 0, GETNCNT, 1);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_eq(t_join(child), 0);
	t_row(set, GETVAL, "0 0 0");
}

static void forks(void)
{
	static volatile pid_t child;
	static volatile int seen;
	int actor;

	t_story("fork, fork in the child, and again");
	actor = t_fork();
	if (actor == 0) {
		for (int depth = 0; depth < 5; depth++) {
			int next = t_fork();

			if (next != 0)
				_exit(t_join(next) +
					t_code(semop(set, OPS({0, 1, 0}))));
		}
		_exit(semctl(set, 0, GETVAL));
	}
	t_eq(t_join(actor), 0);
	t_row(set, GETVAL, "5 0 0");
	t_pid_is(set, 0, actor);

	t_story("a vfork child has a pid and adjustments of its own");
	actor = t_fork();
	if (actor == 0) {
		t_eq(semop(set, OPS({0, -1, U})), 0);
		child = vfork();
		if (child == 0) {
			semop(set, OPS({0, -2, U}, {1, 3, 0}));
			seen = semctl(set, 0, GETVAL);
			_exit(7);
		}
		t_eq(t_join(child), 7);
		t_eq(seen, 2);
		t_row(set, GETVAL, "4 3 0");
		t_pid_is(set, 0, child);
		t_pid_is(set, 1, child);
		t_eq(semop(set, OPS({1, -3, 0})), 0);
		t_pid_is(set, 1, getpid());
		t_eq(semop(set, OPS({0, -1, U})), 0);
		t_row(set, GETVAL, "3 0 0");
		_exit(t_failed);
	}
	t_eq(t_join(actor), 0);
	t_row(set, GETVAL, "5 0 0");
	t_pid_is(set, 0, actor);

	t_story("a vfork child that executes");
	child = vfork();
	if (child == 0)
		become_part("add");
	t_eq(t_join(child), 0);
	t_row(set, GETVAL, "6 0 0");
	t_pid_is(set, 0, child);

	t_story("a raw clone");
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		int err = t_code(semop(set, OPS({0, -2, U}, {1, 1, 0})));

		_exit(err);
	}
	t_eq(t_join(child), 0);
	t_row(set, GETVAL, "6 1 0");
	t_pid_is(set, 0, child);
	t_pid_is(set, 1, child);
	t_eq(semop(set, OPS({1, -1, 0})), 0);
	t_true(semctl(set, 1, GETPID) == getpid());
}

static void daemon_like(void)
{
	int child;

	t_story("a daemon: fork, setsid, fork, everything closed");
	t_eq(semctl(set, 0, SETALL, VALS(0, 0, 0)), 0);
	child = t_fork();
	if (child == 0) {
		if (setsid() < 0 || chdir("/") < 0)
			_exit(1);
		if (t_fork() != 0)
			_exit(0);
		close_all();
		/* start, then serve one request, then end and give back */
		semop(set, OPS({0, 1, 0}, {2, 1, U}));
		semop(set, OPS({1, -1, 0}));
		_exit(0);
	}
	t_eq(t_join(child), 0);
	t_eq(semop(set, OPS({0, -1, 0})), 0);
	t_eq(semctl(set, 2, GETVAL), 1);
	t_eq(semop(set, OPS({1, 1, 0})), 0);
	/* its end is seen by nobody but the semaphore */
	t_eq(semop(set, OPS({2, 0, 0})), 0);
	t_row(set, GETVAL, "0 0 0");
}

static void after_parent(void)
{
	int child, me = getpid();

	t_story("a set made by a child is there for all");
	child = t_fork();
	if (child == 0) {
		int id = semget(0x7a01, 2, IPC_CREAT | IPC_EXCL | 0600);

		semctl(id, 1, SETVAL, 9);
		_exit(id < 0);
	}
	t_eq(t_join(child), 0);
	int id = semget(0x7a01, 2, 0600);
	t_row(id, GETVAL, "0 9");
	t_pid_is(id, 1, child);
	t_eq(semop(id, OPS({1, -9, 0})), 0);
	t_pid_is(id, 1, me);
	t_rm(id);
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return play(argv[1], atoi(argv[2]));
	t_begin();
	set = t_set(3, NULL);
	snprintf(id_text, sizeof(id_text), "%d", set);
	new_images();
	exit_handlers_here();
	without_descriptors();
	forks();
	daemon_like();
	after_parent();
	t_rm(set);
	return t_end();
}
