// SPDX-License-Identifier: MIT
/*
 * The rules of semop(2) about values, at every edge: cases as
 * doc/kernel-semantics.md §4.3 has them, which a program of tests/preload
 * (sem_paths) sees on the kernel, too.
 */
#include "sem/semvalue.h"
#include "unit.h"

struct step {
	s32 from, op, err, to;
};

Test(semvalue, an_operation_at_every_edge)
{
	static const struct step steps[] = {
		/* Waits for zero, and never changes a value. */
		{0, 0, 0, 0},
		{1, 0, BLOCKED, 1},
		{SEMVMX, 0, BLOCKED, SEMVMX},
		/* Down to 0, and not below. */
		{1, -1, 0, 0},
		{0, -1, BLOCKED, 0},
		{1, -2, BLOCKED, 1},
		{SEMVMX, -SEMVMX, 0, 0},
		{SEMVMX, -SEMVMX - 1, BLOCKED, SEMVMX},
		{0, -SEMVMX - 1, BLOCKED, 0},
		/* Up to SEMVMX, and not above. */
		{0, 1, 0, 1},
		{SEMVMX - 1, 1, 0, SEMVMX},
		{SEMVMX, 1, -ERANGE, SEMVMX},
		{SEMVMX - 1, 2, -ERANGE, SEMVMX - 1},
		{0, SEMVMX, 0, SEMVMX},
		{1, SEMVMX, -ERANGE, 1},
		{SEMVMX, SEMVMX, -ERANGE, SEMVMX},
		/* What only a damaged registry has: an answer all the same. */
		{65535, 0, BLOCKED, 65535},
		{65535, 1, -ERANGE, 65535},
		{65535, -1, -ERANGE, 65535},
		{65535, -32768, 0, SEMVMX},
	};
	unsigned i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		s32 value = steps[i].from;

		cr_expect_eq(sem_value_step(&value, steps[i].op), steps[i].err,
			"%d and %d", steps[i].from, steps[i].op);
		cr_expect_eq(value, steps[i].to, "%d after %d", steps[i].from,
			steps[i].op);
	}
}

Test(semvalue, an_adjustment_at_every_edge)
{
	static const struct step steps[] = {
		{0, 0, 0, 0},
		{0, 1, 0, -1},
		{0, -1, 0, 1},
		{SEMAEM - 1, -1, 0, SEMAEM},
		{SEMAEM, 0, 0, SEMAEM},
		{SEMAEM, -1, -ERANGE, SEMAEM},
		{0, -SEMAEM, 0, SEMAEM},
		{0, -SEMAEM - 1, -ERANGE, 0},
		{-SEMAEM, 1, 0, -SEMAEM - 1},
		{-SEMAEM - 1, 1, -ERANGE, -SEMAEM - 1},
		{-1, SEMAEM, 0, -SEMAEM - 1},
		{-2, SEMAEM, -ERANGE, -2},
	};
	unsigned i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		s32 adj = steps[i].from;

		cr_expect_eq(sem_adj_step(&adj, steps[i].op), steps[i].err,
			"%d and %d", steps[i].from, steps[i].op);
		cr_expect_eq(adj, steps[i].to, "%d after %d", steps[i].from,
			steps[i].op);
	}
}

Test(semvalue, what_is_given_back_ends_at_zero_and_at_the_most)
{
	cr_expect_eq(sem_value_undone(5, -3), 2);
	cr_expect_eq(sem_value_undone(5, -5), 0);
	cr_expect_eq(sem_value_undone(5, -6), 0);
	cr_expect_eq(sem_value_undone(0, -SEMAEM - 1), 0);
	cr_expect_eq(sem_value_undone(SEMVMX - 1, 1), SEMVMX);
	cr_expect_eq(sem_value_undone(SEMVMX - 1, 2), SEMVMX);
	cr_expect_eq(sem_value_undone(SEMVMX, SEMAEM), SEMVMX);
}
