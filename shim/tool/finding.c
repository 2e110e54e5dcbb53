// SPDX-License-Identifier: MIT
/*
 * Findings; see finding.h.
 */
#include "tool/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "tool/command.h"
#include "tool/view/table.h"

/* A finding's text, cut off beyond; arbitrary. */
#define TEXT_CAP 8192

static int n_faults, n_warnings;
static json_object *found; /* NULL: as lines */

void finding_as_json(void)
{
	found = json_object_new_array();
}

/* Lines after the first of a text begin with blanks. */
static void one_line(char *text)
{
	char *to = text, *from = text;

	for (; *from; from++) {
		if (*from == '\n')
			while (from[1] == ' ')
				from++;
		*to++ = *from == '\n' ? ' ' : *from;
	}
	*to = 0;
}

static void add(
	const char *level, const char *mend, const char *fmt, va_list args)
{
	json_object *row = json_object_new_object();
	char text[TEXT_CAP];

	vsnprintf(text, sizeof(text), fmt, args);
	one_line(text);
	field_text(row, "level", "%s", level);
	field_text(row, "text", "%s", text);
	if (mend)
		field_text(row, "mend", "%s", mend);
	else
		field_null(row, "mend");
	json_object_array_add(found, row);
}

static void add_good(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add("ok", NULL, fmt, args);
	va_end(args);
}

void finding_good(const char *what, const char *detail)
{
	if (found)
		add_good(detail ? "%s: %s" : "%s", what, detail);
	else
		printf("%sok%s    %s%s%s\n", colour('g'), colour(0), what,
			detail ? ": " : "", detail ? detail : "");
}

static void say(char shade, const char *word, const char *mend, const char *fmt,
	va_list args)
{
	if (found) {
		add(shade == 'r' ? "fault" : "warning", mend, fmt, args);
		return;
	}
	printf("%s%s%s ", colour(shade), word, colour(0));
	vprintf(fmt, args);
	printf("\n");
	if (mend)
		printf("      -> %s\n", mend);
}

void finding_differs(const char *kernel, const char *shim)
{
	if (found)
		add_good("kernel %s, shim %s", kernel, shim);
	else
		printf("      kernel  %s\n      shim    %s\n", kernel, shim);
}

void finding_fault(const char *mend, const char *fmt, ...)
{
	va_list args;

	n_faults++;
	va_start(args, fmt);
	say('r', "FAULT", mend, fmt, args);
	va_end(args);
}

void finding_warning(const char *mend, const char *fmt, ...)
{
	va_list args;

	n_warnings++;
	va_start(args, fmt);
	say('y', "warn ", mend, fmt, args);
	va_end(args);
}

int finding_faults(void)
{
	return n_faults;
}

static void verdict_as_json(void)
{
	json_object *all = json_object_new_object();

	json_object_object_add(
		all, "served", json_object_new_boolean(!n_faults));
	json_object_object_add(all, "findings", found);
	puts(json_object_to_json_string_ext(
		all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			     JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
}

int finding_verdict(void)
{
	if (found)
		verdict_as_json();
	else if (n_faults)
		printf("\n%sVerdict%s: not served until the %d fault%s "
		       "mended.\n",
			colour('b'), colour(0), n_faults,
			n_faults > 1 ? "s are" : " is");
	else
		printf("\n%sVerdict%s: programs are served here%s.\n",
			colour('b'), colour(0),
			n_warnings ? "; mind the warnings" : "");
	return n_faults ? EXIT_FAILED : EXIT_OK;
}
