// SPDX-License-Identifier: MIT
/*
 * shm_life: nattch over fork, vfork, posix_spawn, exec, exit, SIGKILL and
 * threads. The program executes itself with a part to play.
 */
#include "shm.h"
#include <spawn.h>

extern char **environ;

static int id, to_parent[2], to_child[2];
static char id_text[16];

static void tell(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(97);
}

static void hear(int fd)
{
	char c;

	while (read(fd, &c, 1) < 0 && errno == EINTR)
		;
}

static void forked(void)
{
	struct shmid_ds ds;
	char *p = s_at(id), *q = s_at(id);
	pid_t pid, grand;
	int status;

	t_story("fork");
	s_nattch(id, 2);
	pid = t_fork();
	if (!pid) {
		hear(to_child[0]);
		p[0] = 'c';
		t_eq(shmdt(q), 0);
		t_err(shmdt(q), EINVAL);
		tell(to_parent[1]);
		hear(to_child[0]);
		_exit(0);
	}
	ds = s_stat(id);
	t_eq(ds.shm_nattch, 4);
	t_true(ds.shm_lpid == getpid());
	tell(to_child[1]);
	hear(to_parent[0]);
	ds = s_stat(id);
	t_eq(ds.shm_nattch, 3);
	t_true(ds.shm_lpid == pid);
	t_eq(p[0], 'c');
	tell(to_child[1]);
	t_eq(t_join(pid), 0);
	ds = s_stat(id);
	t_eq(ds.shm_nattch, 2);
	t_true(ds.shm_lpid == pid);
	t_story("fork of a fork, killed");
	pid = t_fork();
	if (!pid) {
		grand = t_fork();
		*(volatile pid_t *)(p + 64) = grand;
		if (!grand) {
			*(volatile pid_t *)(p + 64) = getpid();
			tell(to_parent[1]);
			pause();
		}
		tell(to_parent[1]);
		waitpid(grand, &status, 0);
		_exit(grand > 0 && WIFSIGNALED(status) ? 0 : 1);
	}
	hear(to_parent[0]);
	hear(to_parent[0]);
	s_nattch(id, 6);
	kill(pid, SIGKILL);
	t_eq(t_join(pid), 1000 + SIGKILL);
	s_nattch(id, 4);
	grand = *(volatile pid_t *)(p + 64);
	t_eq(shmdt(q), 0);
	t_eq(shmdt(p), 0);
	s_nattch(id, 2);
	s_rm(id);
	t_story("the orphan ends");
	kill(grand, SIGKILL);
	while (!kill(grand, 0))
		t_nap();
	t_err(shmat(id, NULL, 0), EINVAL);
}

static void killed(void)
{
	char *p = s_at(id);
	pid_t pid;

	t_story("SIGKILL at once after fork");
	for (int i = 0; i < 50; i++) {
		pid = fork();
		if (!pid)
			for (;;)
				p[1]++;
		t_quiet(s_stat(id).shm_nattch == 2);
		kill(pid, SIGKILL);
		t_quiet(t_join(pid) == 1000 + SIGKILL);
		t_quiet(s_stat(id).shm_nattch == 1);
	}
	t_story("SIGKILL of one that attached by itself");
	t_eq(shmdt(p), 0);
	pid = t_fork();
	if (!pid) {
		s_at(id);
		s_at(id);
		s_at(id);
		tell(to_parent[1]);
		pause();
	}
	hear(to_parent[0]);
	s_nattch(id, 3);
	kill(pid, SIGKILL);
	t_eq(t_join(pid), 1000 + SIGKILL);
	s_nattch(id, 0);
	t_true(s_stat(id).shm_lpid == pid);
	t_true(s_stat(id).shm_dtime >= time(NULL) - 5);
}

static void run_again(char *self, char *part)
{
	char *argv[] = {self, part, id_text, NULL};

	execv(self, argv);
	_exit(96);
}

static void executed(char *self)
{
	posix_spawnattr_t attr;
	char *argv[] = {self, "nothing", id_text, NULL};
	char *p;
	pid_t pid;

	p = s_at(id);
	t_story("exec: another program");
	pid = t_fork();
	if (!pid) {
		dup2(to_child[0], 0);
		close(to_child[1]);
		execl("/bin/cat", "cat", NULL);
		_exit(96);
	}
	close(to_child[1]);
	t_eq(t_join(pid), 0);
	s_nattch(id, 1);
	t_eq(pipe(to_child), 0);
	t_story("exec: itself, which looks");
	pid = t_fork();
	if (!pid)
		run_again(self, "look");
	t_eq(t_join(pid), 1);
	s_nattch(id, 1);
	t_story("exec: itself, which attaches");
	pid = t_fork();
	if (!pid)
		run_again(self, "attach");
	t_eq(t_join(pid), 2);
	s_nattch(id, 1);
	t_story("exec: a program that stays");
	pid = t_fork();
	if (!pid) {
		dup2(to_child[0], 0);
		close(to_child[1]);
		dup2(to_parent[1], 1);
		execl("/bin/sh", "sh", "-c", "printf x; read line", NULL);
		_exit(96);
	}
	hear(to_parent[0]);
	s_nattch(id, 1);
	kill(pid, SIGKILL);
	t_join(pid);
	t_story("vfork, posix_spawn");
	pid = vfork();
	if (!pid)
		_exit(0);
	t_eq(t_join(pid), 0);
	s_nattch(id, 1);
	posix_spawnattr_init(&attr);
	t_eq(posix_spawn(&pid, self, NULL, &attr, argv, environ), 0);
	t_eq(t_join(pid), 5);
	s_nattch(id, 1);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static void *thread_attaches(void *arg)
{
	*(char **)arg = s_at(id);
	return NULL;
}

static void threads(void)
{
	pthread_t t;
	char *p = NULL;

	t_story("a thread's attachment stays");
	pthread_create(&t, NULL, thread_attaches, &p);
	pthread_join(t, NULL);
	s_nattch(id, 1);
	p[0] = 1;
	s_nattch(id, 1);
	AS(0, 0)
	{
		s_nattch(id, 2);
	}
	s_nattch(id, 1);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static void *outlive(void *arg)
{
	char *p = arg;

	tell(to_parent[1]);
	hear(to_child[0]);
	p[0] = 'l';
	_exit(p[0] == 'l' ? 0 : 1);
}

/* Its leader a zombie, a process still has what it attached. */
static void leader_ends(void)
{
	char *p = s_at(id), path[64], stat[256];
	pthread_t t;
	pid_t pid;
	int fd;

	t_story("a thread outlives the leader");
	pid = t_fork();
	if (!pid) {
		p = s_at(id);
		pthread_create(&t, NULL, outlive, p);
		pthread_exit(NULL);
	}
	hear(to_parent[0]);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	do {
		fd = open(path, O_RDONLY);
		stat[read(fd, stat, sizeof(stat) - 1)] = 0;
		close(fd);
	} while (!strstr(stat, ") Z "));
	s_nattch(id, 3);
	s_nattch(id, 3);
	tell(to_child[1]);
	t_eq(t_join(pid), 0);
	t_true(p[0] == 'l');
	s_nattch(id, 1);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

static int play(const char *part, int seg)
{
	char *p;

	id = seg;
	if (!strcmp(part, "look"))
		return (int)s_stat(id).shm_nattch;
	if (!strcmp(part, "nothing"))
		return 5;
	p = s_at(id);
	return p == BAD ? 95 : (int)s_stat(id).shm_nattch;
}

int main(int argc, char **argv)
{
	t_begin();
	if (argc == 3)
		return play(argv[1], atoi(argv[2]));
	id = s_seg(2 * PAGE);
	snprintf(id_text, sizeof(id_text), "%d", id);
	t_eq(pipe(to_parent) | pipe(to_child), 0);
	killed();
	executed(argv[0]);
	threads();
	leader_ends();
	forked();
	return s_end();
}
