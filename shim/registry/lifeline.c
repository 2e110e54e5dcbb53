// SPDX-License-Identifier: MIT
/*
 * Linking a task's lifelines; see task.h and struct task. A lifeline is a word on
 * the robust list of one of the process's threads: the kernel marks it when that
 * thread ends. It is linked at the first call that leaves something which others
 * have to give back (SEM_UNDO, an attachment), and again by whoever makes such a
 * call and finds it fired.
 *
 * Keeps INV_TASK (inspect/check.h).
 */
#include "registry/task.h"
#include "registry/event.h"
#include "registry/lock.h"

/*
 * Both libcs keep the previous node's address 8 bytes before a node, and do
 * not expect one before the head itself in musl's case. Locks that are held are
 * first on the list meanwhile, and go again: the node is put behind them.
 */
static void link_for_good(struct caller *c, u32 *word)
{
	void **node = robust_node(c, word);
	void *head = c->robust;
	void **at = (void **)&c->robust->next;
	u32 i;

	for (i = c->n_held; i--;)
		if (*at == robust_node(c, &c->held[i]->word))
			at = *at;

	node[-1] = head;
	node[0] = *at;
	if (*at != head)
		((void **)((uintptr_t)*at & ~1UL))[-1] = node;
	__atomic_store_n(at, (void *)node, __ATOMIC_RELEASE);
}

/* The second word: behind the first in time, so before it in the list, where
 * the first one's mark is what lets the task be taken over. */
static void link_for_exec(struct caller *c, struct task *t)
{
	if (c->tid == c->pid) {
		atom_store_release(&t->exec_life, 0);
		atom_store_release(&t->exec_used, 0);
		return;
	}
	atom_store_release(&t->exec_used, 1);
	atom_store_release(&t->exec_life, c->pid | SYS_WAITERS);
	t->exec_type = t->life_type;
	t->exec_waiters = 1;
	crash_point();
	link_for_good(c, &t->exec_life);
}

int task_lock_own(struct caller *c)
{
	int died;

	section_begin(c);
	died = lock_acquire(c, &task_own(c)->lock);
	section_end(c);
	return died;
}

/* No list, no lifeline: it counts as fired, so that everybody asks. */
static void refuse_lifeline(struct caller *c, struct task *t, u32 life)
{
	if (life && !t->life_tid)
		return;
	atom_store_release(&t->life_tid, 0);
	atom_store_release(&t->exec_life, 0);
	if (atom_cas(&t->life, &life, SYS_OWNER_DIED))
		event_add(c, EVENT_NO_LIFELINE, c->pid, 0);
}

/* The lifeline is pending between its claim and its link: whoever dies there
 * leaves it fired. */
static void link_lifeline(struct caller *c)
{
	struct task *t = task_own(c);
	u32 *held, life = atom_load_acquire(&t->life);

	if (!c->n_held)
		c->app_pending = c->robust->pending;
	held = robust_held(c);
	if (life && !(life & SYS_OWNER_DIED))
		return;
	/* Before anybody can see it fired. All threads store the same. */
	if (t->mm <= 1)
		atom_store_release(&t->mm, task_own_stack(c));
	if (unlikely(c->robust_refused)) {
		refuse_lifeline(c, t, life);
		return;
	}
	if (held)
		robust_push(c, held);
	robust_pend(c, &t->life);
	/* Of several threads one wins. */
	if (atom_cas(&t->life, &life, c->tid | SYS_WAITERS)) {
		atom_store_release(&t->life_birth, 0);
		atom_store_release(&t->life_tid, c->tid);
		atom_store_release(&t->life_birth,
			region_thread(&c->region, c->thread)->birth);
		t->life_type = 0x84; /* musl: robust, process-shared */
		t->life_waiters = 1;
		crash_point();
		link_for_good(c, &t->life);
		link_for_exec(c, t);
	}
	robust_pend(c, held);
	if (held)
		robust_pop(c, held);
}

/* A signal handler that forks would make it another's task. */
void task_link_lifeline(struct caller *c)
{
	section_begin(c);
	link_lifeline(c);
	section_end(c);
}
