// SPDX-License-Identifier: MIT
/*
 * The key table against a plain array, growing, shrinking, and with keys
 * chosen to fall together.
 */
#include "index/keyhash.h"
#include "unit.h"

TestSuite(keyhash, .init = unit_init, .timeout = 60);

#define N 20000u

static void put(u32 idx, s32 key)
{
	struct slot *s = region_slot(&me.region, FAC_SEM, idx);

	s->key = key;
	s->ident = 1ULL << 32 | IDENT_LIVE | idx;
	keyhash_write_begin(&me, FAC_SEM);
	keyhash_grow_locked(&me, FAC_SEM);
	keyhash_insert_locked(&me, FAC_SEM, idx);
	journal_commit(&me);
	keyhash_write_end(&me, FAC_SEM);
}

static void drop(u32 idx)
{
	struct slot *s = region_slot(&me.region, FAC_SEM, idx);

	keyhash_write_begin(&me, FAC_SEM);
	keyhash_remove_locked(&me, FAC_SEM, idx);
	s->ident = 0;
	journal_commit(&me);
	keyhash_shrink_locked(&me, FAC_SEM);
	keyhash_write_end(&me, FAC_SEM);
}

static int find(s32 key)
{
	u64 ident;
	struct slot *s = keyhash_find(&me, FAC_SEM, key, &ident);

	return s ? (int)region_slot_idx(&me.region, FAC_SEM, s) : -1;
}

Test(keyhash, random_changes_equal_the_model)
{
	static s32 keys[N]; /* 0 = not there */
	u32 i, idx;

	for (i = 0; i < 300000; i++) {
		idx = unit_random() % ((i / 50000) % 2 ? 100 : N);
		if (!keys[idx]) {
			keys[idx] = (s32)(idx * 2654435761u) | 1;
			cr_assert_eq(find(keys[idx]), -1);
			put(idx, keys[idx]);
		} else if (unit_random() % 3 || (i / 50000) % 2) {
			drop(idx);
			cr_assert_eq(find(keys[idx]), -1);
			keys[idx] = 0;
		} else {
			cr_assert_eq(find(keys[idx]), (int)idx, "step %u", i);
		}
	}
	for (idx = 0; idx < N; idx++)
		if (keys[idx])
			cr_assert_eq(find(keys[idx]), (int)idx);
}

Test(keyhash, a_bucket_for_every_key_and_fewer_again)
{
	struct id_table *t = &caller_header(&me)->ids[FAC_SEM];
	u32 i, most;

	for (i = 0; i < N; i++)
		put(i, i + 1);
	cr_assert_eq(t->n_keys, N);
	most = t->n_buckets;
	cr_assert_geq(most, N - 1);
	for (i = 0; i < N; i++)
		drop(i);
	cr_assert_eq(t->n_keys, 0);
	/* As many merges a removal as splits a key, begun when half of the
	 * keys were gone. */
	cr_assert_leq(t->n_buckets, most / 2 + 4);
}

/* The inverse of the hash's last steps is not needed: keys are tried. */
Test(keyhash, keys_of_one_bucket_are_all_found_and_removed)
{
	s32 found[300], key;
	u32 n = 0, h, i;

	for (key = 1; n < 300; key++) {
		h = (u32)key;
		h = (h ^ h >> 16) * 0x7feb352dU;
		h = (h ^ h >> 15) * 0x846ca68bU;
		h ^= h >> 16;
		if ((h & 0xfff) == 7)
			found[n++] = key;
	}
	for (i = 0; i < n; i++)
		put(i, found[i]);
	for (i = 0; i < n; i++)
		cr_assert_eq(find(found[i]), (int)i);
	for (i = 0; i < n; i += 2)
		drop(i);
	for (i = 0; i < n; i++)
		cr_assert_eq(find(found[i]), i % 2 ? (int)i : -1);
}

Test(keyhash, a_writer_that_died_leaves_readers_the_lock)
{
	put(3, 77);
	keyhash_write_begin(&me, FAC_SEM);
	caller_header(&me)->fac_lock[FAC_SEM].lock.word = SYS_OWNER_DIED;
	cr_assert_eq(find(77), 3);
	cr_assert_eq(caller_header(&me)->ids[FAC_SEM].key_seq & 1, 0);
	cr_assert(caller_header(&me)->fac_lock[FAC_SEM].lock.word &
			  SYS_OWNER_DIED,
		"the facility's own repair is still to be done");
}
