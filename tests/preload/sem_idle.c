// SPDX-License-Identifier: MIT
/*
 * Sleepers beside holders of SEM_UNDO: they cost next to nothing as long as
 * nothing happens, and a holder's death is nevertheless noticed at once, even
 * of one that became a holder long after they fell asleep. A timeout shorter
 * than the timer slack is a sleep, not a loop.
 *
 * "At once" is far less than the longest slice of a sleeper; on a busy machine
 * not each time.
 */
#include "t.h"
#include <sys/prctl.h>
#include <sys/resource.h>

#define SLEEPERS 4
#define IDLE_MS 2500
#define QUICK_MS 500
#define TRIES 4

static struct {
	volatile int holder; /* number of the one that got the unit */
} * shared;
static int id;

static int now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int)(t.tv_sec % 100000 * 1000 + t.tv_nsec / 1000000);
}

static pid_t locker(int number)
{
	pid_t pid = t_fork();

	if (pid)
		return pid;
	if (semop(id, OPS({0, -1, U})))
		_exit(1);
	shared->holder = number;
	pause();
	_exit(0);
}

/* After so many milliseconds, or never. */
static int holder_after(int number)
{
	int from = now_ms(), took = 0;

	while (shared->holder != number && took < 15000) {
		usleep(1000);
		took = now_ms() - from;
	}
	t_quiet(shared->holder == number);
	return took;
}

static void idle(void)
{
	pid_t pids[SLEEPERS + 1];
	long before[SLEEPERS + 1], most = 0;
	int quick = 0;

	t_story("sleepers of a lock that is held for long");
	id = t_set(1, VALS(1));
	shared->holder = -1;
	pids[0] = locker(0);
	holder_after(0);
	for (int i = 1; i <= SLEEPERS; i++) {
		pids[i] = locker(i);
		t_wait_blocked(id, 0, GETNCNT, i);
	}
	usleep(50000);
	for (int i = 1; i <= SLEEPERS; i++)
		before[i] = t_switches(pids[i]);
	usleep(IDLE_MS * 1000);
	for (int i = 1; i <= SLEEPERS; i++)
		if (t_switches(pids[i]) - before[i] > most)
			most = t_switches(pids[i]) - before[i];
	/* A slice that doubles: ten at most. */
	t_true(most <= 12);
	t_story("each holder is killed, the next one is told at once");
	for (int i = 0; i < SLEEPERS; i++) {
		kill(pids[i], SIGKILL);
		quick += holder_after(i + 1) < QUICK_MS;
		waitpid(pids[i], NULL, 0);
		usleep(i == 1 ? 700000 : 30000);
	}
	kill(pids[SLEEPERS], SIGKILL);
	waitpid(pids[SLEEPERS], NULL, 0);
	t_true(quick >= SLEEPERS / 2);
	t_row(id, GETVAL, "1");
	t_rm(id);
}

/* No undo record was there when they fell asleep. */
static int first_holder(void)
{
	pid_t first, second, plain;
	int took;

	id = t_set(1, VALS(0));
	shared->holder = -1;
	plain = t_sleeper(id, OPS({0, -5, 0}));
	while (semctl(id, 0, GETNCNT) != 1)
		usleep(1000);
	first = locker(1);
	while (semctl(id, 0, GETNCNT) != 2)
		usleep(1000);
	second = locker(2);
	while (semctl(id, 0, GETNCNT) != 3)
		usleep(1000);
	usleep(100000);
	t_quiet(!semop(id, OPS({0, 1, 0})));
	holder_after(1);
	usleep(300000);
	kill(first, SIGKILL);
	took = holder_after(2);
	waitpid(first, NULL, 0);
	kill(second, SIGKILL);
	waitpid(second, NULL, 0);
	kill(plain, SIGKILL);
	waitpid(plain, NULL, 0);
	t_rm(id);
	return took < QUICK_MS;
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A call that waits is one that slept, or that came back no sooner than the
 * timer slack allows: on a busy machine the time can be over before it comes to
 * sleep, on the kernel too. A loop does neither. */
static int one_short_timeout(int *waited)
{
	struct timespec t = {0, 1000};
	struct rusage before, after;
	long long start, took;
	int timed_out;

	getrusage(RUSAGE_SELF, &before);
	start = now_ns();
	timed_out =
		semtimedop(id, OPS({0, -1, U}), &t) == -1 && errno == EAGAIN;
	took = now_ns() - start;
	getrusage(RUSAGE_SELF, &after);
	*waited += after.ru_nvcsw > before.ru_nvcsw ||
		   took >= prctl(PR_GET_TIMERSLACK);
	return timed_out;
}

static void short_timeouts(void)
{
	int waited = 0, i;
	pid_t holder;

	t_story("timeouts of a microsecond");
	id = t_set(1, VALS(1));
	shared->holder = -1;
	holder = locker(0);
	holder_after(0);
	for (i = 0; i < 200 && one_short_timeout(&waited); i++)
		;
	t_true(i == 200);
	t_true(waited > 150);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	t_rm(id);
}

int main(void)
{
	int quick = 0;

	t_begin();
	shared = t_shared(4096);
	idle();
	t_story("the first holder comes after they fell asleep");
	for (int i = 0; i < TRIES && !quick; i++)
		quick = first_holder();
	t_true(quick);
	short_timeouts();
	return t_end();
}
