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
 * A driver (role D, root) commands four helpers by pipes, one call at a time:
 * H1 and H2 are root, H3 is uid and gid 65534, H4 is uid 1000, gid 100 and of
 * the group 65534 besides. A helper's call may block. Nothing in msgctl counts
 * sleepers, so that it sleeps is seen in /proc/PID/syscall: twice in msgsnd,
 * msgrcv or futex and asleep. A call that wakes somebody has made it
 * runnable when it returns, so after each call the driver waits until every
 * blocked helper has answered or sleeps.
 *
 * What the kernel itself leaves to chance is not done: two blocked senders on
 * one queue (they compete), IPC_SET with two blocked callers (they run on
 * in any order).
 */
#define _GNU_SOURCE
#include "msg_call.h"

#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_HELPERS 4
#define QUEUES_MAX 12 /* arbitrary: few, so that they fill and block */
#define STALE_MAX 64  /* ids of removed queues, the latest */
#define PIDS_MAX 65536
#define N_KEYS 24
#define KEY_BASE 0x3e30
#define ANSWER_MS 10000 /* a healthy answer takes microseconds */

struct helper {
	pid_t pid;
	int to, from; /* pipes */
	int uid, gid;
	int blocked_on; /* queue id; -1: idle */
	struct msg_call call;
};

static struct helper helpers[N_HELPERS] = {
	{.uid = 0, .gid = 0},
	{.uid = 0, .gid = 0},
	{.uid = 65534, .gid = 65534},
	{.uid = 1000, .gid = 100},
};
static int queues[QUEUES_MAX];
static int n_queues;
static int stale[STALE_MAX];
static unsigned n_stale;
static struct {
	pid_t pid;
	int role;
} pids[PIDS_MAX];
static int n_pids;

static uint64_t rng_state;
static long n_calls = 200000, seed = 1, call_no;
static int no_fault, digest;

static _Noreturn void die(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "msg_random: seed %ld, call %ld: %s: %s\n", seed,
		call_no, what, errno ? strerror(errno) : "-");
	for (int i = 0; i < N_HELPERS; i++)
		if (helpers[i].pid > 0)
			kill(helpers[i].pid, SIGKILL);
	exit(2);
}

/* splitmix64 */
static uint32_t pick(uint32_t below)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (uint32_t)(((z ^ z >> 31) >> 32) % below);
}

static bool chance(uint32_t per_mille)
{
	return pick(1000) < per_mille;
}

#define PICK_OF(a) ((a)[pick(sizeof(a) / sizeof((a)[0]))])

/* --- roles ---------------------------------------------------------- */

static void role_add(pid_t pid, int role)
{
	int i = n_pids++ % PIDS_MAX;

	pids[i].pid = pid;
	pids[i].role = role;
}

static const char *role_name(int pid)
{
	static const char *const names[] = {"D", "H1", "H2", "H3", "H4"};
	int first = n_pids > PIDS_MAX ? n_pids - PIDS_MAX : 0;

	if (!pid)
		return "0";
	for (int i = n_pids - 1; i >= first; i--)
		if (pids[i % PIDS_MAX].pid == pid)
			return names[pids[i % PIDS_MAX].role];
	return "stranger";
}

static void who_say(int role)
{
	if (role)
		say("H%d ", role);
	else
		say("D ");
}

/* --- helpers -------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
}

static void privileges_drop(int uid, int gid)
{
	gid_t more = 65534;

	if (!uid)
		return;
	if (setgroups(uid == 1000, &more) || setresgid(gid, gid, gid) ||
		setresuid(uid, uid, uid))
		_exit(3);
}

static _Noreturn void helper_run(int from, int to)
{
	struct sigaction act = {.sa_handler = on_signal};
	static struct msg_call call;
	struct msg_result result;

	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &act, NULL);
	while (read(from, &call, sizeof(call)) == sizeof(call)) {
		msg_call_run(&call, &result);
		if (write(to, &result, sizeof(result)) != sizeof(result))
			break;
	}
	_exit(0);
}

static void helper_start(int i)
{
	struct helper *h = &helpers[i];
	pid_t driver = getpid();
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		die("pipe2");
	fflush(stdout);
	h->blocked_on = -1;
	h->pid = fork();
	if (h->pid < 0)
		die("fork");
	if (!h->pid) {
		/* in this order: a change of uid would clear the signal */
		privileges_drop(h->uid, h->gid);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != driver)
			_exit(0);
		close(there[1]);
		close(back[0]);
		for (int j = 0; j < N_HELPERS; j++)
			if (j != i && helpers[j].pid > 0) {
				close(helpers[j].to);
				close(helpers[j].from);
			}
		helper_run(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	h->to = there[1];
	h->from = back[0];
	role_add(h->pid, i + 1);
}

/* The helper is gone when this returns. */
static void helper_end(int i, bool by_kill)
{
	struct helper *h = &helpers[i];

	if (by_kill)
		kill(h->pid, SIGKILL);
	close(h->to);
	close(h->from);
	if (waitpid(h->pid, NULL, 0) != h->pid)
		die("waitpid");
	h->pid = -1;
}

static bool helper_answered(const struct helper *h)
{
	struct pollfd p = {.fd = h->from, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static void helper_result(struct helper *h, struct msg_result *ret_result)
{
	if (read(h->from, ret_result, sizeof(*ret_result)) !=
		sizeof(*ret_result))
		die("a helper ended");
}

static bool proc_read(pid_t pid, const char *name, char *text, size_t cap)
{
	char path[40];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, cap - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

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
		     helpers[i].call.kind == kind;
	return n;
}

static long long clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void pause_us(long us)
{
	struct timespec t = {0, us * 1000};

	nanosleep(&t, NULL);
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
		errno = 0;
		if (clock_ms() > end)
			die("a woken call did not return");
		if (spins > 20)
			pause_us(50);
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
		msg_call_say(&h->call);
		msg_result_say(&h->call, &r, role_name);
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
static bool helper_call(struct helper *h, struct msg_result *ret_result)
{
	const struct msg_call *c = &h->call;
	long long end = clock_ms() + ANSWER_MS;

	if (write(h->to, c, sizeof(*c)) != sizeof(*c))
		die("write");
	for (int spins = 0; (c->kind == MSG_SND || c->kind == MSG_RCV) &&
			    !(c->flg & IPC_NOWAIT) && !helper_answered(h);
		spins++) {
		if (helper_sleeps(h))
			return true;
		errno = 0;
		if (clock_ms() > end)
			die("a call neither returned nor slept");
		if (spins > 200)
			pause_us(50);
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
		c = &helpers[role - 1].call;
	call_make(c, role != 0);
	who_say(role);
	msg_call_say(c);
	if (!role) {
		msg_call_run(c, &r);
	} else if (helper_call(&helpers[role - 1], &r)) {
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

static int blocked_pick(void)
{
	int i = pick(N_HELPERS);

	return helpers[i].blocked_on >= 0 ? i : -1;
}

static void signal_step(void)
{
	static const int signals[] = {
		SIGUSR1, SIGUSR1, SIGUSR2, SIGUSR2, SIGSTOP, SIGURG};
	int i = blocked_pick(), sig = PICK_OF(signals), id;
	long long end = clock_ms() + ANSWER_MS;

	if (i < 0)
		return;
	id = helpers[i].blocked_on;
	say("signal %s to H%d\n",
		sig == SIGUSR1	 ? "USR1"
		: sig == SIGUSR2 ? "USR2 (restart)"
		: sig == SIGSTOP ? "STOP and CONT"
				 : "URG (ignored)",
		i + 1);
	kill(helpers[i].pid, sig);
	if (sig == SIGSTOP) {
		if (waitpid(helpers[i].pid, NULL, WUNTRACED) != helpers[i].pid)
			die("waitpid");
		kill(helpers[i].pid, SIGCONT);
	}
	errno = 0;
	while ((sig == SIGUSR1 || sig == SIGUSR2) &&
		!helper_answered(&helpers[i])) {
		if (clock_ms() > end)
			die("a signal did not end the call");
		pause_us(20);
	}
	woken_gather();
	queue_look(id);
}

static void end_step(bool by_kill)
{
	int i = pick(N_HELPERS);

	if (helpers[i].blocked_on >= 0 && !by_kill)
		return;
	say("H%d %s\n", i + 1, by_kill ? "is killed" : "exits");
	helpers[i].blocked_on = -1;
	helper_end(i, by_kill);
	woken_gather();
	for (int j = 0; j < n_queues; j++)
		queue_look(queues[j]);
	helper_start(i);
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
	signal(SIGPIPE, SIG_IGN);
	role_add(getpid(), 0);
	for (int i = 0; i < N_HELPERS; i++)
		helper_start(i);
}

static void calls_end(void)
{
	for (int i = 0; i < N_HELPERS; i++)
		helper_end(i, true);
	for (int i = 0; i < n_queues; i++)
		msgctl(queues[i], IPC_RMID, NULL);
}

/* --- the command ---------------------------------------------------- */

static void options_read(int argc, char **argv)
{
	static const struct option longs[] = {
		{"calls", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{"digest", no_argument, &digest, 1},
		{"no-fault", no_argument, &no_fault, 1},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'c')
			n_calls = atol(optarg);
		else if (c == 's')
			seed = atol(optarg);
		else if (c)
			exit(2);
	}
	if (optind != argc) {
		fprintf(stderr, "usage: see the head of msg_random.c\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	options_read(argc, argv);
	transcript.quiet = digest;
	rng_state = (uint64_t)seed * 0x2545f4914f6cdd1dULL;
	calls_begin();
	for (call_no = 1; call_no <= n_calls; call_no++) {
		say("#%ld ", call_no);
		step();
		if (digest && call_no % 1000 == 0)
			printf("calls %ld hash %016llx\n", call_no,
				(unsigned long long)transcript.hash);
	}
	printf("end %016llx\n", (unsigned long long)transcript.hash);
	calls_end();
	return 0;
}
