// SPDX-License-Identifier: MIT
/*
 * sem_signal_storm: signal handlers that call what they interrupt.
 *
 *	sem_signal_storm [--signals N] [--threads T] [--seed S]
 *
 * One process (the target) makes semaphore calls without end: single and
 * multi-operation semop with and without SEM_UNDO, blocking ones, semctl,
 * semget and IPC_RMID. Another sends it N real-time signals by sigqueue, in
 * turn to a handler with SA_RESTART and one without, and now and then SIGUSR1
 * by kill (a signal(2) handler); an interval timer sends SIGALRM. Every
 * handler makes such calls too, on the same set and on others, and they nest.
 * On the kernel this works. Checked:
 *
 * - It ends: ten seconds without progress count as a deadlock.
 * - Every real-time signal comes once, with si_code SI_QUEUE, its sender, and
 *   its value; in the order of sending while the target has one thread.
 * - sigaction() shows the handlers that were set, before the first call of
 *   IPC and after.
 * - Every +1 had its -1: all semaphores are 0 at the end, before the target
 *   exits and after. The target's blocking -1 took exactly what a third process
 *   has posted; interrupted ones took nothing.
 *
 * Prints one line; the exit status is 1 if any of that is wrong.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/time.h>

/* the set all meet on; semaphore 3 is only posted to and taken from */
#define N_SEMS 4
#define POSTED 3
#define THREADS_MAX 16
#define TIMER_US 700 /* arbitrary, not a divisor of anything here */
#define N_KINDS 2    /* real-time signals: without and with SA_RESTART */
#define AHEAD_MAX 4  /* sent and not handled: the target must also run */
#define KEY_BASE 0x516e

struct shared {
	volatile pid_t target; /* once its handlers are set */
	volatile int stop, drained;
	_Atomic uint32_t violations;
	volatile uint64_t progress; /* calls of the main loops, roughly */
	_Atomic uint64_t handled[N_KINDS];
	_Atomic uint64_t value_sum[N_KINDS];
	_Atomic uint64_t others, nested, interrupted, taken, n_calls;
	uint64_t sent[N_KINDS], sent_sum[N_KINDS], posted;
	struct watchdog dog;
};

static struct shared *sh;
static int set_id, other_id, scratch_id;
static pid_t sender_pid;
static long n_signals = 1000000, n_threads = 1, seed = 1;
static _Thread_local volatile sig_atomic_t depth;
static _Thread_local struct storm_rng handler_rng;
static uint64_t next_value[N_KINDS]; /* of a target with one thread */

static void violation(const char *what, long a, long b)
{
	int err = errno;
	char line[160];
	int n = snprintf(line, sizeof(line), "violation: %s (%ld, %ld, %s)\n",
		what, a, b, strerror(err));

	/* a handler may not use stdio; and ten of a kind are enough */
	if (sh->violations++ < 10 && write(2, line, n) < 0)
		return;
}

/* --- calls that leave everything as it was -------------------------- */

static int both_sets(struct storm_rng *r)
{
	return storm_random(r, 3) ? set_id : other_id;
}

/* never blocks: what goes down was put up here just before */
static void pair_single(struct storm_rng *r, short flg)
{
	unsigned short num = (unsigned short)storm_random(r, POSTED);
	struct sembuf up = {num, 1, flg}, down = {num, -1, flg};
	int id = both_sets(r);

	if (semop(id, &up, 1) || semop(id, &down, 1))
		violation("semop", id, num);
}

static void pair_multi(struct storm_rng *r, short flg)
{
	struct sembuf up[3] = {{0, 1, flg}, {1, 2, flg}, {2, 1, flg}};
	struct sembuf down[4] = {
		{2, -1, flg}, {0, -1, flg}, {1, -1, flg}, {1, -1, flg}};
	int id = both_sets(r);

	if (semop(id, up, 3) || semop(id, down, 4))
		violation("multi semop", id, flg);
}

static void look(struct storm_rng *r)
{
	unsigned short value[N_SEMS];
	struct semid_ds ds;
	int id = both_sets(r);

	if (semctl(id, 0, GETALL, value) || semctl(id, 0, IPC_STAT, &ds) ||
		semctl(id, (int)storm_random(r, N_SEMS), GETVAL) < 0 ||
		semctl(id, 0, GETNCNT) < 0 || semctl(id, 1, GETPID) < 0)
		violation("semctl", id, 0);
	if (ds.sem_nsems != N_SEMS)
		violation("sem_nsems", (long)ds.sem_nsems, N_SEMS);
}

/* a set of its own: SETVAL would spoil the sums of the others */
static void set_values(struct storm_rng *r)
{
	unsigned short value[N_SEMS] = {5, 6, 7, 8};

	if (semctl(scratch_id, 1, SETVAL, (int)storm_random(r, 100)) ||
		semctl(scratch_id, 0, SETALL, value))
		violation("SETVAL", scratch_id, 0);
}

static void come_and_go(struct storm_rng *r)
{
	/* keys collide with those of nested handlers and threads: then the
	 * set is somebody else's, who will remove it */
	key_t key = storm_random(r, 2) ? IPC_PRIVATE
				       : (key_t)(KEY_BASE + storm_random(r, 8));
	int id = semget(key, 2, IPC_CREAT | IPC_EXCL | 0600);
	struct sembuf up = {1, 1, SEM_UNDO};

	if (id < 0) {
		if (errno != EEXIST)
			violation("semget", key, 0);
		return;
	}
	if (semop(id, &up, 1) || semctl(id, 0, IPC_RMID))
		violation("IPC_RMID", id, 0);
}

static void calls_make(struct storm_rng *r)
{
	switch (storm_random(r, 8)) {
	case 0:
	case 1:
		pair_single(r, 0);
		break;
	case 2:
		pair_single(r, SEM_UNDO);
		break;
	case 3:
		pair_multi(r, 0);
		break;
	case 4:
		pair_multi(r, SEM_UNDO);
		break;
	case 5:
		look(r);
		break;
	case 6:
		set_values(r);
		break;
	case 7:
		come_and_go(r);
		break;
	}
}

/* takes one of the posted, or is interrupted, or gives up after 1 ms */
static void take_posted(void)
{
	struct sembuf down = {POSTED, -1, 0};
	struct timespec ms = {0, 1000000};

	if (!semtimedop(set_id, &down, 1, &ms))
		sh->taken++;
	else if (errno == EINTR)
		sh->interrupted++;
	else if (errno != EAGAIN)
		violation("semtimedop", set_id, 0);
}

/* Nobody posts there: it is interrupted or gives up, and undoes nothing. */
static void wait_in_vain(void)
{
	struct sembuf ops[2] = {{0, 1, SEM_UNDO}, {POSTED, -1, SEM_UNDO}};
	struct timespec wait = {0, 200000};

	if (!semtimedop(other_id, ops, 2, &wait))
		violation("a call that must block did not", other_id, 0);
	else if (errno == EINTR)
		sh->interrupted++;
	else if (errno != EAGAIN)
		violation("semtimedop", other_id, 0);
}

/* --- handlers ------------------------------------------------------- */

static void handler_calls(void)
{
	int err = errno;

	if (depth++)
		sh->nested++;
	if (!handler_rng.state)
		storm_seed(&handler_rng, (uint64_t)seed,
			(uint64_t)(uintptr_t)&depth);
	calls_make(&handler_rng);
	depth--;
	errno = err;
}

static void on_queued(int sig, siginfo_t *si, void *context)
{
	int kind = sig - SIGRTMIN;
	uint64_t value = (uint32_t)si->si_value.sival_int;

	(void)context;
	if (si->si_signo != sig || si->si_code != SI_QUEUE)
		violation("si_code", sig, si->si_code);
	else if (si->si_pid != sender_pid || si->si_uid != getuid())
		violation("si_pid", si->si_pid, sender_pid);
	if (n_threads == 1 && value != next_value[kind]++)
		violation("si_value", (long)value, (long)next_value[kind] - 1);
	sh->value_sum[kind] += value;
	handler_calls();
	sh->handled[kind]++;
}

static void on_other(int sig, siginfo_t *si, void *context)
{
	(void)context;
	if (si->si_signo != sig || si->si_code != SI_KERNEL)
		violation("si_code of the timer", sig, si->si_code);
	sh->others++;
	handler_calls();
}

static void on_plain(int sig)
{
	if (sig != SIGUSR1)
		violation("signal number", sig, SIGUSR1);
	sh->others++;
	handler_calls();
}

static void handler_set(
	int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = {
		.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};

	if (sigaction(sig, &act, NULL))
		storm_die("sigaction");
}

static void handler_check(
	int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	const int known = SA_SIGINFO | SA_RESTART | SA_NODEFER;
	struct sigaction act;

	if (sigaction(sig, NULL, &act) || act.sa_sigaction != fn ||
		(act.sa_flags & known) != (SA_SIGINFO | flags))
		violation("sigaction shows another handler", sig, act.sa_flags);
}

/* --- processes ------------------------------------------------------ */

static void *loop_run(void *arg)
{
	struct storm_rng r;

	storm_seed(&r, (uint64_t)seed, 100 + (uint64_t)(uintptr_t)arg);
	while (!sh->stop) {
		if (storm_random(&r, 32)) {
			calls_make(&r);
		} else if (storm_random(&r, 4)) {
			/* the second one mostly sleeps */
			take_posted();
			take_posted();
		} else {
			wait_in_vain();
		}
		sh->progress++;
		sh->n_calls++;
	}
	return NULL;
}

static bool all_handled(void)
{
	for (int i = 0; i < N_KINDS; i++)
		if (sh->handled[i] != sh->sent[i])
			return false;
	return true;
}

static void zero_check(const char *when)
{
	unsigned short value[N_SEMS];

	for (int i = 0; i < 2; i++) {
		int id = i ? other_id : set_id;

		if (semctl(id, 0, GETALL, value)) {
			violation("GETALL", id, 0);
			continue;
		}
		for (int j = 0; j < POSTED; j++)
			if (value[j])
				violation(when, j, value[j]);
	}
}

static _Noreturn void target_run(void)
{
	struct itimerval timer = {{0, TIMER_US}, {0, TIMER_US}};
	struct itimerval never = {{0, 0}, {0, 0}};
	pthread_t thread[THREADS_MAX];

	/* the other one was set before this program's first IPC call */
	handler_set(SIGRTMIN + 1, on_queued, SA_RESTART);
	handler_set(SIGALRM, on_other, SA_RESTART);
	if (signal(SIGUSR1, on_plain) == SIG_ERR ||
		setitimer(ITIMER_REAL, &timer, NULL))
		storm_die("setitimer");
	for (long i = 1; i < n_threads; i++)
		if (pthread_create(&thread[i], NULL, loop_run, (void *)i))
			storm_die("pthread_create");
	sh->target = getpid();
	loop_run(NULL);
	for (long i = 1; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	handler_check(SIGRTMIN, on_queued, 0);
	handler_check(SIGRTMIN + 1, on_queued, SA_RESTART);
	handler_check(SIGALRM, on_other, SA_RESTART);
	zero_check("a semaphore is not 0");
	_exit(0);
}

/* one signal more; false while the queue is full */
static bool signal_queue(pid_t target, int kind)
{
	union sigval v = {.sival_int = (int)sh->sent[kind]};

	if (sigqueue(target, SIGRTMIN + kind, v)) {
		if (errno != EAGAIN)
			storm_die("sigqueue");
		return false;
	}
	sh->sent_sum[kind] += sh->sent[kind];
	sh->sent[kind]++;
	return true;
}

static _Noreturn void sender_run(void)
{
	struct storm_rng r;

	storm_seed(&r, (uint64_t)seed, 50);
	while (!sh->target)
		sleep_us(100);
	for (long i = 0; i < n_signals && !sh->dog.stuck; i++) {
		int kind = (int)storm_random(&r, N_KINDS);

		while (sh->sent[kind] - sh->handled[kind] >= AHEAD_MAX &&
			!sh->dog.stuck)
			sched_yield();
		while (!signal_queue(sh->target, kind))
			sleep_us(100);
		if (!storm_random(&r, 64))
			kill(sh->target, SIGUSR1);
		for (uint32_t n = storm_random(&r, 3000); n > 0; n--)
			__asm__ volatile("" ::: "memory");
	}
	while (!all_handled() && !sh->dog.stuck)
		sleep_us(200);
	sh->drained = 1;
	_exit(0);
}

/* keeps one unit there, if none is: {wait for zero, +1} */
static _Noreturn void poster_run(void)
{
	struct sembuf post[2] = {{POSTED, 0, 0}, {POSTED, 1, 0}};
	struct timespec wait = {0, 50000000};

	while (!sh->drained)
		if (!semtimedop(set_id, post, 2, &wait))
			sh->posted++;
		else if (errno != EAGAIN)
			violation("posting", set_id, 0);
	_exit(0);
}

static int verdict(void)
{
	int left = semctl(set_id, POSTED, GETVAL);
	bool ok;

	for (int i = 0; i < N_KINDS; i++)
		if (sh->handled[i] != sh->sent[i] ||
			sh->value_sum[i] != sh->sent_sum[i])
			violation("signals lost or doubled",
				(long)sh->handled[i], (long)sh->sent[i]);
	if (sh->posted != sh->taken + left)
		violation("posted and taken differ", (long)sh->posted,
			(long)sh->taken + left);
	ok = !sh->violations && !sh->dog.stuck;
	printf("signals %llu + %llu others, nested %llu, main calls %llu, "
	       "interrupted %llu, posted %llu, taken %llu, longest stall "
	       "%.1f ms, violations %u%s: %s\n",
		(unsigned long long)(sh->handled[0] + sh->handled[1]),
		(unsigned long long)sh->others, (unsigned long long)sh->nested,
		(unsigned long long)sh->n_calls,
		(unsigned long long)sh->interrupted,
		(unsigned long long)sh->posted, (unsigned long long)sh->taken,
		sh->dog.stall_ms, sh->violations,
		sh->dog.stuck ? ", DEADLOCK" : "", ok ? "ok" : "WRONG");
	return ok ? 0 : 1;
}

static const struct option_of options[] = {
	{"signals", .number = &n_signals},
	{"threads", .number = &n_threads},
	{"seed", .number = &seed},
	{0},
};

static void sets_make(void)
{
	set_id = semget(IPC_PRIVATE, N_SEMS, 0600);
	other_id = semget(IPC_PRIVATE, N_SEMS, 0600);
	scratch_id = semget(IPC_PRIVATE, N_SEMS, 0600);
	if (set_id < 0 || other_id < 0 || scratch_id < 0)
		storm_die("semget");
}

int main(int argc, char **argv)
{
	pid_t sender, poster, dog, target;
	int status, ret;

	options_only(argc, argv, options);
	if (n_threads < 1 || n_threads > THREADS_MAX)
		options_wrong(argv);
	handler_set(SIGRTMIN, on_queued, 0);
	sh = storm_share(sizeof(*sh));
	sets_make();
	handler_check(SIGRTMIN, on_queued, 0);
	printf("seed %ld\n", seed);
	fflush(stdout);
	sender = storm_fork();
	if (!sender)
		sender_run();
	sender_pid = sender;
	target = storm_fork();
	if (!target)
		target_run();
	poster = storm_fork();
	if (!poster)
		poster_run();
	dog = watchdog_start(&sh->dog, &sh->progress);
	while (!sh->drained && !sh->dog.stuck &&
		waitpid(target, &status, WNOHANG) == 0)
		sleep_us(2000);
	if (!sh->drained && !sh->dog.stuck) {
		violation("the target died", status, 0);
		sh->dog.stuck = 1;
	}
	sh->drained = 1;
	storm_reap(sender, 2000, &status);
	storm_reap(poster, 2000, &status);
	sh->stop = 1;
	sh->dog.stop = 1;
	if (!storm_reap(target, 3000, &status) || status)
		violation("the target ended badly", status, 0);
	storm_reap(dog, 2000, &status);
	zero_check("a semaphore is not 0 after the exit");
	ret = verdict();
	semctl(set_id, 0, IPC_RMID);
	semctl(other_id, 0, IPC_RMID);
	semctl(scratch_id, 0, IPC_RMID);
	return ret;
}
