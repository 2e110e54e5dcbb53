// SPDX-License-Identifier: MIT
/*
 * Scripts for gnuplot; see plot.h.
 *
 * A panel shows one measure of all cases of a table, a line a case and world,
 * over the size: both axes logarithmic, so that how cost grows can be seen. The
 * kernel is dashed and has open marks, the shim is solid; cases have colours.
 */
#include "tool/bench/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/message.h"

#define PANELS_MAX 12
#define LINES_MAX 40
#define PANEL_WIDTH 480 /* two beside each other fit a README unscaled */
#define PANEL_HEIGHT 420

/* ---- gnuplot ---- */

static int in_path(const char *name)
{
	const char *at = getenv("PATH");
	char path[4096];
	size_t n;

	for (; at && *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		snprintf(path, sizeof(path), "%.*s/%s", (int)n, at, name);
		if (!access(path, X_OK))
			return 1;
	}
	return 0;
}

int plot_begin(const char *dir)
{
	int fd;

	if (!in_path("gnuplot")) {
		failure("--plot needs gnuplot (Debian: gnuplot-nox), which is "
			"not installed");
		return -1;
	}
	if (mkdir(dir, 0777) && errno != EEXIST) {
		failure("%s: %s", dir, strerror(errno));
		return -1;
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		failure("%s: %s", dir, strerror(errno));
	return fd;
}

/* Script and complaints are unlinked files; it works in the directory. */
static int run_gnuplot(FILE *script, FILE *complaints, int dir)
{
	pid_t pid;
	int status;

	if (fflush(script) || ferror(script))
		return -1;
	rewind(script);
	pid = fork();
	if (!pid) {
		unsetenv("LD_PRELOAD");
		if (!fchdir(dir) && dup2(fileno(script), 0) == 0 &&
			dup2(fileno(complaints), 2) == 2)
			execlp("gnuplot", "gnuplot", "-", NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

/* ---- what there is to draw ---- */

struct line {
	const char *work, *world;
	int colour;
};

struct panel {
	const char *measure;
	struct line lines[LINES_MAX];
	int n;
};

struct picture {
	const char *table;
	struct panel panels[PANELS_MAX];
	int n;
	const char *works[LINES_MAX]; /* a colour each */
	int n_works;
};

static int work_colour(struct picture *p, const char *work)
{
	int i;

	for (i = 0; i < p->n_works; i++)
		if (!strcmp(p->works[i], work))
			return i + 1;
	if (p->n_works == LINES_MAX)
		return LINES_MAX;
	p->works[p->n_works++] = work;
	return p->n_works;
}

/* NULL if there are too many. */
static struct panel *panel_of(struct picture *p, const char *measure)
{
	int i;

	for (i = 0; i < p->n; i++)
		if (!strcmp(p->panels[i].measure, measure))
			return &p->panels[i];
	if (p->n == PANELS_MAX)
		return NULL;
	p->panels[p->n].measure = measure;
	return &p->panels[p->n++];
}

static void panel_line(struct picture *p, struct panel *panel, const char *work,
	const char *world)
{
	int i;

	for (i = 0; i < panel->n; i++)
		if (!strcmp(panel->lines[i].work, work) &&
			!strcmp(panel->lines[i].world, world))
			return;
	if (panel->n == LINES_MAX)
		return;
	panel->lines[panel->n++] =
		(struct line){work, world, work_colour(p, work)};
}

static void picture_make(
	struct picture *p, const struct results *r, const char *table)
{
	int i, k;

	memset(p, 0, sizeof(*p));
	p->table = table;
	for (i = 0; i < r->n; i++) {
		const struct figure *f = &r->figures[i];
		struct panel *panel;

		if (strcmp(f->table, table) || f->x <= 0)
			continue;
		/* The tail and shares of it are in the tables. */
		if (!strcmp(f->measure, "worst") || !strcmp(f->measure, "slow"))
			continue;
		panel = panel_of(p, f->measure);
		for (k = 0; panel && k < f->n_series; k++)
			panel_line(p, panel, f->work, f->series[k].world);
	}
}

/* ---- scripts ---- */

/* The points of a line as one of gnuplot's data blocks. */
static void write_points(FILE *to, const struct results *r, const char *table,
	const char *measure, const struct line *line, int panel, int nth)
{
	int i;

	fprintf(to, "$p%d_%d << END\n", panel, nth);
	for (i = 0; i < r->n; i++) {
		const struct figure *f = &r->figures[i];

		if (strcmp(f->table, table) || strcmp(f->work, line->work) ||
			strcmp(f->measure, measure) ||
			!figure_series(f, line->world))
			continue;
		fprintf(to, "%.0f %.4g\n", f->x, figure_value(f, line->world));
	}
	fputs("END\n", to);
}

/* Gnuplot's numbers of dashes and marks; peers have a mark each. */
static void write_style(FILE *to, const struct line *l)
{
	static const char *const peers[] = {
		"sem_t", "mutex", "pipe", "unix", "line", "boost"};
	/* What all of a table have in common says nothing in it. */
	const char *work = l->work + 6 * !strncmp(l->work, "depth-", 6);
	int mark = 6, dash = 2;
	size_t i;

	if (!strcmp(l->world, "shim")) {
		mark = 7;
		dash = 1;
	}
	for (i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		if (!strcmp(l->world, peers[i])) {
			mark = (const int[]){1, 2, 3, 8, 10, 12}[i];
			dash = 3;
		}
	fprintf(to,
		"with linespoints linecolor %d dashtype %d pointtype %d "
		"pointsize 0.7 linewidth 2 title '%s, %s' noenhanced",
		l->colour, dash, mark, work, l->world);
}

/* Time in seconds, so that gnuplot's prefixes fit; a share may be 0 or less and
 * has no logarithm. */
static void write_panel(FILE *to, const struct panel *p, int nth)
{
	const struct measure *m = measure_of(p->measure);
	int is_time = !strcmp(m->unit, "ns"), is_share = *m->unit == '%';
	int i;

	fprintf(to, "set title '%s'\nset format y '%s'\n%s logscale y\nplot ",
		m->text,
		is_time	   ? "%.0s %cs"
		: is_share ? "%.1f %%"
			   : "%.0s %c/s",
		is_share ? "unset" : "set");
	for (i = 0; i < p->n; i++) {
		fprintf(to, "%s$p%d_%d using 1:($2*%s) ", i ? ", \\\n  " : "",
			nth, i, is_time ? "1e-9" : "1");
		write_style(to, &p->lines[i]);
	}
	fputc('\n', to);
}

static void write_picture(FILE *to, const struct picture *p, const char *type)
{
	int columns = p->n > 1 ? 2 : 1, rows = (p->n + columns - 1) / columns,
	    i;

	fprintf(to, "set terminal %s size %d,%d font 'sans,%d'\n", type,
		columns * PANEL_WIDTH, rows * PANEL_HEIGHT,
		!strcmp(type, "svg") ? 13 : 11);
	fprintf(to, "set output '%s.%s'\n", p->table,
		!strncmp(type, "svg", 3) ? "svg" : "png");
	fprintf(to, "set multiplot layout %d,%d\n", rows, columns);
	for (i = 0; i < p->n; i++)
		write_panel(to, &p->panels[i], i);
	fputs("unset multiplot\nunset output\n", to);
}

/* All sizes of the table, and a little space. */
static void write_range(FILE *to, const struct results *r, const char *table)
{
	double min = 0, max = 0;
	int i;

	for (i = 0; i < r->n; i++) {
		const struct figure *f = &r->figures[i];

		if (strcmp(f->table, table) || f->x <= 0)
			continue;
		min = min == 0 || f->x < min ? f->x : min;
		max = f->x > max ? f->x : max;
	}
	fprintf(to, "set xrange [%g:%g]\n", min * 0.8, max * 1.25);
}

static void write_script(
	FILE *to, const struct picture *p, const struct results *r)
{
	const char *x = !strcmp(p->table, "T1")	  ? "keys"
			: !strcmp(p->table, "T2") ? "the other id"
			: !strcmp(p->table, "T3") ? "messages in the queue"
			: !strcmp(p->table, "T4") ? "clients"
						  : "sets";
	int i, k;

	fprintf(to,
		"set logscale x\nset grid\nset key bmargin center vertical "
		"maxrows 6 reverse Left samplen 2\nset format x '%%.0s%%c'\n"
		"set xlabel '%s' offset 0,0.5\n",
		x);
	if (!strcmp(p->table, "T4"))
		fputs("set xtics (1, 2, 3, 4, 6, 8, 12)\n", to);
	write_range(to, r, p->table);
	for (i = 0; i < p->n; i++)
		for (k = 0; k < p->panels[i].n; k++)
			write_points(to, r, p->table, p->panels[i].measure,
				&p->panels[i].lines[k], i, k);
	write_picture(to, p, "svg background '#ffffff'");
	write_picture(to, p, "pngcairo");
}

static int plot_table(const struct results *r, const char *table, int dir)
{
	static struct picture picture;
	FILE *script = tmpfile(), *complaints = tmpfile();
	char why[256] = "";
	int err = 1;

	picture_make(&picture, r, table);
	if (script && complaints && picture.n) {
		write_script(script, &picture, r);
		err = run_gnuplot(script, complaints, dir);
		rewind(complaints);
		/* It warns of much that is no fault. */
		while (err && fgets(why, sizeof(why), complaints))
			;
		why[strcspn(why, "\n")] = 0;
	}
	if (script)
		fclose(script);
	if (complaints)
		fclose(complaints);
	return err && picture.n
		       ? failure("--plot: gnuplot could not draw %s: %s", table,
				 why)
		       : 0;
}

int plot_all(const struct results *r, int dir)
{
	static const char *const tables[] = {"T1", "T2", "T3", "T4", "T5"};
	int err = 0;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		err |= plot_table(r, tables[i], dir);
	return err;
}
