// SPDX-License-Identifier: MIT
/*
 * The bar; see progress.h.
 */
#include "tool/bench/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define BAR 24

static int n_steps, n_done, on;

void progress_begin(int steps)
{
	n_steps = steps;
	n_done = 0;
	on = steps > 0 && isatty(2);
}

void progress_show(const char *fmt, ...)
{
	int i, full = n_steps ? n_done * BAR / n_steps : 0;
	va_list ap;

	if (!on)
		return;
	fputs("\r[", stderr);
	for (i = 0; i < BAR; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3d %%  ", n_steps ? n_done * 100 / n_steps : 0);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void progress_step(void)
{
	n_done++;
}

void progress_end(void)
{
	if (on)
		fputs("\r\033[K", stderr);
	on = 0;
}
