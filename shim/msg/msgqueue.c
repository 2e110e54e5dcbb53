// SPDX-License-Identifier: MIT
/*
 * The order of messages, hand-over, and waking (doc/kernel-semantics.md
 * §5.2-5.4).
 *
 * A FIFO over all messages, and a tree with the oldest message of each type,
 * which heads the list of the others of that type. A receiver always takes the
 * oldest of a type, so a message leaves the tree by being replaced with the
 * next of its list, or removed if there is none.
 *
 * A sender hands its message to the first waiting receiver that takes it,
 * without queueing it: a small message is copied to the receiver's own block, a
 * large one's block changes owner. Woken senders retry by themselves.
 *
 * Sleepers that must be reconsidered after a commit (senders after a message
 * left, receivers after IPC_SET) are noted in msgqueue.pending by the same
 * operation, so that the next owner of the lock does it if this one dies.
 *
 * Keeps INV_MSG_FIFO, INV_MSG_COUNT, INV_MSG_TREE, INV_MSG_TYPE,
 * INV_MSG_PENDING (inspect/check.h).
 */
#include "msg/msgqueue.h"
#include "object/lease.h"
#include "object/sleep.h"

/* ---- the lock ---- */

/* The slot's queue, whatever its ident, or NULL; the lock is held. */
static struct msgqueue *queue_there(struct caller *c, const struct slot *s)
{
	return atom_load_acquire(&s->ident) & IDENT_LIVE ? msg_body(c, s)
							 : NULL;
}

static __attribute__((noinline)) void take_back(
	struct caller *c, struct slot *s)
{
	struct msgqueue *q = queue_there(c, s);

	users_bias_end(c, s, q ? &q->users : NULL);
}

void msg_lock_any(struct caller *c, struct slot *s)
{
	int died = lock_acquire(c, &s->lock);

	if (unlikely(s->bias))
		take_back(c, s);
	if (unlikely(died))
		msgqueue_wake(c, s);
}

int msg_lock(struct caller *c, struct slot *s, u64 ident)
{
	u64 off = atom_load_relaxed(&s->body.off);

	/* Every call changes these lines, so a partner on another CPU has
	 * them. */
	if (likely(off))
		__builtin_prefetch(region_at(&c->region, off), 1);
	__builtin_prefetch(msg_thread(c)->fetch[0], 1);
	__builtin_prefetch(
		(void *)((uintptr_t)msg_thread(c)->fetch[0] + 64), 1);
	__builtin_prefetch(msg_thread(c)->fetch[1], 1);
	msg_lock_any(c, s);
	if (unlikely(
		    atom_load_acquire(&s->ident) != ident || !msg_body(c, s))) {
		lock_release(c, &s->lock);
		return -EIDRM;
	}
	return 0;
}

/* ---- order ---- */

#define ENDS(first, last) ((u64)(last) << 32 | (first))
#define ENDS_FIRST(ends) ((u32)(ends))
#define ENDS_LAST(ends) ((u32)((ends) >> 32))
#define COUNT(size) ((1ULL << 35) + (size))

static struct msg *type_head(
	const struct caller *c, const struct msgqueue *q, s64 type)
{
	return (struct msg *)rbtree_find(c, q->types, type);
}

/* m is younger than all messages in the queue, which is not empty. */
static void link_behind(
	struct caller *c, struct msgqueue *q, struct msg *m, struct msg *last)
{
	u32 link = rbtree_link(c, m);
	struct msg *head;

	journal_set32(c, &last->next, link);
	if (last->node.key == m->node.key) {
		journal_set32(c, &last->type_next, link);
		return;
	}
	/* The head of the type of `last` refers to its youngest from now on. */
	head = type_head(c, q, last->node.key);
	if (head && head->node.user != rbtree_link(c, last))
		journal_set32(c, &head->node.user, rbtree_link(c, last));
	head = type_head(c, q, m->node.key);
	if (head) {
		journal_set32(
			c, &msg_must(c, head->node.user)->type_next, link);
	} else {
		atom_store_release(&m->node.user, link);
		rbtree_insert(c, &q->types, &m->node);
	}
}

static void link_last(struct caller *c, struct msgqueue *q, struct msg *m)
{
	u32 link = rbtree_link(c, m), last = ENDS_LAST(q->ends);

	atom_store_release(&m->next, 0);
	atom_store_release(&m->prev, last);
	atom_store_release(&m->type_next, 0);
	if (last) {
		link_behind(c, q, m, msg_must(c, last));
		journal_set64(c, &q->ends, ENDS(ENDS_FIRST(q->ends), link));
	} else {
		atom_store_release(&m->node.user, link);
		rbtree_insert(c, &q->types, &m->node);
		journal_set64(c, &q->ends, ENDS(link, link));
	}
}

/* Put m back to its place in the order of sending. */
static void link_by_stamp(struct caller *c, struct msgqueue *q, struct msg *m)
{
	u32 link = rbtree_link(c, m), next = ENDS_FIRST(q->ends), prev = 0;
	struct msg *head = type_head(c, q, m->node.key), *t, *n;
	struct walk w = {0}, v = {0};

	while (next && msg_must(c, next)->stamp < m->stamp &&
		walk_goes_on(c, &w, next)) {
		prev = next;
		next = msg_must(c, next)->next;
	}
	if (!next) {
		link_last(c, q, m);
		return;
	}
	atom_store_release(&m->next, next);
	atom_store_release(&m->prev, prev);
	journal_set32(c, &msg_must(c, next)->prev, link);
	if (prev)
		journal_set32(c, &msg_must(c, prev)->next, link);
	else
		journal_set64(c, &q->ends, ENDS(link, ENDS_LAST(q->ends)));
	if (!head) {
		atom_store_release(&m->type_next, 0);
		atom_store_release(&m->node.user, link);
		rbtree_insert(c, &q->types, &m->node);
		return;
	}
	if (head->stamp > m->stamp) {
		atom_store_release(&m->type_next, rbtree_link(c, head));
		atom_store_release(&m->node.user, head->node.user);
		rbtree_replace(c, &q->types, &head->node, &m->node);
		return;
	}
	for (t = head; (n = msg_at(c, t->type_next)) && n->stamp < m->stamp &&
		       walk_goes_on(c, &v, t->type_next);)
		t = n;
	atom_store_release(&m->type_next, t->type_next);
	journal_set32(c, &t->type_next, link);
	if (!m->type_next)
		journal_set32(c, &head->node.user, link);
}

/* m is the oldest of its type. size: m->size. */
static inline void unlink_msg(
	struct caller *c, struct msgqueue *q, struct msg *m, u64 size)
{
	struct msg *successor = msg_at(c, m->type_next);
	u32 first = ENDS_FIRST(q->ends), last = ENDS_LAST(q->ends);
	u32 prev = m->prev, next = m->next;

	if (prev)
		journal_set32(c, &msg_must(c, prev)->next, next);
	else
		first = next;
	if (next)
		journal_set32(c, &msg_must(c, next)->prev, prev);
	else
		last = prev;
	if (!prev || !next)
		journal_set64(c, &q->ends, ENDS(first, last));
	if (successor) {
		/* The successor's node is not in the tree yet: no journal. */
		atom_store_release(&successor->node.user, m->node.user);
		rbtree_replace(c, &q->types, &m->node, &successor->node);
	} else {
		rbtree_remove(c, &q->types, &m->node);
	}
	journal_set64(c, &q->count, q->count - COUNT(size));
}

/* Messages read one by one before the types are searched, too, in case these
 * are fewer; and messages read in one hold of the lock. Arbitrary. */
#define FEW 64u
#define SEEK_STEP 500u

int msgqueue_seek(const struct caller *c, const struct slot *s,
	struct msgqueue *q, u64 position, struct msg_seek *at, int whole)
{
	u32 n = whole ? UINT32_MAX : SEEK_STEP;
	struct walk w = {0};

	if (position >= MSG_NUM(q->count))
		return -ENOMSG;
	if (!at->m || s->lock.count != at->count + 1) {
		at->m = msg_at(c, ENDS_FIRST(q->ends));
		at->left = position;
		at->begun++;
	}
	at->count = s->lock.count;
	for (; at->left && n && at->m; at->left--, n--) {
		if (unlikely(!walk_goes_on(c, &w, at->m->next)))
			at->left = 1;
		at->m = msg_at(c, at->m->next);
	}
	return !at->m ? -ENOMSG : !at->left;
}

/* The oldest message of any other type. */
static struct msg *oldest_not_of(
	const struct caller *c, struct msgqueue *q, s64 type, struct msg *m)
{
	struct rbtree_node *n = rbtree_first(c, q->types);
	struct msg *best = NULL;
	struct walk w = {0};

	/* Types and messages in turn: it ends with whichever are fewer. */
	for (; n && !c->damaged; n = rbtree_above(c, q->types, n->key)) {
		struct msg *t = (struct msg *)n;

		if (n->key != type && (!best || t->stamp < best->stamp))
			best = t;
		if (m && m->node.key != type)
			return m;
		if (m && walk_goes_on(c, &w, rbtree_link(c, m)))
			m = msg_at(c, m->next);
	}
	return best;
}

static __attribute__((noinline)) struct msg *first_not_of(
	const struct caller *c, struct msgqueue *q, s64 type)
{
	struct msg *m = msg_at(c, ENDS_FIRST(q->ends));
	u32 left = FEW;

	for (; m && m->node.key == type; m = msg_at(c, m->next))
		if (!left--)
			return oldest_not_of(c, q, type, m);
	return m;
}

struct msg *msgqueue_select(
	const struct caller *c, struct msgqueue *q, u32 mode, s64 want)
{
	struct rbtree_node *n;

	switch (MSG_TAKE_HOW(mode)) {
	case MSG_TAKE_ANY:
		return msg_at(c, ENDS_FIRST(q->ends));
	case MSG_TAKE_TYPE:
		return type_head(c, q, want);
	case MSG_TAKE_NOT_TYPE:
		return first_not_of(c, q, want);
	case MSG_TAKE_UP_TO:
		n = rbtree_first(c, q->types);
		return n && n->key <= want ? (struct msg *)n : NULL;
	default:
		return NULL;
	}
}

static int matches(const struct msg_wait *wait, s64 type)
{
	switch (MSG_TAKE_HOW(wait->mode)) {
	case MSG_TAKE_ANY:
		return 1;
	case MSG_TAKE_TYPE:
		return type == wait->want;
	case MSG_TAKE_NOT_TYPE:
		return type != wait->want;
	default:
		return type <= wait->want;
	}
}

/* ---- sleepers ---- */

static struct wait_queue *queue_of(struct msgqueue *q, const struct waiter *w)
{
	return w->kind == MSG_Q_RECEIVER ? &q->receivers : &q->senders;
}

void msgqueue_enqueue(struct caller *c, struct slot *s, struct msgqueue *q,
	u32 kind, const struct msg_wait *wait)
{
	struct waiter *w = wait_own(c);
	struct wait_queue *wq;
	u32 idx = wait_index(c, w);

	w->msg = *wait;
	w->kind = kind;
	w->pid = c->pid;
	w->n_sops = 0;
	w->undo.off = 0;
	w->slot_idx = region_slot_idx(&c->region, FAC_MSG, s);
	w->facility = FAC_MSG;
	w->ident = s->ident;
	w->stamp = ++q->stamp;
	w->since = sys_realtime_sec();
	wait_begin(c, w);
	wq = queue_of(q, w);
	atom_store_release(&w->next, 0);
	atom_store_release(&w->prev, wq->tail);
	if (wq->tail)
		journal_set32(c, &wait_must(c, wq->tail)->next, idx);
	else
		journal_set32(c, &wq->head, idx);
	journal_set32(c, &wq->tail, idx);
	journal_set32(c, &w->state, WAIT_QUEUED);
	journal_commit(c);
}

void msgqueue_dequeue(
	struct caller *c, struct msgqueue *q, struct waiter *w, s32 result)
{
	struct wait_queue *wq = queue_of(q, w);

	if (w->prev)
		journal_set32(c, &wait_must(c, w->prev)->next, w->next);
	else
		journal_set32(c, &wq->head, w->next);
	if (w->next)
		journal_set32(c, &wait_must(c, w->next)->prev, w->prev);
	else
		journal_set32(c, &wq->tail, w->prev);
	journal_set32(c, (u32 *)&w->result, result);
	journal_set32(c, &w->state, WAIT_DONE);
}

/* An operation of its own. */
static void cancel_waiter(
	struct caller *c, struct msgqueue *q, struct waiter *w, s32 result)
{
	msgqueue_dequeue(c, q, w, result);
	if (!wait_dead(w))
		wait_grant(c, w);
	journal_commit(c);
}

/*
 * The next of a queue of sleepers to be ended. Each is WAIT_QUEUED until then.
 * If one is not, the queue is damaged and the rest of it dropped: its sleepers
 * find out at the end of their slices (object/sleep.h).
 */
static struct waiter *next_of(struct caller *c, struct wait_queue *wq)
{
	struct waiter *w = wait_at(c, wq->head);

	if (likely(!w || w->state == WAIT_QUEUED))
		return w;
	damage_met(c);
	journal_set32(c, &wq->head, 0);
	journal_set32(c, &wq->tail, 0);
	journal_commit(c);
	c->damaged = 0;
	return NULL;
}

/* The oldest sleeper if it is alive, for only that one may sleep without a
 * timer. The caller ends it. */
void msgqueue_crash_guard(struct caller *c, struct msgqueue *q)
{
	struct waiter *r = wait_first_alive(c, &q->receivers);
	struct waiter *s = wait_first_alive(c, &q->senders);

	if (r && s && s->stamp < r->stamp)
		r = s;
	if (r || s)
		wait_crash_guard(c, r ? r : s);
}

int msgqueue_cancel_some(struct caller *c, struct msgqueue *q, s32 result)
{
	u32 left = HOLD_LEAVES;
	struct waiter *w;

	while ((w = next_of(c, &q->receivers)) ||
		(w = next_of(c, &q->senders))) {
		if (!left--)
			return 1;
		/* In the kernel a stopped receiver would have left the
		 * queue. */
		cancel_waiter(c, q, w,
			!wait_dead(w) && wait_stopped(c, w) ? SLEEP_ANEW
							    : result);
	}
	wait_crash_guard_end(c);
	return 0;
}

/*
 * Each sender is woken if it fits into the space there is now, whatever those
 * before it will take. Linux moves those that do not fit behind those that do;
 * here those that fit leave the queue: the remaining order is the same.
 */
static int wake_senders(struct caller *c, struct msgqueue *q, u32 left)
{
	struct waiter *w = wait_at(c, q->senders.head), *next;
	struct walk walk = {0};

	for (; w && walk_goes_on(c, &walk, wait_index(c, w)); w = next) {
		next = wait_at(c, w->next);
		if (!wait_dead(w) && !msg_fits(q, w->msg.max_size))
			continue;
		if (!left--)
			return 1;
		cancel_waiter(c, q, w, SLEEP_RETRY);
	}
	return 0;
}

static int too_small(const struct msg_wait *wait, u64 size)
{
	return size > wait->max_size && !(wait->mode & MSG_TAKE_CUT);
}

/*
 * A message of this type and size came: of the receivers queued before stamp
 * that match it, those without space for it end with E2BIG, and the others
 * retry. 1: `left` sleepers were ended, and there are more.
 */
static int let_go(struct caller *c, struct msgqueue *q, s64 type, u64 size,
	u64 stamp, u32 *left)
{
	struct waiter *w = wait_at(c, q->receivers.head), *next;
	struct walk walk = {0};
	s32 result;

	for (; w && w->stamp < stamp &&
		walk_goes_on(c, &walk, wait_index(c, w));
		w = next) {
		next = wait_at(c, w->next);
		if (!wait_dead(w) && !matches(&w->msg, type))
			continue;
		if (!(*left)--)
			return 1;
		result = too_small(&w->msg, size) && !wait_stopped(c, w)
				 ? -E2BIG
				 : SLEEP_RETRY;
		cancel_waiter(c, q, w, result);
	}
	return 0;
}

static int let_go_for_youngest(struct caller *c, struct msgqueue *q, u32 *left)
{
	const struct msg *m = msg_at(c, ENDS_LAST(q->ends));

	return m && let_go(c, q, m->node.key, m->size, UINT64_MAX, left);
}

/* Wake the sleepers that pending names, HOLD_LEAVES at most; 1: there are
 * more. */
static int wake_some(struct caller *c, struct msgqueue *q)
{
	u32 left = HOLD_LEAVES;
	struct waiter *w;

	while ((q->pending & MSG_PEND_RECEIVERS) &&
		(w = next_of(c, &q->receivers))) {
		if (!left--)
			return 1;
		cancel_waiter(c, q, w, SLEEP_RETRY);
	}
	if ((q->pending & MSG_PEND_YOUNGEST) &&
		let_go_for_youngest(c, q, &left))
		return 1;
	return (q->pending & MSG_PEND_SENDERS) && wake_senders(c, q, left);
}

/* Give the lock to others, and take it again. */
static __attribute__((noinline)) void wake_pause(
	struct caller *c, struct slot *s)
{
	wait_pause_begin(c);
	wait_pause_end(c, lock_pause(c, &s->lock));
	lock_acquire(c, &s->lock);
	section_end(c);
	if (s->bias)
		take_back(c, s);
}

void msgqueue_wake(struct caller *c, struct slot *s)
{
	struct msgqueue *q = queue_there(c, s);

	while (q && q->pending && unlikely(wake_some(c, q))) {
		wake_pause(c, s);
		q = queue_there(c, s);
	}
	if (q && q->pending)
		atom_store_release(&q->pending, 0);
	wait_crash_guard_end(c);
}

void msgqueue_commit_and_wake(
	struct caller *c, struct slot *s, struct msgqueue *q, u32 pending)
{
	journal_set32(c, &q->pending, q->pending | pending);
	msgqueue_crash_guard(c, q);
	journal_commit(c);
	msgqueue_wake(c, s);
}

/* ---- sending ---- */

static void note_sent(struct caller *c, struct msgqueue *q, u32 pid)
{
	s64 now = sys_realtime_sec();

	if (!pid)
		return;
	if (q->lspid != pid)
		journal_set32(c, &q->lspid, pid);
	if (q->stime != now)
		journal_set64(c, (u64 *)&q->stime, (u64)now);
}

static void note_received(struct caller *c, struct msgqueue *q, u32 pid)
{
	s64 now = sys_realtime_sec();

	if (q->lrpid != pid)
		journal_set32(c, &q->lrpid, pid);
	if (q->rtime != now)
		journal_set64(c, (u64 *)&q->rtime, (u64)now);
}

/* Give the payload to the receiver's blocks; part of an operation. 0, or
 * -ENOMEM if a block is missing. */
static int hand_payload(
	struct caller *c, struct parcel *p, struct msg_blocks *to)
{
	struct msg_blocks *own = msg_own_blocks(c);
	u64 mine;
	char *text;

	if (p->where == MSG_IN_CELL) {
		text = msgmem_block(c, to, MSG_IN_TIER0, p->size);
		if (!text)
			return -ENOMEM;
		/* The receiver reads it only once it is granted. */
		copy_bytes(text, p->text, p->size);
		return 0;
	}
	if (p->where == MSG_IN_BIG) {
		journal_set64(c, &to->big_cap, own->big_cap);
		journal_set64(c, &to->big.off, own->big.off);
		journal_set64(c, &own->big.off, 0);
		return 0;
	}
	mine = own->tier[p->where].off;
	journal_set64(c, &own->tier[p->where].off, to->tier[p->where].off);
	journal_set64(c, &to->tier[p->where].off, mine);
	return 0;
}

/* The rest of an operation that gives w its message. */
static void hand_over_commit(struct caller *c, struct msgqueue *q,
	struct waiter *w, const struct parcel *p, u32 pid)
{
	struct thread *th = region_thread(&c->region, wait_index(c, w));
	u64 capacity = w->msg.max_size;

	atom_store_release(&w->msg.type, p->type);
	atom_store_release(&w->msg.size, p->size);
	atom_store_release(&w->msg.stamp, p->stamp);
	note_sent(c, q, pid);
	/* The kernel stores the thread's id here, not the process's. */
	note_received(c, q, th->tid);
	msgqueue_dequeue(
		c, q, w, (s32)(p->size < capacity ? p->size : capacity));
	wait_grant(c, w);
	journal_commit(c);
}

/* The message in a cell of its own, not yet linked. NULL: no memory. The first
 * part of an operation. */
static inline struct msg *make_msg(
	struct caller *c, struct msgqueue *q, const struct parcel *p)
{
	struct msg *m = msgmem_take(
		c, q, p->where == MSG_IN_CELL ? p->size : MSG_INLINE + 1);

	if (unlikely(!m))
		return NULL;
	atom_store_release(&m->node.key, p->type);
	atom_store_release(&m->size, (u32)p->size);
	atom_store_release(&m->stamp, p->stamp);
	if (likely(p->where == MSG_IN_CELL))
		copy_bytes(m->text, p->text, p->size);
	else
		msgmem_block_in(c, q, m);
	return m;
}

/* As hand_over, to a receiver that leases what it receives: the message gets a
 * cell, and its record refers to it. */
static __attribute__((noinline)) int hand_over_leased(struct caller *c,
	struct msgqueue *q, struct waiter *w, const struct parcel *p, u32 pid)
{
	struct thread *th = region_thread(&c->region, wait_index(c, w));
	struct lease *l = lease_at(c, w->msg.lease);
	char *text = NULL;
	struct msg *m;

	if (!l || l->state != LEASE_READY || l->tid != th->tid)
		return -ENOMEM;
	if (p->where == MSG_IN_CELL) {
		text = msgmem_block(c, &th->blocks, MSG_IN_TIER0, p->size);
		if (!text)
			return -ENOMEM;
	}
	m = make_msg(c, q, p);
	if (!m)
		return -ENOMEM;
	if (text)
		copy_bytes(text, p->text, p->size);
	atom_store_release(
		&w->msg.where, text ? (u32)MSG_IN_TIER0 : (u32)MSG_IN_LEASE);
	journal_set32(c, &l->msg, rbtree_link(c, m));
	lease_hold(c, l, p->stamp);
	if (unlikely(c->damaged))
		return damage_abort(c);
	hand_over_commit(c, q, w, p, pid);
	return 0;
}

/* Give the message to w; an operation of its own. */
static int hand_over(struct caller *c, struct msgqueue *q, struct waiter *w,
	struct parcel *p, u32 pid)
{
	struct thread *th = region_thread(&c->region, wait_index(c, w));

	if (unlikely(w->msg.lease.off))
		return hand_over_leased(c, q, w, p, pid);
	if (hand_payload(c, p, &th->blocks)) {
		journal_abort(c);
		return -ENOMEM;
	}
	atom_store_release(&w->msg.where,
		p->where == MSG_IN_CELL ? (u32)MSG_IN_TIER0 : p->where);
	hand_over_commit(c, q, w, p, pid);
	return 0;
}

/* The first receiver that takes the message, or NULL; others: some before it
 * match and are to be ended. */
static struct waiter *find_taker(struct caller *c, const struct msgqueue *q,
	const struct parcel *p, int *ret_others)
{
	struct waiter *w = wait_at(c, q->receivers.head);
	struct walk walk = {0};

	for (; w && walk_goes_on(c, &walk, wait_index(c, w));
		w = wait_at(c, w->next)) {
		if (!wait_dead(w)) {
			if (!matches(&w->msg, p->type))
				continue;
			if (!too_small(&w->msg, p->size) && !wait_stopped(c, w))
				return w;
		}
		*ret_others = 1;
	}
	return NULL;
}

/* A receiver queued at stamp has the message. If we die here, those before it
 * sleep on as if they had come after it. */
static __attribute__((noinline)) void let_go_before(struct caller *c,
	struct slot *s, struct msgqueue *q, const struct parcel *p, u64 stamp)
{
	const u64 ident = s->ident;
	u32 left = HOLD_LEAVES;

	while (let_go(c, q, p->type, p->size, stamp, &left)) {
		wait_pause_begin(c);
		wait_pause_end(c, lock_pause(c, &s->lock));
		msg_lock_any(c, s);
		section_end(c);
		if (s->ident != ident)
			return;
		left = HOLD_LEAVES;
	}
}

/* Queue the message; an operation of its own. pid 0: a message put back. */
static inline int put(
	struct caller *c, struct msgqueue *q, const struct parcel *p, u32 pid)
{
	struct msg *m = make_msg(c, q, p);

	if (unlikely(!m))
		return -ENOMEM;
	if (likely(pid))
		link_last(c, q, m);
	else
		link_by_stamp(c, q, m);
	journal_set64(c, &q->count, q->count + COUNT(p->size));
	note_sent(c, q, pid);
	if (unlikely(c->damaged))
		return damage_abort(c);
	journal_commit(c);
	msg_thread(c)->fetch[0] = m;
	return 0;
}

/*
 * The message is queued before receivers are ended with E2BIG, so that one that
 * calls again with more space finds it, even if we die. A message that is put
 * back is not the youngest: then all receivers retry.
 */
static __attribute__((noinline)) int put_then_wake(struct caller *c,
	struct slot *s, struct msgqueue *q, const struct parcel *p, u32 pid)
{
	int err;

	journal_set32(c, &q->pending,
		q->pending | (pid ? MSG_PEND_YOUNGEST : MSG_PEND_RECEIVERS));
	msgqueue_crash_guard(c, q);
	err = put(c, q, p, pid);
	if (err)
		journal_abort(c);
	msgqueue_wake(c, s);
	return err;
}

/* Some receivers are asleep. */
static int send_to_sleepers(struct caller *c, struct slot *s,
	struct msgqueue *q, struct parcel *p, u32 pid)
{
	int others = 0;
	struct waiter *w = find_taker(c, q, p, &others);

	if (w && !hand_over(c, q, w, p, pid)) {
		if (unlikely(others))
			let_go_before(c, s, q, p, w->stamp);
		return 0;
	}
	return unlikely(w || others) ? put_then_wake(c, s, q, p, pid)
				     : put(c, q, p, pid);
}

int msgqueue_send(struct caller *c, struct slot *s, struct msgqueue *q,
	struct parcel *p, u32 pid)
{
	if (!p->stamp)
		p->stamp = ++q->stamp;
	return q->receivers.head ? send_to_sleepers(c, s, q, p, pid)
				 : put(c, q, p, pid);
}

int msgqueue_put_biased(
	struct caller *c, struct msgqueue *q, const struct parcel *p)
{
	struct parcel stamped = *p;

	stamped.stamp = ++q->stamp;
	return put(c, q, &stamped, c->pid);
}

/* ---- receiving ---- */

/* The start of both ways of taking a message: describe it in *p, and unlink
 * it. */
static inline __attribute__((always_inline)) void take_begin(
	struct caller *c, struct msgqueue *q, struct msg *m, struct parcel *p)
{
	p->type = m->node.key;
	p->size = m->size;
	p->stamp = m->stamp;
	p->where = msgmem_where(p->size);
	unlink_msg(c, q, m, p->size);
}

/* Part of an operation. */
static inline __attribute__((flatten)) void take_out(
	struct caller *c, struct msgqueue *q, struct msg *m, struct parcel *p)
{
	take_begin(c, q, m, p);
	if (likely(p->where == MSG_IN_CELL))
		copy_bytes(p->text, m->text, p->size);
	else
		msgmem_block_out(c, q, m, p->where);
	msgmem_give(c, q, m);
	note_received(c, q, c->pid);
	msg_thread(c)->fetch[0] = m;
}

int msgqueue_take_biased(
	struct caller *c, struct msgqueue *q, struct msg *m, struct parcel *p)
{
	take_out(c, q, m, p);
	if (unlikely(c->damaged))
		return damage_abort(c);
	journal_commit(c);
	return 0;
}

/* The rest of an operation that takes m out of the queue. */
static inline int take_commit(
	struct caller *c, struct slot *s, struct msgqueue *q, struct msg *m)
{
	if (unlikely(c->damaged))
		return damage_abort(c);
	if (unlikely(q->senders.head)) {
		journal_set32(c, &q->pending, q->pending | MSG_PEND_SENDERS);
		msgqueue_crash_guard(c, q);
	}
	journal_commit(c);
	msgmem_trim(c, q, m);
	if (unlikely(q->pending))
		msgqueue_wake(c, s);
	return 0;
}

int msgqueue_take(struct caller *c, struct slot *s, struct msgqueue *q,
	struct msg *m, struct parcel *p)
{
	take_out(c, q, m, p);
	return take_commit(c, s, q, m);
}

int msgqueue_take_leased(struct caller *c, struct slot *s, struct msgqueue *q,
	struct msg *m, struct parcel *p, struct lease *l)
{
	take_begin(c, q, m, p);
	if (likely(p->where == MSG_IN_CELL))
		copy_bytes(p->text, m->text, p->size);
	journal_set32(c, &l->msg, rbtree_link(c, m));
	lease_hold(c, l, p->stamp);
	note_received(c, q, c->pid);
	return take_commit(c, s, q, m);
}

void msgqueue_relink(struct caller *c, struct msgqueue *q, struct msg *m)
{
	link_by_stamp(c, q, m);
	journal_set64(c, &q->count, q->count + COUNT(m->size));
}
