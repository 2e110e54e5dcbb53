// SPDX-License-Identifier: MIT
/*
 * The live screen of ipclift top; see top.h. ncurses knows the terminal, its
 * size and its keys; what is drawn is made of top.c's lines.
 */
#include "tool/view/top.h"

#include "tool/registry.h"

#ifdef IPCLIFT_NCURSES
#include <curses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RED = 1 };

struct screen {
	struct top *t;
	enum top_view view;
	size_t first; /* row at the top */
	int quit;
};

static volatile sig_atomic_t ended;

static void on_end(int signo)
{
	ended = signo;
}

static void restore(void)
{
	endwin();
}

static void begin(const struct top *t)
{
	struct sigaction sa = {.sa_handler = on_end};

	initscr();
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	if (has_colors() && !getenv("NO_COLOR")) {
		start_color();
		use_default_colors();
		init_pair(RED, COLOR_RED, -1);
	}
	timeout((int)(t->interval * 1000));
	registry_on_fault = restore;
	/* The terminal's mode is restored. */
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

static void line_at(int y, attr_t attributes, const char *text)
{
	if (y >= LINES)
		return;
	attrset((int)attributes);
	mvaddnstr(y, 0, text, COLS);
	clrtoeol();
	attrset(A_NORMAL);
}

static attr_t red(void)
{
	return has_colors() ? (attr_t)COLOR_PAIR(RED) | A_BOLD
			    : (attr_t)(A_BOLD | A_REVERSE);
}

/* Deadlocks below the head: at most three lines, and how many more. */
static int draw_deadlocks(const struct top *t, int y)
{
	char line[512], text[540];
	u32 i, at = 0;

	for (i = 0; i < 3 && top_deadlock(t, &at, line, sizeof(line)); i++) {
		snprintf(text, sizeof(text), "deadlock: %s", line);
		line_at(y++, red(), text);
	}
	if (t->now.n_circle > 3) {
		snprintf(
			text, sizeof(text), "and %u more", t->now.n_circle - 3);
		line_at(y++, red(), text);
	}
	return y;
}

static void draw_headings(const struct screen *s, int y)
{
	const struct sheet *sheet = &s->t->sheets[s->view];
	char line[1024];
	int at, width, by = top_sorted_by(s->t, s->view);

	sheet_line(sheet, NULL, COLS, line, sizeof(line));
	line_at(y, A_REVERSE, line);
	if (y < LINES)
		mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
	at = sheet_place(sheet, COLS, by, &width);
	if (at >= 0 && y < LINES)
		mvchgat(y, at, width, A_BOLD | A_UNDERLINE, 0, NULL);
}

static void draw_rows(struct screen *s, int y)
{
	const struct sheet *sheet = &s->t->sheets[s->view];
	char line[1024];
	size_t i;

	if (s->first >= sheet->n)
		s->first = sheet->n ? sheet->n - 1 : 0;
	for (i = s->first; i < sheet->n && y < LINES - 1; i++, y++) {
		sheet_line(sheet, &sheet->rows[i], COLS, line, sizeof(line));
		line_at(y, sheet->rows[i].red ? red() : A_NORMAL, line);
	}
}

static void draw(struct screen *s)
{
	const struct top *t = s->t;
	char line[512];
	int y = 0;

	erase();
	top_head(t, line, sizeof(line));
	line_at(y++, A_BOLD, line);
	snprintf(line, sizeof(line), "%s: %zu%s%s%s  %s",
		top_view_names[s->view], t->sheets[s->view].n,
		*t->filter ? " with '" : "", t->filter, *t->filter ? "'" : "",
		t->path);
	line_at(y++, A_NORMAL, line);
	y = draw_deadlocks(t, y);
	draw_headings(s, y++);
	draw_rows(s, y);
	line_at(LINES - 1, A_DIM,
		"o objects  p processes  l locks  <> sort  r reverse  / "
		"filter  q quit");
	refresh();
}

/* ---- keys ---- */

static void ask_filter(struct top *t)
{
	char text[SHEET_CELL] = "";

	line_at(LINES - 1, A_BOLD, "filter: ");
	move(LINES - 1, 8);
	echo();
	curs_set(1);
	timeout(-1);
	getnstr(text, (int)sizeof(text) - 1);
	timeout((int)(t->interval * 1000));
	curs_set(0);
	noecho();
	strcpy(t->filter, text);
	top_arrange(t);
}

static void move_sort(struct screen *s, int by)
{
	struct top *t = s->t;
	int n = sheet_n_columns(&t->sheets[s->view]), width, i,
	    at = top_sorted_by(t, s->view);

	for (i = 0; i < n; i++) {
		at = (at + by + n) % n;
		if (sheet_place(&t->sheets[s->view], COLS, at, &width) >= 0)
			break;
	}
	t->sort[s->view] = at;
	top_arrange(t);
}

static void show(struct screen *s, int view)
{
	s->view = (enum top_view)(view % N_TOP_VIEWS);
	s->first = 0;
}

static void scroll_by(struct screen *s, int rows)
{
	if (rows < 0 && s->first < (size_t)-rows)
		s->first = 0;
	else
		s->first += (size_t)rows;
}

/* 1 if the registry is to be read again. */
static int key(struct screen *s, int k)
{
	switch (k) {
	case 'q':
		s->quit = 1;
		break;
	case 'o':
	case 'p':
	case 'l':
		show(s, k == 'o'   ? TOP_OBJECTS
			: k == 'p' ? TOP_PROCESSES
				   : TOP_LOCKS);
		break;
	case '\t':
		show(s, s->view + 1);
		break;
	case '<':
	case '>':
		move_sort(s, k == '<' ? -1 : 1);
		break;
	case 'r':
		s->t->backwards[s->view] = !s->t->backwards[s->view];
		top_arrange(s->t);
		break;
	case '/':
		ask_filter(s->t);
		break;
	case KEY_DOWN:
	case KEY_UP:
		scroll_by(s, k == KEY_UP ? -1 : 1);
		break;
	case KEY_NPAGE:
	case KEY_PPAGE:
		scroll_by(s, k == KEY_PPAGE ? -LINES / 2 : LINES / 2);
		break;
	default:
		return k == ERR || k == ' ';
	}
	return 0;
}

int top_screen(struct top *t, struct caller *c)
{
	struct screen s = {.t = t};
	int err;

	if (!isatty(0) || !isatty(1))
		return failure("not on a terminal: --once");
	err = top_refresh(t, c);
	if (err)
		return -1;
	begin(t);
	/* The first rates come soon. */
	timeout(t->interval < 0.5 ? (int)(t->interval * 1000) : 500);
	while (!err && !s.quit && !ended) {
		draw(&s);
		if (key(&s, getch()) && !ended)
			err = top_refresh(t, c);
		timeout((int)(t->interval * 1000));
	}
	endwin();
	registry_on_fault = NULL;
	return err ? -1 : ended ? 128 + ended : EXIT_OK;
}
#else
int top_screen(struct top *t, struct caller *c)
{
	(void)t;
	(void)c;
	return failure("built without ncurses: --once, or build it with "
		       "libncurses-dev");
}
#endif
