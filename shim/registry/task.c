// SPDX-License-Identifier: MIT
/*
 * Making a caller: the thread's robust list, its task and its thread record.
 *
 * Records of exited tasks are taken over by whoever needs one: a thread record
 * if its journal is empty and its waiter idle, a task if it has no undo records
 * and no segment attached. What still has something to repair or undo is given
 * back by those who come across it through the object, and by processes that
 * make their first call: each asks for the task whose thread record it takes
 * over, and for the first that is in the way of its own (caller_exited). The
 * first keeps their number to that of dead thread records; the second finds
 * those of which no thread record tells any more, since it was another's
 * meanwhile, when a process comes to their place. Each thread's first call also
 * looks at a few records for threads that were killed asleep (caller_slept), so
 * these do not pile up.
 *
 * Keeps INV_TASK (inspect/check.h).
 */
#include "registry/task.h"
#include "registry/barrier.h"
#include "registry/damage.h"
#include "registry/event.h"
#include "registry/guard.h"
#include "registry/heap.h"
#include "registry/image.h"
#include "registry/journal/reserve.h"
#include "registry/lock.h"
#include "registry/region/mapped.h"
#include "registry/wait.h"

extern int pthread_mutexattr_init(void *) __attribute__((weak));
extern int pthread_mutexattr_setrobust(void *, int) __attribute__((weak));
extern int pthread_mutexattr_setpshared(void *, int) __attribute__((weak));
extern int pthread_mutex_init(void *, const void *) __attribute__((weak));
extern int pthread_mutex_trylock(void *) __attribute__((weak));
extern int pthread_mutex_unlock(void *) __attribute__((weak));

/* Records of threads looked at in each claim for one that is dead; and after
 * it, for threads that were killed asleep. Together they bound the table: who is
 * enrolled frees what the next ones will look at. Arbitrary. */
#define RECLAIM_LOOKS 4u
/* 2^32 by the golden ratio: steps of that size visit all and never dwell on
 * neighbours, which for a server's first threads would all be alive. */
#define RECLAIM_STEP 0x9e3779b1u

/* musl's pthread_mutex_t begins with the type, of which this one's is: */
#define MUSL_ROBUST_SHARED 0x84u
#define MUSL_INHERIT 8u

/*
 * musl registers its list at the first robust mutex of a thread; glibc has done
 * so when the thread began, or its fork did. A fork child of musl's has in its
 * memory the list as the parent's was, and to put a mutex on that would write
 * to one that the parent holds: so this one is such that trylock registers the
 * list and then refuses (one of a dead owner's with priority inheritance for
 * which somebody waits). A musl that knows none takes it, and gives it back.
 */
static void force_libc_list(void)
{
	long attr[8] = {0}, mutex[16] = {0};
	u32 *word = (u32 *)mutex;

	if (!pthread_mutexattr_setrobust || !pthread_mutex_trylock)
		return;
	pthread_mutexattr_init(attr);
	pthread_mutexattr_setrobust(attr, 1);
	pthread_mutexattr_setpshared(attr, 1);
	pthread_mutex_init(mutex, attr);
	if (word[0] != MUSL_ROBUST_SHARED)
		return;
	word[0] |= MUSL_INHERIT;
	word[2] = 1; /* waiters */
	if (!pthread_mutex_trylock(mutex))
		pthread_mutex_unlock(mutex);
}

static __thread struct sys_robust_head own_robust
	__attribute__((tls_model("initial-exec")));

void *caller_own_robust(void *const *set)
{
	if (set)
		own_robust.next = *set;
	return own_robust.next;
}

/*
 * The thread's robust list. Where the kernel does not say which it has, none
 * is registered in its place, for the libc's mutexes may need it, and ours
 * would be as good as refused.
 */
static void find_list(struct caller *c)
{
	struct sys_robust_head *head = NULL;
	long err = sys_get_robust_list(&head);

	/* Not a vfork child: what its libc remembers of it is its parent's. */
	if (!err && !head && c->image_found) {
		force_libc_list();
		sys_get_robust_list(&head);
		/* Only now: a new thread holds no mutex, but a fork child's
		 * list is what its parent's was. */
		if (head)
			head->next = head;
	}
	if (!head) {
		/* A raw clone or vfork child, whose libc head (perhaps the
		 * parent's, in shared memory) this kernel task has not
		 * registered: one of our own, of the same shape. */
		head = &own_robust;
		head->next = head;
		head->pending = NULL;
		/* musl forgets its own in a fork child. */
		head->futex_offset = c->robust ? c->robust->futex_offset : 0;
		if (!head->futex_offset)
			head->futex_offset = -32;
		if (!err)
			err = sys_set_robust_list(head);
	}
	c->robust_refused = err != 0;
	c->robust = head;
}

/* What a thread's caller holds of who it is, from the kernel: at its first
 * call, and again in a fork child, whose copy says what its parent was. Nothing
 * in the registry is touched: that is caller_enroll's. */
void caller_refresh(struct caller *c)
{
	/* A fork child has the memory that its parent had. */
	if (!c->tid)
		guard_forget(c);
	c->tid = sys_gettid();
	c->pid = sys_getpid();
	c->task = c->thread = 0;
	c->bias_id = ~0ULL;
	barrier_register(c);
	c->idx_mask = (1u << header_idx_bits(caller_header(c))) - 1;
	c->exited[0] = c->exited[1] = 0;
	c->n_held = c->n_grants = 0;
	c->journal = NULL;
	c->interrupt = NULL;
	/* Traces of a vfork child that was killed inside a section. */
	c->in_section = c->deferred.n = c->deferred.pending = 0;
	c->deferred.shielded = c->deferred.open = 0;
	c->crash_guard = NULL;
	c->robust_refused = c->telling = 0;
	find_list(c);
}

/* Does the process of this claim run? One that is being made (state 0) has no
 * birth yet. */
static int claim_alive(const struct task *t, u64 claim)
{
	u32 pid = (u32)claim;

	if (sys_call(__NR_kill, pid, 0) == -ESRCH)
		return 0;
	return !(claim >> 32) || identity_same(identity_birth(pid), t->start);
}

/* NULL at the end of a list, or where a damaged one leads out of the heap. */
static struct shm_attach *attach_at(const struct caller *c, struct ref ref)
{
	return region_span(&c->region, ref, sizeof(struct shm_attach));
}

/* Attachment records that no segment has: all that is left of a task whose
 * reaper died while it freed them. */
static int records_unused(const struct caller *c, const struct task *t)
{
	const struct shm_attach *rec;
	struct walk w = {0};

	for (rec = attach_at(c, t->shm_head); rec;
		rec = attach_at(c, rec->task_next))
		if (rec->ident ||
			!walk_goes_on(c, &w, region_off(&c->region, rec)))
			return 0;
	return 1;
}

/* Make them the stock of the new owner. May be cut off and run again. */
static void records_keep(struct caller *c, struct task *t)
{
	struct ref at, free = {0};
	struct shm_attach *rec;
	struct walk w = {0};

	atom_store_release(&t->shm_free.off, 0);
	for (at = t->shm_head;
		(rec = attach_at(c, at)) && walk_goes_on(c, &w, at.off);
		at = rec->task_next) {
		atom_store_release(&rec->free_next.off, free.off);
		free = at;
	}
	atom_store_release(&t->shm_free.off, free.off);
}

/*
 * Take a dead task over. Under its lock, for what can be seen without it may be
 * taken back yet: a reaper is inside, or died there. Who has it is not waited
 * for: a reaper may make tasks for children that it finds (shm/shmunseen.c),
 * with this very lock held, or with that of another dead one for which another
 * such reaper would wait.
 */
static int task_inherit(struct caller *c, struct task *t, u64 claim)
{
	int ok;

	if (!lock_try(c, &t->lock))
		return 0;
	ok = !t->undo_head.off && records_unused(c, t) &&
	     atom_load_acquire(&t->claim) == claim;
	if (ok && t->spare.off)
		heap_free_at(c, t->spare_size, &t->spare);
	if (ok)
		records_keep(c, t);
	ok = ok && atom_cas(&t->claim, &claim, (u64)c->pid);
	lock_release(c, &t->lock);
	return ok;
}

/*
 * Where the stack of this program image starts, or 0: a fork child's is where
 * its parent's is. Read when somebody may come to ask for it, who sees that a
 * lifeline has fired (task_changed_image): so when one is linked.
 */
static u64 known_stack;

void task_learn_stack(u32 pid)
{
	struct sys_process p;

	/* Of another pid namespace's /proc nothing else is true. */
	if (unlikely(!atom_load_relaxed(&known_stack)) &&
		sys_process_read_self(&p) && p.pid == pid)
		__atomic_store_n(&known_stack, p.stack, __ATOMIC_RELAXED);
}

u64 task_own_stack(const struct caller *c)
{
	task_learn_stack(c->pid);
	return atom_load_relaxed(&known_stack);
}

/* Its page has space. */
static void note_page(struct caller *c, u32 idx)
{
	u32 page = idx / TASKS_A_PAGE;
	struct header *h = caller_header(c);
	u64 bit = 1ULL << page % 64;

	if (!region_task_noted(&c->region, idx))
		atom_or(&h->task_pages[page / 64], bit);
}

/*
 * The commit point is the compare-and-swap of `claim`, from 0 or from an exited
 * process's to our pid with state 0 (being made). Who dies behind it leaves a
 * claim without a birth, which claim_alive asks for by pid alone; the next one
 * takes it over in the same way.
 */
int task_take(struct caller *c, u32 idx)
{
	struct task *t = region_task(&c->region, idx);
	u64 claim;

	if (!idx)
		return 0;
	if (caller_reserve(c, t, sizeof(*t)))
		return -ENOMEM;
	note_page(c, idx);
	claim = atom_load_acquire(&t->claim);
	if (!claim)
		return atom_cas(&t->claim, &claim, (u64)c->pid);
	return !t->undo_head.off && !claim_alive(t, claim) &&
	       task_inherit(c, t, claim);
}

/* What the last owner left goes, field by field; nobody acts on it before
 * `state`, the last store. */
static int task_try(struct caller *c, u32 idx, u64 start)
{
	struct task *t = region_task(&c->region, idx);
	int got = task_take(c, idx);

	if (got <= 0)
		return got;
	atom_store_release(&t->start, start);
	atom_store_release(&t->life, 0);
	atom_store_release(&t->exec_life, 0);
	atom_store_release(&t->mm, atom_load_relaxed(&known_stack));
	atom_store_release(&t->prefork, 0);
	atom_store_release(&t->image, 0);
	atom_store_release(&t->alive_ns, sys_monotonic_ns());
	atom_store_release(&t->state, TASK_LIVE);
	if (c->image_found)
		__atomic_store_n(c->image_found, 1, __ATOMIC_RELEASE);
	c->task = idx;
	return 1;
}

u32 task_next_image;

/*
 * The first claim of a program image starts an epoch: what was attached before
 * exec is not any more, and no thread of before has a lifeline on its list,
 * though that of the one that called exec says so (task.h). Under `claiming`.
 */
static void begin_image(struct caller *c, struct task *t)
{
	u32 life = atom_load_acquire(&t->life);

	if (!c->image_found || *c->image_found)
		return;
	atom_store_release(&task_next_image, c->pid);
	atom_store_release(&t->epoch, t->epoch + 1);
	atom_store_release(&t->mm, life ? task_own_stack(c) : 0);
	if (life && !(life & SYS_OWNER_DIED))
		atom_cas(&t->life, &life, SYS_OWNER_DIED | SYS_WAITERS);
	atom_store_release(&t->exec_life, 0);
	__atomic_store_n(c->image_found, 1, __ATOMIC_RELEASE);
}

/* The place for its pid is not free: it will stand in another one. */
static void task_displace(struct caller *c)
{
	struct task *t = region_task(&c->region, c->pid);

	if (!caller_reserve(c, t, sizeof(*t)) && !t->displaced)
		atom_store_release(&t->displaced, 1);
}

/* Its process is gone, and something of it is left. Of one that lives and has a
 * lifeline one system call. */
static int task_left(const struct caller *c, const struct task *t)
{
	u32 pid = atom_load_acquire(&t->pid);

	if (!pid || (!t->undo_head.off && !t->shm_head.off))
		return 0;
	return sys_call(__NR_kill, pid, 0) == -ESRCH ||
	       (task_suspect(t) && task_gone(c, t));
}

/* In a full file system what exited tasks left is all there is: then somewhere
 * else in the table than where it is looked for after exec. */
static int task_claim(struct caller *c, u64 start)
{
	int got, err = -ENOSPC;
	u32 i, idx;
	struct task *t;

	/* First the one we had before exec. */
	for (i = 0; i < TASK_PROBES; i++) {
		idx = (c->pid + i) & (N_TASKS - 1);
		t = region_task(&c->region, idx);
		if (caller_reserve(c, t, sizeof(*t)))
			continue;
		if (idx && atom_load_acquire(&t->pid) == c->pid &&
			t->state == TASK_LIVE &&
			identity_same(t->start, start)) {
			begin_image(c, t);
			c->task = idx;
			return 0;
		}
		/* Elsewhere there is none of this pid. */
		if (i == 0 && !atom_load_acquire(&t->displaced))
			break;
	}
	for (i = 0; i < N_TASKS; i++) {
		idx = (c->pid + i) & (N_TASKS - 1);
		if (i == 1)
			task_displace(c);
		got = task_try(c, idx, start);
		if (got > 0)
			return 0;
		/* Place 0 is no task's, and its page may be a hole. */
		if (!got && idx && !c->exited[1] &&
			task_left(c, region_task(&c->region, idx)))
			c->exited[1] = idx;
		if (got < 0) {
			err = got;
			i += TASKS_A_PAGE - 1 - idx % TASKS_A_PAGE;
		}
	}
	return err;
}

/*
 * Of several threads of a process that make their first call at once, one
 * claims its task and the others find that. The pid of who is at it: another
 * one's is of before a fork, or a vfork child's, which claims for itself.
 */
static u32 claiming;

/*
 * What the first of them found, under `claiming`; a fork child finds its own,
 * since generation is another there.
 */
static struct {
	const char *base; /* of the registry */
	u32 pid, generation, task;
} self;

static int task_claim_known(struct caller *c)
{
	int err;

	if (c->pid == self.pid && c->generation == self.generation &&
		c->region.base == self.base &&
		region_task(&c->region, self.task)->pid == c->pid) {
		c->task = self.task;
		return 0;
	}
	self.pid = 0;
	err = task_claim(c, identity_birth(c->pid));
	if (!err) {
		self.base = c->region.base;
		self.pid = c->pid;
		self.generation = c->generation;
		self.task = c->task;
	}
	return err;
}

static int task_claim_once(struct caller *c)
{
	const struct sys_timespec nap = {0, 50000};
	u32 seen = 0, own = c->pid;
	int err, i;

	for (i = 0; !__atomic_compare_exchange_n(&claiming, &seen, own, 0,
		     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
		i++) {
		if (seen != own)
			continue;
		seen = 0;
		if (i < 100)
			arch_pause();
		else
			sys_call(__NR_nanosleep, &nap, NULL);
	}
	err = task_claim_known(c);
	__atomic_compare_exchange_n(
		&claiming, &own, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return err;
}

/* Nothing to roll back in its journal, in no queue, and no waker's tid in its
 * word: a waker that lives would still make its last store there. */
static int nothing_under_way(const struct thread *th)
{
	return !atom_load_acquire(&th->journal.n) &&
	       atom_load_acquire(&th->waiter.state) != WAIT_QUEUED &&
	       !(atom_load_acquire(&th->waiter.word) & SYS_TID_MASK);
}

/*
 * May the record of thread `tid` be taken over? What counts is the look after
 * its death: before it, it may begin something and be killed in the middle. The
 * look before spares the living a system call.
 */
static int thread_reclaimable(
	const struct caller *c, const struct thread *th, u32 tid)
{
	if (!nothing_under_way(th))
		return 0;
	/* Our own number, though we have no record: it was of the program image
	 * before exec, or of somebody dead. */
	return (tid == c->tid || sys_call(__NR_kill, tid, 0) == -ESRCH) &&
	       nothing_under_way(th);
}

/*
 * The record is ours, its waiter is not idle: was taking it out of its queue
 * committed, or may it still be rolled back? The lock of the object tells.
 */
static int waiter_settled(struct caller *c, const struct waiter *w)
{
	struct slot *s = region_slot(
		&c->region, w->facility % N_FAC, w->slot_idx % IDX_MAX);
	int died = lock_acquire(c, &s->lock), done;

	done = w->state != WAIT_QUEUED && !(w->word & SYS_TID_MASK);
	if (died)
		lock_pass_on(c, &s->lock);
	else
		lock_release(c, &s->lock);
	return done;
}

/*
 * The commit point is the compare-and-swap of `tid`, from 0 or an exited
 * thread's to ours. From then on the record is ours, whatever stands in it: a
 * journal without entries, whose array is adopted, and a waiter, which a
 * rollback may still change until waiter_settled has had its object's lock
 * once. If that says no, the tid of the exited one is stored again.
 */
static int thread_try(struct caller *c, u32 idx)
{
	struct thread *th = region_thread(&c->region, idx);
	u32 tid = atom_load_acquire(&th->tid), dead = tid;

	if (tid && !thread_reclaimable(c, th, tid))
		return 0;
	if (!atom_cas(&th->tid, &tid, c->tid))
		return 0;
	/* Still that of the last owner. Who looks for us by our tid, because we
	 * hold a lock, may come to this record: 0 is an unknown birth, with
	 * which only the tid is asked for (thread_gone). */
	atom_store_release(&th->birth, 0);
	c->thread = idx;
	atom_store_release(&th->journal.n_locks, 0);
	atom_store_release(&th->journal.publish_off, 0);
	journal_adopt(c);
	if (th->waiter.state != WAIT_IDLE && !waiter_settled(c, &th->waiter)) {
		c->thread = 0;
		atom_store_release(&th->tid, dead);
		return 0;
	}
	return 1;
}

/* Records that were ever used are below. */
static u32 thread_high(const struct caller *c)
{
	u32 high = atom_load_acquire(&caller_header(c)->thread_high);

	return high <= N_THREADS ? high : N_THREADS;
}

/* The record that the n-th look is for. */
static u32 record_of_look(u32 n, u32 high)
{
	return 1 + (u32)((u64)(n * RECLAIM_STEP) * (high - 1) >> 32);
}

void (*caller_slept)(struct caller *c, u32 thread);

/* Threads that were killed asleep stand in their queues until somebody meets
 * them there, which may be never: two loads each, and most look no further. */
static void look_for_sleepers(struct caller *c)
{
	u32 high = thread_high(c), i, idx;
	u32 hint = atom_load_relaxed(&caller_header(c)->thread_hint);
	const struct thread *th;

	for (i = 0; caller_slept && i < RECLAIM_LOOKS && i + 1 < high; i++) {
		idx = record_of_look(hint + i, high);
		th = region_thread(&c->region, idx);
		if (atom_load_acquire(&th->waiter.state) == WAIT_QUEUED &&
			wait_dead(&th->waiter))
			caller_slept(c, idx);
	}
}

/* First a few records of which one may be an exited thread's (RECLAIM_LOOKS),
 * so that the table does not grow while threads come and go; then a new one;
 * and where there is no space for that, any. */
static int thread_claim(struct caller *c)
{
	struct header *h = caller_header(c);
	u32 high = thread_high(c);
	int err = -ENOSPC;
	u32 i, idx;

	for (i = 0; i < RECLAIM_LOOKS && i + 1 < high; i++) {
		idx = record_of_look(atom_add(&h->thread_hint, 1), high);
		if (thread_try(c, idx))
			return 0;
	}
	while ((idx = atom_load_acquire(&h->thread_high)) < N_THREADS) {
		u32 seen = idx;

		if (caller_reserve(
			    c, region_thread(&c->region, idx), THREAD_STRIDE)) {
			err = -ENOMEM;
			break;
		}
		if (atom_cas(&h->thread_high, &seen, idx + 1) &&
			thread_try(c, idx))
			return 0;
	}
	high = thread_high(c);
	for (idx = 1; idx < high; idx++)
		if (thread_try(c, idx))
			return 0;
	return err;
}

/* In no queue: nobody else stores here. The word is as a sleep that ended leaves
 * it. A handler that ended a sleep may have forked; its child, which returns into
 * that sleep, looks at its parent's word once more, and with the parent dead that
 * record may have become the child's own. With 0 there it would sleep on, in no
 * queue (wait.c, handler_came). */
static void waiter_reset(struct waiter *w)
{
	atom_store_release(&w->state, WAIT_IDLE);
	atom_store_release(&w->word, WAIT_WORD_DONE);
	atom_store_release(&w->alive, 0);
}

int task_adopt_record(struct caller *c, u32 idx)
{
	struct thread *th = region_thread(&c->region, idx);
	u32 own = c->thread;

	if (idx == own || c->n_held || !c->in_section)
		return 0;
	if (thread_try(c, idx)) {
		atom_store_release(&th->claims, th->claims + 1);
		return 1;
	}
	if (c->thread != own) {
		c->thread = own;
		journal_find(c);
	}
	return 0;
}

void task_return_record(struct caller *c, u32 own)
{
	struct thread *th = region_thread(&c->region, c->thread);

	waiter_reset(&th->waiter);
	c->thread = own;
	journal_find(c);
	atom_store_release(&th->tid, 0);
}

/* What the last owner kept for its next call, or was killed with. */
static void trim_inherited(struct caller *c, struct thread *th)
{
	heap_trim(c, th->waiter.ext_cap, &th->waiter.ext);
	heap_trim(c, th->blocks.big_cap, &th->blocks.big);
	journal_trim(c);
}

int (*caller_exited)(struct caller *c, u32 task);

/* 1 if anything was given back. */
static int reap_exited(struct caller *c)
{
	const struct task *t;
	int some = 0;
	u32 i, idx;

	for (i = 0; i < 2; i++) {
		idx = c->exited[i];
		c->exited[i] = 0;
		t = region_task(&c->region, idx);
		/* What a damaged record says may never have been used. */
		if (!idx || idx == c->task || !caller_exited ||
			!task_may_be_read(c, idx))
			continue;
		if (task_left(c, t))
			some |= caller_exited(c, idx);
	}
	return some;
}

/* The thread record comes first: to inherit a task takes its lock, and a lock
 * needs a journal. */
static int enroll(struct caller *c)
{
	int err = thread_claim(c);
	struct thread *th;
	u64 start;

	if (!err) {
		th = region_thread(&c->region, c->thread);
		/* One claim more: whoever waits for the last owner to leave its
		 * biased object, and knows it by its claim, sees that it has
		 * ended; and we are not inside of one either. */
		atom_store_release(&th->claims, th->claims + 1);
		atom_store_release(&th->bias_at, 0);
		atom_store_release(&th->bias_word, 0);
		caller_set_bias_id(c);
		waiter_reset(&th->waiter);
		trim_inherited(c, th);
		c->exited[0] = th->task % N_TASKS;
		if (!c->task)
			err = task_claim_once(c);
		/* All are in use: is it by one that is gone? */
		if (err == -ENOSPC && reap_exited(c))
			err = task_claim_once(c);
		if (!err) {
			start = task_own(c)->start;
			atom_store_release(&th->task, c->task);
			atom_store_release(&th->start, start);
			if (c->tid != c->pid)
				start = identity_birth(c->tid);
			atom_store_release(&th->birth, start);
		} else {
			atom_store_release(&th->tid, 0);
			c->thread = 0;
		}
	}
	return err;
}

int (*caller_enrolling)(struct caller *c);
void (*caller_unmarked)(struct caller *c);

/* A handler may have made the first call just before. */
int caller_enroll_slow(struct caller *c)
{
	int err = caller_enrolling ? caller_enrolling(c) : 0;

	section_begin(c);
	if (!err && !c->thread)
		err = enroll(c);
	/* In the section: a handler that runs at its end makes calls, or leaves
	 * for good. */
	if (!err && unlikely(c->robust_refused) && caller_unmarked)
		caller_unmarked(c);
	section_end(c);
	if (!err) {
		reap_exited(c);
		look_for_sleepers(c);
	}
	return err;
}

/* By pid and birth, for the pid may be another's by now; `suspect` (its
 * lifeline has fired, or it has none) is what makes the dearer question worth
 * while. */
int task_gone(const struct caller *c, const struct task *t)
{
	u64 claim = atom_load_acquire(&t->claim);
	u32 pid = (u32)claim;

	if (!pid || t == task_own(c))
		return 0;
	/* Being made: its birth and lifeline are an earlier one's. */
	if (!(claim >> 32))
		return sys_call(__NR_kill, pid, 0) == -ESRCH;
	return identity_process_gone(pid, t->start, task_suspect(t));
}

/* A whole lifeline says that the process lives, unless the application has
 * broken its robust list: so it is asked for all the same, once in TASK_LOOK_NS
 * for all that check (alive_ns). */
int task_look_slow(const struct caller *c, struct task *t, enum task_look look)
{
	u32 pid = atom_load_acquire(&t->pid);
	u64 now;

	if (task_suspect(t))
		return task_gone(c, t);
	if (!pid || t == task_own(c))
		return 0;
	if (look == TASK_LOOK_NOW && sys_call(__NR_kill, pid, 0) == -ESRCH)
		return 1;
	now = sys_monotonic_ns();
	if (task_looked_lately(t, now))
		return 0;
	if (task_gone(c, t))
		return 1;
	atom_store_release(&t->alive_ns, now);
	return 0;
}

/* As the kernel leaves exec_life. When a thread ends, musl walks its list
 * itself and marks whatever is there, with OWNER_DIED alone. */
#define EXEC_FIRED (SYS_OWNER_DIED | SYS_WAITERS)

int task_changed_image(const struct caller *c, const struct task *t)
{
	u32 pid = atom_load_acquire(&t->pid);
	u32 tid = atom_load_acquire(&t->life_tid);
	u64 birth = atom_load_acquire(&t->life_birth), mm = t->mm;
	struct sys_process p;

	u64 image = atom_load_acquire(&t->image);

	if (atom_load_acquire(&t->exec_life) == EXEC_FIRED)
		return 1;
	if (image && !image_held(c, image))
		return 1;
	/* Read after whose it is: so that one is the thread that it fired for,
	 * or an earlier one, which is gone. */
	if (!(atom_load_acquire(&t->life) & SYS_OWNER_DIED))
		return 0;
	/* Where the leader has ended and others run, no exec has come after:
	 * it would have made its caller the leader. Its /proc files show
	 * neither stack nor mappings any more. */
	if (!sys_process_read(pid, 0, &p) || p.ending)
		return 0;
	if (mm > 1 && p.stack > 1 && p.stack != mm)
		return 1;
	if (mm > 1 && p.stack > 1 && identity_stack_tells(mm))
		return 0;
	/* With an unknown birth the number alone says nothing, but for the
	 * leader's, which is the process's. */
	if (tid && (birth || tid == pid) && !identity_thread_gone(tid, birth))
		return 1;
	return mapped_any(c, pid) == 0;
}

void task_free_locked(struct caller *c, struct task *t)
{
	(void)c;
	atom_store_release(&t->claim, 0);
}

int task_may_be_read(const struct caller *c, u32 idx)
{
	/* An onlooker does not take the file's word for it. A task lies within
	 * a page. */
	return region_task_noted(&c->region, idx) &&
	       region_has_row(&c->region, region_task(&c->region, idx));
}

u32 task_next(const struct caller *c, u32 from)
{
	const struct header *h = caller_header(c);

	for (; from < N_TASKS; from++) {
		if (!atom_load_acquire(
			    &h->task_pages[from / TASKS_A_PAGE / 64]))
			from |= 64 * TASKS_A_PAGE - 1;
		else if (!task_may_be_read(c, from))
			from |= TASKS_A_PAGE - 1;
		else if (atom_load_acquire(
				 &region_task(&c->region, from)->claim))
			return from;
	}
	return N_TASKS;
}
