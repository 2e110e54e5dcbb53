// SPDX-License-Identifier: MIT
/*
 * Finding the records of threads; see thread.h.
 */
#include "registry/thread.h"
#include "registry/identity.h"

/* Records in a row that were never used, after which there are no more: a
 * thread that dies when it has only just raised thread_high leaves one.
 * Arbitrary. */
#define THREADS_UNUSED 64u

u32 thread_next(const struct region *r, u32 from)
{
	u32 high = atom_load_acquire(&region_header(r)->thread_high);
	u32 end = from + THREADS_UNUSED;

	if (end > high)
		end = high;
	if (end > N_THREADS)
		end = N_THREADS;
	for (; from < end; from++) {
		const struct thread *th = region_thread(r, from);

		if (atom_load_acquire(&th->tid) || th->claims)
			return from;
	}
	return N_THREADS;
}

struct thread *thread_of(const struct caller *c, u32 tid)
{
	u32 i = 1;

	for (; (i = thread_next(&c->region, i)) < N_THREADS; i++) {
		struct thread *th = region_thread(&c->region, i);

		if (atom_load_acquire(&th->tid) == tid)
			return th;
	}
	return NULL;
}

int thread_gone(const struct caller *c, u32 tid)
{
	const struct thread *th;

	if (tid == c->tid)
		return 0;
	if (sys_call(__NR_kill, tid, 0) == -ESRCH)
		return 1;
	th = thread_of(c, tid);
	/* None: whoever has the number is not of this registry. */
	return !th || identity_thread_gone(tid, th->birth);
}
