// SPDX-License-Identifier: MIT
/*
 * app_apr: APR's own test of its process mutexes in brief (testprocmutex.c),
 * which Debian does not ship: six children count in a shared page under one
 * mutex of semaphores of System V, locked plainly, by try, and with a timeout
 * of a microsecond, and each opens the mutex again by its name. Prints the
 * counts. With an argument the parent gives itself up to that user before the
 * children start, who must be granted the mutex (apr_proc_mutex's perms).
 */
#include <apr_general.h>
#include <apr_perms_set.h>
#include <apr_proc_mutex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 6
#define ROUNDS 40

static apr_proc_mutex_t *mutex;
static volatile int *count;

static apr_status_t plain(void)
{
	return apr_proc_mutex_lock(mutex);
}
static apr_status_t tried(void)
{
	apr_status_t r;

	while (APR_STATUS_IS_EBUSY(r = apr_proc_mutex_trylock(mutex)))
		usleep(1);
	return r;
}
static apr_status_t timed(void)
{
	apr_status_t r;

	while (APR_STATUS_IS_TIMEUP(r = apr_proc_mutex_timedlock(mutex, 1)))
		;
	return r;
}

/* The child's status: 0, or what went wrong. */
static int child(apr_pool_t *pool, apr_status_t (*lock)(void))
{
	int i, seen;

	if (apr_proc_mutex_child_init(
		    &mutex, apr_proc_mutex_lockfile(mutex), pool))
		return 2;
	for (i = 0; i < ROUNDS; i++) {
		if (lock())
			return 3;
		seen = *count;
		usleep(1);
		*count = seen + 1;
		if (apr_proc_mutex_unlock(mutex))
			return 4;
	}
	return 0;
}

static void run(apr_pool_t *pool, const char *what, apr_status_t (*lock)(void))
{
	int i, status, bad = 0;

	*count = 0;
	fflush(stdout);
	for (i = 0; i < CHILDREN; i++)
		if (!fork())
			_exit(child(pool, lock));
	for (i = 0; i < CHILDREN; i++)
		bad |= wait(&status) < 0 || status;
	printf("%s: %d, %s\n", what, *count, bad ? "bad" : "well");
}

/* A child that is killed with the lock gives it back. */
static void killed(void)
{
	int pid, status, wakes[2];
	char c;

	if (pipe(wakes))
		exit(1);
	pid = fork();
	if (!pid) {
		apr_proc_mutex_lock(mutex);
		if (write(wakes[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	if (read(wakes[0], &c, 1) != 1)
		exit(1);
	printf("held: %d\n",
		APR_STATUS_IS_EBUSY(apr_proc_mutex_trylock(mutex)));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	printf("given back: %d\n", !apr_proc_mutex_lock(mutex));
	printf("unlocked: %d\n", !apr_proc_mutex_unlock(mutex));
}

int main(int argc, char **argv)
{
	apr_pool_t *pool;
	int uid = argc > 1 ? atoi(argv[1]) : 0;

	apr_initialize();
	apr_pool_create(&pool, NULL);
	count = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (apr_proc_mutex_create(&mutex, NULL, APR_LOCK_SYSVSEM, pool))
		return 1;
	printf("%s\n", apr_proc_mutex_name(mutex));
	if (uid) {
		printf("granted: %d\n",
			!apr_proc_mutex_perms_set(mutex,
				APR_FPROT_UREAD | APR_FPROT_UWRITE, uid, uid));
		if (setgid(uid) || setuid(uid))
			return 1;
	}
	run(pool, "lock", plain);
	run(pool, "try", tried);
	run(pool, "timed", timed);
	killed();
	printf("destroyed: %d\n", !apr_proc_mutex_destroy(mutex));
	return 0;
}
