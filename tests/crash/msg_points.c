// SPDX-License-Identifier: MIT
/*
 * msg_points: each operation of message queues stopped for good at each of its
 * stores to shared memory, and the survivors go on.
 *
 * Run under a shim that was built with -DIPCLIFT_CRASH and exports crash_arm
 * (msg_points.sh makes one): crash_arm(n) kills the process at its n-th store
 * from there. For every operation and n = 1, 2, ... until it is not reached: a
 * queue is prepared, a child does the operation and dies, and then the queue
 * must be as before the operation or as after it, give out every message once
 * and whole, by type and in order, end with 0 messages and 0 bytes, and be of
 * use; sleepers must get what is theirs. With --leases (IPCLIFT_LEASE) nothing
 * goes with a receiver that was killed. Where there are several, more than one
 * hold lets through (HOLD_LEAVES), nobody calls anything before the operation
 * is judged to have happened: they must have found it by themselves.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <unistd.h>

extern void crash_arm(long n) __attribute__((weak));

#define POINTS_MAX 3000
#define CROWD_MOST 5
#define PREPARED_TYPE(i) (1 + (i)*7 % 13)

enum op { RECEIVE, RECEIVE_TYPE_5, SEND, HAND_OVER, SET, REMOVE };
enum sleeper { NOBODY, RECEIVER, SENDER };

static const struct scenario {
	const char *name;
	enum op op;
	int n, size; /* messages prepared, and their length */
	int length;  /* of the message sent, by op or sleeper */
	enum sleeper who;
	int crowd; /* so many of them; 0: one */
} scenarios[] = {
	{"receive the first", RECEIVE, 20, 60, 0, NOBODY},
	{"receive by type", RECEIVE_TYPE_5, 40, 60, 0, NOBODY},
	{"receive the only one", RECEIVE, 1, 60, 0, NOBODY},
	{"receive a large one", RECEIVE, 3, 3000, 0, NOBODY},
	{"receive from many", RECEIVE, 250, 60, 0, NOBODY},
	{"receive, waking a sender", RECEIVE, 5, 60, 50, SENDER},
	{"receive, waking a large sender", RECEIVE, 2, 3000, 2500, SENDER},
	{"send", SEND, 20, 60, 60, NOBODY},
	{"send the first", SEND, 0, 0, 60, NOBODY},
	{"send into a new chunk", SEND, 31, 60, 60, NOBODY},
	{"send a large one", SEND, 2, 3000, 5000, NOBODY},
	{"hand over", HAND_OVER, 5, 60, 100, RECEIVER},
	{"hand over a large one", HAND_OVER, 1, 3000, 5000, RECEIVER},
	{"IPC_SET", SET, 5, 60, 0, NOBODY},
	{"IPC_SET, waking a sender", SET, 5, 60, 50, SENDER},
	{"IPC_SET, waking a receiver", SET, 5, 60, 3, RECEIVER},
	{"receive, waking five senders", RECEIVE, 2, 3000, 500, SENDER, 5},
	{"IPC_SET, waking five senders", SET, 5, 60, 50, SENDER, 5},
	{"IPC_SET, waking five receivers", SET, 5, 60, 3, RECEIVER, 5},
	{"IPC_RMID", REMOVE, 40, 60, 0, NOBODY},
	{"IPC_RMID with large ones", REMOVE, 4, 3000, 0, NOBODY},
	{"IPC_RMID, giving slabs back", REMOVE, 40, 8000, 0, NOBODY},
	{"IPC_RMID with a receiver", REMOVE, 5, 60, 0, RECEIVER},
	{"IPC_RMID with a sender", REMOVE, 5, 60, 50, SENDER},
	{"IPC_RMID with five receivers", REMOVE, 5, 60, 0, RECEIVER, 5},
	{"IPC_RMID with five senders", REMOVE, 5, 60, 50, SENDER, 5},
};
#define N_SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static struct {
	long type;
	char text[8192];
} buf;
static const struct scenario *now;
static long point;
static int id, failures;
static pid_t sleeper[CROWD_MOST];
static int crowd;
static int leases; /* the queues have them: none loses what it was given */

static void bad(const char *what, long a, long b)
{
	failures++;
	printf("WRONG %s, point %ld: %s (%ld, %ld)\n", now->name, point, what,
		a, b);
}

static int send_one(long type, int n, int c)
{
	buf.type = type;
	memset(buf.text, c, (size_t)n);
	return msgsnd(id, &buf, (size_t)n, IPC_NOWAIT);
}

static int is_whole(long n)
{
	for (long i = 1; i < n; i++)
		if (buf.text[i] != buf.text[0])
			return 0;
	return 1;
}

static struct msqid_ds stat_now(void)
{
	struct msqid_ds ds;

	if (msgctl(id, IPC_STAT, &ds)) {
		perror("IPC_STAT");
		exit(2);
	}
	return ds;
}

static int set_qbytes(unsigned long n)
{
	struct msqid_ds ds = stat_now();

	ds.msg_qbytes = n;
	return msgctl(id, IPC_SET, &ds);
}

/* In futex(2), or in futex_waitv(2). */
static int asleep_in_futex(pid_t pid)
{
	char path[40], text[80];
	int nr;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	f = fopen(path, "r");
	text[0] = 0;
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	nr = atoi(text);
	return nr == 202 || nr == 449;
}

static void sleeper_start(int i)
{
	int seen = 0;

	sleeper[i] = fork();
	if (!sleeper[i]) {
		long ret;

		alarm(10);
		buf.type = 60;
		memset(buf.text, 'w', sizeof(buf.text));
		ret = now->who == SENDER
			      ? msgsnd(id, &buf, (size_t)now->length, 0)
			      : msgrcv(id, &buf, sizeof(buf.text), 50, 0);
		_exit(ret < 0 ? errno : is_whole(ret) ? 0 : 99);
	}
	while (seen < 3) {
		siginfo_t info = {0};

		waitid(P_PID, (id_t)sleeper[i], &info,
			WEXITED | WNOHANG | WNOWAIT);
		if (info.si_pid) {
			bad("the sleeper ended", info.si_code, info.si_status);
			return;
		}
		seen = asleep_in_futex(sleeper[i]) ? seen + 1 : 0;
		usleep(200);
	}
}

static void crowd_start(void)
{
	crowd = now->who == NOBODY ? 0 : now->crowd ? now->crowd : 1;
	if (now->who == SENDER)
		set_qbytes(stat_now().__msg_cbytes);
	for (int i = 0; i < crowd; i++)
		sleeper_start(i);
}

static void crowd_must_get(int want)
{
	int status, i;

	for (i = 0; i < crowd; i++) {
		waitpid(sleeper[i], &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != want)
			bad("the sleeper", status, want);
	}
}

/* How many have ended, when the others sleep. */
static int crowd_ended(void)
{
	siginfo_t info;
	int i, ended, asleep, seen = 0;

	do {
		usleep(500);
		for (i = ended = asleep = 0; i < crowd; i++) {
			info.si_pid = 0;
			waitid(P_PID, (id_t)sleeper[i], &info,
				WEXITED | WNOHANG | WNOWAIT);
			if (info.si_pid)
				ended++;
			else
				asleep += asleep_in_futex(sleeper[i]);
		}
		seen = ended + asleep == crowd ? seen + 1 : 0;
	} while (ended < crowd && seen < 10);
	return ended;
}

/* The victim is dead; has it done what ends their sleep? */
static int is_done(int ended)
{
	struct msqid_ds ds;

	if (msgctl(id, IPC_STAT, &ds))
		return 1;
	return (now->op == SET && ds.msg_qbytes == 16384) ||
	       (now->op == RECEIVE && (int)ds.msg_qnum - ended < now->n);
}

/* Before anybody else calls anything. */
static void crowd_must_end(void)
{
	int ended;

	if (crowd < 2 || (now->op == SET && now->who == RECEIVER))
		return;
	ended = crowd_ended();
	if (ended < crowd && (ended || is_done(ended)))
		bad("asleep, though it may go on", ended, crowd);
}

/* 0 or 1: the operation failed. */
static int operate(void)
{
	struct msqid_ds ds = stat_now();

	/* records and pages that a first call makes are not the subject */
	msgrcv(id, &buf, 0, 99, IPC_NOWAIT);
	ds.msg_qbytes = 16384;
	memset(buf.text, 'S', sizeof(buf.text));
	buf.type = now->op == HAND_OVER ? 50 : 5;
	crash_arm(point);
	switch (now->op) {
	case RECEIVE:
	case RECEIVE_TYPE_5:
		return msgrcv(id, &buf, sizeof(buf.text),
			       now->op == RECEIVE ? 0 : 5, IPC_NOWAIT) < 0;
	case SEND:
	case HAND_OVER:
		return msgsnd(id, &buf, (size_t)now->length, IPC_NOWAIT) != 0;
	case SET:
		return msgctl(id, IPC_SET, &ds) != 0;
	default:
		return msgctl(id, IPC_RMID, NULL) != 0;
	}
}

/* 1 if the victim died at its point. */
static int victim_run(void)
{
	pid_t pid = fork();
	int status, failed;

	if (!pid) {
		failed = operate();
		crash_arm(0);
		_exit(failed);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		bad("the operation failed", status, 0);
	return WIFSIGNALED(status);
}

static void judge_removal(void)
{
	struct msqid_ds ds;
	int other;

	/* Gone, or not begun; what is half done a sleeper finishes by itself,
	 * else the next removal. */
	if (!msgctl(id, IPC_STAT, &ds))
		msgctl(id, IPC_RMID, NULL);
	crowd_must_get(EIDRM);
	other = msgget(IPC_PRIVATE, 0600);
	msgctl(other, IPC_RMID, NULL);
}

static void judge_count(int died)
{
	int change = now->op == SEND				       ? 1
		     : now->op == RECEIVE || now->op == RECEIVE_TYPE_5 ? -1
								       : 0;
	int length = now->op == SEND ? now->length : now->size;
	struct msqid_ds ds = stat_now();
	long num = (long)ds.msg_qnum, bytes = (long)ds.__msg_cbytes;
	long before = (long)now->n * now->size;

	if (now->who == SENDER) { /* has come in by now */
		num -= crowd;
		bytes -= crowd * now->length;
	}
	if (num == now->n + change && bytes == before + change * length)
		return;
	if (died && num == now->n && bytes == before)
		return;
	bad("count", num, bytes);
}

/* With leases a killed receiver's message is back as soon as somebody asks. */
static void count_leased(struct msqid_ds *ds, int died)
{
	if (!leases || !died ||
		(now->op != RECEIVE && now->op != RECEIVE_TYPE_5))
		return;
	ds->msg_qnum = (unsigned long)now->n;
	ds->__msg_cbytes = (unsigned long)now->n * (unsigned long)now->size;
	if (now->who == SENDER) {
		ds->msg_qnum += (unsigned long)crowd;
		ds->__msg_cbytes +=
			(unsigned long)crowd * (unsigned long)now->length;
	}
}

static void judge_rest(int died)
{
	struct msqid_ds ds = stat_now();
	long num = 0, bytes = 0, got;

	count_leased(&ds, died);
	for (int i = 0; i < 3 * POINTS_MAX; i++) {
		long type = i % 3 == 0 ? 0 : i % 3 == 1 ? -3 : 1 + i % 13;

		got = msgrcv(id, &buf, sizeof(buf.text), type, IPC_NOWAIT);
		if (got < 0 && type == 0)
			break;
		if (got < 0)
			continue;
		num++;
		bytes += got;
		if (!is_whole(got))
			bad("torn", got, type);
	}
	if (num != (long)ds.msg_qnum || bytes != (long)ds.__msg_cbytes)
		bad("drained", num, bytes);
	ds = stat_now();
	if (ds.msg_qnum || ds.__msg_cbytes)
		bad("left", (long)ds.msg_qnum, (long)ds.__msg_cbytes);
	if (send_one(3, 100, 'q') ||
		msgrcv(id, &buf, 100, 3, IPC_NOWAIT) != 100)
		bad("of no use", errno, 0);
	msgctl(id, IPC_RMID, NULL);
}

static int point_run(void)
{
	int died;

	id = msgget(IPC_PRIVATE, 0600);
	if (now->n * now->size > 16000)
		set_qbytes(1 << 20);
	for (int i = 0; i < now->n; i++)
		if (send_one(PREPARED_TYPE(i), now->size, 'a' + i % 26))
			bad("setup", errno, i);
	crowd_start();
	died = victim_run();
	crowd_must_end();
	if (now->op == REMOVE) {
		judge_removal();
		return died;
	}
	if (now->who == RECEIVER) {
		/* if it has got nothing yet, it gets this */
		for (int i = 0; i < crowd && (died || now->op == SET); i++)
			send_one(50, now->length, 'Z');
		crowd_must_get(0);
		msgrcv(id, &buf, sizeof(buf.text), 50, IPC_NOWAIT);
	} else if (now->who == SENDER) {
		if (died)
			set_qbytes(16384);
		crowd_must_get(0);
	}
	judge_count(died);
	judge_rest(died);
	return died;
}

int main(int argc, char **argv)
{
	struct msginfo info;

	for (int k = 1; k < argc; k++)
		leases |= !strcmp(argv[k], "--leases");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!crash_arm) {
		fprintf(stderr,
			"msg_points: not under a shim with crash_arm\n");
		return 77;
	}
	msgctl(0, MSG_INFO, (struct msqid_ds *)&info);
	for (size_t i = 0; i < N_SCENARIOS; i++) {
		now = &scenarios[i];
		for (point = 1; point < POINTS_MAX && point_run(); point++)
			;
		printf("%-32s %4ld points\n", now->name, point - 1);
	}
	msgctl(0, MSG_INFO, (struct msqid_ds *)&info);
	if (info.msgpool || info.msgmap || info.msgtql)
		bad("queues left", info.msgpool, info.msgtql);
	printf("%d wrong\n", failures);
	return failures != 0;
}
