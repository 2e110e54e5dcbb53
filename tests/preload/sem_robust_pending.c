// SPDX-License-Identifier: MIT
/*
 * sem_robust_pending: a signal handler makes calls and is killed in them, and
 * the thread was in the middle of pthread_mutex_lock on a robust mutex: what
 * libc has noted as pending there is for the kernel to find, which marks the
 * mutex's owner dead. It must not get lost in our calls.
 *
 * The middle is made by hand: list_op_pending names the word, and the word has
 * the thread's number, as between two instructions of both libcs.
 */
#include "t.h"

#define ROUNDS 60

struct head {
	void *next;
	long offset;
	void *pending;
};

static struct {
	pthread_mutex_t mutex;
	volatile unsigned word;
	volatile int inside;
	char node[64];
} * shared;
static int set, all;

static void handler(int sig)
{
	(void)sig;
	shared->inside = 1;
	for (;;) {
		semop(set, OPS({0, 1, U}));
		semop(set, OPS({0, -1, U}));
		semop(all, OPS({0, 1, 0}, {1, 1, 0}));
		semop(all, OPS({0, -1, 0}, {1, -1, 0}));
	}
}

static void child(void)
{
	struct head *head = NULL;
	size_t size;

	/* musl registers its list at the first such lock. */
	pthread_mutex_lock(&shared->mutex);
	pthread_mutex_unlock(&shared->mutex);
	semop(set, OPS({0, 1, U}));
	semop(set, OPS({0, -1, U}));
	if (syscall(SYS_get_robust_list, 0, &head, &size) || !head)
		_exit(1);
	signal(SIGUSR1, handler);
	head->pending = (char *)&shared->word - head->offset;
	shared->word = (unsigned)syscall(SYS_gettid);
	raise(SIGUSR1);
	_exit(2);
}

int main(void)
{
	struct timespec t = {0, 0};
	pthread_mutexattr_t attr;
	unsigned long seed = 1;
	int i, lost = 0;
	pid_t pid;

	t_begin();
	shared = t_shared(4096);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &attr);
	set = t_set(1, VALS(0));
	all = t_set(2, VALS(0, 0));
	for (i = 0; i < ROUNDS; i++) {
		shared->inside = 0;
		shared->word = 0;
		pid = t_fork();
		if (!pid)
			child();
		while (!shared->inside)
			sched_yield();
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		t.tv_nsec = (long)(seed >> 33) % 500000;
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		if (t_join(pid) != 1000 + SIGKILL)
			t_failed = 1;
		lost += !(shared->word & 0x40000000u /* OWNER_DIED */);
		/* Whole, and nobody holds it. */
		if (semop(set, OPS({0, 1, NW}, {0, -1, NW})) ||
			semop(all, OPS({0, 1, NW}, {0, -1, NW})))
			t_failed = 1;
	}
	t_eq(lost, 0);
	t_eq(semctl(set, 0, GETVAL), 0);
	t_rm(set);
	t_rm(all);
	return t_end();
}
