// SPDX-License-Identifier: MIT
/*
 * Ids by Linux's rules (doc/reference-tables.md T2): the allocator against a
 * model that says the rule in the plainest way, and the corners.
 */
#include <stdlib.h>
#include "index/ids.h"
#include "unit.h"

TestSuite(ids, .init = unit_init, .timeout = 60);
TestSuite(ids_extended, .init = unit_init_extended, .timeout = 60);

static struct id_table *table(void)
{
	return &caller_header(&me)->ids[FAC_SEM];
}

static int take(s32 *ret_id)
{
	u32 idx = 0;
	int err = ids_alloc_locked(&me, FAC_SEM, &idx, ret_id);

	journal_commit(&me);
	return err ? err : (int)idx;
}

static void give(u32 idx)
{
	ids_free_locked(&me, FAC_SEM, idx);
	journal_commit(&me);
}

/* The rule, with a plain array. */
struct model {
	unsigned char used[1 << 15];
	u32 in_use, seq, cursor;
	s32 last;
};

static int model_find(struct model *m, u32 from, u32 bound)
{
	for (; from < bound; from++)
		if (!m->used[from])
			return from;
	return -1;
}

static int model_take(struct model *m, s32 *ret_id)
{
	u32 bound = m->in_use * 3 / 2;
	int idx;

	bound = bound < 64 ? 64 : bound > 32768 ? 32768 : bound;
	idx = m->cursor < bound ? model_find(m, m->cursor, bound) : -1;
	if (idx < 0)
		idx = model_find(m, 0, bound);
	if (idx < 0)
		return -ENOSPC;
	if (idx <= m->last && ++m->seq >= 65535)
		m->seq = 0;
	m->cursor = idx + 1;
	m->last = idx;
	m->used[idx] = 1;
	m->in_use++;
	*ret_id = m->seq << 15 | idx;
	return idx;
}

Test(ids, random_creations_and_removals_equal_the_model)
{
	struct model *m = calloc(1, sizeof(*m));
	s32 id, want;
	u32 i, idx;
	int got, expected;

	m->last = -1;
	for (i = 0; i < 200000; i++) {
		/* Waves: mostly growing, then mostly shrinking. */
		if (unit_random() % 100 < ((i / 20000) % 2 ? 40u : 70u)) {
			expected = model_take(m, &want);
			got = take(&id);
			cr_assert_eq(
				got, expected, "step %u seed %u", i, UNIT_SEED);
			cr_assert(got < 0 || id == want);
		} else {
			idx = unit_random() % 32768;
			while (m->in_use && !m->used[idx])
				idx = (idx + 1) % 32768;
			if (m->used[idx]) {
				m->used[idx] = 0;
				m->in_use--;
				give(idx);
			}
		}
		cr_assert_eq(table()->in_use, m->in_use);
	}
	free(m);
}

Test(ids, a_removed_idx_comes_back_only_after_a_round)
{
	s32 id;

	cr_assert_eq(take(&id), 0);
	cr_assert_eq(id, 0);
	give(0);
	cr_assert_eq(take(&id), 1, "cyclic: not the lowest free one");
	cr_assert_eq(id, 1);
}

Test(ids, sequence_grows_when_idx_does_not)
{
	s32 id;
	int i;

	for (i = 0; i < 64; i++) {
		cr_assert_eq(take(&id), i);
		give(i);
	}
	cr_assert_eq(take(&id), 0);
	cr_assert_eq(id, 1 << 15);
}

Test(ids, full_table_is_enospc_and_one_free_idx_is_found)
{
	s32 id;
	int i;

	for (i = 0; i < 32768; i++)
		cr_assert_geq(take(&id), 0);
	cr_assert_eq(take(&id), -ENOSPC);
	give(31234);
	cr_assert_eq(take(&id), 31234);
	cr_assert_eq(take(&id), -ENOSPC);
	cr_assert_eq(ids_highest_locked(&me, FAC_SEM), 32767);
}

Test(ids, next_id_is_taken_once)
{
	s32 id;

	table()->next_id = 7 << 15 | 100;
	cr_assert_eq(take(&id), 100);
	cr_assert_eq(id, 7 << 15 | 100);
	cr_assert_eq(table()->next_id, -1);
	table()->next_id = 7 << 15 | 100;
	cr_assert_eq(take(&id), 101, "the next free idx from there");
	cr_assert_eq(take(&id), 0, "the cyclic rule did not move");
}

Test(ids, next_id_of_a_rolled_back_creation_is_kept)
{
	u32 idx;
	s32 id;

	table()->next_id = 55;
	cr_assert_eq(ids_alloc_locked(&me, FAC_SEM, &idx, &id), 0);
	journal_abort(&me);
	cr_assert_eq(table()->next_id, 55);
	cr_assert_eq(table()->in_use, 0);
	cr_assert_eq(take(&id), 55);
}

Test(ids, highest_follows_removals)
{
	s32 id;
	int i;

	for (i = 0; i < 200; i++)
		take(&id);
	cr_assert_eq(ids_highest_locked(&me, FAC_SEM), 199);
	for (i = 199; i > 70; i--)
		give(i);
	cr_assert_eq(ids_highest_locked(&me, FAC_SEM), 70);
}

Test(ids_extended, the_round_is_4096_and_the_shift_24)
{
	s32 id;
	int i;

	for (i = 0; i < 4096; i++) {
		cr_assert_eq(take(&id), i);
		give(i);
	}
	cr_assert_eq(take(&id), 0);
	cr_assert_eq(id, 1 << 24);
}

Test(ids_extended, an_idx_near_the_end_can_be_requested)
{
	s32 id;

	table()->next_id = 3 << 24 | 15777204;
	cr_assert_eq(take(&id), 15777204);
	cr_assert_eq(id, 3 << 24 | 15777204);
	cr_assert_eq(ids_highest_locked(&me, FAC_SEM), 15777204);
}
