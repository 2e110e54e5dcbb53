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

/* Records with one number that are asked about; there is one, or one more for each
 * time that the number was used again before a record was. Whoever may write the
 * registry can make up any number of them: behind so many the thread is taken to
 * live, which takes nothing from anybody. Arbitrary. */
#define SAME_NUMBER_MOST 64

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

/* The next record from *i on that is of a thread with this number, or NULL; *i
 * is behind it then. */
static struct thread *next_of(const struct caller *c, u32 tid, u32 *i)
{
	while ((*i = thread_next(&c->region, *i)) < N_THREADS) {
		struct thread *th = region_thread(&c->region, (*i)++);

		if (atom_load_acquire(&th->tid) == tid)
			return th;
	}
	return NULL;
}

struct thread *thread_of(const struct caller *c, u32 tid)
{
	u32 i = 1;

	return next_of(c, tid, &i);
}

struct thread *thread_at(const struct caller *c, u32 idx, u32 tid)
{
	struct thread *th;

	if (!idx || idx >= N_THREADS ||
		idx >= atom_load_acquire(&caller_header(c)->thread_high))
		return NULL;
	th = region_thread(&c->region, idx);
	return atom_load_acquire(&th->tid) == tid ? th : NULL;
}

/* A record keeps its thread's number after the thread has ended, until somebody
 * takes it over. If the number is used again, by one with a record of its own,
 * two records have it, of which either may stand first: whoever lives has one
 * with its birth, or with none while it is being made. */
int thread_gone(const struct caller *c, u32 tid)
{
	const struct thread *th;
	u32 i = 1, n;

	if (tid == c->tid)
		return 0;
	if (sys_call(__NR_kill, tid, 0) == -ESRCH)
		return 1;
	for (n = 0; (th = next_of(c, tid, &i)); n++)
		if (n == SAME_NUMBER_MOST ||
			!identity_thread_gone(
				tid, atom_load_acquire(&th->birth)))
			return 0;
	return 1;
}

static const struct thread *thread_of_waiter(const struct waiter *w)
{
	return (const void *)((const char *)w -
			      offsetof(struct thread, waiter));
}

int thread_sleeper_dead(const struct waiter *w, u32 alive)
{
	const struct thread *th = thread_of_waiter(w);

	if (!alive || (alive & (SYS_OWNER_DIED | SYS_WAITERS)))
		return (alive & SYS_OWNER_DIED) != 0;
	return identity_thread_gone(alive, th->birth);
}

enum thread_left thread_sleeper_left(const struct waiter *w, int traced)
{
	const struct thread *th = thread_of_waiter(w);
	struct sys_process p;

	if (identity_thread_gone(th->tid, th->birth))
		return THREAD_EXITED;
	return sys_process_read(w->pid, th->tid, &p) &&
			       (p.stopped || (p.traced && traced))
		       ? THREAD_STOPPED
		       : THREAD_THERE;
}
