// SPDX-License-Identifier: MIT
/*
 * Findings; see finding.h.
 */
#include "tool/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "tool/command.h"
#include "tool/view/table.h"

static int n_faults, n_warnings;

void finding_good(const char *what, const char *detail)
{
	printf("%sok%s    %s%s%s\n", colour('g'), colour(0), what,
		detail ? ": " : "", detail ? detail : "");
}

static void say(char shade, const char *word, const char *mend, const char *fmt,
	va_list args)
{
	printf("%s%s%s ", colour(shade), word, colour(0));
	vprintf(fmt, args);
	printf("\n");
	if (mend)
		printf("      -> %s\n", mend);
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

int finding_verdict(void)
{
	if (n_faults)
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
