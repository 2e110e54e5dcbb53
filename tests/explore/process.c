// SPDX-License-Identifier: MIT
/*
 * The actors as processes and threads of the kernel: forked anew for each run
 * with fixed process ids, in a pid namespace whose first process is this one;
 * killed by SIGKILL, or ended by themselves.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "run.h"
#include "entry/process.h"
#include "object/sleep.h"
#include "registry/identity.h"
#include "shm/shmfork.h"

/* Arbitrary; the same in each run. Neighbours, so that their tasks share a
 * page. */
#define FIRST_PID 200u

static __thread u32 own_idx; /* of the actor that this thread is */

pid_t process_of(const struct actor *a)
{
	return (pid_t)ctl->actors[a->leader].pid;
}

void process_signal(const struct actor *a, int sig)
{
	raw_syscall(SYS_tgkill, process_of(a), (long)a->pid, sig, 0, 0, 0);
}

void process_wait(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0)
		;
}

static u32 process_mask(u32 leader)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].leader == leader)
			mask |= 1u << i;
	return mask;
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

static void launch(u32 i);

/* The same where the number was a thread's, which the kernel frees a moment after
 * the thread is gone from /proc. Arbitrary: a second or so. */
#define TRIES 1000000u
static pid_t clone_reusing(u32 pid)
{
	pid_t child;
	u32 i = 0;

	do {
		child = clone_as(pid, 0);
	} while (child < 0 && errno == EEXIST && ++i < TRIES && !sched_yield());
	return child;
}

static int is_next(u32 i)
{
	return i < run.n_actors && (run.scn->actors[i].flags & ACTOR_NEXT);
}

u32 run_next_image(u32 leader)
{
	u32 k;

	for (k = 0; k < run.n_actors; k++)
		if (ctl->actors[k].leader == leader && is_next(k + 1) &&
			(run.scn->actors[k].flags & ACTOR_EXECS))
			return k + 1;
	return MAX_ACTORS;
}

/* Somebody with the number of an actor that is gone: whichever thread calls
 * exec, the new program has its process's. */
static void succeed(u32 i)
{
	u32 flags = run.scn->actors[i].flags;
	struct actor *a = &ctl->actors[i];
	pid_t pid;

	if (!(flags & (ACTOR_REUSED | ACTOR_EXECS)))
		return;
	/* A thread that has ended before its process. */
	if (a->succeeded)
		return;
	if (is_next(i + 1)) {
		if (!ctl->actors[i + 1].state)
			launch(i + 1);
		return;
	}
	if (flags & ACTOR_EXECS)
		a = &ctl->actors[a->leader];
	pid = clone_reusing(a->pid);
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
void process_died(u32 i)
{
	u32 k, mask = process_mask(ctl->actors[i].leader);

	end_child();
	for (k = 0; k < run.n_actors; k++) {
		struct actor *a = &ctl->actors[k];

		if (!(mask & 1u << k))
			continue;
		a->state = ACTOR_DEAD;
		a->stopped = 0;
		a->died = 2 * ctl->n_points + 2;
		a->local = mix(a->local, 99);
	}
	for (k = 0; k < run.n_actors; k++)
		if (mask & 1u << k)
			succeed(k);
}

static void each_thread(u32 i, void (*fn)(struct actor *a))
{
	u32 k, mask = process_mask(ctl->actors[i].leader);

	for (k = 0; k < run.n_actors; k++)
		if (mask & 1u << k)
			fn(&ctl->actors[k]);
}

void process_kill(u32 i)
{
	pid_t pid = process_of(&ctl->actors[i]);

	each_thread(i, buffer_flush);
	kill(pid, SIGKILL);
	process_wait(pid);
	process_died(i);
	turn_settle();
}

void process_stop(u32 i)
{
	pid_t pid = process_of(&ctl->actors[i]);

	each_thread(i, buffer_flush);
	each_thread(i, stops_begin);
	kill(pid, SIGSTOP);
	while (waitpid(pid, NULL, WUNTRACED) < 0)
		;
}

void process_continue(u32 i)
{
	pid_t pid = process_of(&ctl->actors[i]);

	each_thread(i, stops_end);
	kill(pid, SIGCONT);
	while (waitpid(pid, NULL, WCONTINUED) < 0)
		;
	turn_settle();
}

/* What /proc says that a thread is doing; 0: it is not there any more. */
char process_state(const struct actor *a)
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
void process_ends(u32 i)
{
	struct actor *a = &ctl->actors[i];
	u32 k, others = 0;
	char state;

	for (k = 0; !a->ends_all && k < run.n_actors; k++)
		others |= k != i && ctl->actors[k].leader == a->leader &&
			  ctl->actors[k].state &&
			  ctl->actors[k].state != ACTOR_DEAD;
	if (!others) {
		process_wait(process_of(a));
		process_died(i);
		return;
	}
	do {
		sched_yield();
		state = process_state(a);
	} while (state && state != 'Z');
	a->state = ACTOR_DEAD;
	a->local = mix(a->local, 97);
	/* A first thread's number is its process's. */
	if (a->leader != i)
		succeed(i);
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

/* ---- actors ---- */

/* 0 in the child of a handler that came here: it has not begun it. */
static int begin(struct actor *a, u32 call)
{
	actor_begin(call);
	if (a != &ctl->actors[own_idx])
		return 0;
	a->calls[call].begun = 2 * ctl->n_points + 1;
	return 1;
}

static void end(struct actor *a, u32 call, s64 result, const s64 *out)
{
	a->calls[call].result = result;
	memcpy(a->calls[call].out, out, sizeof(a->calls[call].out));
	a->calls[call].ended = 2 * ctl->n_points + 2;
}

static void play(u32 i, struct caller *c)
{
	const struct actor_def *def = &run.scn->actors[i];
	struct actor *a = &ctl->actors[i];
	u32 k;

	actor_arm(i);
	for (k = 0; k < MAX_CALLS && def->calls[k].op; k++) {
		s64 out[CALL_OUT] = {0}, result;

		if (begin(a, k)) {
			a->n_calls = k + 1;
			result = call_make(c, &def->calls[k], out);
			if (a == &ctl->actors[own_idx]) {
				end(a, k, result, out);
				continue;
			}
			end(&ctl->actors[own_idx], INHERITED, result, out);
		}
		/* The handler has forked, and we are the child. */
		a = &ctl->actors[own_idx];
		def = &run.scn->actors[own_idx];
		k = ~0u;
	}
	actor_disarm();
}

/* The program's, in the midst of whatever call: makes one more. */
static void on_signal(int sig)
{
	struct actor *a = &ctl->actors[own_idx];
	s64 out[CALL_OUT] = {0}, result;

	(void)sig;
	a->calls_then = a->n_calls;
	begin(a, HANDLER);
	result = call_make(
		&process_caller, &run.scn->actors[own_idx].handler, out);
	if (a == &ctl->actors[own_idx])
		end(a, HANDLER, result, out);
}

static void use_own_list(struct actor *a)
{
	static struct sys_robust_head unused = {.next = &unused};

	run_robust->next = run_robust;
	run_robust->pending = NULL;
	sys_set_robust_list(a->no_list ? &unused : run_robust);
	a->robust = (uintptr_t)run_robust;
}

static __attribute__((noreturn)) void play_and_stay(u32 i, struct caller *c)
{
	play(i, c);
	if (run.scn->actors[own_idx].flags & ACTOR_EXITS) {
		actor_arm(own_idx);
		actor_leave();
	}
	for (;;) {
		actor_arm(own_idx);
		actor_park(ACTOR_DONE);
	}
}

/* Make the running thread an actor that is ready for its first call. */
static void prepare(u32 i, struct caller *c)
{
	const struct actor_def *def = &run.scn->actors[i];

	static u32 image_found;

	c->task = c->thread = 0;
	c->generation = process_page.generation = 1;
	if (def->flags & ACTOR_NEXT) {
		identity_forget();
		image_found = 0;
		c->image_found = &image_found;
	}
	caller_refresh(c);
	if (def->flags & ACTOR_NO_LIST) {
		c->robust = run_robust;
		c->robust_refused = 1;
	}
	caller_slept = sleep_remove_dead;
	caller_unmarked = sleep_need_timers;
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
	struct caller *c = &process_caller;

	if (raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0) != ctl->actors[i].pid) {
		tell_ready(OTHER_NUMBER);
		return NULL;
	}
	own_idx = i;
	*c = driver;
	/* Its list is its libc's, which has registered it. */
	prepare(i, c);
	ctl->actors[i].robust = (uintptr_t)c->robust;
	actor_arm(i);
	tell_ready(i + 1);
	actor_born();
	actor_disarm();
	play_and_stay(own_idx, c);
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
	struct caller *c = &process_caller;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	use_own_list(a);
	own_idx = i;
	sigaction(SIGUSR1, &sa, NULL);
	/* No answer from within the handler of a signal that came before. */
	sigaddset(&sa.sa_mask, SIGUSR1);
	sigaction(SIGUSR2, &sa, NULL);
	handler_install(
		on_signal, (run.scn->actors[i].flags & ACTOR_RESTARTS) != 0);
	*c = driver;
	prepare(i, c);
	start_threads(i);
	actor_arm(i);
	actor_park(ACTOR_READY);
	actor_disarm();
	/* A child's, if the handler came here and forked. */
	play_and_stay(own_idx, c);
}

/* ---- an actor that another makes ---- */

static struct shm_fork child_fork; /* as prepared */

/* As entry/process.c has it. */
void run_take_over(struct caller *c)
{
	identity_forget();
	process_page.generation = c->generation + 1;
	caller_refresh(c);
	c->generation = process_page.generation;
	if (c->shm)
		shm_fork_child(c, &child_fork);
}

/* As entry/fork.c has it. */
static void child_main(u32 i, struct caller *c)
{
	struct actor *a = &ctl->actors[i];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	own_idx = i;
	use_own_list(a);
	actor_arm(i);
	actor_born();
	process_page.generation = 0; /* it is wiped */
	if (!(run.scn->actors[i].flags & ACTOR_RETURNS)) {
		run_take_over(c);
		play_and_stay(i, c);
	}
	if (a->parent_call < MAX_CALLS)
		begin(a, INHERITED);
	if (c->shm && (child_fork.task || shm_fork_concerns(c->shm)))
		run_take_over(c);
}

s64 run_fork(struct caller *c, u32 i, int slow)
{
	struct actor *self = &ctl->actors[own_idx];
	u32 call = actor_call(self);
	struct caller *attached = NULL; /* as in entry/fork.c */
	struct shm_forking *fork = NULL;
	struct shm_fork f = {0, 0};
	pid_t child;

	if (c->shm) {
		fork = shm_fork_begin(c->shm);
		if (slow && fork)
			fork->since_ns = 0;
		if (shm_fork_concerns(c->shm)) {
			attached = c;
			shm_fork_prepare(c, fork, &f);
		}
	}
	actor_point();
	ctl->actors[i].parent = own_idx;
	ctl->actors[i].parent_call =
		self->n_calls && actor_within(self, self->n_calls - 1)
			? self->n_calls - 1
			: MAX_CALLS;
	child = clone_as(ctl->actors[i].pid, CLONE_PARENT);
	if (child == 0) {
		child_fork = f;
		child_main(i, c);
		return 0;
	}
	if (child > 0) {
		self->calls[call].must = 1;
		/* It has the memory that there was; and behind it is another
		 * state than in front of it. */
		ctl->actors[i].local = mix(mix(self->local, 55), ctl->memory);
		self->local = mix(self->local, 56);
		ctl->actors[i].state = ACTOR_READY;
	}
	if (fork) {
		if (shm_fork_over(c->shm, fork))
			attached = c;
		if (attached && caller_enroll(attached))
			attached = NULL;
		if (attached)
			f = shm_fork_result(attached, fork);
		shm_fork_end(c->shm, fork);
	}
	if (f.task && attached)
		shm_fork_parent(attached, &f, child);
	return child;
}

static void launch(u32 i)
{
	struct actor *a = &ctl->actors[i];
	struct sys_timespec slice = {1, 0};
	pid_t pid;
	int status;

	ctl->baton = 0;
	pid = clone_reusing(a->pid);
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
				run.scn->name, run_letter(i), status);
			exit(2);
		}
	}
}

void process_start(u32 i)
{
	if (!(run.scn->actors[i].flags &
		    (ACTOR_CHILD | ACTOR_THREAD | ACTOR_NEXT)))
		launch(i);
}

void process_begin(u32 i)
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
	a->no_list = (def->flags & ACTOR_NO_LIST) != 0;
	a->tso = (def->flags & ACTOR_TSO) != 0;
	a->ends_all = (def->flags & (ACTOR_EXECS | ACTOR_ENDS)) != 0;
	a->robust = (uintptr_t)run_robust;
	if (def->flags & ACTOR_NEXT) {
		const struct actor *was = &ctl->actors[i - 1];
		int execs = (run.scn->actors[i - 1].flags & ACTOR_EXECS) != 0;

		if (execs)
			was = &ctl->actors[was->leader];
		a->pid = was->pid;
		a->start = was->start;
		/* Another fork child of the same program has the same stack. */
		if (execs)
			a->stack -= 0x10000;
		else
			a->start += 1000;
	}
	/* In ticks of 10 ms: not before its parent's fork. */
	if (def->flags & ACTOR_CHILD)
		a->start += CLOCK_START / 10000000;
}

/* The process that actor i leads, or who has its number. */
static int is_there(u32 i)
{
	const struct actor *a = &ctl->actors[i];

	return a->succeeded || (a->leader == i && a->state && !a->died);
}

void process_end_all(void)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		if (is_there(i))
			kill((pid_t)ctl->actors[i].pid, SIGKILL);
	for (i = 0; i < run.n_actors; i++)
		if (is_there(i))
			process_wait((pid_t)ctl->actors[i].pid);
	end_child();
}
