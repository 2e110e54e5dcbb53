// SPDX-License-Identifier: MIT
/*
 * Columns, order and repetition; see choice.h.
 */
#include "tool/view/choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/message.h"

const char *choice_columns, *choice_sort, *choice_watch;
int choice_bare, choice_raw;

const struct option_spec choice_options[] = {
	{"columns", 'o', "LIST", &choice_columns,
		"these columns, by heading or by name in JSON;\n"
		"+LIST: in addition to the default ones"},
	{"sort", 0, "COLUMN[:desc]", &choice_sort,
		"in this order; :desc the largest first"},
	{"noheadings", 'n', NULL, &choice_bare, "only rows"},
	{"raw", 'r', NULL, &choice_raw,
		"for scripts: a blank between columns, blanks\n"
		"in them as \\x20, numbers whole"},
	{"watch", 'w', "SECONDS", &choice_watch,
		"repeat until ended by a signal"},
	{0},
};

#define WATCH_LEAST 0.1 /* arbitrary */

static int is_named(const char *name, const char *word, size_t n)
{
	return name && strlen(name) == n && !strncasecmp(name, word, n);
}

/* A column of rows, by heading or by field in JSON. */
static const struct column *find(
	const struct column *columns, const char *word, size_t n)
{
	const struct column *found = NULL;

	for (; columns->field && !found; columns++)
		if (columns->kind == COLUMN_INCLUDE)
			found = find(columns->of, word, n);
		else if ((columns->heading || columns->about) &&
			 (is_named(columns->heading, word, n) ||
				 is_named(columns->field, word, n)))
			found = columns;
	return found;
}

/* The next of the list, of *ret_n letters; NULL at its end. */
static const char *next_word(const char **at, size_t *ret_n)
{
	const char *word = *at;

	if (!word)
		return NULL;
	*ret_n = strcspn(word, ",");
	*at = word[*ret_n] ? word + *ret_n + 1 : NULL;
	return word;
}

static const struct column *find_in(
	const struct column *const *parts, const char *word, size_t n)
{
	const struct column *found = NULL;

	while (!found && *parts)
		found = find(*parts++, word, n);
	return found;
}

static int unknown(const char *option, const char *word, size_t n,
	const struct column *const *all)
{
	const struct column *const *parts = all, *c;
	char known[500] = "";
	size_t used = 0;

	for (; *parts; parts++)
		for (c = *parts; c->field && used < sizeof(known); c++)
			if ((c->heading || c->about) &&
				find_in(all, c->field, strlen(c->field)) == c)
				used += (size_t)snprintf(known + used,
					sizeof(known) - used, "%s%s",
					used ? ", " : "", c->field);
	return usage_error(
		"--%s: no column '%.*s', but %s", option, (int)n, word, known);
}

/* Without the '+'. */
static const char *chosen(void)
{
	return choice_columns ? choice_columns + (*choice_columns == '+')
			      : NULL;
}

int choice_check_parts(const struct column *const *parts)
{
	const char *at = chosen(), *word;
	size_t n;

	while ((word = next_word(&at, &n)))
		if (!find_in(parts, word, n))
			return unknown("columns", word, n, parts);
	if (!choice_sort)
		return 0;
	n = strcspn(choice_sort, ":");
	if (!find_in(parts, choice_sort, n))
		return unknown("sort", choice_sort, n, parts);
	if (choice_sort[n] && strcmp(choice_sort + n, ":desc") != 0)
		return usage_error(
			"--sort: '%s' is not :desc", choice_sort + n);
	return 0;
}

int choice_check(const struct column *columns)
{
	const struct column *const parts[] = {columns, NULL};

	return choice_check_parts(parts);
}

/* ---- order ---- */

static const char *sort_field;
static int sort_down;

static int is_number(json_object *v)
{
	return json_object_is_type(v, json_type_int) ||
	       json_object_is_type(v, json_type_double) ||
	       json_object_is_type(v, json_type_boolean);
}

static int compare(const void *a, const void *b)
{
	json_object *x = json_object_object_get(
			    *(json_object *const *)a, sort_field),
		    *y = json_object_object_get(
			    *(json_object *const *)b, sort_field);
	int d;

	if (!x || !y)
		return !x - !y;
	if (is_number(x) && is_number(y))
		d = json_object_get_double(x) < json_object_get_double(y)
			    ? -1
			    : json_object_get_double(x) >
				      json_object_get_double(y);
	else
		d = strverscmp(
			json_object_get_string(x), json_object_get_string(y));
	return sort_down ? -d : d;
}

void choice_order(const struct column *columns, json_object *rows)
{
	const struct column *c;
	size_t n;

	if (!choice_sort)
		return;
	n = strcspn(choice_sort, ":");
	c = find(columns, choice_sort, n);
	if (!c)
		return;
	sort_field = c->field;
	sort_down = choice_sort[n] != 0;
	json_object_array_sort(rows, compare);
}

/* ---- columns ---- */

int choice_each(const struct column *columns, size_t width,
	void (*fn)(const struct column *c, void *arg), void *arg)
{
	const char *at = chosen(), *word;
	const struct column *c;
	int some = 0;
	size_t n;

	if (!at || *choice_columns == '+')
		for (c = columns; c->field; c++)
			if (c->heading && c->wide <= width && ++some && fn)
				fn(c, arg);
	while ((word = next_word(&at, &n))) {
		c = find(columns, word, n);
		if (c && ++some && fn)
			fn(c, arg);
	}
	return some;
}

/* ---- repetition ---- */

static int parse_seconds(struct timespec *ret)
{
	char *end;
	double v = strtod(choice_watch, &end);

	if (end == choice_watch || *end || !(v >= WATCH_LEAST) || v > 86400)
		return usage_error(
			"--watch: '%s' is no number of seconds from 0.1",
			choice_watch);
	ret->tv_sec = (time_t)v;
	ret->tv_nsec = (long)((v - (double)ret->tv_sec) * 1e9);
	return 0;
}

/* In a child, so that each run begins with the state of a new command. */
static int run_child(int (*once)(int argc, char **argv), int argc, char **argv)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return failure("fork: %s", strerror(errno));
	if (!pid) {
		status = once(argc, argv);
		exit(fflush(stdout) ? EXIT_FAILED : status);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_USAGE;
}

int choice_repeat(int (*once)(int argc, char **argv), int argc, char **argv)
{
	struct timespec nap;
	int err;

	if (!choice_watch)
		return once(argc, argv);
	err = parse_seconds(&nap);
	while (!err) {
		/* Clear a terminal's screen; in a file a blank line
		 * separates. */
		if (isatty(1))
			fputs("\033[H\033[2J", stdout);
		err = run_child(once, argc, argv);
		/* Deadlocks, or a registry that does not exist yet. */
		if (err == EXIT_FAILED)
			err = 0;
		if (!isatty(1))
			putchar('\n');
		if (fflush(stdout))
			return EXIT_FAILED;
		if (!err)
			nanosleep(&nap, NULL);
	}
	return err;
}
