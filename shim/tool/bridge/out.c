// SPDX-License-Identifier: MIT
/*
 * Queue to stream. A batch is received on lease, appended, and acknowledged
 * when Redis has answered; see doc/bridge.md.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/bridge/queue.h"
#include "tool/bridge/redis.h"
#include "tool/message.h"

/* A batch ends when it has so many bytes. Arbitrary. */
#define BATCH_BYTES (8u << 20)
/* "TYPE", and the id of a message. */
#define NUMBER 24
#define ID 80

struct text {
	char number[NUMBER], id[ID];
};

struct out {
	struct link *link;
	struct redis redis;
	struct queue queue;
	struct carried *batch;
	struct text *texts;
	unsigned n;
	uint64_t bytes;
	char maxlen[NUMBER];
};

/* Fill the batch: DONE with at least one, or STOP, FAILED. */
static enum outcome collect(struct out *o)
{
	struct link *l = o->link;
	unsigned most = l->batch;
	int err;

	if (l->count && l->count - l->counters->messages < most)
		most = (unsigned)(l->count - l->counters->messages);
	o->n = 0;
	o->bytes = 0;
	while (o->n < most && o->bytes < BATCH_BYTES && !link_stops) {
		err = queue_take(&o->queue, &o->batch[o->n], 0);
		if (err == -EAGAIN && !o->n) {
			link_waits(l, WAITS_MESSAGE);
			err = queue_take(&o->queue, &o->batch[0], 1);
			link_waits(l, WAITS_NOT);
			if (err == -EAGAIN)
				continue;
		}
		if (err == -EAGAIN)
			break;
		if (err == -EIDRM)
			return link_gone(l);
		if (err)
			return link_failed(l, "%s", strerror(-err));
		o->bytes += o->batch[o->n++].len;
	}
	return link_stops ? STOP : DONE;
}

/* ---- appending ---- */

static void say_entry(struct out *o, unsigned i)
{
	struct redis_words *w = &o->redis.words;
	const struct carried *m = &o->batch[i];
	struct text *t = &o->texts[i];

	snprintf(t->number, sizeof(t->number), "%lld", (long long)m->type);
	snprintf(t->id, sizeof(t->id), "%016llx-%s-%llx-%llx",
		(unsigned long long)o->queue.registry,
		facility_names[o->link->kind],
		(unsigned long long)o->queue.ident,
		(unsigned long long)m->stamp);
	words_begin(w);
	words_say(w, "XADD");
	words_say(w, o->link->stream);
	if (o->link->maxlen) {
		words_say(w, "MAXLEN");
		words_say(w, "~");
		words_say(w, o->maxlen);
	}
	words_say(w, "*");
	words_say(w, o->link->kind == FAC_MSG ? "type" : "prio");
	words_say(w, t->number);
	words_say(w, "id");
	words_say(w, t->id);
	words_say(w, "data");
	words_add(w, m->data + 8, m->len);
}

static enum outcome send_word(struct out *o, const char *word)
{
	words_begin(&o->redis.words);
	words_say(&o->redis.words, word);
	return redis_send(&o->redis);
}

/* All of the batch, or nothing of it. */
static enum outcome append(struct out *o)
{
	int many = o->n > 1;
	enum outcome e = many ? send_word(o, "MULTI") : DONE;
	redisReply *reply;
	unsigned i, left;

	for (i = 0; e == DONE && i < o->n; i++) {
		say_entry(o, i);
		e = redis_send(&o->redis);
	}
	if (many && e == DONE)
		e = send_word(o, "EXEC");
	left = o->n + (many ? 2 : 0);
	while (e == DONE && left--) {
		e = redis_answer(&o->redis, "XADD", &reply);
		/* A nil: EXEC was not done. */
		if (e == DONE && !left && reply->type == REDIS_REPLY_NIL)
			e = redis_lost(&o->redis, "EXEC was refused");
		if (reply)
			freeReplyObject(reply);
	}
	return e;
}

static enum outcome carry(struct out *o)
{
	enum outcome e = collect(o);
	struct counters *n = o->link->counters;
	int err;

	link_waits(o->link, WAITS_REDIS);
	while (e == DONE) {
		e = redis_ready(&o->redis);
		if (e == DONE)
			e = append(o);
		if (e != AGAIN)
			break;
		e = DONE;
	}
	link_waits(o->link, WAITS_NOT);
	if (e != DONE) {
		queue_give_back(&o->queue);
		return e;
	}
	redis_fine(&o->redis);
	err = queue_acknowledge(&o->queue);
	link_adds(&n->messages, o->n);
	link_adds(&n->bytes, o->bytes);
	if (err == -EIDRM || err == -EINVAL)
		return link_gone(o->link);
	return err ? link_failed(o->link, "%s", strerror(-err)) : DONE;
}

int link_out(struct link *l, struct caller *c)
{
	struct out o = {.link = l, .redis = {.link = l}};
	enum outcome e;

	snprintf(o.maxlen, sizeof(o.maxlen), "%llu",
		(unsigned long long)l->maxlen);
	o.batch = calloc(l->batch, sizeof(*o.batch));
	o.texts = calloc(l->batch, sizeof(*o.texts));
	if (!o.batch || !o.texts)
		return failure("out of memory");
	e = queue_open(&o.queue, l, c);
	if (e == DONE)
		e = redis_ready(&o.redis);
	while (e == DONE && !(l->count && l->counters->messages >= l->count))
		e = carry(&o);
	redis_close(&o.redis);
	return link_status(e);
}
