// SPDX-License-Identifier: MIT
/*
 * The memory of messages.
 *
 * Small messages: cells of eight sizes, cut from chunks that belong to the
 * queue. A chunk knows its free cells; a queue keeps, for each size, the list
 * of its chunks with space and that of the full ones. Chunks come from the heap
 * (the only time its lock is taken), the first of a size being 4 KiB and later
 * ones larger, and go back when they are empty: one empty chunk of a size is
 * kept while the queue has messages, only 4-KiB ones when it has none.
 *
 * Large messages: a cell that refers to a block of its own. The sender fills a
 * block that its thread owns before it takes the queue's lock; sending gives
 * the block to the queue and takes a free one in exchange, receiving does the
 * opposite. So nothing is copied under the lock, a message is complete or
 * absent, and every block is always in exactly one reference: of a thread, of a
 * message or in the queue's list of free ("warm") blocks. Surplus blocks of
 * that list go back to their slabs (msgslab.h), and empty slabs to the system.
 *
 * Keeps INV_MSG_CELL, INV_MSG_CHUNK, INV_MSG_BLOCK (inspect/check.h).
 */
#include "msg/msglease.h"
#include "msg/msgslab.h"
#include "object/reap.h"
#include "registry/heap.h"

#define UNIT 64u
#define CHUNK_FIRST 4096u
#define CHUNK_NEXT 16384u
/* Large enough that the heap gives its pages back to the system. */
#define CHUNK_LARGE (128u << 10)
/* Chunks of the middle size before the large ones. Arbitrary. */
#define N_SMALLER_CHUNKS 4u
/* Warm blocks kept of each size, with messages in the queue and without.
 * Arbitrary. */
#define WARM_BUSY 16u
#define WARM_EMPTY 2u

static const unsigned char class_units[MSG_CLASSES] = {
	1, 2, 3, 4, 6, 8, 12, 17};

/* ---- payload blocks ---- */

u32 msgmem_where(u64 size)
{
	if (size <= MSG_INLINE)
		return MSG_IN_CELL;
	if (size <= msgslab_cap(MSG_IN_TIER0))
		return MSG_IN_TIER0;
	if (size <= msgslab_cap(MSG_IN_TIER1))
		return MSG_IN_TIER1;
	return size <= msgslab_cap(MSG_IN_TIER2) ? MSG_IN_TIER2 : MSG_IN_BIG;
}

char *msgmem_block(
	const struct caller *c, struct msg_blocks *b, u32 where, u64 size)
{
	if (where == MSG_IN_BIG)
		return size <= b->big_cap
			       ? region_span(&c->region, b->big, size)
			       : NULL;
	if (where >= MSG_TIERS || size > msgslab_cap(where))
		return NULL;
	return region_span(&c->region, b->tier[where], msgslab_cap(where));
}

void msgmem_drop_big(struct caller *c)
{
	struct msg_blocks *b = msg_own_blocks(c);

	if (b->big.off)
		heap_free_at(c, b->big_cap, &b->big);
}

void msg_release_blocks(struct caller *c)
{
	struct msg_blocks *b = msg_own_blocks(c);
	u32 t;

	msgmem_drop_big(c);
	for (t = 0; t < MSG_TIERS; t++)
		if (b->tier[t].off && msgslab_free_at(c, t, &b->tier[t]))
			heap_settle(c);
}

int msgmem_own_block(struct caller *c, u32 where, u64 size)
{
	struct msg_blocks *b = msg_own_blocks(c);
	u64 cap;

	if (where == MSG_IN_CELL)
		return 0;
	if (where != MSG_IN_BIG)
		return b->tier[where].off
			       ? 0
			       : msgslab_alloc_at(c, where, &b->tier[where]);
	cap = heap_block_size(size);
	if (b->big.off && b->big_cap == cap)
		return 0;
	msgmem_drop_big(c);
	if (!cap)
		return -ENOMEM;
	atom_store_release(&b->big_cap, cap);
	return heap_alloc_at(c, cap, &b->big);
}

void msgmem_lose_block(struct caller *c, u32 where)
{
	struct msg_blocks *b = msg_own_blocks(c);

	atom_store_release(
		where == MSG_IN_BIG ? &b->big.off : &b->tier[where].off, 0);
}

static void warm_push(
	struct caller *c, struct msgqueue *q, u32 tier, struct ref block)
{
	u64 *link = region_span(&c->region, block, msgslab_cap(tier));

	if (!link)
		return;
	/* The contents of a free block are not used: its link may go there. */
	atom_store_release(link, q->warm[tier].off);
	journal_set_ref(c, &q->warm[tier], block);
	journal_set32(c, &q->n_warm[tier], q->n_warm[tier] + 1);
}

static struct ref warm_pop(struct caller *c, struct msgqueue *q, u32 tier)
{
	struct ref block = q->warm[tier];
	u64 *link = region_span(&c->region, block, msgslab_cap(tier));

	if (!link) {
		/* Empty, or a damaged list, which is dropped. */
		if (q->n_warm[tier] || block.off) {
			journal_set64(c, &q->warm[tier].off, 0);
			journal_set32(c, &q->n_warm[tier], 0);
		}
		return (struct ref){0};
	}
	journal_set64(c, &q->warm[tier].off, *link);
	journal_set32(c, &q->n_warm[tier], q->n_warm[tier] - 1);
	return block;
}

void msgmem_block_in(struct caller *c, struct msgqueue *q, struct msg *m)
{
	struct msg_blocks *b = msg_own_blocks(c);
	struct msg_block *mb = msg_block_of(m);
	u32 where = msgmem_where(m->size);

	/* The cell is not reachable yet. */
	if (where >= MSG_IN_BIG) {
		atom_store_release(&mb->ref.off, b->big.off);
		atom_store_release(&mb->cap, b->big_cap);
		journal_set64(c, &b->big.off, 0);
		return;
	}
	atom_store_release(&mb->ref.off, b->tier[where].off);
	atom_store_release(&mb->cap, msgslab_cap(where));
	journal_set_ref(c, &b->tier[where], warm_pop(c, q, where));
}

void msgmem_block_out(
	struct caller *c, struct msgqueue *q, struct msg *m, u32 where)
{
	struct msg_blocks *b = msg_own_blocks(c);
	struct msg_block *mb = msg_block_of(m);
	u64 off = mb->ref.off;

	journal_set64(c, &mb->ref.off, 0);
	if (where == MSG_IN_BIG) {
		journal_set64(c, &b->big.off, off);
		journal_set64(c, &b->big_cap, mb->cap);
		return;
	}
	if (b->tier[where].off)
		warm_push(c, q, where, b->tier[where]);
	journal_set64(c, &b->tier[where].off, off);
}

/* ---- chunks ---- */

#define STATE_FREE(state) ((u32)((state) >> 32))
#define STATE_LIVE(state) ((u32)((state) >> 16) & 0xffff)
#define STATE_USED(state) ((u32)(state)&0xffff)
#define STATE(free, live, used) ((u64)(free) << 32 | (u64)(live) << 16 | (used))

static struct msg_chunk *chunk_at(const struct caller *c, u32 link)
{
	return link_must(c, link);
}

/* Its index in msgqueue.class and class_units. */
static inline u32 class_in(const struct msg_chunk *ch)
{
	return ch->class % MSG_CLASSES;
}

/* A chunk has one of these; what chunk_drop left, or other memory, does not. */
static int size_is_right(u64 size)
{
	return size == CHUNK_FIRST || size == CHUNK_NEXT || size == CHUNK_LARGE;
}

static void list_push(struct caller *c, u32 *head, struct msg_chunk *ch)
{
	u32 link = rbtree_link(c, ch);

	journal_set32(c, &ch->next, *head);
	journal_set32(c, &ch->prev, 0);
	if (*head)
		journal_set32(c, &chunk_at(c, *head)->prev, link);
	journal_set32(c, head, link);
}

static void list_remove(struct caller *c, u32 *head, struct msg_chunk *ch)
{
	if (ch->prev)
		journal_set32(c, &chunk_at(c, ch->prev)->next, ch->next);
	else
		journal_set32(c, head, ch->next);
	if (ch->next)
		journal_set32(c, &chunk_at(c, ch->next)->prev, ch->prev);
}

static int chunk_is_full(const struct msg_chunk *ch)
{
	return !STATE_FREE(ch->state) && STATE_USED(ch->state) == ch->n_cells;
}

/* An operation of its own. */
static int chunk_add(struct caller *c, struct msgqueue *q, u32 k)
{
	struct msg_class *cl = &q->class[k];
	struct msg_chunk *ch;
	u32 size = CHUNK_FIRST;
	int err;

	if (cl->n_chunks)
		size = cl->n_chunks < N_SMALLER_CHUNKS ? CHUNK_NEXT
						       : CHUNK_LARGE;
	heap_acquire(c);
	err = heap_alloc_locked(c, size, &q->new_chunk);
	if (err) {
		journal_abort(c);
		heap_release(c);
		return err;
	}
	ch = ref_must(c, q->new_chunk);
	atom_store_release(&ch->state, 0);
	atom_store_release(&ch->class, k);
	atom_store_release(&ch->size, (u64)size);
	atom_store_release(&ch->n_cells,
		(size - (u32)sizeof(*ch)) / (class_units[k] * UNIT));
	list_push(c, &cl->partial, ch);
	journal_set32(c, &cl->n_chunks, cl->n_chunks + 1);
	if (size > CHUNK_FIRST)
		journal_set32(c, &q->n_large, q->n_large + 1);
	journal_set64(c, &q->new_chunk.off, 0);
	journal_commit(c);
	heap_release(c);
	return 0;
}

/* An operation of its own. list: which it is in. 1: it has become this
 * thread's, with its pages (heap_leave), as a large one does if possible. */
static int chunk_drop(
	struct caller *c, struct msgqueue *q, u32 *list, struct msg_chunk *ch)
{
	struct msg_class *cl = &q->class[class_in(ch)];
	u64 size = ch->size, off = region_off(&c->region, ch);
	int freed;

	if (unlikely(!size_is_right(size))) {
		/* No chunk, or one that is gone: the rest of the list is
		 * lost. */
		journal_set32(c, list, 0);
		journal_commit(c);
		return 0;
	}
	list_remove(c, list, ch);
	journal_set32(c, &cl->n_chunks, cl->n_chunks - 1);
	if (cl->idle == rbtree_link(c, ch))
		journal_set32(c, &cl->idle, 0);
	if (size > CHUNK_FIRST)
		journal_set32(c, &q->n_large, q->n_large - 1);
	/* Should another list lead here, it ends here. */
	journal_set64(c, &ch->size, 0);
	journal_set64(c, &q->new_chunk.off, off);
	if (heap_leave(c, size, &q->new_chunk)) {
		journal_commit(c);
		return 1;
	}
	heap_acquire(c);
	freed = heap_free_locked(c, size, &q->new_chunk);
	journal_commit(c);
	if (freed)
		heap_discard(c, off, size);
	heap_release(c);
	return 0;
}

static u32 class_of(u64 size)
{
	u64 cell = sizeof(struct msg) + size;
	u32 k = 0;

	if (size > MSG_INLINE)
		cell = sizeof(struct msg) + sizeof(struct msg_block);
	while (class_units[k] * UNIT < cell)
		k++;
	return k;
}

struct msg *msgmem_take(struct caller *c, struct msgqueue *q, u64 size)
{
	u32 k = class_of(size), free, live, used;
	struct msg_class *cl = &q->class[k];
	struct msg_chunk *ch;
	struct msg *m;

	if (unlikely(!cl->partial) && chunk_add(c, q, k))
		return NULL;
	ch = chunk_at(c, cl->partial);
	free = STATE_FREE(ch->state);
	live = STATE_LIVE(ch->state);
	used = STATE_USED(ch->state);
	if (free) {
		m = msg_at(c, free);
		free = m->free_next;
	} else {
		if (unlikely(used >= CHUNK_LARGE / UNIT / class_units[k]))
			ch = damage_met(c), used = 0;
		m = (struct msg *)((char *)(ch + 1) +
				   (u64)used * class_units[k] * UNIT);
		used++;
	}
	journal_set64(c, &ch->state, STATE(free, live + 1, used));
	if (unlikely(chunk_is_full(ch))) {
		list_remove(c, &cl->partial, ch);
		list_push(c, &cl->full, ch);
	}
	atom_store_release(&m->chunk, rbtree_link(c, ch));
	msg_thread(c)->fetch[1] = ch;
	return m;
}

void msgmem_give(struct caller *c, struct msgqueue *q, struct msg *m)
{
	struct msg_chunk *ch = chunk_at(c, m->chunk);
	struct msg_class *cl = &q->class[class_in(ch)];
	u64 state = ch->state;

	msg_thread(c)->fetch[1] = ch;

	if (unlikely(chunk_is_full(ch))) {
		list_remove(c, &cl->full, ch);
		list_push(c, &cl->partial, ch);
	}
	/* Not read while the message exists, in case this is rolled back. */
	atom_store_release(&m->free_next, STATE_FREE(state));
	journal_set64(c, &ch->state,
		STATE(rbtree_link(c, m), STATE_LIVE(state) - 1,
			STATE_USED(state)));
}

int msgmem_has_space(const struct msgqueue *q, u64 size)
{
	return q->class[class_of(size)].partial != 0;
}

int msgmem_trim_due(
	const struct caller *c, const struct msgqueue *q, const struct msg *m)
{
	const struct msg_chunk *ch = chunk_at(c, m->chunk);
	int empty = MSG_NUM(q->count) == 1;
	u32 most = empty ? WARM_EMPTY : WARM_BUSY, t, where;

	where = msgmem_where(m->size);
	for (t = 0; t < MSG_TIERS; t++)
		if (unlikely(q->n_warm[t] + (t == where) > most))
			return 1;
	return empty ? q->n_large != 0
		     : STATE_LIVE(ch->state) == 1 &&
			       q->class[class_in(ch)].n_chunks > 1;
}

/* 1: a slab has become this thread's, and there may be more to do. */
static int warm_trim(struct caller *c, struct msgqueue *q, u32 most)
{
	u32 t;
	int left;

	for (t = 0; t < MSG_TIERS; t++)
		while (unlikely(q->n_warm[t] > most)) {
			journal_set_ref(c, &q->new_chunk, warm_pop(c, q, t));
			left = msgslab_free_at(c, t, &q->new_chunk);
			if (unlikely(q->new_chunk.off)) {
				/* Not a block: the whole list is damaged. */
				journal_set64(c, &q->new_chunk.off, 0);
				journal_set64(c, &q->warm[t].off, 0);
				journal_set32(c, &q->n_warm[t], 0);
				journal_commit(c);
			}
			if (left)
				return 1;
		}
	return 0;
}

/* The queue is empty: only 4-KiB chunks are kept. 1: a chunk or slab has become
 * this thread's, and there may be more to do. */
static int trim_empty(struct caller *c, struct msgqueue *q)
{
	struct walk w = {0};
	struct msg_chunk *ch;
	u32 k, link, next;

	if (warm_trim(c, q, WARM_EMPTY))
		return 1;
	for (k = 0; q->n_large && k < MSG_CLASSES; k++)
		for (link = q->class[k].partial;
			link && walk_goes_on(c, &w, link); link = next) {
			ch = chunk_at(c, link);
			next = ch->next;
			if (!STATE_LIVE(ch->state) && ch->size > CHUNK_FIRST &&
				chunk_drop(c, q, &q->class[k].partial, ch))
				return 1;
		}
	return 0;
}

int msgmem_trim_rest(struct caller *c, struct msgqueue *q)
{
	return MSG_NUM(q->count) ? warm_trim(c, q, WARM_BUSY)
				 : trim_empty(c, q);
}

void msgmem_trim(struct caller *c, struct msgqueue *q, struct msg *m)
{
	struct msg_chunk *ch = chunk_at(c, m->chunk), *other;
	struct msg_class *cl = &q->class[class_in(ch)];

	if (unlikely(!MSG_NUM(q->count))) {
		msg_thread(c)->trim_left = trim_empty(c, q);
		return;
	}
	msg_thread(c)->trim_left = (u32)warm_trim(c, q, WARM_BUSY);
	if (likely(STATE_LIVE(ch->state)) || cl->n_chunks == 1)
		return;
	other = rbtree_at(c, cl->idle);
	if (other == ch)
		return;
	if (!other || STATE_LIVE(other->state)) {
		atom_store_release(&cl->idle, rbtree_link(c, ch));
		return;
	}
	msg_thread(c)->trim_left |= (u32)chunk_drop(
		c, q, &cl->partial, other->size > ch->size ? other : ch);
}

/* ---- removal ---- */

/* What is freed in some microseconds; few for the tests that stop at each
 * store. Arbitrary. */
#if defined(IPCLIFT_CRASH) || defined(IPCLIFT_EXPLORE)
#define FEW_MESSAGES 1u
#else
#define FEW_MESSAGES 16u
#endif
#define FEW_BYTES 65536u

int msgmem_much(const struct msgqueue *q)
{
	u32 t, warm = 0;

	for (t = 0; t < MSG_TIERS; t++)
		warm += q->n_warm[t];
	return q->n_large || MSG_NUM(q->count) + warm > FEW_MESSAGES ||
	       MSG_BYTES(q->count) > FEW_BYTES || q->leases.used.off;
}

int msgmem_free_block(struct caller *c, u64 size, struct msg_block *mb)
{
	u32 where = msgmem_where(size);

	if (where != MSG_IN_BIG) {
		return msgslab_free_at(c, where, &mb->ref);
	} else if (heap_leave(c, mb->cap, &mb->ref)) {
		journal_commit(c);
		return 1;
	} else {
		heap_free_at(c, mb->cap, &mb->ref);
	}
	return 0;
}

/* Free the first message's block; its cell is freed with the chunk. In a
 * damaged queue the count bounds the walk; in a cycle each message is met once,
 * for its `next` is cleared once it is in no list. */
static int free_message(struct caller *c, struct msgqueue *q)
{
	u32 link = (u32)q->ends, next = 0;
	struct msg *m = msg_at(c, link);
	int left = 0;

	if (m && !c->damaged && MSG_NUM(q->count)) {
		next = m->next;
		if (m->size > MSG_INLINE && msg_block_of(m)->ref.off)
			left = msgmem_free_block(c, m->size, msg_block_of(m));
	}
	journal_set64(
		c, &q->ends, next ? (q->ends & ~(u64)UINT32_MAX) | next : 0);
	journal_set64(c, &q->count, next ? q->count - (1ULL << 35) : 0);
	journal_set32(c, &q->types, 0);
	journal_commit(c);
	if (m)
		atom_store_release(&m->next, 0);
	return left;
}

/* One chunk goes. 0 if there was none. */
static int free_chunk(struct caller *c, struct msgqueue *q)
{
	u32 k;

	for (k = 0; k < MSG_CLASSES; k++) {
		struct msg_class *cl = &q->class[k];
		u32 *list = cl->partial ? &cl->partial : &cl->full;

		if (!*list)
			continue;
		chunk_drop(c, q, list, chunk_at(c, *list));
		return 1;
	}
	return 0;
}

int msgmem_free_some(struct caller *c, struct msgqueue *q)
{
	u32 n;

	for (n = 0; (u32)q->ends && n < FEW_MESSAGES; n++)
		if (free_message(c, q))
			return 1;
	/* Leases before the chunks, which contain their messages. */
	if ((u32)q->ends || msglease_dispose(c, q))
		return 1;
	return warm_trim(c, q, 0) || free_chunk(c, q);
}

/* In the queue or on lease: then its chunks are in use. */
static int has_messages(const struct msgqueue *q)
{
	return MSG_NUM(atom_load_relaxed(&q->count)) ||
	       atom_load_relaxed(&q->leases.used.off);
}

int msgmem_has_spare(const struct msgqueue *q)
{
	u32 i, any = 0;

	for (i = 0; i < MSG_TIERS; i++)
		any |= atom_load_relaxed(&q->n_warm[i]);
	for (i = 0; !has_messages(q) && i < MSG_CLASSES; i++)
		any |= atom_load_relaxed(&q->class[i].n_chunks);
	return any != 0;
}

int msgmem_spare_some(struct caller *c, struct msgqueue *q)
{
	u32 t, warm = 0;

	for (t = 0; t < MSG_TIERS; t++)
		warm |= q->n_warm[t];
	if (warm) {
		warm_trim(c, q, 0);
		return 1;
	}
	return !has_messages(q) && free_chunk(c, q);
}

void msgmem_free_all(struct caller *c, struct msgqueue *q)
{
	while (msgmem_free_some(c, q))
		;
}
