// SPDX-License-Identifier: MIT
/*
 * The lines of a bridge: options and words into struct link; see lines.h.
 */
#include "tool/bridge/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#include "tool/bridge/redis.h"
#include "tool/message.h"
#include "tool/registry.h"
#include "tool/view/objects.h"

/* Arbitrary bounds. */
#define LINES_MAX 256u
#define BATCH_MOST 1000u
#define DEDUP_MOST 100000000u

/* ---- options ---- */

/* As given for a line; those of the command are the beginning for each. */
struct given {
	const char *redis, *redis_file, *cacert, *cert, *key, *batch, *maxlen,
		*group, *consumer, *claim, *dedup, *dedup_file, *dead_letter,
		*count;
	int create, wait;
};
static struct given given;
struct bridge_of bridge_of;

#define LINE_OPTIONS                                                          \
	{"redis", 0, "URL", &given.redis,                                     \
		"redis://HOST:PORT/DB, rediss://... (TLS), unix:///PATH\n"    \
		"(default: IPCLIFT_REDIS_URL, else\n"                         \
		"redis://127.0.0.1:6379)"},                                   \
		{"redis-file", 0, "FILE", &given.redis_file,                  \
			"the URL is in FILE; it may have a password:\n"       \
			"redis://USER:PASSWORD@HOST"},                        \
		{"cacert", 0, "FILE", &given.cacert,                          \
			"TLS: who may have signed the server's\n"             \
			"certificate (default: the system's)"},               \
		{"cert", 0, "FILE", &given.cert, "TLS: our own certificate"}, \
		{"key", 0, "FILE", &given.key, "TLS: and its key"},           \
		{"batch", 0, "N", &given.batch,                               \
			"messages at a time, 1 to 1000 (64)"},                \
		{"count", 0, "N", &given.count, "end after N messages"},      \
		{"wait", 0, NULL, &given.wait,                                \
			"wait for a queue that is not there, or removed"},    \
		{"maxlen", 0, "N", &given.maxlen,                             \
			"out: keep about N entries in the stream"},           \
		{"group", 0, "NAME", &given.group,                            \
			"in: the consumer group (ipclift)"},                  \
		{"consumer", 0, "NAME", &given.consumer,                      \
			"in: who we are in it (HOST-KIND-NAME)"},             \
		{"create", 0, NULL, &given.create,                            \
			"in: make the stream, if there is none"},             \
		{"claim", 0, "SECONDS", &given.claim,                         \
			"in: take over what another consumer left so long\n"  \
			"(60; 0: never)"},                                    \
		{"dedup", 0, "N", &given.dedup,                               \
			"in: drop what is among the last N received"},        \
		{"dedup-file", 0, "FILE", &given.dedup_file,                  \
			"in: where they are kept over a restart"},            \
	{                                                                     \
		"dead-letter", 0, "STREAM", &given.dead_letter,               \
			"in: where messages go that the queue never takes"    \
	}

static const struct option_spec line_options[] = {LINE_OPTIONS, {0}};
const struct option_spec bridge_options[] = {LINE_OPTIONS,
	{"file", 0, "FILE", &bridge_of.file,
		"lines of [OPTIONS] out|in KIND NAME STREAM"},
	{"metrics", 0, "FILE", &bridge_of.metrics,
		"counters for Prometheus' textfile collector, every\n"
		"5 seconds"},
	{"listen", 0, "ADDRESS:PORT", &bridge_of.where, "the same by HTTP"},
	{"quiet", 'q', NULL, &bridge_of.quiet, "no progress"}, {0}};

/* ---- a line ---- */

static char *copy(const char *s)
{
	char *ret = s ? strdup(s) : NULL;

	if (s && !ret) {
		failure("out of memory");
		exit(EXIT_FAILED);
	}
	return ret;
}

static int number(const char *option, const char *text, uint64_t least,
	uint64_t most, uint64_t otherwise, uint64_t *ret)
{
	unsigned long long n;

	*ret = otherwise;
	if (!text)
		return 0;
	if (parse_number(text, (long long)least, most, &n))
		return usage_error("--%s: '%s' is no number from %" PRIu64
				   " to %" PRIu64,
			option, text, least, most);
	*ret = n;
	return 0;
}

/* The first line of the file that --redis-file names. */
static int read_url(const char *path, char *line, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		n = failure("--redis-file: %s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		n = failure("--redis-file: %s: it is no file", path);
	else if (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
		n = failure("--redis-file: %s: others may read or write it "
			    "(chmod 600)",
			path);
	else if ((n = -read(fd, line, cap - 1)) > 0)
		n = failure("--redis-file: %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (n > 0)
		return (int)n;
	line[-n] = 0;
	line[strcspn(line, "\r\n")] = 0;
	return 0;
}

static int parse_redis(struct redis_url *ret)
{
	const char *env = getenv("IPCLIFT_REDIS_URL");
	char line[4096];
	int err;

	ret->cacert = copy(given.cacert);
	ret->cert = copy(given.cert);
	ret->key = copy(given.key);
	if (given.redis_file) {
		err = read_url(given.redis_file, line, sizeof(line));
		return err ? err : redis_parse(line, 0, ret);
	}
	if (given.redis)
		return redis_parse(given.redis, 1, ret);
	return redis_parse(env && *env ? env : "redis://127.0.0.1", 0, ret);
}

static int parse_numbers(struct link *l)
{
	uint64_t batch, claim, dedup;
	int err = number("batch", given.batch, 1, BATCH_MOST, 64, &batch);

	if (!err)
		err = number(
			"maxlen", given.maxlen, 1, INT64_MAX, 0, &l->maxlen);
	if (!err)
		err = number("count", given.count, 1, INT64_MAX, 0, &l->count);
	if (!err)
		err = number("claim", given.claim, 0, 1000000, 60, &claim);
	if (!err)
		err = number("dedup", given.dedup, 0, DEDUP_MOST, 0, &dedup);
	if (err)
		return err;
	l->batch = (unsigned)batch;
	l->claim = (unsigned)claim;
	l->dedup = (unsigned)dedup;
	if (given.dedup_file && !l->dedup)
		return usage_error("--dedup-file needs --dedup N");
	return 0;
}

/* Options of the other direction, on this very line. */
static int check_direction(const struct given *on_line, int in)
{
	const struct {
		const char *name;
		int is, in;
	} of[] = {{"maxlen", on_line->maxlen != NULL, 0},
		{"group", on_line->group != NULL, 1},
		{"consumer", on_line->consumer != NULL, 1},
		{"create", on_line->create, 1},
		{"claim", on_line->claim != NULL, 1},
		{"dedup", on_line->dedup != NULL, 1},
		{"dedup-file", on_line->dedup_file != NULL, 1},
		{"dead-letter", on_line->dead_letter != NULL, 1}};
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (of[i].is && of[i].in != in)
			return usage_error("--%s is of '%s'", of[i].name,
				of[i].in ? "in" : "out");
	return 0;
}

static int parse_words(struct link *l, int argc, char **argv)
{
	unsigned long long key;
	int kind;

	if (argc != 4)
		return usage_error("wanted: out|in KIND NAME STREAM");
	l->in = !strcmp(argv[0], "in");
	if (!l->in && strcmp(argv[0], "out") != 0)
		return usage_error("'%s' is neither out nor in", argv[0]);
	kind = kind_parse(argv[1]);
	if (kind != FAC_MSG && kind != FAC_MQ)
		return usage_error("'%s' is neither msg nor mq", argv[1]);
	l->kind = (enum facility)kind;
	if (kind == FAC_MSG && !strncmp(argv[2], "key:", 4)) {
		if (parse_number(argv[2] + 4, -0x80000000LL, 0xffffffffu, &key))
			return usage_error("'%s' is no key", argv[2]);
	} else if (object_word(l->kind, argv[2])) {
		return EXIT_USAGE;
	}
	if (!*argv[3])
		return usage_error("a stream's name is not empty");
	l->queue = copy(argv[2]);
	l->stream = copy(argv[3]);
	snprintf(l->name, sizeof(l->name), "%s %s %.250s %.80s", argv[0],
		facility_names[kind], argv[2], argv[3]);
	return 0;
}

static char *default_consumer(const struct link *l)
{
	char host[65] = "", name[400];

	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), "%s-%s-%s", host, facility_names[l->kind],
		l->queue + (*l->queue == '/'));
	return copy(name);
}

/* The words after the options; `given` has those. */
static int parse_link(struct link *l, int argc, char **argv)
{
	int err = parse_words(l, argc, argv);

	if (!err)
		err = parse_numbers(l);
	if (!err)
		err = parse_redis(&l->url);
	if (err)
		return err;
	l->group = copy(given.group ? given.group : "ipclift");
	l->consumer =
		given.consumer ? copy(given.consumer) : default_consumer(l);
	l->dedup_file = copy(given.dedup_file);
	l->dead_letter = copy(given.dead_letter);
	l->create = given.create;
	l->wait = given.wait;
	return 0;
}

/* ---- the lines ---- */

struct link *links;
unsigned n_links;

static struct link *add_link(void)
{
	struct link *more = realloc(links, (n_links + 1) * sizeof(*links));

	if (!more) {
		failure("out of memory");
		exit(EXIT_FAILED);
	}
	links = more;
	links[n_links] = (struct link){0};
	return &links[n_links++];
}

static int parse_line(const char *text, const struct given *common)
{
	const struct option_spec *tables[OPTION_TABLES] = {line_options};
	wordexp_t words = {.we_offs = 1};
	int err, first = 0, argc;
	struct given own;

	/* A place for what getopt takes for the command's name. */
	if (wordexp(text, &words, WRDE_DOOFFS | WRDE_NOCMD))
		return usage_error("quotes that do not end, or one of "
				   "|&;<>(){}$` outside of quotes");
	words.we_wordv[0] = (char *)"bridge";
	argc = (int)words.we_wordc + 1;
	given = (struct given){0};
	optind = 0;
	err = options_parse(argc, words.we_wordv, tables, 0, &first);
	if (err < 0)
		err = usage_error("--help is no option of a line");
	own = given;
	if (!err) {
		given = *common;
		optind = 0;
		err = options_parse(argc, words.we_wordv, tables, 0, &first);
	}
	if (!err)
		err = parse_link(
			add_link(), argc - first, words.we_wordv + first);
	if (!err)
		err = check_direction(&own, links[n_links - 1].in);
	words.we_wordv[0] = NULL;
	wordfree(&words);
	return err;
}

static int read_lines(const struct given *common)
{
	FILE *from = fopen(bridge_of.file, "re");
	char *line = NULL;
	size_t cap = 0, at;
	unsigned n = 0;
	int err = 0;
	ssize_t len;

	if (!from)
		return failure(
			"--file: %s: %s", bridge_of.file, strerror(errno));
	while (!err && (len = getline(&line, &cap, from)) >= 0) {
		n++;
		line[strcspn(line, "\r\n")] = 0;
		at = strspn(line, " \t");
		if (!line[at] || line[at] == '#')
			continue;
		err = (size_t)len > strlen(line) + 2
			      ? usage_error("a zero byte")
		      : n_links >= LINES_MAX
			      ? usage_error("more than %u lines", LINES_MAX)
			      : parse_line(line, common);
	}
	free(line);
	fclose(from);
	if (err)
		failure("that was line %u of %s", n, bridge_of.file);
	else if (!n_links)
		err = usage_error("--file: %s has no lines", bridge_of.file);
	return err;
}

int lines_parse(int argc, char **argv)
{
	struct given common = given;
	int err;

	if (!bridge_of.file) {
		err = parse_link(add_link(), argc, argv);
		return err ? err : check_direction(&common, links[0].in);
	}
	if (argc)
		return usage_error("--file and a line exclude each other");
	return read_lines(&common);
}
