// SPDX-License-Identifier: MIT
/*
 * sem_pass: many sleepers, arrays and single operations together, and random
 * changes: which are let through by each, and at which semaphore the others are
 * counted.
 *
 * The semaphores are of both ends of a set of 70, so that some numbers are
 * equal modulo 64. What a change does to values, counts and pids is final when
 * the call returns, and must be the same on the kernel and under the shim. The
 * seed is fixed.
 *
 * And the cost of a call that concerns no sleeping array: it must not grow with
 * the square of their number.
 */
#include "t.h"

#define N_SEMS 70
#define USED 8
#define ROUNDS 40
#define SLEEPERS 12
#define CHANGES 24
#define MANY 400
#define FEW 4

static const unsigned short used[USED] = {0, 1, 2, 5, 64, 65, 66, 69};
static unsigned seed = 20261122;
static pid_t sleeper[MANY];
static volatile char *done; /* shared: sleeper n's call has returned */

static unsigned pick(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* An array of up to most operations; returns its length. */
static size_t pick_ops(struct sembuf *ops, size_t most, int up, short flg)
{
	size_t n = 1 + pick((unsigned)most);

	for (size_t i = 0; i < n; i++) {
		ops[i].sem_num = used[pick(USED)];
		ops[i].sem_op = (short)(pick(4) ? pick(2) + 1 : 0);
		if ((int)pick(10) >= up)
			ops[i].sem_op = (short)-ops[i].sem_op;
		ops[i].sem_flg = flg;
	}
	return n;
}

static int waiting(int id)
{
	int n = 0;

	for (int i = 0; i < USED; i++)
		n += semctl(id, used[i], GETNCNT) +
		     semctl(id, used[i], GETZCNT);
	return n;
}

static const char *who(int pid)
{
	static char text[16];

	snprintf(text, sizeof(text), "-");
	if (pid == getpid())
		snprintf(text, sizeof(text), "me");
	for (int i = 0; i < SLEEPERS; i++)
		if (pid && pid == sleeper[i])
			snprintf(text, sizeof(text), "%d", i);
	return text;
}

/* value, pid, sleepers for more and for zero, of each semaphore */
static void show(int id, const char *after)
{
	char line[400];
	int len = snprintf(line, sizeof(line), "%s:", after);

	for (int i = 0; i < USED; i++) {
		int num = used[i];

		len += snprintf(line + len, sizeof(line) - (size_t)len,
			" %d/%s/%d/%d", semctl(id, num, GETVAL),
			who(semctl(id, num, GETPID)), semctl(id, num, GETNCNT),
			semctl(id, num, GETZCNT));
	}
	t_say("%s", line);
}

static void add_sleeper(int id, int nth)
{
	struct sembuf ops[4];
	size_t n = pick_ops(ops, pick(3) ? 4 : 1, 3, pick(12) ? 0 : NW);
	int before = waiting(id);
	char text[16];

	done[nth] = 0;
	sleeper[nth] = t_fork();
	if (sleeper[nth] == 0) {
		int code = t_code(semop(id, ops, n));

		done[nth] = 1;
		_exit(code);
	}
	/* One that goes on at once may let others through. */
	while (!done[nth] && waiting(id) <= before)
		t_nap();
	snprintf(text, sizeof(text), "sleeper %d", nth);
	show(id, text);
}

static void change(int id)
{
	struct sembuf ops[3 + 70];
	unsigned short values[N_SEMS];
	size_t n;

	switch (pick(12)) {
	case 0:
		semctl(id, used[pick(USED)], SETVAL, pick(4));
		show(id, "SETVAL");
		return;
	case 1:
		for (int i = 0; i < N_SEMS; i++)
			values[i] = (unsigned short)pick(3);
		semctl(id, 0, SETALL, values);
		show(id, "SETALL");
		return;
	case 2: /* more operations than are remembered one by one */
		n = pick_ops(ops, 3, 8, NW);
		for (unsigned short i = 0; i < 70; i++)
			ops[n++] = (struct sembuf){
				i, (short)(i == used[i % USED]), NW};
		for (size_t i = 0; i < n; i++)
			ops[i].sem_op = ops[i].sem_op < 0 ? 0 : ops[i].sem_op;
		n = n > 70 ? n : 70;
		show(id, semop(id, ops, n) ? "long: no" : "long");
		return;
	default:
		n = pick_ops(ops, 3, 7, NW);
		show(id, semop(id, ops, n) ? "change: no" : "change");
	}
}

static void round_of(int nth)
{
	int id = t_set(N_SEMS, NULL);
	char text[32];

	snprintf(text, sizeof(text), "round %d", nth);
	t_story(text);
	memset(sleeper, 0, sizeof(sleeper));
	for (int i = 0; i < USED; i++)
		semctl(id, used[i], SETVAL, pick(2));
	for (int i = 0; i < SLEEPERS; i++)
		add_sleeper(id, i);
	for (int i = 0; i < CHANGES; i++)
		change(id);
	t_rm(id);
	for (int i = 0; i < SLEEPERS; i++)
		t_say("sleeper %d: %s", i, t_errname(t_join(sleeper[i])));
}

/* The least time of two array calls that concern nobody. */
static double least_ns(int id, unsigned short num)
{
	struct sembuf up[2] = {{num, 1, 0}, {(unsigned short)(num + 1), 1, 0}};
	struct sembuf down[2] = {
		{num, -1, 0}, {(unsigned short)(num + 1), -1, 0}};
	struct timespec a, b;
	double least = 1e18, ns;

	for (int i = 0; i < 100; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		if (semop(id, up, 2) || semop(id, down, 2))
			return 1e18;
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = (double)(b.tv_sec - a.tv_sec) * 1e9 +
		     (double)(b.tv_nsec - a.tv_nsec);
		least = ns < least ? ns : least;
	}
	return least;
}

static double cost_beside(int n)
{
	int id = t_set(n + 3, NULL);
	double ns;

	for (int i = 0; i < n; i++)
		sleeper[i] = t_sleeper(id, OPS({(unsigned short)i, -1, 0},
						   {(unsigned short)n, -1, 0}));
	for (int i = 0; i < n; i++)
		t_quiet(t_poll(id, i, GETNCNT, 1));
	ns = least_ns(id, (unsigned short)(n + 1));
	t_rm(id);
	for (int i = 0; i < n; i++)
		t_quiet(t_join(sleeper[i]) == EIDRM);
	return ns;
}

int main(void)
{
	t_begin();
	done = t_shared(4096);
	for (int i = 0; i < ROUNDS; i++)
		round_of(i);
	t_story("arrays that concern no sleeper");
	/* In the kernel some 15 times as much; with a walk for each sleeper
	 * some 900. */
	t_true(cost_beside(MANY) < 100 * cost_beside(FEW));
	return t_end();
}
