// SPDX-License-Identifier: MIT
/*
 * mq_notify (doc/kernel-semantics.md §7.7).
 *
 * The queue holds the registration. The send that fires it sends the signal
 * before its commit, under the lock: the process that it wakes finds the
 * message once the lock is free. If the sender dies before the commit, neither
 * the message nor the end of the registration has happened, and the next
 * message sends the signal again: perhaps once too often, but never not at all,
 * and without repair. A signal to the sender's own process is sent after the
 * commit: if the sender dies before, so does the receiver, and the signal
 * itself may kill. The kernel lets a process queue a signal with SI_MESGQ and
 * any pid and uid, but only to a process that it may kill; otherwise the
 * registrant's notification thread delivers it (mqpending.h), if there is one.
 *
 * That thread delivers also in a registry that others may write, for they could
 * put there which signal goes to whom, and have it sent with the rights of a
 * sender or of the mount. What a process sends to itself it takes from its own
 * memory (mqregistration.h).
 *
 * SIGEV_THREAD: the registrant's helper thread (entry/mq.c) waits as a sleeper
 * of wait.h and is granted. With a socket instead of a function the
 * notification thread is told, also when the registration is taken back. (When
 * the registrant ends, nobody is told.)
 *
 * When the registrant ends its lifeline fires, and whoever looks at the
 * registration next removes it. The lifeline also fires on exec, and when the
 * thread ends on whose robust list it is; then /proc shows whether the process
 * still has the queue open, and the task's epoch or /proc whether it is still
 * the program that registered.
 *
 * Keeps INV_MQ_NOTIFY (inspect/check.h).
 */
#include <linux/signal.h>
#include "base/file.h"
#include "mq/mqregistration.h"
#include "mq/mqpending.h"
#include "mq/mqueue.h"
#include "object/sleep.h"
#include "registry/task.h"

/* ---- the registrant ---- */

/* A path in /proc: the part that all files of a directory have in common. */
struct proc_path {
	char text[80];
	size_t n;
};

static void proc_path_add(struct proc_path *p, const char *text)
{
	p->n = str_add(p->text, sizeof(p->text), p->n, text);
}

/* Is one of the descriptors in a directory of them the queue's? skip: tells those
 * that do not count, or NULL. 1 also if the directory cannot be read. */
static int one_is_open(
	const struct mqueue *q, const struct proc_path *of, int (*skip)(int fd))
{
	struct proc_path p = *of;
	struct file_stat st;
	struct file_dir dir;
	const char *name;
	int found = 0, err;

	proc_path_add(&p, "/fd/");
	err = file_dir_open(&dir, p.text);
	if (err)
		return err != -ENOENT;
	while (!found && (name = file_dir_next(&dir))) {
		str_add(p.text, sizeof(p.text), p.n, name);
		found = !sys_call(__NR_stat, p.text, &st) && st.ino == q->ino &&
			st.dev == q->dev && !(skip && skip(file_number(name)));
	}
	file_dir_close(&dir);
	return found;
}

/* 0 if /proc shows that the process has no descriptor of the queue. What it
 * shows of a process are its first thread's, none once that has ended: then the
 * other threads are asked. */
static int has_open(const struct mqueue *q, u32 pid, int (*skip)(int fd))
{
	struct proc_path p = {.n = 0};
	struct sys_process process;
	struct file_dir tasks;
	const char *name;
	int found, err;

	proc_path_add(&p, "/proc/");
	p.n = str_add_u64(p.text, sizeof(p.text), p.n, pid);
	found = one_is_open(q, &p, skip);
	if (found || !sys_process_read(pid, 0, &process) || !process.ending)
		return found;
	proc_path_add(&p, "/task/");
	err = file_dir_open(&tasks, p.text);
	if (err)
		return err != -ENOENT;
	while (!found && (name = file_dir_next(&tasks))) {
		struct proc_path of = p;

		if (file_number(name) < 0)
			continue;
		proc_path_add(&of, name);
		found = one_is_open(q, &of, skip);
	}
	file_dir_close(&tasks);
	return found;
}

enum presence { GONE, SAME_PROGRAM, OTHER_PROGRAM };

static enum presence look(struct caller *c, const struct mqueue *q)
{
	const struct mq_notify *n = &q->notify;
	struct task *t = region_task(&c->region, n->task);
	int changed;

	if (n->thread && wait_dead(wait_must(c, n->thread)))
		return GONE;
	if (t->pid != n->pid || t->start != n->start)
		return GONE;
	changed = t->epoch != n->image;
	if (changed && n->closes)
		return GONE;
	/* A whole lifeline does not prove that it lives: the kernel may have marked
	 * nothing. */
	if (t == task_own(c) || (!changed && !task_suspect(t) &&
					!task_look(c, t, TASK_LOOK_NOW)))
		return changed ? OTHER_PROGRAM : SAME_PROGRAM;
	if (task_gone(c, t) || (q->ino && !has_open(q, n->pid, NULL)))
		return GONE;
	if (!changed && !task_changed_image(c, t))
		return SAME_PROGRAM;
	return n->closes ? GONE : OTHER_PROGRAM;
}

/* ---- states ---- */

/* The helper thread's waiter is done; part of the current operation. */
static void grant_thread(struct caller *c, struct mqueue *q, s32 result)
{
	struct waiter *w = wait_at(c, q->notify.thread);

	/* None where a socket is told. */
	if (!w || w->state != WAIT_QUEUED || w->ident != q->token[0])
		return;
	journal_set32(c, (u32 *)&w->result, result);
	journal_set32(c, &w->state, WAIT_DONE);
	if (!wait_dead(w))
		wait_grant(c, w);
}

static void drop(struct caller *c, struct mqueue *q)
{
	if (q->notify.how == SIGEV_THREAD)
		grant_thread(c, q, 0);
	journal_set32(c, &q->notify.state, MQ_NOTIFY_NONE);
	journal_commit(c);
}

/* To be waited for once the lock is released. */
static void note_pending(struct caller *c, u32 number)
{
	_Static_assert(MQ_PENDINGS < 0xffff, "16 bits each");
	if (number)
		mq_thread(c)->pending = mq_thread(c)->pending << 16 | number;
}

/* The registrant ends its registration. */
static void take_back(struct caller *c, struct mqueue *q)
{
	struct mq_notify own;

	drop(c, q);
	if (q->notify.how != SIGEV_THREAD || q->notify.thread) {
		mqregistration_take(c->pid, q->notify.stamp, &own);
		return;
	}
	q->notify.signo = MQ_COOKIE_REMOVED;
	note_pending(c, mqpending_send(c, &q->notify));
}

void mq_notify_drop_dead(struct caller *c, struct mqueue *q)
{
	if (q->notify.state == MQ_NOTIFY_ARMED && look(c, q) == GONE)
		drop(c, q);
}

void mq_notify_drop(struct caller *c, struct mqueue *q)
{
	if (q->notify.state == MQ_NOTIFY_ARMED)
		drop(c, q);
}

struct sys_siginfo {
	s32 signo, error, code, pad0;
	u32 pid, uid;
	u64 value;
	u64 rest[12];
};
_Static_assert(sizeof(struct sys_siginfo) == 128, "siginfo size");

/* Can another user have written the registry? Its mode is read each time, for
 * its owner may share it at any moment. */
static int others_write(const struct caller *c)
{
	u32 euid = (u32)sys_call(__NR_geteuid);
	struct file_stat st;

	if (c->region.owner != euid)
		return 1;
	return !sys_call(__NR_stat, c->region.path, &st) &&
	       (st.uid != euid || (st.mode & 022));
}

/* For a registration that this process does not remember, or of another
 * process, the registry is trusted only if no other user can write it. */
static int send_signal(
	struct caller *c, const struct mq_notify *n, struct sys_siginfo *info)
{
	struct mq_notify own = *n;
	int known =
		n->pid == c->pid && mqregistration_take(n->pid, n->stamp, &own);

	if (known ? own.how != SIGEV_SIGNAL : others_write(c))
		return -EPERM;
	info->signo = (s32)own.signo;
	info->value = own.value;
	return (int)sys_call(__NR_rt_sigqueueinfo, n->pid, own.signo, info);
}

void mq_notify_tell(struct caller *c, struct mqueue *q)
{
	const struct mq_notify *n = &q->notify;
	struct sys_siginfo info = {.signo = n->signo,
		.code = SI_MESGQ,
		.pid = n->sender_pid,
		.uid = n->sender_uid,
		.value = n->value};
	int by_socket = n->how == SIGEV_THREAD, err = 0;

	/* Whoever looks at a copy sends nobody anything. */
	if (c->detached ||
		(!by_socket && (n->how != SIGEV_SIGNAL || !n->signo)) ||
		look(c, q) != SAME_PROGRAM)
		return;
	if (!by_socket)
		err = send_signal(c, n, &info);
	if (by_socket || (err == -EPERM && n->notify_thread))
		note_pending(c, mqpending_send(c, n));
}

int mq_notify_fire(struct caller *c, struct mqueue *q)
{
	struct mq_notify *n = &q->notify;
	int after = 0;

	atom_store_release(&n->sender_pid, c->pid);
	atom_store_release(&n->sender_uid, (u32)sys_call(__NR_getuid));
	if (n->how == SIGEV_THREAD && n->thread)
		grant_thread(c, q, 1);
	else if (n->pid == c->pid)
		after = 1;
	else
		mq_notify_tell(c, q);
	journal_set32(c, &n->state, MQ_NOTIFY_NONE);
	return after;
}

void mq_notify_end_slow(struct caller *c)
{
	u64 all = mq_thread(c)->pending;

	mq_thread(c)->pending = 0;
	for (; all; all >>= 16)
		mqpending_wait(c, all & 0xffff);
}

/* ---- the call ---- */

static int arm(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	const struct mq_event *ev)
{
	struct waiter *w = wait_own(c);
	int by_thread = ev->how == SIGEV_THREAD && !ev->by_socket;

	if (q->notify.state != MQ_NOTIFY_NONE)
		return -EBUSY;
	q->notify = (struct mq_notify){
		.how = ev->how,
		.signo = ev->signo,
		.task = c->task,
		.pid = c->pid,
		.thread = by_thread ? c->thread : 0,
		.start = task_own(c)->start,
		.value = ev->value,
		.image = task_own(c)->epoch,
		.notify_thread = ev->notify_thread,
		.stamp = atom_add(&caller_header(c)->stamp, 1),
	};
	if (ev->by_socket) {
		q->notify.signo = MQ_COOKIE_WOKEN;
		q->notify.sock = (u32)ev->sock;
		q->notify.sock_ino = ev->sock_ino;
		__builtin_memcpy(
			q->notify.cookie, ev->cookie, sizeof(q->notify.cookie));
	}
	if (ev->how == SIGEV_SIGNAL || ev->by_socket)
		mqregistration_put(&q->notify);
	if (by_thread) {
		w->slot_idx = region_slot_idx(&c->region, FAC_MQ, d->s);
		w->facility = FAC_MQ;
		w->pid = c->pid;
		w->ident = q->token[0];
		w->prev = w->next = 0;
		wait_begin(c, w);
		journal_set32(c, &w->state, WAIT_QUEUED);
	}
	journal_set32(c, &q->notify.state, MQ_NOTIFY_ARMED);
	journal_commit(c);
	return 0;
}

int mq_set_notify(
	struct caller *c, const struct mq_desc *d, const struct mq_event *ev)
{
	struct mqueue *q = mq_body(c, d->s);
	int err = q ? mq_enter(c) : -EBADF;

	if (err)
		return err;
	err = mq_lock(c, d);
	if (err)
		return err;
	if (ev)
		task_check_lifeline(c);
	mq_notify_drop_dead(c, q);
	if (ev)
		err = arm(c, d, q, ev);
	else if (q->notify.state == MQ_NOTIFY_ARMED && q->notify.pid == c->pid)
		take_back(c, q);
	else
		err = BLOCKED;
	if (!err)
		mq_touch(c, d);
	lock_release(c, &d->s->lock);
	mq_notify_end(c);
	return err == BLOCKED ? 0 : err;
}

/*
 * Without the lock: 0 if this process is surely not registered. What an owner
 * of the lock has stored counts only once it is committed: a sender that fires
 * the registration and dies before its commit has not ended it, though the word
 * says so until the next owner has rolled it back.
 */
static int may_be_registered(
	const struct caller *c, const struct mq_desc *d, const struct mqueue *q)
{
	int armed;
	u64 count;

	if (!lock_peek_begin(&d->s->lock, &count))
		return 1;
	armed = atom_load_acquire(&q->notify.state) == MQ_NOTIFY_ARMED &&
		q->notify.pid == c->pid;
	return armed || !lock_peek_valid(&d->s->lock, count);
}

void mq_notify_executing(struct caller *c, const struct mq_desc *d, u32 closes)
{
	struct mqueue *q = mq_body(c, d->s);
	struct mq_notify *n = q ? &q->notify : NULL;

	if (!n || !may_be_registered(c, d, q) || mq_enter(c) || mq_lock(c, d))
		return;
	if (n->state == MQ_NOTIFY_ARMED && n->pid == c->pid &&
		n->closes != closes)
		atom_store_release(&n->closes, closes);
	lock_release(c, &d->s->lock);
	mq_notify_end(c);
}

void mq_notify_after_exec(
	struct caller *c, const struct mq_desc *d, int (*opened_here)(int fd))
{
	struct mqueue *q = mq_body(c, d->s);
	const struct mq_notify *n;

	if (!q || mq_enter(c))
		return;
	n = &q->notify;
	if (!may_be_registered(c, d, q) || mq_lock(c, d))
		return;
	if (n->state == MQ_NOTIFY_ARMED && n->pid == c->pid &&
		n->image != task_own(c)->epoch &&
		(n->closes || !has_open(q, c->pid, opened_here)))
		drop(c, q);
	lock_release(c, &d->s->lock);
}

static void nothing(void *arg)
{
	(void)arg;
}

int mq_notify_wait(struct caller *c, const struct mq_desc *d)
{
	struct waiter *w = wait_own(c);
	struct cancel_scope scope;
	int err, result;

	cancel_begin(&scope, nothing, NULL);
	while ((err = wait_sleep_restart(
			c, w, NULL, SLEEP_SLICE_NS, 0, &scope))) {
		if (err != -EOWNERDEAD &&
			!(err == -EAGAIN && sleep_pending(c, d->s, d->ident)))
			continue;
		mq_lock_any(c, d->s);
		wait_recheck(c, w);
		lock_release(c, &d->s->lock);
	}
	cancel_end(&scope);
	result = w->result;
	wait_end(c, w);
	return result;
}

int mq_closing_concerns(const struct caller *c, const struct mq_desc *d)
{
	const struct mqueue *q = mq_body(c, d->s);

	if (!q || atom_load_acquire(&d->s->ident) != d->ident)
		return 0;
	return atom_load_acquire(&q->polled) || may_be_registered(c, d, q);
}

static void unregister(
	struct caller *c, const struct mq_desc *d, struct mqueue *q)
{
	if (mq_enter(c) || mq_lock(c, d))
		return;
	if (q->notify.state == MQ_NOTIFY_ARMED && q->notify.pid == c->pid)
		take_back(c, q);
	lock_release(c, &d->s->lock);
	mq_notify_end(c);
}

void mq_unregister(struct caller *c, const struct mq_desc *d)
{
	struct mqueue *q = mq_body(c, d->s);

	if (q && atom_load_acquire(&d->s->ident) == d->ident &&
		may_be_registered(c, d, q))
		unregister(c, d, q);
}

void mq_closing(struct caller *c, const struct mq_desc *d)
{
	struct mqueue *q = mq_body(c, d->s);

	/* Pairs with that of mq_watch. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* A call under way may be about to use the FIFO by this number: it does
	 * so with the lock held, and not after it found it marked. */
	if (mq_closing_concerns(c, d))
		unregister(c, d, q);
}
