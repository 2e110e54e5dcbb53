// SPDX-License-Identifier: MIT
/*
 * Messages on stderr; see message.h.
 */
#include "tool/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "inspect/text.h"

static const char *command;

void message_command(const char *name)
{
	command = name;
}

/* Names in it may have any bytes. Newlines of the message itself are kept. */
static void complain(const char *fmt, va_list args)
{
	char text[512], seen[4 * sizeof(text)], *line, *rest = text;

	vsnprintf(text, sizeof(text), fmt, args);
	fprintf(stderr, "ipclift%s%s: ", command ? " " : "",
		command ? command : "");
	while ((line = strsep(&rest, "\n"))) {
		text_visible(line, seen, sizeof(seen));
		fprintf(stderr, "%s\n", seen);
	}
}

int usage_error(const char *fmt, ...)
{
	char more[512];
	va_list args;

	snprintf(more, sizeof(more), "%s (see ipclift%s%s --help)", fmt,
		command ? " " : "", command ? command : "");
	va_start(args, fmt);
	complain(more, args);
	va_end(args);
	return EXIT_USAGE;
}

int failure(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(fmt, args);
	va_end(args);
	return EXIT_FAILED;
}

int no_words(int argc, char **argv)
{
	return argc ? usage_error("'%s' is one word too many", argv[0]) : 0;
}
