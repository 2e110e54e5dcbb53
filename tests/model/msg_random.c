// SPDX-License-Identifier: MIT
/*
 * msg_random: random message queue calls, and a line of text for each result.
 *
 *	msg_random [--calls N] [--seed S] [--digest] [--no-fault]
 *
 * Run twice in fresh namespaces it writes the same text twice; run on the
 * kernel and under a shim it shows by `cmp` whether the shim is the kernel
 * (compare.sh --bin msg_random).
 *
 * A driver commands four helpers (driver.h). Nothing in msgctl counts sleepers,
 * so that one sleeps is seen in /proc/PID/syscall: twice in msgsnd, msgrcv or
 * futex and asleep. A call that wakes somebody has made it runnable when it
 * returns, so after each call the driver waits until every blocked helper has
 * answered or sleeps.
 *
 * What the kernel itself leaves to chance is not done: two blocked senders on
 * one queue (they compete), IPC_SET with two blocked callers (they run on
 * in any order).
 */
#define _GNU_SOURCE
#include "../proc.h"
#include "driver.h"
#include "msg_call.h"

#include <limits.h>

#define QUEUES_MAX 12 /* arbitrary: few, so that they fill and block */
#define STALE_MAX 64  /* ids of removed queues, the latest */
#define N_KEYS 24
#define KEY_BASE 0x3e30

static int queues[QUEUES_MAX];
static int n_queues;
static int stale[STALE_MAX];
static unsigned n_stale;
static int no_fault;
static struct msg_call asked[N_HELPERS]; /* of each helper, the latest */

/*
 * A blocked helper sleeps in the call: msgsnd, msgrcv, futex. Seen twice, for
 * the shim's sleepers look around now and then; and `stat` says S, since a task
 * on its way to another CPU still shows its call.
 */
static bool helper_sleeps(const struct helper *h)
{
	char text[512], *state;
	int nr = -1;

	for (int i = 0; i < 2; i++) {
		if (!proc_read(h->pid, "syscall", text, sizeof(text)) ||
			sscanf(text, "%d", &nr) != 1 ||
			(nr != 69 && nr != 70 && nr != 202))
			return false;
		if (!proc_read(h->pid, "stat", text, sizeof(text)))
			return false;
		state = strrchr(text, ')');
		if (!state || state[2] != 'S')
			return false;
	}
	return !helper_answered(h);
}

/* --- queues that the driver knows ------------------------------------ */

static int queue_find(int id)
{
	for (int i = 0; i < n_queues; i++)
		if (queues[i] == id)
			return i;
	return -1;
}

static void queues_follow(const struct msg_call *c, const struct msg_result *r)
{
	int i;

	if (r->ret == -1)
		return;
	if (c->kind == MSG_GET && queue_find((int)r->ret) < 0 &&
		n_queues < QUEUES_MAX)
		queues[n_queues++] = (int)r->ret;
	if (c->kind == MSG_CTL && c->cmd == IPC_RMID) {
		i = queue_find(c->id);
		if (i >= 0)
			queues[i] = queues[--n_queues];
		stale[n_stale++ % STALE_MAX] = c->id;
	}
}

static int n_blocked(int id, enum msg_kind kind)
{
	int n = 0;

	for (int i = 0; i < N_HELPERS; i++)
		n += helpers[i].blocked_on == id && id >= 0 &&
		     asked[i].kind == kind;
	return n;
}

/* Until every blocked helper has answered or sleeps; looked at twice, for one
 * that wakes may wake another. */
static void settle(void)
{
	long long end = clock_ms() + ANSWER_MS;

	for (int spins = 0, calm = 0;; spins++) {
		int restless = 0;

		for (int i = 0; i < N_HELPERS; i++)
			restless += helpers[i].blocked_on >= 0 &&
				    !helper_answered(&helpers[i]) &&
				    !helper_sleeps(&helpers[i]);
		calm = restless ? 0 : calm + 1;
		if (calm == 2)
			return;
		wait_on(end, spins > 20 ? 50 : 0,
			"a woken call did not return");
	}
}

static void queue_look(int id)
{
	struct msg_call c = {.kind = MSG_CTL, .id = id, .cmd = IPC_STAT};
	struct msg_result r;

	if (queue_find(id) < 0)
		return;
	msg_call_run(&c, &r);
	say("  %d:", id);
	msg_result_say(&c, &r, role_name);
}

/* Writes the answers of those who were woken. */
static void woken_gather(void)
{
	struct msg_result r;

	settle();
	for (int i = 0; i < N_HELPERS; i++) {
		struct helper *h = &helpers[i];

		if (h->blocked_on < 0 || !helper_answered(h))
			continue;
		helper_result(h, &r);
		say("  woken H%d ", i + 1);
		msg_call_say(&asked[i]);
		msg_result_say(&asked[i], &r, role_name);
		h->blocked_on = -1;
	}
}

/* --- making calls up ------------------------------------------------ */

static int id_pick(void)
{
	static const int odd[] = {-1, -2147483647 - 1, 2147483647, 32767, 63};
	int i = pick(N_HELPERS);

	/* where somebody sleeps, more often: so that sleepers are woken */
	if (chance(400) && helpers[i].blocked_on >= 0)
		return helpers[i].blocked_on;
	if (n_queues && !chance(60))
		return queues[pick(n_queues)];
	if (n_stale && !chance(300))
		return stale[pick(n_stale < STALE_MAX ? n_stale : STALE_MAX)];
	return PICK_OF(odd);
}

static void get_make(struct msg_call *c)
{
	static const int modes[] = {0600, 0666, 0644, 0660, 0606, 0606, 0444,
		0222, 0, 0777, 0640, 0006};

	c->kind = MSG_GET;
	c->key = chance(300) ? IPC_PRIVATE : (key_t)(KEY_BASE + pick(N_KEYS));
	c->flg = PICK_OF(modes);
	if (chance(850))
		c->flg |= IPC_CREAT;
	if (chance(150))
		c->flg |= IPC_EXCL;
	if (n_queues == QUEUES_MAX) { /* lookups only: the table is full */
		c->flg &= ~IPC_CREAT;
		if (c->key == IPC_PRIVATE)
			c->key = KEY_BASE;
	}
}

static unsigned long size_pick(void)
{
	static const unsigned long odd[] = {0, 8192, 8193, 4096, 1032, 1033,
		2048, 2049, 4097, 16384, 65535, -1ul, 1ul << 63, 1ul << 32,
		(1ul << 32) + 5};

	if (chance(60))
		return PICK_OF(odd);
	if (chance(100))
		return pick(8193);
	return chance(150) ? 0 : pick(chance(500) ? 24 : 400);
}

static long type_pick(bool sending)
{
	static const long odd[] = {0, -1, 1L << 40, LONG_MAX, LONG_MIN,
		LONG_MIN + 1, 2147483648L, -(1L << 40)};

	if (chance(30))
		return PICK_OF(odd);
	if (sending)
		return 1 + pick(chance(700) ? 5 : 60);
	if (chance(300))
		return 0;
	return (long)(1 + pick(chance(700) ? 5 : 60)) * (chance(400) ? -1 : 1);
}

static void snd_make(struct msg_call *c, bool may_block)
{
	c->kind = MSG_SND;
	c->id = id_pick();
	c->type = type_pick(true);
	c->size = size_pick();
	c->seed = pick(1 << 30);
	c->fault = chance(6);
	/* what is larger than our buffer may only be sent to fail */
	if (c->size > TEXT_MAX && c->size < 1ul << 63)
		c->size = TEXT_MAX;
	c->flg = chance(300) ? IPC_NOWAIT : 0;
	if (!may_block || n_blocked(c->id, MSG_SND))
		c->flg |= IPC_NOWAIT;
	if (chance(10))
		c->flg |= 0x1000;
}

static void rcv_make(struct msg_call *c, bool may_block)
{
	c->kind = MSG_RCV;
	c->id = id_pick();
	c->type = type_pick(false);
	c->size = chance(400) ? 8192 : size_pick();
	c->fault = chance(6);
	c->flg = (chance(400) ? IPC_NOWAIT : 0) |
		 (chance(300) ? MSG_NOERROR : 0) |
		 (chance(150) ? MSG_EXCEPT : 0);
	if (chance(120)) {
		c->flg = MSG_COPY | (chance(300) ? MSG_NOERROR : 0) |
			 (chance(950) ? IPC_NOWAIT : 0) |
			 (chance(20) ? MSG_EXCEPT : 0);
		c->type = chance(30) ? -1 : (long)pick(8);
	}
	if (!may_block && !(c->flg & MSG_COPY))
		c->flg |= IPC_NOWAIT;
}

static void ctl_make(struct msg_call *c)
{
	static const int common[] = {IPC_STAT, IPC_STAT, MSG_STAT, MSG_STAT_ANY,
		IPC_SET, IPC_SET, IPC_SET, IPC_INFO, MSG_INFO, MSG_INFO};
	static const int odd[] = {
		-1, 99, 4, 10, 14, IPC_STAT | 0x100, IPC_RMID | 0x100};
	static const int modes[] = {
		0600, 0666, 0666, 0060, 0006, 0, 0444, 0222, 07777, 0660};
	static const int ids[] = {0, 0, 65534, 65534, 1000, 100};
	static const unsigned long limits[] = {16384, 16384, 16384, 8192, 100,
		10, 20, 1, 0, 16385, 0x100000064, 0xffffffff, 400};

	c->kind = MSG_CTL;
	c->id = id_pick();
	c->cmd = chance(15) ? PICK_OF(odd) : PICK_OF(common);
	if (chance(n_queues * n_queues / 3))
		c->cmd = IPC_RMID;
	c->uid = chance(30) ? -1 : PICK_OF(ids);
	c->gid = chance(30) ? -1 : PICK_OF(ids);
	c->mode = PICK_OF(modes);
	c->qbytes = PICK_OF(limits);
	if ((c->cmd == MSG_STAT || c->cmd == MSG_STAT_ANY) && chance(700))
		c->id = pick(80);
	if (c->cmd != IPC_RMID)
		c->fault = chance(10);
	if (c->cmd == IPC_SET &&
		n_blocked(c->id, MSG_RCV) + n_blocked(c->id, MSG_SND) > 1)
		c->cmd = IPC_STAT;
}

static void call_make(struct msg_call *c, bool may_block)
{
	uint32_t x = pick(1000);

	memset(c, 0, sizeof(*c));
	if (x < 410)
		snd_make(c, may_block);
	else if (x < 800)
		rcv_make(c, may_block);
	else if (x < 940)
		ctl_make(c);
	else
		get_make(c);
	if (no_fault)
		c->fault = false;
}

/* --- one step ------------------------------------------------------- */

/* true if the helper's call blocked */
static bool helper_call(int i, struct msg_result *ret_result)
{
	const struct msg_call *c = &asked[i];
	struct helper *h = &helpers[i];
	long long end = clock_ms() + ANSWER_MS;

	helper_command(h, c);
	for (int spins = 0; (c->kind == MSG_SND || c->kind == MSG_RCV) &&
			    !(c->flg & IPC_NOWAIT) && !helper_answered(h);
		spins++) {
		if (helper_sleeps(h))
			return true;
		wait_on(end, spins > 200 ? 50 : 0,
			"a call neither returned nor slept");
	}
	helper_result(h, ret_result);
	return false;
}

static void call_step(void)
{
	static struct msg_call own;
	struct msg_result r;
	struct msg_call *c = &own;
	int role = pick(N_HELPERS + 1);

	if (role && helpers[role - 1].blocked_on >= 0)
		role = 0;
	if (role)
		c = &asked[role - 1];
	call_make(c, role != 0);
	who_say(role);
	msg_call_say(c);
	if (!role) {
		msg_call_run(c, &r);
	} else if (helper_call(role - 1, &r)) {
		helpers[role - 1].blocked_on = c->id;
		say(" blocks\n");
		queue_look(c->id);
		return;
	}
	msg_result_say(c, &r, role_name);
	queues_follow(c, &r);
	woken_gather();
	if (c->kind != MSG_GET)
		queue_look(c->id);
	else if (r.ret >= 0)
		queue_look((int)r.ret);
}

static void signal_step(void)
{
	int sig, i = signal_pick(&sig), id;

	if (i < 0)
		return;
	id = helpers[i].blocked_on;
	signal_send(&helpers[i], sig);
	if (sig == SIGUSR1 || sig == SIGUSR2)
		signal_answered(&helpers[i]);
	woken_gather();
	queue_look(id);
}

static void step(void)
{
	uint32_t x = pick(1000);

	if (x < 15)
		signal_step();
	else if (x < 19)
		end_step(true);
	else if (x < 22)
		end_step(false);
	else
		call_step();
}

static void calls_begin(void)
{
	struct msginfo info;

	/* a first call before the helpers lose their rights */
	msgctl(0, MSG_INFO, (struct msqid_ds *)&info);
	helpers_start();
}

static void calls_end(void)
{
	helpers_end();
	for (int i = 0; i < n_queues; i++)
		msgctl(queues[i], IPC_RMID, NULL);
}

/* --- the command ---------------------------------------------------- */

static void queues_look(void)
{
	for (int i = 0; i < n_queues; i++)
		queue_look(queues[i]);
}

static void run(const void *call, void *ret_result)
{
	msg_call_run(call, ret_result);
}

static const struct driven driven = {
	.name = "msg_random",
	.call_size = sizeof(struct msg_call),
	.result_size = sizeof(struct msg_result),
	.run = run,
	.gather = woken_gather,
	.look_at_all = queues_look,
};

static const struct option_of options[] = {
	{"calls", .number = &n_calls},
	{"seed", .number = &seed},
	{"digest", .flag = &digest},
	{"no-fault", .flag = &no_fault},
	{0},
};

int main(int argc, char **argv)
{
	options_only(argc, argv, options);
	choice_seed(seed);
	calls_begin();
	steps_run(step);
	calls_end();
	return 0;
}
