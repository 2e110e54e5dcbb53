// SPDX-License-Identifier: MIT
/*
 * sem_lifeline: a process that holds something by SEM_UNDO and has a segment
 * attached is killed, and the kernel cannot walk its list of robust mutexes to
 * the end, or does not know one. What it held is released nevertheless: for
 * sleepers, before the dead process has been waited for, and for calls that
 * only read.
 *
 * The bug: only processes whose word on that list had been marked were checked.
 */
#include "seccomp.h"
#include "shm.h"

#define MUTEXES 2100 /* the kernel looks at 2048 */

static int set, seg;

static pthread_mutex_t *mutexes(int n)
{
	pthread_mutex_t *m = t_shared((size_t)n * sizeof(*m));
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < n; i++) {
		pthread_mutex_init(&m[i], &attr);
		pthread_mutex_lock(&m[i]);
	}
	return m;
}

static void nothing(void)
{
}

static void unmapped(void)
{
	munmap(mutexes(1), sizeof(pthread_mutex_t));
}

static void very_many(void)
{
	mutexes(MUTEXES);
}

static void list_of_its_own(void)
{
	static struct {
		void *next;
		long offset;
		void *pending;
	} head = {&head, -32, NULL};

	syscall(SYS_set_robust_list, &head, sizeof(head));
}

static void refused(void)
{
	deny_two(SYS_set_robust_list, SYS_get_robust_list, EPERM);
}

static void unknown(void)
{
	deny_two(SYS_set_robust_list, SYS_get_robust_list, ENOSYS);
}

static void hidden(void)
{
	deny_two(SYS_get_robust_list, SYS_get_robust_list, EPERM);
}

static const struct way {
	const char *name;
	void (*before)(void), (*after)(void); /* it took */
	int all;			      /* the others before, too */
} ways[] = {
	{"nothing special", nothing, nothing, 0},
	{"a robust mutex is unmapped", nothing, unmapped, 0},
	{"very many robust mutexes", nothing, very_many, 0},
	{"a list of its own", nothing, list_of_its_own, 0},
	{"robust lists are refused", refused, nothing, 0},
	{"robust lists are unknown", unknown, nothing, 0},
	{"its robust list is hidden", hidden, nothing, 0},
	{"refused to all", refused, nothing, 1},
};

static pid_t holder(const struct way *way)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		way->before();
		s_at(seg);
		semop(set, OPS({0, -1, U}));
		way->after();
		semop(set, OPS({1, 1, 0}));
		for (;;)
			pause();
	}
	t_true(t_poll(set, 1, GETVAL, 1));
	return pid;
}

static void dies(const struct way *way)
{
	siginfo_t info;
	pid_t pid, sleeper, taker;

	t_story(way->name);
	set = t_set(2, VALS(1, 0));
	seg = s_seg(PAGE);
	pid = holder(way);
	s_nattch(seg, 1);
	sleeper = t_fork();
	if (!sleeper) {
		if (way->all)
			way->before();
		_exit(t_code(semop(set, OPS({0, -1, U}))));
	}
	t_wait_blocked(set, 0, GETNCNT, 1);
	kill(pid, SIGKILL);
	t_eq(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	/* Still a zombie. */
	t_eq(t_join(sleeper), 0);
	t_eq(t_join(pid), 1000 + SIGKILL);
	s_nattch(seg, 0);
	t_row(set, GETVAL, "1 1");
	semctl(set, 1, SETVAL, 0);

	pid = holder(way);
	taker = t_fork();
	if (!taker) {
		if (way->all)
			way->before();
		t_quiet(semop(set, OPS({0, -1, NW})) < 0 && errno == EAGAIN);
		kill(pid, SIGKILL);
		_exit(t_failed);
	}
	t_eq(t_join(taker), 0);
	t_eq(t_join(pid), 1000 + SIGKILL);
	t_eq(semop(set, OPS({0, -1, NW})), 0);
	t_row(set, GETVAL, "0 1");
	t_rm(set);
	s_rm(seg);
	t_err(shmctl(seg, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
}

int main(void)
{
	t_begin();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		dies(&ways[i]);
	s_end();
	return t_end();
}
