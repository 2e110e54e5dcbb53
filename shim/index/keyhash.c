// SPDX-License-Identifier: MIT
/*
 * Linear hashing of keys; see keyhash.h. n_buckets buckets are in use; a hash
 * is taken modulo the next power of two, and modulo half of it if that names a
 * bucket not yet split off.
 *
 * Keeps INV_CHAIN, INV_N_KEYS, INV_KEY_SEQ, INV_BUCKETS (inspect/check.h).
 */
#include "index/keyhash.h"
#include "registry/damage.h"
#include "registry/journal/reserve.h"
#include "registry/lock.h"

/* After so many steps a reader gives up and takes the lock: chains are short,
 * so this is a cycle that a writer has made meanwhile. */
#define MAX_STEPS 4096
/* Longer chains are not split, for the journal would be large; with one key per
 * bucket they do not occur by chance. Arbitrary. */
#define SPLIT_MAX 1024
/* Measured with 31,900 keys: four are no faster, one is a little slower. */
#define BUCKETS_A_KEY 2u
/*
 * A link, that is a bucket or slot.next: idx + 1, 0 = end; whether another
 * follows; and the highest bits of the key's hash. Each slot visited on a chain
 * is a cache miss: by these bits most absent keys are found to be absent
 * without one.
 */
#define LINK_IDX 0x1ffffffu
#define LINK_MORE 0x2000000u
#define LINK_TAG 0xfc000000u
_Static_assert(IDX_MAX <= LINK_IDX, "idx + 1 fits");

static u32 hash(s32 key)
{
	u32 h = (u32)key;

	h ^= h >> 16;
	h *= 0x7feb352dU;
	h ^= h >> 15;
	h *= 0x846ca68bU;
	h ^= h >> 16;
	return h;
}

static u32 bucket_of(u32 h, u32 n_buckets)
{
	u32 mask = n_buckets <= 1 ? 0
				  : 0xffffffffu >> __builtin_clz(n_buckets - 1);
	u32 b = h & mask;

	return b < n_buckets ? b : b & (mask >> 1);
}

/* b may come from a damaged n_buckets. */
static u32 *bucket(const struct caller *c, enum facility f, u32 b)
{
	return (u32 *)region_at(&c->region, BUCKETS_OFF((u64)f)) +
	       (b & (IDX_MAX - 1));
}

void keyhash_prefetch(const struct caller *c, enum facility f, s32 key)
{
	u32 n = atom_load_relaxed(&caller_header(c)->ids[f].n_buckets);

	__builtin_prefetch(bucket(c, f, bucket_of(hash(key), n)), 1);
}

static int is_link(u32 link)
{
	return (link & LINK_IDX) && (link & LINK_IDX) <= IDX_MAX;
}

static u32 link_to(u32 idx, u32 h, u32 rest)
{
	return (idx + 1) | (rest ? LINK_MORE : 0) | (h & LINK_TAG);
}

/* Of a damaged link: any slot. */
static u32 idx_of(u32 link)
{
	return ((link & LINK_IDX) - 1) & (IDX_MAX - 1);
}

static struct slot *slot_of(const struct caller *c, enum facility f, u32 link)
{
	return region_slot(&c->region, f, idx_of(link));
}

static struct slot *walk(
	struct caller *c, enum facility f, s32 key, u64 *ret_ident)
{
	struct id_table *t = &caller_header(c)->ids[f];
	u32 n = atom_load_acquire(&t->n_buckets), steps = 0;
	u32 at, h = hash(key);
	struct slot *s;

	if (n == 0 || n > IDX_MAX)
		return NULL;
	at = atom_load_acquire(bucket(c, f, bucket_of(h, n)));
	for (; is_link(at) && steps < MAX_STEPS; steps++) {
		s = slot_of(c, f, at);
		if (!((at ^ h) & LINK_TAG)) {
			*ret_ident = atom_load_acquire(&s->ident);
			if (s->key == key && (*ret_ident & IDENT_LIVE))
				return s;
		}
		if (!(at & LINK_MORE))
			break;
		at = atom_load_acquire(&s->next);
	}
	return NULL;
}

struct slot *keyhash_find_locked(struct caller *c, enum facility f, s32 key)
{
	u64 ident;

	return walk(c, f, key, &ident);
}

struct slot *keyhash_next_locked(
	struct caller *c, enum facility f, const struct slot *s)
{
	s32 key = s->key;
	u32 at = s->next, steps;

	for (steps = 0; is_link(at) && steps < MAX_STEPS; steps++) {
		struct slot *next = slot_of(c, f, at);

		if (next->key == key && (next->ident & IDENT_LIVE))
			return next;
		at = next->next;
	}
	return NULL;
}

struct slot *keyhash_find(
	struct caller *c, enum facility f, s32 key, u64 *ret_ident)
{
	struct id_table *t = &caller_header(c)->ids[f];
	struct lock *lock = &caller_header(c)->fac_lock[f].lock;
	struct slot *s;
	int tries, died;
	u32 seq;

	for (tries = 0; tries < 3; tries++) {
		seq = atom_load_acquire(&t->key_seq);
		if (seq & 1)
			break;
		s = walk(c, f, key, ret_ident);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (likely(atom_load_relaxed(&t->key_seq) == seq))
			return s;
	}
	if (caller_enroll(c))
		return NULL;
	died = lock_acquire(c, lock);
	if (died)
		keyhash_repair(c, f);
	s = walk(c, f, key, ret_ident);
	/* The rest of the repair is the facility's: it ends a removal. */
	if (died)
		lock_pass_on(c, lock);
	else
		lock_release(c, lock);
	return s;
}

void keyhash_write_begin(struct caller *c, enum facility f)
{
	struct id_table *t = &caller_header(c)->ids[f];

	/* No fence: every following store is a release store, so a reader that
	 * reads one of them (acquire) also sees the odd number. */
	atom_store_release(&t->key_seq, t->key_seq | 1);
}

void keyhash_write_end(struct caller *c, enum facility f)
{
	struct id_table *t = &caller_header(c)->ids[f];

	atom_store_release(&t->key_seq, (t->key_seq | 1) + 1);
}

void keyhash_repair(struct caller *c, enum facility f)
{
	struct id_table *t = &caller_header(c)->ids[f];

	if (t->key_seq & 1)
		keyhash_write_end(c, f);
}

static void push(struct caller *c, enum facility f, u32 b, u32 idx, u32 h)
{
	u32 *head = bucket(c, f, b);

	journal_set32(c, &region_slot(&c->region, f, idx)->next, *head);
	journal_set32(c, head, link_to(idx, h, *head));
}

/* Unlink what *link refers to; `before` is the link before it. */
static void leave_out(struct caller *c, enum facility f, u32 *link, u32 *before)
{
	u32 rest = slot_of(c, f, *link)->next;

	journal_set32(c, link, rest);
	if (!rest && before)
		journal_set32(c, before, *before & ~LINK_MORE);
}

static void split(struct caller *c, enum facility f)
{
	struct id_table *t = &caller_header(c)->ids[f];
	u32 n = t->n_buckets, len = 0;
	u32 from, at, h, *link, *before = NULL;
	struct slot *s;

	from = bucket_of(n, n);
	for (at = *bucket(c, f, from); at && len <= SPLIT_MAX;
		at = s->next, len++)
		s = slot_of(c, f, at);
	if (len > SPLIT_MAX || journal_reserve(c, 4 * len + 2))
		return;
	if (caller_reserve(c, bucket(c, f, n), sizeof(*link)))
		return;
	link = bucket(c, f, from);
	journal_set32(c, &t->n_buckets, n + 1);
	while (*link && len--) {
		at = idx_of(*link);
		s = region_slot(&c->region, f, at);
		h = hash(s->key);
		if (bucket_of(h, n + 1) == n) {
			leave_out(c, f, link, before);
			push(c, f, n, at, h);
		} else {
			before = link;
			link = &s->next;
		}
	}
	journal_commit(c);
}

void keyhash_grow_locked(struct caller *c, enum facility f)
{
	const struct id_table *t = &caller_header(c)->ids[f];
	u32 i;

	for (i = 0; i < BUCKETS_A_KEY && t->n_buckets < IDX_MAX &&
		    t->n_keys * BUCKETS_A_KEY >= t->n_buckets;
		i++)
		split(c, f);
}

static void merge(struct caller *c, enum facility f)
{
	struct id_table *t = &caller_header(c)->ids[f];
	u32 last = t->n_buckets - 1, rest = *bucket(c, f, last);
	u32 to, *tail, *before = NULL;
	struct walk w = {0};

	to = bucket_of(last, last);
	tail = bucket(c, f, to);
	while (*tail) {
		if (unlikely(!walk_goes_on(c, &w, *tail)))
			return;
		before = tail;
		tail = &slot_of(c, f, *tail)->next;
	}
	journal_set32(c, tail, rest);
	if (rest && before)
		journal_set32(c, before, *before | LINK_MORE);
	journal_set32(c, bucket(c, f, last), 0);
	journal_set32(c, &t->n_buckets, last);
	journal_commit(c);
}

void keyhash_shrink_locked(struct caller *c, enum facility f)
{
	const struct id_table *t = &caller_header(c)->ids[f];
	u32 i;

	/* Shrink only when half-empty, so that a key that is added and removed
	 * again and again does not split and merge each time. */
	for (i = 0; i < BUCKETS_A_KEY && t->n_buckets > 1 &&
		    t->n_keys * BUCKETS_A_KEY < t->n_buckets / 2;
		i++)
		merge(c, f);
}

void keyhash_insert_locked(struct caller *c, enum facility f, u32 idx)
{
	struct id_table *t = &caller_header(c)->ids[f];
	struct slot *s = region_slot(&c->region, f, idx);
	u32 h = hash(s->key);

	push(c, f, bucket_of(h, t->n_buckets), idx, h);
	journal_set32(c, &t->n_keys, t->n_keys + 1);
}

void keyhash_remove_locked(struct caller *c, enum facility f, u32 idx)
{
	struct id_table *t = &caller_header(c)->ids[f];
	struct slot *s = region_slot(&c->region, f, idx);
	u32 *link = bucket(c, f, bucket_of(hash(s->key), t->n_buckets));
	u32 *before = NULL;
	struct walk w = {0};

	while (*link && (*link & LINK_IDX) != idx + 1 &&
		walk_goes_on(c, &w, *link)) {
		before = link;
		link = &slot_of(c, f, *link)->next;
	}
	if ((*link & LINK_IDX) != idx + 1)
		return;
	leave_out(c, f, link, before);
	journal_set32(c, &t->n_keys, t->n_keys - 1);
}
