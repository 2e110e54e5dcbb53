// SPDX-License-Identifier: MIT
/*
 * The operations of semaphores as crash scenarios; see crash.h. Set 0 is the
 * one that things happen to, and has key 1 unless said otherwise.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "crash.h"
#include "msg/msgslab.h"
#include "object/reap.h"
#include "registry/heap.h"
#include "registry/journal/reserve.h"
#include "registry/lock.h"
#include "registry/wait.h"

#define UNDO SEM_FLG_UNDO
#define NOWAIT SEM_IPC_NOWAIT
#define LARGE 60u

static int set_id(struct caller *c)
{
	return IDENT_ID(region_slot(&c->region, FAC_SEM, 0)->ident);
}

static int op1(struct caller *c, u16 num, s16 op, s16 flg)
{
	struct sop sop = {num, op, flg};

	return sem_op(c, set_id(c), &sop, 1, NULL);
}

/* ---- registries ---- */

static void make(struct caller *c, s32 key, u32 n)
{
	if (sem_get(c, key, n, 0600 | SEM_IPC_CREAT) < 0) {
		fprintf(stderr, "semget failed\n");
		exit(2);
	}
}

static void set_of_4(struct caller *c)
{
	u16 values[] = {1, 0, 2, 5};

	make(c, 1, 4);
	sem_setall(c, set_id(c), values, 4);
	region_slot(&c->region, FAC_SEM, 0)->ctime = 1;
}

static void set_of_4_zeros(struct caller *c)
{
	make(c, 1, 4);
}

static void set_of_2(struct caller *c)
{
	make(c, 1, 2);
}

/* Nobody has owned its words: the lock-free path is open. */
static void set_fresh(struct caller *c)
{
	make(c, 1, 4);
}

static void set_large(struct caller *c)
{
	make(c, 1, LARGE);
}

static void four_sets(struct caller *c)
{
	s32 key;

	for (key = 1; key <= 4; key++)
		make(c, key, key);
}

/* Key 3's removal leaves an idx in the middle, and the table as large. */
static void hole(struct caller *c)
{
	four_sets(c);
	sem_remove(c, IDENT_ID(region_slot(&c->region, FAC_SEM, 2)->ident));
}

static void with_request(struct caller *c)
{
	four_sets(c);
	caller_header(c)->ids[FAC_SEM].next_id = 32768 * 5 + 20;
}

/* Removing one more makes the key table shrink. */
static void before_shrink(struct caller *c)
{
	u32 idx;
	s32 key;

	for (key = 1; key <= 8; key++)
		make(c, key, 1);
	for (idx = 4; idx < 8; idx++)
		sem_remove(c,
			IDENT_ID(region_slot(&c->region, FAC_SEM, idx)->ident));
}

/* ---- cast ---- */

static int p0(struct caller *c)
{
	return op1(c, 0, -1, 0);
}
static int p1(struct caller *c)
{
	return op1(c, 1, -1, 0);
}
static int z0(struct caller *c)
{
	return op1(c, 0, 0, 0);
}
static int p01(struct caller *c)
{
	struct sop sops[] = {{0, -1, 0}, {1, -1, 0}};

	return sem_op(c, set_id(c), sops, 2, NULL);
}
static int z01(struct caller *c)
{
	struct sop sops[] = {{0, 0, 0}, {1, 0, 0}};

	return sem_op(c, set_id(c), sops, 2, NULL);
}
static int p1_then_v0(struct caller *c)
{
	struct sop sops[] = {{1, -1, 0}, {0, 1, 0}};

	return sem_op(c, set_id(c), sops, 2, NULL);
}
static int p0_undo(struct caller *c)
{
	return op1(c, 0, -1, UNDO);
}
static int p_large(struct caller *c)
{
	struct sop sops[LARGE];
	u32 i;

	for (i = 0; i < LARGE; i++)
		sops[i] = (struct sop){i, -1, 0};
	return sem_op(c, set_id(c), sops, LARGE, NULL);
}

static void sleeper_one(void)
{
	cast_sleeper(p0);
}
/* More than are let through at once (MAX_GRANTS). */
static void sleepers_crowd(void)
{
	int i;

	for (i = 0; i < 20; i++)
		cast_sleeper(p0);
}
static void sleepers_many(void)
{
	cast_sleeper(p1);
	cast_sleeper(p01);
	cast_sleeper(p0);
	cast_sleeper(p0);
	cast_sleeper(p1_then_v0);
}
static void sleepers_of_zero(void)
{
	cast_sleeper(z0);
	cast_sleeper(z01);
	cast_sleeper(z0);
}
static void sleeper_undo(void)
{
	cast_sleeper(p0_undo);
}
static void sleeper_large(void)
{
	cast_sleeper(p_large);
}

static void hold_0(struct caller *c)
{
	op1(c, 0, -1, UNDO);
}
static void hold_0_and_3(struct caller *c)
{
	op1(c, 0, -1, UNDO);
	op1(c, 3, -3, UNDO);
}
static void hold_two_sets(struct caller *c)
{
	struct sop sop = {1, 1, UNDO};

	op1(c, 0, 2, UNDO);
	sem_op(c, IDENT_ID(region_slot(&c->region, FAC_SEM, 1)->ident), &sop, 1,
		NULL);
}

/* More than are given back in one operation (APPLY_STEP). */
static void hold_large(struct caller *c)
{
	struct sop sops[LARGE];
	u32 i;

	for (i = 0; i < LARGE; i++)
		sops[i] = (struct sop){i, 1 + i % 3, 0};
	sem_op(c, set_id(c), sops, LARGE, NULL);
	for (i = 0; i < LARGE; i++)
		sops[i] = (struct sop){i, -1, UNDO};
	sem_op(c, set_id(c), sops, LARGE, NULL);
}
static int p0_of_1(struct caller *c)
{
	struct sop sop = {0, -1, 0};

	return sem_op(c, IDENT_ID(region_slot(&c->region, FAC_SEM, 1)->ident),
		&sop, 1, NULL);
}

static void one_dead(void)
{
	cast_dead(hold_0_and_3);
}
static void holder_and_two(void)
{
	cast_alive(hold_0);
	cast_sleeper(p0);
	cast_sleeper(p0);
}
static void dead_in_two_sets(void)
{
	cast_dead(hold_two_sets);
}
static void large_dead(void)
{
	cast_dead(hold_large);
}
/* More than are let through in one hold (HOLD_LEAVES), in each of two sets. */
static void crowds(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		cast_sleeper(p0);
		cast_sleeper(p0_of_1);
	}
}
static void holder_and_sleepers(void)
{
	cast_alive(hold_0_and_3);
	cast_sleeper(p0);
	cast_sleeper(p1);
}
static void look(struct caller *c)
{
	sem_getval(c, set_id(c), 0);
}
static void several_dead(void)
{
	cast_dead(hold_0_and_3);
	cast_dead(look);
	cast_dead(look);
}

/* ---- operations ---- */

static void create_private(struct caller *c)
{
	sem_get(c, 0, 3, 0600);
}
static void create_key(struct caller *c)
{
	sem_get(c, 9, 3, 0640 | SEM_IPC_CREAT);
}
static void create_huge(struct caller *c)
{
	sem_get(c, 9, 6000, 0640 | SEM_IPC_CREAT);
}
static void remove_0(struct caller *c)
{
	sem_remove(c, set_id(c));
}
static void up_0(struct caller *c)
{
	op1(c, 0, 1, 0);
}
static void up_0_by_2(struct caller *c)
{
	op1(c, 0, 2, 0);
}
static void up_0_by_20(struct caller *c)
{
	op1(c, 0, 20, 0);
}
static void down_0(struct caller *c)
{
	op1(c, 0, -1, 0);
}
static void down_0_undo(struct caller *c)
{
	op1(c, 0, -1, UNDO);
}
static void up_0_undo(struct caller *c)
{
	op1(c, 0, 1, UNDO);
}
static void four(struct caller *c)
{
	struct sop sops[] = {{0, -1, 0}, {1, 3, 0}, {2, -2, 0}, {3, 1, 0}};

	sem_op(c, set_id(c), sops, 4, NULL);
}
static void four_undo(struct caller *c)
{
	struct sop sops[] = {
		{0, -1, UNDO}, {1, 3, UNDO}, {2, -2, 0}, {3, 1, UNDO}};

	sem_op(c, set_id(c), sops, 4, NULL);
}
static void four_refused(struct caller *c)
{
	struct sop sops[] = {
		{0, -1, UNDO}, {1, 3, UNDO}, {2, -2, 0}, {1, -9, NOWAIT}};

	sem_op(c, set_id(c), sops, 4, NULL);
}
static void up_all(struct caller *c)
{
	struct sop sops[] = {{0, 1, 0}, {1, 2, 0}};

	sem_op(c, set_id(c), sops, 2, NULL);
}
static void up_large(struct caller *c)
{
	struct sop sops[LARGE];
	u32 i;

	for (i = 0; i < LARGE; i++)
		sops[i] = (struct sop){i, 1, 0};
	sem_op(c, set_id(c), sops, LARGE, NULL);
}
static void sleep_large(struct caller *c)
{
	struct sop sops[LARGE];
	struct sys_timespec soon = {0, 1000000};
	u32 i;

	for (i = 0; i < LARGE; i++)
		sops[i] = (struct sop){i, -1, 0};
	sem_op(c, set_id(c), sops, LARGE, &soon);
}
static void setval_5(struct caller *c)
{
	sem_setval(c, set_id(c), 0, 5);
}
static void setval_0(struct caller *c)
{
	sem_setval(c, set_id(c), 0, 0);
}
static void setall(struct caller *c)
{
	u16 values[] = {7, 6, 5, 4};

	sem_setall(c, set_id(c), values, 4);
}
static void setall_2(struct caller *c)
{
	u16 values[] = {7, 6};

	sem_setall(c, set_id(c), values, 2);
}
static void set_perm(struct caller *c)
{
	sem_set_perm(c, set_id(c), 12, 13, 0444);
}
static void sleep_0(struct caller *c)
{
	op1(c, 0, -1, 0);
}
static void sleep_0_undo(struct caller *c)
{
	op1(c, 0, -1, UNDO);
}
static void sleep_timeout(struct caller *c)
{
	struct sop sop = {0, -1, 0};
	struct sys_timespec soon = {0, 1000000};

	sem_op(c, set_id(c), &sop, 1, &soon);
}
static void undo_record_only(struct caller *c)
{
	op1(c, 0, -32000, UNDO | NOWAIT);
}
static void reap(struct caller *c)
{
	sem_getval(c, set_id(c), 0);
}
/* What both sets' crowds wait for. */
static void hold_for_crowds(struct caller *c)
{
	struct sop sops[] = {{0, 8, 0}, {0, -5, UNDO}, {0, -3, 0}};

	sem_op(c, IDENT_ID(region_slot(&c->region, FAC_SEM, 1)->ident), sops, 3,
		NULL);
	sem_op(c, set_id(c), sops, 3, NULL);
}
static void apply_own(struct caller *c)
{
	section_begin(c);
	undo_apply_own(c);
	section_end(c);
}
static void undo_once(struct caller *c)
{
	op1(c, 1, 1, UNDO);
	op1(c, 1, -1, UNDO);
}
/* So many operations in a row that the set is biased to the victim (bias.h). */
static void bias(struct caller *c)
{
	int i;

	for (i = 0; i < 100; i++) {
		op1(c, 0, 1, 0);
		op1(c, 0, -1, 0);
	}
}
static void bias_undo(struct caller *c)
{
	bias(c);
	op1(c, 1, 1, UNDO);
	bias(c);
}
static void up_1_undo(struct caller *c)
{
	op1(c, 1, 2, UNDO);
}
static void back_1_undo(struct caller *c)
{
	op1(c, 1, -1, UNDO);
}
/* The bias is of another thread that has something to give back, and lives, or
 * died so. */
static void bias_and_hold(struct caller *c)
{
	bias_undo(c);
}
static void biased_to_other(void)
{
	cast_alive(bias_and_hold);
}
static void biased_to_dead(void)
{
	cast_dead(bias_and_hold);
}
static void enroll_only(struct caller *c)
{
	caller_enroll(c);
}

/* What calls of other kinds, and of many operations, leave in a record. */
static void have_much(struct caller *c)
{
	struct thread *th = region_thread(&c->region, c->thread);

	journal_reserve(c, 100);
	th->waiter.ext_cap = 5000;
	heap_alloc_at(c, 5000, &th->waiter.ext);
	msgslab_alloc_at(c, 1, &th->blocks.tier[1]);
	th->blocks.big_cap = HEAP_LARGE;
	heap_alloc_at(c, HEAP_LARGE, &th->blocks.big);
}
static void dead_with_much(void)
{
	cast_dead(have_much);
}
/* Once the victim has a record, so that it does not get that one. */
static void then_dead_with_much(struct caller *c)
{
	(void)c;
	dead_with_much();
}
static void empty_records(struct caller *c)
{
	reap_records(c, 0, 0);
}
static void grow_journal(struct caller *c)
{
	journal_reserve(c, 5000);
}
static void grow_journal_large(struct caller *c)
{
	journal_reserve(c, 9000);
}
static void trim_journal(struct caller *c)
{
	journal_trim(c);
}

static void four_up(struct caller *c)
{
	struct sop sops[] = {{0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}};

	sem_op(c, set_id(c), sops, 4, NULL);
}

/* ---- meanwhile ---- */

static void then_up(pid_t victim)
{
	wait_asleep(victim);
	up_0(&driver);
}
static void then_remove(pid_t victim)
{
	wait_asleep(victim);
	remove_0(&driver);
}
static void then_kill_and_up(pid_t victim)
{
	siginfo_t info;

	if (wait_asleep(victim))
		kill(victim, SIGKILL);
	waitid(P_PID, victim, &info, WEXITED | WNOWAIT);
	up_0(&driver);
}
/* The holder dies under its sleepers; the victim is one of those who notice. */
static void holder_dies(struct caller *c)
{
	op1(c, 0, -1, NOWAIT);
}

const struct scenario scenarios[] = {
	{"first call: enroll", set_of_4, several_dead, NULL, enroll_only, NULL,
		.not_enrolled = 1},
	{"first call: enroll as one with much", set_of_4, dead_with_much, NULL,
		enroll_only, NULL, .not_enrolled = 1},
	{"gc: a dead one's record", set_of_4, NULL, then_dead_with_much,
		empty_records},
	{"a journal goes back", set_of_4, NULL, grow_journal, trim_journal},
	{"a large journal goes back", set_of_4, NULL, grow_journal_large,
		trim_journal},
	{"semget private", four_sets, NULL, NULL, create_private},
	{"semget key, table grows", four_sets, NULL, NULL, create_key},
	{"semget key into a hole", hole, NULL, NULL, create_key},
	{"semget key, requested id", with_request, NULL, NULL, create_key},
	{"semget 6000, heap grows", four_sets, NULL, NULL, create_huge},
	{"semop 1, lock-free", set_fresh, NULL, NULL, up_0},
	{"semop 1, locked", set_of_4, NULL, NULL, down_0},
	{"semop 4", set_of_4, NULL, NULL, four},
	{"semop 4, undo", set_of_4, NULL, NULL, four_undo,
		.halfway = undo_record_only},
	{"semop 4, undo, refused at the last", set_of_4, NULL, NULL,
		four_refused},
	{"semop 60, journal grows", set_large, NULL, NULL, up_large},
	{"semop 1, undo, first", set_of_4, NULL, NULL, down_0_undo,
		.halfway = undo_record_only},
	{"semop 1, undo, later", set_of_4, NULL, undo_once, down_0_undo},
	{"semop 1, undo, beside the dead's", set_of_4, one_dead, NULL,
		up_0_undo, .halfway = undo_record_only},
	{"semop up, one sleeper", set_of_4_zeros, sleeper_one, NULL, up_0},
	{"semop up, a sleeper with undo", set_of_4_zeros, sleeper_undo, NULL,
		up_0},
	{"semop up by 2, simple and arrays", set_of_4_zeros, sleepers_many,
		NULL, up_0_by_2},
	{"semop up 2, simple and arrays", set_of_4_zeros, sleepers_many, NULL,
		up_all},
	{"semop up by 20, a crowd", set_of_4_zeros, sleepers_crowd, NULL,
		up_0_by_20},
	{"semop up 60, a sleeping 60", set_large, sleeper_large, NULL,
		up_large},
	{"semop to zero, waits for zero", set_of_4, sleepers_of_zero, NULL,
		down_0},
	{"semop sleeps, is granted", set_of_4_zeros, NULL, NULL, sleep_0,
		then_up},
	{"semop sleeps with undo, is granted", set_of_4_zeros, NULL, NULL,
		sleep_0_undo, then_up, undo_record_only},
	{"semop sleeps, set is removed", set_of_4_zeros, NULL, NULL, sleep_0,
		then_remove},
	{"semop sleeps, is killed asleep", set_of_4_zeros, NULL, NULL, sleep_0,
		then_kill_and_up},
	{"semop sleeps 60, times out", set_large, NULL, NULL, sleep_large},
	{"semop sleeps, times out", set_of_4_zeros, sleeper_one, NULL,
		sleep_timeout},
	{"biased: semop 1", set_fresh, NULL, bias, up_0},
	{"biased: semop 4", set_fresh, NULL, bias, four_up},
	{"biased: undo, first", set_fresh, NULL, bias, up_0_undo,
		.halfway = undo_record_only},
	{"biased: undo, later", set_fresh, NULL, bias_undo, up_1_undo},
	{"biased: undo, given back", set_fresh, NULL, bias_undo, back_1_undo},
	{"biased: semop sleeps", set_fresh, NULL, bias, sleep_0, then_up},
	{"biased: to another", set_fresh, biased_to_other, NULL, up_0},
	{"biased: to the dead", set_fresh, biased_to_dead, NULL, up_0},
	{"biased: to another, SETVAL", set_fresh, biased_to_other, NULL,
		setval_5},
	{"biased: to another, IPC_RMID", set_fresh, biased_to_other, NULL,
		remove_0},
	{"biased: IPC_RMID", set_fresh, NULL, bias_undo, remove_0},
	{"SETVAL", set_of_4, NULL, NULL, setval_5},
	{"SETVAL, sleepers and undo", set_of_4, holder_and_sleepers, NULL,
		setval_5},
	{"SETVAL 0, waits for zero", set_of_4, sleepers_of_zero, NULL,
		setval_0},
	{"SETALL", set_of_4, NULL, NULL, setall},
	{"SETALL, nobody has owned the words", set_fresh, NULL, NULL, setall},
	{"SETALL of a small set", set_of_2, NULL, NULL, setall_2},
	{"SETALL, sleepers and undo", set_of_4, holder_and_sleepers, NULL,
		setall},
	{"IPC_SET", set_of_4, NULL, NULL, set_perm},
	{"IPC_RMID", four_sets, NULL, NULL, remove_0},
	{"IPC_RMID, table shrinks", before_shrink, NULL, NULL, remove_0},
	{"IPC_RMID, sleepers and undo", set_of_4, holder_and_sleepers, NULL,
		remove_0},
	{"IPC_RMID, sleepers", set_of_4_zeros, sleepers_many, NULL, remove_0},
	{"IPC_RMID, own undo", set_of_4, NULL, undo_once, remove_0},
	{"IPC_RMID, a dead one's undo", set_of_4, one_dead, NULL, remove_0},
	{"exit-undo by GETVAL", set_of_4, one_dead, NULL, reap},
	{"exit-undo of two sets", four_sets, dead_in_two_sets, NULL, reap},
	{"exit-undo of 60", set_large, large_dead, NULL, reap},
	{"own undo, crowds at two sets", four_sets, crowds, hold_for_crowds,
		apply_own},
	{"exit-undo by a semop", set_of_4, one_dead, NULL, holder_dies},
	{"semop beside a holder, sleepers", set_of_4, holder_and_two, NULL,
		up_0},
};
const unsigned n_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
