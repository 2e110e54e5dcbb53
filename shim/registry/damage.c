// SPDX-License-Identifier: MIT
/*
 * Damage that was met; see damage.h.
 */
#include "registry/damage.h"
#include "base/sys.h"

/* What is needed of the sink first: a page behind the tables is a hole, which
 * in a full file system cannot even be read. */
#define SINK_SIZE 8192u

__attribute__((cold, noinline)) void *damage_met(const struct caller *c)
{
	struct caller *own = (struct caller *)c;
	char *sink = c->region.base + SINK_OFF;

	own->damaged = 1;
	/* Then the header's last page, which nobody uses and is always there:
	 * writes that go far beyond it may hurt, but do not kill. */
	if (caller_reserve(own, sink, SINK_SIZE))
		return c->region.base + HEADER_SIZE - SYS_PAGE;
	return sink;
}

__attribute__((cold, noinline)) int damage_abort(struct caller *c)
{
	journal_abort(c);
	c->damaged = 0;
	return -EIO;
}

__attribute__((noinline)) int walk_turn(struct walk *w, u64 at)
{
	if (at == w->mark && at)
		return 0;
	w->mark = at;
	w->limit = w->limit ? w->limit * 2 : 1;
	w->steps = 0;
	return 1;
}
