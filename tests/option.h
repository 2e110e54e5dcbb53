// SPDX-License-Identifier: MIT
/*
 * option.h: the options of test programs: `--name NUMBER`, `--name TEXT` or
 * `--name` alone. Plain system headers only, as in a user's program.
 *
 *	static const struct option_of options[] = {
 *		{"kills", .number = &n_kills},
 *		{"poll", .flag = &with_poll},
 *		{0},
 *	};
 *	i = options_read(argc, argv, options);
 */
#ifndef TESTS_OPTION_H
#define TESTS_OPTION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of number, text and flag is set: where what was given goes. */
struct option_of {
	const char *name; /* without its dashes; NULL ends the table */
	long *number;	  /* decimal, or as in C */
	const char **text;
	int *flag; /* becomes 1 */
};

/* The command line is wrong: says where the right one stands; exit status 2. */
static inline _Noreturn void options_wrong(char **argv)
{
	const char *base = strrchr(argv[0], '/');

	fprintf(stderr, "usage: see the head of %s.c\n",
		base ? base + 1 : argv[0]);
	exit(2);
}

static inline const struct option_of *option_find(
	const struct option_of *options, const char *name, size_t len)
{
	for (; options->name; options++)
		if (strlen(options->name) == len &&
			!strncmp(options->name, name, len))
			return options;
	return NULL;
}

/* False if the value is no number where there should be one. */
static inline int option_take(const struct option_of *o, const char *value)
{
	char *end = NULL;

	if (o->flag)
		*o->flag = 1;
	else if (o->text)
		*o->text = value;
	else
		*o->number = strtol(value, &end, 0);
	return !end || (end != value && !*end);
}

/* The index in argv of the first word that is no option: argc if there is none.
 * `--name VALUE` or `--name=VALUE`. What stands in no table, or lacks its
 * value, is options_wrong(). */
static inline int options_read(
	int argc, char **argv, const struct option_of *options)
{
	int i;

	for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
		const char *name = argv[i] + 2;
		size_t len = strcspn(name, "=");
		const struct option_of *o = option_find(options, name, len);
		const char *value = name[len] ? name + len + 1 : NULL;

		if (!o || (o->flag && value))
			options_wrong(argv);
		if (!o->flag && !value && ++i < argc)
			value = argv[i];
		if ((!o->flag && !value) || !option_take(o, value))
			options_wrong(argv);
	}
	return i;
}

/* For programs that take options alone. */
static inline void options_only(
	int argc, char **argv, const struct option_of *options)
{
	if (options_read(argc, argv, options) != argc)
		options_wrong(argv);
}

#endif
