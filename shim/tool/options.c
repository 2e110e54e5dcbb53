// SPDX-License-Identifier: MIT
/*
 * Reading options; see options.h.
 */
#include "tool/options.h"

#include <getopt.h>
#include <string.h>

#include "tool/message.h"

#define OPTIONS_MAX 24
#define ABOUT_COLUMN 20

/* Both tables as getopt_long wants them: val is the index + 256. */
struct parser {
	const struct option_spec *spec[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 2];
	char shorts[3 * OPTIONS_MAX + 4];
	int n;
};

static void add_table(struct parser *p, const struct option_spec *table)
{
	char *s = p->shorts + strlen(p->shorts);

	for (; table && table->name && p->n < OPTIONS_MAX; table++) {
		p->spec[p->n] = table;
		p->longs[p->n] = (struct option){table->name,
			table->value ? required_argument : no_argument, NULL,
			256 + p->n};
		p->n++;
		if (!table->letter)
			continue;
		*s++ = table->letter;
		if (table->value)
			*s++ = ':';
		*s = 0;
	}
}

static const struct option_spec *find(const struct parser *p, int c)
{
	int i;

	if (c >= 256)
		return c < 256 + p->n ? p->spec[c - 256] : NULL;
	for (i = 0; i < p->n; i++)
		if (p->spec[i]->letter == c)
			return p->spec[i];
	return NULL;
}

/* What getopt_long refused. */
static int refuse(int c, char **argv)
{
	const char *arg = argv[optind - 1];

	if (c == ':')
		return usage_error("option '%s' needs a value", arg);
	if (optopt && optopt < 256 && strncmp(arg, "--", 2) != 0)
		return usage_error("unknown option '-%c'", optopt);
	if (optopt >= 256)
		return usage_error("option '%s' takes no value", arg);
	return usage_error("unknown option '%s'", arg);
}

int options_parse(int argc, char **argv,
	const struct option_spec *const *tables, int stop, int *ret_first)
{
	struct parser p = {0};
	int c, i;

	strcpy(p.shorts, stop ? "+:h" : ":h");
	for (i = 0; i < OPTION_TABLES; i++)
		add_table(&p, tables[i]);
	p.longs[p.n] = (struct option){"help", no_argument, NULL, 'h'};
	/* Or it would print messages of its own. */
	opterr = 0;
	while ((c = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1) {
		const struct option_spec *spec = find(&p, c);

		if (c == 'h')
			return -1;
		if (!spec)
			return refuse(c, argv);
		if (spec->value)
			*(const char **)spec->to = optarg;
		else
			*(int *)spec->to = 1;
	}
	*ret_first = optind;
	return 0;
}

static void help_one(const struct option_spec *o, FILE *to)
{
	const char *line = o->about, *end;
	int used = 0;

	if (o->letter)
		used += fprintf(to, "  -%c, --%s", o->letter, o->name);
	else
		used += fprintf(to, "  --%s", o->name);
	if (o->value)
		used += fprintf(to, " %s", o->value);
	if (used >= ABOUT_COLUMN) {
		fputc('\n', to);
		used = 0;
	}
	for (; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		fprintf(to, "%*s%.*s\n", ABOUT_COLUMN - used, "",
			(int)(end - line), line);
		used = 0;
	}
}

void options_help(const struct option_spec *const *tables, FILE *to)
{
	const struct option_spec *o;
	int i;

	for (i = 0; i < OPTION_TABLES; i++)
		for (o = tables[i]; o && o->name; o++)
			help_one(o, to);
	fprintf(to, "  %-*sthis text\n", ABOUT_COLUMN - 2, "-h, --help");
}
