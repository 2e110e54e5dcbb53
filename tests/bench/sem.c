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
 *			pair
 *   noop2		semop {0,0,0} at random on the ids 1 and 2
 *   noopfar		the same on the ids 1 and 15777204
 *   pingpong-2cpu	two processes on two CPUs hand over; per round trip
 *   pingpong-1cpu	the same, both on one CPU
 *   pingpong-8		eight processes in pairs on two CPUs: elapsed time
 *			by the round trips of all pairs; pingpong-8-burn adds
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
#include "bench.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#define KEY_BASE 0x424242 /* as in the table of 2017 */
#define KEYS_MANY 31900	  /* a little under Linux's 32,000 sets */
#define TABLE_MAX (1 << 20)
#define FAR_ID 15777204

static const char *next_id_cmd, *given_ids;
static int *set_id; /* every set that this run made, -1 once removed */
static int n_sets;
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

static void clean_up(void)
{
	for (int i = 0; i < n_sets; i++)
		if (set_id[i] >= 0)
			semctl(set_id[i], 0, IPC_RMID);
	n_sets = 0;
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
	report("", best_of(run_semop) / 2);
}

static void case_undo(void)
{
	the_id = set_create_or_die(IPC_PRIVATE, 1);
	report("", best_of(run_undo) / 2);
}

static void case_sops4(void)
{
	the_id = set_create_or_die(IPC_PRIVATE, 4);
	report("", best_of(run_sops4) / 2);
}

static void case_getval(void)
{
	the_id = set_create_or_die(IPC_PRIVATE, 1);
	report("", best_of(run_getval));
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
	report("", best_of(run_lookup));
}

static void case_churn(void)
{
	next_key = KEY_BASE + fill_keys(KEYS_MANY);
	report("", best_of(run_churn));
}

/* --- T1 ------------------------------------------------------------- */

struct t1_row {
	double create_ns, lookup_ns; /* totals */
	double create_max_ns, lookup_max_ns;
};

static void report_keys(const char *what, int keys, double ns)
{
	char suffix[32];

	snprintf(suffix, sizeof(suffix), "%s-%d", what, keys);
	report(suffix, ns);
}

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
		report_keys("-create", n, r.create_ns / n);
		report_keys("-lookup", n, r.lookup_ns / n);
		report_keys("-createmax", n, r.create_max_ns);
		report_keys("-lookupmax", n, r.lookup_max_ns);
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
	report("-fill", fill);
	report("-find", total_best / 10);
	report("-findmax", max_best);
	report("-enospc", full_best);
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
	if (given_ids) {
		if (sscanf(given_ids, "%d,%d", &pair_id[0], &pair_id[1]) != 2)
			die("--ids");
	} else {
		pair_id[0] = set_create_as(first, 4000);
		pair_id[1] = set_create_as(second, n_others);
	}
	report("", best_of(run_noop));
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

/* up on ours, down on theirs; false once the set is gone */
static bool hand_over(int id, int ours, int theirs, bool first)
{
	struct sembuf up = {(unsigned short)ours, 1, 0};
	struct sembuf down = {(unsigned short)theirs, -1, 0};

	if (first)
		return !semop(id, &up, 1) && !semop(id, &down, 1);
	return !semop(id, &down, 1) && !semop(id, &up, 1);
}

static void answer(int id)
{
	while (hand_over(id, 1, 0, false))
		;
}

static void partner(void)
{
	answer(the_id);
}

static void run_pingpong(long n)
{
	while (n-- > 0)
		if (!hand_over(the_id, 0, 1, true))
			die("semop");
}

static void pingpong_pair(int cpu_a, int cpu_b)
{
	the_id = set_create_or_die(IPC_PRIVATE, 2);
	report("", pair_best(cpu_a, cpu_b, partner, run_pingpong, remove_all));
}

static void pair_start(struct arena *arena, int nth)
{
	int id = set_create_or_die(IPC_PRIVATE, 2);

	if (!partner_fork()) {
		while (!arena->stop && hand_over(id, 0, 1, true))
			arena->pair[nth].round_trips++;
		_exit(0);
	}
	if (!partner_fork()) {
		answer(id);
		partner_exit();
	}
}

static void case_pingpong_2cpu(void)
{
	pingpong_pair(cpu_pick(0), cpu_pick(1));
}

static void case_pingpong_1cpu(void)
{
	pingpong_pair(cpu_pick(0), cpu_pick(0));
}

static void case_pingpong_8(void)
{
	report("", pairs_best(4, false, pair_start, remove_all));
}

static void case_pingpong_8_burn(void)
{
	report("", pairs_best(4, true, pair_start, remove_all));
}

/* --- the command ---------------------------------------------------- */

static const struct bench benches[] = {
	{"semop", case_semop},
	{"undo", case_undo},
	{"sops4", case_sops4},
	{"getval", case_getval},
	{"lookup", case_lookup},
	{"churn", case_churn},
	{"noop2", case_noop2},
	{"noopfar", case_noopfar},
	{"pingpong-2cpu", case_pingpong_2cpu},
	{"pingpong-1cpu", case_pingpong_1cpu},
	{"pingpong-8", case_pingpong_8},
	{"pingpong-8-burn", case_pingpong_8_burn},
	{"t1", case_t1},
	{"t5", case_t5},
	{0},
};

static const struct option_of options[] = {
	BENCH_OPTIONS,
	{"ids", .text = &given_ids},
	{"next-id-cmd", .text = &next_id_cmd},
	{0},
};

int main(int argc, char **argv)
{
	set_id = calloc(TABLE_MAX, sizeof(*set_id));
	if (!set_id)
		die("calloc");
	bench_main(argc, argv, options, benches, clean_up);
	return 0;
}
