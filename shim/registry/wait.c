// SPDX-License-Identifier: MIT
/*
 * Sleeping and granting; the protocol is in wait.h.
 *
 * Signals interrupt a sleeper as in the kernel: semop and msgrcv end with EINTR
 * after any handler, even one with SA_RESTART, and semop also after stop and
 * continue, where msgrcv restarts. For this the futex call is made as a
 * restartable sequence (arch_syscall6_intr) on libc's registered rseq area, or
 * on one of our own registered for the time of the sleep; without rseq a
 * FUTEX_WAIT with a timeout gives EINTR in all cases but stop and continue.
 */
#include <linux/prctl.h>
#include "registry/wait.h"
#include "registry/cancel.h"
#include "registry/robust.h"
#include "registry/spin.h"
#include "registry/thread.h"
#include "registry/yield.h"

#define AWAIT_PAUSES 2000
#define AWAIT_SLICE_NS 1000000
/* In slices of AWAIT_SLICE_NS: how often to check whether the waker exists, and
 * how long an exiting one may take. Arbitrary. */
#define EXISTS_SLICES 50
#define EXITING_SLICES 500
/* Without rseq a timeout makes FUTEX_WAIT end with EINTR; arbitrary. */
#define LONGEST_NS 1000000000ULL
/* Wake-ups while another thread takes the paused lock: some 10 us. Arbitrary. */
#define WANTED_WAKES 4u
/* Spin iterations between two yields: about half a microsecond. Arbitrary. */
#define YIELD_EVERY 8u
#define HERD_ALL 0x7fffffff
/* Is a sleeper stopped? Times in units of 1,024 cycles; all arbitrary. SLEPT_LONG:
 * before, it is not checked; some 25 us, half of a wake-up on another CPU.
 * ASLEEP_HOLDS: how long the answer "asleep" is kept; 2,048 to 3,072 cycles, where
 * a parent learns of a stop after 8,900 at the earliest (kill and waitpid,
 * measured). STOPPED_ASKED: most checks in one hold, a system call each.
 * TRACED_LONG: half a second to a second, for which a traced sleeper counts as on
 * its way into its futex: strace, too, stops it for a moment there. */
#define SLEPT_LONG 64u
#define TRACED_LONG (1u << 21)
#define ASLEEP_HOLDS 2u
#define STOPPED_ASKED 4u
/* The delay of wait_watch.late. Arbitrary, but longer than a tick of most kernels
 * (250 or 1,000 Hz): a timer due before the next tick reprograms the clock, in a
 * virtual machine through its host, which costs more than is saved (at 0.25 ms 12
 * us a hand-over on one CPU instead of 5.3; without the delay 6.7). */
#define BRIEF_NS 5000000u

static __thread struct sys_rseq own_rseq
	__attribute__((tls_model("initial-exec")));

/* Until it is queued nobody can reach the record. `alive` goes on the robust
 * list first, so whoever finds us queued can tell by it whether we live; where
 * robust lists are refused it lacks SYS_WAITERS, and whoever looks asks. */
HOT void wait_begin(struct caller *c, struct waiter *w)
{
	atom_store_release(&w->word, 0);
	atom_store_release(&w->alive,
		unlikely(c->robust_refused) ? c->tid : c->tid | SYS_WAITERS);
	robust_push(c, &w->alive);
}

/* The word was RECHECK: others already granted may sleep on it (wake_herd). */
static void wake_requeued(struct waiter *w)
{
	sys_futex_wake(&w->word, HERD_ALL);
}

/* It has left the queue. State last: while it is not IDLE nobody takes the record
 * over without the object's lock (task.c, waiter_settled). */
HOT void wait_end(struct caller *c, struct waiter *w)
{
	if (unlikely(atom_load_relaxed(&w->word) == WAIT_WORD_RECHECK))
		wake_requeued(w);
	robust_pop(c, &w->alive);
	atom_store_release(&w->alive, 0);
	atom_store_release(&w->state, WAIT_IDLE);
}

/* ---- stopped sleepers ---- */

/* A time in the unit of waiter.slept. */
HOT static u32 in_slept(u64 cycles)
{
	return (u32)(cycles >> 10);
}

/*
 * A thread in its futex call is not stopped: the signal takes it out of there.
 * Else it may be on its way in or out, and its state in /proc decides.
 */
static __attribute__((noinline)) int is_stopped(
	struct caller *c, struct waiter *w)
{
	u32 now = in_slept(arch_cycles()),
	    slept = now - atom_load_relaxed(&w->slept);
	enum thread_left left;

	if (!c->n_grants)
		c->n_asked = 0;
	if (c->n_asked >= STOPPED_ASKED)
		return 0;
	c->n_asked++;
	if (sys_futex_asleep(&w->word)) {
		atom_store_release(
			&w->slept, now - (SLEPT_LONG - ASLEEP_HOLDS));
		return 0;
	}
	left = thread_sleeper_left(w, slept > TRACED_LONG);
	c->n_asked -= left == THREAD_EXITED;
	return left != THREAD_THERE;
}

/* Cheap tests first: is_stopped only for a sleeper whose word has been WAITERS or
 * RECHECK (which a stopped thread leaves there) for a while. */
HOT int wait_stopped(struct caller *c, struct waiter *w)
{
	u32 word = c->crash_guard == w ? c->crash_guard_was
				       : atom_load_relaxed(&w->word);

	return (word & SYS_WAITERS) &&
	       in_slept(arch_cycles()) - atom_load_relaxed(&w->slept) >
		       SLEPT_LONG &&
	       unlikely(is_stopped(c, w));
}

/* ---- granting ---- */

static void *obligation_node(const struct caller *c, struct waiter *w)
{
	return robust_node(c, &w->word);
}

/* Behind the words already there, so that they come off in order of grant. */
HOT static void push_obligation(struct caller *c, struct waiter *w)
{
	void **node = obligation_node(c, w), **at = (void **)&c->robust->next;

	if (c->n_grants)
		at = obligation_node(c, c->last_grant);
	else if (c->crash_guard)
		at = obligation_node(c, c->crash_guard);
	crash_point();
	__atomic_store_n(node, *at, __ATOMIC_RELEASE);
	__atomic_store_n(at, (void *)node, __ATOMIC_RELEASE);
}

/* If the thread whose tid is in the word is dead, the kernel marks the word,
 * unless its walk was cut short: then we do. slices: how many were waited. */
static void note_death(
	const struct caller *c, struct waiter *w, u32 seen, u32 slices)
{
	u32 tid = seen & SYS_TID_MASK;
	int gone;

	if (slices % EXISTS_SLICES)
		return;
	gone = sys_call(__NR_kill, tid, 0) == -ESRCH;
	/* A zombie that nobody reaps is past that walk; one that has only begun
	 * to exit may be in it, so it is given EXITING_SLICES slices. */
	if (!gone && slices >= EXITING_SLICES)
		gone = thread_gone(c, tid);
	if (gone && atom_cas(&w->word, &seen, WAIT_WORD_RECHECK))
		sys_futex_wake(&w->word, 1);
}

static int await_slice(struct waiter *w, u32 seen);

/* Whose tid may be in the word. LIVING: a living waker's. BOUNDED: the same, but
 * if it stays for long await_waker returns it, for the sleeper to check under the
 * lock (wait_recheck). EXITED: an exited thread's, or the caller's own. */
enum { AWAIT_LIVING, AWAIT_BOUNDED, AWAIT_EXITED };

/* Wait until the word holds no tid; returns the word. ret_err (may be NULL): 0,
 * or what a signal interrupted this with. */
static u32 await_waker(
	const struct caller *c, struct waiter *w, int whose, int *ret_err)
{
	u32 seen, i = 0, slices = 0;
	int dead = whose == AWAIT_EXITED, err;

	if (ret_err)
		*ret_err = 0;
	while ((seen = atom_load_acquire(&w->word)) & SYS_TID_MASK) {
		if (dead && (seen & SYS_TID_MASK) == c->tid)
			return seen;
		if (i++ < AWAIT_PAUSES) {
			arch_pause();
			continue;
		}
		err = await_slice(w, seen);
		if (ret_err && (err == -EINTR || err == -ERESTART))
			*ret_err = err;
		note_death(c, w, seen, ++slices);
		if (whose == AWAIT_BOUNDED && slices >= EXITING_SLICES)
			return atom_load_acquire(&w->word);
		if (dead && slices >= 2 * EXITING_SLICES)
			atom_cas(&w->word, &seen, WAIT_WORD_RECHECK);
	}
	return seen;
}

void wait_for_waker(const struct caller *c, struct waiter *w)
{
	await_waker(c, w, AWAIT_LIVING, NULL);
}

/* Put our tid in the word, so that our death wakes the sleeper. Another's tid
 * there is a dead thread's, see wait.h. */
HOT static u32 obligation_begin(struct caller *c, struct waiter *w)
{
	if (unlikely(atom_load_acquire(&w->word) & SYS_TID_MASK))
		await_waker(c, w, AWAIT_EXITED, NULL);
	push_obligation(c, w);
	return atom_xchg(&w->word, c->tid | SYS_WAITERS);
}

void wait_crash_guard(struct caller *c, struct waiter *w)
{
	u32 was = obligation_begin(c, w);

	c->crash_guard_was = was;
	c->crash_guard = w;
}

void wait_crash_guard_end(struct caller *c)
{
	struct waiter *w = c->crash_guard;

	if (!w)
		return;
	c->crash_guard = NULL;
	/* A sleeper that waits for our tid to go sees this within
	 * AWAIT_SLICE_NS. */
	atom_store_release(&w->word, c->crash_guard_was);
	robust_pop(c, &w->word);
	if (unlikely(c->crash_guard_was == WAIT_WORD_RECHECK))
		sys_futex_wake(&w->word, 1);
}

/* Take the first of those granted off the chain. */
HOT static struct waiter *next_grant(struct caller *c, int *ret_asleep)
{
	uintptr_t p = c->first_grant;
	struct waiter *w = (struct waiter *)(p & ~1UL);
	u32 next;

	*ret_asleep = p & 1;
	if (--c->n_grants) {
		next = w->granted_next;
		c->first_grant = (uintptr_t)wait_at(c, next >> 1) | (next & 1);
		if (unlikely(c->first_grant < 2)) /* damaged */
			c->n_grants = 0;
	}
	return w;
}

/*
 * The word goes from the list to the pending entry before it is marked done:
 * for a pending word without an owner the kernel wakes a sleeper too.
 */
HOT static void last_store(struct caller *c, struct waiter *w, u32 word)
{
	robust_pend(c, &w->word);
	robust_pop(c, &w->word);
	atom_store_release(&w->word, word);
	crash_point();
}

HOT static void wake_one(struct caller *c, struct waiter *w, int asleep)
{
	last_store(c, w, WAIT_WORD_DONE);
	if (asleep)
		sys_futex_wake(&w->word, 1);
}

HOT static __attribute__((noinline)) void wake_next(struct caller *c)
{
	int asleep;
	struct waiter *w = next_grant(c, &asleep);

	wake_one(c, w, asleep);
}

/*
 * The sleeper may go on, sleep again and be granted again before we requeue it:
 * then its later sleep is requeued. So while n_requeuers is not 0 it sleeps
 * with a timer. A waker that dies here leaves n_requeuers raised for good.
 */
static void requeue_to(struct caller *c, struct waiter *w, struct waiter *first)
{
	int err;

	atom_add(&w->n_requeuers, 1);
	last_store(c, w, WAIT_WORD_DONE);
	err = sys_futex_requeue(&w->word, WAIT_WORD_DONE, &first->word);
	if (err < 0 && err != -EAGAIN)
		sys_futex_wake(&w->word, 1);
	atom_add(&w->n_requeuers, (u32)-1);
}

/*
 * Wake several by one call: woken by a call each, many would preempt us at
 * once. The first one's word keeps our tid; the others are DONE and are
 * requeued to that word, which becomes RECHECK last. If we die before that, the
 * first one wakes them (wake_requeued).
 */
static __attribute__((noinline)) void wake_herd(struct caller *c)
{
	struct waiter *w, *first = NULL;
	int asleep;

	while (c->n_grants) {
		w = next_grant(c, &asleep);
		if (!asleep || !atom_load_relaxed(&w->has_timer)) {
			wake_one(c, w, asleep);
			continue;
		}
		if (!first) {
			first = w;
			continue;
		}
		requeue_to(c, w, first);
	}
	if (!first)
		return;
	last_store(c, first, WAIT_WORD_RECHECK);
	sys_futex_wake(&first->word, HERD_ALL);
}

static int is_obligation(const struct caller *c, const void *node)
{
	u64 off = (u64)((const char *)node + c->robust->futex_offset -
			  c->region.base) -
		  THREADS_OFF;

	return off < (u64)N_THREADS * THREAD_STRIDE &&
	       off % THREAD_STRIDE == offsetof(struct thread, waiter.word);
}

/* Put the lock we hold behind the words on the robust list: the kernel then marks
 * it after them, so whoever takes it over finds none still to be marked. */
static void push_behind(struct caller *c, u32 *held)
{
	void **at = (void **)&c->robust->next, **node = robust_node(c, held);
	u32 n;

	for (n = c->n_grants + !!c->crash_guard; n; n--) {
		if (!is_obligation(c, *at))
			break;
		at = *at;
	}
	__atomic_store_n(node, *at, __ATOMIC_RELEASE);
	__atomic_store_n(at, (void *)node, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void prewake(struct caller *c)
{
	struct waiter *w = c->prewake;

	c->prewake = NULL;
	if (atom_load_relaxed(&w->word) != SYS_WAITERS)
		return;
	/* It leaves its futex for a moment, which is no stop. */
	atom_store_release(&w->slept, in_slept(arch_cycles()));
	sys_futex_wake(&w->word, 1);
}

HOT void wait_flush(struct caller *c)
{
	if (unlikely(c->n_grants >= HERD_LEAST))
		wake_herd(c);
	while (c->n_grants)
		wake_next(c);
	robust_pend(c, NULL);
	if (unlikely(c->prewake != NULL))
		prewake(c);
}

/* Move the lock we hold from list_op_pending to the list, behind the others, so
 * that another word may be pending until held_to_pending. */
static u32 *held_to_list(struct caller *c)
{
	u32 *held = robust_held(c);

	if (likely(held != NULL))
		push_behind(c, held);
	return held;
}

static void held_to_pending(struct caller *c, u32 *held)
{
	robust_pend(c, held);
	if (likely(held != NULL))
		robust_pop(c, held);
}

void wait_spurious_wake(struct caller *c, struct waiter *w)
{
	u32 seen = atom_load_relaxed(&w->word), *held;

	/* Our own tid is there: RECHECK replaces it later. */
	if (c->crash_guard == w) {
		c->crash_guard_was = WAIT_WORD_RECHECK;
		return;
	}
	/* Pending: should we die before the wake-up, the kernel wakes. */
	held = held_to_list(c);
	robust_pend(c, &w->word);
	while (!(seen & ~SYS_WAITERS))
		if (atom_cas(&w->word, &seen, WAIT_WORD_RECHECK)) {
			seen = WAIT_WORD_RECHECK;
			break;
		}
	crash_point();
	if (seen == WAIT_WORD_RECHECK)
		sys_futex_wake(&w->word, 1);
	held_to_pending(c, held);
}

/* Wake all but the last `keep` of those granted, whatever lock is held: none, or
 * that of a dead task being reaped. */
static __attribute__((noinline)) void flush_to(struct caller *c, u32 keep)
{
	u32 *held = held_to_list(c);

	while (c->n_grants > keep)
		wake_next(c);
	held_to_pending(c, held);
}

void wait_pause_begin(struct caller *c)
{
	struct waiter *w = c->crash_guard;
	u32 *held;

	if (!w)
		return;
	held = held_to_list(c);
	c->crash_guard = NULL;
	robust_pend(c, &w->word);
	robust_pop(c, &w->word);
	atom_store_release(&w->word, WAIT_WORD_RECHECK);
	crash_point();
	sys_futex_wake(&w->word, 1);
	held_to_pending(c, held);
}

/* One grant is always kept back: while the pass goes on, our death must wake a
 * sleeper, which then finishes it. */
void wait_pause_end(struct caller *c, int wanted)
{
	if (c->n_grants > MAX_GRANTS - HOLD_LEAVES)
		flush_to(c, 1);
	else if (wanted && c->n_grants > WANTED_WAKES)
		flush_to(c, c->n_grants - WANTED_WAKES);
}

HOT void wait_grant(struct caller *c, struct waiter *w)
{
	u32 old = c->crash_guard_was, asleep;

	/* Passes that pause never get here; what dead wakers left may. */
	if (unlikely(c->n_grants == MAX_GRANTS))
		flush_to(c, 1);
	if (c->crash_guard == w)
		c->crash_guard = NULL;
	else
		old = obligation_begin(c, w);
	/* It is in its futex, or soon will be: a wake call is needed. */
	asleep = !!(old & SYS_WAITERS);
	if (c->n_grants++)
		c->last_grant->granted_next = wait_index(c, w) << 1 | asleep;
	else
		c->first_grant = (uintptr_t)w | asleep;
	c->last_grant = w;
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
	sys_call(__NR_rseq, &own_rseq, 32, 1, ARCH_RSEQ_SIGNATURE);
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
	if (sys_call(__NR_rseq, &own_rseq, 32, 0, ARCH_RSEQ_SIGNATURE))
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

/* Sleep until the tid in the word changes, for AWAIT_SLICE_NS at most. */
static int await_slice(struct waiter *w, u32 seen)
{
	const struct sys_timespec slice = {0, AWAIT_SLICE_NS};
	int err;

	err = sleep_call(rseq_cs_begin(), __NR_futex, (long)&w->word,
		SYS_FUTEX_WAIT, seen, (long)&slice, 0);
	own_rseq_end();
	return err;
}

/*
 * futex_waitv(2) is not available: ENOSYS from a kernel before 5.16, ENOSYS or
 * EPERM from the system call filters of older container engines. Once refused
 * it is not tried again: lifelines are then checked after each slice.
 */
static int no_waitv;

/* Callers test this first, so as not to collect lifelines for nothing. */
int wait_can_watch(void)
{
	return !no_waitv;
}

/* The kernel adds this to the timeouts of semtimedop and others, but not to
 * futex_waitv's: without it a shorter timeout would be over at once. */
static u64 timer_slack(void)
{
	long ns = sys_call(__NR_prctl, PR_GET_TIMERSLACK);

	return ns > 0 ? (u64)ns : 0;
}

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
	struct sys_waitv v[WAIT_WATCHED + 1];
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
		/* The time is over: sleep all the same, for the timer's slack,
		 * as the kernel does, so that an application that polls lets
		 * others run. */
		if (until_ns <= now)
			until_ns = now + 1;
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
	err = sleep_call(cs, __NR_futex_waitv, (long)v, i, 0, (long)limit, 1);
	if (unlikely(waitv_denied(err)))
		return futex_sleep(w, until_ns, NULL, cs);
	return err;
}

/*
 * Spin while the word is 0, for as long as spin.h allows. yields: the thread we
 * wait for may be about to run on this CPU.
 */
HOT static u32 spin_for(struct caller *c, struct waiter *w, int yields)
{
	struct spin spin = {0};
	u32 seen, i;

	spin_begin(&spin, 0);
	for (i = 1; !(seen = atom_load_acquire(&w->word)) && spin_on(&spin);
		i++) {
		if (!yields || i % YIELD_EVERY)
			continue;
		sys_call(__NR_sched_yield);
		spin_resume(&spin);
	}
	if (seen)
		spin_found(&spin);
	/* Noted in the object when its lock is next held. */
	c->spun.ident = w->ident;
	c->spun.result = spin.result;
	return seen;
}

/* 0 to WAITERS; if a waker has stored meanwhile, returns what it stored. `slept`
 * is stored first, for wait_stopped reads it once it has seen WAITERS. */
HOT static u32 announce(struct waiter *w)
{
	u32 seen = 0;

	atom_store_release(&w->slept, in_slept(arch_cycles()));
	return atom_cas(&w->word, &seen, SYS_WAITERS) ? SYS_WAITERS : seen;
}

/* The word is 0: spin, then announce the sleep. */
HOT static u32 spin_then_announce(struct caller *c, struct waiter *w, int spin)
{
	u32 seen = spin ? spin_for(c, w, 0) : 0;

	return seen ? seen : announce(w);
}

/*
 * Woken with the word unchanged: what we wait for may be about to come
 * (wait_prewake), so spin before the next sleep. 1 if something came.
 */
static __attribute__((noinline)) int spin_after_prewake(
	struct caller *c, struct waiter *w)
{
	u32 seen = SYS_WAITERS;

	return !atom_cas(&w->word, &seen, 0) || spin_for(c, w, 1) ||
	       announce(w) != SYS_WAITERS;
}

/* Under the object's lock, so whether it is queued does not change. If it is not, a
 * tid may be that of the waker that granted it: the compare-and-swap replaces
 * RECHECK only. */
void wait_recheck(const struct caller *c, struct waiter *w)
{
	u32 seen = WAIT_WORD_RECHECK;

	if (w->state == WAIT_QUEUED)
		await_waker(c, w, AWAIT_EXITED, NULL);
	wake_requeued(w);
	atom_cas(&w->word, &seen, w->state == WAIT_QUEUED ? 0 : WAIT_WORD_DONE);
}

/* From here on only a dead waker's tid can be in the word; await_waker waits for
 * the kernel to mark it. */
void wait_dequeued(const struct caller *c, struct waiter *w)
{
	if (await_waker(c, w, AWAIT_EXITED, NULL) == WAIT_WORD_RECHECK)
		wake_requeued(w);
	atom_store_release(&w->word, WAIT_WORD_DONE);
}

/*
 * A handler has ended the sleep (caller.interrupt). If it forked and this is
 * the child, the child is in no queue, and w is the record of its parent or of
 * whoever has it by now: so its word means nothing here. In case the child has
 * slept on it all the same, it passes on the wake-up that it took from another
 * thread.
 */
static __attribute__((noinline)) int handler_came(
	const struct caller *c, struct waiter *w)
{
	if (w != wait_own(c))
		sys_futex_wake(&w->word, 1);
	return 0;
}

/*
 * The futex call has ended with err: is the word still as it was, so that err
 * is the result? A waker's tid may stand there only for a moment, as a crash
 * guard's. An interrupt is reported once only: so wait until the tid goes, and
 * let the word found then decide, not one read later. If that is RECHECK, the
 * caller rechecks, and leaves its queue if it is still there (sleep_loop).
 */
HOT static int still_waiting(const struct caller *c, struct waiter *w, int err)
{
	if (err == -EINTR || err == -ERESTART)
		return await_waker(c, w, AWAIT_BOUNDED, NULL) != WAIT_WORD_DONE;
	return atom_load_acquire(&w->word) == SYS_WAITERS;
}

/* Before a sleep, with a tid in the word: wait until it is gone. 1 if we were not
 * granted and a signal came (ret_err), or the tid stays (-EAGAIN). */
static __attribute__((noinline)) int interrupted_before(
	const struct caller *c, struct waiter *w, int *ret_err)
{
	u32 seen = await_waker(c, w, AWAIT_BOUNDED, ret_err);

	if (!*ret_err && (seen & SYS_TID_MASK))
		*ret_err = -EAGAIN;
	return seen != WAIT_WORD_DONE && *ret_err;
}

/* Stop and continue end semop with EINTR; msgsnd and msgrcv restart. */
static int interrupt_of(const struct waiter *w, int err)
{
	return err == -ERESTART && w->facility != FAC_MSG ? -EINTR : err;
}

/*
 * One round: spin or announce, then one futex call, then read the word. -EAGAIN
 * at the end of a slice: the caller checks whether a dead waker left anything
 * to be done for it. A `brief` first sleep is on the waiter's word alone
 * (wait_watch.late), since futex_waitv costs more; the watched words are added
 * from the second one on.
 */
HOT int wait_sleep(struct caller *c, struct waiter *w, u64 deadline_ns,
	u64 slice_ns, enum wait_first first, struct wait_watch *watch)
{
	volatile u64 *cs;
	u64 until, start;
	u32 seen;
	int err, brief;

	if (first == WAIT_FIRST_YIELD && yield_pays(c))
		yield_once(c, w);
	for (;;) {
		if (unlikely(!c->interrupt))
			return handler_came(c, w);
		seen = atom_load_acquire(&w->word);
		if (seen & SYS_TID_MASK) {
			if (interrupted_before(c, w, &err))
				return interrupt_of(w, err);
			continue;
		}
		if (seen == 0)
			seen = spin_then_announce(
				c, w, first == WAIT_FIRST_SPIN);
		if (seen == WAIT_WORD_DONE)
			return 0;
		if (seen & SYS_OWNER_DIED)
			return -EOWNERDEAD;
		if (seen != SYS_WAITERS)
			continue;
		until = slice_ns ? sys_monotonic_ns() + slice_ns : 0;
		brief = watch && watch->n && watch->late && !no_waitv &&
			slice_ns > BRIEF_NS;
		if (brief)
			until -= slice_ns - BRIEF_NS;
		if (deadline_ns && (!until || deadline_ns < until)) {
			until = deadline_ns;
			if (watch && watch->n && !no_waitv && !brief)
				until += timer_slack();
		}
		start = arch_cycles();
		atom_store_release(&w->slept, in_slept(start));
		cs = rseq_cs_begin();
		/* A handler may have ended the sleep since the test above. */
		if (unlikely(!c->interrupt)) {
			own_rseq_end();
			continue;
		}
		err = futex_sleep(w, until, brief ? NULL : watch, cs);
		own_rseq_end();
		if (brief)
			watch->late = 0;
		if (first == WAIT_FIRST_YIELD)
			yield_note_sleep(c, arch_cycles() - start);
		if (unlikely(!c->interrupt) || !still_waiting(c, w, err))
			continue;
		if (err == 0 && spin_after_prewake(c, w))
			continue;
		if (err == -EINTR || err == -ERESTART)
			return interrupt_of(w, err);
		if (deadline_ns && sys_monotonic_ns() >= deadline_ns)
			return -ETIMEDOUT;
		if (brief && err == -ETIMEDOUT)
			continue;
		return -EAGAIN;
	}
}

/* One futex sleep until the word changes or `until`, NULL = for ever. */
static int restart_sleep(struct waiter *w, const struct sys_timespec *until,
	struct cancel_scope *scope)
{
	struct sys_waitv v = {
		SYS_WAITERS, (uintptr_t)&w->word, SYS_FUTEX2_32, 0};
	volatile u64 *cs = rseq_cs_begin();
	struct sys_timespec ts;
	int err;

	/* Where the kernel would restart the futex call (SA_RESTART, stop and
	 * continue) the whole mq_* call restarts, at the end of the queue. Without
	 * a limit FUTEX_WAIT, which is cheaper. */
	cancel_allow(scope);
	if (!until)
		err = sleep_call(cs, __NR_futex, (long)&w->word, SYS_FUTEX_WAIT,
			SYS_WAITERS, 0, 0);
	else
		err = sleep_call(
			cs, __NR_futex_waitv, (long)&v, 1, 0, (long)until, 0);
	cancel_deny(scope);
	own_rseq_end();
	if (unlikely(waitv_denied(err))) {
		/* Without it: slices, which a signal ends; the trampoline tells
		 * which signals count. */
		ts = (struct sys_timespec){0, 1000000};
		sys_futex_wait(&w->word, SYS_WAITERS, &ts);
		err = 0;
	}
	return err;
}

/* As restart_sleep until the deadline or the end of a slice. -ETIMEDOUT: the
 * deadline; -EAGAIN: the slice. */
static int restart_slice(struct waiter *w, const struct sys_timespec *deadline,
	u64 slice_ns, struct cancel_scope *scope)
{
	const struct sys_timespec *until = deadline;
	struct sys_timespec end;
	s64 now = 0, at = 0;
	int err;

	/* Without futex_waitv restart_sleep comes back each millisecond. */
	if (slice_ns && (deadline || likely(!no_waitv))) {
		at = sys_realtime_ns() + (s64)slice_ns;
		end.sec = at / 1000000000;
		end.nsec = at % 1000000000;
		if (!deadline || !wait_is_past(at, deadline))
			until = &end;
	}
	err = restart_sleep(w, until, scope);
	if (err == -EINTR || err == -ERESTART)
		return err;
	if (until)
		now = sys_realtime_ns();
	if (deadline && wait_is_past(now, deadline))
		return -ETIMEDOUT;
	return until == &end && now >= at ? -EAGAIN : 0;
}

int wait_sleep_restart(struct caller *c, struct waiter *w,
	const struct sys_timespec *deadline, u64 slice_ns, int armed,
	struct cancel_scope *scope)
{
	u32 seen;
	int err;

	for (;;) {
		if (unlikely(armed && !c->interrupt))
			return handler_came(c, w);
		seen = atom_load_acquire(&w->word);
		if (seen & SYS_TID_MASK) {
			if (interrupted_before(c, w, &err))
				return err;
			continue;
		}
		if (seen == 0)
			seen = announce(w);
		if (seen == WAIT_WORD_DONE)
			return 0;
		if (seen & SYS_OWNER_DIED)
			return -EOWNERDEAD;
		if (seen != SYS_WAITERS)
			continue;
		atom_store_release(&w->slept, in_slept(arch_cycles()));
		if (armed && unlikely(!c->interrupt))
			continue;
		err = restart_slice(w, deadline, slice_ns, scope);
		if (armed && unlikely(!c->interrupt))
			continue;
		if (err && still_waiting(c, w, err))
			return err;
	}
}
