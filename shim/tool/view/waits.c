// SPDX-License-Identifier: MIT
/*
 * ipclift waits: sleepers, what they wait for, and deadlocks.
 *
 * Which processes a sleeper waits for is defined in inspect/waitview.h. A cycle
 * is shown only if a second reading finds it again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inspect/graph.h"
#include "inspect/rows.h"
#include "tool/registry.h"
#include "tool/view/choice.h"
#include "tool/view/table.h"

static int as_json, as_dot;
static const char *svg;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "as a JSON array"},
	{"dot", 0, NULL, &as_dot, "as a graph for Graphviz: | dot -Tsvg"},
	{"svg", 0, "FILE", &svg,
		"draw that graph into FILE, by dot (Graphviz)"},
	{0},
};

static void print_deadlocks(const struct graph *g)
{
	struct text t = {0};
	u32 i;

	printf("\n%sDeadlock%s: these wait for each other.\n", colour('r'),
		colour(0));
	graph_circles(g, &t);
	fwrite(t.buf, 1, t.len, stdout);
	text_deinit(&t);
	for (i = 0; i < g->n; i++)
		if (g->edges[i].in_circle)
			printf("  %u waits for %u at semaphore %u of set %d\n",
				g->edges[i].pid, g->edges[i].holder,
				g->edges[i].num, g->edges[i].id);
	puts("End one of them (kill PID): its SEM_UNDO lets the other go on.");
}

static void print_dot(const struct graph *g)
{
	struct text t = {0};

	graph_print(g, &t);
	fwrite(t.buf, 1, t.len, stdout);
	text_deinit(&t);
}

/* Its exit status, or -1. Without a shell: a name may have any characters. */
static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static pid_t start_dot(int from)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(from, 0);
	execlp("dot", "dot", "-Tsvg", "-o", svg, (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

/* The graph is in an unlinked file, which dot can read in any way. */
static int draw(const struct graph *g)
{
	struct text t = {0};
	FILE *graph = tmpfile();
	int status = -1, written;
	pid_t pid;

	graph_print(g, &t);
	written = graph && !t.failed &&
		  fwrite(t.buf, 1, t.len, graph) == t.len && !fflush(graph);
	text_deinit(&t);
	if (written) {
		rewind(graph);
		pid = start_dot(fileno(graph));
		status = pid < 0 ? -1 : wait_for(pid);
	}
	if (graph)
		fclose(graph);
	if (!written)
		return failure("--svg: no room for the graph");
	if (status == 127)
		return failure("--svg: there is no program dot here: install "
			       "graphviz, or use --dot");
	return status ? failure("--svg: dot has failed, %s is not drawn", svg)
		      : EXIT_OK;
}

/* ---- the command ---- */

static void print_table(const struct graph *g)
{
	json_object *rows = json_object_new_array();
	u32 i;

	for (i = 0; i < g->n; i++)
		json_object_array_add(
			rows, row_make(wait_columns, &g->edges[i], i));
	choice_order(wait_columns, rows);
	rows_print(wait_columns, rows, as_json);
	if (g->n_circle && !as_json)
		print_deadlocks(g);
}

static int waits_main(int argc, char **argv)
{
	struct graph g = {0};
	struct caller *c;
	int err = no_words(argc, argv), deadlock;

	if (!err && as_json + as_dot + !!svg > 1)
		err = usage_error("--json, --dot and --svg exclude each other");
	c = err ? NULL : registry_open_read_only(&err);
	if (!c)
		return err;
	err = graph_read(c, &g);
	deadlock = g.n_circle != 0;
	if (err)
		err = failure("%s", strerror(-err));
	else if (svg)
		err = draw(&g);
	else if (as_dot)
		print_dot(&g);
	else
		print_table(&g);
	graph_deinit(&g);
	return err ? err : deadlock ? EXIT_FAILED : EXIT_OK;
}

const struct command waits_command = {
	.name = "waits",
	.summary = "list sleepers, what they wait for, and deadlocks",
	.usage = "[OPTIONS]",
	.about = "List every thread that sleeps in a call: on which object "
		 "(sem SET.NUMBER), for\n"
		 "what, and which process holds it, that is, whose exit would "
		 "release it\n"
		 "(SEM_UNDO). Exit status 1 if there is a deadlock.",
	.options = options,
	.is = COMMAND_ON_REGISTRY | COMMAND_TABLE,
	.columns = wait_columns,
	.main = waits_main,
};
