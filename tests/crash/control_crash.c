// SPDX-License-Identifier: MIT
/*
 * control_crash: what was written to a control file by somebody without the
 * shim is applied once, wherever the process that takes it over is killed
 * (object/controlfile.h).
 *
 * As shm_crash: the shim's sources with a crash point before every store to
 * the registry, and before the text leaves its file. The text is a request for
 * an id, 500, which one semget consumes. A child takes it over and is killed at
 * its n-th point; in a second round another, who goes on after it, at its m-th.
 * Then three sets are made: the first by somebody who had looked for texts
 * before this one was written, as a semget does that was on its way. Exactly
 * one of them has the id, and the next text works. In a third round the text is
 * written again after the death, in the same words or others: whatever comes
 * last is granted, once. In a fourth it is kernel/sem's, of two values.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>
#include "entry/process.h"
#include "inspect/check.h"
#include "object/controlfile.h"
#include "object/sysctl.h"

#define WISH 500
#define POINTS_MOST 500

static volatile long left; /* 0 = not armed */

__attribute__((visibility("hidden"))) void crash_point(void);
void crash_point(void)
{
	if (left && --left == 0)
		kill(getpid(), SIGKILL);
}

static struct caller *self(void)
{
	int err;
	struct caller *c = process_get(&err);

	if (!c) {
		printf("FAIL no registry: %d\n", err);
		exit(1);
	}
	return c;
}

static int control_fd;

static void open_control(const char *path)
{
	u32 which = (u32)(sysctl_find(path) - sysctl_files), at;

	control_fd = controlfile_open(self(), which, 1 /* O_WRONLY */, &at);
	if (control_fd < 0) {
		printf("FAIL controlfile_open: %d\n", control_fd);
		exit(1);
	}
}

/* As libc would, from within. */
static void put(const char *text)
{
	sys_call(__NR_pwrite64, control_fd, text, strlen(text), 0);
}

static void close_control(void)
{
	sys_call(__NR_close, control_fd);
	controlfile_drain(self());
}

/* Take over in a child that dies at point n: 1 if it died, 0 if it came to its
 * end. */
static int take_over(long n)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct caller *c = self();

		alarm(10);
		caller_enroll(c);
		left = n;
		controlfile_drain(c);
		left = 0;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int made(int *ids, int n)
{
	ids[n] = semget(IPC_PRIVATE, 1, 0600);
	if (ids[n] < 0) {
		perror("FAIL semget");
		exit(1);
	}
	return ids[n];
}

/* Three sets: how many have an id from the requested one on. late: the first
 * does not look for texts. */
static int granted(int requested, int late)
{
	u32 *open = &caller_header(self())->control_open, was = *open;
	int ids[3], n = 0, i;

	for (i = 0; i < 3; i++) {
		*open = !i && late ? 0 : was;
		made(ids, i);
		*open = was;
		n += ids[i] >= requested && ids[i] < requested + 3;
	}
	for (i = 0; i < 3; i++)
		semctl(ids[i], 0, IPC_RMID);
	return n;
}

static int expect(const char *what, long n, long m, int is, int should)
{
	if (is == should)
		return 0;
	printf("FAIL %s, points %ld, %ld: %d instead of %d\n", what, n, m, is,
		should);
	return 1;
}

static void on_violation(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	(void)arg;
	printf("FAIL invariant %d: %s %llu %llu\n", (int)which, what,
		(unsigned long long)a, (unsigned long long)b);
}

/* One death, or two; what is left works. */
static int request_once(long n, long m, int *ret_died)
{
	int bad;

	open_control("kernel/sem_next_id");
	put("500\n");
	*ret_died = take_over(n);
	if (m)
		*ret_died = take_over(m);
	bad = expect("granted", n, m, granted(WISH, 1), 1);
	put("700\n");
	bad |= expect("the next text", n, m, granted(700, 0), 1);
	close_control();
	return bad | expect("none is left", n, m,
			     (int)caller_header(self())->control_open, 0);
}

static int written_again(long n, const char *text, int requested)
{
	int bad;

	open_control("kernel/sem_next_id");
	put("500\n");
	take_over(n);
	put(text);
	bad = expect(text, n, 0, granted(requested, 0), 1);
	bad |= expect("and no more", n, 0, granted(WISH, 0), 0);
	close_control();
	return bad;
}

static int two_values(long n, int *ret_died)
{
	struct limits *l = &caller_header(self())->limits;
	struct limits was = *l;
	int bad;

	open_control("kernel/sem");
	put("77 88\n");
	*ret_died = take_over(n);
	controlfile_drain(self());
	bad = expect("semmsl", n, 0, l->semmsl, 77);
	bad |= expect("semmns", n, 0, l->semmns, 88);
	bad |= expect("semopm", n, 0, l->semopm, was.semopm);
	*l = was;
	close_control();
	return bad;
}

int main(int argc, char **argv)
{
	int bad = 0, died = 1, quiet = 0;
	long n, m, last, step = argc > 1 && !strcmp(argv[1], "-q") ? 3 : 1;

	for (n = 1; died && n < POINTS_MOST; n++)
		bad |= request_once(n, 0, &died);
	last = n - 2;
	printf("%s one death: %ld crash points\n", bad ? "FAIL" : "ok", last);
	for (n = 1; n <= last; n += step)
		for (m = 1, died = 1; died && m < POINTS_MOST; m += step)
			bad |= request_once(n, m, &died);
	printf("%s two deaths\n", bad ? "FAIL" : "ok");
	for (n = 1; n <= last; n++) {
		bad |= written_again(n, "500\n", 500);
		bad |= written_again(n, "600\n", 600);
	}
	printf("%s written again\n", bad ? "FAIL" : "ok");
	for (n = 1, died = 1; died && n < POINTS_MOST; n++)
		bad |= two_values(n, &died);
	printf("%s two values: %ld crash points\n", bad ? "FAIL" : "ok", n - 2);
	bad |= check_live(self(), on_violation, NULL, &quiet) != 0;
	return bad || last < 20;
}
