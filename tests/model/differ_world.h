// SPDX-License-Identifier: MIT
/*
 * differ_world.h: the controller's half: actors are started, commanded one at a
 * time and ended, and after each step the controller waits until every actor is
 * asleep: idle, or in the call that it was given.
 *
 * That all sleep is seen without a fixed time: the state and the number of
 * voluntary switches of each are read in two rounds. Who was asleep in both and
 * did not switch in between slept all the time, so at the end of the first
 * round all slept at once, and nobody was left to wake another. Who sleeps in a
 * call that ends by itself (nanosleep, membarrier) is still on its way.
 */
#ifndef DIFFER_WORLD_H
#define DIFFER_WORLD_H

#include "differ_actor.h"

#include <sched.h>
#include <sys/prctl.h>

#define LIMIT_MS 30000 /* beyond it a step hangs; it takes some 100 us */

struct asleep {
	bool sleeps, gone;
	long switches;
};

struct life {
	bool alive, pending; /* pending: a step whose end is not yet written */
	int process;
	int status_fd, call_fd, pid_fd;
	struct asleep asleep; /* when all were asleep last */
	bool ran;	      /* since they were before */
	uint32_t n_notified;  /* of the process that began in the slot */
};

static struct life lives[ACTORS];
static long step_no;

static _Noreturn void give_up(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "differ: step %ld: %s: %s\n", step_no, what,
		errno ? strerror(errno) : "-");
	exit(3);
}

static long long clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void bell_await(uint32_t seen, long us)
{
	struct timespec t = {0, us * 1000};

	syscall(SYS_futex, &shared->bell, FUTEX_WAIT, seen, &t, NULL, 0);
}

/* --- who sleeps -------------------------------------------------------- */

static long field_of(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtol(p + strlen(name), NULL, 10) : -1;
}

static struct asleep asleep_read(int i)
{
	struct asleep a = {false, false, -1};
	char text[4096], *state;
	ssize_t n = pread(lives[i].status_fd, text, sizeof(text) - 1, 0);

	a.gone = n <= 0;
	if (a.gone)
		return a;
	text[n] = 0;
	state = strstr(text, "\nState:\t");
	a.sleeps = state && state[8] == 'S';
	a.gone = state && (state[8] == 'Z' || state[8] == 'X');
	a.switches = field_of(text, "\nvoluntary_ctxt_switches:");
	return a;
}

/* Is its sleep one that others end? Where that cannot be seen: yes. */
static bool sleep_lasts(int i)
{
	static const long passing[] = {SYS_nanosleep, SYS_clock_nanosleep,
		SYS_membarrier, SYS_sched_yield};
	char text[256];
	ssize_t n = pread(lives[i].call_fd, text, sizeof(text) - 1, 0);
	long nr;

	if (n <= 0)
		return true;
	text[n] = 0;
	if (text[0] < '0' || text[0] > '9')
		return false;
	nr = strtol(text, NULL, 10);
	for (size_t p = 0; p < sizeof(passing) / sizeof(passing[0]); p++)
		if (nr == passing[p])
			return false;
	return true;
}

static bool step_ended(int i)
{
	return atomic_load(&shared->actors[i].go) ==
	       atomic_load(&shared->actors[i].done);
}

static bool wait_is_short(long wait)
{
	return wait == WAIT_NOT || wait == WAIT_SHORT;
}

/* A short sleep is no sleep: its end belongs to the step. The kernel sleeps for
 * a moment with a timeout of 0, too. */
static bool sleep_is_short(const struct step *s)
{
	return (s->verb == SEMOP && wait_is_short(s->arg[1])) ||
	       (s->verb == MQSEND && wait_is_short(s->arg[3])) ||
	       (s->verb == MQRECV && wait_is_short(s->arg[1]));
}

static void life_forget(int i)
{
	struct life *l = &lives[i];

	if (!l->alive)
		return;
	close(l->status_fd);
	close(l->call_fd);
	close(l->pid_fd);
	l->alive = l->pending = false;
}

/* One that nobody has ended. */
static void death_tell(int i)
{
	printf("  A%d DIED\n", i);
	life_forget(i);
}

static bool all_sleep(struct asleep *ret_all)
{
	for (int i = 0; i < ACTORS; i++) {
		if (!lives[i].alive)
			continue;
		if (!step_ended(i) && sleep_is_short(&shared->actors[i].step))
			return false;
		ret_all[i] = asleep_read(i);
		if (ret_all[i].gone)
			death_tell(i);
		if (!ret_all[i].sleeps)
			return false;
	}
	return true;
}

static bool pending_last(void)
{
	for (int i = 0; i < ACTORS; i++)
		if (lives[i].alive && !step_ended(i) && !sleep_lasts(i))
			return false;
	return true;
}

/* True if all were asleep at one moment during the call. */
static bool world_quiet(void)
{
	struct asleep first[ACTORS], second[ACTORS];

	if (!all_sleep(first) || !pending_last() || !all_sleep(second))
		return false;
	for (int i = 0; i < ACTORS; i++)
		if (lives[i].alive && first[i].switches != second[i].switches)
			return false;
	for (int i = 0; i < ACTORS; i++) {
		if (!lives[i].alive)
			continue;
		lives[i].ran = lives[i].asleep.switches != first[i].switches;
		lives[i].asleep = first[i];
	}
	return true;
}

static void hang_tell(void)
{
	for (int i = 0; i < ACTORS; i++)
		if (lives[i].alive)
			fprintf(stderr, "differ: actor %d (%d) %s, %s\n", i,
				shared->actors[i].tid,
				asleep_read(i).sleeps ? "sleeps" : "runs",
				step_ended(i) ? "idle" : "in its call");
}

/* Dies once it has lasted too long. */
static void patience(long long since_us, const char *what)
{
	if (clock_us() - since_us < LIMIT_MS * 1000LL)
		return;
	printf("  HANG %s\n", what);
	hang_tell();
	errno = 0;
	give_up(what);
}

/* actor: who was commanded; -1: nobody was. */
static void quiet_await(int actor)
{
	long long since = clock_us();

	for (int tries = 0;; tries++) {
		uint32_t seen = atomic_load(&shared->bell);

		if (actor >= 0 && lives[actor].alive && !step_ended(actor))
			bell_await(seen, tries < 5 ? 60 : 300);
		else if (tries)
			sched_yield();
		if (world_quiet())
			return;
		patience(since, "an actor neither ends its call nor sleeps");
	}
}

/* --- lives --------------------------------------------------------------- */

static int proc_open(int i, const char *name)
{
	struct actor *a = &shared->actors[i];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)a->pid,
		(int)a->tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* After its actor was born, or has a new image. */
static void life_watch(int i)
{
	struct life *l = &lives[i];
	struct actor *a = &shared->actors[i];

	life_forget(i);
	l->process = a->process;
	l->status_fd = proc_open(i, "status");
	l->call_fd = proc_open(i, "syscall");
	l->pid_fd = (int)syscall(SYS_pidfd_open, a->pid, 0);
	if (l->status_fd < 0 || l->pid_fd < 0)
		give_up("an actor cannot be watched");
	l->alive = true;
}

/* Before a new actor may run in the slot. */
static uint32_t life_prepare(int i)
{
	struct actor *a = &shared->actors[i];

	atomic_store(&a->done, atomic_load(&a->go));
	return atomic_load(&a->born);
}

static void born_await(int i, uint32_t before)
{
	long long since = clock_us();
	uint32_t seen;

	for (;;) {
		seen = atomic_load(&shared->bell);
		if (atomic_load(&shared->actors[i].born) != before)
			break;
		bell_await(seen, 1000);
		patience(since, "a new actor does not begin");
	}
	life_watch(i);
}

static void actor_start(int i)
{
	uint32_t before = life_prepare(i);
	pid_t controller = getpid(), pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != controller)
			_exit(0);
		for (int j = 0; j < SLOTS; j++)
			mq_of[j] = -1;
		process_begin(i);
		actor_born(i);
		actor_run(i, atomic_load(&shared->actors[i].go));
		_exit(0);
	}
	born_await(i, before);
}

static int n_alive_in(int process)
{
	int n = 0;

	for (int i = 0; i < ACTORS; i++)
		n += lives[i].alive && lives[i].process == process;
	return n;
}

/* Until the process is gone, with all that its end does. */
static void process_await(int i)
{
	struct pollfd p = {.fd = lives[i].pid_fd, .events = POLLIN};
	int process = lives[i].process;

	errno = 0;
	if (poll(&p, 1, LIMIT_MS) != 1)
		give_up("a process does not end");
	for (int j = 0; j < ACTORS; j++)
		if (lives[j].process == process)
			life_forget(j);
}

static void thread_await(int i)
{
	long long since = clock_us();
	char text[256];
	ssize_t n;

	for (;;) {
		n = pread(lives[i].status_fd, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = 0;
		if (n <= 0 || strstr(text, "State:\tZ") ||
			strstr(text, "State:\tX"))
			break;
		sched_yield();
		patience(since, "a thread does not end");
	}
	life_forget(i);
}

static void actor_command(int i, const struct step *s)
{
	struct actor *a = &shared->actors[i];

	a->step = *s;
	lives[i].pending = true;
	atomic_fetch_add(&a->go, 1);
	futex_wake(&a->go);
}

static void stopped_await(int i)
{
	long long since = clock_us();
	char text[256];
	ssize_t n;

	do {
		n = pread(lives[i].status_fd, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = 0;
		patience(since, "a process does not stop");
	} while (!strstr(text, "State:\tT"));
}

static void process_stop(int i)
{
	kill(shared->actors[i].pid, SIGSTOP);
	for (int j = 0; j < ACTORS; j++)
		if (lives[j].alive && lives[j].process == lives[i].process)
			stopped_await(j);
	kill(shared->actors[i].pid, SIGCONT);
}

/* --- what the kernel leaves open ------------------------------------------ */

static const struct step *sleeper_step(int i)
{
	return lives[i].alive && lives[i].pending ? &shared->actors[i].step
						  : NULL;
}

/* Those of queue q that were asleep and have run. */
static int n_ran(long q, bool receivers)
{
	int n = 0;

	for (int i = 0; i < ACTORS; i++) {
		const struct step *s = sleeper_step(i);

		n += s && lives[i].ran && s->arg[0] == q &&
		     (s->verb == MSGSND || (receivers && s->verb == MSGRCV));
	}
	return n;
}

static int n_stopped(int process)
{
	int n = 0;

	for (int i = 0; i < ACTORS; i++) {
		const struct step *s = sleeper_step(i);

		n += s && lives[i].process == process && s->verb >= MSGGET;
	}
	return n;
}

/*
 * Did the scheduler decide, and not the order of sleepers? Senders that are let
 * go at once compete; receivers that msgctl(IPC_SET) wakes queue again, and
 * calls that a stop interrupts begin again, in the order in which they happen
 * to run.
 */
static bool kernel_was_free(const struct step *s)
{
	if (s->verb == MSGRM)
		return false;
	if (s->verb == STOP && n_stopped(lives[s->actor].process) > 1)
		return true;
	for (int q = 0; q < OBJECTS; q++)
		if (n_ran(q, s->verb == MSGSET) > 1)
			return true;
	return false;
}

#endif
