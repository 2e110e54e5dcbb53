// SPDX-License-Identifier: MIT
/*
 * app_sem KEY COMMAND... - semaphores for shell scripts. Commands are run in
 * turn; if one fails it exits with status 1 and a line on stderr.
 *
 *   create N        semget(KEY, N, IPC_CREAT | 0666); else the set must exist
 *   op NUM D FLAGS  semop; FLAGS of u (SEM_UNDO), n (IPC_NOWAIT), or -
 *   val NUM         print GETVAL
 *   expect NUM V    GETVAL is V, at once
 *   until NUM V     GETVAL becomes V within ten seconds
 *   sleepers NUM C  GETNCNT becomes C within ten seconds
 *   pass A B N      N times: semop A -1, semop B +1
 *   say TEXT        print it
 *   hang            sleep until killed
 *   stdin           read until end of file
 *   exec PROGRAM... execute it
 *   rm              IPC_RMID
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

static int set = -1;
static key_t key;

static void die(const char *what)
{
	fprintf(stderr, "app_sem: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int get(void)
{
	if (set < 0)
		set = semget(key, 0, 0);
	if (set < 0)
		die("semget");
	return set;
}

static void op(int num, int delta, const char *flags)
{
	struct sembuf sop = {(unsigned short)num, (short)delta, 0};

	if (strchr(flags, 'u'))
		sop.sem_flg |= SEM_UNDO;
	if (strchr(flags, 'n'))
		sop.sem_flg |= IPC_NOWAIT;
	if (semop(get(), &sop, 1))
		die("semop");
}

static int val(int num, int cmd)
{
	int v = semctl(get(), num, cmd);

	if (v < 0)
		die("semctl");
	return v;
}

static void until(int num, int cmd, int want)
{
	struct timespec ms = {0, 1000000};

	for (int i = 0; i < 10000; i++) {
		if (val(num, cmd) == want)
			return;
		nanosleep(&ms, NULL);
	}
	fprintf(stderr, "app_sem: %d is not %d\n", val(num, cmd), want);
	exit(1);
}

/* Returns the number of words used. */
static int command(char **w)
{
	char c;

	if (!strcmp(w[0], "create")) {
		set = semget(key, atoi(w[1]), IPC_CREAT | 0666);
		if (set < 0)
			die("semget");
		return 2;
	}
	if (!strcmp(w[0], "op")) {
		op(atoi(w[1]), atoi(w[2]), w[3]);
		return 4;
	}
	if (!strcmp(w[0], "val")) {
		printf("%d\n", val(atoi(w[1]), GETVAL));
		fflush(stdout);
		return 2;
	}
	if (!strcmp(w[0], "expect")) {
		int v = val(atoi(w[1]), GETVAL);

		if (v == atoi(w[2]))
			return 3;
		fprintf(stderr, "app_sem: %d, not %s\n", v, w[2]);
		exit(1);
	}
	if (!strcmp(w[0], "until") || !strcmp(w[0], "sleepers")) {
		until(atoi(w[1]), w[0][0] == 'u' ? GETVAL : GETNCNT,
			atoi(w[2]));
		return 3;
	}
	if (!strcmp(w[0], "pass")) {
		for (int i = atoi(w[3]); i > 0; i--) {
			op(atoi(w[1]), -1, "");
			op(atoi(w[2]), 1, "");
		}
		return 4;
	}
	if (!strcmp(w[0], "say")) {
		puts(w[1]);
		fflush(stdout);
		return 2;
	}
	if (!strcmp(w[0], "hang"))
		for (;;)
			pause();
	if (!strcmp(w[0], "stdin")) {
		while (read(0, &c, 1) > 0)
			;
		return 1;
	}
	if (!strcmp(w[0], "exec")) {
		execvp(w[1], w + 1);
		die(w[1]);
	}
	if (!strcmp(w[0], "rm")) {
		if (semctl(get(), 0, IPC_RMID))
			die("IPC_RMID");
		return 1;
	}
	fprintf(stderr, "app_sem: what is %s?\n", w[0]);
	exit(2);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	alarm(30); /* arbitrary: whoever hangs, goes */
	key = (key_t)strtol(argv[1], NULL, 0);
	for (char **w = argv + 2; *w; w += command(w))
		;
	return 0;
}
