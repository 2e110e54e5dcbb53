// SPDX-License-Identifier: MIT
/*
 * A registry that has seen many threads come and go. What is counted are its
 * records: each is more than a kilobyte that nobody gets back, and the table
 * ends at N_THREADS.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "registry/task.h"
#include "registry/wait.h"
#include "unit.h"

/* Records beyond those of threads that live: what a claim may add before it
 * finds one. */
#define SLACK 24u
#define LIVING 12u
#define COMERS 400u

TestSuite(age, .init = unit_init, .fini = unit_fini, .timeout = 60);

static u32 n_records(void)
{
	return caller_header(&me)->thread_high - 1;
}

static pid_t start(void (*fn)(s32 id), s32 id)
{
	pid_t pid = fork();

	if (!pid) {
		unit_forked();
		fn(id);
		_exit(0);
	}
	return pid;
}

static void leave(s32 id)
{
	(void)id;
}

/* The record of that thread, once it is in this state. */
static struct thread *await(pid_t pid, u32 state)
{
	struct thread *th;

	while (!(th = thread_of(&me, (u32)pid)) ||
		atom_load_acquire(&th->waiter.state) != state)
		usleep(20);
	return th;
}

static void live(s32 id)
{
	(void)id;
	for (;;)
		pause();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

/* Four looks a claim and one record more each time it finds none: as long as
 * they were for neighbours, the first four records were looked at in each. */
Test(age, records_of_ended_threads_are_found_behind_living_ones)
{
	pid_t living[LIVING];
	u32 i;

	for (i = 0; i < LIVING; i++) {
		living[i] = start(live, 0);
		await(living[i], WAIT_IDLE);
	}
	for (i = 0; i < COMERS; i++)
		waitpid(start(leave, 0), NULL, 0);
	cr_expect_leq(n_records(), 1 + LIVING + SLACK, "%u", n_records());
	for (i = 0; i < LIVING; i++)
		end(living[i]);
}
