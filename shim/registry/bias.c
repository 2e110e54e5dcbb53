// SPDX-License-Identifier: MIT
/*
 * Granting and revoking biased locks; the protocol is in bias.h.
 */
#include "registry/bias.h"
#include "registry/barrier.h"
#include "registry/event.h"
#include "registry/identity.h"
#include "registry/task.h"

/* About a microsecond of looking before the revoker sleeps; the bias owner
 * needs some nanoseconds unless it was preempted. */
#define SPINS 100
#define SLICE_NS 50000 /* and twice as long each time, up to */
#define SLICES 5       /* times */
#define GONE_LOOKS 32  /* slices between looks whether the owner is there */
/* Instead of the barrier: longer than a tick of any kernel (10 ms). */
#define BARRIER_NS 20000000ULL

/* bias_off goes from 0 to 1 once, so relaxed is enough: who still reads 0 makes
 * one bias more, and revoking it costs BARRIER_NS as for those made before. */
void bias_grant(struct caller *c, struct slot *s)
{
	if (c->may_bias && c->bias_id != ~0ULL &&
		!atom_load_relaxed(&caller_header(c)->bias_off))
		atom_store_release(&s->bias, c->bias_id);
}

/* Has the owner, seen inside, died there? The kernel marks the word; else, now
 * and then, its number is asked for: its application may have broken its robust
 * list, or have none. */
static int died_inside(const struct caller *c, const struct thread *th,
	enum bias_seen seen, u32 looks)
{
	const struct task *t = region_task(&c->region, th->task % N_TASKS);
	u32 tid = atom_load_acquire(&th->tid);

	/* Of a copy all are gone. Our number was that of somebody dead. */
	if (c->detached || seen == BIAS_DIED || !tid || tid == c->tid)
		return 1;
	return looks % GONE_LOOKS == 0 &&
	       (identity_thread_gone(tid, atom_load_acquire(&th->birth)) ||
		       (task_suspect(t) && task_changed_image(c, t)));
}

/* 1 if the owner died inside. */
/* bias_word is what the owner clears when it goes out, so it is slept on, in
 * slices, for no owner makes the futex call that would wake us: that call is
 * what it is spared. */
static int wait_until_out(struct caller *c, struct slot *s, u64 owner)
{
	struct thread *th = region_thread(&c->region, (u32)owner % N_THREADS);
	struct sys_timespec slice = {0, SLICE_NS};
	u64 until = c->stuck ? sys_monotonic_ns() + c->patience_ns : 0;
	enum bias_seen seen;
	u32 word, looks = 0;
	int i = 0;

	while ((seen = bias_look(&c->region, s)) != BIAS_OUT) {
		word = atom_load_acquire(&th->bias_word);
		if (i++ < SPINS && seen == BIAS_INSIDE && !c->detached) {
			arch_pause();
			continue;
		}
		if (died_inside(c, th, seen, ++looks))
			return 1;
		sys_futex_wait(&th->bias_word, word, &slice);
		if (looks <= SLICES)
			slice.nsec *= 2;
		if (until && sys_monotonic_ns() > until)
			c->stuck(c, &s->lock, word & SYS_TID_MASK);
	}
	return 0;
}

/* See bias.h. If even the sleep is refused it is spent awake. */
static __attribute__((noinline)) void barrier_refused(struct caller *c, int err)
{
	struct header *h = caller_header(c);
	const struct sys_timespec slice = {0, BARRIER_NS};
	u64 end;
	u32 was = 0;

	/* Of several at once the one whose compare-and-swap succeeds tells. */
	if (atom_cas(&h->bias_off, &was, 1))
		event_add(c, EVENT_NO_BARRIER, (u64)-err, 0);
	end = sys_monotonic_ns() + BARRIER_NS;
	while (sys_monotonic_ns() < end)
		if (sys_call(__NR_nanosleep, &slice, NULL))
			arch_pause();
}

/*
 * The states of s->bias: 0, owner, owner | REVOKING, and 0 again by bias_end.
 * Under the lock, which the revoker keeps until then: so REVOKING is seen only
 * by the owner, who then takes the lock and waits there, and by who looks
 * without the lock. Who dies in between leaves REVOKING, and the next owner of
 * the lock begins again.
 */
enum bias_was bias_revoke(struct caller *c, struct slot *s)
{
	/* The lock is held, and only its holder stores to bias. REVOKING is
	 * what an earlier holder left who died below: begin again. */
	u64 owner = s->bias & ~BIAS_REVOKING;
	int err;

	if (owner == c->bias_id)
		return BIAS_OWN;
	/* The store, then the barrier: the owner either sees REVOKING when it
	 * comes in, or is seen inside by wait_until_out. */
	atom_store_release(&s->bias, owner | BIAS_REVOKING);
	err = barrier_everywhere();
	if (unlikely(err))
		barrier_refused(c, err);
	if (wait_until_out(c, s, owner))
		lock_recover_biased(c, &s->lock, (u32)owner);
	return lock_real_time() ? BIAS_IN_THE_WAY : BIAS_FOREIGN;
}
