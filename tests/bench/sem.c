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
 *   pingpong-2cpu	two processes on two CPUs hand over; per round trip
 *   pingpong-1cpu	the same, both on one CPU
 *   pingpong-8		eight processes in pairs on two CPUs: elapsed time
 *			by the round trips of all pairs; pingpong-8-burn adds
 *			two processes that only spin
 * Lines that begin with '#' are for people. Keys, far ids and full tables are
 * measured by `ipclift bench`.
 */
#include "bench.h"

#include <sys/ipc.h>
#include <sys/sem.h>

#define KEY_BASE 0x424242 /* as in the table of 2017 */
#define KEYS_MANY 31900	  /* a little under Linux's 32,000 sets */
#define TABLE_MAX (1 << 20)

static int *set_id; /* every set that this run made, -1 once removed */
static int n_sets;
static int the_id;     /* the set of the one-set cases */
static key_t next_key; /* churn: never used before */
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
	{"pingpong-2cpu", case_pingpong_2cpu},
	{"pingpong-1cpu", case_pingpong_1cpu},
	{"pingpong-8", case_pingpong_8},
	{"pingpong-8-burn", case_pingpong_8_burn},
	{0},
};

int main(int argc, char **argv)
{
	set_id = calloc(TABLE_MAX, sizeof(*set_id));
	if (!set_id)
		die("calloc");
	bench_main(argc, argv, NULL, benches, clean_up);
	return 0;
}
