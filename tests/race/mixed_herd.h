// SPDX-License-Identifier: MIT
/*
 * mixed_herd.h - mixed_storm's sleepers: a herd whose members sleep without a
 * time limit, each in one way, and a few wakers, killed one by one and by
 * groups in which both are. Included by mixed_storm.c only.
 *
 * A member counts what it begins and what it has done; who is killed between
 * leaves one operation in doubt, no more. The objects are made anew for each
 * round. When the wakers are dead, nobody calls anything until the herd has
 * not moved for QUIET_MS: what the sleepers do not find by themselves is lost.
 * Then:
 *
 * - what is in an object is what went in less what came out, by the doubts;
 *   the units of `transfer` exactly, for each of its operations moves them;
 * - nobody is asleep whose operation is possible;
 * - what was taken with SEM_UNDO is there again when its takers are gone;
 * - RMID ends every sleep.
 */
#ifndef IPCLIFT_TESTS_RACE_MIXED_HERD_H
#define IPCLIFT_TESTS_RACE_MIXED_HERD_H

#include "mixed_calls.h"

#define HERD_MOST 64
#define WAKERS 4
#define HERD_GROUPS 3
#define HERD_TOKENS 3
#define TRANSFERS 60
#define HERD_TEXT 64
/* Beyond two of the slices (one second) in which a sleeper looks for itself. */
#define QUIET_MS 2500

/* How a member sleeps. */
enum {
	PLAIN,	  /* one semaphore */
	ARRAY,	  /* two at once */
	TRANSFER, /* one up, one down */
	GATE,	  /* until one is zero and the other is not */
	TAKER,	  /* with SEM_UNDO, gives back */
	RECEIVER, /* of one type, or of any up to one */
	SENDER,	  /* to a full queue */
	MQ_RECEIVER,
	MQ_SENDER,
	N_WAYS,
	WAKER = N_WAYS,
};
static const char *const way_name[] = {"plain", "array", "transfer", "gate",
	"taker", "receiver", "sender", "mq receiver", "mq sender"};

enum { S_PLAIN, S_ONE, S_TWO, S_TAKE, S_GATE, S_BEHIND, S_FROM, S_TO, N_S };

static struct member {
	pid_t pid;
	int way, group;
} member[HERD_MOST + WAKERS];
static pid_t herd_group[HERD_GROUPS];
static int n_herd, only_way; /* of this round; only_way < 0: all */

/* In: what makes a member's operation possible, by its way. */
struct herd_flow {
	_Atomic long in_begun, in_done, out_begun, out_done;
};

static struct herd {
	struct herd_flow flow[N_WAYS];
	_Atomic long moves, kills;
	volatile int stop, closing;		 /* the storm; the wakers */
	volatile int inside[HERD_MOST + WAKERS]; /* in its call */
	int set, in, full;
	char mq_in[64], mq_full[64];
} * herd;

struct herd_msg {
	long type;
	char text[HERD_TEXT];
};

static void herd_begin(int way, long n)
{
	atomic_fetch_add(&herd->flow[way].in_begun, n);
}

static void herd_end(int way, long n, bool done)
{
	if (done)
		atomic_fetch_add(&herd->flow[way].in_done, n);
	else
		atomic_fetch_sub(&herd->flow[way].in_begun, n);
}

/* ---- a sleeper ---- */

/* One sleep; false: it was ended by a signal, or the object is gone. */
static bool sleep_once(int way, int i, mqd_t q)
{
	static struct sembuf ops[][2] = {
		[PLAIN] = {{S_PLAIN, -1, 0}},
		[ARRAY] = {{S_ONE, -1, 0}, {S_TWO, -1, 0}},
		[TRANSFER] = {{S_FROM, -1, 0}, {S_TO, 1, 0}},
		[GATE] = {{S_GATE, 0, 0}, {S_BEHIND, -1, 0}},
		[TAKER] = {{S_TAKE, -1, SEM_UNDO}},
	};
	struct herd_msg m = {.type = 1 + i % 3};

	switch (way) {
	case RECEIVER:
		return msgrcv(herd->in, &m, HERD_TEXT, i % 4 ? m.type : -m.type,
			       0) >= 0;
	case SENDER:
		return !msgsnd(herd->full, &m, HERD_TEXT, 0);
	case MQ_RECEIVER:
		return mq_receive(q, m.text, HERD_TEXT, NULL) >= 0;
	case MQ_SENDER:
		return !mq_send(q, m.text, HERD_TEXT, (unsigned)i % 3);
	default:
		return !semop(herd->set, ops[way],
			way == PLAIN || way == TAKER ? 1 : 2);
	}
}

static _Noreturn void sleeper(int i)
{
	int way = member[i].way;
	struct herd_flow *f = &herd->flow[way];
	struct sembuf give = {S_TAKE, 1, SEM_UNDO};
	mqd_t q = (mqd_t)-1;
	bool done;

	if (way == MQ_RECEIVER || way == MQ_SENDER)
		q = mq_open(
			way == MQ_SENDER ? herd->mq_full : herd->mq_in, O_RDWR);
	while (!(way == TAKER && herd->closing)) {
		herd->inside[i] = 1;
		atomic_fetch_add(&f->out_begun, 1);
		done = sleep_once(way, i, q);
		if (done)
			atomic_fetch_add(&f->out_done, 1);
		else
			atomic_fetch_sub(&f->out_begun, 1);
		herd->inside[i] = 0;
		atomic_fetch_add(&herd->moves, 1);
		if (!done && errno != EINTR)
			_exit(errno == EIDRM || errno == EINVAL ? 0 : 1);
		if (!done || way != TAKER)
			continue;
		if (rnd(2))
			sleep_us(rnd(300));
		if (!rnd(50))
			_exit(0); /* with what it has */
		if (semop(herd->set, &give, 1))
			_exit(errno == EIDRM || errno == EINVAL ? 0 : 1);
	}
	_exit(0);
}

/* ---- a waker ---- */

static void raise_many(int way, struct sembuf *ops, size_t n)
{
	int by = rnd(3) ? 1 + (int)rnd(3) : 1 + (int)rnd(40);

	for (size_t i = 0; i < n; i++)
		ops[i].sem_op = (short)by;
	herd_begin(way, by);
	herd_end(way, by, !semop(herd->set, ops, n));
}

/* All behind the gate go at once. */
static void gate_open(void)
{
	struct sembuf close = {S_GATE, 1, SEM_UNDO},
		      open = {S_GATE, -1, SEM_UNDO};
	struct sembuf behind = {S_BEHIND, 1, 0};

	if (semop(herd->set, &close, 1))
		return;
	raise_many(GATE, &behind, 1);
	if (rnd(2))
		sleep_us(rnd(300));
	if (rnd(8))
		semop(herd->set, &open, 1);
	else if (!rnd(4))
		_exit(0); /* as its SEM_UNDO says */
}

static void wake_some(mqd_t in, mqd_t full)
{
	struct sembuf plain = {S_PLAIN, 1, 0};
	struct sembuf both[2] = {{S_ONE, 1, 0}, {S_TWO, 1, 0}};
	struct sembuf back[2] = {{S_TO, -1, IPC_NOWAIT}, {S_FROM, 1, 0}};
	struct herd_msg m = {.type = 1 + (int)rnd(3)};
	int way = only_way >= 0 ? only_way : (int)rnd(N_WAYS), n;

	switch (way) {
	case PLAIN:
		raise_many(PLAIN, &plain, 1);
		break;
	case ARRAY:
		raise_many(ARRAY, both, 2);
		break;
	case TRANSFER:
		back[0].sem_op = (short)-(n = 1 + (int)rnd(rnd(2) ? 3 : 30));
		back[1].sem_op = (short)n;
		semop(herd->set, back, 2);
		break;
	case GATE:
		gate_open();
		break;
	case RECEIVER:
		for (n = 1 + (int)rnd(4); n--; m.type = 1 + (int)rnd(3)) {
			herd_begin(way, 1);
			herd_end(way, 1,
				!msgsnd(herd->in, &m, HERD_TEXT, IPC_NOWAIT));
		}
		break;
	case SENDER:
		for (n = 1 + (int)rnd(6); n--;) {
			herd_begin(way, 1);
			herd_end(way, 1,
				msgrcv(herd->full, &m, HERD_TEXT, 0,
					IPC_NOWAIT) >= 0);
		}
		break;
	case MQ_RECEIVER:
		herd_begin(way, 1);
		herd_end(way, 1, !mq_send(in, m.text, HERD_TEXT, rnd(3)));
		break;
	case MQ_SENDER:
		herd_begin(way, 1);
		herd_end(
			way, 1, mq_receive(full, m.text, HERD_TEXT, NULL) >= 0);
		break;
	}
}

static _Noreturn void waker(void)
{
	mqd_t in = mq_open(herd->mq_in, O_RDWR | O_NONBLOCK);
	mqd_t full = mq_open(herd->mq_full, O_RDWR | O_NONBLOCK);

	while (!herd->closing) {
		wake_some(in, full);
		if (!rnd(3))
			sleep_us(rnd(300));
	}
	_exit(0);
}

/* ---- the parent ---- */

static void herd_spawn(int i)
{
	struct member *m = &member[i];
	static uint64_t births;
	pid_t pid;

	births++;
	herd->inside[i] = 0;
	pid = storm_fork();
	if (!pid) {
		setpgid(0, herd_group[m->group]);
		storm_seed(&rng, (uint64_t)seed, births << 20);
		if (m->way == WAKER)
			waker();
		sleeper(i);
	}
	/* A group ends with its last member. */
	if (!herd_group[m->group] || setpgid(pid, herd_group[m->group])) {
		herd_group[m->group] = pid;
		setpgid(pid, pid);
	}
	m->pid = pid;
}

/* They stay zombies until they are waited for here: no pid is another's. */
static void herd_reap(int i)
{
	int status;

	kill(member[i].pid, SIGKILL);
	if (waitpid(member[i].pid, &status, 0) != member[i].pid)
		violation("a member is not there", i, errno);
	else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		violation("a member died of signal", i, WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		violation("a member's call failed", member[i].way, i);
	herd->kills++;
}

static void herd_make(void)
{
	struct mq_attr a = {.mq_maxmsg = 8, .mq_msgsize = HERD_TEXT};
	unsigned short v[N_S] = {[S_TAKE] = HERD_TOKENS, [S_FROM] = TRANSFERS};
	static const int sizes[] = {0, 1, 9, 18, 40, HERD_MOST};
	struct msqid_ds ds;
	int i;

	herd->set = semget(IPC_PRIVATE, N_S, 0600);
	herd->in = msgget(IPC_PRIVATE, 0600);
	herd->full = msgget(IPC_PRIVATE, 0600);
	snprintf(herd->mq_in, sizeof(herd->mq_in), "/herd-in-%d", getpid());
	snprintf(herd->mq_full, sizeof(herd->mq_full), "/herd-%d", getpid());
	mq_close(mq_open(herd->mq_in, O_RDWR | O_CREAT, 0600, &a));
	mq_close(mq_open(herd->mq_full, O_RDWR | O_CREAT, 0600, &a));
	if (herd->set < 0 || semctl(herd->set, 0, SETALL, v) ||
		msgctl(herd->full, IPC_STAT, &ds))
		storm_die("objects of the herd");
	ds.msg_qbytes = 8 * HERD_TEXT;
	msgctl(herd->full, IPC_SET, &ds);
	n_herd = sizes[rnd(6)];
	only_way = rnd(2) ? -1 : (int)rnd(N_WAYS);
	for (i = 0; i < n_herd + WAKERS; i++) {
		member[i].way = i < WAKERS	? WAKER
				: only_way >= 0 ? only_way
						: i % N_WAYS;
		member[i].group = (int)rnd(HERD_GROUPS);
		herd_spawn(i);
	}
}

/* Everybody of the group at once, wakers and sleepers. */
static void herd_kill_group(int group)
{
	int i;

	kill(-herd_group[group], SIGKILL);
	for (i = 0; i < n_herd + WAKERS; i++)
		if (member[i].group == group)
			herd_reap(i);
	herd_group[group] = 0;
	for (i = 0; i < n_herd + WAKERS; i++)
		if (member[i].group == group)
			herd_spawn(i);
}

static void herd_kill(void)
{
	int i = (int)rnd(rnd(3) ? WAKERS : (uint32_t)n_herd + WAKERS);

	switch (rnd(12)) {
	case 0:
		kill(-herd_group[member[i].group], SIGSTOP);
		sleep_us(rnd(3000));
		kill(-herd_group[member[i].group], SIGCONT);
		break;
	case 1:
		herd_kill_group(member[i].group);
		break;
	default:
		herd_reap(i);
		herd_spawn(i);
	}
}

/* Nobody makes a call but the sleepers, until none of them goes on. */
static void herd_quiet(void)
{
	double since = now_ms();
	long seen = -1;
	int i;

	for (i = 0; i < WAKERS; i++)
		kill(member[i].pid, SIGKILL);
	for (i = 0; i < WAKERS; i++)
		herd_reap(i);
	herd->closing = 1;
	while (now_ms() - since < QUIET_MS) {
		if (herd->moves != seen)
			since = now_ms();
		seen = herd->moves;
		sleep_us(10000);
	}
}

static int herd_inside(int way, int type)
{
	int i, n = 0;

	for (i = WAKERS; i < n_herd + WAKERS; i++)
		n += member[i].way == way && herd->inside[i] &&
		     kill(member[i].pid, 0) == 0 &&
		     (!type || 1 + i % 3 == type ||
			     (i % 4 == 0 && 1 + i % 3 > type));
	return n;
}

/* level: what is in there; possible: somebody could have it. */
static void herd_level(int way, long level, bool possible)
{
	struct herd_flow *f = &herd->flow[way];
	/* Who sleeps has begun, but has nothing. */
	long asleep = herd_inside(way, 0);
	long least = f->in_done - (f->out_begun - asleep);
	long most = f->in_begun - f->out_done;

	if (level < least || level > most) {
		fprintf(stderr, "%s: %ld, not %ld to %ld\n", way_name[way],
			level, least, most);
		violation("what a herd left", level, least);
	}
	if (possible && asleep) {
		fprintf(stderr, "%s: asleep beside %ld\n", way_name[way],
			level);
		violation("asleep", way, asleep);
	}
}

static void herd_look_at_sems(void)
{
	unsigned short v[N_S];
	struct semid_ds ds;

	if (semctl(herd->set, 0, GETALL, v) ||
		semctl(herd->set, 0, IPC_STAT, &ds))
		violation("GETALL of a herd", errno, 0);
	herd_level(PLAIN, v[S_PLAIN], v[S_PLAIN]);
	herd_level(ARRAY, v[S_ONE], v[S_ONE]);
	if (v[S_ONE] != v[S_TWO])
		violation("an array's two", v[S_ONE], v[S_TWO]);
	if (v[S_FROM] + v[S_TO] != TRANSFERS)
		violation("transfers", v[S_FROM], v[S_TO]);
	if (v[S_FROM] && herd_inside(TRANSFER, 0))
		violation("asleep", TRANSFER, v[S_FROM]);
	if (v[S_GATE])
		violation("a gate that the dead closed", v[S_GATE], 0);
	herd_level(GATE, v[S_BEHIND], v[S_BEHIND]);
	if (v[S_TAKE] != HERD_TOKENS || herd_inside(TAKER, 0))
		violation("takers", v[S_TAKE], herd_inside(TAKER, 0));
}

static void herd_look_at_queues(void)
{
	mqd_t in = mq_open(herd->mq_in, O_RDWR);
	mqd_t full = mq_open(herd->mq_full, O_RDWR);
	struct herd_flow *f = &herd->flow[SENDER], turned;
	struct mq_attr a = {0}, b = {0};
	struct msqid_ds m, s;
	int type;

	msgctl(herd->in, IPC_STAT, &m);
	msgctl(herd->full, IPC_STAT, &s);
	mq_getattr(in, &a);
	mq_getattr(full, &b);
	mq_close(in);
	mq_close(full);
	/* A sender's message is what goes in. */
	for (type = SENDER; type <= MQ_SENDER; type += MQ_SENDER - SENDER) {
		f = &herd->flow[type];
		turned.in_begun = f->out_begun - herd_inside(type, 0);
		turned.in_done = f->out_done;
		turned.out_begun = f->in_begun + herd_inside(type, 0);
		turned.out_done = f->in_done;
		*f = turned;
	}
	herd_level(RECEIVER, (long)m.msg_qnum, false);
	herd_level(SENDER, (long)s.msg_qnum,
		s.__msg_cbytes + HERD_TEXT <= s.msg_qbytes);
	herd_level(MQ_RECEIVER, a.mq_curmsgs, a.mq_curmsgs > 0);
	herd_level(MQ_SENDER, b.mq_curmsgs, b.mq_curmsgs < b.mq_maxmsg);
	for (type = 1; type <= 3; type++) {
		struct herd_msg text;

		if (msgrcv(herd->in, &text, HERD_TEXT, type, IPC_NOWAIT) >= 0 &&
			herd_inside(RECEIVER, type))
			violation("asleep beside a message", type,
				herd_inside(RECEIVER, type));
	}
}

/* Those of POSIX queues are killed: nothing else ends their sleep. */
static void herd_remove(void)
{
	int i, status;

	for (i = WAKERS; i < n_herd + WAKERS; i++)
		if (member[i].way >= MQ_RECEIVER)
			kill(member[i].pid, SIGKILL);
	if (semctl(herd->set, 0, IPC_RMID) ||
		msgctl(herd->in, IPC_RMID, NULL) ||
		msgctl(herd->full, IPC_RMID, NULL) || mq_unlink(herd->mq_in) ||
		mq_unlink(herd->mq_full))
		violation("removing what a herd used", errno, 0);
	for (i = WAKERS; i < n_herd + WAKERS; i++)
		if (!storm_reap(member[i].pid, STUCK_MS, &status) ||
			(WIFEXITED(status) && WEXITSTATUS(status)))
			violation("end of a sleeper", member[i].way, status);
}

/* A process of its own, which is the herd's parent: it kills until it is told
 * to stop, and looks. */
static pid_t herd_start(long round)
{
	pid_t pid;

	if (!herd)
		herd = storm_share(sizeof(*herd));
	memset(herd, 0, sizeof(*herd));
	pid = storm_fork();
	if (pid)
		return pid;
	storm_seed(&rng, (uint64_t)seed, (uint64_t)round << 40);
	herd_make();
	while (!herd->stop) {
		storm_pause(&rng);
		herd_kill();
	}
	herd_quiet();
	herd_look_at_sems();
	herd_look_at_queues();
	herd_remove();
	_exit(0);
}

#endif
