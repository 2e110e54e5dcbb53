// SPDX-License-Identifier: MIT
/*
 * Robust locks: contention, and an owner's death in every way. Where a sleeper
 * must be woken and not come round by itself, lock_backstop is out of the way:
 * one that was forgotten does not end within the suite's timeout.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "registry/journal/journal.h"
#include "registry/thread.h"
#include "unit.h"

TestSuite(lock, .init = unit_init, .fini = unit_fini, .timeout = 30);

static struct lock *lock(void)
{
	return &caller_header(&me)->fac_lock[FAC_MQ].lock;
}

static u64 *word(u32 i)
{
	return (u64 *)region_at(&me.region, EVENTS_OFF) + i;
}

/* A child that holds the lock with an operation half done. */
static pid_t holder(int signo_at_end)
{
	int fds[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		/* A test that fails leaves nobody stopped. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unit_forked();
		lock_acquire(&me, lock());
		journal_set64(&me, word(0), 666);
		(void)!write(fds[1], "x", 1);
		if (signo_at_end)
			kill(getpid(), signo_at_end);
		for (;;)
			pause();
	}
	cr_assert_eq(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

Test(lock, free_lock_is_taken_and_given_back)
{
	cr_assert_eq(lock_acquire(&me, lock()), 0);
	cr_assert(lock_busy(lock()));
	cr_assert_eq(lock()->word, me.tid);
	lock_release(&me, lock());
	cr_assert_not(lock_busy(lock()));
	cr_assert_eq(me.in_section, 0);
	cr_assert_null(me.robust->pending);
}

Test(lock, next_owner_of_a_killed_one_is_told_and_finds_it_rolled_back)
{
	pid_t pid = holder(0);

	*word(0) = 666;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	cr_assert_eq(*word(0), 0);
	lock_release(&me, lock());
	cr_assert_eq(lock_acquire(&me, lock()), 0);
	lock_release(&me, lock());
}

Test(lock, sleeper_is_woken_by_the_owners_death)
{
	pid_t pid = holder(0), killer;

	lock_backstop.sec = 1000;
	killer = fork();
	if (killer == 0) {
		usleep(20000);
		kill(pid, SIGKILL);
		_exit(0);
	}
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	lock_release(&me, lock());
	waitpid(pid, NULL, 0);
	waitpid(killer, NULL, 0);
}

/* A child that takes the lock waits for its stopped owner, for four times the
 * backstop; and has it when the owner is killed. */
static void waits_for_stopped(pid_t pid)
{
	pid_t child;
	int status;

	waitpid(pid, &status, WUNTRACED);
	child = fork();
	if (child == 0) {
		unit_forked();
		lock_acquire(&me, lock());
		_exit(0);
	}
	usleep(200000);
	cr_assert_eq(waitpid(child, &status, WNOHANG), 0);
	cr_assert_eq(lock()->word & SYS_TID_MASK, (u32)pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(child, &status, 0);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	lock_release(&me, lock());
}

Test(lock, stopped_owner_is_not_dead)
{
	waits_for_stopped(holder(SIGSTOP));
}

/* Its number was that of a thread that was killed, whose record stands before
 * its own: by that one's birth the owner is somebody else. */
Test(lock, stopped_owner_is_not_dead_whose_number_was_used_before)
{
	struct thread *th;
	pid_t pid, before = fork();

	if (!before) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unit_forked();
		for (;;)
			pause();
	}
	while (!(th = thread_of(&me, (u32)before)) || !th->birth)
		usleep(1000);
	pid = holder(SIGSTOP);
	kill(before, SIGKILL);
	waitpid(before, NULL, 0);
	cr_assert(th < thread_of(&me, (u32)pid));
	th->tid = (u32)pid;
	waits_for_stopped(pid);
}

/* A file in which each record has the number of a thread that there is, but not
 * its birth: the question takes milliseconds, not a second or more. */
Test(lock, owner_with_made_up_records_is_asked_for_in_a_moment)
{
	struct header *h = caller_header(&me);
	u32 high = h->thread_high, i;
	pid_t pid = holder(0);
	struct timespec from, to;

	for (i = high + 1; i < 20000; i++) {
		region_thread(&me.region, i)->tid = (u32)pid;
		region_thread(&me.region, i)->birth = 1;
	}
	thread_of(&me, (u32)pid)->birth = 1;
	h->thread_high = i;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	thread_gone(&me, (u32)pid);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	cr_expect_lt(
		(to.tv_sec - from.tv_sec) * 1e9 + to.tv_nsec - from.tv_nsec,
		50e6);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (i = high + 1; i < 20000; i++)
		region_thread(&me.region, i)->tid = 0;
	h->thread_high = high + 1;
	lock_acquire(&me, lock());
	lock_release(&me, lock());
}

/* Its owner died unseen, and its number is ours now. */
Test(lock, lock_that_names_us_and_is_not_ours_is_taken)
{
	lock()->word = me.tid;
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	cr_expect_eq(lock()->word & SYS_TID_MASK, me.tid);
	lock_release(&me, lock());
	lock()->word = me.tid;
	cr_expect_eq(lock_try(&me, lock()), 0);
	cr_assert_eq(lock_try(&me, lock()), 1);
	lock_release(&me, lock());
}

/* Waits for a byte, then begins an operation under the lock and dies in it. */
static pid_t dies_when_told(int *ret_fd)
{
	int tell[2], ready[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(tell) | pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		unit_forked();
		(void)!write(ready[1], "x", 1);
		(void)!read(tell[0], &byte, 1);
		lock_acquire(&me, lock());
		journal_set64(&me, word(0), 666);
		kill(getpid(), SIGKILL);
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	*ret_fd = tell[1];
	return pid;
}

/* 1 if a traced child, stopped at a system call, is about to ask for pid. */
static int asks_for(pid_t child, pid_t pid)
{
	struct user_regs_struct r;

	ptrace(PTRACE_GETREGS, child, NULL, &r);
	return r.orig_rax == SYS_kill && (pid_t)r.rdi == pid && !r.rsi;
}

/*
 * A newcomer looks for the record of somebody dead. Between its look at what
 * one has under way and its question whether he is dead, he begins an operation
 * and is killed in it: that record is not to be taken over.
 */
Test(lock, a_newcomer_leaves_alone_who_dies_under_its_eyes)
{
	int fd, status, met = 0;
	pid_t victim = dies_when_told(&fd), newcomer = fork();

	if (newcomer == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		unit_forked();
		_exit(0);
	}
	while (waitpid(newcomer, &status, 0) == newcomer &&
		WIFSTOPPED(status)) {
		if (!met && asks_for(newcomer, victim)) {
			met = 1;
			cr_assert_eq(write(fd, "x", 1), 1);
			waitpid(victim, NULL, 0);
			cr_assert_eq(*word(0), 666);
		}
		ptrace(PTRACE_SYSCALL, newcomer, NULL, NULL);
	}
	cr_assert(met);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	cr_assert_eq(*word(0), 0);
	lock_release(&me, lock());
}

static void *thread_that_ends(void *arg)
{
	struct caller c = {.cred = &me_cred, .region = me.region};

	(void)arg;
	caller_refresh(&c);
	caller_enroll(&c);
	lock_acquire(&c, lock());
	journal_set64(&c, word(0), 666);
	return NULL;
}

Test(lock, a_thread_that_ends_holding_it_is_a_dead_owner)
{
	pthread_t t;

	pthread_create(&t, NULL, thread_that_ends, NULL);
	pthread_join(t, NULL);
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	cr_assert_eq(*word(0), 0);
	lock_release(&me, lock());
}

Test(lock, passing_it_on_tells_the_next_owner_too)
{
	pid_t pid = holder(SIGKILL);

	waitpid(pid, NULL, 0);
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	lock_pass_on(&me, lock());
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	lock_release(&me, lock());
	cr_assert_eq(lock_acquire(&me, lock()), 0);
	lock_release(&me, lock());
}

Test(lock, one_journal_under_two_locks_is_rolled_back_once)
{
	struct header *h = caller_header(&me);
	pid_t pid = fork();

	if (pid == 0) {
		unit_forked();
		lock_acquire(&me, lock());
		lock_acquire(&me, &h->heap.lock);
		journal_set64(&me, word(0), 666);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	cr_assert_eq(*word(0), 666);
	cr_assert_eq(lock_acquire(&me, &h->heap.lock), 1);
	cr_assert_eq(*word(0), 0);
	*word(0) = 7;
	lock_release(&me, &h->heap.lock);
	cr_assert_eq(lock_acquire(&me, lock()), 1);
	cr_assert_eq(*word(0), 7, "not rolled back a second time");
	lock_release(&me, lock());
	*word(0) = 0;
}

static void count_up(struct caller *c, int times)
{
	while (times--) {
		lock_acquire(c, lock());
		*word(1) = *word(1) + 1;
		lock_release(c, lock());
	}
}

static void *counting_thread(void *arg)
{
	struct caller c = {.cred = &me_cred, .region = me.region};

	(void)arg;
	caller_refresh(&c);
	caller_enroll(&c);
	count_up(&c, 20000);
	return NULL;
}

Test(lock, threads_exclude_one_another)
{
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, counting_thread, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	cr_assert_eq(*word(1), 80000);
}

Test(lock, processes_exclude_one_another)
{
	pid_t pids[4];
	int i;

	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			unit_forked();
			count_up(&me, 20000);
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++)
		waitpid(pids[i], NULL, 0);
	cr_assert_eq(*word(1), 80000);
}

Test(lock, killed_waiters_never_leave_the_others_asleep)
{
	int round, i;

	lock_backstop.sec = 1000;
	for (round = 0; round < 60; round++) {
		pid_t pids[4];

		for (i = 0; i < 4; i++) {
			pids[i] = fork();
			if (pids[i] == 0) {
				unit_forked();
				count_up(&me, i < 2 ? 2000 : 1000000000);
				_exit(0);
			}
		}
		usleep(unit_random() % 2000);
		kill(pids[2], SIGKILL);
		usleep(unit_random() % 500);
		kill(pids[3], SIGKILL);
		for (i = 0; i < 4; i++)
			waitpid(pids[i], NULL, 0);
	}
	lock_acquire(&me, lock());
	lock_release(&me, lock());
}
