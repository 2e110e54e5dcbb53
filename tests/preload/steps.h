// SPDX-License-Identifier: MIT
/*
 * steps.h - a child that makes a call is walked through by single steps, and
 * others get a signal at a place where it came by; see signal_steps.c.
 *
 * A program has operations (struct step_op) and gives them to steps_main, which
 * reads the command line. In the operations MUST(condition) notes the first
 * line at which something was wrong; in_handler and kid tell who is asking.
 */
#ifndef STEPS_H
#define STEPS_H

#include "t.h"
#include <dlfcn.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#define SAMPLES 15 /* arbitrary: half a second an operation */
#define STEPS 25000
#define PLACES_MAX 20000

static struct {
	volatile int ended; /* the traced call has returned */
	volatile int wrong; /* line of the first thing that was */
	volatile long got;
	volatile int forked; /* the handler did */
	volatile int leave;  /* the child that stayed need not any longer */
	volatile int beside; /* it is there */
} * shared;

static const char *const rounds[] = {
	"", ", forked", ", forked, beside", ", left"};
enum {
	CALLS,
	FORKS,
	FORKS_BESIDE,
	LEAVES,
	N_ROUNDS,
};

static int kind; /* of round */
static volatile int in_child, in_handler, left;
static volatile pid_t kid; /* the child that stays */
static sigjmp_buf away;
static unsigned every;

#define MUST(cond)                                \
	do {                                      \
		if (!(cond) && !shared->wrong) {  \
			shared->got = errno;      \
			shared->wrong = __LINE__; \
		}                                 \
	} while (0)

/* How often the call was made: n times, which is twice if the handler forked
 * before it had happened. */
static int times_right(int n)
{
	return n == 1 || (n == 2 && shared->forked);
}

/* setup, call, look: in this order in the child; handler: in the signal's, and
 * once more when the child goes on. None in between may fail. */
struct step_op {
	const char *name;
	void (*setup)(void), (*call)(void), (*handler)(void), (*look)(void);
};

static const struct step_op *op;
static void (*clean)(void); /* after a call that was left */
static unsigned long base;  /* of the shim */

/* The child that stays comes back into the call at once. */
static void handler_fork(void)
{
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	shared->forked = 1;
	if (pid == 0) {
		in_child = 1;
		if (kind == FORKS_BESIDE)
			shared->beside = 1;
	} else if (kind == FORKS_BESIDE) {
		kid = pid;
	} else {
		MUST(waitpid(pid, &status, 0) == pid && !status);
	}
}

static void on_signal(int sig)
{
	int err = errno;

	(void)sig;
	in_handler = 1;
	if (kind == CALLS || kind == LEAVES)
		op->handler();
	else
		handler_fork();
	in_handler = 0;
	errno = err;
	if (kind == LEAVES) {
		left = 1;
		siglongjmp(away, 1);
	}
}

/* Nobody stands in the way of another call, the child still being there. */
static void go_on(void)
{
	int status;

	if (!left && !kid)
		return;
	in_handler = 1;
	op->handler();
	in_handler = 0;
	shared->leave = 1;
	if (kid)
		MUST(waitpid(kid, &status, 0) == kid && !status);
}

static _Noreturn void traced(const char *registry)
{
	struct sigaction act = {.sa_handler = on_signal};

	if (registry)
		setenv("IPCLIFT_REGISTRY", registry, 1);
	sigaction(SIGUSR1, &act, NULL);
	alarm(T_LIMIT);
	op->setup();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	if (!sigsetjmp(away, 1)) {
		raise(SIGSTOP);
		op->call();
	}
	shared->ended = 1;
	if (in_child) {
		alarm(T_LIMIT);
		while (shared->beside && !shared->leave)
			sched_yield();
		_exit(0);
	}
	go_on();
	if (!left)
		op->look();
	else
		clean();
	_exit(0);
}

/* ---- the walk ---- */

static const char *tool, *registries;

static void registry_remove(const char *path)
{
	char other[4200];
	static const char *const ends[] = {"", ".lock", ".kernel"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(other, sizeof(other), "%s%s", path, ends[i]);
		unlink(other);
	}
	snprintf(other, sizeof(other), "%s.mq", path);
	rmdir(other);
}

static int registry_whole(const char *path)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		unsetenv("LD_PRELOAD");
		dup2(2, 1);
		execl(tool, tool, "check", "--registry", path, (char *)NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

static struct user_regs_struct regs_of(pid_t pid)
{
	struct user_regs_struct regs = {0};

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		MUST(0);
	return regs;
}

static int child_status;
static unsigned n_runs, n_signals; /* of a round */

static int stopped_by(pid_t pid, int sig)
{
	return waitpid(pid, &child_status, 0) == pid &&
	       WIFSTOPPED(child_status) && WSTOPSIG(child_status) == sig;
}

static int step(pid_t pid)
{
	return !ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) &&
	       stopped_by(pid, SIGTRAP);
}

/* Each instruction of the call that the first child makes, once, and how often
 * it came to be executed. */
static struct place {
	unsigned long at;
	unsigned n;
} places[PLACES_MAX];
static unsigned n_places;

static void place_add(unsigned long at)
{
	static unsigned hash[4 * PLACES_MAX];
	unsigned h = (unsigned)(at * 0x9e3779b97f4a7c15UL >> 40), i;

	if (!n_places)
		memset(hash, 0, sizeof(hash));
	for (;; h++) {
		h %= 4 * PLACES_MAX;
		i = hash[h];
		if (!i)
			break;
		if (places[i - 1].at == at) {
			places[i - 1].n++;
			return;
		}
	}
	if (n_places == PLACES_MAX)
		return;
	places[n_places] = (struct place){at, 1};
	hash[h] = ++n_places;
}

/* It came to the end without having been there so often. */
static int is_past(void)
{
	return !WIFSTOPPED(child_status) || shared->ended;
}

/* 1 if it is there, 0 if it never comes there again, else -1. */
static int go_to(pid_t pid, const struct place *p, unsigned nth)
{
	long text = ptrace(PTRACE_PEEKTEXT, pid, (void *)p->at, NULL);
	struct user_regs_struct regs;

	for (;;) {
		if (ptrace(PTRACE_POKETEXT, pid, (void *)p->at,
			    (void *)((text & ~0xffL) | 0xcc)))
			return 0; /* the kernel's own page, say */
		if (ptrace(PTRACE_CONT, pid, NULL, NULL) ||
			!stopped_by(pid, SIGTRAP))
			return is_past() - 1;
		regs = regs_of(pid);
		if (regs.rip != p->at + 1)
			return -1;
		regs.rip--;
		if (ptrace(PTRACE_SETREGS, pid, NULL, &regs) ||
			ptrace(PTRACE_POKETEXT, pid, (void *)p->at,
				(void *)text))
			return -1;
		if (is_past())
			return 0;
		if (--nth == 0)
			return 1;
		if (!step(pid))
			return -1;
	}
}

/* Through all of it, noting places; or through much of it, for a step takes
 * long where debug exceptions go by way of a hypervisor. */
static int record(pid_t pid)
{
	long n = 0;

	n_places = 0;
	while (!shared->ended && (every || n++ < STEPS)) {
		place_add(regs_of(pid).rip);
		if (!step(pid))
			return -1;
	}
	return 0;
}

/* The place as in the shim's file, for addr2line. */
static int fail_at(const struct place *p, unsigned nth)
{
	t_say("FAIL %s%s: at %#lx, time %u, status %#x, line %d, %s", op->name,
		rounds[kind], p ? p->at - base : 0, nth, child_status,
		shared->wrong, strerror((int)shared->got));
	return 0;
}

/* One child, which gets a signal at the nth time there; NULL: places are
 * noted. */
static int run(const struct place *p, unsigned nth)
{
	char registry[4096];
	int there = -1, right;
	pid_t pid;

	memset((void *)shared, 0, sizeof(*shared));
	child_status = 0;
	if (registries)
		snprintf(registry, sizeof(registry), "%s.steps", registries);
	pid = fork();
	if (pid == 0)
		traced(registries ? registry : NULL);
	if (stopped_by(pid, SIGSTOP))
		there = p ? go_to(pid, p, nth) : record(pid);
	n_runs++;
	n_signals += there == 1;
	if (WIFSTOPPED(child_status)) {
		ptrace(PTRACE_DETACH, pid, NULL,
			(void *)(there == 1 ? SIGUSR1 : 0L));
		if (there < 0)
			kill(pid, SIGKILL);
		waitpid(pid, &child_status, 0);
	}
	right = there >= 0 && !child_status && !shared->wrong;
	if (!right)
		fail_at(p, nth);
	else if (tool && registries && !registry_whole(registry))
		right = fail_at(p, nth);
	if (registries)
		registry_remove(registry);
	return right;
}

/* At its first, its last, and some other time. */
static int all_times(const struct place *p)
{
	unsigned most = p->n < 30 ? p->n : 30;

	return run(p, 1) && (most == 1 || run(p, most)) &&
	       (most < 3 || run(p, 2 + (unsigned)p->at % (most - 2)));
}

static void walk(void)
{
	unsigned i, failed = 0, least = 1 + n_places / SAMPLES;

	n_runs = n_signals = 0;
	for (i = n_places % 3; i < n_places && failed < 10;
		i += every ? every : least)
		failed += !all_times(&places[i]);
	if (failed)
		t_failed = 1;
	t_true(!failed);
	/* Not at the kernel's own page, nor where a run does not come by. */
	t_true(n_signals > n_runs / 2);
}

static inline int steps_main(const struct step_op *ops, size_t n_ops,
	void (*clean_up)(void), int argc, char **argv)
{
	int from = 1;
	Dl_info info;

	if (argc > 2 && !strcmp(argv[1], "--every")) {
		every = (unsigned)atoi(argv[2]);
		from = 3;
	}
	/* Else thousands of steps are the loader's. */
	if (!getenv("LD_BIND_NOW") && !setenv("LD_BIND_NOW", "1", 1))
		execv("/proc/self/exe", argv);
	if (dladdr(dlsym(RTLD_DEFAULT, "semop"), &info))
		base = (unsigned long)info.dli_fbase;
	clean = clean_up;
	tool = getenv("IPCLIFT_TOOL");
	registries = getenv("LD_PRELOAD") ? getenv("IPCLIFT_REGISTRY") : NULL;
	shared = t_shared(4096);
	for (size_t i = 0; i < n_ops; i++) {
		int wanted = from >= argc;

		op = &ops[i];
		for (int a = from; a < argc; a++)
			wanted |= !strcmp(argv[a], op->name);
		if (!wanted)
			continue;
		t_say("%s", op->name);
		kind = CALLS;
		t_true(run(NULL, 0));
		for (kind = 0; kind < N_ROUNDS; kind++)
			walk();
	}
	return t_failed;
}

#endif
