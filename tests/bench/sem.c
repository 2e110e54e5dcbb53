// SPDX-License-Identifier: MIT
/*
 * sem: what one System V semaphore call costs in the world it is run in.
 *
 *	sem [OPTIONS] CASE		(sem --list names the cases)
 *
 * prints `CASE ns_per_op`, the best of several inner rounds. Nothing is
 * asserted. Run it in a fresh namespace, `unshare --ipc --mount ./sem semop`,
 * and the same binary under LD_PRELOAD of a shim; `compare` beside it does
 * both and prints the ratio.
 *
 *   semop		+1 then -1 on one semaphore, nobody waits; per semop
 *   undo		the same with SEM_UNDO
 *   sops4		four +1 in one array, then four -1; per semop
 *   getval		semctl(GETVAL)
 *   lookup		semget of existing keys among 31,900, in random order
 *   churn		remove one of 31,900 keyed sets, create another; per
 *pair noop2		semop {0,0,0} at random on the ids 1 and 2 noopfar
 *the same on the ids 1 and 15777204
 *   pingpong-2cpu	two processes on two CPUs hand over; per round trip
 *   pingpong-1cpu	the same, both on one CPU
 *   pingpong-N		N processes (even) in pairs on two CPUs: elapsed time
 *			by the round trips of all pairs; pingpong-N-burn adds
 *			two processes that only spin
 *   t1			creating and looking up KEYS keys from an empty
 *			namespace, KEYS = 1 ... 31900: several rows, the mean
 *			(t1-create-KEYS, t1-lookup-KEYS) and the longest single
 *			call (t1-createmax-KEYS, t1-lookupmax-KEYS)
 *   t5			a full table: mean creation while filling (t5-fill),
 *			finding again the places of ten sets removed at random
 *			(t5-find, t5-findmax), and ENOSPC (t5-enospc)
 *
 * Lines that begin with '#' are for people. t1 and t5 are the workloads of
 * Knispel 2017 and Ravindran 2002, noop2 and noopfar of Spraul 2019.
 *
 * noop2 and noopfar choose their ids by writing sem_next_id in /proc. Where
 * that does not work, --next-id-cmd CMD runs "CMD ID" by system(3) before
 * each creation, and --ids A,B uses two sets that exist. Failing all of them
 * noop2 creates until it meets its ids; noopfar takes one set and another
 * made 4,000 creations later. A '#' line on stderr then says so.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEY_BASE 0x424242 /* as in the table of 2017 */
#define KEYS_MANY 31900	  /* a little under Linux's 32,000 sets */
#define TABLE_MAX (1 << 20)
#define FAR_ID 15777204
#define N_BURNERS 2
#define PAIRS_MAX 64

/* One line a pair, so that the counters do not share a cache line. */
struct tally {
	_Alignas(64) volatile long round_trips;
};

/* Shared by all processes of pingpong-N. */
struct arena {
	volatile int stop;
	struct tally pair[PAIRS_MAX];
};

static const char *case_name = "?";
static const char *next_id_cmd;
static int given_id[2] = {-1, -1};
static int n_rounds = 7;
static long round_ns = 30 * 1000000L;

static int *set_id; /* every set that this run made, -1 once removed */
static int n_sets;
static pid_t owner_pid;
static pid_t helper_pid[2 * PAIRS_MAX + N_BURNERS];
static int n_helpers;

static int the_id;     /* the set of the one-set cases */
static int pair_id[2]; /* noop2, noopfar */
static key_t next_key; /* churn: never used before */
static uint64_t rng_state = 88172645463325252ULL;

static uint64_t rng_next(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void clean_up(void)
{
	if (getpid() != owner_pid)
		return;
	for (int i = 0; i < n_helpers; i++)
		kill(helper_pid[i], SIGKILL);
	while (n_helpers > 0)
		waitpid(helper_pid[--n_helpers], NULL, 0);
	for (int i = 0; i < n_sets; i++)
		if (set_id[i] >= 0)
			semctl(set_id[i], 0, IPC_RMID);
	n_sets = 0;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "sem: %s: %s: %s\n", case_name, what, strerror(errno));
	exit(1);
}

static void report(const char *suffix, long keys, double ns)
{
	printf("%s%s", case_name, suffix);
	if (keys)
		printf("-%ld", keys);
	printf(" %.1f\n", ns);
}

/* -1 and errno where semget fails; else an id that clean_up() will remove */
static int set_create(key_t key, int n_sems)
{
	int id = semget(key, n_sems, IPC_CREAT | IPC_EXCL | 0600);

	if (id >= 0 && n_sets < TABLE_MAX)
		set_id[n_sets++] = id;
	return id;
}

static int set_create_or_die(key_t key, int n_sems)
{
	int id = set_create(key, n_sems);

	if (id < 0)
		die("semget");
	return id;
}

static void remove_all(void)
{
	for (int i = 0; i < n_sets; i++)
		if (semctl(set_id[i], 0, IPC_RMID))
			die("IPC_RMID");
	n_sets = 0;
}

/* n keyed sets, or as many as the namespace takes; returns how many */
static int fill_keys(int n)
{
	while (n_sets < n)
		if (set_create(KEY_BASE + n_sets, 1) < 0) {
			if (errno != ENOSPC)
				die("semget");
			break;
		}
	if (n_sets < n)
		fprintf(stderr, "# %s: only %d keys fit\n", case_name, n_sets);
	if (!n_sets)
		die("no room");
	return n_sets;
}

static double best_of(void (*run)(long n))
{
	double best = 1e18, t, dt;
	long n = 16;

	for (;; n *= 2) {
		t = now_ns();
		run(n);
		dt = now_ns() - t;
		if (dt >= round_ns / 8.0)
			break;
	}
	n = (long)(n * (round_ns / dt)) + 1;
	for (int i = 0; i < n_rounds; i++) {
		t = now_ns();
		run(n);
		dt = (now_ns() - t) / n;
		if (dt < best)
			best = dt;
	}
	return best;
}

/* --- one set, one process ------------------------------------------- */

static void pairs_run(long n, int n_sops, short flg)
{
	struct sembuf up[4], down[4];

	for (int i = 0; i < 4; i++) {
		up[i] = (struct sembuf){(unsigned short)i, 1, flg};
		down[i] = (struct sembuf){(unsigned short)i, -1, flg};
	}
	while (n-- > 0)
		if (semop(the_id, up, n_sops) || semop(the_id, down, n_sops))
			die("semop");
}

static void run_semop(long n)
{
	pairs_run(n, 1, 0);
}

static void run_undo(long n)
{
	pairs_run(n, 1, SEM_UNDO);
}

static void run_sops4(long n)
{
	pairs_run(n, 4, 0);
}

static void run_getval(long n)
{
	while (n-- > 0)
		if (semctl(the_id, 0, GETVAL) < 0)
			die("GETVAL");
}

static void case_semop(void)
{
	the_id = set_create_or_die(IPC_PRIVATE, 1);
	report("", 0, best_of(run_semop) / 2);
}

static void case_undo(void)
{
	the_id = set_create_or_die(IPC_PRIVATE, 1);
	report("", 0, best_of(run_undo) / 2);
}

static void case_sops4(void)
{
	the_id = set_create_or_die(IPC_PRIVATE, 4);
	report("", 0, best_of(run_sops4) / 2);
}

static void case_getval(void)
{
	the_id = set_create_or_die(IPC_PRIVATE, 1);
	report("", 0, best_of(run_getval));
}

/* --- many keys ------------------------------------------------------ */

static void run_lookup(long n)
{
	while (n-- > 0)
		if (semget(KEY_BASE + (key_t)(rng_next() % n_sets), 1, 0) < 0)
			die("semget");
}

static void run_churn(long n)
{
	while (n-- > 0) {
		int *slot = &set_id[rng_next() % n_sets];

		if (semctl(*slot, 0, IPC_RMID))
			die("IPC_RMID");
		*slot = semget(next_key++, 1, IPC_CREAT | IPC_EXCL | 0600);
		if (*slot < 0)
			die("semget");
	}
}

static void case_lookup(void)
{
	fill_keys(KEYS_MANY);
	report("", 0, best_of(run_lookup));
}

static void case_churn(void)
{
	next_key = KEY_BASE + fill_keys(KEYS_MANY);
	report("", 0, best_of(run_churn));
}

/* --- T1 ------------------------------------------------------------- */

struct t1_row {
	double create_ns, lookup_ns; /* totals */
	double create_max_ns, lookup_max_ns;
};

/* total of the loop, and where ret_max is given the longest call (which
 * makes the total worthless: each call is then timed) */
static double t1_loop(int keys, bool create, double *ret_max)
{
	double start = now_ns(), before = start, max = 0;
	key_t k = KEY_BASE;

	for (int i = 0; i < keys; i++) {
		int id = semget(k++, 1, IPC_CREAT | 0600);

		if (id < 0)
			die("semget");
		if (create)
			set_id[n_sets++] = id;
		if (ret_max) {
			double t = now_ns();

			if (t - before > max)
				max = t - before;
			before = t;
		}
	}
	if (ret_max)
		*ret_max = max;
	return now_ns() - start;
}

static void keep_min(double *least, double x)
{
	if (x < *least)
		*least = x;
}

/* The longest call is the least of the rounds' maxima: what every round has
 * (a rehash, say) stays, what the scheduler did once goes. */
static struct t1_row t1_measure(int keys)
{
	struct t1_row r = {1e18, 1e18, 1e18, 1e18};
	int rounds = keys > 1000 ? 4 : 50;
	double max;

	for (int i = 0; i < rounds; i++) {
		keep_min(&r.create_ns, t1_loop(keys, true, NULL));
		keep_min(&r.lookup_ns, t1_loop(keys, false, NULL));
		remove_all();
		t1_loop(keys, true, &max);
		keep_min(&r.create_max_ns, max);
		t1_loop(keys, false, &max);
		keep_min(&r.lookup_max_ns, max);
		remove_all();
	}
	return r;
}

static void case_t1(void)
{
	static const int sizes[] = {1, 10, 32, 100, 1000, 10000, 31900};

	printf("# totals and longest single call, us\n");
	printf("# %6s %10s %10s %10s %10s\n", "KEYS", "create", "lookup",
		"create max", "lookup max");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int n = sizes[i];
		struct t1_row r = t1_measure(n);

		printf("# %6d %10.1f %10.1f %10.1f %10.1f\n", n,
			r.create_ns / 1e3, r.lookup_ns / 1e3,
			r.create_max_ns / 1e3, r.lookup_max_ns / 1e3);
		report("-create", n, r.create_ns / n);
		report("-lookup", n, r.lookup_ns / n);
		report("-createmax", n, r.create_max_ns);
		report("-lookupmax", n, r.lookup_max_ns);
	}
}

/* --- T5 ------------------------------------------------------------- */

static void t5_full_calls(double *ret_ns)
{
	double t = now_ns();

	for (int i = 0; i < 1000; i++)
		if (semget(IPC_PRIVATE, 1, 0600) >= 0 || errno != ENOSPC)
			die("semget in a full table: no ENOSPC");
	*ret_ns = (now_ns() - t) / 1000;
}

/* ten places made free, then ten creations, each timed */
static void t5_find_ten(double *ret_total, double *ret_max)
{
	int slot[10];
	double before, t;

	for (int i = 0; i < 10; i++) {
		do
			slot[i] = (int)(rng_next() % n_sets);
		while (set_id[slot[i]] < 0);
		if (semctl(set_id[slot[i]], 0, IPC_RMID))
			die("IPC_RMID");
		set_id[slot[i]] = -1;
	}
	*ret_total = *ret_max = 0;
	before = now_ns();
	for (int i = 0; i < 10; i++) {
		set_id[slot[i]] = semget(IPC_PRIVATE, 1, 0600);
		t = now_ns();
		if (set_id[slot[i]] < 0)
			die("semget");
		*ret_total += t - before;
		if (t - before > *ret_max)
			*ret_max = t - before;
		before = t;
	}
}

static void case_t5(void)
{
	double t = now_ns(), fill, total, max, full;
	double total_best = 1e18, max_best = 1e18, full_best = 1e18;

	while (n_sets < TABLE_MAX && set_create(IPC_PRIVATE, 1) >= 0)
		;
	if (n_sets == TABLE_MAX) {
		fprintf(stderr, "# t5: no limit within %d sets\n", TABLE_MAX);
		exit(77);
	}
	if (errno != ENOSPC)
		die("semget");
	fill = (now_ns() - t) / n_sets;
	for (int i = 0; i < 100; i++) {
		t5_find_ten(&total, &max);
		keep_min(&total_best, total);
		keep_min(&max_best, max);
		t5_full_calls(&full);
		keep_min(&full_best, full);
	}
	printf("# full at %d sets\n", n_sets);
	report("-fill", 0, fill);
	report("-find", 0, total_best / 10);
	report("-findmax", 0, max_best);
	report("-enospc", 0, full_best);
}

/* --- T2: two chosen ids --------------------------------------------- */

static void next_id_write(int want)
{
	static const char path[] = "/proc/sys/kernel/sem_next_id";
	char text[512];
	int fd, len;

	if (next_id_cmd) {
		snprintf(text, sizeof(text), "%s %d", next_id_cmd, want);
		if (system(text))
			fprintf(stderr, "# %s failed\n", text);
		return;
	}
	fd = open(path, O_WRONLY);
	len = snprintf(text, sizeof(text), "%d\n", want);
	if (fd < 0 || write(fd, text, len) != len)
		fprintf(stderr, "# %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* The set with the id `want`, or some set where ids cannot be chosen. */
static int set_create_as(int want, int n_others)
{
	int id;

	next_id_write(want);
	id = set_create_or_die(IPC_PRIVATE, 1);
	for (int i = 0; id != want && i < n_others; i++) {
		semctl(id, 0, IPC_RMID);
		id = set_id[--n_sets] = -1;
		id = set_create_or_die(IPC_PRIVATE, 1);
	}
	if (id != want)
		fprintf(stderr, "# %s: id %d instead of %d\n", case_name, id,
			want);
	return id;
}

static void run_noop(long n)
{
	struct sembuf nothing = {0, 0, 0};

	while (n-- > 0)
		if (semop(pair_id[rng_next() >> 40 & 1], &nothing, 1))
			die("semop");
}

static void noop_measure(int first, int second, int n_others)
{
	if (given_id[0] >= 0) {
		pair_id[0] = given_id[0];
		pair_id[1] = given_id[1];
	} else {
		pair_id[0] = set_create_as(first, 4000);
		pair_id[1] = set_create_as(second, n_others);
	}
	report("", 0, best_of(run_noop));
}

static void case_noop2(void)
{
	noop_measure(1, 2, 4000);
}

static void case_noopfar(void)
{
	noop_measure(1, FAR_ID, 4000);
}

/* --- handing over --------------------------------------------------- */

static int cpu_pick(int nth)
{
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all))
		die("sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && nth-- == 0)
			return cpu;
	fprintf(stderr, "# %s needs two CPUs\n", case_name);
	exit(77);
}

static void cpu_pin(int a, int b)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(a, &set);
	CPU_SET(b, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/* 0 in the child, which ends with its parent */
static pid_t helper_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != owner_pid)
			_exit(1);
		return 0;
	}
	helper_pid[n_helpers++] = pid;
	return pid;
}

static void helpers_wait(void)
{
	while (n_helpers > 0) {
		int status;

		if (waitpid(helper_pid[--n_helpers], &status, 0) < 0 ||
			(WIFEXITED(status) && WEXITSTATUS(status))) {
			errno = ECHILD;
			die("a partner failed");
		}
	}
}

/* up on ours, down on theirs; false once the set is gone */
static bool hand_over(int id, int ours, int theirs, bool first)
{
	struct sembuf up = {(unsigned short)ours, 1, 0};
	struct sembuf down = {(unsigned short)theirs, -1, 0};

	if (first)
		return !semop(id, &up, 1) && !semop(id, &down, 1);
	return !semop(id, &down, 1) && !semop(id, &up, 1);
}

static void partner_run(int id)
{
	while (hand_over(id, 1, 0, false))
		;
	_exit(errno == EIDRM || errno == EINVAL ? 0 : 1);
}

static void run_pingpong(long n)
{
	while (n-- > 0)
		if (!hand_over(the_id, 0, 1, true))
			die("semop");
}

static void pingpong_pair(int cpu_a, int cpu_b)
{
	double ns;

	the_id = set_create_or_die(IPC_PRIVATE, 2);
	if (!helper_fork()) {
		cpu_pin(cpu_b, cpu_b);
		partner_run(the_id);
	}
	cpu_pin(cpu_a, cpu_a);
	ns = best_of(run_pingpong);
	remove_all();
	helpers_wait();
	report("", 0, ns);
}

static void pair_start(struct arena *arena, int nth)
{
	int id = set_create_or_die(IPC_PRIVATE, 2);

	if (!helper_fork()) {
		while (!arena->stop && hand_over(id, 0, 1, true))
			arena->pair[nth].round_trips++;
		_exit(0);
	}
	if (!helper_fork())
		partner_run(id);
}

static long pairs_total(struct arena *arena, int n_pairs)
{
	long sum = 0;

	for (int i = 0; i < n_pairs; i++)
		sum += arena->pair[i].round_trips;
	return sum;
}

/* For people: a pair may starve while the sum looks well. */
static void pairs_spread(struct arena *arena, int n_pairs)
{
	long least = arena->pair[0].round_trips, most = least;

	for (int i = 1; i < n_pairs; i++) {
		long x = arena->pair[i].round_trips;

		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	printf("# %s: round trips of one pair: least %ld, most %ld\n",
		case_name, least, most);
}

static void pingpong_many(int n_procs, bool burn)
{
	struct arena *arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int cpu[2] = {cpu_pick(0), cpu_pick(1)};
	double best = 1e18;

	if (arena == MAP_FAILED)
		die("mmap");
	cpu_pin(cpu[0], cpu[1]);
	for (int i = 0; burn && i < N_BURNERS; i++)
		if (!helper_fork()) {
			cpu_pin(cpu[i % 2], cpu[i % 2]);
			while (!arena->stop)
				;
			_exit(0);
		}
	for (int i = 0; i < n_procs / 2; i++)
		pair_start(arena, i);
	sleep_ms(100);
	for (int i = 0; i < n_rounds; i++) {
		long before = pairs_total(arena, n_procs / 2);
		double t = now_ns();

		sleep_ms(10 * round_ns / 1000000);
		t = now_ns() - t;
		before = pairs_total(arena, n_procs / 2) - before;
		if (before)
			keep_min(&best, t / before);
	}
	pairs_spread(arena, n_procs / 2);
	arena->stop = 1;
	remove_all();
	helpers_wait();
	report("", 0, best);
}

static bool case_pingpong(const char *rest)
{
	char *end;
	long n;

	if (!strcmp(rest, "2cpu")) {
		pingpong_pair(cpu_pick(0), cpu_pick(1));
		return true;
	}
	if (!strcmp(rest, "1cpu")) {
		pingpong_pair(cpu_pick(0), cpu_pick(0));
		return true;
	}
	n = strtol(rest, &end, 10);
	if (n < 2 || n > 2 * PAIRS_MAX || n % 2 ||
		(*end && strcmp(end, "-burn")))
		return false;
	pingpong_many((int)n, *end);
	return true;
}

/* --- the command ---------------------------------------------------- */

static const struct bench {
	const char *name;
	void (*run)(void); /* NULL: case_pingpong() reads the name */
} benches[] = {
	{"semop", case_semop},
	{"undo", case_undo},
	{"sops4", case_sops4},
	{"getval", case_getval},
	{"lookup", case_lookup},
	{"churn", case_churn},
	{"noop2", case_noop2},
	{"noopfar", case_noopfar},
	{"pingpong-2cpu", NULL},
	{"pingpong-1cpu", NULL},
	{"pingpong-8", NULL},
	{"pingpong-8-burn", NULL},
	{"t1", case_t1},
	{"t5", case_t5},
};

#define N_BENCHES (sizeof(benches) / sizeof(benches[0]))

static _Noreturn void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: sem [--rounds N] [--round-ms MS] [--ids A,B]\n"
		"           [--next-id-cmd CMD] CASE | --list\n");
	exit(status);
}

static const char *options_read(int argc, char **argv)
{
	static const struct option longs[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"round-ms", required_argument, NULL, 'm'},
		{"ids", required_argument, NULL, 'i'},
		{"next-id-cmd", required_argument, NULL, 'c'},
		{"list", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'r')
			n_rounds = atoi(optarg);
		else if (c == 'm')
			round_ns = atol(optarg) * 1000000;
		else if (c == 'c')
			next_id_cmd = optarg;
		else if (c == 'i' && sscanf(optarg, "%d,%d", &given_id[0],
					     &given_id[1]) == 2)
			continue;
		else if (c == 'l') {
			for (size_t i = 0; i < N_BENCHES; i++)
				puts(benches[i].name);
			exit(0);
		} else
			usage(c == 'h' ? 0 : 2);
	}
	if (optind + 1 != argc || n_rounds < 1 || round_ns < 1)
		usage(2);
	return argv[optind];
}

int main(int argc, char **argv)
{
	case_name = options_read(argc, argv);
	owner_pid = getpid();
	set_id = calloc(TABLE_MAX, sizeof(*set_id));
	if (!set_id)
		die("calloc");
	setvbuf(stdout, NULL, _IOLBF, 0);
	atexit(clean_up);
	if (!strncmp(case_name, "pingpong-", 9)) {
		if (!case_pingpong(case_name + 9))
			usage(2);
		return 0;
	}
	for (size_t i = 0; i < N_BENCHES; i++)
		if (!strcmp(case_name, benches[i].name)) {
			benches[i].run();
			return 0;
		}
	usage(2);
}
