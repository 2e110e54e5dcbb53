// SPDX-License-Identifier: MIT
/*
 * The kernel's walk of a dead thread's robust list, in steps: the actor is
 * stopped meanwhile, and its memory is read from outside.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/uio.h>
#include "run.h"

u32 walk_done;

/* Marks one word as the kernel does (handle_futex_death). */
static void mark_word(u32 tid, u64 node, int is_pending)
{
	u64 off = node + run_robust->futex_offset - (uintptr_t)explore_base;
	u32 *word = (u32 *)(explore_base + off), seen;

	if (off >= REGION_SIZE)
		return;
	seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);
	if (is_pending && !(seen & SYS_TID_MASK)) {
		raw_futex(word, SYS_FUTEX_WAKE, 1, NULL);
		return;
	}
	if ((seen & SYS_TID_MASK) != tid)
		return;
	__atomic_store_n(
		word, (seen & SYS_WAITERS) | SYS_OWNER_DIED, __ATOMIC_SEQ_CST);
	if (seen & SYS_WAITERS)
		raw_futex(word, SYS_FUTEX_WAKE, 1, NULL);
}

static u64 actor_peek(u32 i, u64 at)
{
	u64 v = 0;
	struct iovec l = {&v, 8}, r = {(void *)(uintptr_t)at, 8};

	if (at - (uintptr_t)explore_base < REGION_SIZE)
		return *(u64 *)(uintptr_t)at;
	process_vm_readv((pid_t)ctl->actors[i].pid, &l, 1, &r, 1, 0);
	return v;
}

static struct walk {
	u64 entry; /* the next one; 0 = not begun */
	u64 pending;
} walks[MAX_ACTORS];

/* n entries of it, or all that is left and the end. The kernel reads where an
 * entry leads before it marks it. */
void walk_on(u32 i, u32 n)
{
	struct walk *w = &walks[i];
	u64 head = (uintptr_t)run_robust, next;
	u32 steps = 0;

	if (!w->entry) {
		w->entry = actor_peek(i, head);
		w->pending = actor_peek(i, head + 16);
	}
	while (w->entry != head && steps++ < 2048) {
		if (n-- == 0) {
			walk_done |= 1u << i;
			turn_settle();
			return;
		}
		next = actor_peek(i, w->entry & ~1ULL);
		if (w->entry != w->pending)
			mark_word(ctl->actors[i].pid, w->entry & ~1ULL, 0);
		w->entry = next;
	}
	if (w->pending)
		mark_word(ctl->actors[i].pid, w->pending & ~1ULL, 1);
	walk_done &= ~(1u << i);
	/* Words of its own that the walk has missed stay as they are: the
	 * list that the kernel would walk again is empty. */
	{
		u64 empty[3] = {head, (u64)run_robust->futex_offset, 0};
		struct iovec l = {empty, 24}, r = {(void *)(uintptr_t)head, 24};

		process_vm_writev((pid_t)ctl->actors[i].pid, &l, 1, &r, 1, 0);
	}
	kill((pid_t)ctl->actors[i].pid, SIGKILL);
	process_wait((pid_t)ctl->actors[i].pid);
	process_died(i);
	turn_settle();
}

void walk_begin(u32 i, u32 n)
{
	walks[i].entry = 0;
	walk_on(i, n);
}
