// SPDX-License-Identifier: MIT
/*
 * Sleeping and granting; the protocol is in wait.h.
 *
 * How a sleeper is interrupted as the kernel's would be: semop and msgrcv end
 * with EINTR after any handler, even one with SA_RESTART, and semop even after
 * stop and continue. The futex call is made as a restartable sequence
 * (arch_syscall6_intr) on libc's registered rseq area, or on one of our own
 * registered for the time of the sleep; without rseq a FUTEX_WAIT with a
 * timeout gives EINTR in all cases but stop and continue.
 */
#include "registry/lock.h"
#include "registry/cancel.h"
#include "registry/wait.h"

/* About five microseconds: the cost of one sleep and wake-up (SPIKES §7). */
#define SPIN_PAUSES 200
#define SETTLE_PAUSES 2000
#define SETTLE_NS 1000000
/* No sleep is longer than this without a look at the word: a safety net. */
#define LONGEST_NS 1000000000ULL
#define NR_RSEQ 334

extern const long __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

struct rseq_area {
	u32 cpu_start, cpu;
	volatile u64 cs;
	u32 flags, pad[3];
} __attribute__((aligned(32)));

static __thread struct rseq_area own_rseq
	__attribute__((tls_model("initial-exec")));

void wait_begin(struct caller *c, struct waiter *w)
{
	atom_store_release(&w->word, 0);
	atom_store_release(&w->alive, c->tid | SYS_WAITERS);
	robust_push(c, &w->alive);
}

void wait_end(struct caller *c, struct waiter *w)
{
	robust_pop(c, &w->alive);
	atom_store_release(&w->alive, 0);
	atom_store_release(&w->state, WAIT_IDLE);
}

void wait_grant(struct caller *c, struct waiter *w)
{
	u32 old;

	if (c->n_grants == MAX_GRANTS)
		wait_flush(c);
	robust_push(c, &w->word);
	old = atom_xchg(&w->word, c->tid | SYS_WAITERS);
	/* The low bit of the pointer remembers that a futex call is needed. */
	c->grants[c->n_grants++] =
		(struct waiter *)((uintptr_t)w | !!(old & SYS_WAITERS));
}

static void wake_one(struct caller *c, struct waiter *w, int asleep)
{
	robust_pend(c, &w->word);
	robust_pop(c, &w->word);
	atom_store_release(&w->word, WAIT_WORD_DONE);
	if (asleep)
		sys_futex_wake(&w->word, 1);
}

/*
 * The word goes from the list to the pending entry before it is marked done:
 * for a pending word without an owner the kernel wakes a sleeper too. In the
 * rare flush under a lock, that lock is on the list meanwhile.
 */
void wait_flush(struct caller *c)
{
	u32 *held = c->n_held ? &c->held[c->n_held - 1]->word : NULL;
	u32 i;

	if (held)
		robust_push(c, held);
	for (i = 0; i < c->n_grants; i++) {
		uintptr_t p = (uintptr_t)c->grants[i];

		wake_one(c, (struct waiter *)(p & ~1UL), p & 1);
	}
	c->n_grants = 0;
	robust_pend(c, held);
	if (held)
		robust_pop(c, held);
}

/* The rseq_cs field to use, or NULL. *ret_own tells to unregister it. */
static volatile u64 *rseq_cs_begin(int *ret_own)
{
	*ret_own = 0;
	if (&__rseq_size && &__rseq_offset && __rseq_size)
		return (volatile u64 *)(arch_thread_pointer() + __rseq_offset +
			8);
	if (sys_call(NR_RSEQ, &own_rseq, 32, 0, ARCH_RSEQ_SIGNATURE))
		return NULL;
	*ret_own = 1;
	return &own_rseq.cs;
}

static void rseq_cs_end(int own)
{
	if (own)
		sys_call(NR_RSEQ, &own_rseq, 32, 1, ARCH_RSEQ_SIGNATURE);
}

static long sleep_call(long nr, long a, long b, long c, long d, long e)
{
	int own;
	volatile u64 *cs = rseq_cs_begin(&own);
	long ret;

	if (!cs)
		return arch_syscall6(nr, a, b, c, d, e, 0);
	ret = arch_syscall6_intr(cs, nr, a, b, c, d, e);
	rseq_cs_end(own);
	return ret;
}

static int futex_sleep(
	struct waiter *w, u64 until_ns, const struct wait_watch *watch)
{
	struct sys_waitv v[9];
	struct sys_timespec ts;
	u64 now = sys_monotonic_ns();
	u32 i;

	if (until_ns <= now)
		return -ETIMEDOUT;
	if (!watch || !watch->n) {
		ts.sec = (until_ns - now) / 1000000000;
		ts.nsec = (until_ns - now) % 1000000000;
		return sleep_call(__NR_futex, (long)&w->word, SYS_FUTEX_WAIT,
			SYS_WAITERS, (long)&ts, 0);
	}
	v[0] = (struct sys_waitv){
		SYS_WAITERS, (uintptr_t)&w->word, SYS_FUTEX2_32, 0};
	for (i = 0; i < watch->n; i++)
		v[i + 1] = (struct sys_waitv){watch->seen[i],
			(uintptr_t)watch->word[i], SYS_FUTEX2_32, 0};
	ts.sec = until_ns / 1000000000;
	ts.nsec = until_ns % 1000000000;
	i = watch->n + 1;
	return sleep_call(SYS_NR_FUTEX_WAITV, (long)v, i, 0, (long)&ts, 1);
}

/* The word while it is nobody's: spin, then announce the sleep. */
static u32 spin_then_announce(struct waiter *w, int spin)
{
	u32 seen = 0;
	int i;

	for (i = 0; spin && i < SPIN_PAUSES; i++) {
		seen = atom_load_acquire(&w->word);
		if (seen)
			return seen;
		arch_pause();
	}
	seen = 0;
	if (atom_cas(&w->word, &seen, SYS_WAITERS))
		seen = SYS_WAITERS;
	return seen;
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

int wait_sleep(struct caller *c, struct waiter *w, u64 deadline_ns,
	u64 slice_ns, int spin, const struct wait_watch *watch)
{
	u64 until, longest = slice_ns ? slice_ns : LONGEST_NS;
	u32 seen;
	int err;

	(void)c;
	for (;;) {
		seen = atom_load_acquire(&w->word);
		if (seen & SYS_TID_MASK) {
			wait_settle(w);
			continue;
		}
		if (seen == 0)
			seen = spin_then_announce(w, spin);
		if (seen == WAIT_WORD_DONE)
			return 0;
		if (seen & SYS_OWNER_DIED)
			return -EOWNERDEAD;
		if (seen != SYS_WAITERS)
			continue;
		until = sys_monotonic_ns() + longest;
		if (deadline_ns && deadline_ns < until)
			until = deadline_ns;
		err = futex_sleep(w, until, watch);
		if (atom_load_acquire(&w->word) != SYS_WAITERS)
			continue;
		if (err == -EINTR)
			return -EINTR;
		if (deadline_ns && sys_monotonic_ns() >= deadline_ns)
			return -ETIMEDOUT;
		return -EAGAIN;
	}
}

/* One futex sleep until the word changes or the deadline. */
static int restart_sleep(struct waiter *w, const struct sys_timespec *deadline,
	struct cancel *cancel)
{
	struct sys_waitv v = {
		SYS_WAITERS, (uintptr_t)&w->word, SYS_FUTEX2_32, 0};
	struct sys_timespec ts;
	int err;

	/* Both restart as mq_* do; FUTEX_WAIT only without a timeout, and then
	 * it is the cheaper one. */
	cancel_open(cancel);
	if (!deadline)
		err = sys_futex_wait(&w->word, SYS_WAITERS, NULL);
	else
		err = sys_call(SYS_NR_FUTEX_WAITV, &v, 1, 0, deadline, 0);
	cancel_shut(cancel);
	if (unlikely(err == -ENOSYS)) {
		/* Before 5.16: slices that a signal ends and nothing restarts;
		 * the trampoline tells which ones count. */
		ts = (struct sys_timespec){0, 1000000};
		sys_futex_wait(&w->word, SYS_WAITERS, &ts);
		err = 0;
	}
	return err;
}

int wait_sleep_restart(struct caller *c, struct waiter *w,
	const struct sys_timespec *deadline, int spin,
	void (*cancelled)(void *arg), void *arg)
{
	struct cancel cancel;
	int err, ret = 0;
	u32 seen;
	s64 now;

	(void)c;
	cancel_begin(&cancel, cancelled, arg);
	for (;;) {
		seen = atom_load_acquire(&w->word);
		if (seen & SYS_TID_MASK) {
			wait_settle(w);
			continue;
		}
		if (seen == 0)
			seen = spin_then_announce(w, spin);
		spin = 0;
		if (seen == WAIT_WORD_DONE)
			break;
		if (seen & SYS_OWNER_DIED) {
			ret = -EOWNERDEAD;
			break;
		}
		if (seen != SYS_WAITERS)
			continue;
		err = restart_sleep(w, deadline, &cancel);
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
	cancel_end(&cancel);
	return ret;
}
