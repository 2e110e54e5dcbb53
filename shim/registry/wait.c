// SPDX-License-Identifier: MIT
/*
 * Sleeping and granting; the protocol is in wait.h.
 *
 * How a sleeper is interrupted as the kernel's would be: semop and msgrcv end
 * with EINTR after any handler, even one with SA_RESTART, and semop even after
 * stop and continue, where msgrcv begins anew. The futex call is made as a
 * restartable sequence (arch_syscall6_intr) on libc's registered rseq area, or
 * on one of our own registered for the time of the sleep; without rseq a
 * FUTEX_WAIT with a timeout gives EINTR in all cases but stop and continue.
 */
#include "registry/lock.h"
#include "registry/cancel.h"
#include "registry/wait.h"

/* About five microseconds: the cost of one sleep and wake-up
 * (doc/measurements.md §7).
 */
#define SPIN_PAUSES 200
#define RESYNC_PAUSES 2500
#define SETTLE_PAUSES 2000
#define SETTLE_NS 1000000
/* Yielding, in cycles: a sleep that took longer had a third process in between;
 * what one that did not earns; what is needed for a yield, and kept at most. A
 * slice lost to a third process is some millions. Arbitrary. */
#define QUICK_CYCLES 50000
#define QUICK_EARNS 64
#define YIELD_NEEDS 2048
#define YIELD_CREDIT 200000
/* Without rseq every sleep has a timeout, which is what makes FUTEX_WAIT end
 * with EINTR; arbitrary, long enough to be no burden. */
#define LONGEST_NS 1000000000ULL
#define NR_RSEQ 334

static __thread struct sys_rseq own_rseq
	__attribute__((tls_model("initial-exec")));

HOT void wait_begin(struct caller *c, struct waiter *w)
{
	atom_store_release(&w->word, 0);
	atom_store_release(&w->alive, c->tid | SYS_WAITERS);
	robust_push(c, &w->alive);
}

HOT void wait_end(struct caller *c, struct waiter *w)
{
	robust_pop(c, &w->alive);
	atom_store_release(&w->alive, 0);
	atom_store_release(&w->state, WAIT_IDLE);
}

/* Put our name on the word, so that our death wakes the sleeper. */
HOT static u32 promise(struct caller *c, struct waiter *w)
{
	robust_push(c, &w->word);
	return atom_xchg(&w->word, c->tid | SYS_WAITERS);
}

void wait_alarm(struct caller *c, struct waiter *w)
{
	c->alarm_was = promise(c, w);
	c->alarm = w;
}

void wait_alarm_end(struct caller *c)
{
	struct waiter *w = c->alarm;

	if (!w)
		return;
	c->alarm = NULL;
	/* A sleeper that looked meanwhile finds this within SETTLE_NS. */
	atom_store_release(&w->word, c->alarm_was);
	robust_pop(c, &w->word);
}

HOT static void wake_one(struct caller *c, struct waiter *w, int asleep)
{
	robust_pend(c, &w->word);
	robust_pop(c, &w->word);
	atom_store_release(&w->word, WAIT_WORD_DONE);
	crash_point();
	if (asleep)
		sys_futex_wake(&w->word, 1);
}

/*
 * The word goes from the list to the pending entry before it is marked done:
 * for a pending word without an owner the kernel wakes a sleeper too. In the
 * rare flush under a lock, that lock is on the list meanwhile.
 */
HOT static void flush(struct caller *c, u32 n)
{
	u32 *held = c->n_held ? &c->held[c->n_held - 1]->word : NULL;
	u32 i;

	if (held)
		robust_push(c, held);
	for (i = 0; i < n; i++) {
		uintptr_t p = (uintptr_t)c->grants[i];

		wake_one(c, (struct waiter *)(p & ~1UL), p & 1);
	}
	for (; i < c->n_grants; i++)
		c->grants[i - n] = c->grants[i];
	c->n_grants -= n;
	robust_pend(c, held);
	if (held)
		robust_pop(c, held);
}

HOT void wait_flush(struct caller *c)
{
	flush(c, c->n_grants);
}

HOT void wait_grant(struct caller *c, struct waiter *w)
{
	u32 old = c->alarm_was;

	/* One is kept back: while more are let through under the lock our death
	 * must go on waking somebody, who then finishes the pass. */
	if (c->n_grants == MAX_GRANTS)
		flush(c, MAX_GRANTS - 1);
	if (c->alarm == w)
		c->alarm = NULL;
	else
		old = promise(c, w);
	/* The low bit of the pointer remembers that a futex call is needed. */
	c->grants[c->n_grants++] =
		(struct waiter *)((uintptr_t)w | !!(old & SYS_WAITERS));
}

/* own_rseq is registered: it must not stay so beyond the sleep, since the
 * kernel writes to it as long as the thread runs, even after its stack is
 * unmapped. */
static __thread int own_registered __attribute__((tls_model("initial-exec")));

HOT static void own_rseq_end(void)
{
	if (!own_registered)
		return;
	own_registered = 0;
	sys_call(NR_RSEQ, &own_rseq, 32, 1, ARCH_RSEQ_SIGNATURE);
}

void wait_interrupted(void)
{
	own_rseq_end();
}

/* The rseq_cs field to use, or NULL; own_rseq_end follows. */
HOT static volatile u64 *rseq_cs_begin(void)
{
	struct sys_rseq *area = sys_rseq_of_libc();

	if (area)
		return &area->cs;
	if (sys_call(NR_RSEQ, &own_rseq, 32, 0, ARCH_RSEQ_SIGNATURE))
		return NULL;
	own_registered = 1;
	return &own_rseq.cs;
}

HOT static long sleep_call(
	volatile u64 *cs, long nr, long a, long b, long c, long d, long e)
{
	if (!cs)
		return arch_syscall6(nr, a, b, c, d, e, 0);
	return arch_syscall6_intr(cs, nr, a, b, c, d, e);
}

/*
 * futex_waitv(2) is not to be had: a kernel before 5.16 says ENOSYS, and so do
 * the system call filters of older container engines, or EPERM. Once known it
 * is not asked again: lifelines are then looked at after each slice.
 */
static int no_waitv;

static int waitv_denied(long err)
{
	if (likely(err >= 0 || err == -EAGAIN || err == -EINTR ||
		    err == -ERESTART || err == -ETIMEDOUT))
		return 0;
	no_waitv = 1;
	return 1;
}

/*
 * One futex call, until until_ns (0 = no limit). Without a limit FUTEX_WAIT
 * needs no timer, which is a tenth of a hand-over on one CPU; but only as a
 * restartable sequence does it then end with EINTR.
 */
HOT static int futex_sleep(struct waiter *w, u64 until_ns,
	const struct wait_watch *watch, volatile u64 *cs)
{
	struct sys_waitv v[9];
	struct sys_timespec ts, *limit = &ts;
	long err;
	u64 now;
	u32 i;

	if (!watch || !watch->n || unlikely(no_waitv)) {
		if (!until_ns && cs)
			return sleep_call(cs, __NR_futex, (long)&w->word,
				SYS_FUTEX_WAIT, SYS_WAITERS, 0, 0);
		now = sys_monotonic_ns();
		if (!until_ns)
			until_ns = now + LONGEST_NS;
		if (until_ns <= now)
			return -ETIMEDOUT;
		ts.sec = (until_ns - now) / 1000000000;
		ts.nsec = (until_ns - now) % 1000000000;
		return sleep_call(cs, __NR_futex, (long)&w->word,
			SYS_FUTEX_WAIT, SYS_WAITERS, (long)&ts, 0);
	}
	v[0] = (struct sys_waitv){
		SYS_WAITERS, (uintptr_t)&w->word, SYS_FUTEX2_32, 0};
	for (i = 0; i < watch->n; i++)
		v[i + 1] = (struct sys_waitv){watch->seen[i],
			(uintptr_t)watch->word[i], SYS_FUTEX2_32, 0};
	ts.sec = until_ns / 1000000000;
	ts.nsec = until_ns % 1000000000;
	i = watch->n + 1;
	if (!until_ns)
		limit = NULL;
	err = sleep_call(cs, SYS_NR_FUTEX_WAITV, (long)v, i, 0, (long)limit, 1);
	if (unlikely(waitv_denied(err)))
		return futex_sleep(w, until_ns, NULL, cs);
	return err;
}

/*
 * Two partners that both fell asleep once would sleep for ever after: a wake-up
 * on another CPU takes longer than the spin. So after 4, 16, 64... spins in
 * vain one is long enough to outlast it, and brings them back in step.
 */
static int spin_budget(const struct caller *c)
{
	u32 n = c->spins_in_vain;

	if (n < 4 || (n & (n - 1)) || !(n & 0x55555555u))
		return SPIN_PAUSES;
	return RESYNC_PAUSES;
}

/* The word while it is nobody's: spin, then announce the sleep. */
HOT static u32 spin_then_announce(struct caller *c, struct waiter *w, int spin)
{
	int i, pauses = spin ? spin_budget(c) : 0;
	u32 seen = 0;

	for (i = 0; i < pauses; i++) {
		seen = atom_load_acquire(&w->word);
		if (seen) {
			c->spins_in_vain = 0;
			return seen;
		}
		arch_pause();
	}
	c->spins_in_vain += pauses > 0;
	seen = 0;
	if (atom_cas(&w->word, &seen, SYS_WAITERS))
		seen = SYS_WAITERS;
	return seen;
}

/*
 * With the partner on our CPU one sched_yield lets it run, grant and yield in
 * its turn: little more than half the price of two futex calls. But a third
 * process that is runnable may get a whole slice at a yield. So it is paid for:
 * a yield earns what it was faster than a sleep lately, or costs what it was
 * slower, a quick sleep earns a little, and without credit we sleep. What
 * yielding can lose is thereby a small part of what sleeping takes.
 */
HOT static int yield_pays(const struct caller *c)
{
	return c->yield.credit > YIELD_NEEDS;
}

HOT static void earn(struct caller *c, s64 cycles)
{
	c->yield.credit += cycles;
	if (c->yield.credit > YIELD_CREDIT)
		c->yield.credit = YIELD_CREDIT;
}

HOT static void yield_once(struct caller *c, struct waiter *w)
{
	u64 start = arch_cycles();
	s64 took;

	sys_call(__NR_sched_yield);
	took = arch_cycles() - start;
	earn(c, (atom_load_acquire(&w->word) ? c->yield.usual : 0) - took);
}

HOT static void note_sleep(struct caller *c, u64 cycles)
{
	if (cycles > QUICK_CYCLES)
		return;
	c->yield.usual += ((s64)cycles - c->yield.usual) / 8;
	earn(c, QUICK_EARNS);
}

void wait_settle(struct waiter *w)
{
	const struct sys_timespec slice = {0, SETTLE_NS};
	int i = 0;
	u32 seen;

	while ((seen = atom_load_acquire(&w->word)) & SYS_TID_MASK) {
		if (i++ < SETTLE_PAUSES)
			arch_pause();
		else
			sys_futex_wait(&w->word, seen, &slice);
	}
}

HOT int wait_sleep(struct caller *c, struct waiter *w, u64 deadline_ns,
	u64 slice_ns, enum wait_look look, const struct wait_watch *watch)
{
	volatile u64 *cs;
	u64 until, start;
	u32 seen;
	int err;

	if (look == WAIT_LOOK_YIELD && yield_pays(c))
		yield_once(c, w);
	for (;;) {
		/* A handler forked: its child is in no queue. */
		if (unlikely(w != wait_own(c)))
			return 0;
		seen = atom_load_acquire(&w->word);
		if (seen & SYS_TID_MASK) {
			wait_settle(w);
			continue;
		}
		if (seen == 0)
			seen = spin_then_announce(c, w, look == WAIT_LOOK_SPIN);
		if (seen == WAIT_WORD_DONE)
			return 0;
		if (seen & SYS_OWNER_DIED)
			return -EOWNERDEAD;
		if (seen != SYS_WAITERS)
			continue;
		until = slice_ns ? sys_monotonic_ns() + slice_ns : 0;
		if (deadline_ns && (!until || deadline_ns < until))
			until = deadline_ns;
		start = arch_cycles();
		cs = rseq_cs_begin();
		err = futex_sleep(w, until, watch, cs);
		own_rseq_end();
		if (look == WAIT_LOOK_YIELD)
			note_sleep(c, arch_cycles() - start);
		if (atom_load_acquire(&w->word) != SYS_WAITERS)
			continue;
		/* Stop and continue end semop, others begin anew. */
		if (err == -ERESTART && w->facility != FAC_MSG)
			err = -EINTR;
		if (err == -EINTR || err == -ERESTART)
			return err;
		if (deadline_ns && sys_monotonic_ns() >= deadline_ns)
			return -ETIMEDOUT;
		return -EAGAIN;
	}
}

/* One futex sleep until the word changes or the deadline. */
static int restart_sleep(struct waiter *w, const struct sys_timespec *deadline,
	struct cancel_scope *scope)
{
	struct sys_waitv v = {
		SYS_WAITERS, (uintptr_t)&w->word, SYS_FUTEX2_32, 0};
	struct sys_timespec ts;
	int err;

	/* Both restart as mq_* do; FUTEX_WAIT only without a timeout, and then
	 * it is the cheaper one. */
	cancel_allow(scope);
	if (!deadline)
		err = sys_futex_wait(&w->word, SYS_WAITERS, NULL);
	else
		err = sys_call(SYS_NR_FUTEX_WAITV, &v, 1, 0, deadline, 0);
	cancel_deny(scope);
	if (unlikely(waitv_denied(err))) {
		/* Without it: slices that a signal ends and nothing restarts;
		 * the trampoline tells which ones count. */
		ts = (struct sys_timespec){0, 1000000};
		sys_futex_wait(&w->word, SYS_WAITERS, &ts);
		err = 0;
	}
	return err;
}

int wait_sleep_restart(struct caller *c, struct waiter *w,
	const struct sys_timespec *deadline, int spin,
	struct cancel_scope *scope)
{
	int err, ret = 0;
	u32 seen;
	s64 now;

	for (;;) {
		/* A handler forked: its child is in no queue. */
		if (unlikely(w != wait_own(c)))
			return 0;
		seen = atom_load_acquire(&w->word);
		if (seen & SYS_TID_MASK) {
			wait_settle(w);
			continue;
		}
		if (seen == 0)
			seen = spin_then_announce(c, w, spin);
		spin = 0;
		if (seen == WAIT_WORD_DONE)
			break;
		if (seen & SYS_OWNER_DIED) {
			ret = -EOWNERDEAD;
			break;
		}
		if (seen != SYS_WAITERS)
			continue;
		err = restart_sleep(w, deadline, scope);
		if (atom_load_acquire(&w->word) != SYS_WAITERS)
			continue;
		if (err == -EINTR) {
			ret = -EINTR;
			break;
		}
		now = deadline ? sys_realtime_ns() : 0;
		if (deadline &&
			(now / 1000000000 > deadline->sec ||
				(now / 1000000000 == deadline->sec &&
					now % 1000000000 >= deadline->nsec))) {
			ret = -ETIMEDOUT;
			break;
		}
	}
	return ret;
}
