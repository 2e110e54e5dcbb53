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
 * A driver commands four helpers (driver.h). That a helper's call has blocked
 * is seen in GETNCNT and GETZCNT of the set, that it was woken in the same
 * counts going down: then its answer is waited for. Idle helpers exit with
 * their undo pending. After each call on a small set its values, pids, counts
 * and times are written too, as seen by D.
 *
 * --ids-only: no helpers; sets are created and removed with and without keys,
 * their number wandering between few and more than SEMMNI allows; ids, errnos
 * and SEM_STAT are written. With --next-id, sem_next_id is written at times.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "sem_call.h"
#include <sys/ptrace.h>
#include <sys/user.h>

#define SETS_MAX 24  /* arbitrary: many enough for the ids to wander */
#define STALE_MAX 64 /* ids of removed sets, the latest */
#define N_KEYS 24
#define KEY_BASE 0x5e30

struct set {
	int id, n_sems;
};

static struct set sets[SETS_MAX];
static int n_sets;
static int stale[STALE_MAX];
static unsigned n_stale;
static int ids_only, next_id, no_fault;
static struct call asked[N_HELPERS]; /* of each helper, the latest */

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
		wait_on(end, spins > 50 ? 100 : 0,
			"a woken call did not return");
	}
	for (int i = 0; i < N_HELPERS; i++) {
		struct helper *h = &helpers[i];

		if (h->blocked_on != id || !helper_answered(h))
			continue;
		h->blocked_on = -1;
		helper_result(h, &r);
		say("  woken H%d ", i + 1);
		call_say(&asked[i]);
		result_say(&asked[i], &r, role_name);
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
static bool helper_call(int i, struct result *ret_result)
{
	const struct call *c = &asked[i];
	struct helper *h = &helpers[i];
	bool may_block = c->kind == CALL_OP &&
			 (c->time == TIME_NONE || c->sec > 0) &&
			 set_find(c->id);
	int before = may_block ? n_blocked_on(c->id) : 0;
	long long end = clock_ms() + ANSWER_MS;

	helper_command(h, c);
	for (int spins = 0; may_block && !helper_answered(h); spins++) {
		if (n_sleepers(c->id) == before + 1)
			return true;
		wait_on(end, spins > 200 ? 50 : 0,
			"a call neither returned nor slept");
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
		c = &asked[role - 1];
	call_make(c, role != 0);
	who_say(role);
	call_say(c);
	if (!role) {
		call_run(c, &r);
	} else if (helper_call(role - 1, &r)) {
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

/* Until the state of process pid in /proc is this: S asleep, T stopped. */
static void state_await(pid_t pid, char wanted)
{
	long long end = clock_ms() + ANSWER_MS;
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (state != wanted) {
		f = fopen(path, "r");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			die("stat of a helper");
		fclose(f);
		wait_on(end, state != wanted ? 20 : 0,
			"a helper does not sleep, or stop");
	}
}

/*
 * Did the stop meet the sleep? While the process is stopped the registers still
 * hold what interrupted its system call: ERESTART*, which user space never
 * sees. A sleeper in the shim that was awake for a moment, to look for exited
 * tasks, has another result there, or is in no system call.
 */
static bool stop_met_sleep(pid_t pid)
{
	struct user_regs_struct regs;
	long ret;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || waitpid(pid, NULL, 0) != pid ||
		ptrace(PTRACE_GETREGS, pid, 0, &regs) ||
		ptrace(PTRACE_DETACH, pid, 0, 0))
		die("ptrace of a helper");
	ret = (long)regs.rax;
	return (long)regs.orig_rax >= 0 && (ret == -EINTR || ret <= -512);
}

/*
 * Stop and continue in the sleep, which is what ends semop. To be counted as a
 * sleeper is not yet that in the shim: it queues before it makes its system
 * call, and gets up now and then to look for exited tasks. A stop in these
 * moments goes unseen (README.md), so another one is made.
 */
static void sleeper_stop(const struct helper *h)
{
	bool met;

	do {
		state_await(h->pid, 'S');
		kill(h->pid, SIGSTOP);
		state_await(h->pid, 'T');
		met = stop_met_sleep(h->pid);
		state_await(h->pid, 'T');
		kill(h->pid, SIGCONT);
	} while (!met);
}

static void signal_step(void)
{
	int sig, i = signal_pick(&sig), id;

	if (i < 0)
		return;
	id = helpers[i].blocked_on;
	if (sig == SIGSTOP)
		sleeper_stop(&helpers[i]);
	else
		signal_send(&helpers[i], sig);
	if (sig == SIGURG)
		return;
	signal_answered(&helpers[i]);
	woken_gather(id);
	set_look(id);
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
	helpers_start();
}

static void calls_end(void)
{
	helpers_end();
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

static void sets_look(void)
{
	for (int i = 0; i < n_sets; i++)
		set_look(sets[i].id);
}

static void run(const void *call, void *ret_result)
{
	call_run(call, ret_result);
}

static const struct driven driven = {
	.name = "sem_random",
	.call_size = sizeof(struct call),
	.result_size = sizeof(struct result),
	.run = run,
	.gather = all_gather,
	.look_at_all = sets_look,
};

static const struct option_of options[] = {
	{"calls", .number = &n_calls},
	{"seed", .number = &seed},
	{"digest", .flag = &digest},
	{"ids-only", .flag = &ids_only},
	{"next-id", .flag = &next_id},
	{"no-fault", .flag = &no_fault},
	{0},
};

int main(int argc, char **argv)
{
	options_only(argc, argv, options);
	choice_seed(seed);
	if (!ids_only)
		calls_begin();
	steps_run(ids_only ? ids_step : step);
	if (ids_only)
		ids_end();
	else
		calls_end();
	return 0;
}
