// SPDX-License-Identifier: MIT
/*
 * Stocks of small blocks; see stock.h. The first word of a block links to the
 * next, as in the heap's free lists.
 */
#include "registry/stock.h"

/* The size class, or -1 if there is none here. */
static int class_of(u64 size)
{
	u64 k = size ? (size - 1) / 64 : 0;

	return k < STOCK_CLASSES ? (int)k : -1;
}

int stock_take_locked(
	struct caller *c, struct stock *stock, u64 size, struct ref *ret)
{
	int k = class_of(size);
	struct ref head;
	u64 *link;

	if (k < 0)
		return 0;
	head = stock->head[k];
	link = region_span(&c->region, head, (k + 1) * 64);
	if (!link)
		return 0;
	journal_set64(c, &stock->head[k].off, *link);
	/* The new owner overwrites the link: note it. */
	journal_note(c, link, *link, 8);
	journal_set32(c, &stock->n[k], stock->n[k] - 1);
	journal_set_ref(c, ret, head);
	return 1;
}

int stock_put_locked(
	struct caller *c, struct stock *stock, u64 size, struct ref *ref)
{
	int k = class_of(size);
	u64 *link;

	if (k < 0 || stock->n[k] >= STOCK_DEPTH)
		return 0;
	link = region_span(&c->region, *ref, (k + 1) * 64);
	if (!link)
		return 0;
	journal_set64(c, link, stock->head[k].off);
	journal_set_ref(c, &stock->head[k], *ref);
	journal_set32(c, &stock->n[k], stock->n[k] + 1);
	journal_set64(c, &ref->off, 0);
	return 1;
}
