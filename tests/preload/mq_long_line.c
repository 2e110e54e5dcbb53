// SPDX-License-Identifier: MIT
/*
 * mq_long_line: the status line of a queue is longer than 60 bytes where the
 * registrant's number has seven digits, and a descriptor that stood at the end
 * of the shorter one reads the rest.
 */
#include "mq_notify.h"
#include "pidns.h"

#define SEVEN_DIGITS 1200000

static char line[128];

static void registrant(mqd_t q, int go)
{
	char c;

	t_quiet(!n_register(q, SIGEV_SIGNAL, SIGUSR1, 1));
	t_quiet(read(go, &c, 1) == 1);
	t_quiet(!mq_notify(q, NULL));
}

int main(void)
{
	int go[2];
	mqd_t q, other;
	pid_t pid;

	t_begin();
	if (!p_enter())
		return 0;
	if (pipe(go))
		return 1;
	q = q_open(NAME, RW, 4, 32);
	other = dup(q);
	t_eq(read(q, line, sizeof(line)), 60);
	t_eq(read(q, line, sizeof(line)), 0);
	p_next(SEVEN_DIGITS);
	pid = t_fork();
	if (!pid) {
		registrant(q, go[0]);
		_exit(t_failed);
	}
	t_true(pid == SEVEN_DIGITS);
	/* Registered, as the line shows. */
	while (pread(q, line, sizeof(line), 0) == 60)
		sched_yield();
	t_true(!strncmp(line + 42, "NOTIFY_PID:1200000\n", 19));
	t_eq(lseek(q, 0, SEEK_CUR), 60);
	t_eq(lseek(other, 0, SEEK_CUR), 60);
	t_eq(read(other, line, sizeof(line)), 1);
	t_true(line[0] == '\n');
	t_eq(lseek(q, 0, SEEK_CUR), 61);
	t_eq(read(q, line, sizeof(line)), 0);
	t_eq(write(go[1], "x", 1), 1);
	t_eq(t_join(pid), 0);
	t_eq(read(q, line, sizeof(line)), 0);
	t_eq(pread(q, line, sizeof(line), 0), 60);
	t_eq(lseek(q, 0, SEEK_CUR), 61);
	t_eq(lseek(other, 0, SEEK_CUR), 61);
	t_eq(close(other), 0);
	q_done(q);
	return t_end();
}
