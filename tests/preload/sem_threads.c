// SPDX-License-Identifier: MIT
/*
 * sem_threads: threads of one process, on stacks of 16 KiB.
 *
 * A thread sleeps and wakes like a process, but the pid left behind is the
 * process's. semop is not a cancellation point. Run as "sem_threads count ID"
 * it tells how many sleep on the set: the new image of a process whose other
 * thread slept when it executed.
 */
#include "t.h"

#define STACK_SIZE 16384

static int set;
static volatile int returned, ret, err, guarded;

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int bad;

	pthread_attr_init(&attr);
	bad = pthread_attr_setstacksize(&attr, STACK_SIZE);
	bad |= pthread_create(&thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	if (bad) {
		t_say("FAIL no thread: %d", bad);
		exit(99);
	}
	return thread;
}

static void *take(void *arg)
{
	long num = (long)arg;

	return (void *)(long)semop(set, OPS({(unsigned short)num, -1, 0}));
}

static void *take_many(void *arg)
{
	static struct sembuf ops[500];

	(void)arg;
	for (int i = 0; i < 500; i++)
		ops[i] = (struct sembuf){
			(unsigned short)(i % 8), i < 8 ? -1 : 0, 0};
	return (void *)(long)semop(set, ops, 500);
}

static void sleep_and_wake(void)
{
	pthread_t thread[8];
	void *result;

	t_story("eight threads asleep, woken one by one");
	for (long i = 0; i < 8; i++) {
		thread[i] = start(take, (void *)i);
		t_quiet(t_poll(set, (int)i, GETNCNT, 1));
	}
	t_row(set, GETNCNT, "1 1 1 1 1 1 1 1");
	for (int i = 7; i >= 0; i--) {
		t_eq(semop(set, OPS({(unsigned short)i, 1, 0})), 0);
		pthread_join(thread[i], &result);
		t_true(result == NULL);
		t_pid_is(set, i, getpid());
	}
	t_row(set, GETVAL, "0 0 0 0 0 0 0 0");
	t_story("500 operations on a small stack");
	thread[0] = start(take_many, NULL);
	t_wait_blocked(set, 0, GETNCNT, 1);
	t_eq(semctl(set, 0, SETALL, VALS(1, 1, 1, 1, 1, 1, 1, 1)), 0);
	t_row(set, GETVAL, "0 0 0 0 0 0 0 0");
	pthread_join(thread[0], &result);
	t_true(result == NULL);
}

static void *lock_and_count(void *arg)
{
	short flag = (short)(long)arg;

	for (int i = 0; i < 500; i++) {
		if (semop(set, OPS({0, -1, flag})) < 0)
			return (void *)1;
		guarded = guarded + 1;
		if (semop(set, OPS({0, 1, flag})) < 0)
			return (void *)1;
	}
	return NULL;
}

static void as_a_mutex(void)
{
	pthread_t thread[4];
	void *result;
	int bad = 0;

	t_story("a mutex among four threads, two of which use SEM_UNDO");
	t_eq(semctl(set, 0, SETVAL, 1), 0);
	guarded = 0;
	for (long i = 0; i < 4; i++)
		thread[i] = start(
			lock_and_count, (void *)(i & 1 ? (long)SEM_UNDO : 0));
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &result);
		bad += result != NULL;
	}
	t_true(bad == 0);
	t_eq(guarded, 2000);
	t_eq(semctl(set, 0, GETVAL), 1);
	t_eq(semctl(set, 0, SETVAL, 0), 0);
}

static void *take_then_test(void *arg)
{
	if (arg)
		pthread_cancel(pthread_self());
	ret = semop(set, OPS({0, -1, 0}));
	err = errno;
	returned = 1;
	pthread_testcancel();
	return NULL;
}

/* musl's cancel is a signal, which ends the sleep with EINTR; glibc's waits. */
static void cancellation(void)
{
	pthread_t thread;
	void *result;
	int val;

	t_story("semop is no cancellation point");
	returned = 0;
	thread = start(take_then_test, NULL);
	t_wait_blocked(set, 0, GETNCNT, 1);
	pthread_cancel(thread);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	pthread_join(thread, &result);
	t_true(result == PTHREAD_CANCELED);
	t_true(returned == 1);
	val = semctl(set, 0, GETVAL);
	t_true((ret == 0 && val == 0) ||
		(ret == -1 && err == EINTR && val == 1));
	t_eq(semctl(set, 0, SETVAL, 0), 0);
	t_eq(semctl(set, 0, GETNCNT), 0);

	t_story("a call that need not sleep, with a cancel pending");
	t_eq(semctl(set, 0, SETVAL, 1), 0);
	returned = 0;
	thread = start(take_then_test, (void *)1);
	pthread_join(thread, &result);
	t_true(returned == 1 && ret == 0 && result == PTHREAD_CANCELED);
	t_eq(semctl(set, 0, GETVAL), 0);
}

static void process_ends(void)
{
	char text[16];
	int child;

	snprintf(text, sizeof(text), "%d", set);
	t_story("the process ends while its threads sleep");
	for (int how = 0; how < 3; how++) {
		child = t_fork();
		if (child == 0) {
			start(take, (void *)3l);
			start(take, (void *)3l);
			while (semctl(set, 3, GETNCNT) != 2)
				t_nap();
			if (how == 0)
				_exit(0);
			if (how == 1)
				kill(getpid(), SIGKILL);
			execl("/proc/self/exe", "sem_threads", "count", text,
				(char *)NULL);
			_exit(98);
		}
		t_eq(t_join(child), how == 1 ? 1000 + SIGKILL : 0);
		t_eq(semctl(set, 3, GETNCNT), 0);
		t_eq(semop(set, OPS({3, 1, 0})), 0);
		t_eq(semop(set, OPS({3, -1, NW})), 0);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return semctl(atoi(argv[2]), 3, GETNCNT);
	t_begin();
	set = t_set(8, NULL);
	sleep_and_wake();
	as_a_mutex();
	cancellation();
	process_ends();
	t_rm(set);
	return t_end();
}
