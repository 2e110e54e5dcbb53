// SPDX-License-Identifier: MIT
/*
 * Semaphore sets by key and by id (T1, T2 and T5 of doc/reference-tables.md).
 *
 * keys n=N
 *	create, lookup: semget that makes N keys of an empty namespace, and
 *	again that finds them; totals in ns. create-longest, lookup-longest: of
 *	one call. churn: ns of removing one of them and making another
 * keys-fork n=N
 *	the same, each call in a process of its own that has made none before;
 *	the call alone is timed
 * ids far=ID
 *	op: a semop that does nothing, at random on the sets of ids 1 and ID,
 *	the only ones
 * ids-between far=N
 *	the same on a set and the one made after N others came and went
 * full max=N
 *	fill: ns a set, until the table is full or has N; find: one of ten
 *	places made free at random; slowest: of these ten; refused: one set
 *	too many
 *
 * The workloads of Knispel 2017, Spraul 2019 and Ravindran 2002.
 */
#include "tool/bench/work/worker.h"

#include "tool/bench/work/frame.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#define KEY_BASE 0x424242 /* as in the table of 2017 */
#define TEN 10

static int *ids; /* of the sets made, n_ids of them */
static long n_ids;

static void ids_space(long n)
{
	ids = share((size_t)n * sizeof(*ids));
}

static void set_remove(int id)
{
	must(!semctl(id, 0, IPC_RMID), "IPC_RMID");
}

/* What a process does once is not timed here. */
static void begin(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600);

	must(id >= 0, "semget");
	set_remove(id);
}

static void keys_remove(void)
{
	while (n_ids > 0)
		set_remove(ids[--n_ids]);
}

/* --- one process ------------------------------------------------------ */

/* ns of all calls; where ret_max is given the longest call, which makes the
 * total worthless: each call is then timed. */
static double keys_loop(long n, double *ret_max)
{
	double start = now_ns(), before = start;

	for (long i = 0; i < n; i++) {
		ids[i] = semget(KEY_BASE + (key_t)i, 1, IPC_CREAT | 0600);
		must(ids[i] >= 0, "semget");
		if (ret_max) {
			double t = now_ns();

			if (t - before > *ret_max)
				*ret_max = t - before;
			before = t;
		}
	}
	n_ids = n;
	return now_ns() - start;
}

static void run_churn(long n)
{
	static key_t fresh = KEY_BASE + 0x1000000;

	while (n-- > 0) {
		int *slot = &ids[rng_next() % (uint64_t)n_ids];

		set_remove(*slot);
		*slot = semget(fresh++, 1, IPC_CREAT | IPC_EXCL | 0600);
		must(*slot >= 0, "semget");
	}
}

/* The longest call is the least of the rounds' longest: what every round has
 * (a larger index) stays, what the scheduler did once goes. */
static void bench_keys(void)
{
	long n = work_arg("n", 100), rounds = n > 1000 ? 2 : 20;
	double create = NEVER, lookup = NEVER, x = (double)n;
	double create_max = NEVER, lookup_max = NEVER, max;

	ids_space(n);
	begin();
	for (long i = 0; i < rounds; i++) {
		keep_min(&create, keys_loop(n, NULL));
		keep_min(&lookup, keys_loop(n, NULL));
		keys_remove();
		max = 0;
		keys_loop(n, &max);
		keep_min(&create_max, max);
		max = 0;
		keys_loop(n, &max);
		keep_min(&lookup_max, max);
		if (i + 1 < rounds)
			keys_remove();
	}
	figure("create", x, create);
	figure("lookup", x, lookup);
	figure("create-longest", x, create_max);
	figure("lookup-longest", x, lookup_max);
	figure("churn", x, best_of(run_churn));
}

/* --- each call in a new process --------------------------------------- */

/* What the nth child does; its time, in shared memory. */
static double *child_ns;

static int child_semget(long i)
{
	double t = now_ns();
	int id = semget(KEY_BASE + (key_t)i, 1, IPC_CREAT | 0600);

	*child_ns = now_ns() - t;
	ids[i] = id;
	return id < 0;
}

static int child_churn(long i)
{
	key_t fresh = KEY_BASE + 0x1000000 + (key_t)i;
	double t = now_ns();
	int err = semctl(ids[i], 0, IPC_RMID) ||
		  semget(fresh, 1, IPC_CREAT | IPC_EXCL | 0600) < 0;

	*child_ns = now_ns() - t;
	return err;
}

/* The total of n children, and the longest. */
static double children_loop(int (*does)(long i), long n, double *ret_max)
{
	double total = 0;

	*ret_max = 0;
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(does(i));
		must(pid > 0 && waitpid(pid, &status, 0) == pid && !status,
			"a child's call");
		total += *child_ns;
		*ret_max = *child_ns > *ret_max ? *child_ns : *ret_max;
	}
	return total;
}

static void bench_keys_fork(void)
{
	long n = work_arg("n", 100), n_churn = n < 1000 ? n : 1000;
	double x = (double)n, max;

	ids_space(n);
	child_ns = share(sizeof(*child_ns));
	figure("create", x, children_loop(child_semget, n, &max));
	figure("create-longest", x, max);
	figure("lookup", x, children_loop(child_semget, n, &max));
	figure("lookup-longest", x, max);
	figure("churn", x,
		children_loop(child_churn, n_churn, &max) / (double)n_churn);
}

/* --- two ids ---------------------------------------------------------- */

static int pair[2];

static void run_noop(long n)
{
	struct sembuf nothing = {0, 0, 0};

	while (n-- > 0)
		must(!semop(pair[rng_next() >> 40 & 1], &nothing, 1), "semop");
}

/* The set of this id, chosen by sem_next_id. */
static int set_at(long id)
{
	int fd = open("/proc/sys/kernel/sem_next_id", O_WRONLY), got;

	if (fd < 0 || dprintf(fd, "%ld\n", id) < 0) {
		fprintf(stderr, "# sem_next_id: %s\n", strerror(errno));
		exit(CANNOT_BE_TIMED);
	}
	close(fd);
	got = semget(IPC_PRIVATE, 1, 0600);
	must(got >= 0, "semget");
	if (got != id) {
		fprintf(stderr, "# no id %ld here, but %d\n", id, got);
		exit(CANNOT_BE_TIMED);
	}
	return got;
}

static void bench_ids(void)
{
	long far = work_arg("far", 2);

	pair[0] = set_at(1);
	pair[1] = set_at(far);
	figure("op", (double)far, best_of(run_noop));
}

static void bench_ids_between(void)
{
	long far = work_arg("far", 4000);

	pair[0] = semget(IPC_PRIVATE, 1, 0600);
	for (long i = 0; i < far; i++)
		set_remove(semget(IPC_PRIVATE, 1, 0600));
	pair[1] = semget(IPC_PRIVATE, 1, 0600);
	must(pair[0] >= 0 && pair[1] >= 0, "semget");
	figure("op", (double)far, best_of(run_noop));
}

/* --- a full table ----------------------------------------------------- */

/* 1 if the table is full then: a smaller number was asked for otherwise. */
static int fill(long max)
{
	double t;
	int more;

	begin();
	t = now_ns();
	while (n_ids < max && (ids[n_ids] = semget(IPC_PRIVATE, 1, 0600)) >= 0)
		n_ids++;
	must(n_ids > TEN && (n_ids == max || errno == ENOSPC), "semget");
	figure("fill", (double)n_ids, (now_ns() - t) / (double)n_ids);
	more = semget(IPC_PRIVATE, 1, 0600);
	if (more >= 0)
		set_remove(more);
	return more < 0;
}

static void find_ten(double *ret_mean, double *ret_max)
{
	int *slot[TEN];
	double before, t;

	*ret_mean = *ret_max = 0;
	for (int i = 0; i < TEN; i++) {
		do
			slot[i] = &ids[rng_next() % (uint64_t)n_ids];
		while (*slot[i] < 0);
		set_remove(*slot[i]);
		*slot[i] = -1;
	}
	before = now_ns();
	for (int i = 0; i < TEN; i++) {
		*slot[i] = semget(IPC_PRIVATE, 1, 0600);
		t = now_ns();
		must(*slot[i] >= 0, "semget");
		*ret_mean += (t - before) / TEN;
		*ret_max = t - before > *ret_max ? t - before : *ret_max;
		before = t;
	}
}

static double refused(void)
{
	double t = now_ns();

	for (int i = 0; i < 1000; i++)
		must(semget(IPC_PRIVATE, 1, 0600) < 0 && errno == ENOSPC,
			"semget in a full table");
	return (now_ns() - t) / 1000;
}

static void bench_full(void)
{
	long max = work_arg("max", 1 << 24);
	double found = NEVER, slowest = NEVER, none = NEVER, mean, longest;

	int full;

	ids_space(max);
	full = fill(max);
	for (int i = 0; i < 100; i++) {
		find_ten(&mean, &longest);
		keep_min(&found, mean);
		keep_min(&slowest, longest);
		if (full)
			keep_min(&none, refused());
	}
	figure("find", (double)n_ids, found);
	figure("slowest", (double)n_ids, slowest);
	if (full)
		figure("refused", (double)n_ids, none);
}

const struct work key_works[] = {
	{"keys", bench_keys},
	{"keys-fork", bench_keys_fork},
	{"ids", bench_ids},
	{"ids-between", bench_ids_between},
	{"full", bench_full},
	{0},
};
