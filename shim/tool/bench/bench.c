// SPDX-License-Identifier: MIT
/*
 * ipclift bench: the reference tables T1 to T5 on the kernel and on the shim,
 * in turn, and what a program would use instead of both.
 *
 * Statistics are a page of C (stats.c) and not a library's: gsl would be asked
 * for one column of Student's t. JSON is json-c's. Pictures are gnuplot's,
 * which is only started where pictures are asked for.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/bench/compare.h"
#include "tool/bench/machine.h"
#include "tool/bench/measure.h"
#include "tool/bench/plot.h"
#include "tool/bench/report.h"
#include "tool/bench/slower.h"
#include "tool/bench/world.h"
#include "tool/command.h"
#include "tool/run.h"
#include "tool/view/table.h"

static struct {
	struct request request;
	const char *plot, *compare;
	int json, force, never_slower;
} given;

static const struct option_spec options[] = {
	{"only", 0, "LIST", &given.request.only,
		"of T1,T2,T3,T4,T5; of the calls of --never-slower"},
	{"quick", 0, NULL, &given.request.quick,
		"small sizes and few rounds: to see that it works"},
	{"never-slower", 0, NULL, &given.never_slower,
		"instead of the tables: each call of each facility;\n"
		"fails if one is more than 10 % slower, twice"},
	{"force", 'f', NULL, &given.force, "also on a busy machine"},
	{"json", 0, NULL, &given.json, "all samples, as JSON"},
	{"plot", 0, "DIR", &given.plot,
		"draw each table: DIR/T1.svg, DIR/T1.png ...; needs\n"
		"gnuplot"},
	{"compare", 0, "OLD", &given.compare,
		"the change since OLD (of --json), and if it is one"},
	{"peer", 0, "PROGRAM", &given.request.peer,
		"another's queues and semaphores in the same tables\n"
		"(tests/bench/boost)"},
	{0},
};

/* ---- measuring ---- */

static int check_request(int from_file)
{
	char word[64];

	if (given.never_slower && (given.plot || from_file))
		return usage_error("--never-slower excludes --plot and a file");
	if (from_file && (given.request.only || given.request.quick ||
				 given.request.peer || given.force))
		return usage_error("a file's results are not measured: --json, "
				   "--plot and --compare alone go with it");
	if (request_unknown(
		    &given.request, given.never_slower, word, sizeof(word)))
		return usage_error(given.never_slower
					   ? "--only: '%s' is no call of "
					     "--never-slower"
					   : "--only: '%s' is none of T1 to T5",
			word);
	if (given.request.peer && access(given.request.peer, X_OK))
		return failure("%s: cannot be run", given.request.peer);
	return 0;
}

/* Into *r. What cannot be had is said before anything is measured. */
static int measure(struct results *r)
{
	const char *shim = run_find_shim();
	struct machine_time begun;
	int err;

	if (!shim)
		return failure("there is no libipclift.so: see ipclift doctor");
	err = machine_refuse(given.force);
	if (!err)
		err = world_enter(shim);
	if (err)
		return err;
	machine_describe(r->machine);
	field_bool(r->machine, "quick", given.request.quick);
	machine_now(&begun);
	err = given.never_slower ? slower_run(r, &given.request, given.json)
				 : measure_tables(r, &given.request);
	machine_describe_end(r->machine, &begun);
	return err;
}

/* ---- showing ---- */

static void show(const struct results *r, const struct results *old)
{
	json_object *all;

	if (!given.json) {
		if (given.never_slower) {
			report_machine(r);
			report_notes(r);
		} else if (!old) {
			report_print(r);
			if (r->n && !strcmp(r->figures[0].table, CALLS))
				slower_print(r);
		} else {
			report_machine(r);
		}
		if (old)
			compare_print(old, r);
		return;
	}
	all = results_to_json(r);
	if (old)
		json_object_object_add(all, "compare", compare_json(old, r));
	json_print(all);
}

/* Both files are read, and the directory is opened, before /dev/shm is hidden.
 */
static int run(const char *file, struct results *r, struct results *old)
{
	int dir = -1, err = 0;

	if (given.compare)
		err = results_read(old, given.compare);
	if (!err && given.plot && (dir = plot_begin(given.plot)) < 0)
		err = EXIT_FAILED;
	if (!err)
		err = file ? results_read(r, file) : measure(r);
	if (r->n) {
		show(r, given.compare ? old : NULL);
		if (dir >= 0)
			err |= plot_all(r, dir);
	}
	if (dir >= 0)
		close(dir);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int bench_main(int argc, char **argv)
{
	struct results r, old;
	int err;

	if (argc > 1)
		return usage_error("'%s' is one word too many", argv[1]);
	err = check_request(argc);
	if (err)
		return err;
	results_init(&r);
	results_init(&old);
	err = run(argc ? argv[0] : NULL, &r, &old);
	results_drop(&r);
	results_drop(&old);
	return err;
}

const struct command bench_command = {
	.name = "bench",
	.summary = "measure the kernel and the shim, side by side",
	.usage = "[OPTIONS]\n[--json] [--plot DIR] [--compare OLD] RESULTS",
	.about = "Measure the kernel and the shim in turn: lookup by key (T1), "
		 "far ids (T2),\n"
		 "POSIX queues by depth (T3), clients and servers (T4), a full "
		 "table (T5); and\n"
		 "beside them what a program would use instead. Of one process "
		 "the best of the\n"
		 "rounds is shown, of several their median, the worst and how "
		 "many were slow.\n"
		 "RESULTS, of --json, are shown without measuring. All takes "
		 "half an hour, --quick\n"
		 "half a minute. Needs root, or namespaces for users; leaves "
		 "nothing behind.",
	.more = "The exit status is 1 if the machine is busy, a run failed, or "
		"a call is slower\n"
		"(--never-slower).",
	.options = options,
	.main = bench_main,
};
