// SPDX-License-Identifier: MIT
/*
 * One run. The actors are forked anew with fixed process ids, in a pid
 * namespace whose first process is this one; the registry is what it was after
 * the scenario's setup. They are killed by SIGKILL and sleep in the kernel's
 * futexes. That a sleeper sleeps is told by a requeue of its word to itself,
 * which counts those queued there and changes nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "explore.h"
#include "object/limits.h"
#include "registry/identity.h"
#include "registry/task.h"
#include "registry/wait.h"
#include "shm/shmfork.h"

/* Arbitrary; the same in each run. Neighbours, so that their tasks share a
 * page. */
#define FIRST_PID 200u
#define FUTEX_REQUEUE 3
/* Timeouts that are let pass, at most, and in a row without anybody having got
 * further. */
#define MAX_FIRES 400u
#define VAIN_FIRES 60u
#define HANG_S 10

struct run run;
struct caller driver;
const char *explore_dir;
s32 object_id[8];
static struct cred cred = {.euid = ~0u};
static char registry[128];
static struct sys_robust_head *parent_robust;
static u32 walk_done; /* actors whose death goes on in steps */

const char *const verdict_names[N_VERDICTS] = {"fine", "void", "asleep",
	"stuck", "endless", "crashed", "invariant", "wrong", "repair"};

static void fail(enum verdict v, const char *format, ...)
{
	va_list ap;

	if (run.verdict != FINE)
		return;
	run.verdict = v;
	va_start(ap, format);
	vsnprintf(run.text, sizeof(run.text), format, ap);
	va_end(ap);
}

/* ---- the baton ---- */

static __thread u32 own_idx; /* of the actor that this thread is */

static pid_t process_of(const struct actor *a)
{
	return (pid_t)ctl->actors[a->leader].pid;
}

static void actor_kill(const struct actor *a, int sig)
{
	raw_syscall(SYS_tgkill, process_of(a), (long)a->pid, sig, 0, 0, 0);
}

static void wait_for_process(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0)
		;
}

static u32 of_process(u32 leader)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].leader == leader)
			mask |= 1u << i;
	return mask;
}

/* SIGUSR1 ends a sleep, or asks whether all signals before it have come;
 * SIGUSR2 is the scenario's, and is counted. */
static void actor_signal(int sig)
{
	struct actor *a = &ctl->actors[own_idx];

	if (sig == SIGUSR2)
		__atomic_fetch_add(&a->signals, 1, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_add(&a->answers, 1, __ATOMIC_SEQ_CST);
	raw_futex(&a->answers, 1, 1, NULL);
}

void signals_settle(void)
{
	struct sys_timespec nap = {0, 1000000};
	u32 i, k, was;

	for (i = 0; i < run.n_actors; i++) {
		struct actor *a = &ctl->actors[i];

		if (a->state != ACTOR_DONE || a->endless)
			continue;
		was = a->answers;
		actor_kill(a, SIGUSR1);
		for (k = 0; k < 2000 && __atomic_load_n(&a->answers,
						__ATOMIC_SEQ_CST) == was;
			k++)
			raw_futex(&a->answers, 0, was, &nap);
	}
}

static int waiting_on(u64 off)
{
	return (int)raw_syscall(SYS_futex, (long)(explore_base + off),
		FUTEX_REQUEUE, 0, 1000, (long)(explore_base + off), 0);
}

/* How many blocked actors should be queued there. */
static int expected_on(u64 off)
{
	int n = 0;
	u32 i, k;

	for (i = 0; i < run.n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		if (__atomic_load_n(&a->state, __ATOMIC_SEQ_CST) !=
			ACTOR_BLOCKED)
			continue;
		for (k = 0; k < a->n_words; k++)
			n += a->words[k] == off;
	}
	return n;
}

static int all_queued(void)
{
	u32 i, k;

	for (i = 0; i < run.n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		if (__atomic_load_n(&a->state, __ATOMIC_SEQ_CST) !=
			ACTOR_BLOCKED)
			continue;
		for (k = 0; k < a->n_words; k++)
			if (a->words[k] != ~0ULL &&
				waiting_on(a->words[k]) !=
					expected_on(a->words[k]))
				return 0;
	}
	return 1;
}

/* Until everybody who is said to sleep is in the kernel's queues, and everybody
 * who was woken has said so. */
static void settle(void)
{
	struct sys_timespec nap = {0, 200000};
	u32 tries = 0, was;
	double until = 0;

	for (;;) {
		was = __atomic_load_n(&ctl->announce, __ATOMIC_SEQ_CST);
		if (all_queued())
			return;
		if (tries++ < 20) {
			sched_yield();
			continue;
		}
		if (!until)
			until = seconds_now() + HANG_S;
		if (seconds_now() > until) {
			fail(STUCK, "the explorer: a sleeper is neither queued "
				    "nor awake");
			return;
		}
		raw_futex(&ctl->announce, 0, was, &nap);
	}
}

static u32 letter(u32 i)
{
	return 'A' + i;
}

/* An actor's fork child goes with it; it is ours to wait for then. */
static void end_child(void)
{
	if (kill(CHILD_PID, SIGKILL))
		return;
	while (waitpid(CHILD_PID, NULL, 0) < 0 && errno == EINTR)
		;
}

/* flags: CLONE_PARENT: the child is the controller's, who made the caller. */
static pid_t clone_as(u32 pid, u64 flags)
{
	pid_t want = (pid_t)pid;
	struct clone_args args = {.flags = flags,
		.exit_signal = flags ? 0 : SIGCHLD,
		.set_tid = (uintptr_t)&want,
		.set_tid_size = 1};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Somebody with the number of an actor that is gone. */
static void succeed(u32 i)
{
	u32 flags = run.scn->actors[i].flags;
	struct actor *a = &ctl->actors[i];
	pid_t pid;

	if (!(flags & (ACTOR_REUSED | ACTOR_EXECS)))
		return;
	pid = clone_as(a->pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (pid < 0) {
		perror("explore: clone3 with set_tid");
		exit(2);
	}
	a->succeeded = 1;
	/* Another fork child of the same program has the same stack. */
	if (flags & ACTOR_REUSED)
		a->start += 1000;
	else
		a->stack -= 0x10000;
}

/* Of its process, with all that are threads of it. */
static void note_death(u32 i)
{
	u32 k, mask = of_process(ctl->actors[i].leader);

	end_child();
	for (k = 0; k < run.n_actors; k++) {
		struct actor *a = &ctl->actors[k];

		if (!(mask & 1u << k))
			continue;
		succeed(k);
		a->state = ACTOR_DEAD;
		a->died = 2 * ctl->n_points + 2;
		a->local = mix(a->local, 99);
	}
}

static void kill_actor(u32 i)
{
	pid_t pid = process_of(&ctl->actors[i]);
	u32 k, mask = of_process(ctl->actors[i].leader);

	for (k = 0; k < run.n_actors; k++)
		if (mask & 1u << k)
			buffer_flush(&ctl->actors[k]);
	kill(pid, SIGKILL);
	wait_for_process(pid);
	note_death(i);
	settle();
}

/* What /proc says that a thread is doing; 0: it is not there any more. */
static char state_in_proc(const struct actor *a)
{
	char path[64], line[256] = "";
	const char *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/stat", process_of(a),
		a->pid);
	f = fopen(path, "r");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	p = strrchr(line, ')');
	return p ? p[2] : 0;
}

/* It is about to end by itself, with its process or before the others. */
static void see_it_end(u32 i)
{
	struct actor *a = &ctl->actors[i];
	u32 k, others = 0;
	char state;

	for (k = 0; k < run.n_actors; k++)
		others |= k != i && ctl->actors[k].leader == a->leader &&
			  ctl->actors[k].state &&
			  ctl->actors[k].state != ACTOR_DEAD;
	if (!others) {
		wait_for_process(process_of(a));
		note_death(i);
		return;
	}
	do {
		sched_yield();
		state = state_in_proc(a);
	} while (state && state != 'Z');
	a->state = ACTOR_DEAD;
	a->local = mix(a->local, 97);
}

/* In a system call that does not end: /proc says what it does. */
static int sleeps_elsewhere(const struct actor *a)
{
	int i;

	for (i = 0; i < 5; i++) {
		if (state_in_proc(a) != 'S' ||
			__atomic_load_n(&ctl->baton, __ATOMIC_SEQ_CST))
			return 0;
		usleep(5000);
	}
	return 1;
}

/* Give the baton to an actor and wait until it comes back. */
static void give(u32 i)
{
	struct actor *a = &ctl->actors[i];
	struct sys_timespec slice = {0, 50000000};
	u64 others = 0;
	u32 k;
	int status;
	double until = 0;

	for (k = 0; k < run.n_actors; k++)
		if (k != i)
			others += mix(ctl->actors[k].local, k + 1);
	ctl->others = others;
	ctl->woke = 0;
	ctl->baton = 0;
	__atomic_store_n(&a->go, 1, __ATOMIC_SEQ_CST);
	raw_futex(&a->go, 1, 1, NULL);
	while (!__atomic_load_n(&ctl->baton, __ATOMIC_SEQ_CST)) {
		if (raw_futex(&ctl->baton, 0, 0, &slice) != -ETIMEDOUT)
			continue;
		if (waitpid(process_of(a), &status, WNOHANG) > 0) {
			note_death(i);
			fail(CRASHED, "%c died by signal %d", letter(i),
				WIFSIGNALED(status) ? WTERMSIG(status) : 0);
			return;
		}
		if (!until)
			until = seconds_now() + HANG_S;
		if (sleeps_elsewhere(a) || seconds_now() > until) {
			fail(STUCK,
				"%c passes no point and does not sleep, "
				"or sleeps outside a futex",
				letter(i));
			kill_actor(i);
			return;
		}
	}
	if (a->state == ACTOR_LEAVING) {
		see_it_end(i);
		ctl->woke = 1;
	}
	if (a->endless)
		fail(ENDLESS, "%c has passed %u points and goes on", letter(i),
			MAX_STEPS);
	if (ctl->failure[0])
		fail(WRONG, "%s", ctl->failure);
	if (ctl->woke || a->state == ACTOR_BLOCKED)
		settle();
}

static void fire(u32 i)
{
	struct actor *a = &ctl->actors[i];

	if (a->deadline > ctl->now)
		ctl->now = a->deadline;
	if (a->state == ACTOR_BLOCKED) {
		a->fired = 1;
		actor_kill(a, SIGUSR1);
		while (__atomic_load_n(&a->state, __ATOMIC_SEQ_CST) ==
			ACTOR_BLOCKED) {
			u32 was = ctl->announce;

			if (a->state == ACTOR_BLOCKED) {
				struct sys_timespec nap = {0, 1000000};
				raw_futex(&ctl->announce, 0, was, &nap);
			}
		}
		settle();
	} else {
		a->state = ACTOR_READY;
	}
}

/* ---- actors ---- */

static void play(u32 i, struct caller *c)
{
	const struct actor_def *def = &run.scn->actors[i];
	struct actor *a = &ctl->actors[i];
	u32 k;

	actor_arm(i);
	for (k = 0; k < MAX_CALLS && def->calls[k].op; k++) {
		actor_begin(k);
		a->calls[k].begun = 2 * ctl->n_points + 1;
		a->n_calls = k + 1;
		a->calls[k].result =
			call_make(c, &def->calls[k], a->calls[k].out);
		a->calls[k].ended = 2 * ctl->n_points + 2;
	}
	actor_disarm();
}

static void use_own_list(struct actor *a)
{
	parent_robust->next = parent_robust;
	parent_robust->pending = NULL;
	sys_set_robust_list(parent_robust);
	a->robust = (uintptr_t)parent_robust;
}

static __attribute__((noreturn)) void play_and_stay(u32 i, struct caller *c)
{
	play(i, c);
	if (run.scn->actors[i].flags & ACTOR_EXITS) {
		actor_arm(i);
		actor_leave();
	}
	for (;;) {
		actor_arm(i);
		actor_park(ACTOR_DONE);
	}
}

/* Make the running thread an actor that is ready for its first call. */
static void prepare(u32 i, struct caller *c)
{
	const struct actor_def *def = &run.scn->actors[i];

	c->task = c->thread = 0;
	caller_refresh(c);
	if (!(def->flags & ACTOR_NEW) && caller_enroll(c))
		_exit(3);
	if (def->prelude)
		def->prelude(c);
}

/* ---- threads ---- */

/* The thread that is made last, of actor thread_ready - 1, is ready; or it has
 * got another number than that. */
#define OTHER_NUMBER 99u
static u32 thread_ready;

static void tell_ready(u32 what)
{
	__atomic_store_n(&thread_ready, what, __ATOMIC_SEQ_CST);
	raw_futex(&thread_ready, 1, 1, NULL);
}

static void *thread_main(void *arg)
{
	u32 i = (u32)(uintptr_t)arg;
	struct caller c = driver;

	if (raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0) != ctl->actors[i].pid) {
		tell_ready(OTHER_NUMBER);
		return NULL;
	}
	own_idx = i;
	/* Its list is its libc's, which has registered it. */
	prepare(i, &c);
	ctl->actors[i].robust = (uintptr_t)c.robust;
	actor_arm(i);
	tell_ready(i + 1);
	actor_born();
	actor_disarm();
	play_and_stay(i, &c);
}

/* The next number that the kernel gives in this pid namespace. */
static void choose_next_number(u32 number)
{
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!f || fprintf(f, "%u", number - 1) < 0 || fclose(f))
		_exit(4);
}

/* 0 if it has got another number: the kernel frees a thread's a moment after
 * the last run's process could be waited for. */
static int start_thread(u32 k)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 20);
	thread_ready = 0;
	choose_next_number(ctl->actors[k].pid);
	if (pthread_create(&thread, &attr, thread_main, (void *)(uintptr_t)k))
		_exit(5);
	while (!__atomic_load_n(&thread_ready, __ATOMIC_SEQ_CST))
		raw_futex(&thread_ready, 0, 0, NULL);
	if (thread_ready == k + 1)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}

/* Those that are threads of actor i's process. */
static void start_threads(u32 i)
{
	u32 k;

	for (k = i + 1;
		k < run.n_actors && (run.scn->actors[k].flags & ACTOR_THREAD);
		k++) {
		ctl->actors[k].state = ACTOR_READY;
		while (!start_thread(k))
			sched_yield();
	}
}

static __attribute__((noreturn)) void actor_main(u32 i)
{
	struct actor *a = &ctl->actors[i];
	struct sigaction sa = {.sa_handler = actor_signal};
	struct caller c = driver;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	use_own_list(a);
	own_idx = i;
	sigaction(SIGUSR1, &sa, NULL);
	/* No answer from within the handler of a signal that came before. */
	sigaddset(&sa.sa_mask, SIGUSR1);
	sigaction(SIGUSR2, &sa, NULL);
	prepare(i, &c);
	start_threads(i);
	actor_arm(i);
	actor_park(ACTOR_READY);
	actor_disarm();
	play_and_stay(i, &c);
}

/* ---- an actor that another makes ---- */

/* As entry/fork.c and entry/process.c have it; f: as prepared. */
static __attribute__((noreturn)) void child_main(
	u32 i, struct caller *c, const struct shm_fork *f)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	own_idx = i;
	use_own_list(&ctl->actors[i]);
	actor_arm(i);
	actor_born();
	identity_forget();
	c->generation++;
	caller_refresh(c);
	if (c->shm)
		shm_fork_child(c, f);
	play_and_stay(i, c);
}

s64 run_fork(struct caller *c, u32 i)
{
	struct actor *self = &ctl->actors[own_idx];
	struct shm_forking *fork = NULL;
	struct shm_fork f = {0, 0};
	pid_t child;

	if (c->shm) {
		fork = shm_fork_begin(c->shm);
		if (shm_fork_concerns(c->shm))
			shm_fork_prepare(c, fork, &f);
	}
	child = clone_as(ctl->actors[i].pid, CLONE_PARENT);
	if (child == 0)
		child_main(i, c, &f);
	if (child > 0) {
		self->calls[self->n_calls - 1].must = 1;
		ctl->actors[i].state = ACTOR_READY;
	}
	if (fork) {
		f = shm_fork_over(c, fork);
		shm_fork_end(c->shm, fork);
	}
	if (f.task)
		shm_fork_parent(c, &f, child);
	return child;
}

static void start(u32 i)
{
	struct actor *a = &ctl->actors[i];
	struct sys_timespec slice = {1, 0};
	pid_t pid;
	int status;

	if (run.scn->actors[i].flags & (ACTOR_CHILD | ACTOR_THREAD))
		return;
	ctl->baton = 0;
	pid = clone_as(a->pid, 0);
	if (pid == 0)
		actor_main(i);
	if (pid < 0) {
		perror("explore: clone3 with set_tid");
		exit(2);
	}
	while (!__atomic_load_n(&ctl->baton, __ATOMIC_SEQ_CST)) {
		if (raw_futex(&ctl->baton, 0, 0, &slice) == -ETIMEDOUT &&
			waitpid(pid, &status, WNOHANG) > 0) {
			fprintf(stderr,
				"explore: %s: actor %c ended (%x) "
				"before its first call\n",
				run.scn->name, letter(i), status);
			exit(2);
		}
	}
}

static void begin(u32 i)
{
	struct actor *a = &ctl->actors[i];
	const struct actor_def *def = &run.scn->actors[i];

	memset(a, 0, sizeof(*a));
	a->pid = FIRST_PID + i;
	a->leader = i;
	if (def->flags & ACTOR_THREAD) {
		a->leader = ctl->actors[i - 1].leader;
		a->threaded = ctl->actors[a->leader].threaded = 1;
	}
	a->start = 100 + i;
	a->stack = STACK_START;
	a->stop_at = ~0u;
	a->no_barrier = (def->flags & ACTOR_NO_BARRIER) != 0;
	a->tso = (def->flags & ACTOR_TSO) != 0;
	a->robust = (uintptr_t)parent_robust;
	/* In ticks of 10 ms: not before its parent's fork. */
	if (def->flags & ACTOR_CHILD)
		a->start += CLOCK_START / 10000000;
}

/* The process that actor i leads, or who has its number. */
static int is_there(u32 i)
{
	const struct actor *a = &ctl->actors[i];

	return a->leader == i && a->state && (!a->died || a->succeeded);
}

static void end_all(void)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		if (is_there(i))
			kill((pid_t)ctl->actors[i].pid, SIGKILL);
	for (i = 0; i < run.n_actors; i++)
		if (is_there(i))
			wait_for_process((pid_t)ctl->actors[i].pid);
	end_child();
}

/* ---- the kernel's walk of a dead thread's robust list, in steps ---- */

/* Marks one word as the kernel does (handle_futex_death). */
static void mark_word(u32 tid, u64 node, int is_pending)
{
	u64 off = node + parent_robust->futex_offset - (uintptr_t)explore_base;
	u32 *word = (u32 *)(explore_base + off), seen;

	if (off >= REGION_SIZE)
		return;
	seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);
	if (is_pending && !(seen & SYS_TID_MASK)) {
		raw_futex(word, SYS_FUTEX_WAKE, 1, NULL);
		return;
	}
	if ((seen & SYS_TID_MASK) != tid)
		return;
	__atomic_store_n(
		word, (seen & SYS_WAITERS) | SYS_OWNER_DIED, __ATOMIC_SEQ_CST);
	if (seen & SYS_WAITERS)
		raw_futex(word, SYS_FUTEX_WAKE, 1, NULL);
}

static u64 actor_peek(u32 i, u64 at)
{
	u64 v = 0;
	struct iovec l = {&v, 8}, r = {(void *)(uintptr_t)at, 8};

	if (at - (uintptr_t)explore_base < REGION_SIZE)
		return *(u64 *)(uintptr_t)at;
	process_vm_readv((pid_t)ctl->actors[i].pid, &l, 1, &r, 1, 0);
	return v;
}

static struct walk {
	u64 entry; /* the next one; 0 = not begun */
	u64 pending;
} walks[MAX_ACTORS];

/* n entries of it, or all that is left and the end. The kernel reads where an
 * entry leads before it marks it. */
static void walk_on(u32 i, u32 n)
{
	struct walk *w = &walks[i];
	u64 head = (uintptr_t)parent_robust, next;
	u32 steps = 0;

	if (!w->entry) {
		w->entry = actor_peek(i, head);
		w->pending = actor_peek(i, head + 16);
	}
	while (w->entry != head && steps++ < 2048) {
		if (n-- == 0) {
			walk_done |= 1u << i;
			settle();
			return;
		}
		next = actor_peek(i, w->entry & ~1ULL);
		if (w->entry != w->pending)
			mark_word(ctl->actors[i].pid, w->entry & ~1ULL, 0);
		w->entry = next;
	}
	if (w->pending)
		mark_word(ctl->actors[i].pid, w->pending & ~1ULL, 1);
	walk_done &= ~(1u << i);
	/* Words of its own that the walk has missed stay as they are: the
	 * list that the kernel would walk again is empty. */
	{
		u64 empty[3] = {head, (u64)parent_robust->futex_offset, 0};
		struct iovec l = {empty, 24}, r = {(void *)(uintptr_t)head, 24};

		process_vm_writev((pid_t)ctl->actors[i].pid, &l, 1, &r, 1, 0);
	}
	kill((pid_t)ctl->actors[i].pid, SIGKILL);
	wait_for_process((pid_t)ctl->actors[i].pid);
	note_death(i);
	settle();
}

/* ---- a run ---- */

static u32 runnable(void)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].state == ACTOR_READY ||
			(walk_done & 1u << i))
			mask |= 1u << i;
	return mask;
}

static u32 alive(void)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].state &&
			ctl->actors[i].state != ACTOR_DEAD &&
			!(walk_done & 1u << i) &&
			!(run.scn->actors[i].flags & ACTOR_IMMORTAL) &&
			!(run.scn->max_kills_0))
			mask |= 1u << i;
	return mask;
}

static u64 whole_hash(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		sum += mix(ctl->actors[i].local + (ctl->actors[i].state << 1) +
				   ((walk_done >> i & 1) << 8),
			i + 1);
	return mix(ctl->memory, sum);
}

static void do_decision(struct decision d, int by_default)
{
	struct segment *g = &run.segments[run.n_segments];
	struct actor *a = &ctl->actors[d.actor];

	if (run.n_segments == MAX_SEGMENTS) {
		fail(ENDLESS, "%u switches and no end", MAX_SEGMENTS);
		return;
	}
	if (run.done.n < MAX_DECISIONS)
		run.done.d[run.done.n++] = d;
	g->actor = d.actor;
	g->from = g->to = ctl->n_points;
	g->runnable = runnable();
	g->alive = alive();
	g->hash = whole_hash();
	g->by_default = by_default;
	g->killed = d.kind != GO;
	if (!(d.kind == GO ? g->runnable : g->alive | walk_done) >> d.actor) {
		run.verdict = VOID;
		return;
	}
	if (!((d.kind == GO ? g->runnable : g->alive) & 1u << d.actor)) {
		run.verdict = VOID;
		return;
	}
	run.n_segments++;
	if (d.kind == KILL) {
		kill_actor(d.actor);
	} else if (d.kind == WALK) {
		buffer_flush(a);
		walks[d.actor].entry = 0;
		a->local = mix(a->local, 98);
		walk_on(d.actor, d.n);
	} else if (walk_done & 1u << d.actor) {
		walk_on(d.actor, ~0u);
	} else {
		a->stop_at = d.n == GO_ON ? ~0u : a->steps + d.n;
		a->keep = d.keep;
		give(d.actor);
		if (d.n != GO_ON && a->state != ACTOR_READY &&
			run.verdict == FINE)
			run.verdict = VOID;
	}
	g->to = ctl->n_points;
}

/* Whose time is up first; -1 if nobody waits for time. */
static int next_timeout(void)
{
	int best = -1;
	u32 i;

	for (i = 0; i < run.n_actors; i++) {
		struct actor *a = &ctl->actors[i];

		if (a->state == ACTOR_SPINNING)
			a->deadline = ctl->now + 1;
		else if ((a->state != ACTOR_BLOCKED &&
				 a->state != ACTOR_NAPPING) ||
			 !a->deadline)
			continue;
		if (best < 0 || a->deadline < ctl->actors[best].deadline)
			best = (int)i;
	}
	return best;
}

/* A sleeper on its own word, which is nobody's; else somebody in the middle of
 * something. Whether it still stands in a queue the judge finds out: what a
 * dead waker had not committed does not count. */
static int sleeps_in_queue(u32 i)
{
	const struct actor *a = &ctl->actors[i];
	u64 off = a->words[0] - THREADS_OFF;
	struct thread *th;

	if (a->state != ACTOR_BLOCKED || !a->n_words ||
		a->words[0] < THREADS_OFF || a->words[0] >= EVENTS_OFF)
		return 0;
	th = region_thread(&driver.region, (u32)(off / THREAD_STRIDE));
	return th->tid == a->pid && th->waiter.word == SYS_WAITERS &&
	       region_off(&driver.region, &th->waiter.word) == a->words[0];
}

static int everybody_rests(void)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].state &&
			ctl->actors[i].state != ACTOR_DONE &&
			ctl->actors[i].state != ACTOR_DEAD &&
			!sleeps_in_queue(i))
			return 0;
	return 1;
}

static int describe_stuck(char *buf, u32 cap)
{
	u32 i, n = 0;

	for (i = 0; i < run.n_actors && n < cap; i++) {
		const struct actor *a = &ctl->actors[i];

		if (!a->state || a->state == ACTOR_DONE ||
			a->state == ACTOR_DEAD || sleeps_in_queue(i))
			continue;
		n += snprintf(buf + n, cap - n, " %c (state %u) on %lx = %x;",
			letter(i), a->state, (long)a->words[0],
			a->n_words && a->words[0] < REGION_SIZE
				? *(u32 *)(explore_base + a->words[0])
				: 0);
	}
	return (int)n;
}

static void play_first(void)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++) {
		struct actor *a = &ctl->actors[i];

		if (!(run.scn->actors[i].flags & ACTOR_FIRST))
			continue;
		give(i);
		while (a->state == ACTOR_READY || a->state == ACTOR_SPINNING)
			give(i);
		if (a->state != ACTOR_BLOCKED && a->state != ACTOR_DONE)
			fail(STUCK, "%c did not come to rest first", letter(i));
	}
}

void run_schedule(
	const struct schedule *s, int (*chooser)(u32, u32, struct decision *))
{
	u32 i, fires = 0, vain = 0, last = 0, mask, points = 0;
	struct decision d;
	int who;

	image_scan();
	image_restore();
	ctl->n_points = 0;
	ctl->memory = 0;
	ctl->now = CLOCK_START;
	ctl->failure[0] = 0;
	ctl->n_actors = run.n_actors;
	if (run.scn->reset)
		run.scn->reset();
	walk_done = 0;
	run.n_segments = 0;
	run.done.n = 0;
	run.verdict = FINE;
	run.text[0] = 0;
	for (i = 0; i < run.n_actors; i++)
		begin(i);
	for (i = 0; i < run.n_actors; i++)
		start(i);
	ctl->memory = 0;
	play_first();
	for (i = 0; i < s->n && run.verdict == FINE; i++)
		do_decision(s->d[i], 0);
	run.n_explicit = run.done.n;
	if (s->n && s->d[s->n - 1].kind != KILL)
		last = s->d[s->n - 1].actor;
	while (run.verdict == FINE) {
		mask = runnable();
		if (mask) {
			if (chooser && chooser(mask, alive(), &d)) {
				do_decision(d, 1);
				last = d.actor;
				continue;
			}
			if (!(mask & 1u << last))
				last = (u32)__builtin_ctz(mask);
			do_decision((struct decision){GO, last, GO_ON, 0}, 1);
			if (ctl->n_points > points + 12)
				vain = 0;
			points = ctl->n_points;
			continue;
		}
		if (everybody_rests() &&
			!judge(fires >= MAX_FIRES || vain >= VAIN_FIRES))
			break;
		who = next_timeout();
		if (who < 0 || fires >= MAX_FIRES || vain >= VAIN_FIRES) {
			if (everybody_rests()) {
				judge(1);
			} else {
				char buf[256] = "";

				describe_stuck(buf, sizeof(buf));
				fail(STUCK, "nobody can go on:%s", buf);
			}
			break;
		}
		fires++;
		vain++;
		fire((u32)who);
	}
	end_all();
}

void run_setup(const struct scenario *scn)
{
	struct region_options opt = {
		.idx_bits = IDX_BITS_NORMAL, .profile = LIMITS_ROOMY};
	char why[256];
	u32 i;

	limits_init(&opt.limits, opt.profile, opt.idx_bits);
	if (driver.region.base)
		munmap(driver.region.base, REGION_SIZE);
	memset(ctl, 0, sizeof(*ctl));
	ctl->now = CLOCK_START;
	run.scn = scn;
	for (i = 0; i < MAX_ACTORS && scn->actors[i].calls[0].op; i++)
		;
	run.n_actors = i;
	unlink(registry);
	driver = (struct caller){.cred = &cred};
	if (region_map(&driver.region, registry, &opt, why, sizeof(why))) {
		fprintf(stderr, "explore: %s\n", why);
		exit(2);
	}
	image_begin(registry);
	explore_base = driver.region.base;
	caller_refresh(&driver);
	parent_robust = driver.robust;
	if (caller_enroll(&driver)) {
		fprintf(stderr, "explore: cannot enrol\n");
		exit(2);
	}
	scn->setup(&driver);
	image_save();
	judge_init();
}

void run_init(void)
{
	snprintf(registry, sizeof(registry), "%s/registry", explore_dir);
	ctl = mmap(NULL, sizeof(*ctl), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void run_deinit(void)
{
	unlink(registry);
}
