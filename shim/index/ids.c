// SPDX-License-Identifier: MIT
/*
 * The idx bitmap and the cyclic rule; see ids.h.
 *
 * Level 0 of the tree has a bit per idx (1 = used); level n+1 a bit per word of
 * level n (1 = that word is full). A search for the lowest free idx >= from
 * climbs until a word has a 0 bit at or above the position, then descends.
 *
 * Keeps INV_BITMAP, INV_BITMAP_UP, INV_IN_USE, INV_MAX_IDX
 * (inspect/check.h).
 */
#include "index/ids.h"

const char *const facility_names[N_FAC] = {"sem", "msg", "shm", "mq"};

/* First word of each level within the facility's bitmap area. */
static const u32 level_start[IDX_LEVELS] = {
	0,
	IDX_MAX / 64,
	IDX_MAX / 64 + IDX_MAX / 4096,
	IDX_MAX / 64 + IDX_MAX / 4096 + IDX_MAX / 262144,
};

static u64 *level_word(
	const struct caller *c, enum facility f, int level, u32 word)
{
	return (u64 *)region_at(&c->region, BITMAP_OFF((u64)f)) +
	       level_start[level] + word;
}

/* Reserve space for the word of bit pos; done for all idx below slots_ready. */
static int word_reserve(struct caller *c, enum facility f, int level, u32 pos)
{
	if (likely((u64)pos << (6 * level) <
		    caller_header(c)->ids[f].slots_ready))
		return 0;
	return caller_reserve(c, level_word(c, f, level, pos / 64), 8);
}

/* Lowest free idx >= from, or IDX_MAX. Bits beyond the table's size read as
 * free: the caller compares with its bound. */
static u32 find_free(struct caller *c, enum facility f, u32 from)
{
	u32 pos = from;
	int level = 0;
	u64 word;

	/* Up: pos is a bit number of `level`. */
	for (;;) {
		if (pos >= IDX_MAX >> (6 * level) ||
			word_reserve(c, f, level, pos))
			return IDX_MAX;
		word = ~*level_word(c, f, level, pos / 64) &
		       (~0ULL << pos % 64);
		if (word)
			break;
		if (++level == IDX_LEVELS)
			return IDX_MAX;
		pos = pos / 64 + 1;
	}
	/* Down: the first 0 bit of each word. */
	for (;;) {
		pos = (pos & ~63u) + __builtin_ctzll(word);
		if (level-- == 0)
			return pos;
		pos *= 64;
		if (word_reserve(c, f, level, pos))
			return IDX_MAX;
		word = ~*level_word(c, f, level, pos / 64);
	}
}

/* The page is reserved (reserve_for); facility's lock held. */
static void note_page(struct caller *c, enum facility f, u32 page)
{
	u64 *map = &caller_header(c)->ids[f].pages[page / 64];

	if (unlikely(!(*map >> page % 64 & 1)))
		atom_store_release(map, *map | 1ULL << page % 64);
}

static void mark(struct caller *c, enum facility f, u32 idx, int used)
{
	int level;
	u32 pos = idx;

	note_page(c, f, idx / IDX_PER_PAGE);
	for (level = 0; level < IDX_LEVELS; level++, pos /= 64) {
		u64 *word = level_word(c, f, level, pos / 64);
		u64 old = *word, bit = 1ULL << pos % 64;

		journal_set64(c, word, used ? old | bit : old & ~bit);
		/* The level above changes only if the word becomes full or is
		 * no longer. */
		if (used ? *word != ~0ULL : old != ~0ULL)
			break;
	}
}

static int choose_requested(
	struct caller *c, enum facility f, u32 *ret_idx, s32 *ret_id)
{
	struct id_table *t = &caller_header(c)->ids[f];
	u32 shift = ids_shift(c), requested = t->next_id;
	u32 idx = find_free(c, f, requested & ids_mask(c));

	/* Consumed even if the search fails. */
	if (idx > ids_mask(c)) {
		atom_store_release(&t->next_id, -1);
		return -ENOSPC;
	}
	journal_set32(c, (u32 *)&t->next_id, (u32)-1);
	*ret_idx = idx;
	*ret_id = (s32)((requested >> shift << shift) + idx);
	return 0;
}

static int choose_cyclic(
	struct caller *c, enum facility f, u32 *ret_idx, s32 *ret_id)
{
	struct id_table *t = &caller_header(c)->ids[f];
	u32 shift = ids_shift(c), size = 1u << shift;
	u32 min_cycle = shift == IDX_BITS_NORMAL ? 64 : 4096;
	u32 seq_end = 0x7fffffffu >> shift;
	u32 bound = (u32)((u64)t->in_use * 3 / 2), idx = IDX_MAX, seq = t->seq;

	if (bound < min_cycle)
		bound = min_cycle;
	if (bound > size)
		bound = size;
	if (t->cursor < bound)
		idx = find_free(c, f, t->cursor);
	if (idx >= bound)
		idx = find_free(c, f, 0);
	if (idx >= bound)
		return -ENOSPC;
	if ((s32)idx <= t->last_idx) {
		seq++;
		if (seq >= seq_end)
			seq = 0;
	}
	journal_set32(c, &t->cursor, idx + 1);
	journal_set32(c, &t->seq, seq);
	journal_set32(c, (u32 *)&t->last_idx, idx);
	*ret_idx = idx;
	*ret_id = (s32)(seq << shift | idx);
	return 0;
}

/* How many slots are on reserved pages, if that of `idx` and those below are;
 * not beyond the idx of one page of the bitmap. */
static u32 ready_with(enum facility f, u32 idx)
{
	u64 end = (idx + 1ULL) * SLOT_STRIDE(f) + SYS_PAGE - 1;
	u32 ready = (u32)(end / SYS_PAGE * SYS_PAGE / SLOT_STRIDE(f));
	u32 most = (idx / IDX_PER_PAGE + 1) * IDX_PER_PAGE;

	return ready < most ? ready : most;
}

/* Reserve all pages that the new object touches. slots_ready is a watermark, so
 * that only the first object of a page makes a system call; it is right after
 * any death. The pages of slots below it are reserved, so the first that may
 * not be is the one on which the next slot begins. */
static int reserve_for(struct caller *c, enum facility f, u32 idx)
{
	struct id_table *t = &caller_header(c)->ids[f];
	u32 pos = idx;
	u64 next;
	int level, err;

	if (likely(idx < t->slots_ready))
		return 0;
	err = caller_reserve(
		c, region_slot(&c->region, f, idx), SLOT_STRIDE(f));
	for (level = 0; level < IDX_LEVELS && !err; level++) {
		pos /= 64;
		err = caller_reserve(c, level_word(c, f, level, pos), 8);
	}
	next = (t->slots_ready * SLOT_STRIDE(f) + SYS_PAGE - 1) / SYS_PAGE;
	if (!err && idx * SLOT_STRIDE(f) / SYS_PAGE <= next)
		atom_store_release(&t->slots_ready, ready_with(f, idx));
	return err;
}

int ids_alloc_locked(
	struct caller *c, enum facility f, u32 *ret_idx, s32 *ret_id)
{
	struct id_table *t = &caller_header(c)->ids[f];
	int err;

	if (t->next_id >= 0)
		err = choose_requested(c, f, ret_idx, ret_id);
	else
		err = choose_cyclic(c, f, ret_idx, ret_id);
	if (!err)
		err = reserve_for(c, f, *ret_idx);
	if (err)
		return err;
	mark(c, f, *ret_idx, 1);
	journal_set32(c, &t->in_use, t->in_use + 1);
	if (*ret_idx > t->max_idx)
		journal_set32(c, &t->max_idx, *ret_idx);
	return 0;
}

u32 ids_next_hint(const struct caller *c, enum facility f)
{
	const struct id_table *t = &caller_header(c)->ids[f];
	u32 from = atom_load_relaxed(&t->cursor);
	u64 word;

	if (from >= atom_load_relaxed(&t->slots_ready) || from >= IDX_MAX)
		return 0;
	word = ~atom_load_relaxed(level_word(c, f, 0, from / 64)) &
	       (~0ULL << from % 64);
	return word ? (from & ~63u) + __builtin_ctzll(word) : 0;
}

void ids_free_locked(struct caller *c, enum facility f, u32 idx)
{
	struct id_table *t = &caller_header(c)->ids[f];

	mark(c, f, idx, 0);
	journal_set32(c, &t->in_use, t->in_use - 1);
}

/* The words of level 0 on a page that is no hole, else NULL. */
static const u64 *page_words(const struct caller *c, enum facility f, u32 page)
{
	const u64 *map = caller_header(c)->ids[f].pages;

	if (!(atom_load_acquire(&map[page / 64]) >> page % 64 & 1))
		return NULL;
	return level_word(c, f, 0, page * (IDX_PER_PAGE / 64));
}

int ids_used(const struct caller *c, enum facility f, u32 idx)
{
	const u64 *words = page_words(c, f, idx / IDX_PER_PAGE);

	return words &&
	       (atom_load_relaxed(&words[idx % IDX_PER_PAGE / 64]) >> idx % 64 &
		       1);
}

/* The lowest used idx of a page that is >= from, both within it, or
 * IDX_PER_PAGE. */
static u32 next_on_page(const u64 *words, u32 from)
{
	u32 word = from / 64;
	u64 bits = atom_load_relaxed(&words[word]) & (~0ULL << from % 64);

	while (!bits) {
		if (++word == IDX_PER_PAGE / 64)
			return IDX_PER_PAGE;
		bits = atom_load_relaxed(&words[word]);
	}
	return word * 64 + __builtin_ctzll(bits);
}

static u32 next_in_use(const struct caller *c, enum facility f, u32 from)
{
	u32 max = ids_max(c, f);
	u32 page, at, first = from % IDX_PER_PAGE;

	for (page = from / IDX_PER_PAGE; page <= max / IDX_PER_PAGE;
		page++, first = 0) {
		const u64 *words = page_words(c, f, page);

		at = words ? next_on_page(words, first) : IDX_PER_PAGE;
		if (at < IDX_PER_PAGE)
			return page * IDX_PER_PAGE + at;
	}
	return IDX_MAX;
}

u32 ids_past_hole(const struct region *r, enum facility f, u32 idx)
{
	const u64 stride = SLOT_STRIDE(f), first = SLOTS_OFF((u64)f);
	u64 at, next;

	if (likely(!r->holes))
		return idx;
	while (idx < IDX_MAX) {
		at = first + idx * stride;
		next = holes_next(r->holes, at);
		if (next == at) {
			/* A slot may cross a page boundary. */
			next = holes_next(r->holes, at + stride - 1);
			if (next == at + stride - 1)
				return idx;
		}
		if (next >= first + IDX_MAX * stride)
			break;
		idx = (u32)((next - first + stride - 1) / stride);
	}
	return IDX_MAX;
}

u32 ids_next(struct caller *c, enum facility f, u32 from)
{
	u32 there;

	for (;; from = there) {
		from = next_in_use(c, f, from);
		if (from >= IDX_MAX)
			return IDX_MAX;
		/* Marked as used, but a hole: the bitmap is damaged. */
		there = ids_past_hole(&c->region, f, from);
		if (likely(there == from))
			return from;
	}
}

/* The highest used idx of a page, or -1. */
static int last_on_page(const u64 *words)
{
	int word;

	for (word = IDX_PER_PAGE / 64 - 1; word >= 0; word--)
		if (words[word])
			return word * 64 + 63 - __builtin_clzll(words[word]);
	return -1;
}

u32 ids_highest_locked(struct caller *c, enum facility f)
{
	struct id_table *t = &caller_header(c)->ids[f];
	int page = ids_max(c, f) / IDX_PER_PAGE, at = -1;
	const u64 *words;

	for (; page >= 0 && at < 0; page--) {
		words = page_words(c, f, page);
		at = words ? last_on_page(words) : -1;
	}
	if (at < 0)
		return 0;
	at += (page + 1) * IDX_PER_PAGE;
	/* Not journaled: both values are right upper bounds. */
	atom_store_release(&t->max_idx, (u32)at);
	return at;
}
