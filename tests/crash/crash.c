// SPDX-License-Identifier: MIT
/*
 * The driver; see crash.h.
 *
 *   crash [-v] [-q] [NAME...]    -q: fewer nested runs
 *
 * Prints a line an operation: name, points, runs, violations.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../proc.h"
#include "crash.h"
#include "index/keyhash.h"
#include "inspect/check.h"
#include "object/limits.h"
#include "registry/heap.h"
#include "registry/task.h"
#include "registry/wait.h"

struct caller driver;
static struct cred cred = {.euid = ~0u};
static char path[64];
static const struct scenario *scn;
static int verbose, quick;
static unsigned run_k, run_j;

/* ---- what the processes tell the driver ---- */

#define LOOK_TEXT 1024

struct member {
	pid_t pid;
	volatile int done, result;
	int sleeps, alive;
};
static struct shared {
	volatile unsigned points; /* of a victim that came to the end */
	volatile int stopped;	  /* somebody stopped at his point */
	struct member cast[MAX_CAST];
	unsigned n_cast;
	char look[LOOK_TEXT]; /* what one who looks has found */
} * shared;
static pid_t victim_pid, repairer_pid;

/* ---- crash points ---- */

static int armed;
static unsigned n_points, stop_at; /* 0 = never */

void crash_point(void)
{
	if (!armed || ++n_points != stop_at)
		return;
	shared->stopped = 1;
	kill(getpid(), SIGKILL);
	for (;;)
		;
}

static void arm(unsigned at)
{
	n_points = 0;
	stop_at = at;
	armed = 1;
}

/* ---- image of the registry ---- */

#define KEEP 12
static struct range {
	u64 off, len;
	char *copy;
} ranges[KEEP];
static unsigned n_ranges;

static void range_add(u64 off, u64 len)
{
	struct range *r = &ranges[n_ranges++];

	r->off = off;
	r->len = len;
	r->copy = realloc(r->copy, len);
	memcpy(r->copy, region_at(&driver.region, off), len);
}

static void image_save(void)
{
	/* Where the levels of the idx bitmap begin (index/ids.c). */
	static const u64 level[] = {0, IDX_MAX / 64,
		IDX_MAX / 64 + IDX_MAX / 4096,
		IDX_MAX / 64 + IDX_MAX / 4096 + IDX_MAX / 262144};
	struct heap *heap = &caller_header(&driver)->heap;
	unsigned i;

	n_ranges = 0;
	range_add(0, HEADER_SIZE);
	range_add((TASKS_OFF + driver.task * sizeof(struct task)) & ~4095ULL,
		4096);
	range_add(THREADS_OFF, 32 * THREAD_STRIDE);
	range_add(SLOTS_OFF(FAC_SEM), 64 * SLOT_STRIDE(FAC_SEM));
	range_add(BUCKETS_OFF(FAC_SEM), 4096);
	for (i = 0; i < 4; i++)
		range_add(BITMAP_OFF(FAC_SEM) + level[i] * 8, 256);
	range_add(SPANS_OFF, 4096);
	range_add(HEAP_OFF, heap->bump - HEAP_OFF);
}

static void image_restore(void)
{
	unsigned i;

	madvise(region_at(&driver.region, TASKS_OFF),
		N_TASKS * sizeof(struct task), MADV_REMOVE);
	for (i = 0; i < n_ranges; i++)
		memcpy(region_at(&driver.region, ranges[i].off), ranges[i].copy,
			ranges[i].len);
}

/* ---- processes ---- */

static pid_t start(struct caller *c)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (pid == 0) {
		/* Nobody outlives the driver, however it ends. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(0);
		*c = driver;
		caller_refresh(c);
	}
	return pid;
}

static struct member *member_new(void)
{
	struct member *m = &shared->cast[shared->n_cast++];

	*m = (struct member){0};
	return m;
}

static struct waiter *waiter_of(pid_t pid)
{
	struct header *h = caller_header(&driver);
	u32 i;

	for (i = 1; i < h->thread_high; i++) {
		struct thread *th = region_thread(&driver.region, i);

		if ((pid_t)th->tid == pid)
			return &th->waiter;
	}
	return NULL;
}

static int asleep(const struct waiter *w)
{
	return w && w->state == WAIT_QUEUED &&
	       atom_load_acquire(&w->word) == SYS_WAITERS;
}

/* A cast member that did not fall asleep, but came to the end of its call. */
static int came_through(pid_t pid)
{
	unsigned i;

	for (i = 0; i < shared->n_cast; i++)
		if (shared->cast[i].pid == pid && shared->cast[i].done)
			return 1;
	return 0;
}

int wait_asleep(pid_t pid)
{
	siginfo_t info;

	while (!came_through(pid)) {
		if (asleep(waiter_of(pid)))
			return 1;
		info.si_pid = 0;
		if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
			info.si_pid)
			break;
		sched_yield();
	}
	return 0;
}

void cast_sleeper(int (*op)(struct caller *c))
{
	struct member *m = member_new();
	struct caller c;
	pid_t pid = start(&c);

	m->sleeps = m->alive = 1;
	if (pid == 0) {
		m->result = op(&c);
		m->done = 1;
		/* Not its end: that would undo what it was let through with. */
		for (;;)
			pause();
	}
	m->pid = pid;
	if (!wait_asleep(pid)) {
		fprintf(stderr, "%s: a sleeper did not sleep\n", scn->name);
		exit(2);
	}
}

static struct member *cast_one(void (*op)(struct caller *c))
{
	struct member *m = member_new();
	struct caller c;
	pid_t pid = start(&c);

	m->alive = 1;
	if (pid == 0) {
		caller_enroll(&c);
		op(&c);
		m->done = 1;
		for (;;)
			pause();
	}
	m->pid = pid;
	while (!m->done)
		sched_yield();
	return m;
}

void cast_alive(void (*op)(struct caller *c))
{
	cast_one(op);
}

void cast_dead(void (*op)(struct caller *c))
{
	struct member *m = cast_one(op);

	kill(m->pid, SIGKILL);
	waitpid(m->pid, NULL, 0);
	m->alive = 0;
}

static void cast_end(void)
{
	unsigned i;

	for (i = 0; i < shared->n_cast; i++) {
		struct member *m = &shared->cast[i];

		if (m->alive) {
			kill(m->pid, SIGKILL);
			waitpid(m->pid, NULL, 0);
		}
	}
	shared->n_cast = 0;
}

/* ---- what can be seen ---- */

static char text[16384];
static size_t text_len;

static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	text_len +=
		vsnprintf(text + text_len, sizeof(text) - text_len, format, ap);
	va_end(ap);
}

static const char *who(u32 pid)
{
	static char names[MAX_CAST][4];
	unsigned i;

	if (!pid)
		return "-";
	if (pid == driver.pid)
		return "D";
	if ((pid_t)pid == victim_pid)
		return "V";
	for (i = 0; i < shared->n_cast; i++)
		if ((pid_t)pid == shared->cast[i].pid) {
			snprintf(names[i], sizeof(names[i]), "S%u", i);
			return names[i];
		}
	return (pid_t)pid == repairer_pid ? "R" : "?";
}

static void say_queue(struct slot *s, const struct wait_queue *q, char name)
{
	const struct waiter *w;
	unsigned n = 0;

	(void)s;
	for (w = wait_at(&driver, q->head); w && n < MAX_CAST;
		w = wait_at(&driver, w->next), n++)
		if (!wait_dead(w))
			say(" %c:%s", name, who(w->pid));
}

static void say_set(u32 idx, struct slot *s)
{
	struct semset *set = sem_body(&driver, s);
	struct undo *u;
	u32 i;

	say("[%u id %d key %d mode %o uid %u n %u ctime %s", idx,
		IDENT_ID(s->ident), s->key, s->mode, s->uid, s->size,
		s->ctime == 1 ? "old" : "new");
	for (i = 0; i < s->size && i < 64; i++) {
		struct sem *sem = &sem_array(set)[i];

		say(" %u/%s/%s", SEM_VALUE(sem->lo), who(SEM_PID(sem->lo)),
			SEM_OTIME(sem->hi) ? "t" : "0");
		say_queue(s, &sem->alter, 'a');
		say_queue(s, &sem->zero, 'z');
	}
	say_queue(s, &set->complex, 'A');
	say_queue(s, &set->zero_arrays, 'Z');
	for (u = undo_at(&driver, ref_long(set->undo_all)); u;
		u = undo_at(&driver, u->set_next)) {
		say(" undo %s", who(region_task(&driver.region, u->task)->pid));
		for (i = 0; i < u->n_sems && i < 64; i++)
			say(" %d", u->adj[i]);
	}
	say("]\n");
}

static void describe(void)
{
	struct header *h = caller_header(&driver);
	struct id_table *t = &h->ids[FAC_SEM];
	u64 ident;
	unsigned i;
	u32 idx;

	text_len = 0;
	say("in_use %u seq %u last %d cursor %u next %d total %lu keys %u\n",
		t->in_use, t->seq, t->last_idx, t->cursor, t->next_id,
		(unsigned long)t->total, t->n_keys);
	for (idx = 0; idx <= t->max_idx; idx++) {
		struct slot *s = region_slot(&driver.region, FAC_SEM, idx);

		if (s->ident & IDENT_LIVE)
			say_set(idx, s);
	}
	for (i = 1; i < 16; i++) {
		struct slot *s = keyhash_find(&driver, FAC_SEM, i, &ident);

		if (s)
			say("key %u -> %d\n", i, IDENT_ID(ident));
	}
	for (i = 0; i < shared->n_cast; i++) {
		struct member *m = &shared->cast[i];

		if (m->sleeps && m->done)
			say("S%u woke %d\n", i, m->result);
		else if (m->sleeps)
			say("S%u asleep\n", i);
	}
}

/* ---- going on ---- */

/* A task's own slot is the first free one from its pid on; here, its pid. */
static void take_task(struct caller *c, u32 pid)
{
	struct task *t = region_task(&c->region, pid);

	if (!pid)
		return;
	lock_acquire(c, &t->lock);
	lock_release(c, &t->lock);
}

/* What any survivor comes to do sooner or later. */
static void go_on(struct caller *c)
{
	struct header *h = caller_header(c);
	struct sem_info info;
	struct sem_stat st;
	u32 idx, i;
	u64 ident;

	/* By turns the first to come is somebody who only looks a key up. */
	if (run_k & 1)
		keyhash_find(c, FAC_SEM, 9, &ident);
	sem_info(c, 1, &info);
	for (idx = 0; idx <= h->ids[FAC_SEM].max_idx + 1; idx++) {
		struct slot *s = region_slot(&c->region, FAC_SEM, idx);

		if (sem_stat(c, idx, OBJECT_BY_IDX_ANY, &st) < 0) {
			sem_lock_any(c, s);
			sem_unlock(c, s);
		}
	}
	/* Their rollback is their whole repair. */
	heap_acquire(c);
	heap_release(c);
	lock_acquire(c, &h->repair_lock.lock);
	lock_release(c, &h->repair_lock.lock);
	take_task(c, victim_pid);
	take_task(c, repairer_pid);
	for (i = 0; i < shared->n_cast; i++)
		take_task(c, shared->cast[i].pid);
}

/* New objects live and die as if nothing had been. */
static int works(struct caller *c)
{
	struct sop v = {1, 1, 0}, p = {1, -1, 0};
	int id = sem_get(c, 0, 3, 0600);

	if (id < 0)
		return id;
	if (sem_op(c, id, &v, 1, NULL) || sem_op(c, id, &p, 1, NULL) ||
		sem_setval(c, id, 2, 5) || sem_getval(c, id, 2) != 5)
		return -EIO;
	return sem_remove(c, id);
}

/* ---- one run ---- */

static unsigned n_runs, n_violations;
static char before_text[16384], after_text[16384], halfway_text[16384];
static char first_failure[4096];

static void violation(const char *format, ...)
{
	va_list ap;
	size_t n;

	n_violations++;
	if (first_failure[0] && !verbose)
		return;
	n = snprintf(first_failure, sizeof(first_failure),
		"  K=%u J=%u: ", run_k, run_j);
	va_start(ap, format);
	vsnprintf(first_failure + n, sizeof(first_failure) - n, format, ap);
	va_end(ap);
	if (verbose)
		printf("%s\n", first_failure);
}

static void stuck(int sig)
{
	struct header *h = caller_header(&driver);
	char line[256];
	int n = snprintf(line, sizeof(line),
		"STUCK %s K=%u J=%u: fac %x heap %x repair %x slot0 %x\n",
		scn->name, run_k, run_j, h->fac_lock[0].lock.word,
		h->heap.lock.word, h->repair_lock.lock.word,
		region_slot(&driver.region, FAC_SEM, 0)->lock.word);

	(void)sig;
	if (write(1, line, n)) {
	}
	kill(0, SIGKILL);
}

static char inv_text[LOOK_TEXT];
static void on_invariant(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	size_t n = strlen(inv_text);

	(void)arg;
	snprintf(inv_text + n, sizeof(inv_text) - n, " I%d (%s %lu %lu)", which,
		what, (unsigned long)a, (unsigned long)b);
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Whether it is asleep as the kernel sees it. Whatever else it does ends by
 * itself, and how long it waits for a CPU says nothing. */
static int sleeps_now(pid_t pid)
{
	char stat[256], *state;

	state = proc_read(pid, "stat", stat, sizeof(stat)) ? strrchr(stat, ')')
							   : NULL;
	return !state || !strchr("RD", state[2]);
}

static int all_sleep_now(void)
{
	unsigned i;

	for (i = 0; i < shared->n_cast; i++)
		if (shared->cast[i].alive && !sleeps_now(shared->cast[i].pid))
			return 0;
	return 1;
}

static int settled(void)
{
	unsigned i;

	for (i = 0; i < shared->n_cast; i++) {
		struct member *m = &shared->cast[i];

		if (m->sleeps && m->alive && !m->done &&
			!asleep(waiter_of(m->pid)))
			return 0;
	}
	return 1;
}

/* Until `so`, or until the cast has slept for so many ms beside it: all of it at
 * each look. Who waits for a CPU does not sleep. The run's alarm ends what goes on
 * for ever. */
static int await(int (*so)(void), u64 ms)
{
	u64 slept = 0, last = now_ms(), now;

	for (; !so() && slept < ms; last = now) {
		sched_yield();
		now = now_ms();
		if (all_sleep_now())
			slept += now - last;
	}
	return so();
}

/* Judge: sleepers that look around hold locks for moments, so a bad look is
 * repeated, and does not count if one of them ran. Returns 'b' (before), 'a'
 * (after), or 0. */
static int judge(void)
{
	int verdict = 0, bad, tries, quiet;

	for (tries = 0; tries < 4; tries += quiet) {
		await(settled, 200);
		quiet = all_sleep_now();
		inv_text[0] = 0;
		bad = check_region(&driver.region, on_invariant, NULL);
		describe();
		verdict = !strcmp(text, after_text)	? 'a'
			  : !strcmp(text, before_text)	? 'b'
			  : !strcmp(text, halfway_text) ? 'h'
							: 0;
		if (!bad && verdict && settled())
			return verdict;
		quiet = quiet && all_sleep_now();
		usleep(3000);
		/* Those who woke are dead by now, and their undo is due. */
		go_on(&driver);
	}
	if (!settled())
		violation("a sleeper is neither asleep nor awake");
	if (bad)
		violation("invariants:%s", inv_text);
	if (!verdict)
		violation("neither before nor after:\n%s  -- before:\n%s"
			  "  -- after:\n%s",
			text, before_text, after_text);
	return verdict;
}

static int all_as_after(void)
{
	char line[32];
	unsigned i;

	for (i = 0; i < shared->n_cast; i++) {
		struct member *m = &shared->cast[i];

		snprintf(line, sizeof(line), "S%u woke", i);
		if (m->sleeps && !m->done && strstr(after_text, line))
			return 0;
	}
	return 1;
}

/* The victim, to be stopped at its k-th point (0: before the first, ~0: after
 * the last). 1 if it came to the end. */
static int run_victim(unsigned k, void (*op)(struct caller *c))
{
	struct caller c;
	int status;

	shared->points = 0;
	shared->stopped = 0;
	victim_pid = start(&c);
	if (victim_pid == 0) {
		if (!scn->not_enrolled)
			caller_enroll(&c);
		if (scn->before)
			scn->before(&c);
		if (k == 0)
			kill(getpid(), SIGKILL);
		arm(k == ~0u ? 0 : k);
		op(&c);
		armed = 0;
		shared->points = n_points;
		_exit(0);
	}
	if (scn->meanwhile)
		scn->meanwhile(victim_pid);
	waitpid(victim_pid, &status, 0);
	return !shared->stopped;
}

/* The repairer, stopped at its j-th point. 1 if it came to the end. */
static int run_repairer(unsigned j)
{
	struct caller c;
	int status;

	repairer_pid = start(&c);
	if (repairer_pid == 0) {
		alarm(STUCK_S);
		caller_enroll(&c);
		arm(j);
		go_on(&c);
		_exit(0);
	}
	waitpid(repairer_pid, &status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		violation("the repairer is stuck");
	return !WIFSIGNALED(status);
}

/* `ipclift check` may come by with things as they are: what exited tasks left
 * in the middle is repaired or known to it, and never a fault. A process of its
 * own: its journal is not in the image. */
static void look_at_once(void)
{
	struct caller c;
	int status, quiet;
	pid_t pid = start(&c);

	if (pid == 0) {
		alarm(STUCK_S);
		inv_text[0] = 0;
		check_live(&c, on_invariant, NULL, &quiet);
		memcpy(shared->look, inv_text, LOOK_TEXT);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		violation("who looks at once is stuck or dead: %d", status);
	else if (shared->look[0])
		violation("a look at once:%s", shared->look);
}

/* State of locks and journals that a victim left: nested runs are made where
 * it changes. */
static u64 signature(void)
{
	struct header *h = caller_header(&driver);
	struct slot *s = region_slot(&driver.region, FAC_SEM, 0);
	u64 sig = 0;
	u32 i;

	for (i = 1; i < h->thread_high; i++) {
		struct thread *th = region_thread(&driver.region, i);

		if ((pid_t)th->tid != victim_pid)
			continue;
		sig = th->journal.n_locks * 4 + !!th->journal.n * 2 +
		      !!th->journal.publish_off;
		sig = sig * 4 + th->waiter.state;
		sig = sig * 2 + !!th->spare.off;
	}
	sig = sig * 4 + (h->ids[FAC_SEM].key_seq & 1) * 2 +
	      !!h->removing[FAC_SEM];
	sig = sig * 8 +
	      !!(h->fac_lock[FAC_SEM].lock.word & SYS_OWNER_DIED) * 4 +
	      !!(h->heap.lock.word & SYS_OWNER_DIED) * 2 +
	      !!(s->lock.word & SYS_OWNER_DIED);
	return sig * 8 + h->ids[FAC_SEM].in_use % 8;
}

struct outcome {
	int completed; /* the victim came to the end */
	int repairer_completed;
	int verdict;
	u64 signature;
};

static struct outcome run(unsigned k, unsigned j, int wait_first)
{
	struct outcome o = {0};
	int err;

	run_k = k;
	run_j = j;
	n_runs++;
	alarm(STUCK_S + STUCK_S);
	image_restore();
	if (scn->cast)
		scn->cast();
	o.completed = run_victim(k, j == ~0u ? scn->halfway : scn->op);
	o.signature = signature();
	if (wait_first && !await(all_as_after, AWAKE_MS))
		violation("a sleeper let through was not awake in %d ms",
			AWAKE_MS);
	if (j && j != ~0u)
		o.repairer_completed = run_repairer(j);
	/* Not each time: it costs as much as all the rest. */
	if (j != ~0u && j % 8 == 1)
		look_at_once();
	go_on(&driver);
	if (k != 0 && k != ~0u) {
		o.verdict = judge();
	} else {
		while (!settled())
			sched_yield();
		if (check_region(&driver.region, on_invariant, NULL))
			violation("invariants, reference run:%s", inv_text);
		describe();
	}
	err = works(&driver);
	if (err)
		violation("a new set does not work: %d", err);
	alarm(0);
	cast_end();
	return o;
}

/* Quick: each state of locks and journals once, not wherever it comes back. */
static u64 signatures[256];
static unsigned n_signatures;

static int seen(u64 signature)
{
	unsigned i;

	for (i = 0; i < n_signatures; i++)
		if (signatures[i] == signature)
			return 1;
	if (n_signatures < 256)
		signatures[n_signatures++] = signature;
	return 0;
}

static void run_scenario(const struct scenario *s)
{
	unsigned k, j, points, n_nested = 0;
	u64 last = ~0ULL;
	struct outcome o;
	u64 began = now_ms();

	scn = s;
	n_runs = n_violations = n_signatures = 0;
	first_failure[0] = 0;
	inv_text[0] = 0;
	run(0, 0, 0);
	strcpy(before_text, text);
	halfway_text[0] = 0;
	if (s->halfway) {
		run(~0u, ~0u, 0);
		strcpy(halfway_text, text);
	}
	run(~0u, 0, 0);
	strcpy(after_text, text);
	points = shared->points;
	if (verbose)
		printf("-- %s before:\n%s-- after:\n%s", s->name, before_text,
			after_text);
	for (k = 1; k < 100000; k++) {
		o = run(k, 0, 0);
		if (o.completed)
			break;
		if (o.verdict == 'a' && strcmp(before_text, after_text) &&
			strstr(after_text, " woke "))
			run(k, 0, 1);
		if (s->no_nested || (quick ? seen(o.signature)
					   : o.signature == last && k % 4))
			continue;
		last = o.signature;
		n_nested++;
		for (j = 1; j < 100000; j++)
			if (run(k, j, 0).repairer_completed)
				break;
	}
	printf("%-34s %4u points %6u runs (%u nested) %3u violations  %lu ms\n",
		s->name, points, n_runs, n_nested, n_violations,
		(unsigned long)(now_ms() - began));
	if (first_failure[0])
		printf("%s\n", first_failure);
	fflush(stdout);
}

/* ---- setting up ---- */

static void fresh(const struct scenario *s)
{
	struct region_options opt = {
		.idx_bits = IDX_BITS_NORMAL, .profile = LIMITS_ROOMY};
	char why[256];
	u32 idx;

	limits_init(&opt.limits, opt.profile, opt.idx_bits);
	if (driver.region.base)
		munmap(driver.region.base, REGION_SIZE);
	driver = (struct caller){.cred = &cred};
	if (region_map(&driver.region, path, &opt, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		exit(2);
	}
	/* However we end, nothing is left: all others inherit the mapping. */
	unlink(path);
	caller_refresh(&driver);
	caller_enroll(&driver);
	if (s->setup)
		s->setup(&driver);
	for (idx = 0; idx < 64; idx++)
		region_slot(&driver.region, FAC_SEM, idx)->ctime = 1;
	image_save();
}

static int wanted(const char *name, char **names)
{
	if (!*names)
		return 1;
	for (; *names; names++)
		if (strstr(name, *names))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned i, bad = 0, runs = 0;
	int opt;

	while ((opt = getopt(argc, argv, "vq")) != -1) {
		verbose |= opt == 'v';
		quick |= opt == 'q';
		if (opt == '?') {
			fprintf(stderr, "usage: crash [-qv] [SCENARIO...]\n");
			return 2;
		}
	}
	setpgid(0, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, stuck);
	snprintf(path, sizeof(path), "/dev/shm/crash-%d", getpid());
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < n_scenarios; i++) {
		if (!wanted(scenarios[i].name, argv + optind))
			continue;
		fresh(&scenarios[i]);
		run_scenario(&scenarios[i]);
		bad += n_violations;
		runs += n_runs;
	}
	printf("%u runs, %u violations\n", runs, bad);
	return bad != 0;
}
