// SPDX-License-Identifier: MIT
/*
 * sem_wake: which sleepers are let through when a value changes, and in what
 * order.
 *
 * Children sleep in a known order (each is seen in the counts before the next
 * is forked), then one call of ours changes values. The kernel does the
 * sleepers' work for them within that call, so the values are final at once;
 * only which of the woken children runs first is open, and never asked here.
 * The scenes S1…S18 are the test vectors of doc/kernel-semantics.md §14.
 */
#include "t.h"

/* Fork a sleeper and wait until semaphore num counts n of its kind. */
#define SLEEP(num, cmd, n, ...) sleep_on(id, num, cmd, n, OPS(__VA_ARGS__))

static pid_t sleep_on(
	int id, int num, int cmd, int n, struct sembuf *ops, size_t n_ops)
{
	pid_t child = t_sleeper(id, ops, n_ops);

	t_wait_blocked(id, num, cmd, n);
	return child;
}

static void s1_blocks_at_a_later_op(void)
{
	int id = t_set(4, NULL), w;

	t_story("S1: asleep at the second operation");
	w = SLEEP(3, GETNCNT, 1, {2, 1, NW}, {3, -1, 0});
	t_row(id, GETVAL, "0 0 0 0");
	t_row(id, GETNCNT, "0 0 0 1");
	t_row(id, GETZCNT, "0 0 0 0");
	t_true(t_stat(id).sem_otime == 0);
	t_eq(semop(id, OPS({3, 1, 0})), 0);
	t_row(id, GETVAL, "0 0 1 0");
	t_row(id, GETNCNT, "0 0 0 0");
	t_pid_is(id, 2, w);
	t_pid_is(id, 3, w);
	t_pid_is(id, 0, 0);
	t_eq(t_join(w), 0);
	t_rm(id);
}

static void s2_both_needed(void)
{
	int id = t_set(2, NULL), w;

	t_story("S2: two decrements in one call");
	w = SLEEP(0, GETNCNT, 1, {0, -1, 0}, {1, -1, 0});
	t_row(id, GETNCNT, "1 0");
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETVAL, "1 0");
	t_row(id, GETNCNT, "0 1");
	t_eq(semop(id, OPS({1, 1, 0})), 0);
	t_row(id, GETVAL, "0 0");
	t_row(id, GETNCNT, "0 0");
	t_pid_is(id, 0, w);
	t_pid_is(id, 1, w);
	t_eq(t_join(w), 0);
	t_rm(id);
}

static void s3_both_zero(void)
{
	int id = t_set(2, VALS(1, 1)), w;

	t_story("S3: two waits for zero in one call");
	w = SLEEP(0, GETZCNT, 1, {0, 0, 0}, {1, 0, 0});
	t_row(id, GETZCNT, "1 0");
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETZCNT, "0 1");
	t_eq(semop(id, OPS({1, -1, 0})), 0);
	t_row(id, GETVAL, "0 0");
	t_row(id, GETZCNT, "0 0");
	t_pid_is(id, 0, w);
	t_pid_is(id, 1, w);
	t_eq(t_join(w), 0);
	t_rm(id);
}

static void s4_setval_wakes(void)
{
	int id = t_set(3, VALS(1, 0, 0)), w, me = getpid();

	t_story("S4: SETVAL completes a sleeper");
	w = SLEEP(0, GETZCNT, 1, {0, 0, 0}, {2, 1, 0});
	t_row(id, GETNCNT, "0 0 0");
	t_row(id, GETZCNT, "1 0 0");
	t_true(t_stat(id).sem_otime == 0);
	t_eq(semctl(id, 0, SETVAL, 0), 0);
	t_row(id, GETVAL, "0 0 1");
	t_pid_is(id, 0, w);
	t_pid_is(id, 1, me);
	t_pid_is(id, 2, w);
	t_true(t_stat(id).sem_otime != 0);
	t_eq(t_join(w), 0);
	t_rm(id);

	t_story("SETALL completes a sleeper");
	id = t_set(3, NULL);
	w = SLEEP(1, GETNCNT, 1, {1, -2, 0});
	t_true(t_stat(id).sem_otime == 0);
	t_eq(semctl(id, 0, SETALL, VALS(4, 1, 6)), 0);
	t_row(id, GETNCNT, "0 1 0");
	t_true(t_stat(id).sem_otime == 0);
	t_eq(semctl(id, 0, SETALL, VALS(4, 5, 6)), 0);
	t_row(id, GETVAL, "4 3 6");
	t_pid_is(id, 0, me);
	t_pid_is(id, 1, w);
	t_pid_is(id, 2, me);
	t_true(t_stat(id).sem_otime != 0);
	t_eq(t_join(w), 0);
	t_rm(id);
}

static void s5_first_that_can(void)
{
	int id = t_set(1, NULL), a, b;

	t_story("S5: the first that can go on, not the first");
	a = SLEEP(0, GETNCNT, 1, {0, -2, 0});
	b = SLEEP(0, GETNCNT, 2, {0, -1, 0});
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_eq(t_join(b), 0);
	t_row(id, GETVAL, "0");
	t_row(id, GETNCNT, "1");
	t_pid_is(id, 0, b);
	t_eq(semop(id, OPS({0, 2, 0})), 0);
	t_eq(t_join(a), 0);
	t_row(id, GETVAL, "0");
	t_pid_is(id, 0, a);
	t_rm(id);
}

static void s6_several_at_once(void)
{
	int id = t_set(1, NULL), a, b, c, d;

	t_story("S6: -1, -3, -1, -1 sleep and +3 comes");
	a = SLEEP(0, GETNCNT, 1, {0, -1, 0});
	b = SLEEP(0, GETNCNT, 2, {0, -3, 0});
	c = SLEEP(0, GETNCNT, 3, {0, -1, 0});
	d = SLEEP(0, GETNCNT, 4, {0, -1, 0});
	t_eq(semop(id, OPS({0, 3, 0})), 0);
	t_row(id, GETVAL, "0");
	t_row(id, GETNCNT, "1");
	t_pid_is(id, 0, d);
	t_eq(t_join(a), 0);
	t_eq(t_join(c), 0);
	t_eq(t_join(d), 0);
	t_eq(semop(id, OPS({0, 3, 0})), 0);
	t_eq(t_join(b), 0);
	t_rm(id);
}

static void s7_transient_within_a_call(void)
{
	int id = t_set(1, VALS(1)), z;

	t_story("S7: a zero within one call is seen by nobody");
	z = SLEEP(0, GETZCNT, 1, {0, 0, 0});
	t_eq(semop(id, OPS({0, -1, 0}, {0, 1, 0})), 0);
	t_row(id, GETVAL, "1");
	t_row(id, GETZCNT, "1");
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETZCNT, "0");
	t_pid_is(id, 0, z);
	t_eq(t_join(z), 0);
	t_rm(id);
}

static void s8_transient_between_sleepers(void)
{
	int id = t_set(2, VALS(1, 0)), z, a, b;

	t_story("S8: a zero between two completions is seen");
	z = SLEEP(0, GETZCNT, 1, {0, 0, 0});
	a = SLEEP(0, GETNCNT, 1, {0, -2, 0});
	b = SLEEP(1, GETNCNT, 1, {1, -1, 0}, {0, 5, 0});
	t_eq(semop(id, OPS({0, 1, 0}, {1, 1, 0})), 0);
	t_row(id, GETVAL, "5 0");
	t_row(id, GETNCNT, "0 0");
	t_row(id, GETZCNT, "0 0");
	t_pid_is(id, 0, b);
	t_eq(t_join(z), 0);
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
	t_rm(id);

	t_story("the same with +1 on one semaphore after the other");
	id = t_set(2, VALS(1, 1));
	z = SLEEP(0, GETZCNT, 1, {0, 0, 0});
	a = SLEEP(0, GETNCNT, 1, {0, -2, 0});
	b = SLEEP(0, GETNCNT, 2, {0, -2, 0}, {1, -1, 0}, {0, 5, 0});
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETVAL, "0 1");
	t_row(id, GETNCNT, "1 0");
	t_row(id, GETZCNT, "0 0");
	t_eq(t_join(z), 0);
	t_eq(t_join(a), 0);
	t_eq(semop(id, OPS({0, 2, 0})), 0);
	t_row(id, GETVAL, "5 0");
	t_eq(t_join(b), 0);
	t_rm(id);
}

static void s9_fifo_across_kinds(void)
{
	int id = t_set(2, NULL), s1, c, s2;

	t_story("S9: single, array, single, in the order of arrival");
	s1 = SLEEP(0, GETNCNT, 1, {0, -1, 0});
	c = SLEEP(0, GETNCNT, 2, {0, -1, 0}, {1, -1, 0});
	s2 = SLEEP(0, GETNCNT, 3, {0, -1, 0});
	t_eq(semop(id, OPS({0, 2, 0}, {1, 1, 0})), 0);
	t_row(id, GETVAL, "0 0");
	t_row(id, GETNCNT, "1 0");
	t_pid_is(id, 0, c);
	t_eq(t_join(s1), 0);
	t_eq(t_join(c), 0);
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_eq(t_join(s2), 0);
	t_row(id, GETVAL, "0 0");
	t_rm(id);
}

static void s10_s11_error_at_retry(void)
{
	int id = t_set(2, VALS(0, 32767)), e, other;

	t_story("S10: ERANGE when retried");
	e = SLEEP(0, GETNCNT, 1, {0, -1, 0}, {1, 1, 0});
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETVAL, "1 32767");
	t_row(id, GETNCNT, "0 0");
	t_eq(t_join(e), ERANGE);
	t_rm(id);

	t_story("S11: IPC_NOWAIT at a later operation when retried");
	id = t_set(2, NULL);
	e = SLEEP(0, GETNCNT, 1, {0, -1, 0}, {1, -1, NW});
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETVAL, "1 0");
	t_row(id, GETNCNT, "0 0");
	t_eq(t_join(e), EAGAIN);
	t_rm(id);

	t_story("the unit that such a one did not take goes to the next");
	id = t_set(2, NULL);
	e = SLEEP(0, GETNCNT, 1, {0, -1, 0}, {1, -1, NW});
	other = SLEEP(0, GETNCNT, 2, {0, -1, 0});
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETVAL, "0 0");
	t_row(id, GETNCNT, "0 0");
	t_pid_is(id, 0, other);
	t_eq(t_join(e), EAGAIN);
	t_eq(t_join(other), 0);
	t_rm(id);
}

/*
 * An exiting process undoes the set that it used last first. We read X, then
 * Y: whenever X is already undone, Y must be. Y is wide, so that an undo in
 * the other order would leave us time to see it.
 */
static void s17_most_recent_first(void)
{
	int x = t_set(1, VALS(1)), y, id, child, wx, wy, early = 0;
	int go = t_set(1, NULL);

	t_story("S17: the set used last is undone first");
	y = semget(IPC_PRIVATE, 2000, 0600);
	t_eq(semctl(y, 0, SETVAL, 1), 0);
	for (int round = 0; round < 2; round++) {
		child = t_fork();
		if (child == 0) {
			semop(x, OPS({0, -1, U}));
			semop(y, OPS({0, -1, U}));
			if (round == 1) {
				/* X again, so Y is the older one now */
				semop(x, OPS({0, 1, U}));
				semop(x, OPS({0, -1, U}));
			}
			semop(go, OPS({0, -1, 0}));
			_exit(0);
		}
		t_true(t_poll(go, 0, GETNCNT, 1));
		t_row(x, GETVAL, "0");
		t_row(y, GETVAL, "0");
		id = x;
		wx = SLEEP(0, GETNCNT, 1, {0, -1, 0});
		id = y;
		wy = SLEEP(0, GETNCNT, 1, {0, -1, 0});
		t_eq(semop(go, OPS({0, 1, 0})), 0);
		for (int done = 0; !done;) {
			int second = round == 0 ? x : y;
			int first = round == 0 ? y : x;

			done = semctl(second, 0, GETNCNT) == 0;
			if (done && semctl(first, 0, GETNCNT) != 0)
				early++;
		}
		t_true(early == 0);
		t_eq(t_join(child), 0);
		t_eq(t_join(wx), 0);
		t_eq(t_join(wy), 0);
		t_pid_is(x, 0, wx);
		t_pid_is(y, 0, wy);
		t_row(x, GETVAL, "0");
		t_row(y, GETVAL, "0");
		t_eq(semctl(x, 0, SETVAL, 1), 0);
		t_eq(semctl(y, 0, SETVAL, 1), 0);
	}
	t_rm(x);
	t_rm(y);
	t_rm(go);
}

static void t_asleep(pid_t pid)
{
	char path[64], stat[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (!strstr(stat, ") S ")) {
		fd = open(path, O_RDONLY);
		stat[read(fd, stat, sizeof(stat) - 1)] = 0;
		close(fd);
	}
}

/* Shared with those who were woken: in which order they came to run. */
static struct {
	int n;
	char who[8];
} * woken;

static pid_t fifo_sleeper(int id, char name)
{
	struct sched_param param = {.sched_priority = 1};
	pid_t pid = t_fork();

	if (pid)
		return pid;
	/* musl's function returns ENOSYS. */
	syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param);
	if (semop(id, OPS({0, -1, 0})))
		_exit(1);
	woken->who[__atomic_fetch_add(&woken->n, 1, __ATOMIC_SEQ_CST)] = name;
	_exit(0);
}

static void alone(int id, int n)
{
	for (int i = 0; i < n; i++)
		semop(id, OPS({0, i % 2 ? -1 : 1, 0}));
}

/*
 * A holder's death wakes the sleeper that stands first at its lifeline: the one that
 * has slept longest, unless one of them has just been up by itself, to look after
 * holders, and some of the others not yet. That is 5, 25, 65, 145 and 305 ms after
 * it fell asleep (BRIEF_NS, UNDO_SLICE_NS). A round in which the death may have
 * come at such a time, since we lost the CPU for long, is another case: it does
 * not count.
 */
#define BETWEEN_SLICES_US 200000
#define LAST_LOOK_NS 145000000
#define NEXT_LOOK_NS 305000000
#define LOOK_NS 5000000 /* what a look takes, arbitrary */
#define TRIES 50

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The holder dies while sleepers sleep that fell asleep after `first`. 1 if none
 * of them can have been up then. */
static int dies_between_looks(pid_t holder, long long first)
{
	long long last = now_ns(), from, to;

	usleep(BETWEEN_SLICES_US);
	from = now_ns();
	kill(holder, SIGKILL);
	t_join(holder);
	to = now_ns();
	return from - last > LAST_LOOK_NS + LOOK_NS &&
	       to - first < NEXT_LOOK_NS;
}

/* The holder dies when one sleeper of each name sleeps at x and at y in turn, and is
 * let through. As dies_between_looks. */
static int dies_before(pid_t holder, int x, int y, const char *names)
{
	int n = (int)strlen(names), counts, i;
	long long first = now_ns();
	pid_t pid[4];

	for (i = 0; i < n; i++) {
		pid[i] = fifo_sleeper(i % 2 ? y : x, names[i]);
		t_quiet(t_poll(i % 2 ? y : x, 0, GETNCNT, i / 2 + 1));
		t_asleep(pid[i]);
	}
	counts = dies_between_looks(holder, first);
	for (i = 0; i < n; i++)
		t_quiet(t_join(pid[i]) == 0);
	return counts;
}

/*
 * Real-time threads of one CPU run in the order in which they were woken. The
 * first of each set may be the one who undoes, woken by the death itself; the
 * second ones tell in which order that was done. 0: it does not count.
 */
static int order_of_wakes(int round)
{
	int x = t_set(1, NULL), y = t_set(1, NULL), counts;
	pid_t holder;

	memset(woken, 0, sizeof(*woken));
	holder = t_fork();
	if (!holder) {
		alone(x, round < 4 ? 2 : 3002);
		alone(y, round < 4 ? 2 : 3002);
		semop(x, OPS({0, 2, 0}));
		semop(y, OPS({0, 2, 0}));
		semop(x, OPS({0, -1, U}));
		semop(y, OPS({0, -1, U}));
		semop(y, OPS({0, -1, U}));
		semop(x, OPS({0, -1, U}));
		if (round % 2)
			semop(y, OPS({0, 0, U}));
		raise(SIGSTOP);
	}
	waitpid(holder, NULL, WUNTRACED);
	t_quiet(semctl(x, 0, GETVAL) == 0 && semctl(y, 0, GETVAL) == 0);
	counts = dies_before(holder, x, y, "xyXY");
	if (counts)
		t_say("%s first: %d", round % 2 ? "Y" : "X",
			(strchr(woken->who, 'X') < strchr(woken->who, 'Y')) ==
				!(round % 2));
	t_rm(x);
	t_rm(y);
	return counts;
}

static void s17_order_of_wakes(void)
{
	int tries = TRIES;

	t_story("S17: and so are its sleepers woken");
	/* From the fifth on the holder has had the sets to itself for long. */
	for (int round = 0; round < 8 && tries--;)
		round += order_of_wakes(round);
	t_quiet(tries >= 0);
}

/* The same where the first to sleep, whom the death wakes, is the last to be let
 * through: those before it run before it. */
static int who_undoes_is_last(void)
{
	int x = t_set(1, VALS(1)), y = t_set(1, VALS(1)), counts;
	pid_t holder;

	memset(woken, 0, sizeof(*woken));
	holder = t_fork();
	if (!holder) {
		semop(x, OPS({0, -1, U}));
		semop(y, OPS({0, -1, U}));
		raise(SIGSTOP);
	}
	waitpid(holder, NULL, WUNTRACED);
	counts = dies_before(holder, x, y, "XY");
	if (counts)
		t_say("Y first: %d", woken->who[0] == 'Y');
	t_rm(x);
	t_rm(y);
	return counts;
}

static void s17_who_undoes_is_last(void)
{
	int tries = TRIES;

	t_story("S17: nor is who undoes the first to go on");
	for (int round = 0; round < 4 && tries--;)
		round += who_undoes_is_last();
	t_quiet(tries >= 0);
}

/* On one CPU. */
static void s17_wakes(void)
{
	cpu_set_t before, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(before), &before);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	woken = t_shared(sizeof(*woken));
	s17_order_of_wakes();
	s17_who_undoes_is_last();
	munmap(woken, sizeof(*woken));
	sched_setaffinity(0, sizeof(before), &before);
}

static void s18_handed_over(void)
{
	int id = t_set(1, NULL), w, lost = 0;

	t_story("S18: what was given to a sleeper is gone at once");
	w = SLEEP(0, GETNCNT, 1, {0, -1, 0});
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_err(semop(id, OPS({0, -1, NW})), EAGAIN);
	t_row(id, GETVAL, "0");
	t_pid_is(id, 0, w);
	t_eq(t_join(w), 0);

	t_story("even if the sleeper is killed before it runs");
	for (int i = 0; i < 20; i++) {
		w = t_sleeper(id, OPS({0, -1, 0}));
		t_quiet(t_poll(id, 0, GETNCNT, 1));
		t_quiet(semop(id, OPS({0, 1, 0})) == 0);
		kill(w, SIGKILL);
		t_join(w);
		lost += semctl(id, 0, GETVAL) != 0;
	}
	t_true(lost == 0);

	t_story("one killed in its sleep takes nothing");
	for (int i = 0; i < 20; i++) {
		w = t_sleeper(id, OPS({0, -1, 0}));
		t_quiet(t_poll(id, 0, GETNCNT, 1));
		kill(w, SIGKILL);
		t_join(w);
		t_quiet(semctl(id, 0, GETNCNT) == 0);
		t_quiet(semop(id, OPS({0, 1, 0})) == 0);
		t_quiet(semop(id, OPS({0, -1, NW})) == 0);
	}
	t_row(id, GETVAL, "0");
	t_rm(id);
}

static void newcomers_overtake(void)
{
	int id = t_set(1, VALS(1)), w;

	t_story("a newcomer overtakes sleepers");
	w = SLEEP(0, GETNCNT, 1, {0, -2, 0});
	t_eq(semop(id, OPS({0, -1, NW})), 0);
	t_row(id, GETVAL, "0");
	t_row(id, GETNCNT, "1");
	t_eq(semop(id, OPS({0, 2, 0})), 0);
	t_eq(t_join(w), 0);
	t_rm(id);
}

static void chain(void)
{
	int id = t_set(4, NULL), w[3];

	t_story("a completed sleeper's own increments complete others");
	w[0] = SLEEP(2, GETNCNT, 1, {2, -1, 0}, {3, 1, 0});
	w[1] = SLEEP(1, GETNCNT, 1, {1, -1, 0}, {2, 1, 0});
	w[2] = SLEEP(0, GETNCNT, 1, {0, -1, 0}, {1, 1, 0});
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETVAL, "0 0 0 1");
	t_row(id, GETNCNT, "0 0 0 0");
	t_pid_is(id, 0, w[2]);
	t_pid_is(id, 1, w[1]);
	t_pid_is(id, 2, w[0]);
	t_pid_is(id, 3, w[0]);
	for (int i = 0; i < 3; i++)
		t_eq(t_join(w[i]), 0);
	t_rm(id);
}

static void zero_before_alter(void)
{
	int id = t_set(2, VALS(2, 0)), z[3], a;

	t_story("all waiters for zero go on, before any that alters");
	a = SLEEP(0, GETZCNT, 1, {0, 0, 0}, {0, 1, 0});
	z[0] = SLEEP(0, GETZCNT, 2, {0, 0, 0});
	z[1] = SLEEP(0, GETZCNT, 3, {0, 0, 0}, {1, 0, 0});
	z[2] = SLEEP(0, GETZCNT, 4, {0, 0, 0});
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETZCNT, "4 0");
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETVAL, "1 0");
	t_row(id, GETZCNT, "0 0");
	t_pid_is(id, 0, a);
	t_pid_is(id, 1, z[1]);
	t_eq(t_join(a), 0);
	for (int i = 0; i < 3; i++)
		t_eq(t_join(z[i]), 0);

	t_story("of two that raise from zero only the first goes on");
	t_eq(semctl(id, 0, SETVAL, 1), 0);
	z[0] = SLEEP(0, GETZCNT, 1, {0, 0, 0}, {0, 1, 0});
	z[1] = SLEEP(0, GETZCNT, 2, {0, 0, 0}, {0, 1, 0});
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETVAL, "1 0");
	t_row(id, GETZCNT, "1 0");
	t_eq(t_join(z[0]), 0);
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_eq(t_join(z[1]), 0);
	t_row(id, GETVAL, "1 0");
	t_rm(id);
}

static void zero_call_wakes_nobody(void)
{
	int id = t_set(1, NULL), w;

	t_story("a successful wait for zero changes nothing for sleepers");
	w = SLEEP(0, GETNCNT, 1, {0, -1, 0});
	t_eq(semop(id, OPS({0, 0, 0})), 0);
	t_row(id, GETNCNT, "1");
	t_eq(semctl(id, 0, SETVAL, 1), 0);
	t_row(id, GETVAL, "0");
	t_eq(t_join(w), 0);
	t_rm(id);
}

static void removal(void)
{
	int id = t_set(2, VALS(1, 0)), w[4];

	t_story("IPC_RMID ends all sleeps with EIDRM");
	w[0] = SLEEP(1, GETNCNT, 1, {1, -1, 0});
	w[1] = SLEEP(0, GETZCNT, 1, {0, 0, 0});
	w[2] = SLEEP(0, GETZCNT, 2, {0, 0, 0}, {1, 0, 0});
	w[3] = SLEEP(1, GETNCNT, 2, {0, -1, U}, {1, -1, U});
	t_rm(id);
	for (int i = 0; i < 4; i++)
		t_eq(t_join(w[i]), EIDRM);
	t_err(semctl(id, 0, GETVAL), EINVAL);
	t_err(semop(id, OPS({0, 1, 0})), EINVAL);
}

static void rights_taken_away(void)
{
	int id = t_set(1, NULL), w;
	struct semid_ds ds = t_stat(id);

	t_story("rights are not checked again while asleep");
	ds.sem_perm.mode = 0666;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	w = t_fork();
	if (w == 0) {
		t_become(T_OTHER_UID, T_OTHER_UID);
		_exit(t_code(semop(id, OPS({0, -1, 0}))));
	}
	t_wait_blocked(id, 0, GETNCNT, 1);
	ds.sem_perm.mode = 0;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	t_row(id, GETNCNT, "1");
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_pid_is(id, 0, w);
	t_eq(t_join(w), 0);
	t_rm(id);
}

static void crowd(void)
{
	int id = t_set(2, NULL), w[20];

	t_story("a crowd of 20 and one SETVAL");
	for (int i = 0; i < 20; i++) {
		w[i] = t_sleeper(id, OPS({0, -1, 0}));
		t_quiet(t_poll(id, 0, GETNCNT, i + 1));
	}
	t_eq(semctl(id, 0, SETVAL, 15), 0);
	t_row(id, GETVAL, "0 0");
	t_row(id, GETNCNT, "5 0");
	t_eq(semctl(id, 0, SETVAL, 15), 0);
	t_row(id, GETVAL, "10 0");
	t_row(id, GETNCNT, "0 0");
	t_pid_is(id, 0, w[19]);
	for (int i = 0; i < 20; i++)
		t_quiet(t_join(w[i]) == 0);
	t_rm(id);
}

/* More operations than any short list of what changed can hold. */
static void long_array(void)
{
	struct sembuf many[3 * 126];
	int id = t_set(2, VALS(0, 1)), a, z, i;

	t_story("a long array lets go whom it concerns");
	for (i = 0; i < 126; i++) {
		many[3 * i] = (struct sembuf){1, 2, 0};
		many[3 * i + 1] = (struct sembuf){1, -2, 0};
		many[3 * i + 2] = (struct sembuf){0, 1, 0};
	}
	a = t_sleeper(id, OPS({0, -100, 0}));
	t_wait_blocked(id, 0, GETNCNT, 1);
	t_eq(semop(id, many, 66), 0);
	t_row(id, GETVAL, "22 1");
	t_row(id, GETNCNT, "1 0");
	t_eq(semop(id, many, 3 * 126), 0);
	t_eq(t_join(a), 0);
	t_row(id, GETVAL, "48 1");
	t_pid_is(id, 0, a);
	z = t_sleeper(id, OPS({1, 0, 0}));
	t_wait_blocked(id, 1, GETZCNT, 1);
	many[1].sem_op = -3;
	t_eq(semop(id, many, 99), 0);
	t_eq(t_join(z), 0);
	t_row(id, GETVAL, "81 0");
	t_rm(id);
}

int main(void)
{
	t_begin();
	s1_blocks_at_a_later_op();
	s2_both_needed();
	s3_both_zero();
	s4_setval_wakes();
	s5_first_that_can();
	s6_several_at_once();
	s7_transient_within_a_call();
	s8_transient_between_sleepers();
	s9_fifo_across_kinds();
	s10_s11_error_at_retry();
	s17_most_recent_first();
	s17_wakes();
	s18_handed_over();
	newcomers_overtake();
	chain();
	zero_before_alter();
	zero_call_wakes_nobody();
	removal();
	rights_taken_away();
	crowd();
	long_array();
	return t_end();
}
