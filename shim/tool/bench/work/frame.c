// SPDX-License-Identifier: MIT
/*
 * The clock, CPUs and partners of programs that time calls; see frame.h.
 */
#include "tool/bench/work/frame.h"

const char *case_name = "?";
long n_rounds = 7, round_ms = 30;
pid_t owner_pid;
int n_partners;
static pid_t partner_pid[PARTNERS_MAX];

void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

_Noreturn void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", case_name, what, strerror(errno));
	exit(1);
}

void must(int ok, const char *what)
{
	if (!ok)
		die(what);
}

void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED, "mmap");
	return p;
}

uint64_t rng_next(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double best_of(void (*run)(long n))
{
	double best = NEVER, round_ns = (double)round_ms * 1e6, t, dt;
	long n = 16;

	for (;; n *= 2) {
		t = now_ns();
		run(n);
		dt = now_ns() - t;
		if (dt >= round_ns / 8)
			break;
	}
	n = (long)((double)n * (round_ns / dt)) + 1;
	for (long i = 0; i < n_rounds; i++) {
		t = now_ns();
		run(n);
		keep_min(&best, (now_ns() - t) / (double)n);
	}
	return best;
}

int cpu_pick(int nth)
{
	cpu_set_t all;

	must(!sched_getaffinity(0, sizeof(all), &all), "sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && nth-- == 0)
			return cpu;
	fprintf(stderr, "# %s needs two CPUs\n", case_name);
	exit(CANNOT_BE_TIMED);
}

void cpu_pin(int a, int b)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(a, &set);
	CPU_SET(b, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

void partners_begin(void)
{
	owner_pid = getpid();
}

pid_t partner_fork(void)
{
	pid_t pid;

	errno = EAGAIN;
	if (n_partners == PARTNERS_MAX || (pid = fork()) < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != owner_pid)
			_exit(1);
		return 0;
	}
	partner_pid[n_partners++] = pid;
	return pid;
}

_Noreturn void partner_exit(void)
{
	_exit(errno == EIDRM || errno == EINVAL ? 0 : 1);
}

void partners_wait(void)
{
	while (n_partners > 0) {
		int status;

		if (waitpid(partner_pid[--n_partners], &status, 0) < 0 ||
			(WIFEXITED(status) && WEXITSTATUS(status))) {
			errno = ECHILD;
			die("a partner failed");
		}
	}
}

void partners_kill(void)
{
	for (int i = 0; i < n_partners; i++)
		kill(partner_pid[i], SIGKILL);
	while (n_partners > 0)
		waitpid(partner_pid[--n_partners], NULL, 0);
}
