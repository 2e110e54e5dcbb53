// SPDX-License-Identifier: MIT
/*
 * shm_fork_crowd: forks of many threads at once, held open by handlers of
 * pthread_atfork, while one more forks and another attaches and detaches
 * without pause. A child that has the segment is counted, and one that is
 * counted has it, at whatever moment of the attachment it was made.
 *
 * The bugs: no more than eight forks were announced at once, and what was
 * attached between the ninth's count and its child was counted wrongly for
 * that child as long as it lived; and of a fork that is held, each attachment
 * at the same place counted once more (nattch 1,500,000 after some seconds). A
 * place that the first attachment holds free while the process makes its own
 * mappings was held for ever in a child that was forked meanwhile.
 */
#include "shm.h"

#include <semaphore.h>

#define CROWD 100 /* beyond eight, and beyond a page more */
#define FORKS 200
#define HELD_LONG_US 120000 /* longer than an attachment waits */

static char *const place = (char *)0x510000000000;

struct seen {
	volatile int told, mapped;
};

static int seg;
static volatile int stop;
static struct seen *seen;
static sem_t held, release;
static __thread int hold;

static void prepare(void)
{
	if (!hold)
		return;
	sem_post(&held);
	while (sem_wait(&release))
		;
}

static void *forks_slowly(void *arg)
{
	pid_t pid;

	hold = 1;
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return arg;
}

static void *attaches(void *arg)
{
	volatile unsigned spin;

	while (!stop) {
		if (shmat(seg, place, 0) != place)
			exit(90);
		for (spin = 0; spin < 20; spin++)
			;
		if (shmdt(place))
			exit(91);
	}
	return arg;
}

/* Without a call that a library could answer otherwise. */
static int is_mapped(void)
{
	unsigned char vec;

	return syscall(SYS_mincore, place, PAGE, &vec) == 0;
}

static void child(void)
{
	/* Its first served call is its own affair: it makes none. */
	seen->mapped = is_mapped();
	__atomic_store_n(&seen->told, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/*
 * 1 if what the child has is not what is counted for it. Not of a fork that took
 * so long, on a busy machine, that an attachment beside it did not wait for it
 * (FORK_WAIT_NS): what that does at the moment of its mapping is declared
 * (shm/shmfork.h).
 */
static int round_of(void)
{
	pthread_t t;
	pid_t pid;
	unsigned long with;
	long long began;

	seen->told = stop = 0;
	pthread_create(&t, NULL, attaches, NULL);
	usleep((useconds_t)(rand() % 300));
	began = now_us();
	pid = fork();
	if (!pid)
		child();
	began = now_us() - began;
	stop = 1;
	pthread_join(t, NULL);
	while (!__atomic_load_n(&seen->told, __ATOMIC_ACQUIRE))
		sched_yield();
	with = s_stat(seg).shm_nattch;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return began < HELD_LONG_US / 2 &&
	       with - s_stat(seg).shm_nattch != (unsigned long)seen->mapped;
}

/* 1 if anything is counted of a child that was killed as it began. */
static int round_killed(void)
{
	pthread_t t;
	pid_t pid;

	stop = 0;
	pthread_create(&t, NULL, attaches, NULL);
	usleep((useconds_t)(rand() % 300));
	pid = fork();
	if (!pid)
		child();
	usleep((useconds_t)(rand() % 300));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	stop = 1;
	pthread_join(t, NULL);
	return s_stat(seg).shm_nattch != 0;
}

static void killed(void)
{
	int i, wrong = 0;

	t_story("children killed as they begin");
	for (i = 0; i < FORKS; i++)
		wrong += round_killed();
	t_eq(wrong, 0);
}

static void crowd(const char *name, int n)
{
	pthread_t t[CROWD];
	int i, wrong = 0;

	t_story(name);
	for (i = 0; i < n; i++) {
		pthread_create(&t[i], NULL, forks_slowly, NULL);
		while (sem_wait(&held))
			;
	}
	usleep(HELD_LONG_US);
	for (i = 0; i < FORKS; i++)
		wrong += round_of();
	t_eq(wrong, 0); /* of the bugs: 1, 11 to 27 */
	/* One for each fork that is announced, at most. */
	t_true(s_stat(seg).shm_nattch <= (unsigned long)n);
	for (i = 0; i < n; i++)
		sem_post(&release);
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	t_begin();
	alarm(3 * T_LIMIT);
	seen = t_shared(PAGE);
	sem_init(&held, 0, 0);
	sem_init(&release, 0, 0);
	pthread_atfork(prepare, NULL, NULL);
	seg = s_seg(PAGE);
	crowd("no other fork", 0);
	killed();
#ifdef __GLIBC__ /* musl calls handlers under a lock: no fork beside one */
	crowd("beside one that is held", 1);
	crowd("beside a crowd", CROWD);
#endif
	s_rm(seg);
	return s_end();
}
