// SPDX-License-Identifier: MIT
/*
 * Stream to queue, as a consumer of a group; see doc/bridge.md. An entry is put
 * into the queue, then its id is noted (--dedup), then it is acknowledged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/bridge/idset.h"
#include "tool/bridge/queue.h"
#include "tool/bridge/redis.h"
#include "tool/message.h"

/* XREADGROUP waits so long for new entries, and then a signal is seen: half of
 * what redis.c gives an answer once the end is asked for, since Redis looks
 * for what is due ten times a second. */
#define BLOCK_MS "500"
/* Entries that were said to be unfit are not said again; of so many. */
#define UNFIT_KEPT 65536u

struct in {
	struct link *link;
	struct redis redis;
	struct queue queue;
	struct idset seen;  /* --dedup */
	struct idset unfit; /* entries that stay pending */
	struct carried m;
	redisReply *held; /* what the batch's strings stand in */
	/* The batch: its entries' IDs, of which done were put and are to be
	 * acknowledged. */
	const char **ids;
	unsigned done, cap;
	unsigned at;	/* the entry under way */
	char after[64]; /* our own pending ones: behind this; "" = new ones */
	time_t claimed; /* when XAUTOCLAIM was asked last */
	time_t kept;	/* when the batch was last kept from others */
	char claim_at[64];
	char batch[16], claim_ms[24];
	int grouped;  /* the group is there */
	int claiming; /* the batch is of XAUTOCLAIM */
};

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void say(struct in *in, const char *first, const char *second)
{
	words_begin(&in->redis.words);
	words_say(&in->redis.words, first);
	if (second)
		words_say(&in->redis.words, second);
}

#define WORD(w) words_say(&in->redis.words, w)

/* ---- the group ---- */

static int is_error(const redisReply *r, const char *word)
{
	return r->type == REDIS_REPLY_ERROR &&
	       !strncmp(r->str, word, strlen(word));
}

/* Make the group, if there is none. Its errors are looked at here. */
static enum outcome make_group(struct in *in)
{
	const struct link *l = in->link;
	void *got = NULL;
	redisReply *r;
	enum outcome e;

	say(in, "XGROUP", "CREATE");
	WORD(l->stream);
	WORD(l->group);
	WORD("0");
	if (l->create)
		WORD("MKSTREAM");
	e = redis_send(&in->redis);
	if (e != DONE)
		return e;
	e = redis_reply(&in->redis, &got);
	if (e != DONE)
		return e;
	r = got;
	if (is_error(r, "ERR The XGROUP subcommand requires the key"))
		e = link_failed(l, "there is no such stream (--create)");
	else if (r->type == REDIS_REPLY_ERROR && !is_error(r, "BUSYGROUP"))
		e = redis_error(&in->redis, "the group", r->str);
	freeReplyObject(r);
	in->grouped = e == DONE;
	return e;
}

static enum outcome ready(struct in *in)
{
	enum outcome e;

	do {
		/* Redis may have been started without what it had, and may have
		 * given us entries in an answer that was lost: they are ours,
		 * pending, and ">" does not give them again. */
		if (!in->redis.at) {
			in->grouped = 0;
			snprintf(in->after, sizeof(in->after), "0");
		}
		e = redis_ready(&in->redis);
		if (e == DONE && !in->grouped)
			e = make_group(in);
	} while (e == AGAIN);
	return e;
}

/* ---- asking for entries ---- */

static void hold(struct in *in, redisReply *reply)
{
	if (in->held)
		freeReplyObject(in->held);
	in->held = reply;
	in->done = in->at = 0;
}

/* The array of entries that r is: 1 with *ret, or 0. */
static int entries_of(const redisReply *r, const redisReply **ret)
{
	*ret = r;
	return r && r->type == REDIS_REPLY_ARRAY;
}

/* What other consumers have left: a part of them each time. */
static enum outcome claim(struct in *in, const redisReply **ret)
{
	redisReply *reply;
	enum outcome e;

	say(in, "XAUTOCLAIM", in->link->stream);
	WORD(in->link->group);
	WORD(in->link->consumer);
	WORD(in->claim_ms);
	WORD(*in->claim_at ? in->claim_at : "0-0");
	WORD("COUNT");
	WORD(in->batch);
	e = redis_ask(&in->redis, "XAUTOCLAIM", &reply);
	if (e != DONE)
		return e;
	hold(in, reply);
	in->claiming = 1;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2 ||
		!entries_of(reply->element[1], ret))
		return redis_lost(&in->redis, "XAUTOCLAIM: unknown answer");
	snprintf(in->claim_at, sizeof(in->claim_at), "%s",
		reply->element[0]->str ? reply->element[0]->str : "");
	if (!strcmp(in->claim_at, "0-0"))
		in->claim_at[0] = 0;
	if (!*in->claim_at)
		in->claimed = now();
	return DONE;
}

static enum outcome read_group(struct in *in, const redisReply **ret)
{
	const redisReply *stream;
	redisReply *reply;
	enum outcome e;

	say(in, "XREADGROUP", "GROUP");
	WORD(in->link->group);
	WORD(in->link->consumer);
	WORD("COUNT");
	WORD(in->batch);
	WORD("BLOCK");
	WORD(BLOCK_MS);
	WORD("STREAMS");
	WORD(in->link->stream);
	WORD(*in->after ? in->after : ">");
	e = redis_ask(&in->redis, "XREADGROUP", &reply);
	if (e != DONE)
		return e;
	hold(in, reply);
	in->claiming = 0;
	if (reply->type == REDIS_REPLY_NIL)
		return DONE;
	/* [[stream, [entry...]]] */
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1 ||
		!entries_of(reply->element[0], &stream) ||
		stream->elements != 2 || !entries_of(stream->element[1], ret))
		return redis_lost(&in->redis, "XREADGROUP: unknown answer");
	return DONE;
}

/* The next entries, NULL if there are none. */
static enum outcome ask(struct in *in, const redisReply **ret)
{
	enum outcome e;

	*ret = NULL;
	if (in->link->claim && !*in->after &&
		(*in->claim_at ||
			now() - in->claimed > (time_t)in->link->claim / 4)) {
		e = claim(in, ret);
		if (e != DONE || (*ret)->elements)
			return e;
		/* It ends with the next answer. */
		*ret = NULL;
	}
	link_waits(in->link, WAITS_MESSAGE);
	e = read_group(in, ret);
	link_waits(in->link, WAITS_NOT);
	return e;
}

/* ---- one entry ---- */

struct entry {
	const char *id;
	size_t id_len;
	const redisReply *fields; /* NULL: it was trimmed off the stream */
	const redisReply *data, *type, *prio, *name; /* NULL: it has none */
};

/* [ID, [field, value, ...]] */
static int parse_entry(const redisReply *r, struct entry *ret)
{
	const redisReply *f, *name;
	size_t i;

	*ret = (struct entry){0};
	if (r->type != REDIS_REPLY_ARRAY || r->elements != 2 ||
		r->element[0]->type != REDIS_REPLY_STRING)
		return -1;
	ret->id = r->element[0]->str;
	ret->id_len = (size_t)r->element[0]->len;
	f = r->element[1];
	if (f->type != REDIS_REPLY_ARRAY)
		return 0;
	ret->fields = f;
	for (i = 0; i + 1 < f->elements; i += 2) {
		name = f->element[i];
		if (!strcmp(name->str, "data"))
			ret->data = f->element[i + 1];
		else if (!strcmp(name->str, "type"))
			ret->type = f->element[i + 1];
		else if (!strcmp(name->str, "prio"))
			ret->prio = f->element[i + 1];
		else if (!strcmp(name->str, "id"))
			ret->name = f->element[i + 1];
	}
	return 0;
}

/* A decimal number of its own: 0 or -1. */
static int number_of(const redisReply *r, long long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(r->str, &end, 10);
	return errno || end == r->str || *end || strchr(" \t\n\v\f\r", *r->str)
		       ? -1
		       : 0;
}

/* The message that an entry is: NULL, or why it is none. */
static const char *message_of(struct in *in, const struct entry *e)
{
	long long n = 0;
	char *text;

	if (!e->data)
		return "it has no field 'data'";
	if (in->link->kind == FAC_MSG) {
		if (e->type && (number_of(e->type, &n) || n < 1))
			return "its type is no number above 0";
		if (!e->type && e->prio &&
			(number_of(e->prio, &n) || n < 0 || n > 32767))
			return "its priority is no number from 0 to 32767";
		in->m.type = e->type ? n : e->prio ? n + 1 : 1;
	} else {
		if (e->prio && (number_of(e->prio, &n) || n < 0 || n > 32767))
			return "its priority is no number from 0 to 32767";
		in->m.type = e->prio ? n : 0;
	}
	in->m.len = (size_t)e->data->len;
	text = carried_text(&in->m, in->m.len);
	if (!text)
		return "out of memory";
	memcpy(text, e->data->str, in->m.len);
	return NULL;
}

/* ---- what becomes of it ---- */

/* Until Redis has answered the command of `words`. */
static enum outcome insist(struct in *in, const char *what)
{
	struct redis_words words = in->redis.words;
	redisReply *reply;
	enum outcome e;

	/* Others are said when the connection is made again. */
	in->redis.words = (struct redis_words){0};
	do {
		struct redis_words own = in->redis.words;

		in->redis.words = words;
		e = redis_ask(&in->redis, what, &reply);
		in->redis.words = own;
		if (reply)
			freeReplyObject(reply);
	} while (e == AGAIN && (e = ready(in)) == DONE);
	free(in->redis.words.word);
	free(in->redis.words.len);
	in->redis.words = words;
	return e;
}

/* XACK of what was put; as often as it takes. */
static enum outcome acknowledge(struct in *in)
{
	enum outcome e;
	unsigned i;

	if (!in->done)
		return DONE;
	say(in, "XACK", in->link->stream);
	WORD(in->link->group);
	for (i = 0; i < in->done; i++)
		WORD(in->ids[i]);
	e = insist(in, "XACK");
	if (e == DONE)
		in->done = 0;
	return e;
}

/* Those of the batch that are not put yet stay ours; a connection that is lost
 * meanwhile is noticed later. */
static void keep_ours(struct in *in, const redisReply *entries)
{
	time_t t = now();
	redisReply *reply;
	size_t i;

	if (!in->link->claim || !in->redis.at ||
		t - in->kept < (time_t)(in->link->claim + 2) / 3)
		return;
	in->kept = t;
	say(in, "XCLAIM", in->link->stream);
	WORD(in->link->group);
	WORD(in->link->consumer);
	WORD("0");
	for (i = in->at; i < entries->elements; i++)
		if (entries->element[i]->type == REDIS_REPLY_ARRAY &&
			entries->element[i]->elements)
			WORD(entries->element[i]->element[0]->str);
	WORD("JUSTID");
	if (redis_ask(&in->redis, "XCLAIM", &reply) == DONE)
		freeReplyObject(reply);
}

/* To the dead letters, and then acknowledged: killed in between it comes twice.
 */
static enum outcome bury(struct in *in, const struct entry *e, const char *why)
{
	enum outcome o;
	size_t i;

	say(in, "XADD", in->link->dead_letter);
	WORD("*");
	WORD("stream");
	WORD(in->link->stream);
	WORD("entry");
	WORD(e->id);
	WORD("reason");
	WORD(why);
	for (i = 0; i < e->fields->elements; i++)
		words_add(&in->redis.words, e->fields->element[i]->str,
			(size_t)e->fields->element[i]->len);
	o = insist(in, "the dead letters");
	say(in, "XACK", in->link->stream);
	WORD(in->link->group);
	WORD(e->id);
	return o == DONE ? insist(in, "XACK") : o;
}

static enum outcome reject(
	struct in *in, const struct entry *e, const char *why)
{
	struct counters *n = in->link->counters;

	/* With dead letters it is met again only if Redis lost that it went
	 * there, or is another one of the same ID. */
	if (!in->link->dead_letter && idset_has(&in->unfit, e->id, e->id_len))
		return DONE;
	idset_add(&in->unfit, e->id, e->id_len);
	link_adds(&n->rejected, 1);
	link_says(in->link, "entry %s: %s%s%s", e->id, why,
		in->link->dead_letter ? "; to " : "; it stays pending",
		in->link->dead_letter ? in->link->dead_letter : "");
	return in->link->dead_letter ? bury(in, e, why) : DONE;
}

static void put_done(struct in *in, const struct entry *e)
{
	in->ids[in->done++] = e->id;
}

/* Wait for space, and keep the rest from others meanwhile. */
static enum outcome put(struct in *in, const redisReply *entries, int *ret)
{
	enum outcome o = DONE;

	*ret = queue_put(&in->queue, &in->m, 0);
	while (*ret == -EAGAIN && !link_stops) {
		link_waits(in->link, WAITS_SPACE);
		/* What the queue has is not asked for again. */
		o = acknowledge(in);
		if (o != DONE)
			break;
		keep_ours(in, entries);
		*ret = queue_put(&in->queue, &in->m, 1);
	}
	link_waits(in->link, WAITS_NOT);
	return *ret == -EAGAIN ? (o == DONE ? STOP : o) : DONE;
}

static enum outcome one(
	struct in *in, const redisReply *entries, const redisReply *r)
{
	struct counters *n = in->link->counters;
	struct entry e;
	const char *why, *name;
	enum outcome o;
	size_t len;
	int err;

	if (parse_entry(r, &e))
		return DONE;
	if (in->claiming && !idset_has(&in->unfit, e.id, e.id_len))
		link_adds(&n->claimed, 1);
	if (!e.fields) {
		/* Pending, and trimmed off the stream: nothing is left. */
		link_says(in->link,
			"entry %s is lost: it was trimmed off the "
			"stream before it was received",
			e.id);
		link_adds(&n->rejected, 1);
		put_done(in, &e);
		return DONE;
	}
	name = e.name ? e.name->str : e.id;
	len = e.name ? (size_t)e.name->len : e.id_len;
	if (idset_has(&in->seen, name, len)) {
		link_adds(&n->duplicates, 1);
		put_done(in, &e);
		return DONE;
	}
	why = message_of(in, &e);
	if (why)
		return reject(in, &e, why);
	o = put(in, entries, &err);
	if (o != DONE)
		return o;
	if (err == -EMSGSIZE || err == -EINVAL)
		return reject(in, &e, "it is larger than the queue takes");
	if (err == -EIDRM)
		return link_gone(in->link);
	if (err)
		return link_failed(in->link, "%s", strerror(-err));
	idset_add(&in->seen, name, len);
	put_done(in, &e);
	link_adds(&n->messages, 1);
	link_adds(&n->bytes, in->m.len);
	return DONE;
}

static int is_enough(const struct link *l)
{
	return l->count && l->counters->messages >= l->count;
}

/* ---- the loop ---- */

static int space_for(struct in *in, size_t n)
{
	const char **more;

	if (n <= in->cap)
		return 0;
	more = realloc(in->ids, n * sizeof(*more));
	if (!more)
		return -1;
	in->ids = more;
	in->cap = (unsigned)n;
	return 0;
}

static enum outcome carry(struct in *in)
{
	const redisReply *entries;
	enum outcome e = ask(in, &entries), acked;
	int own = *in->after != 0;
	size_t i;

	if (e == AGAIN)
		return ready(in);
	if (e != DONE)
		return e;
	redis_fine(&in->redis);
	if (!entries || !entries->elements) {
		/* All of our own are through. */
		in->after[0] = 0;
		return link_stops ? STOP : DONE;
	}
	if (space_for(in, entries->elements))
		return link_failed(in->link, "out of memory");
	in->kept = now();
	for (i = 0; i < entries->elements && e == DONE; i++) {
		in->at = (unsigned)i;
		if (link_stops || is_enough(in->link))
			break;
		e = one(in, entries, entries->element[i]);
	}
	if (own && entries->element[entries->elements - 1]->elements)
		snprintf(in->after, sizeof(in->after), "%s",
			entries->element[entries->elements - 1]
				->element[0]
				->str);
	acked = acknowledge(in);
	if (e == DONE)
		e = acked;
	return e == DONE && link_stops ? STOP : e;
}

int link_in(struct link *l, struct caller *c)
{
	struct in in = {.link = l, .redis = {.link = l}, .after = "0"};
	enum outcome e;

	snprintf(in.batch, sizeof(in.batch), "%u", l->batch);
	snprintf(in.claim_ms, sizeof(in.claim_ms), "%llu", l->claim * 1000ULL);
	if (idset_open(&in.seen, l->dedup, l->dedup_file) ||
		idset_open(&in.unfit, UNFIT_KEPT, NULL))
		return EXIT_FAILED;
	e = queue_open(&in.queue, l, c);
	if (e == DONE)
		e = ready(&in);
	while (e == DONE && !is_enough(l))
		e = carry(&in);
	redis_close(&in.redis);
	return link_status(e);
}
