// SPDX-License-Identifier: MIT
/*
 * sem_wake_storm: processes that give are killed, sleepers are not.
 *
 *	sem_wake_storm [--kills N] [--seed S] [--only KIND]
 *
 * Rounds of about a second, each on a fresh object, of these kinds in turn:
 *
 *	sem	3 processes give units by semop(+1), 4 take them by semop(-1)
 *	msg	the same with msgsnd and msgrcv
 *	mq	and with mq_send and mq_receive
 *	many	24 sleep because a message queue is full, one makes space for all
 *		at once; it holds a robust mutex of its own and a unit with
 *		SEM_UNDO on another set
 *	group	one that gives and one that takes are killed together, on
 *		several sets at once; another one sleeps on each, outside
 *
 * The givers are killed at random moments and started again, N of them in all.
 * Checked when a round ends:
 *
 * - Units are conserved: the sum of those taken and left is between the number
 *   given and the number whose giving was begun.
 * - No sleeper is forgotten: all takers sleep again once nothing is left
 *   (GETNCNT; an empty queue), without any other call.
 * - All of them find out about the removal within two seconds.
 * - many: the kernel has marked the dead process's mutex, and the shim has
 *   released its unit.
 *
 * A call that hangs ends the program after a while, which is a failure, too.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"

#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

#define GIVERS 3
#define TAKERS 24
#define SETS 12
#define ROUND_MS 700
#define HANG_S 40

/* Each slot is written by one process at a time. */
struct slot {
	_Atomic long begun, done;
};

static struct shared {
	struct slot giver[SETS], taker[2 * SETS + TAKERS];
	volatile int stop, ready, turn;
	pthread_mutex_t mutex;
} * sh;

static struct storm_rng rng;
static long n_kills = 500, seed = 1, killed, wrong;
static const char *only = "";
static int round_id, undo_id;
static char mq_path[64];
static mqd_t mq = (mqd_t)-1;

static void complain(const char *kind, const char *what, long a, long b, long c)
{
	printf("%s: %s: %ld %ld %ld\n", kind, what, a, b, c);
	fflush(stdout);
	wrong++;
}

/* ---- giving and taking ---- */

static int sem_change(int id, int by)
{
	struct sembuf op = {0, (short)by, 0};

	return semop(id, &op, 1);
}

struct text {
	long type;
	char body[8];
};

static int give_sem(void)
{
	return sem_change(round_id, 1);
}
static int give_msg(void)
{
	struct text m = {1, "a"};

	return msgsnd(round_id, &m, sizeof(m.body), 0);
}
static int give_mq(void)
{
	return mq_send(mq, "a", 1, 0);
}
static int take_sem(void)
{
	return sem_change(round_id, -1);
}
static int take_msg(void)
{
	struct text m;

	return msgrcv(round_id, &m, sizeof(m.body), 0, 0) < 0 ? -1 : 0;
}
static int take_mq(void)
{
	char m[8];
	struct timespec end;

	/* mq_unlink ends nobody's sleep. */
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 1;
	if (mq_timedreceive(mq, m, sizeof(m), NULL, &end) >= 0)
		return 0;
	if (errno == ETIMEDOUT)
		errno = sh->stop ? EIDRM : EINTR;
	return -1;
}
static long left_sem(void)
{
	return semctl(round_id, 0, GETVAL);
}
static long left_msg(void)
{
	struct msqid_ds ds;

	return msgctl(round_id, IPC_STAT, &ds) ? -1 : (long)ds.msg_qnum;
}
static long left_mq(void)
{
	struct mq_attr a;

	return mq_getattr(mq, &a) ? -1 : a.mq_curmsgs;
}
static long asleep_sem(void)
{
	return semctl(round_id, 0, GETNCNT);
}
static int make_sem(void)
{
	return round_id = semget(IPC_PRIVATE, 1, 0600);
}
static int make_msg(void)
{
	return round_id = msgget(IPC_PRIVATE, 0600);
}
static int make_mq(void)
{
	struct mq_attr a = {.mq_maxmsg = 10, .mq_msgsize = 8};

	snprintf(mq_path, sizeof(mq_path), "/wake_storm.%d", getpid());
	mq = mq_open(mq_path, O_RDWR | O_CREAT, 0600, &a);
	return (int)mq;
}
static int remove_sem(void)
{
	return semctl(round_id, 0, IPC_RMID);
}
static int remove_msg(void)
{
	return msgctl(round_id, IPC_RMID, NULL);
}
static int remove_mq(void)
{
	mq_unlink(mq_path);
	return mq_close(mq);
}

struct kind {
	const char *name;
	int (*make)(void), (*give)(void), (*take)(void), (*remove)(void);
	long (*left)(void), (*asleep)(void);
	int givers, takers;
	void (*round)(const struct kind *k);
};

static long sum(const struct slot *s, int n, int begun)
{
	long total = 0;

	while (n--)
		total += begun ? s[n].begun : s[n].done;
	return total;
}

static _Noreturn void giver_run(const struct kind *k, struct slot *s)
{
	for (;;) {
		s->begun++;
		if (!k->give()) {
			s->done++;
			continue;
		}
		if (errno != ERANGE)
			_exit(3);
		s->begun--;
		sched_yield();
	}
}

static _Noreturn void taker_run(const struct kind *k, struct slot *s)
{
	for (;;) {
		if (!k->take())
			s->done++;
		else if (errno != EINTR)
			_exit(errno == EIDRM || errno == EINVAL ? 0 : 4);
	}
}

static pid_t start(const struct kind *k, struct slot *s,
	void (*run)(const struct kind *, struct slot *))
{
	pid_t pid = storm_fork();

	if (!pid)
		run(k, s);
	return pid;
}

static void end(const struct kind *k, pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		storm_die("waitpid");
	if (!WIFSIGNALED(status))
		complain(k->name, "a giver ended by itself", status, 0, 0);
	killed++;
}

/* ---- rounds ---- */

/* Takers go on by themselves until nothing is left. */
static void settle(const struct kind *k)
{
	double until = now_ms() + 5000;
	long seen = -1, left = 0, asleep = k->takers;

	/* Nobody asks meanwhile: who asks also repairs. */
	while (seen != sum(sh->taker, k->takers, 0)) {
		seen = sum(sh->taker, k->takers, 0);
		sleep_us(20000);
	}
	while (now_ms() < until) {
		left = k->left();
		asleep = k->asleep ? k->asleep() : k->takers;
		/* Who has got the last one may not have counted it yet. */
		if (!left && asleep == k->takers &&
			sum(sh->taker, k->takers, 0) >=
				sum(sh->giver, k->givers, 0))
			break;
		sleep_us(1000);
	}
	if (left || asleep != k->takers)
		complain(k->name, "left, asleep, takers", left, asleep,
			k->takers);
	if (sum(sh->taker, k->takers, 0) + left <
			sum(sh->giver, k->givers, 0) ||
		sum(sh->taker, k->takers, 0) + left >
			sum(sh->giver, k->givers, 1))
		complain(k->name, "taken and left, given, begun",
			sum(sh->taker, k->takers, 0) + left,
			sum(sh->giver, k->givers, 0),
			sum(sh->giver, k->givers, 1));
}

static void reap(const struct kind *k, const pid_t *pids, int n)
{
	double until = now_ms() + 2000;
	int status, i;

	for (i = 0; i < n; i++) {
		double ms = until - now_ms();

		if (!storm_reap(pids[i], ms > 0 ? ms : 0, &status))
			complain(k->name, "did not see the removal", i, 0, 0);
		else if (status)
			complain(k->name, "a taker failed", i, status, 0);
	}
}

static void round_of(const struct kind *k)
{
	pid_t givers[GIVERS], takers[TAKERS];
	double until;
	int i;

	memset(sh->giver, 0, sizeof(sh->giver));
	memset(sh->taker, 0, sizeof(sh->taker));
	sh->stop = 0;
	if (k->make() < 0)
		storm_die(k->name);
	for (i = 0; i < k->takers; i++)
		takers[i] = start(k, &sh->taker[i], taker_run);
	for (i = 0; i < k->givers; i++)
		givers[i] = start(k, &sh->giver[i], giver_run);
	for (until = now_ms() + ROUND_MS;
		now_ms() < until && killed < n_kills;) {
		sleep_us(storm_random(&rng, 700));
		i = (int)storm_random(&rng, k->givers);
		end(k, givers[i]);
		givers[i] = start(k, &sh->giver[i], giver_run);
	}
	sleep_us(storm_random(&rng, 3000));
	for (i = 0; i < k->givers; i++)
		end(k, givers[i]);
	settle(k);
	sh->stop = 1;
	if (k->remove())
		complain(k->name, strerror(errno), 0, 0, 0);
	reap(k, takers, k->takers);
}

static void mutex_make(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&sh->mutex, &a);
}

/* After its death: what it held of others. */
static void many_check(const struct kind *k)
{
	double until = now_ms() + 2000;
	int err = pthread_mutex_trylock(&sh->mutex), value;

	if (err != EOWNERDEAD)
		complain(k->name, "mutex of the dead, trylock says", err, 0, 0);
	else
		pthread_mutex_consistent(&sh->mutex);
	if (!err || err == EOWNERDEAD)
		pthread_mutex_unlock(&sh->mutex);
	while ((value = semctl(undo_id, 0, GETVAL)) && now_ms() < until)
		sleep_us(1000);
	if (value)
		complain(k->name, "SEM_UNDO of the dead, value", value, 0, 0);
	/* Each time from the beginning. */
	if (err != EOWNERDEAD)
		mutex_make();
	if (value)
		semctl(undo_id, 0, SETVAL, 0);
}

/* The queue is full of two messages; those who send a small one sleep. */
#define BIG 8192
#define QUEUE_BYTES (2 * BIG)

struct big_text {
	long type;
	char body[BIG];
};

static void many_fill(void)
{
	static struct big_text big = {.type = 2};
	struct msqid_ds ds;
	struct text m;

	do {
		while (msgrcv(round_id, &m, sizeof(m.body), 1, IPC_NOWAIT) >= 0)
			;
		msgsnd(round_id, &big, BIG, IPC_NOWAIT);
		if (msgctl(round_id, IPC_STAT, &ds))
			_exit(5);
	} while (ds.msg_qnum != 2 || ds.__msg_cbytes != QUEUE_BYTES);
}

static _Noreturn void many_giver(const struct kind *k, struct slot *s)
{
	struct sembuf op = {0, 1, SEM_UNDO};
	struct big_text big;

	(void)k, (void)s;
	if (pthread_mutex_lock(&sh->mutex) || semop(undo_id, &op, 1))
		_exit(6);
	many_fill();
	sh->ready = 1;
	for (;;) {
		sh->turn++;
		/* Until they sleep. */
		sleep_us(500);
		if (msgrcv(round_id, &big, BIG, 2, 0) < 0)
			_exit(7);
		sleep_us(300);
		many_fill();
	}
}

/* One message a turn. */
static _Noreturn void many_sender(const struct kind *k, struct slot *s)
{
	struct text m = {1, "b"};
	int turn = sh->turn;

	(void)k, (void)s;
	for (;;) {
		while (turn == sh->turn && !sh->stop)
			sleep_us(100);
		turn = sh->turn;
		if (!msgsnd(round_id, &m, sizeof(m.body), 0))
			continue;
		if (errno != EINTR)
			_exit(errno == EIDRM || errno == EINVAL ? 0 : 4);
	}
}

static void round_many(const struct kind *k)
{
	pid_t giver, senders[TAKERS];
	double until;
	int i;

	sh->stop = sh->ready = 0;
	mutex_make();
	if (k->make() < 0)
		storm_die(k->name);
	giver = start(k, NULL, many_giver);
	for (i = 0; i < TAKERS; i++)
		senders[i] = start(k, NULL, many_sender);
	for (until = now_ms() + ROUND_MS;
		now_ms() < until && killed < n_kills;) {
		while (!sh->ready)
			sleep_us(50);
		sh->ready = 0;
		sleep_us(500 + storm_random(&rng, 1000));
		end(k, giver);
		many_check(k);
		giver = start(k, NULL, many_giver);
	}
	while (!sh->ready)
		sleep_us(50);
	end(k, giver);
	sh->stop = 1;
	k->remove();
	reap(k, senders, TAKERS);
}

/* One that gives and one that takes die in one moment, if the signal is. */
static void round_group(const struct kind *k)
{
	int ids[SETS], i;
	pid_t inside[2 * SETS], outside[SETS];
	long taken[SETS];

	memset(sh->giver, 0, sizeof(sh->giver));
	memset(sh->taker, 0, sizeof(sh->taker));
	for (i = 0; i < SETS; i++) {
		ids[i] = k->make();
		if (ids[i] < 0)
			storm_die(k->name);
		inside[2 * i] = start(k, &sh->taker[i], taker_run);
		setpgid(inside[2 * i], inside[0]);
		outside[i] = start(k, &sh->taker[SETS + i], taker_run);
		inside[2 * i + 1] = start(k, &sh->giver[i], giver_run);
		setpgid(inside[2 * i + 1], inside[0]);
	}
	sleep_us(20000 + storm_random(&rng, 20000));
	kill(-inside[0], SIGKILL);
	for (i = 0; i < 2 * SETS; i++)
		waitpid(inside[i], NULL, 0);
	killed += SETS;
	/* The backstop's second, and nobody touches the sets. */
	sleep_us(1600000);
	for (i = 0; i < SETS; i++)
		taken[i] = sh->taker[SETS + i].done;
	for (i = 0; i < SETS; i++) {
		long value, in = sh->taker[i].done, out;

		round_id = ids[i];
		value = k->left();
		sleep_us(20000);
		out = sh->taker[SETS + i].done;
		if (value || out != taken[i])
			complain(k->name, "slept beside a unit: set, value", i,
				value, out - taken[i]);
		if (in + out < sh->giver[i].done - 1 ||
			in + out > sh->giver[i].begun)
			complain(k->name, "taken, given, begun", in + out,
				sh->giver[i].done, sh->giver[i].begun);
		if (k->asleep() != 1)
			complain(k->name, "asleep", k->asleep(), i, 0);
		k->remove();
	}
	reap(k, outside, SETS);
}

static const struct kind kinds[] = {
	{"sem", make_sem, give_sem, take_sem, remove_sem, left_sem, asleep_sem,
		GIVERS, 4, round_of},
	{"many", make_msg, .remove = remove_msg, .round = round_many},
	{"msg", make_msg, give_msg, take_msg, remove_msg, left_msg, NULL,
		GIVERS, 4, round_of},
	{"sem", make_sem, give_sem, take_sem, remove_sem, left_sem, asleep_sem,
		GIVERS, 4, round_of},
	{"mq", make_mq, give_mq, take_mq, remove_mq, left_mq, NULL, GIVERS, 4,
		round_of},
	{"group", make_sem, give_sem, take_sem, remove_sem, left_sem,
		asleep_sem, 1, 1, round_group},
};

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"seed", .number = &seed},
	{"only", .text = &only},
	{0},
};

int main(int argc, char **argv)
{
	long rounds = 0;
	double from = now_ms();

	options_only(argc, argv, options);
	sh = storm_share(sizeof(*sh));
	storm_seed(&rng, (uint64_t)seed, 0);
	undo_id = semget(IPC_PRIVATE, 1, 0600);
	if (undo_id < 0)
		storm_die("semget");
	printf("seed %ld\n", seed);
	fflush(stdout);
	for (size_t i = 0; killed < n_kills && wrong < 10; i++) {
		const struct kind *k =
			&kinds[i % (sizeof(kinds) / sizeof(kinds[0]))];

		if (*only && strcmp(only, k->name))
			continue;
		alarm(HANG_S);
		k->round(k);
		rounds++;
	}
	semctl(undo_id, 0, IPC_RMID);
	printf("%ld rounds, %ld kills, %.0f s: %s\n", rounds, killed,
		(now_ms() - from) / 1e3, wrong ? "WRONG" : "ok");
	return wrong ? 1 : 0;
}
