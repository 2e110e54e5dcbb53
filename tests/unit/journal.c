// SPDX-License-Identifier: MIT
/*
 * The undo journal: abort, publish as seen by repair, and growth.
 */
#include "registry/heap.h"
#include "registry/journal/reserve.h"
#include "registry/journal/recover.h"
#include "unit.h"

TestSuite(journal, .init = unit_init, .fini = unit_fini, .timeout = 30);

/* Words that belong to nobody: the event ring. */
static u64 *word(u32 i)
{
	return (u64 *)region_at(&me.region, EVENTS_OFF) + i;
}

Test(journal, abort_restores_in_reverse)
{
	u32 *half = (u32 *)word(1);
	u16 *quarter = (u16 *)word(2);

	*word(0) = 1;
	*half = 2;
	*quarter = 3;
	journal_set64(&me, word(0), 10);
	journal_set64(&me, word(0), 11);
	journal_set32(&me, half, 20);
	journal_set16(&me, quarter, 30);
	cr_assert_eq(*word(0), 11);
	journal_abort(&me);
	cr_assert_eq(*word(0), 1);
	cr_assert_eq(*half, 2);
	cr_assert_eq(*quarter, 3);
	cr_assert_eq(me.journal->n, 0);
}

Test(journal, narrow_writes_leave_their_neighbours)
{
	u16 *q = (u16 *)word(0);

	*word(0) = 0x1111222233334444ULL;
	journal_set16(&me, q + 1, 0xffff);
	q[0] = 0x5555;
	journal_abort(&me);
	cr_assert_eq(*word(0), 0x1111222233335555ULL);
}

Test(journal, growth_keeps_the_caller_and_the_heap_right)
{
	u32 i, n;

	for (n = 60; n < 5000; n *= 2) {
		cr_assert_eq(journal_reserve(&me, n), 0);
		cr_assert_geq(me.journal->cap, n);
		for (i = 0; i < n; i++)
			*word(i) = i;
		for (i = 0; i < n; i++)
			journal_set64(&me, word(i), ~0ULL);
		journal_abort(&me);
		for (i = 0; i < n; i++)
			cr_assert_eq(*word(i), i);
		cr_assert_eq(check_region(&me.region, NULL, NULL), 0);
	}
	for (i = 0; i < 5000; i++)
		*word(i) = 0;
}

Test(journal, no_growth_in_the_middle_of_an_operation)
{
	*word(0) = 0;
	journal_set64(&me, word(0), 1);
	cr_assert_eq(journal_reserve(&me, 1000), -ENOMEM);
	journal_abort(&me);
}

/* What repair finds when the owner died at this point of a publish. */
static u64 after_death(int stored)
{
	struct lock *lock = &caller_header(&me)->fac_lock[FAC_MQ].lock;
	struct thread *th = region_thread(&me.region, 100);
	struct journal *j = &th->journal;
	u64 got;

	caller_header(&me)->thread_high = 101;
	*word(0) = 5;
	*word(1) = 0;
	j->cap = JOURNAL_INLINE;
	j->locks[0] = region_off(&me.region, lock);
	j->n_locks = 1;
	j->entries[0] = (struct journal_entry){
		region_off(&me.region, word(0)) | 8ULL << JOURNAL_SIZE_SHIFT,
		4};
	j->n = 1;
	j->publish_val = 9;
	j->publish_off = region_off(&me.region, word(1));
	if (stored)
		*word(1) = 9;
	lock->journal = 100;
	lock->word = SYS_OWNER_DIED;
	cr_assert_eq(lock_acquire(&me, lock), 1);
	lock_release(&me, lock);
	cr_assert_eq(j->n, 0);
	got = *word(0);
	*word(0) = *word(1) = 0;
	return got;
}

Test(journal, published_operations_stay_and_others_are_rolled_back)
{
	cr_assert_eq(after_death(0), 4);
	cr_assert_eq(after_death(1), 5);
}

/* The journal of a living thread that does not list the lock. */
Test(journal, a_record_with_a_new_owner_is_left_alone)
{
	struct lock *lock = &caller_header(&me)->fac_lock[FAC_MQ].lock;
	struct journal *j = &region_thread(&me.region, 100)->journal;

	caller_header(&me)->thread_high = 101;
	*word(0) = 5;
	j->cap = JOURNAL_INLINE;
	j->locks[0] = region_off(&me.region, lock) + 64;
	j->n_locks = 1;
	j->entries[0] = (struct journal_entry){
		region_off(&me.region, word(0)) | 8ULL << JOURNAL_SIZE_SHIFT,
		4};
	j->n = 1;
	lock->journal = 100;
	lock->word = SYS_OWNER_DIED;
	cr_assert_eq(lock_acquire(&me, lock), 1);
	lock_release(&me, lock);
	cr_assert_eq(*word(0), 5);
	cr_assert_eq(j->n, 1);
	j->n = 0;
	*word(0) = 0;
}
