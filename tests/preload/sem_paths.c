// SPDX-License-Identifier: MIT
/*
 * sem_paths: every rule of a semaphore operation on every path through the
 * code.
 *
 * A rule is the effect of an operation on a value of semaphore 0; a path is a
 * way to use the set so that the operation is served by certain code: alone in
 * its call or at the end of an array, on a set that its caller has had to
 * itself for long, beside others, beside sleepers, or asleep itself until
 * another process lets it through. The operation is a child's, so that its pid
 * and otime tell whether it has happened.
 */
#include "t.h"

/* More operations in a row than any short way needs to set in. */
#define LONG 3000

enum beside { NOBODY, ON_IT, ON_ANOTHER };

struct path {
	const char *name;
	int n_sems;
	int pairs; /* so many {last, +1}, {last, -1} before the operation */
	int zero;  /* {1, 0} before it: no semaphore is named twice */
	int alone; /* after LONG others by the same thread; 2: by the same path */
	int other; /* another process operates before */
	enum beside asleep;
	int sleeps; /* at {last, -1} before the operation, until let on */
};

static const struct path paths[] = {
	{"one semaphore", 1},
	{"one semaphore, alone", 1, .alone = 1},
	{"one semaphore, others before", 1, .other = 1},
	{"one semaphore, a sleeper on it", 1, .asleep = ON_IT},
	{"three", 3},
	{"three, alone", 3, .alone = 1},
	{"three, others before", 3, .other = 1},
	{"three, a sleeper on it", 3, .asleep = ON_IT},
	{"three, a sleeper on another", 3, .asleep = ON_ANOTHER},
	{"100, alone", 100, .alone = 1},
	{"array of 2", 3, .zero = 1},
	{"array of 2, alone", 3, .zero = 1, .alone = 1},
	{"array of 2 after others, alone", 3, .zero = 1, .alone = 2},
	{"array of 3", 3, 1},
	{"array of 3, alone", 3, 1, .alone = 1},
	{"array of 3, a sleeper on it", 3, 1, .asleep = ON_IT},
	{"array of 9", 3, 4},
	{"array of 9, alone", 3, 4, .alone = 1},
	{"array of 65", 3, 32},
	{"array of 65, alone", 3, 32, .alone = 1},
	{"array of 65, a sleeper on it", 3, 32, .asleep = ON_IT},
	{"array of 65, a sleeper on another", 3, 32, .asleep = ON_ANOTHER},
	{"array of 499", 3, 249},
	{"array of 499, a sleeper on it", 3, 249, .asleep = ON_IT},
	{"asleep before", 3, .sleeps = 1},
	{"asleep before, array of 10", 3, 4, .sleeps = 1},
	{"asleep before, array of 500", 3, 249, .sleeps = 1},
};
#define N_PATHS ((int)(sizeof(paths) / sizeof(paths[0])))

static const struct rule {
	int from, op, flg, err, to;
} rules[] = {
	{0, 1, 0, 0, 1},
	{32766, 1, 0, 0, 32767},
	{32767, 1, 0, ERANGE, 32767},
	{32766, 2, 0, ERANGE, 32766},
	{0, 32767, 0, 0, 32767},
	{1, 32767, 0, ERANGE, 1},
	{32767, 1, U, ERANGE, 32767},
	{1, -1, 0, 0, 0},
	{0, -1, NW, EAGAIN, 0},
	{1, -2, NW, EAGAIN, 1},
	{32767, -32767, 0, 0, 0},
	{32767, -32768, NW, EAGAIN, 32767},
	{0, 0, 0, 0, 0},
	{1, 0, NW, EAGAIN, 1},
	{32767, 0, NW, EAGAIN, 32767},
};
#define N_RULES ((int)(sizeof(rules) / sizeof(rules[0])))

/* Operation op by path p; 0 or an errno. */
static int operate(const struct path *p, int id, int op, int flg)
{
	unsigned short last = (unsigned short)(p->n_sems - 1);
	struct sembuf ops[502];
	size_t n = 0;

	if (p->sleeps)
		ops[n++] = (struct sembuf){1, -1, 0};
	if (p->zero)
		ops[n++] = (struct sembuf){1, 0, 0};
	for (int i = 0; i < p->pairs; i++) {
		ops[n++] = (struct sembuf){last, 1, 0};
		ops[n++] = (struct sembuf){last, -1, 0};
	}
	ops[n++] = (struct sembuf){0, (short)op, (short)flg};
	return semop(id, ops, n) ? errno : 0;
}

/* Nothing may let this one go. */
static pid_t sleeper(const struct path *p, int id)
{
	int num = p->asleep == ON_IT ? 0 : 1;
	pid_t pid;

	if (p->asleep == NOBODY)
		return 0;
	pid = t_sleeper(id, OPS({(unsigned short)num, -32768, 0}));
	t_quiet(t_poll(id, num, GETNCNT, 1));
	return pid;
}

/* In the child: what makes the path, and the value by operations too, for a
 * command would take the set from it. */
static void prepare(const struct path *p, int id, int from)
{
	if (!p->alone)
		return;
	t_quiet(semctl(id, 0, SETVAL, 0) == 0);
	for (int i = 0; i < LONG; i++)
		t_quiet(semop(id, OPS({0, i % 2 ? -1 : 1, 0})) == 0);
	for (int i = 0; p->alone == 2 && i < LONG; i++)
		t_quiet(operate(p, id, i % 2 ? -1 : 1, 0) == 0);
	if (from)
		t_quiet(p->alone == 2
				? operate(p, id, from, 0) == 0
				: semop(id, OPS({0, (short)from, 0})) == 0);
}

static void let_on(const struct path *p, int id)
{
	if (!p->sleeps)
		return;
	t_quiet(t_poll(id, 1, GETNCNT, 1));
	t_quiet(semop(id, OPS({1, 1, 0})) == 0);
}

static void one_rule(const struct path *p, const struct rule *r)
{
	int id = t_set(p->n_sems, NULL), err, done, stamped;
	pid_t other, asleep, child;

	if (p->other) {
		other = t_sleeper(id, OPS({0, 1, 0}));
		t_quiet(t_join(other) == 0);
	}
	t_quiet(semctl(id, 0, SETVAL, r->from) == 0);
	asleep = sleeper(p, id);
	child = t_fork();
	if (!child) {
		prepare(p, id, r->from);
		_exit(t_failed ? 99 : operate(p, id, r->op, r->flg));
	}
	let_on(p, id);
	err = t_join(child);
	done = semctl(id, 0, GETPID) == child;
	stamped = t_stat(id).sem_otime != 0;
	t_say("%s: %d%+d%s = %s, value %d", p->name, r->from, r->op,
		r->flg & U ? "u" : "", t_errname(err), semctl(id, 0, GETVAL));
	t_quiet(err == r->err);
	/* Given back at the end, if it was done with SEM_UNDO. */
	t_quiet(semctl(id, 0, GETVAL) == r->to);
	t_quiet(done == (!r->err || p->alone));
	if (!(r->flg & U))
		t_quiet(stamped ==
			(!r->err || p->alone || p->other || p->sleeps));
	t_rm(id);
	if (asleep)
		t_quiet(t_join(asleep) == EIDRM);
}

/* What may be undone is in a short, below and above. */
static void undo_range(const struct path *p, int sign)
{
	int id = t_set(p->n_sems, NULL), err;
	pid_t child;

	child = t_fork();
	if (!child) {
		int base = sign > 0 ? 0 : 32767;

		prepare(p, id, base);
		if (!p->alone)
			t_quiet(semctl(id, 0, SETVAL, base) == 0);
		t_quiet(operate(p, id, sign * 32767, U) == 0);
		t_quiet(semop(id, OPS({0, (short)-sign, 0})) == 0);
		err = operate(p, id, sign, U);
		t_quiet(err == (sign > 0 ? 0 : ERANGE));
		if (!err) {
			t_quiet(semop(id, OPS({0, -1, 0})) == 0);
			t_quiet(operate(p, id, 1, U) == ERANGE);
		}
		t_say("%s: adjustment beyond %d: ERANGE at value %d", p->name,
			sign > 0 ? -32768 : 32767, semctl(id, 0, GETVAL));
		_exit(t_failed);
	}
	err = t_join(child);
	t_quiet(err == 0);
	t_say("%s: after its end %d", p->name, semctl(id, 0, GETVAL));
	t_quiet(semctl(id, 0, GETVAL) == (sign > 0 ? 0 : 32767));
	t_rm(id);
}

/* An operation sees what those before it in its array did. */
static void named_twice(const struct path *p)
{
	int id = t_set(p->n_sems, NULL);
	pid_t child = t_fork();

	if (!child) {
		prepare(p, id, 0);
		t_quiet(semop(id, OPS({0, 1, 0}, {0, 1, 0})) == 0);
		t_quiet(semop(id, OPS({0, 32765, 0}, {0, 1, 0})) == -1 &&
			errno == ERANGE);
		t_quiet(semop(id, OPS({0, -1, NW}, {0, -2, NW})) == -1 &&
			errno == EAGAIN);
		_exit(t_failed);
	}
	t_quiet(t_join(child) == 0);
	t_say("%s: named twice: %d", p->name, semctl(id, 0, GETVAL));
	t_quiet(semctl(id, 0, GETVAL) == 2);
	t_rm(id);
}

/* What is refused before anything is tried. */
static void refused(const struct path *p)
{
	int id = t_set(p->n_sems, NULL);
	struct timespec bad = {0, 1000000000}, none = {0, 0};
	struct sembuf ops[502] = {{0, 1, 0}};
	pid_t child = t_fork();

	if (!child) {
		prepare(p, id, 0);
		t_quiet(semop(id, ops, 501) == -1 && errno == E2BIG);
		t_quiet(semop(id, ops, 0) == -1 && errno == EINVAL);
		t_quiet(semtimedop(id, ops, 1, &bad) == -1 && errno == EINVAL);
		t_quiet(semop(id, (struct sembuf *)8, 1) == -1 &&
			errno == EFAULT);
		ops[p->pairs].sem_num = (unsigned short)p->n_sems;
		t_quiet(semop(id, ops, (size_t)p->pairs + 1) == -1 &&
			errno == EFBIG);
		ops[p->pairs].sem_num = 0;
		t_quiet(semtimedop(id, OPS({0, -1, 0}), &none) == -1 &&
			errno == EAGAIN);
		t_quiet(semctl(id, 0, GETVAL) == 0);
		t_quiet(semctl(id, 0, IPC_RMID) == 0);
		t_quiet(operate(p, id, 1, 0) == EINVAL);
		_exit(t_failed);
	}
	t_say("%s: refused: %d", p->name, t_join(child));
}

/* The time of the last operation is the last one's: all paths beside each
 * other, for they wait for the clock's next second. */
static void stamps(void)
{
	int id[N_PATHS], go[2], ready[2];
	pid_t child[N_PATHS];
	struct timespec now;
	time_t first, last;
	char c;

	t_story("otime");
	t_quiet(pipe(go) == 0 && pipe(ready) == 0);
	for (int i = 0; i < N_PATHS; i++) {
		const struct path *p = &paths[i];

		id[i] = t_set(p->n_sems, NULL);
		child[i] = t_fork();
		if (child[i])
			continue;
		close(go[1]);
		prepare(p, id[i], 1);
		if (p->sleeps)
			t_quiet(semctl(id[i], 1, SETVAL, 2) == 0);
		t_quiet(operate(p, id[i], 1, 0) == 0);
		t_quiet(write(ready[1], "x", 1) == 1);
		t_quiet(read(go[0], &c, 1) == 0);
		t_quiet(operate(p, id[i], 1, 0) == 0);
		_exit(t_failed);
	}
	/* not by looking at the sets: whoever had one alone still has it */
	for (int i = 0; i < N_PATHS; i++)
		t_quiet(read(ready[0], &c, 1) == 1);
	first = time(NULL);
	do {
		t_nap();
		clock_gettime(CLOCK_REALTIME, &now);
	} while (now.tv_sec < first + 2 || now.tv_nsec < 20000000);
	close(go[1]);
	last = now.tv_sec;
	for (int i = 0; i < N_PATHS; i++) {
		t_quiet(t_join(child[i]) == 0);
		t_say("%s: otime is the last one's: %d", paths[i].name,
			t_stat(id[i]).sem_otime >= last);
		t_quiet(t_stat(id[i]).sem_otime >= last);
		t_rm(id[i]);
	}
	close(go[0]);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	t_begin();
	for (int i = 0; i < N_PATHS; i++) {
		for (int k = 0; k < N_RULES; k++)
			one_rule(&paths[i], &rules[k]);
		if (paths[i].sleeps || paths[i].asleep)
			continue;
		undo_range(&paths[i], 1);
		undo_range(&paths[i], -1);
		named_twice(&paths[i]);
		refused(&paths[i]);
	}
	stamps();
	return t_end();
}
