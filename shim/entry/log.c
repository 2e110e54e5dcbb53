// SPDX-License-Identifier: MIT
/*
 * Lines for people: a registry that cannot be used, said once on stderr, and
 * with IPCLIFT_LOG=stderr or PATH the events of this process, one write(2) each
 * to the end of the file. Nothing else is ever printed.
 *
 * An event is written when the call it belongs to holds no lock any more. The
 * log's descriptor is opened for each line and closed again. A log that cannot
 * be written is none: the application is not to learn of it.
 */
#include <linux/fcntl.h>
#include <linux/signal.h>
#include "entry/log.h"
#include "render/eventtext.h"

#define O_LOG \
	(O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
#define LINE_MAX 600
#define PATH_CAP 4096

/* "" = off, "stderr". A copy: applications overwrite their environment. */
static char log_path[PATH_CAP] SYS_FAR_BSS;

/*
 * A SIGPIPE or SIGXFSZ that the write itself raised is taken back, for the
 * application knows nothing of that write. All signals are blocked here.
 */
static void write_line(int fd, const char *line, size_t n)
{
	const struct sys_timespec now = {0, 0};
	const u64 raised = 1ULL << (SIGPIPE - 1) | 1ULL << (SIGXFSZ - 1);
	u64 before = 0, taken;

	sys_call(__NR_rt_sigpending, &before, 8);
	taken = raised & ~before;
	if (sys_call(__NR_write, fd, line, n) < 0 && taken)
		sys_call(__NR_rt_sigtimedwait, &taken, NULL, &now, 8);
}

static void log_line(const char *line, size_t n)
{
	int fd = 2;

	if (!str_equal(log_path, "stderr"))
		fd = (int)sys_call(__NR_open, log_path, O_LOG, 0600);
	if (fd < 0)
		return;
	write_line(fd, line, n);
	if (fd != 2)
		sys_call(__NR_close, fd);
}

void log_complain(const char *why)
{
	char line[LINE_MAX];
	size_t n = str_add(line, sizeof(line), 0, "ipclift: ");

	n = str_add(line, sizeof(line) - 1, n, why);
	n = str_add(line, sizeof(line), n, "\n");
	write_line(2, line, n);
	if (log_path[0] && !str_equal(log_path, "stderr"))
		log_line(line, n);
}

/* "ipclift: perl[4711]: limit semmni=1: ENOSPC; ipclift set semmni=2" */
static void log_event(const struct header *h, const struct event *e)
{
	char line[LINE_MAX], command[sizeof(e->command) + 1] = "";
	size_t n = str_add(line, sizeof(line), 0, "ipclift: ");

	__builtin_memcpy(command, e->command, sizeof(e->command));
	n = str_add(line, sizeof(line), n, command);
	n = str_add(line, sizeof(line), n, "[");
	n = str_add_u64(line, sizeof(line), n, e->pid);
	n = str_add(line, sizeof(line), n, "]: ");
	n += event_text(h, e, line + n, EVENT_TEXT_MAX);
	n = str_add(line, sizeof(line), n, "\n");
	log_line(line, n);
}

static void log_events(struct caller *c, u64 from, u64 to)
{
	const u64 all = ~0ULL;
	struct event e;
	u64 mask = 0;

	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	for (; from <= to; from++)
		if (event_get(&c->region, from, &e) && e.pid == c->pid)
			log_event(caller_header(c), &e);
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

void log_init(const char *text)
{
	if (!text || !*text || str_equal(text, "off"))
		return;
	str_add(log_path, sizeof(log_path), 0, text);
	event_log = log_events;
}
