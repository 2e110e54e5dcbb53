// SPDX-License-Identifier: MIT
/*
 * Making a caller: the thread's robust list, its task and its thread record.
 *
 * Records of the dead are taken over by whoever needs one: a thread record if
 * its journal is empty and its waiter idle, a task if it has no undo records.
 * What still has something to repair or undo is left to those who come across
 * it through the object.
 */
#include "registry/task.h"
#include "registry/guard.h"
#include "registry/journal.h"
#include "registry/lock.h"
#include "registry/wait.h"

extern int pthread_mutexattr_init(void *) __attribute__((weak));
extern int pthread_mutexattr_setrobust(void *, int) __attribute__((weak));
extern int pthread_mutexattr_setpshared(void *, int) __attribute__((weak));
extern int pthread_mutex_init(void *, const void *) __attribute__((weak));
extern int pthread_mutex_lock(void *) __attribute__((weak));
extern int pthread_mutex_unlock(void *) __attribute__((weak));

#define PROBES 64u
/* Dead thread records looked for at each claim; makes leaks bounded. */
#define RECLAIM_LOOKS 4u

/* musl registers its list at the first robust mutex of a thread. */
static void force_libc_list(void)
{
	long attr[8] = {0}, mutex[16] = {0};

	if (!pthread_mutexattr_setrobust || !pthread_mutex_lock)
		return;
	pthread_mutexattr_init(attr);
	pthread_mutexattr_setrobust(attr, 1);
	pthread_mutexattr_setpshared(attr, 1);
	pthread_mutex_init(mutex, attr);
	pthread_mutex_lock(mutex);
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

void caller_refresh(struct caller *c)
{
	struct sys_robust_head *head = NULL;

	c->tid = sys_gettid();
	c->pid = sys_getpid();
	c->task = c->thread = 0;
	c->bias_id = ~0ULL;
	c->idx_mask = (1u << caller_header(c)->idx_bits) - 1;
	c->n_held = c->n_grants = 0;
	c->journal = NULL;
	c->interrupt = NULL;
	/* Traces of a vfork child that was killed inside a section. */
	c->in_section = c->deferred.n = c->deferred.has_mask = 0;
	guard_forget(c);
	sys_get_robust_list(&head);
	if (!head) {
		force_libc_list();
		sys_get_robust_list(&head);
	}
	if (!head) {
		/* A raw clone or vfork child, whose libc head (perhaps the
		 * parent's, in shared memory) this kernel task has not
		 * registered: one of our own, of the same shape. */
		head = &own_robust;
		head->next = head;
		head->pending = NULL;
		head->futex_offset = c->robust ? c->robust->futex_offset : -32;
		sys_set_robust_list(head);
	}
	c->robust = head;
}

/* With a full descriptor table or without /proc a start time is unknown, 0. */
static int same_start(u64 a, u64 b)
{
	return !a || !b || a == b;
}

static int pid_alive(u32 pid, u64 start)
{
	int exiting = 0;
	u64 now;

	if (sys_call(__NR_kill, pid, 0) == -ESRCH)
		return 0;
	now = sys_start_time(pid, &exiting);
	return same_start(now, start);
}

static int task_claim(struct caller *c, u64 start)
{
	u32 i, idx, pid;
	struct task *t;

	/* First the one we had before exec. */
	for (i = 0; i < PROBES; i++) {
		idx = (c->pid + i) & (N_TASKS - 1);
		t = region_task(&c->region, idx);
		if (caller_room(c, t, sizeof(*t)))
			return -ENOMEM;
		if (idx && atom_load_acquire(&t->pid) == c->pid &&
			same_start(t->start, start) && t->state) {
			c->task = idx;
			return 0;
		}
	}
	for (i = 0; i < N_TASKS; i++) {
		idx = (c->pid + i) & (N_TASKS - 1);
		t = region_task(&c->region, idx);
		if (caller_room(c, t, sizeof(*t)))
			return -ENOMEM;
		pid = atom_load_acquire(&t->pid);
		if (!idx || (pid && t->state && t->undo_head.off))
			continue;
		if (pid && pid_alive(pid, t->start))
			continue;
		if (!atom_cas(&t->pid, &pid, c->pid))
			continue;
		atom_store_release(&t->state, 0);
		atom_store_release(&t->start, start);
		atom_store_release(&t->life, 0);
		atom_store_release(&t->state, 1);
		c->task = idx;
		return 0;
	}
	return -ENOSPC;
}

/* May the record of dead thread `tid` be taken over? */
static int thread_reclaimable(const struct thread *th, u32 tid)
{
	u32 state = atom_load_acquire(&th->waiter.state);

	if (atom_load_acquire(&th->journal.n) || state == WAIT_QUEUED)
		return 0;
	if (sys_call(__NR_kill, tid, 0) != -ESRCH)
		return 0;
	return 1;
}

static int thread_try(struct caller *c, u32 idx)
{
	struct thread *th = region_thread(&c->region, idx);
	u32 tid = atom_load_acquire(&th->tid);

	if (tid && !thread_reclaimable(th, tid))
		return 0;
	if (!atom_cas(&th->tid, &tid, c->tid))
		return 0;
	c->thread = idx;
	return 1;
}

static int thread_claim(struct caller *c)
{
	struct header *h = caller_header(c);
	u32 high = atom_load_acquire(&h->thread_high);
	u32 i, idx;

	for (i = 0; i < RECLAIM_LOOKS && high > 1; i++) {
		idx = 1 + atom_add(&h->thread_hint, 1) % (high - 1);
		if (thread_try(c, idx))
			return 0;
	}
	while ((idx = atom_load_acquire(&h->thread_high)) < N_THREADS) {
		u32 seen = idx;

		if (caller_room(
			    c, region_thread(&c->region, idx), THREAD_STRIDE))
			return -ENOMEM;
		if (atom_cas(&h->thread_high, &seen, idx + 1) &&
			thread_try(c, idx))
			return 0;
	}
	for (idx = 1; idx < N_THREADS; idx++)
		if (thread_try(c, idx))
			return 0;
	return -ENOSPC;
}

int caller_enroll_slow(struct caller *c)
{
	u64 start = sys_start_time(c->pid, NULL);
	struct thread *th;
	int err = 0;

	section_begin(c);
	if (!c->task)
		err = task_claim(c, start);
	if (!err)
		err = thread_claim(c);
	if (!err) {
		th = region_thread(&c->region, c->thread);
		atom_store_release(&th->task, c->task);
		atom_store_release(&th->claims, th->claims + 1);
		/* Bit 63 is BIAS_REVOKING's. */
		c->bias_id = (u64)(th->claims & 0x7fffffff) << 32 | c->thread;
		atom_store_release(&th->start, start);
		atom_store_release(&th->waiter.state, WAIT_IDLE);
		atom_store_release(&th->waiter.word, 0);
		atom_store_release(&th->waiter.alive, 0);
		atom_store_release(&th->journal.n_locks, 0);
		atom_store_release(&th->journal.publish_off, 0);
		if (!th->journal.cap)
			atom_store_release(&th->journal.cap, JOURNAL_INLINE);
		c->journal = &th->journal;
		c->entries = journal_entries(&c->region, c->journal);
	}
	section_end(c);
	return err;
}

/*
 * Both libcs keep the previous node's address 8 bytes before a node, and do
 * not expect one before the head itself in musl's case.
 */
static void link_for_good(struct caller *c, u32 *word)
{
	void **node = robust_node(c, word);
	void *head = c->robust;
	void *first = c->robust->next;

	node[-1] = head;
	node[0] = first;
	if (first != head)
		((void **)((uintptr_t)first & ~1UL))[-1] = node;
	__atomic_store_n(&c->robust->next, (void *)node, __ATOMIC_RELEASE);
}

void task_link_lifeline(struct caller *c)
{
	struct task *t = task_own(c);
	u32 life = atom_load_acquire(&t->life);

	if (life && !(life & SYS_OWNER_DIED))
		return;
	section_begin(c);
	/* Of several threads one wins. */
	if (atom_cas(&t->life, &life, c->tid | SYS_WAITERS)) {
		t->life_type = 0x84; /* musl: robust, process-shared */
		t->life_waiters = 1;
		link_for_good(c, &t->life);
	}
	section_end(c);
}

int task_gone(const struct caller *c, const struct task *t)
{
	u32 pid = atom_load_acquire(&t->pid);
	u64 start;
	int exiting = 0;

	if (!pid || t == task_own(c))
		return !pid;
	if (sys_call(__NR_kill, pid, 0) == -ESRCH)
		return 1;
	start = sys_start_time(pid, &exiting);
	if (!start)
		return sys_call(__NR_kill, pid, 0) == -ESRCH;
	if (!same_start(start, t->start))
		return 1;
	return exiting;
}

void task_free_locked(struct caller *c, struct task *t)
{
	(void)c;
	atom_store_release(&t->state, 0);
	atom_store_release(&t->pid, 0);
}
