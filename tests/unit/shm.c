// SPDX-License-Identifier: MIT
/* Segments pending destruction whose records are damaged. */
#include "shm/shm.h"
#include "shm/shmattach.h"
#include "unit.h"

/* No unit_fini: what is damaged is left so. */
TestSuite(shm, .init = unit_init, .timeout = 30);

/* Marked removed, and attached by nobody any more. */
static struct shm_segment *left_behind(struct slot **ret_slot)
{
	s32 id = shm_get(&me, 0, SYS_PAGE, 0600);
	struct shm_segment *seg;
	u64 at, ident;

	cr_assert_eq(shm_at(&me, id, 0, 0, &at), 0);
	*ret_slot = ids_find(&me, FAC_SHM, id, &ident);
	seg = shm_body(&me, *ret_slot);
	cr_assert_eq(shm_remove(&me, id), 0);
	cr_assert_neq(caller_header(&me)->shm.dest, 0);
	seg->nattch = 0;
	seg->attach_all.off = 0;
	return seg;
}

Test(shm, a_segment_that_nobody_has_goes_at_the_sweep)
{
	struct slot *s;

	left_behind(&s);
	shm_sweep_empty(&me);
	cr_expect_eq(s->ident & IDENT_LIVE, 0);
	cr_expect_eq(caller_header(&me)->shm.dest, 0);
}

/* It is in the list without being marked so, and its block is none: it can be
 * neither taken out nor freed, and is not tried for ever. */
Test(shm, a_sweep_ends_where_a_segment_cannot_be_freed)
{
	struct slot *s;

	left_behind(&s)->flags = SHM_SEG_COUNTED;
	caller_header(&me)->heap.bump = HEAP_OFF;
	shm_sweep_empty(&me);
	shm_sweep_empty(&me);
	cr_expect_eq(s->ident & IDENT_LIVE, 0);
	cr_expect_neq(caller_header(&me)->shm.dest, 0);
}
