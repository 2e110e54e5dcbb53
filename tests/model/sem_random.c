// SPDX-License-Identifier: MIT
/*
 * sem_random: random semaphore calls, and a line of text for each result.
 *
 *	sem_random [--calls N] [--seed S] [--digest] [--no-fault]
 *	sem_random --ids-only [--next-id] [--calls N] [--seed S] [--digest]
 *
 * Run twice in fresh namespaces it writes the same text twice; run on the
 * kernel and under a shim it shows by `cmp` whether the shim is the kernel.
 * compare.sh beside it does that. --digest writes a running hash every 1,000
 * calls instead of the text.
 *
 * A driver (role D, root) commands four helpers by pipes, one call at a time,
 * so that the order of calls is fixed: H1 and H2 are root, H3 is uid and gid
 * 65534, H4 is uid 1000, gid 100 and of the group 65534 besides. A helper's
 * call may block. That it has is seen in GETNCNT and GETZCNT of the set, that
 * it was woken in the same counts going down: then its answer is waited for.
 * Blocked helpers are interrupted by signals, killed, woken by others; idle
 * ones exit with their undo pending. After each call on a small set its
 * values, pids, counts and times are written too, as seen by D.
 *
 * --ids-only: no helpers; sets are created and removed with and without keys,
 * their number wandering between few and more than SEMMNI allows; ids, errnos
 * and SEM_STAT are written. With --next-id, sem_next_id is written at times.
 */
#define _GNU_SOURCE
#include "sem_call.h"

#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_HELPERS 4
#define SETS_MAX 24  /* arbitrary: many enough for the ids to wander */
#define STALE_MAX 64 /* ids of removed sets, the latest */
#define PIDS_MAX 65536
#define N_KEYS 24
#define KEY_BASE 0x5e30
#define ANSWER_MS 10000 /* a healthy answer takes microseconds */

struct set {
	int id, n_sems;
};

struct helper {
	pid_t pid;
	int to, from; /* pipes */
	int uid, gid;
	int blocked_on; /* set id; -1: idle */
	struct call call;
};

static struct helper helpers[N_HELPERS] = {
	{.uid = 0, .gid = 0},
	{.uid = 0, .gid = 0},
	{.uid = 65534, .gid = 65534},
	{.uid = 1000, .gid = 100},
};
static struct set sets[SETS_MAX];
static int n_sets;
static int stale[STALE_MAX];
static unsigned n_stale;
static struct {
	pid_t pid;
	int role;
} pids[PIDS_MAX];
static int n_pids;

static uint64_t rng_state;
static long n_calls = 200000, seed = 1, call_no;
static int ids_only, next_id, no_fault, digest;

static _Noreturn void die(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "sem_random: seed %ld, call %ld: %s: %s\n", seed,
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
	static struct call call;
	struct result result;

	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &act, NULL);
	while (read(from, &call, sizeof(call)) == sizeof(call)) {
		call_run(&call, &result);
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

/* The helper is gone, with its undo done, when this returns. */
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

static void helper_result(struct helper *h, struct result *ret_result)
{
	if (read(h->from, ret_result, sizeof(*ret_result)) !=
		sizeof(*ret_result))
		die("a helper ended");
}

/* --- sets that the driver knows ------------------------------------- */

static struct set *set_find(int id)
{
	for (int i = 0; i < n_sets; i++)
		if (sets[i].id == id)
			return &sets[i];
	return NULL;
}

/* keeps the table by what a successful call has done */
static void sets_follow(const struct call *c, const struct result *r)
{
	struct set *s;

	if (r->ret == -1)
		return;
	if (c->kind == CALL_GET && !set_find(r->ret) && n_sets < SETS_MAX) {
		sets[n_sets].id = r->ret;
		sets[n_sets++].n_sems = c->n_sems;
	}
	if (c->kind == CALL_CTL && c->cmd == IPC_RMID) {
		s = set_find(c->id);
		if (s)
			*s = sets[--n_sets];
		stale[n_stale++ % STALE_MAX] = c->id;
	}
}

static int n_blocked_on(int id)
{
	int n = 0;

	for (int i = 0; i < N_HELPERS; i++)
		n += helpers[i].blocked_on == id;
	return n;
}

/*
 * Sleepers of a set by its own counts; 0 if it is gone. Read until two
 * readings agree: a waiter whose blocking operation changes moves from one
 * semaphore's count to another's.
 */
static int n_sleepers(int id)
{
	struct set *s = set_find(id);
	int now[2 * SHOWN_MAX], before[2 * SHOWN_MAX], n, sum;

	if (!s)
		return 0;
	n = s->n_sems;
	memset(before, -1, sizeof(before));
	for (;;) {
		memset(now, 0, sizeof(now));
		sum = 0;
		for (int i = 0; i < n; i++) {
			now[2 * i] = semctl(id, i, GETNCNT);
			now[2 * i + 1] = semctl(id, i, GETZCNT);
			if (now[2 * i] < 0 || now[2 * i + 1] < 0)
				die("GETNCNT");
			sum += now[2 * i] + now[2 * i + 1];
		}
		if (!memcmp(now, before, sizeof(int) * 2 * n))
			return sum;
		memcpy(before, now, sizeof(before));
	}
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

/* Waits for the answers of those who were woken on the set; writes them. */
static void woken_gather(int id)
{
	long long end = clock_ms() + ANSWER_MS;
	struct result r;
	int blocked = n_blocked_on(id), ready;

	for (int spins = 0;; spins++) {
		ready = 0;
		for (int i = 0; i < N_HELPERS; i++)
			ready += helpers[i].blocked_on == id &&
				 helper_answered(&helpers[i]);
		if (ready == blocked - n_sleepers(id))
			break;
		errno = 0;
		if (clock_ms() > end)
			die("a woken call did not return");
		if (spins > 50)
			pause_us(100);
	}
	for (int i = 0; i < N_HELPERS; i++) {
		struct helper *h = &helpers[i];

		if (h->blocked_on != id || !helper_answered(h))
			continue;
		h->blocked_on = -1;
		helper_result(h, &r);
		say("  woken H%d ", i + 1);
		call_say(&h->call);
		result_say(&h->call, &r, role_name);
	}
}

static void all_gather(void)
{
	for (int i = 0; i < N_HELPERS; i++)
		if (helpers[i].blocked_on >= 0)
			woken_gather(helpers[i].blocked_on);
}

static void set_look(int id)
{
	struct call c = {.kind = CALL_CTL, .id = id, .big_at = -1};
	struct set *s = set_find(id);
	struct result r;

	if (!s || s->n_sems > SHOWN_MAX)
		return;
	c.n_known = s->n_sems;
	c.cmd = GETALL;
	call_run(&c, &r);
	say("  %d:", id);
	for (int i = 0; i < s->n_sems; i++)
		say(" %u/%s/%d/%d", r.value[i],
			role_name(semctl(id, i, GETPID)),
			semctl(id, i, GETNCNT), semctl(id, i, GETZCNT));
	c.cmd = IPC_STAT;
	call_run(&c, &r);
	say(" o%d c%d\n", r.ds.sem_otime != 0, r.ds.sem_ctime != 0);
}

/* --- making calls up ------------------------------------------------ */

static int id_pick(void)
{
	static const int odd[] = {-1, -2147483647 - 1, 2147483647, 32767, 63};

	int i = pick(N_HELPERS);

	/* where somebody sleeps, more often: so that sleepers are woken */
	if (chance(300) && helpers[i].blocked_on >= 0)
		return helpers[i].blocked_on;
	if (n_sets && !chance(80))
		return sets[pick(n_sets)].id;
	if (n_stale && !chance(300))
		return stale[pick(n_stale < STALE_MAX ? n_stale : STALE_MAX)];
	return PICK_OF(odd);
}

static void get_make(struct call *c)
{
	static const int modes[] = {0600, 0666, 0644, 0660, 0606, 0606, 0444,
		0222, 0, 0777, 0640, 0006};
	static const int odd[] = {0, -1, 32000, 32001, 100, 65535, 65536};

	c->kind = CALL_GET;
	c->key = chance(300) ? IPC_PRIVATE : (key_t)(KEY_BASE + pick(N_KEYS));
	c->n_sems = 1 + pick(chance(700) ? 3 : 8);
	if (chance(60))
		c->n_sems = PICK_OF(odd);
	c->flg = PICK_OF(modes);
	if (chance(850))
		c->flg |= IPC_CREAT;
	if (chance(150))
		c->flg |= IPC_EXCL;
	if (n_sets == SETS_MAX) { /* lookups only: the table is full */
		c->flg &= ~IPC_CREAT;
		if (c->key == IPC_PRIVATE)
			c->key = KEY_BASE;
	}
}

static int n_sops_pick(void)
{
	uint32_t x = pick(1000);

	if (x < 600)
		return 1;
	if (x < 820)
		return 2;
	if (x < 960)
		return 3 + pick(3);
	if (x < 985)
		return 6 + pick(15);
	if (x < 993)
		return 70; /* beyond what the kernel keeps on its stack */
	return x < 995 ? 500 : x < 997 ? 501 : 0;
}

static void sop_make(struct sembuf *s, int n_sems)
{
	static const short far[] = {32767, -32768, -32767, 16384, -16384};

	s->sem_num = (unsigned short)pick(n_sems);
	if (chance(5))
		s->sem_num = chance(500) ? (unsigned short)n_sems : 65535;
	if (chance(200))
		s->sem_op = 0;
	else if (chance(12))
		s->sem_op = PICK_OF(far);
	else
		s->sem_op = (short)((1 + pick(chance(700) ? 1 : 3)) *
				    (chance(480) ? 1 : -1));
	s->sem_flg =
		(short)((chance(350) ? IPC_NOWAIT : 0) |
			(chance(400) ? SEM_UNDO : 0) | (chance(10) ? 0x40 : 0));
}

static void op_make(struct call *c, bool may_block)
{
	struct set *s;
	int n_sems;

	c->kind = CALL_OP;
	c->id = id_pick();
	s = set_find(c->id);
	n_sems = s ? s->n_sems : 1;
	c->n_sops = n_sops_pick();
	for (unsigned i = 0; i < c->n_sops; i++)
		sop_make(&c->sops[i], n_sems);
	if (chance(2))
		c->n_sops += 1ULL << 32; /* the kernel drops these bits */
	if (chance(2))
		c->n_sops = (uint64_t)-1;
	c->fault = chance(3);
	if (!may_block && chance(300)) {
		for (unsigned i = 0; i < SOPS_MAX; i++)
			c->sops[i].sem_flg |= IPC_NOWAIT;
		return;
	}
	/* D never blocks; others only where n_sleepers() can count them */
	if (!may_block || !s || s->n_sems > SHOWN_MAX || chance(100)) {
		c->time = TIME_GIVEN;
		c->nsec = may_block && chance(20) ? 1000000 : 0;
	} else if (chance(300)) {
		c->time = TIME_GIVEN;
		c->sec = 100000;
	}
	if (chance(4)) {
		c->time = TIME_GIVEN;
		c->sec = chance(500) ? -1 : 0;
		c->nsec = c->sec ? 0 : chance(500) ? 1000000000 : -1;
	}
	if (chance(2))
		c->time = TIME_FAULT;
}

static int cmd_pick(void)
{
	static const int common[] = {SETVAL, SETVAL, SETVAL, GETVAL, GETPID,
		GETNCNT, GETZCNT, GETALL, SETALL, IPC_STAT, SEM_STAT,
		SEM_STAT_ANY, IPC_SET, IPC_SET, IPC_INFO, SEM_INFO};
	static const int odd[] = {
		-1, 99, 4, 10, 21, IPC_STAT | 0x100, IPC_RMID | 0x100};

	return chance(15) ? PICK_OF(odd) : PICK_OF(common);
}

static void ctl_make(struct call *c)
{
	static const int modes[] = {
		0600, 0666, 0060, 0006, 0, 0444, 0222, 07777, 0660};
	static const int ids[] = {0, 0, 65534, 65534, 1000, 100};
	static const int odd_val[] = {-1, 32768, 32767, 65536, 30000};
	struct set *s;

	c->kind = CALL_CTL;
	c->id = id_pick();
	c->cmd = cmd_pick();
	/* removal keeps the number of sets near a dozen */
	if (chance(n_sets * n_sets / 3))
		c->cmd = IPC_RMID;
	s = set_find(c->id);
	c->n_known = s ? s->n_sems : 0;
	c->num = s ? (int)pick(s->n_sems) : 0;
	if (chance(20))
		c->num = chance(500) ? -1 : c->n_known;
	c->val = chance(30) ? PICK_OF(odd_val) : (int)pick(5);
	c->big_at = chance(30) ? (int)pick(8) : -1;
	c->uid = chance(30) ? -1 : PICK_OF(ids);
	c->gid = chance(30) ? -1 : PICK_OF(ids);
	c->mode = PICK_OF(modes);
	if ((c->cmd == SEM_STAT || c->cmd == SEM_STAT_ANY) && chance(700))
		c->id = pick(100);
	if (c->cmd == GETALL || c->cmd == SETALL || c->cmd == IPC_SET ||
		c->cmd == IPC_STAT || c->cmd == SEM_STAT ||
		c->cmd == SEM_STAT_ANY || c->cmd == IPC_INFO ||
		c->cmd == SEM_INFO)
		c->fault = chance(10);
	if (c->cmd == GETALL && (!s || c->n_known < 1))
		c->n_known = 0;
}

static void call_make(struct call *c, bool may_block)
{
	uint32_t x = pick(1000);

	memset(c, 0, sizeof(*c));
	if (x < 620)
		op_make(c, may_block);
	else if (x < 900)
		ctl_make(c);
	else
		get_make(c);
	if (no_fault && c->time == TIME_FAULT)
		c->time = TIME_NONE, c->n_sops = 0;
	if (no_fault)
		c->fault = false;
}

/* --- one step ------------------------------------------------------- */

/* true if the helper's call blocked */
static bool helper_call(struct helper *h, struct result *ret_result)
{
	const struct call *c = &h->call;
	bool may_block = c->kind == CALL_OP &&
			 (c->time == TIME_NONE || c->sec > 0) &&
			 set_find(c->id);
	int before = may_block ? n_blocked_on(c->id) : 0;
	long long end = clock_ms() + ANSWER_MS;

	if (write(h->to, c, sizeof(*c)) != sizeof(*c))
		die("write");
	for (int spins = 0; may_block && !helper_answered(h); spins++) {
		if (n_sleepers(c->id) == before + 1)
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
	static struct call own;
	struct result r;
	struct call *c = &own;
	int role = pick(N_HELPERS + 1);

	if (role && helpers[role - 1].blocked_on >= 0)
		role = 0;
	if (role)
		c = &helpers[role - 1].call;
	call_make(c, role != 0);
	who_say(role);
	call_say(c);
	if (!role) {
		call_run(c, &r);
	} else if (helper_call(&helpers[role - 1], &r)) {
		helpers[role - 1].blocked_on = c->id;
		say(" blocks\n");
		set_look(c->id);
		return;
	}
	result_say(c, &r, role_name);
	sets_follow(c, &r);
	all_gather();
	if (c->kind != CALL_GET)
		set_look(c->id);
	else if (r.ret >= 0)
		set_look(r.ret);
}

static int blocked_pick(void)
{
	int i = pick(N_HELPERS);

	return helpers[i].blocked_on >= 0 ? i : -1;
}

/*
 * Until process pid sleeps in the kernel. To be counted as a sleeper is not yet
 * that in the shim, whose sleepers queue before they make their system call: a
 * stop in these few instructions is one before the call.
 */
static void sleep_await(pid_t pid)
{
	long long end = clock_ms() + ANSWER_MS;
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (state != 'S') {
		f = fopen(path, "r");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			die("stat of a helper");
		fclose(f);
		if (clock_ms() > end)
			die("a helper does not sleep");
		if (state != 'S')
			pause_us(20);
	}
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
	if (sig == SIGSTOP)
		sleep_await(helpers[i].pid);
	kill(helpers[i].pid, sig);
	if (sig == SIGURG)
		return;
	if (sig == SIGSTOP) {
		if (waitpid(helpers[i].pid, NULL, WUNTRACED) != helpers[i].pid)
			die("waitpid");
		kill(helpers[i].pid, SIGCONT);
	}
	errno = 0;
	while (!helper_answered(&helpers[i])) {
		if (clock_ms() > end)
			die("a signal did not end the call");
		pause_us(20);
	}
	woken_gather(id);
	set_look(id);
}

static void end_step(bool by_kill)
{
	int i = pick(N_HELPERS);

	if (helpers[i].blocked_on >= 0 && !by_kill)
		return;
	say("H%d %s\n", i + 1, by_kill ? "is killed" : "exits");
	helpers[i].blocked_on = -1;
	helper_end(i, by_kill);
	all_gather();
	for (int j = 0; j < n_sets; j++)
		set_look(sets[j].id);
	helper_start(i);
}

static void step(void)
{
	uint32_t x = pick(1000);

	if (x < 12)
		signal_step();
	else if (x < 16)
		end_step(true);
	else if (x < 24)
		end_step(false);
	else
		call_step();
}

static void calls_begin(void)
{
	struct seminfo info;

	/* a first call before the helpers lose their rights */
	semctl(0, 0, SEM_INFO, &info);
	signal(SIGPIPE, SIG_IGN);
	role_add(getpid(), 0);
	for (int i = 0; i < N_HELPERS; i++)
		helper_start(i);
}

static void calls_end(void)
{
	for (int i = 0; i < N_HELPERS; i++)
		helper_end(i, true);
	for (int i = 0; i < n_sets; i++)
		semctl(sets[i].id, 0, IPC_RMID);
}

/* --- ids only ------------------------------------------------------- */

#define IDS_MAX 40000

static int live[IDS_MAX];
static int n_live, n_wanted;

static void next_id_step(void)
{
	static const char path[] = "/proc/sys/kernel/sem_next_id";
	int want = (int)(chance(500) ? pick(70000) : pick(2147483647));
	int fd = open(path, O_WRONLY);
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", want);

	say("next_id %d", want);
	if (fd < 0 || write(fd, text, len) != len)
		say(" = %s\n", errno_name(errno));
	else
		say(" = 0\n");
	if (fd >= 0)
		close(fd);
}

static void ids_create(void)
{
	/* keys may exist: EEXIST is wanted too */
	key_t key = chance(400) ? IPC_PRIVATE : (key_t)(1 + pick(100000));
	int id = semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);

	say("create %d = ", key);
	if (id < 0) {
		say("%s\n", errno_name(errno));
		return;
	}
	say("%d\n", id);
	if (n_live == IDS_MAX)
		die("more sets than any SEMMNI");
	live[n_live++] = id;
}

static void ids_remove(void)
{
	/* now and then the newest: its index is free behind the cursor */
	int i = chance(100) ? n_live - 1 : (int)pick(n_live);
	int id = live[i];

	live[i] = live[--n_live];
	say("remove %d = %d\n", id, semctl(id, 0, IPC_RMID));
	if (chance(50))
		say("again %s\n",
			semctl(id, 0, IPC_RMID) ? errno_name(errno) : "0");
}

static void ids_look(void)
{
	struct call c = {.kind = CALL_CTL, .big_at = -1};
	struct result r;

	c.cmd = chance(100) ? SEM_INFO : chance(500) ? SEM_STAT : SEM_STAT_ANY;
	c.id = pick(n_live * 3 / 2 + 70);
	call_run(&c, &r);
	call_say(&c);
	result_say(&c, &r, role_name);
}

static void ids_step(void)
{
	static const int wanted[] = {
		0, 5, 40, 64, 100, 1000, 3000, 10000, 20000, 33000};
	static int patience;

	/* a new aim when the old one is met, or has met the limit */
	if (patience-- <= 0 || n_live == n_wanted) {
		n_wanted = PICK_OF(wanted);
		patience = 300 + 2 * abs(n_wanted - n_live);
	}
	if (next_id && chance(10))
		next_id_step();
	if (chance(100))
		ids_look();
	else if (!n_live || chance(n_live < n_wanted ? 850 : 150))
		ids_create();
	else
		ids_remove();
}

static void ids_end(void)
{
	while (n_live > 0)
		semctl(live[--n_live], 0, IPC_RMID);
}

/* --- the command ---------------------------------------------------- */

static void options_read(int argc, char **argv)
{
	static const struct option longs[] = {
		{"calls", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{"digest", no_argument, &digest, 1},
		{"ids-only", no_argument, &ids_only, 1},
		{"next-id", no_argument, &next_id, 1},
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
		fprintf(stderr, "usage: see the head of sem_random.c\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	options_read(argc, argv);
	transcript.quiet = digest;
	rng_state = (uint64_t)seed * 0x2545f4914f6cdd1dULL;
	if (!ids_only)
		calls_begin();
	for (call_no = 1; call_no <= n_calls; call_no++) {
		say("#%ld ", call_no);
		if (ids_only)
			ids_step();
		else
			step();
		if (digest && call_no % 1000 == 0)
			printf("calls %ld hash %016llx\n", call_no,
				(unsigned long long)transcript.hash);
	}
	printf("end %016llx\n", (unsigned long long)transcript.hash);
	if (ids_only)
		ids_end();
	else
		calls_end();
	return 0;
}
