// SPDX-License-Identifier: MIT
/*
 * The table of notifications under way; see mqpending.h and struct mq_pending.
 */
#include "mq/mqpending.h"
#include "registry/event.h"
#include "registry/lock.h"
#include "registry/task.h"
#include "registry/thread.h"

/* A notification thread on its way needs some ten microseconds; one that is
 * stopped is not waited for. Arbitrary. */
#define WAIT_SLICES 5
#define SLICE_NS 10000000
#define SIGEV_SIGNAL 0
#define FIRST_REAL_TIME 32

static struct mq_pending *pending_at(const struct region *r, u32 i)
{
	return &region_header(r)->mq_pending[i];
}

/* To its registrant, not to a sender. */
static int is_sent(u32 state)
{
	return state == MQ_PENDING_SENT || state == MQ_PENDING_DELIVERING;
}

/* Nobody will fill it or fetch it any more. */
static int is_stale(struct caller *c, const struct mq_pending *m, u32 state)
{
	const struct task *t;

	/* Our own number: an exited thread had it, for we fill none now. */
	if (!is_sent(state))
		return state == c->tid || thread_gone(c, state);
	t = region_task(&c->region, m->task % N_TASKS);
	return t->pid != m->pid || t->start != m->start || task_gone(c, t);
}

static struct mq_pending *claim(struct caller *c)
{
	u32 i, state, stale;
	struct mq_pending *m;

	for (stale = 0; stale < 2; stale++) {
		for (i = 0; i < MQ_PENDINGS; i++) {
			m = pending_at(&c->region, i);
			state = atom_load_acquire(&m->state);
			if (state && !(stale && is_stale(c, m, state)))
				continue;
			if (atom_cas(&m->state, &state, c->tid))
				return m;
		}
	}
	return NULL;
}

/* What a sender that died had sent already; or a standard signal that is due
 * anyway: the kernel, too, has it pending once. Not one that is being delivered:
 * the application may have handled it, and found nothing in this queue. */
static struct mq_pending *sent_before(
	struct caller *c, const struct mq_notify *n)
{
	struct mq_pending *m;
	u32 i;

	for (i = 0; i < MQ_PENDINGS; i++) {
		m = pending_at(&c->region, i);
		if (atom_load_acquire(&m->state) != MQ_PENDING_SENT)
			continue;
		if (m->stamp == n->stamp)
			return m;
		if (m->how == SIGEV_SIGNAL && n->how == SIGEV_SIGNAL &&
			n->signo < FIRST_REAL_TIME &&
			m->signo == (s32)n->signo && m->task == n->task &&
			m->pid == n->pid && m->start == n->start)
			return m;
	}
	return NULL;
}

static struct mq_pending *fill(struct caller *c, const struct mq_notify *n)
{
	struct mq_pending *m = claim(c);

	if (!m)
		return NULL;
	m->task = n->task;
	m->pid = n->pid;
	m->start = n->start;
	m->stamp = n->stamp;
	m->signo = (s32)n->signo;
	m->value = n->value;
	m->sender_pid = n->sender_pid;
	m->sender_uid = n->sender_uid;
	m->how = n->how;
	m->sock = n->sock;
	m->sock_ino = n->sock_ino;
	__builtin_memcpy(m->cookie, n->cookie, sizeof(m->cookie));
	crash_point();
	atom_store_release(&m->state, MQ_PENDING_SENT);
	return m;
}

/*
 * From before there is a notification until the notification thread has been
 * woken its word is the pending entry of our robust list, and the lock on the
 * list: should we die in between, the kernel wakes it. The word is 0 before
 * there is notification, for which older kernels ask, and again afterwards,
 * since the notification thread may have looked in between. In a handler that
 * interrupted an operation on a robust mutex of the application the pending
 * entry is that one's, and the lock is on the list already.
 */
u32 mqpending_send(struct caller *c, const struct mq_notify *n)
{
	struct task *t = region_task(&c->region, n->task);
	u32 *held = robust_held(c);
	struct mq_pending *m;

	if (likely(held != NULL))
		robust_push(c, held);
	robust_pend(c, &t->notifier);
	atom_store_release(&t->notifier, 0);
	m = sent_before(c, n);
	if (!m)
		m = fill(c, n);
	atom_store_release(&t->notifier, 0);
	crash_point();
	sys_futex_wake(&t->notifier, 1);
	robust_pend(c, held);
	if (likely(held != NULL))
		robust_pop(c, held);
	if (!m) {
		event_add(c, EVENT_NOT_NOTIFIED, n->pid, n->signo);
		return 0;
	}
	return (u32)(m - pending_at(&c->region, 0)) + 1;
}

void mqpending_wait(struct caller *c, u32 number)
{
	const struct sys_timespec slice = {0, SLICE_NS};
	struct mq_pending *m = pending_at(&c->region, number - 1);
	int i;

	for (i = 0; i < WAIT_SLICES; i++) {
		u32 state = atom_load_acquire(&m->state);

		if (!is_sent(state))
			return;
		sys_futex_wait(&m->state, state, &slice);
	}
}

u32 mqpending_next(const struct region *r, u32 task, u32 pid, u64 start,
	struct mq_pending *ret)
{
	const struct mq_pending *m;
	u32 i;

	for (i = 0; i < MQ_PENDINGS; i++) {
		m = pending_at(r, i);
		if (!is_sent(atom_load_acquire(&m->state)) || m->task != task ||
			m->pid != pid || m->start != start)
			continue;
		__builtin_memcpy(ret, m, sizeof(*ret));
		return i + 1;
	}
	return 0;
}

void mqpending_begin(const struct region *r, u32 number)
{
	atom_store_release(
		&pending_at(r, number - 1)->state, MQ_PENDING_DELIVERING);
}

void mqpending_done(const struct region *r, u32 number)
{
	struct mq_pending *m = pending_at(r, number - 1);

	atom_store_release(&m->state, 0);
	sys_futex_wake(&m->state, 1);
}
