// SPDX-License-Identifier: MIT
/*
 * The connection to Redis; see redis.h.
 */
#include "tool/bridge/redis.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "tool/message.h"
#include "tool/registry.h"
#include "tool/run.h"

/* Silence after which a connection is given up: at first, and at most; what a
 * write or connecting may take. */
#define SILENCE_S 5
#define SILENCE_MOST_S 60
/* The same, once the end is asked for; and how often that is looked for. */
#define STOP_MS 1000
#define LOOK_MS 200
#define PAUSE_FIRST_MS 100u
#define PAUSE_MOST_MS 5000u
#define DEFAULT_PORT 6379
/* Bytes of a sentence about what went wrong, cut off beyond. */
#define SENTENCE_MOST 300

/* ---- words ---- */

void words_begin(struct redis_words *w)
{
	w->n = 0;
	w->failed = 0;
}

void words_add(struct redis_words *w, const char *word, size_t len)
{
	int cap = w->cap ? w->cap * 2 : 64;
	const char **words;
	size_t *lens;

	if (w->n == w->cap) {
		words = realloc(w->word, (size_t)cap * sizeof(*words));
		if (words)
			w->word = words;
		lens = realloc(w->len, (size_t)cap * sizeof(*lens));
		if (lens)
			w->len = lens;
		if (!words || !lens) {
			w->failed = 1;
			return;
		}
		w->cap = cap;
	}
	w->word[w->n] = word;
	w->len[w->n++] = len;
}

void words_say(struct redis_words *w, const char *word)
{
	words_add(w, word, strlen(word));
}

/* ---- the URL ---- */

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *at;

	at = c ? strchr(digits, c | 0x20) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* n bytes with their %XX undone; NULL: no memory. */
static char *decode(const char *from, size_t n)
{
	char *ret = malloc(n + 1), *to = ret;
	size_t i;

	for (i = 0; ret && i < n; i++) {
		if (from[i] == '%' && i + 2 < n && hex(from[i + 1]) >= 0 &&
			hex(from[i + 2]) >= 0) {
			*to++ = (char)(hex(from[i + 1]) << 4 |
				       hex(from[i + 2]));
			i += 2;
		} else {
			*to++ = from[i];
		}
	}
	if (ret)
		*to = 0;
	return ret;
}

static int parse_db(const char *text, int *ret)
{
	unsigned long long n = 0;

	if (*text && parse_number(text, 0, 1000000, &n))
		return usage_error("the URL's database is no number");
	*ret = (int)n;
	return 0;
}

static int parse_unix(const char *path, struct redis_url *ret)
{
	size_t n = strcspn(path, "?");

	if (*path != '/')
		return usage_error("the URL is not unix:///PATH");
	ret->path = decode(path, n);
	if (!strncmp(path + n, "?db=", 4))
		return parse_db(path + n + 4, &ret->db);
	return path[n] ? usage_error("after '?' only db=N is known") : 0;
}

/* USER:PASSWORD@ */
static void parse_user(const char *text, size_t n, struct redis_url *ret)
{
	const char *colon = memchr(text, ':', n);
	size_t user = colon ? (size_t)(colon - text) : n;

	if (user)
		ret->user = decode(text, user);
	if (colon)
		ret->password = decode(colon + 1, n - user - 1);
}

/* HOST:PORT, [ADDRESS]:PORT */
static int parse_host(const char *text, size_t n, struct redis_url *ret)
{
	const char *end = text + n, *host = text, *port;
	char digits[8];
	unsigned long long number;

	if (n && *text == '[') {
		host++;
		port = memchr(text, ']', n);
		if (!port)
			return usage_error("the URL's '[' has no ']'");
		n = (size_t)(port++ - host);
	} else {
		port = memchr(text, ':', n);
		port = port ? port : end;
		n = (size_t)(port - host);
	}
	ret->host = n ? decode(host, n) : strdup("127.0.0.1");
	ret->port = DEFAULT_PORT;
	if (port == end)
		return 0;
	snprintf(digits, sizeof(digits), "%.*s", (int)(end - port - 1),
		port + 1);
	if (*port != ':' || end - port - 1 >= (int)sizeof(digits) ||
		parse_number(digits, 1, 65535, &number))
		return usage_error("the URL's port is no number of a port");
	ret->port = (int)number;
	return 0;
}

int redis_parse(const char *text, int on_command_line, struct redis_url *ret)
{
	const char *at, *slash;
	size_t n;
	int err;

	if (!strncasecmp(text, "unix://", 7))
		return parse_unix(text + 7, ret);
	ret->tls = !strncasecmp(text, "rediss://", 9);
	if (!ret->tls && strncasecmp(text, "redis://", 8) != 0)
		return usage_error("the URL is not redis://HOST:PORT/DB, "
				   "rediss://... or unix:///PATH");
	text += 8 + ret->tls;
	slash = strchrnul(text, '/');
	n = (size_t)(slash - text);
	at = memrchr(text, '@', n);
	if (at) {
		parse_user(text, (size_t)(at - text), ret);
		n -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	if (ret->password && on_command_line)
		return usage_error("everybody sees a password on the command "
				   "line: --redis-file FILE, or "
				   "IPCLIFT_REDIS_URL");
	err = parse_host(text, n, ret);
	return err ? err : parse_db(*slash ? slash + 1 : "", &ret->db);
}

/* ---- trouble ---- */

void redis_close(struct redis *r)
{
	if (r->at)
		redisFree(r->at);
	r->at = NULL;
	r->n_sent = 0;
	__atomic_store_n(&r->link->counters->connected, 0, __ATOMIC_RELAXED);
}

static enum outcome trouble(struct redis *r, const char *what, const char *why)
{
	if (!r->trouble)
		link_says(r->link, "%s%s%s", what, why,
			link_stops ? "" : "; it is tried again");
	if (!r->trouble)
		r->pause_ms = PAUSE_FIRST_MS;
	r->trouble = 1;
	return AGAIN;
}

enum outcome redis_lost(struct redis *r, const char *why)
{
	char text[SENTENCE_MOST];

	/* why may be the connection's own. */
	snprintf(text, sizeof(text), "%s", why);
	redis_close(r);
	return trouble(r, "Redis: ", text);
}

/* Errors that pass, by the word they begin with (Redis' own list). */
enum outcome redis_error(struct redis *r, const char *what, const char *error)
{
	static const char *const passing[] = {"LOADING", "OOM", "READONLY",
		"MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY ", "NOREPLICAS",
		"MISCONF", "UNBLOCKED", "NOGROUP", "ERR max number of clients"};
	char text[SENTENCE_MOST];
	size_t i;

	snprintf(text, sizeof(text), "%s: %.200s", what, error);
	for (i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (!strncmp(error, passing[i], strlen(passing[i])))
			return redis_lost(r, text);
	return link_failed(r->link, "Redis: %s", text);
}

/* ---- commands ---- */

enum outcome redis_send(struct redis *r)
{
	struct redis_words *w = &r->words;

	if (w->failed)
		return link_failed(r->link, "out of memory");
	if (!r->at)
		return AGAIN;
	if (redisAppendCommandArgv(r->at, w->n, w->word, w->len) != REDIS_OK)
		return redis_lost(r, r->at->errstr);
	r->n_sent++;
	return DONE;
}

/* The first error in the answer to EXEC, or the answer itself. */
static const redisReply *fault_of(const redisReply *reply)
{
	size_t i;

	if (reply->type == REDIS_REPLY_ARRAY)
		for (i = 0; i < reply->elements; i++)
			if (reply->element[i]->type == REDIS_REPLY_ERROR)
				return reply->element[i];
	return reply->type == REDIS_REPLY_ERROR ? reply : NULL;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Bytes from Redis, or none for now. redisGetReply would go on after a signal. */
static enum outcome read_more(struct redis *r, uint64_t until)
{
	struct pollfd at = {r->at->fd, POLLIN, 0};
	int sent = 0, n;

	while (!sent)
		if (redisBufferWrite(r->at, &sent) != REDIS_OK)
			return redis_lost(r, r->at->errstr);
	n = poll(&at, 1, LOOK_MS);
	if (n > 0 && redisBufferRead(r->at) != REDIS_OK)
		return redis_lost(r, r->at->errstr);
	if (n > 0 || now_ms() < until)
		return DONE;
	r->patience_ms *= 2;
	if (r->patience_ms > SILENCE_MOST_S * 1000)
		r->patience_ms = SILENCE_MOST_S * 1000;
	return redis_lost(r, "no answer");
}

enum outcome redis_reply(struct redis *r, void **ret)
{
	uint64_t began = now_ms(), until;
	enum outcome o = DONE;
	int stops = 0;

	*ret = NULL;
	if (!r->patience_ms)
		r->patience_ms = SILENCE_S * 1000;
	until = began + r->patience_ms;
	while (o == DONE) {
		if (redisReaderGetReply(r->at->reader, ret) != REDIS_OK)
			return redis_lost(r, r->at->reader->errstr);
		if (*ret) {
			r->n_sent--;
			if (now_ms() - began > r->longest_ms)
				r->longest_ms = (unsigned)(now_ms() - began);
			return DONE;
		}
		o = read_more(r, until);
		if (link_stops && !stops++ && until > now_ms() + STOP_MS)
			until = now_ms() + STOP_MS;
	}
	return o;
}

enum outcome redis_answer(struct redis *r, const char *what, redisReply **ret)
{
	enum outcome o = DONE;
	const redisReply *bad;
	void *got = NULL;

	*ret = NULL;
	if (!r->at)
		return AGAIN;
	o = redis_reply(r, &got);
	if (o != DONE)
		return o;
	bad = fault_of(got);
	if (bad) {
		o = redis_error(r, what, bad->str);
		freeReplyObject(got);
		return o;
	}
	*ret = got;
	return DONE;
}

enum outcome redis_ask(struct redis *r, const char *what, redisReply **ret)
{
	enum outcome o = redis_send(r);

	*ret = NULL;
	return o == DONE ? redis_answer(r, what, ret) : o;
}

/* ---- connecting ---- */

static enum outcome log_in(struct redis *r)
{
	const struct redis_url *u = &r->link->url;
	char db[16];
	redisReply *reply;
	enum outcome o = DONE;

	if (u->password) {
		words_begin(&r->words);
		words_say(&r->words, "AUTH");
		if (u->user)
			words_say(&r->words, u->user);
		words_say(&r->words, u->password);
		o = redis_ask(r, "the login", &reply);
		if (o == DONE)
			freeReplyObject(reply);
	}
	snprintf(db, sizeof(db), "%d", u->db);
	words_begin(&r->words);
	words_say(&r->words, u->db ? "SELECT" : "PING");
	if (u->db)
		words_say(&r->words, db);
	if (o == DONE)
		o = redis_ask(
			r, u->db ? "the database" : "the connection", &reply);
	if (o == DONE)
		freeReplyObject(reply);
	return o;
}

/* Beside the library, or, in a build directory, beside the command. */
static void *open_module(void)
{
	const char *shim = run_find_shim(), *slash;
	char path[PATH_MAX + 32];
	void *module = NULL;

	slash = shim ? strrchr(shim, '/') : NULL;
	if (slash) {
		snprintf(path, sizeof(path), "%.*s/" TLS_MODULE,
			(int)(slash - shim), shim);
		module = dlopen(path, RTLD_NOW);
	}
	if (slash && !module) {
		snprintf(path, sizeof(path), "%.*s/tool/" TLS_MODULE,
			(int)(slash - shim), shim);
		module = dlopen(path, RTLD_NOW);
	}
	return module;
}

static int over_tls(int fd, const struct redis_url *u, char *why, size_t cap)
{
	static int (*over)(
		int fd, const struct redis_url *u, char *why, size_t cap);
	void *module = over ? NULL : open_module();

	if (module)
		*(void **)&over = dlsym(module, "tls_over");
	if (over)
		return over(fd, u, why, cap);
	snprintf(why, cap, "there is no " TLS_MODULE ": built without OpenSSL");
	close(fd);
	return -1;
}

static redisContext *dial(const struct redis_url *u, char *why, size_t cap)
{
	const struct timeval most = {SILENCE_S, 0};
	redisContext *at =
		u->path ? redisConnectUnixWithTimeout(u->path, most)
			: redisConnectWithTimeout(u->host, u->port, most);
	int fd;

	if (at && !at->err && u->tls) {
		fd = over_tls(redisFreeKeepFd(at), u, why, cap);
		if (fd < 0)
			return NULL;
		at = redisConnectFd(fd);
	} else if (at && !at->err && !u->path) {
		redisEnableKeepAlive(at);
	}
	if (at && !at->err && !redisSetTimeout(at, most))
		return at;
	snprintf(why, cap, "%s", at ? at->errstr : "out of memory");
	if (at)
		redisFree(at);
	return NULL;
}

static void pause_for(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	if (!link_stops)
		nanosleep(&t, NULL);
}

static enum outcome connect_once(struct redis *r)
{
	const struct redis_url *u = &r->link->url;
	char why[256] = "", where[300];
	enum outcome o;

	r->at = dial(u, why, sizeof(why));
	if (r->at) {
		o = log_in(r);
		if (o == DONE)
			return o;
		redis_close(r);
		return o;
	}
	if (u->path)
		snprintf(where, sizeof(where), "Redis at %.200s: ", u->path);
	else
		snprintf(where, sizeof(where),
			"Redis at %.200s, port %d: ", u->host, u->port);
	return trouble(r, where, why);
}

enum outcome redis_ready(struct redis *r)
{
	struct counters *n = r->link->counters;
	enum outcome o;

	link_waits(r->link, WAITS_REDIS);
	while (!r->at && !link_stops) {
		if (r->trouble) {
			pause_for(r->pause_ms);
			r->pause_ms *= 2;
			if (r->pause_ms > PAUSE_MOST_MS)
				r->pause_ms = PAUSE_MOST_MS;
			if (link_stops)
				break;
		}
		o = connect_once(r);
		if (o == FAILED)
			return o;
	}
	link_waits(r->link, WAITS_NOT);
	if (!r->at)
		return STOP;
	if (!n->connected && r->before)
		link_adds(&n->reconnects, 1);
	r->before = 1;
	__atomic_store_n(&n->connected, 1, __ATOMIC_RELAXED);
	return DONE;
}

void redis_fine(struct redis *r)
{
	if (r->trouble)
		link_says(r->link, "Redis answers again");
	r->trouble = 0;
	r->pause_ms = PAUSE_FIRST_MS;
	if (r->longest_ms < SILENCE_S * 1000)
		r->patience_ms = SILENCE_S * 1000;
	r->longest_ms = 0;
}
