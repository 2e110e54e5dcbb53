// SPDX-License-Identifier: MIT
/*
 * The queue's end of a bridge; see queue.h.
 */
#include "tool/bridge/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "msg/msg.h"
#include "msg/msglease.h"
#include "mq/mqlease.h"
#include "tool/registry.h"
#include "tool/view/objects.h"

/* Of a System V message before its text. */
#define TYPE_BYTES 8u
/* First space for a text of unknown length. */
#define FIRST_TEXT 8192u

char *carried_text(struct carried *m, size_t n)
{
	char *more;

	if (m->cap < n + TYPE_BYTES) {
		more = realloc(m->data, n + TYPE_BYTES);
		if (!more)
			return NULL;
		m->data = more;
		m->cap = n + TYPE_BYTES;
	}
	return m->data + TYPE_BYTES;
}

/* ---- opening ---- */

static int open_msg(struct queue *q, const char *word)
{
	unsigned long long n;
	u64 ident;

	if (!strncmp(word, "key:", 4)) {
		if (parse_number(word + 4, -0x80000000LL, 0xffffffffu, &n))
			return -EINVAL;
		q->id = msg_get(q->c, (s32)n, 0);
		if (q->id < 0)
			return q->id;
	} else {
		if (parse_number(word, 0, 0x7fffffff, &n))
			return -EINVAL;
		q->id = (s32)n;
	}
	if (!ids_find(q->c, FAC_MSG, q->id, &ident))
		return -ENOENT;
	q->ident = ident;
	return 0;
}

static int open_mq(struct queue *q, const char *word)
{
	const char *name = word + (*word == '/');
	u32 access = q->link->in ? MQ_O_WRONLY : MQ_O_RDONLY;
	int err;

	err = mqueue_open(q->c, name, strlen(name), access | MQ_O_CLOEXEC, 0,
		NULL, &q->wait);
	if (err >= 0)
		err = mqueue_open(q->c, name, strlen(name),
			access | MQ_O_CLOEXEC | MQ_O_NONBLOCK, 0, NULL,
			&q->now);
	q->ident = q->wait.ident;
	return err < 0 ? err : 0;
}

static int is_missing(int err)
{
	return err == -ENOENT || err == -EINVAL || err == -EIDRM;
}

/* With --wait, a second: 1 to look again. */
static int await_queue(struct link *l)
{
	const struct timespec nap = {1, 0};

	if (!l->wait || link_stops)
		return 0;
	link_waits(l, WAITS_QUEUE);
	nanosleep(&nap, NULL);
	return !link_stops;
}

/* Which registry it is, of all there ever were: its boot, and its second, file
 * and random number there. Many are made in one second, and the first queue of
 * each has the same ident. */
static uint64_t registry_number(const struct caller *c)
{
	const struct header *h = caller_header(c);
	const uint64_t parts[] = {h->boot_id[0], h->boot_id[1],
		(uint64_t)h->created, c->region.dev, c->region.ino,
		h->shm.home};
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		n = (n ^ parts[i]) * 0x9e3779b97f4a7c15ULL;
		n ^= n >> 32;
	}
	return n;
}

enum outcome queue_open(struct queue *q, struct link *l, struct caller *c)
{
	int err;

	*q = (struct queue){.link = l, .c = c};
	q->registry = registry_number(c);
	do
		err = l->kind == FAC_MSG ? open_msg(q, l->queue)
					 : open_mq(q, l->queue);
	while (err && is_missing(err) && await_queue(l));
	if (err && link_stops)
		return STOP;
	if (err)
		return link_failed(l, "%s",
			is_missing(err) ? "no such queue" : strerror(-err));
	c->leasing |= 1u << l->kind;
	c->lease_batch = 1;
	return DONE;
}

/* Of System V, whoever may read it: 1 if it is there. */
static int stat_msg(struct queue *q, struct msg_stat *ret)
{
	u64 ident;
	struct slot *s = ids_find(q->c, FAC_MSG, q->id, &ident);

	return s && ident == q->ident &&
	       msg_stat(q->c, (s32)region_slot_idx(&q->c->region, FAC_MSG, s),
		       OBJECT_BY_IDX_ANY, ret) == q->id;
}

/* The name is gone: descriptors alone keep the queue. */
static int is_gone(struct queue *q)
{
	struct msg_stat st;
	struct mq_stat mst;

	if (q->link->kind == FAC_MQ)
		return mq_stat(q->c, &q->wait, &mst) || !mst.nlink;
	return !stat_msg(q, &st);
}

/* More than the whole of a System V queue: who sends it sleeps until somebody
 * makes the queue larger. */
static int is_too_large(struct queue *q, size_t len)
{
	struct msg_stat st;

	return q->link->kind == FAC_MSG && stat_msg(q, &st) && len > st.qbytes;
}

/* ---- waiting ---- */

/* A call that sleeps ends with EINTR after a second, and each second from then
 * on. */
#define TICK_MS 1000

/* The registry is full: that may pass. */
static int no_memory(struct queue *q, int waited)
{
	const struct timespec nap = {0, 200000000};

	if (!q->short_of)
		link_says(q->link, "there is no memory; it is tried again");
	q->short_of = 1;
	if (waited && !link_stops)
		nanosleep(&nap, NULL);
	return waited && is_gone(q) ? -EIDRM : -EAGAIN;
}

/* One call that may wait, and what came of it. */
static int result_of(struct queue *q, long ret, int waited)
{
	if (waited)
		link_ticks(0);
	if (ret == -ENOMEM || ret == -ENOSPC)
		return no_memory(q, waited);
	if (ret >= 0) {
		q->short_of = 0;
		return 0;
	}
	if (ret == -ENOMSG || ret == -EINTR || ret == -ETIMEDOUT ||
		ret == -MQ_ERESTART || ret == -EAGAIN)
		return waited && is_gone(q) ? -EIDRM : -EAGAIN;
	if (ret == -EIDRM || ((ret == -EINVAL || ret == -EBADF) && is_gone(q)))
		return -EIDRM;
	return (int)ret;
}

/* ---- messages ---- */

static long take_msg(struct queue *q, struct carried *m, int wait)
{
	s64 n = -E2BIG;

	while (n == -E2BIG) {
		n = msg_receive(q->c, q->id, m->data, m->cap - TYPE_BYTES, 0,
			wait ? 0 : MSG_IPC_NOWAIT, 0);
		if (n == -E2BIG && !carried_text(m, m->cap * 2))
			return -ENOMEM;
	}
	if (n >= 0)
		memcpy(&m->type, m->data, TYPE_BYTES);
	return n;
}

static long take_mq(struct queue *q, struct carried *m, int wait)
{
	const struct mqueue *mq = mq_body(q->c, q->wait.s);
	size_t most = mq ? mq->msgsize : 0;
	u32 prio = 0;
	long n;

	if (!mq || !carried_text(m, most))
		return mq ? -ENOMEM : -EIDRM;
	n = mqueue_receive(q->c, wait ? &q->wait : &q->now,
		m->data + TYPE_BYTES, most, &prio, NULL);
	m->type = prio;
	return n;
}

int queue_take(struct queue *q, struct carried *m, int wait)
{
	long n;

	if (!m->data && !carried_text(m, FIRST_TEXT))
		return -ENOMEM;
	if (wait)
		link_ticks(TICK_MS);
	n = q->link->kind == FAC_MSG ? take_msg(q, m, wait)
				     : take_mq(q, m, wait);
	if (n >= 0) {
		m->len = (size_t)n;
		m->stamp = q->c->lease_stamp;
	}
	return result_of(q, n, wait);
}

int queue_put(struct queue *q, struct carried *m, int wait)
{
	long err;
	int ret;

	if (wait)
		link_ticks(TICK_MS);
	if (q->link->kind == FAC_MSG) {
		memcpy(m->data, &m->type, TYPE_BYTES);
		err = msg_send(q->c, q->id, m->data, m->len,
			wait ? 0 : MSG_IPC_NOWAIT, 0);
	} else {
		err = mqueue_send(q->c, wait ? &q->wait : &q->now,
			m->data + TYPE_BYTES, m->len, (u32)m->type, NULL);
	}
	ret = result_of(q, err, wait);
	if (ret == -EAGAIN && is_too_large(q, m->len))
		return -EMSGSIZE;
	/* Into a POSIX queue without a name it can be put, but who opens the
	 * name anew does not find it there. */
	if (!ret && q->link->kind == FAC_MQ && is_gone(q))
		return -EIDRM;
	return ret;
}

int queue_acknowledge(struct queue *q)
{
	return q->link->kind == FAC_MSG ? msg_acknowledge(q->c, q->id)
					: mq_acknowledge(q->c, &q->wait);
}

void queue_give_back(struct queue *q)
{
	if (q->link->kind == FAC_MSG)
		msg_give_back(q->c, q->id);
	else
		mq_give_back(q->c, &q->wait);
}
