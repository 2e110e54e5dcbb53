// SPDX-License-Identifier: MIT
/*
 * What a fork child takes back of a change that another thread of its parent was
 * in the midst of. The test's process is parent and child in one: the state is
 * what a child would find.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "shm/shm.h"
#include "shm/shmattach.h"
#include "shm/shmfork.h"
#include "unit.h"

TestSuite(shmchild, .init = unit_init, .fini = unit_fini, .timeout = 30);

#define SIZE (2 * SYS_PAGE)
/* Nobody else maps here. */
#define PLACE 0x510000000000ULL
#define OTHER_PLACE (PLACE + 16 * SYS_PAGE)

static int is_mapped(u64 addr)
{
	unsigned char there[SIZE / SYS_PAGE];

	return !mincore((void *)addr, SIZE, there) || errno != ENOMEM;
}

/* Attached there, with a word of its own. */
static s32 attached(u64 at, u64 word)
{
	s32 id = shm_get(&me, 0, SIZE, 0600);
	u64 addr;

	cr_assert_eq(shm_at(&me, id, at, 0, &addr), 0);
	*(volatile u64 *)addr = word;
	return id;
}

static void detach(u64 at, s32 id)
{
	cr_expect_eq(shm_dt(&me, at), 0);
	cr_expect_eq(shm_remove(&me, id), 0);
}

Test(shmchild, a_place_that_was_held_is_free)
{
	s32 id = attached(PLACE, 7);
	void *held = mmap((void *)OTHER_PLACE, SIZE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	cr_assert_eq((u64)held, OTHER_PLACE);
	shm_map_hold(me.shm, OTHER_PLACE, SIZE);
	me.shm->changing = 1;
	shm_child_finish(&me);
	cr_expect(!is_mapped(OTHER_PLACE));
	cr_expect_eq(me.shm->held_len, 0);
	detach(PLACE, id);
}

/* Of what lies side by side, one is an attachment's and one is nobody's. */
Test(shmchild, what_is_attached_stays_beside_what_is_not)
{
	s32 id = attached(PLACE, 7);
	void *stray = mremap((void *)PLACE, 0, SIZE,
		MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(PLACE + SIZE));

	cr_assert_eq((u64)stray, PLACE + SIZE);
	me.shm->changing = 1;
	shm_child_finish(&me);
	cr_expect(is_mapped(PLACE));
	cr_expect(!is_mapped(PLACE + SIZE));
	cr_expect_eq(me.shm->changing, 0);
	cr_assert_eq(*(volatile u64 *)PLACE, 7);
	detach(PLACE, id);
}

/* Where the kernel cannot be asked: here for want of a descriptor. */
Test(shmchild, what_was_being_detached_is_unmapped_without_proc)
{
	s32 gone = attached(PLACE, 7), stays = attached(OTHER_PLACE, 8);
	struct shm_entry *e = shm_entry_find(me.shm, PLACE);
	struct rlimit limit = {0, 0}, was;

	cr_assert_not_null(e);
	e->state = SHM_UNMAPPING;
	me.shm->changing = 1;
	getrlimit(RLIMIT_NOFILE, &was);
	limit.rlim_max = was.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	shm_child_finish(&me);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
	cr_expect(!is_mapped(PLACE));
	cr_assert_eq(*(volatile u64 *)OTHER_PLACE, 8);
	/* The record goes with the child's first call. */
	cr_expect_null(shm_entry_find(me.shm, PLACE));
	shm_remove(&me, gone);
	detach(OTHER_PLACE, stays);
}
