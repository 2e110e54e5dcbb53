// SPDX-License-Identifier: MIT
/*
 * Robust locks; the protocol is in lock.h. The backstop for what the robust
 * list cannot see (an application that unmapped one of its own locked robust
 * mutexes stops the kernel's walk): a sleeper looks after 50 ms whether the
 * owner is still there.
 *
 * Keeps INV_LOCK (inspect/check.h).
 */
#include "registry/lock.h"
#include "base/usdt.h"
#include "registry/event.h"
#include "registry/identity.h"
#include "registry/journal/journal.h"
#include "registry/journal/recover.h"
#include "registry/thread.h"
#include "registry/wait.h"

/* Arbitrary: about a microsecond, and then up to about a second. */
#define PEEKS 16
#define PEEK_SLEEPS 10000
#define PEEK_SLEEP_NS 50000

/* Arbitrary: a hold lasts well below a microsecond, 60 pauses about one. */
#define SPIN_PAUSES 60

struct sys_timespec lock_backstop = {0, 50000000};

static int is_held(const struct caller *c, const struct lock *lock)
{
	u32 i;

	for (i = 0; i < c->n_held && c->held[i] != lock; i++)
		;
	return i < c->n_held;
}

/* Who has no record in the registry takes no lock either: a word that names such
 * a one is damaged, or its owner died unseen and its number went to somebody
 * else. So is a word with our own number on a lock that we do not hold. The
 * record in lock.journal is the owner's, unless it has only just won the word:
 * it saves the look at all of them. */
int lock_owner_gone(const struct caller *c, const struct lock *lock, u32 word)
{
	u32 tid = word & SYS_TID_MASK;
	const struct thread *th;

	if (!tid)
		return 0;
	if (tid == c->tid)
		return !is_held(c, lock);
	th = thread_at(c, atom_load_relaxed(&lock->journal), tid);
	if (th && !identity_thread_gone(tid, atom_load_acquire(&th->birth)))
		return 0;
	return thread_gone(c, tid);
}

/* If the kernel is about to do so, it is the same. */
static void declare_dead_if_gone(
	const struct caller *c, struct lock *lock, u32 seen)
{
	if (lock_owner_gone(c, lock, seen))
		atom_cas(&lock->word, &seen, SYS_OWNER_DIED | SYS_WAITERS);
}

int lock_real_time(void)
{
	/* SCHED_FIFO, SCHED_RR, SCHED_DEADLINE; a bit above may be set. */
	const u32 policies = 1u << 1 | 1u << 2 | 1u << 6;
	long policy = sys_call(__NR_sched_getscheduler, 0);

	return policy >= 0 && (policies >> (policy & 31) & 1);
}

/* The record of the thread that has the lock: in lock.journal, unless it has
 * only just won the word. */
static struct thread *owner_record(
	struct caller *c, const struct lock *lock, u32 tid)
{
	struct thread *th =
		thread_at(c, atom_load_relaxed(&lock->journal), tid);

	return th ? th : thread_of(c, tid);
}

/* `boost` is ours by FUTEX_LOCK_PI, or names us: 0, or, if others wait for it,
 * the kernel gives it to the first of them, who looks at the lock again. */
static void boost_give_up(const struct caller *c, u32 *boost)
{
	u32 seen = c->tid;

	if (!atom_cas(boost, &seen, 0))
		sys_call(__NR_futex, boost, SYS_FUTEX_UNLOCK_PI, 0, NULL);
}

/* Sleep until the owner, whom we boost, has given the lock up, or the
 * backstop; see lock.h. -errno if that cannot be done. */
static int boost_wait(struct caller *c, struct lock *lock, u32 seen)
{
	u32 tid = seen & SYS_TID_MASK, name = 0;
	struct thread *th = owner_record(c, lock, tid);
	struct sys_timespec until;
	s64 end;
	int err;

	if (!th)
		return -ESRCH;
	if (atom_cas(&th->boost, &name, tid))
		name = tid;
	/* It looks at `boost` after it has stored the word: either it sees its
	 * name, or we see the store. */
	if (atom_load_acquire(&lock->word) != seen) {
		if (name == tid)
			atom_cas(&th->boost, &name, 0);
		return 0;
	}
	end = sys_realtime_ns() + (s64)lock_backstop.sec * 1000000000 +
	      lock_backstop.nsec;
	until.sec = end / 1000000000;
	until.nsec = end % 1000000000;
	err = sys_call(__NR_futex, &th->boost, SYS_FUTEX_LOCK_PI, 0, &until);
	if (!err)
		boost_give_up(c, &th->boost);
	else if (err == -ESRCH)
		/* The name of somebody who died with it. */
		atom_cas(&th->boost, &name, 0);
	return err;
}

/* The word is free: let those go on who boosted us. */
static void boost_end(const struct caller *c)
{
	u32 *boost = &region_thread(&c->region, c->thread)->boost;

	if (unlikely((atom_load_acquire(boost) & SYS_TID_MASK) == c->tid))
		boost_give_up(c, boost);
}

/* Until the word is not `seen` any more, a wake-up, or the backstop
 * (-ETIMEDOUT). Where nobody can be boosted (no record, no priority inheritance
 * in this kernel) on the word itself. */
static int sleep_for(struct caller *c, struct lock *lock, u32 seen, int boosts)
{
	int err = -ENOSYS;

	if (boosts)
		err = boost_wait(c, lock, seen);
	if (err && err != -ETIMEDOUT)
		err = sys_futex_wait(&lock->word, seen, &lock_backstop);
	return err;
}

/* Everything that the caller holds goes to whoever comes next, as if we had
 * died here: he rolls back, and does the object's repair. */
void lock_abandon(struct caller *c)
{
	if (c->journal)
		journal_abort(c);
	while (c->n_held)
		lock_pass_on(c, c->held[c->n_held - 1]);
	c->damaged = 0;
	c->in_section = 0;
}

/* In the midst of lock_acquire, which never returns: what it began is undone.
 */
static void give_up(struct caller *c, struct lock *lock, u32 seen)
{
	u32 n = c->n_held;

	robust_pend(c, n ? &c->held[n - 1]->word : NULL);
	if (n)
		robust_pop(c, &c->held[n - 1]->word);
	section_end(c);
	c->stuck(c, lock, seen & SYS_TID_MASK);
}

/* Returns the word that was replaced by ours. */
static u32 acquire_contended(struct caller *c, struct lock *lock, u32 seen)
{
	u64 until = c->stuck ? sys_monotonic_ns() + c->patience_ns : 0;
	u32 slept = 0;
	int spins = 0, boosts = -1;

	if (seen & SYS_TID_MASK)
		__atomic_fetch_add(&lock->n_found_held, 1, __ATOMIC_RELAXED);
	for (;;) {
		seen = atom_load_relaxed(&lock->word);
		if (!(seen & SYS_TID_MASK)) {
			if (atom_cas(&lock->word, &seen,
				    c->tid | (seen & SYS_WAITERS) | slept))
				return seen;
			continue;
		}
		if (spins++ < SPIN_PAUSES) {
			arch_pause();
			continue;
		}
		if (!(seen & SYS_WAITERS)) {
			if (!atom_cas(&lock->word, &seen, seen | SYS_WAITERS))
				continue;
			seen |= SYS_WAITERS;
		}
		if (!slept) {
			USDT2(lock_contended, seen & SYS_TID_MASK,
				region_off(&c->region, lock));
			__atomic_fetch_add(
				&lock->n_held_wanted, 1, __ATOMIC_RELAXED);
		}
		/* With a lock held somebody may have boosted us. */
		if (boosts < 0)
			boosts = c->n_held || lock_real_time();
		if (sleep_for(c, lock, seen, boosts) == -ETIMEDOUT)
			declare_dead_if_gone(c, lock, seen);
		slept = SYS_WAITERS;
		if (until && sys_monotonic_ns() > until &&
			(atom_load_relaxed(&lock->word) & SYS_TID_MASK))
			give_up(c, lock, seen);
	}
}

/* A reader without the lock has seen a change under way. An owner that died has
 * left it so for good: the reader takes what it got, as it does after PEEKS.
 * Only an onlooker, which queues for the lock last of all, sleeps between its
 * looks and tries for longer. */
int lock_peek_again(struct caller *c, const struct lock *lock, u32 tries)
{
	const struct sys_timespec nap = {0, PEEK_SLEEP_NS};

	if (atom_load_relaxed(&lock->word) & SYS_OWNER_DIED)
		return 0;
	if (tries < PEEKS) {
		arch_pause();
		return 1;
	}
	if (!c->onlooker || tries >= PEEKS + PEEK_SLEEPS)
		return 0;
	sys_call(__NR_nanosleep, &nap, NULL);
	return 1;
}

/* Profiles stand in the order of the locks in the file: those of the header,
 * then one a task, then one a slot of each facility. */
struct lock_profile *lock_profile(
	const struct region *region, const struct lock *lock)
{
	struct lock_profile *all = region_at(region, PROFILES_OFF);
	u64 off = region_off(region, lock);
	u32 f = 0;

	if (off < TASKS_OFF)
		return &all[off / sizeof(struct lock)];
	all += PROFILES_HEADER;
	if (off < THREADS_OFF)
		return &all[(off - TASKS_OFF) / sizeof(struct task)];
	all += N_TASKS;
	while (f + 1 < N_FAC && off >= SLOTS_OFF((u64)f + 1))
		f++;
	return &all[(u64)f * IDX_MAX +
		    region_slot_idx(region, f,
			    (const struct slot *)(const void *)lock)];
}

/* NULL if the file system has no space for it: then it is not noted. */
static struct lock_profile *profile_reserve(
	struct caller *c, const struct lock *lock)
{
	struct lock_profile *p = lock_profile(&c->region, lock);

	return caller_reserve(c, p, sizeof(*p)) ? NULL : p;
}

/* The hold begins, the last owner's having ended or not. */
static __attribute__((noinline)) void profile_begin(
	struct caller *c, const struct lock *lock)
{
	struct lock_profile *p = profile_reserve(c, lock);

	if (p)
		p->taken_ns = sys_monotonic_ns();
}

/* taken_ns 0: profiling began, or its page came, in the middle of this hold. */
static __attribute__((noinline)) void profile_end(
	struct caller *c, const struct lock *lock)
{
	struct lock_profile *p = profile_reserve(c, lock);
	u64 held;

	if (!p || !p->taken_ns)
		return;
	held = sys_monotonic_ns() - p->taken_ns;
	p->total_ns += held;
	if (held > p->max_ns)
		p->max_ns = held > 0xffffffff ? 0xffffffff : (u32)held;
	p->taken_ns = 0;
}

#if defined(IPCLIFT_CRASH) || defined(IPCLIFT_LOCK_ORDER)
/* By its place in the file, which tells what a lock belongs to. */
static enum lock_rank rank_of(
	const struct region *region, const struct lock *lock)
{
	const struct header *h = region_header(region);
	u64 off = region_off(region, lock);

	if (off >= THREADS_OFF)
		return RANK_OBJECT;
	if (off >= TASKS_OFF)
		return RANK_TASK;
	if (lock == &h->heap.lock)
		return RANK_HEAP;
	if (lock == &h->repair_lock.lock)
		return RANK_REPAIR;
	return lock == &h->control_lock.lock ? RANK_CONTROL : RANK_FACILITY;
}

/* Outer before inner; two of one rank only of tasks (lock.h). A wrong order
 * would be a deadlock that few schedules show, so a debug build stops at
 * once. */
static void check_order(const struct caller *c, const struct lock *lock)
{
	enum lock_rank rank = rank_of(&c->region, lock), outer;

	if (!c->n_held)
		return;
	outer = rank_of(&c->region, c->held[c->n_held - 1]);
	if (c->n_held >= MAX_HELD || outer > rank ||
		(outer == rank && rank != RANK_TASK))
		__builtin_trap();
}
#else
#define check_order(c, lock) ((void)0)
#endif

/* ---- recovery ---- */

/*
 * What the next owner of a dead owner's lock does first, the same for every
 * class of lock: roll its journal back. lock->journal names the journal of the
 * last thread that finished acquiring. It is the dead owner's, or that of a
 * thread before it if the owner died between taking the word and storing its
 * name; then that journal does not list this lock and there is nothing to do.
 * If it lists its by_bias, that thread may be alive and inside: that is for
 * the revocation.
 *
 * A thread that died under several locks left one journal for all of them. Two
 * survivors may come to it through two of the locks at once; the repair lock
 * (innermost) lets one roll back and shows the other that it is done. Neither
 * can have changed anything under its lock before.
 */
static void recover_journal(
	struct caller *c, const struct lock *lock, u32 thread, u64 entry)
{
	struct header *h = caller_header(c);
	struct thread *th = region_thread(&c->region, thread);
	struct journal *j = &th->journal;

	USDT1(death, th->tid);
	event_add(c, EVENT_RECOVERED, th->tid, 0);
	if (j == c->journal || lock == &h->repair_lock.lock)
		return;
	/* n before the locks. While the dead owner's n is not 0, nobody takes its
	 * record over (nothing_under_way), and what it lists stays. Once it is 0
	 * a new thread may have the record between any two loads; but that one
	 * has stored what it lists before its n, and cannot list a lock that we
	 * hold. Were the locks read first, they could be the dead owner's and n
	 * the new thread's, whose operation would be rolled back. */
	if (!atom_load_acquire(&j->n))
		return;
	/* Ours alone: nobody else rolls it back. */
	if (atom_load_acquire(&j->n_locks) == 1) {
		if (atom_load_acquire(&j->locks[0]) == entry)
			recover_rollback(c, j);
		return;
	}
	if (!recover_listed(j, entry))
		return;
	lock_acquire(c, &h->repair_lock.lock);
	/* Asked again: the other may be done, and a new thread may have taken
	 * the record over since; its journal cannot list a lock that we hold.
	 */
	if (atom_load_acquire(&j->n) && recover_listed(j, entry))
		recover_rollback(c, j);
	lock_release(c, &h->repair_lock.lock);
}

/* lock->journal is stored by each owner right after it has listed the lock
 * (acquired): with the lock ours nobody else stores to it. */
static __attribute__((noinline)) void recover_lock(
	struct caller *c, struct lock *lock)
{
	u32 thread = atom_load_acquire(&lock->journal);

	/* 0: lock_pause, nothing was under way. */
	if (thread)
		recover_journal(c, lock, thread, region_off(&c->region, lock));
}

void lock_recover_biased(struct caller *c, struct lock *lock, u32 thread)
{
	recover_journal(
		c, lock, thread, region_off(&c->region, &lock->by_bias));
}

/* ---- taking and releasing ---- */

/* An outermost lock beside an entry that the application has pending. Not while we
 * enrol: then we can let nobody through yet. */
static void note_beside(struct caller *c)
{
	if (!c->n_held && c->task && caller_unmarked)
		caller_unmarked(c);
}

/* The application has something pending. */
static __attribute__((noinline)) u32 acquire_beside(
	struct caller *c, struct lock *lock)
{
	u32 seen = 0;

	note_beside(c);
	if (!atom_cas(&lock->word, &seen, c->tid))
		seen = acquire_contended(c, lock, seen);
	robust_push(c, &lock->word);
	return seen;
}

/* The word is ours, being `seen` before: 1 if its owner had died. */
HOT static inline int acquired(
	struct caller *c, struct lock *lock, u32 n, u32 seen)
{
	int died = 0;

	c->held[n] = lock;
	c->n_held = n + 1;
	/* Listed first, for recovery may take the repair lock as the next one.
	 * Then recovered, for lock->journal says whose journal it is about. */
	atom_store_release(&c->journal->locks[n], region_off(&c->region, lock));
	atom_store_release(&c->journal->n_locks, n + 1);
	if (unlikely(seen & SYS_OWNER_DIED)) {
		recover_lock(c, lock);
		died = 1;
	}
	atom_store_release(&lock->journal, c->thread);
	atom_store_release(&lock->count, lock->count + 1);
	if (unlikely(caller_header(c)->profiling))
		profile_begin(c, lock);
	return died;
}

/* The outer lock goes on the list: the pending entry will be another's. */
HOT static inline void begin_taking(struct caller *c, u32 n)
{
	section_begin(c);
	if (!n)
		c->app_pending = c->robust->pending;
	else if (likely(!c->app_pending))
		robust_push(c, &c->held[n - 1]->word);
}

/*
 * Robust at each step: the word is pending before it is ours, so a death
 * between the compare-and-swap and anything else is marked by the kernel; it
 * stays the pending entry until the next lock is taken, which moves it to the
 * list. If the application has an entry pending (it is inside its own robust
 * mutex, in a handler of ours), that stays and ours goes on the list at once.
 */
HOT int lock_acquire(struct caller *c, struct lock *lock)
{
	u32 n = c->n_held, seen = 0;

	check_order(c, lock);
	begin_taking(c, n);
	if (unlikely(c->app_pending)) {
		seen = acquire_beside(c, lock);
	} else {
		robust_pend(c, &lock->word);
		if (unlikely(!atom_cas(&lock->word, &seen, c->tid)))
			seen = acquire_contended(c, lock, seen);
	}
	return acquired(c, lock, n, seen);
}

/*
 * Storing WAITERS instead of 0 before the wake-up keeps the fact that somebody
 * may sleep; it is cleared only if the wake-up found nobody, and then everybody
 * who came between is woken.
 */
static void unlock_contended(const struct caller *c, struct lock *lock)
{
	u32 seen = SYS_WAITERS;

	/* An exchange: a full barrier before boost_end looks. */
	atom_xchg(&lock->word, SYS_WAITERS);
	boost_end(c);
	crash_point();
	if (sys_futex_wake(&lock->word, 1) == 0 &&
		atom_cas(&lock->word, &seen, 0))
		sys_futex_wake(&lock->word, 0x7fffffff);
}

/* The word is free again: what the thread still holds is pending. */
HOT static inline void let_go(struct caller *c, u32 n)
{
	c->n_held = n;
	if (n && likely(!c->app_pending)) {
		robust_pend(c, &c->held[n - 1]->word);
		robust_pop(c, &c->held[n - 1]->word);
	} else if (!n) {
		robust_pend(c, NULL);
	}
}

HOT static void released(struct caller *c, u32 n)
{
	let_go(c, n);
	if (!n) {
		c->damaged = 0;
		if (unlikely(c->n_grants))
			wait_flush(c);
	}
	section_end(c);
}

static __attribute__((noinline)) void release_beside(
	struct caller *c, struct lock *lock, u32 n)
{
	u32 seen = c->tid;

	robust_pop(c, &lock->word);
	if (!atom_cas(&lock->word, &seen, 0))
		unlock_contended(c, lock);
	released(c, n);
}

/*
 * First out of the journal's list, then the word. In the other order the next
 * owner could take it and die before it has stored its name in lock->journal:
 * who recovers that would find ours, with the lock listed and perhaps the
 * entries of another operation. Who dies in between holds a lock that no
 * journal lists: nothing is rolled back. With the last lock given up `released`
 * wakes whom we have granted something.
 */
HOT void lock_release(struct caller *c, struct lock *lock)
{
	u32 n = c->n_held - 1, seen = c->tid;

	if (unlikely(caller_header(c)->profiling))
		profile_end(c, lock);
	atom_store_release(&c->journal->n_locks, n);
	if (unlikely(c->app_pending)) {
		release_beside(c, lock, n);
		return;
	}
	if (unlikely(!atom_cas(&lock->word, &seen, 0)))
		unlock_contended(c, lock);
	released(c, n);
}

/* lock_try's: no spinning, and no WAITERS bit of our own; that of others stays,
 * for it says that they may sleep on the word. */
static int take_free(struct caller *c, struct lock *lock, u32 *seen)
{
	while (!(*seen & SYS_TID_MASK))
		if (atom_cas(&lock->word, seen, c->tid | (*seen & SYS_WAITERS)))
			return 1;
	return 0;
}

int lock_try(struct caller *c, struct lock *lock)
{
	u32 n = c->n_held, seen = atom_load_relaxed(&lock->word);

	check_order(c, lock);
	if (!(seen & SYS_TID_MASK)) {
		begin_taking(c, n);
		if (unlikely(c->app_pending))
			note_beside(c);
		robust_pend(c, &lock->word);
		if (take_free(c, lock, &seen)) {
			if (c->app_pending)
				robust_push(c, &lock->word);
			acquired(c, lock, n, seen);
			return 1;
		}
		let_go(c, n);
		section_end(c);
	}
	declare_dead_if_gone(c, lock, seen);
	return 0;
}

/* As if we had died with it: whoever takes the word repairs the object. By an
 * exchange, for WAITERS may have come since; and one sleeper is woken, as the
 * kernel would do it. */
void lock_pass_on(struct caller *c, struct lock *lock)
{
	u32 n = c->n_held - 1;

	if (unlikely(caller_header(c)->profiling))
		profile_end(c, lock);
	atom_store_release(&c->journal->n_locks, n);
	if (unlikely(c->app_pending))
		robust_pop(c, &lock->word);
	atom_xchg(&lock->word, SYS_OWNER_DIED | SYS_WAITERS);
	boost_end(c);
	crash_point();
	sys_futex_wake(&lock->word, 1);
	released(c, n);
}

/* OWNER_DIED without a journal (0) is a pause: the next owner has nothing to
 * roll back, and the object's repair goes on with the pass. The section goes
 * on, so let_go and not released: what was granted is not flushed here. */
int lock_pause(struct caller *c, struct lock *lock)
{
	u32 n = c->n_held - 1, seen = c->tid;
	int wanted = 0;

	if (unlikely(caller_header(c)->profiling))
		profile_end(c, lock);
	atom_store_release(&c->journal->n_locks, n);
	atom_store_release(&lock->journal, 0);
	if (unlikely(c->app_pending))
		robust_pop(c, &lock->word);
	if (!atom_cas(&lock->word, &seen, SYS_OWNER_DIED)) {
		atom_xchg(&lock->word, SYS_OWNER_DIED | SYS_WAITERS);
		boost_end(c);
		crash_point();
		wanted = sys_futex_wake(&lock->word, 1) > 0;
	}
	let_go(c, n);
	return wanted;
}
