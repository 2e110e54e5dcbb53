// SPDX-License-Identifier: MIT
/*
 * The event ring; see event.h.
 */
#include "registry/event.h"

#define PR_GET_NAME 16

void (*event_log)(struct caller *c, u64 from, u64 to);

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
		c->deferred.pending |= DEFERRED_LOG;
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

/* asker NULL: this thread. */
static void add(struct caller *c, enum event_code code, u64 arg0, u64 arg1,
	u64 asked, struct cred *asker)
{
	struct header *h = caller_header(c);
	u64 seq = atom_add(&h->event_seq, 1) + 1;
	struct event *e = (struct event *)region_at(&c->region, EVENTS_OFF) +
			  seq % N_EVENTS;

	/* A full file system loses the event, not the host. */
	if (caller_room(c, e, sizeof(*e)))
		return;
	atom_store_release(&e->seq, 0);
	atom_store_release(&e->time, sys_realtime_sec());
	if (!asker)
		sys_call(__NR_prctl, PR_GET_NAME, e->command);
	atom_store_release(
		&e->pid, asker ? asker->asker(asker, e->command) : c->pid);
	atom_store_release(&e->code, (u32)code);
	atom_store_release(&e->arg[0], arg0);
	atom_store_release(&e->arg[1], arg1);
	atom_store_release(&e->asked, asked);
	atom_store_release(&e->seq, seq);
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

int event_get(const struct region *r, u64 seq, struct event *ret)
{
	const struct event *e =
		(const struct event *)region_at(r, EVENTS_OFF) + seq % N_EVENTS;

	/* For want of room it was never written: a hole, which in a full file
	 * system cannot even be read. */
	if (!sys_readable(e, sizeof(*e)) || atom_load_acquire(&e->seq) != seq)
		return 0;
	*ret = *e;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return atom_load_relaxed(&e->seq) == seq;
}

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
