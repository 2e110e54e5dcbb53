// SPDX-License-Identifier: MIT
/*
 * stop_storm: a process that is stopped and continued gets what the kernel
 * would give.
 *
 *	stop_storm [--kills N] [--seed S]
 *
 * Rounds on a fresh object, in turn a semaphore, a System V and a POSIX queue:
 * nine processes in three groups, of which each third gives units (semop,
 * msgsnd, mq_send) and the others take them. None is killed: one or a group is
 * stopped at a random moment, briefly, while the others run, N times in all. On
 * the kernel and under the shim:
 *
 * - No unit is lost or doubled: what was given was taken, or is left.
 * - Only semop fails, with EINTR, and at most once each time that its caller is
 *   stopped.
 * - No wake-up is lost: once the givers rest all is taken, without any other
 *   call, even if others were stopped when it came.
 * - All find out about the removal.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "herd.h"

#include <mqueue.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

#define ROUND_STOPS 400
#define AHEAD 6 /* few: mostly somebody sleeps */

static struct shared {
	struct herd_report report;
	volatile int quiet, removed, rests[HERD_PLACES];
	_Atomic long given, taken;
} * sh;
static struct herd herd;
static long n_stops = 2000, seed = 1;
static enum { SEM, MSG, MQ, KINDS } kind;
static int id;
static mqd_t mq;

static char *mq_name(void)
{
	static char name[64];

	snprintf(name, sizeof(name), "/stop_storm.%d", getpid());
	return name;
}

struct text {
	long type;
	char body[16];
};

static int call(int give)
{
	struct sembuf op = {0, (short)(give ? 1 : -1), 0};
	struct text t = {1, "unit"};

	switch (kind) {
	case SEM:
		return semop(id, &op, 1);
	case MSG:
		if (give)
			return msgsnd(id, &t, sizeof(t.body), 0);
		return msgrcv(id, &t, sizeof(t.body), 0, 0) == sizeof(t.body)
			       ? 0
			       : -1;
	default:
		if (give)
			return mq_send(mq, t.body, sizeof(t.body), 0);
		return mq_receive(mq, t.body, sizeof(t.body), NULL) ==
				       sizeof(t.body)
			       ? 0
			       : -1;
	}
}

static void run(int place)
{
	int give = place % HERD_MEMBERS == 0;

	for (;;) {
		/* The queues' own bounds, of 8 and 10, also hold givers up. */
		if (give &&
			(sh->quiet || (kind == SEM &&
					      sh->given - sh->taken > AHEAD))) {
			sh->rests[place] = sh->quiet;
			sleep_us(200);
			if (sh->removed)
				_exit(0);
			continue;
		}
		if (!call(give)) {
			(*(give ? &sh->given : &sh->taken))++;
			continue;
		}
		if (errno == EINTR && kind == SEM) {
			sh->report.interrupted++;
			continue;
		}
		if (sh->removed && (errno == EIDRM || errno == EINVAL))
			_exit(0);
		violation(&sh->report, "call", give, kind);
		_exit(3);
	}
}

/* ---- rounds ---- */

static void make(void)
{
	struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = 16};
	struct msqid_ds ds;

	memset(sh, 0, sizeof(*sh));
	if (kind == SEM)
		id = semget(IPC_PRIVATE, 1, 0600);
	if (kind == MSG)
		id = msgget(IPC_PRIVATE, 0600);
	if (kind == MQ)
		id = (int)(mq = mq_open(mq_name(), O_RDWR | O_CREAT | O_EXCL,
				   0600, &attr));
	if (id < 0)
		storm_die("make");
	if (kind == MSG) {
		msgctl(id, IPC_STAT, &ds);
		ds.msg_qbytes = 8 * 16;
		msgctl(id, IPC_SET, &ds);
	}
}

static long left(void)
{
	struct mq_attr attr;
	struct msqid_ds ds;

	if (kind == SEM)
		return semctl(id, 0, GETVAL);
	if (kind == MSG)
		return msgctl(id, IPC_STAT, &ds) ? -1 : (long)ds.msg_qnum;
	return mq_getattr(mq, &attr) ? -1 : attr.mq_curmsgs;
}

static bool all_taken(void)
{
	int i;

	for (i = 0; i < HERD_PLACES; i += HERD_MEMBERS)
		if (!sh->rests[i])
			return false;
	return sh->given == sh->taken;
}

/* Nobody is stopped any more. */
static void settle(long stops)
{
	sh->quiet = 1;
	if (!herd_wait(all_taken, 5000) || left())
		herd_complain(&herd, "given, taken, left", sh->given, sh->taken,
			left());
	herd_judge(&herd, &sh->report, stops);
}

static void finish(void)
{
	int i, status;

	sh->removed = kind != MQ;
	if (kind == MQ) {
		herd_end(&herd);
		mq_close(mq);
		mq_unlink(mq_name());
		return;
	}
	if (kind == SEM ? semctl(id, 0, IPC_RMID) : msgctl(id, IPC_RMID, NULL))
		herd_complain(&herd, "IPC_RMID", errno, 0, 0);
	for (i = 0; i < HERD_PLACES; i++)
		if (!storm_reap(herd.pid[i], 5000, &status) || status)
			herd_complain(
				&herd, "did not see the removal", i, status, 0);
}

static void stop_and_go(void)
{
	int group = (int)storm_random(&herd.rng, HERD_GROUPS);
	int one = (int)storm_random(&herd.rng, HERD_MEMBERS + 1);
	int place = group * HERD_MEMBERS;
	pid_t whom =
		one < HERD_MEMBERS ? herd.pid[place + one] : -herd.pid[place];

	kill(whom, SIGSTOP);
	storm_pause(&herd.rng);
	/* Also for longer than the library takes a sleeper for new. */
	if (storm_random(&herd.rng, 16) == 0)
		sleep_us(20000);
	kill(whom, SIGCONT);
	herd.stops++;
	storm_pause(&herd.rng);
}

static long round_of(void)
{
	long before = herd.stops;

	alarm(HERD_HANG_S);
	make();
	herd_start_all(&herd);
	while (herd.stops - before < ROUND_STOPS && !sh->report.wrong)
		stop_and_go();
	settle(herd.stops - before);
	finish();
	return sh->taken;
}

static const struct option_of options[] = {
	{"kills", .number = &n_stops},
	{"seed", .number = &seed},
	{0},
};

int main(int argc, char **argv)
{
	long taken = 0, interrupted = 0;

	options_only(argc, argv, options);
	sh = storm_share(sizeof(*sh));
	storm_seed(&herd.rng, (uint64_t)seed, 0);
	herd.run = run;
	while (herd.stops < n_stops && !herd.wrong) {
		taken += round_of();
		interrupted += sh->report.interrupted;
		kind = (kind + 1) % KINDS;
	}
	printf("%ld stops, %ld units, EINTR %ld times, %ld wrong\n", herd.stops,
		taken, interrupted, herd.wrong);
	return herd.wrong != 0;
}
