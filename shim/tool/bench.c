// SPDX-License-Identifier: MIT
/*
 * ipclift bench: the reference tables in short, kernel beside shim.
 *
 * Each row runs this program twice (probe.h), alternating, and takes the best
 * of three: what disturbs a run only makes it slower.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/command.h"
#include "tool/probe.h"
#include "tool/run.h"
#include "tool/view/table.h"

#define RUNS 3
#define BAR 16

static int as_json;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "as a JSON array, in ns"},
	{0},
};

static const struct row {
	const char *table, *name;
	const char *probe, *number;
} rows[] = {
	{"T1", "semget that makes, 100 keys", PROBE_CREATE, "100"},
	{"T1", "semget that makes, 10000 keys", PROBE_CREATE, "10000"},
	{"T1", "semget that makes, 31900 keys", PROBE_CREATE, "31900"},
	{"T1", "semget that finds, 100 keys", PROBE_LOOKUP, "100"},
	{"T1", "semget that finds, 31900 keys", PROBE_LOOKUP, "31900"},
	{"T2", "semop on ids 1 and 2", PROBE_IDS, "2"},
	{"T2", "semop on ids 1 and 40", PROBE_IDS, "40"},
	{"T2", "semop on ids 1 and 27348", PROBE_IDS, "27348"},
	{"T3", "mq pair, empty queue", PROBE_MQ, "0"},
	{"T3", "mq pair, 1000 in it", PROBE_MQ, "1000"},
	/* As many as RLIMIT_MSGQUEUE's default allows the kernel. */
	{"T3", "mq pair, 4000 in it", PROBE_MQ, "4000"},
	{"", "semop pair", PROBE_SEMOP, "0"},
	{"", "msgsnd, msgrcv pair of 64 bytes", PROBE_MSG, "0"},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* The better of best (0 = none yet) and one run more. */
static double better(double best, const char *shim, const struct row *r)
{
	char text[256];
	double ns;

	if (probe_run(shim, r->probe, r->number, text, sizeof(text)) ||
		sscanf(text, "ns %lf", &ns) != 1)
		return best;
	return best == 0 || ns < best ? ns : best;
}

static void print_ns(double ns)
{
	if (ns == 0)
		printf("%10s", "-");
	else if (ns < 10000)
		printf("%7.0f ns", ns);
	else
		printf("%7.1f us", ns / 1000);
}

/* The shim's time as part of the kernel's. */
static void print_bar(double kernel, double shim)
{
	double part = kernel ? shim / kernel * BAR : 0;
	int i, n = part > 0 && part < 1 ? 1 : (int)(part + 0.5);

	printf("  %s", colour(shim <= kernel ? 'g' : 'r'));
	for (i = 0; i < BAR && i < n; i++)
		putchar('#');
	fputs(colour(0), stdout);
	for (; i < BAR; i++)
		putchar('.');
	puts(n > BAR ? ">" : "");
}

static void print_row(const struct row *r, double kernel, double shim)
{
	printf("%-2s %-31s", r->table, r->name);
	print_ns(kernel);
	print_ns(shim);
	if (kernel > 0 && shim > 0) {
		printf("%6.1fx", kernel / shim);
		print_bar(kernel, shim);
	} else {
		puts("   (not possible here)");
	}
	fflush(stdout);
}

static void add_row(
	json_object *all, const struct row *r, double kernel, double shim)
{
	json_object *row = json_object_new_object();

	field_text(row, "table", "%s", r->table);
	field_text(row, "name", "%s", r->name);
	json_object_object_add(row, "kernel_ns",
		kernel > 0 ? json_object_new_double(kernel) : NULL);
	json_object_object_add(
		row, "shim_ns", shim > 0 ? json_object_new_double(shim) : NULL);
	json_object_array_add(all, row);
}

static int bench_main(int argc, char **argv)
{
	const char *shim = run_find_shim();
	json_object *all = json_object_new_array();
	double kernel, own;
	size_t i;
	int k, err = no_words(argc, argv);

	if (err)
		return err;
	if (!shim)
		return failure("there is no libipclift.so: see ipclift doctor");
	if (!as_json)
		printf("%s%-34s%10s%10s%7s  %s%s\n", colour('b'), "", "KERNEL",
			"SHIM", "RATIO", "SHIM OF KERNEL", colour(0));
	for (i = 0; i < N_ROWS; i++) {
		kernel = own = 0;
		for (k = 0; k < RUNS; k++) {
			kernel = better(kernel, NULL, &rows[i]);
			own = better(own, shim, &rows[i]);
		}
		err |= own == 0;
		if (as_json)
			add_row(all, &rows[i], kernel, own);
		else
			print_row(&rows[i], kernel, own);
	}
	if (as_json)
		json_print(all);
	else
		json_object_put(all);
	return err ? EXIT_FAILED : EXIT_OK;
}

const struct command bench_command = {
	.name = "bench",
	.summary = "measure the kernel and the shim, side by side",
	.usage = "[OPTIONS]",
	.about = "Measure calls of this program on the kernel and on a private "
		 "registry, in\n"
		 "turn, best of three: lookup by key (T1), far ids (T2), POSIX "
		 "queues of\n"
		 "random priorities (T3), and pairs of calls. As root the "
		 "kernel's part runs in\n"
		 "an IPC namespace of its own; else the user's limits may make "
		 "some rows\n"
		 "impossible. Takes half a minute.",
	.options = options,
	.main = bench_main,
};
