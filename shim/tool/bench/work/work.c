// SPDX-License-Identifier: MIT
/*
 * What cases are given and say; see worker.h.
 */
#include "tool/bench/work/worker.h"

#include "tool/bench/work/frame.h"

static char **words;

long work_arg(const char *name, long otherwise)
{
	size_t len = strlen(name);

	for (char **w = words; *w; w++)
		if (!strncmp(*w, name, len) && (*w)[len] == '=')
			return strtol(*w + len + 1, NULL, 0);
	return otherwise;
}

void figure(const char *name, double x, double value)
{
	printf("%s %.0f %.2f\n", name, x, value);
}

static void end_partners(void)
{
	if (getpid() == owner_pid)
		partners_kill();
}

void work_run(const struct work *w, char **args)
{
	case_name = w->name;
	words = args;
	n_rounds = work_arg("rounds", n_rounds);
	round_ms = work_arg("round-ms", round_ms);
	partners_begin();
	atexit(end_partners);
	w->run();
}
