// SPDX-License-Identifier: MIT
/* Segments pending destruction whose records are damaged. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "registry/heap.h"
#include "shm/shm.h"
#include "shm/shmattach.h"
#include "shm/shmfork.h"
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

#define SEGMENTS 60

/* Nothing that more journal could be had from. */
static void use_heap_up(void)
{
	struct heap *heap = &caller_header(&me)->heap;
	u32 i;

	heap->bump = HEAP_END;
	for (i = 0; i < HEAP_CLASSES; i++)
		heap->free_head[i] = 0;
}

/* Of more attachments than a thread's journal has entries for, when a fork child
 * takes them over. */
static void child_of_many(int full)
{
	struct shm_forking *announced;
	struct shm_stat st;
	struct shm_fork f;
	s32 id[SEGMENTS];
	u64 at[SEGMENTS];
	int i, status, n = 0, nattch = 0;
	pid_t pid;

	for (i = 0; i < SEGMENTS; i++) {
		id[i] = shm_get(&me, 0, 4096, 0600);
		cr_assert_eq(shm_at(&me, id[i], 0, 0, &at[i]), 0);
	}
	announced = shm_fork_begin(me.shm);
	cr_assert_eq(shm_fork_prepare(&me, announced, &f), 0);
	pid = fork();
	if (!pid) {
		unit_forked();
		me.generation++;
		if (full)
			use_heap_up();
		shm_fork_child(&me, &f);
		for (i = 0; i < SEGMENTS; i++) {
			n += shm_entry_find(me.shm, at[i]) != NULL;
			if (!shm_stat(&me, id[i], OBJECT_BY_ID, &st))
				nattch += (int)st.nattch;
		}
		_exit(n == SEGMENTS && nattch == 2 * SEGMENTS ? 0 : 1);
	}
	shm_fork_over(me.shm, announced);
	shm_fork_parent(&me, &f, pid);
	shm_fork_end(me.shm, announced);
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0);
	for (i = 0; i < SEGMENTS; i++) {
		shm_dt(&me, at[i]);
		shm_remove(&me, id[i]);
	}
}

Test(shm, a_fork_child_takes_over_many_attachments)
{
	child_of_many(0);
}

Test(shm, a_fork_child_takes_over_many_attachments_without_space)
{
	child_of_many(1);
}
