// SPDX-License-Identifier: MIT
/*
 * The event ring; see event.h.
 */
#include <linux/prctl.h>
#include "registry/event.h"

void (*event_log)(struct caller *c, u64 from, u64 to);

/* Taken out first: a log that raises an event of its own begins a new range. */
void event_log_now(struct caller *c)
{
	u64 from = c->log_from, to = c->log_to;

	c->log_from = 0;
	if (from && event_log)
		event_log(c, from, to);
}

/* Not under a lock: a log may be a pipe that nobody reads. */
static void log_later(struct caller *c, u64 seq)
{
	if (!c->log_from)
		c->log_from = seq;
	c->log_to = seq;
	if (c->in_section)
		__atomic_fetch_or(
			&c->deferred.pending, DEFERRED_LOG, __ATOMIC_RELAXED);
	else
		event_log_now(c);
}

/* The credentials of who asked, if that is not this process. */
static struct cred *on_behalf_of(struct caller *c)
{
	return c->cred && c->cred->asker ? c->cred : NULL;
}

u32 event_asker(struct caller *c)
{
	struct cred *asker = on_behalf_of(c);

	return asker ? asker->asker(asker, NULL) : c->pid;
}

static struct event *limit_events(const struct region *r)
{
	return (struct event *)region_at(r, LIMIT_EVENTS_OFF);
}

/* The oldest one's place. Two writers may take the same: one is lost. */
static struct event *limit_place(const struct region *r)
{
	struct event *at = limit_events(r), *oldest = at;
	u32 i;

	for (i = 1; i < N_LIMIT_EVENTS; i++)
		if (atom_load_relaxed(&at[i].seq) <
			atom_load_relaxed(&oldest->seq))
			oldest = &at[i];
	return oldest;
}

/*
 * asker NULL: this thread. A place is rewritten while others read it without a
 * lock. Each store is a release, so that none is seen before seq = 0 is: a
 * reader who copied a field of the new event finds another seq behind the copy
 * and drops it (copy_event). The last store is the commit point; who dies
 * before leaves seq 0, a place that nobody reads.
 */
static void write_event(struct caller *c, struct event *e, u64 seq,
	const struct event *what, struct cred *asker)
{
	atom_store_release(&e->seq, 0);
	atom_store_release(&e->time, sys_realtime_sec());
	if (!asker)
		sys_call(__NR_prctl, PR_GET_NAME, e->command);
	atom_store_release(
		&e->pid, asker ? asker->asker(asker, e->command) : c->pid);
	atom_store_release(&e->code, what->code);
	atom_store_release(&e->arg[0], what->arg[0]);
	atom_store_release(&e->arg[1], what->arg[1]);
	atom_store_release(&e->asked, what->asked);
	atom_store_release(&e->seq, seq);
}

/* In the ring, and events of limits besides in a few places of their own: a
 * flood of other events does not push out why calls failed. */
static void add(struct caller *c, enum event_code code, u64 arg0, u64 arg1,
	u64 asked, struct cred *asker)
{
	const struct event what = {
		.code = code, .arg = {arg0, arg1}, .asked = asked};
	struct header *h = caller_header(c);
	/* Who dies from here on leaves a number without an event: event_get
	 * answers 0 for it, as for one that is still being written. */
	u64 seq = atom_add(&h->event_seq, 1) + 1;
	struct event *e = (struct event *)region_at(&c->region, EVENTS_OFF) +
			  seq % N_EVENTS;
	const size_t limits_size = N_LIMIT_EVENTS * sizeof(*e);

	atom_add(&h->event_count[(u32)code % EVENT_CODES], 1);
	/* A full file system loses the event, not the application. */
	if (code == EVENT_LIMIT &&
		!caller_reserve(c, limit_events(&c->region), limits_size))
		write_event(c, limit_place(&c->region), seq, &what, asker);
	if (caller_reserve(c, e, sizeof(*e)))
		return;
	write_event(c, e, seq, &what, asker);
	if (unlikely(event_log))
		log_later(c, seq);
}

void event_add(struct caller *c, enum event_code code, u64 arg0, u64 arg1)
{
	add(c, code, arg0, arg1, 0, NULL);
}

void event_add_asked(
	struct caller *c, enum event_code code, u64 arg0, u64 arg1, u64 asked)
{
	add(c, code, arg0, arg1, asked, on_behalf_of(c));
}

/* The acquire pairs with the last store of write_event: the fields are whole.
 * The fence keeps the copy before the second look, which tells whether a writer
 * has begun meanwhile; 0 then. */
static int copy_event(const struct event *e, u64 seq, struct event *ret)
{
	if (atom_load_acquire(&e->seq) != seq)
		return 0;
	*ret = *e;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return atom_load_relaxed(&e->seq) == seq;
}

/* For want of space they were never written: a hole, which in a full file
 * system cannot even be read. */
static const struct event *limits_readable(const struct region *r)
{
	const struct event *at = limit_events(r);

	return sys_readable(at, N_LIMIT_EVENTS * sizeof(*at)) ? at : NULL;
}

int event_get(const struct region *r, u64 seq, struct event *ret)
{
	const struct event *e =
		(const struct event *)region_at(r, EVENTS_OFF) + seq % N_EVENTS;
	const struct header *h = (const void *)r->base;
	u32 i;

	if (sys_readable(e, sizeof(*e)) && copy_event(e, seq, ret))
		return 1;
	/* Not one of those to come. The acquire pairs with the addition in
	 * add(): a number that it has not reached was given to nobody. */
	e = seq && seq <= atom_load_acquire(&h->event_seq) ? limits_readable(r)
							   : NULL;
	for (i = 0; e && i < N_LIMIT_EVENTS; i++)
		if (copy_event(&e[i], seq, ret))
			return 1;
	return 0;
}

/* What the ring still has, and before that what only the limits' places
 * have. */
u64 event_next(const struct region *r, u64 after)
{
	const struct header *h = (const void *)r->base;
	u64 last = atom_load_acquire(&h->event_seq);
	u64 first = last > N_EVENTS ? last - N_EVENTS + 1 : 1, next = first, at;
	const struct event *e;
	u32 i;

	if (after >= first)
		return after < last ? after + 1 : 0;
	e = limits_readable(r);
	for (i = 0; e && i < N_LIMIT_EVENTS; i++) {
		/* Relaxed: only a candidate, whose copying looks again. */
		at = atom_load_relaxed(&e[i].seq);
		if (at > after && at < next)
			next = at;
	}
	return next <= last ? next : 0;
}

/* Only against the last one: it keeps a process that repeats itself from
 * filling the ring, and needs no memory of what was said. */
void event_add_once(struct caller *c, enum event_code code, u64 arg0, u64 arg1)
{
	struct event last;
	u64 seq = atom_load_acquire(&caller_header(c)->event_seq);

	if (seq && event_get(&c->region, seq, &last) && last.pid == c->pid &&
		last.code == (u32)code && last.arg[0] == arg0 &&
		last.arg[1] == arg1)
		return;
	event_add(c, code, arg0, arg1);
}
