// SPDX-License-Identifier: MIT
/*
 * A registry that has seen many threads come and go. What is counted are its
 * records: each is more than a kilobyte that nobody gets back, and the table
 * ends at N_THREADS.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mq/mqueue.h"
#include "msg/msg.h"
#include "object/reap.h"
#include "object/sleep.h"
#include "registry/task.h"
#include "unit.h"

/* Records beyond those of threads that live: what a claim may add before it
 * finds one. */
#define SLACK 24u
#define LIVING 12u
#define COMERS 400u

static void age_init(void)
{
	unit_init();
	caller_slept = sleep_remove_dead;
}

static void age_fini(void)
{
	caller_slept = NULL;
	unit_fini();
}

TestSuite(age, .init = age_init, .fini = age_fini, .timeout = 60);

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

static void in_semop(s32 id)
{
	struct sop ops[2] = {{0, 1, 0}, {1, -1, 0}};

	sem_op(&me, id, ops, 2, NULL);
}

static void in_msgrcv(s32 id)
{
	char buf[16];

	msg_receive(&me, id, buf, 8, 99, 0, 0);
}

static void in_msgsnd(s32 id)
{
	char buf[16] = {1};

	msg_send(&me, id, buf, 8, 0, 0);
}

static void in_mq_receive(s32 id)
{
	struct mq_desc d;
	char buf[64];

	(void)id;
	mqueue_open(&me, "q", 1, MQ_O_RDWR, 0, NULL, &d);
	mqueue_receive(&me, &d, buf, sizeof(buf), NULL, NULL);
}

/* Nobody else comes to the object, only to the registry. */
static void killed_asleep(void (*fn)(s32 id), s32 id)
{
	u64 used = 0;
	pid_t pid;
	u32 i;

	for (i = 0; i < COMERS; i++) {
		pid = start(fn, id);
		await(pid, WAIT_QUEUED);
		end(pid);
		if (i == COMERS / 4)
			used = caller_header(&me)->heap.used;
	}
	cr_expect_leq(n_records(), 1 + SLACK, "%u", n_records());
	cr_expect_eq(caller_header(&me)->heap.used, used);
}

Test(age, killed_in_semop)
{
	s32 id = sem_get(&me, 0, 2, 0600);

	killed_asleep(in_semop, id);
	cr_expect_leq(sem_getncnt(&me, id, 1), (s32)SLACK);
	sem_remove(&me, id);
}

Test(age, killed_in_msgrcv)
{
	s32 id = msg_get(&me, 0, 0600);

	killed_asleep(in_msgrcv, id);
	msg_remove(&me, id);
}

Test(age, killed_in_msgsnd)
{
	s32 id = msg_get(&me, 0, 0600);
	char buf[16] = {1};

	while (!msg_send(&me, id, buf, 8, 04000, 0))
		;
	killed_asleep(in_msgsnd, id);
	msg_remove(&me, id);
}

Test(age, killed_in_mq_receive)
{
	const struct mq_limits_attr attr = {8, 64};
	struct mq_desc d;

	cr_assert_geq(mqueue_open(&me, "q", 1, MQ_O_RDWR | MQ_O_CREAT, 0600,
			      &attr, &d),
		0);
	killed_asleep(in_mq_receive, 0);
	mqueue_unlink(&me, "q", 1);
	close(d.fd);
	mq_closed(&me, &d);
}

/* What nobody has claimed yet, gc finds. */
Test(age, the_blocks_of_the_killed_go_back)
{
	s32 id = msg_get(&me, 0, 0600);
	struct thread *th[4];
	pid_t pid[4];
	u32 i;

	for (i = 0; i < 4; i++) {
		pid[i] = start(in_msgrcv, id);
		th[i] = await(pid[i], WAIT_QUEUED);
	}
	for (i = 0; i < 4; i++)
		end(pid[i]);
	for (i = 0; i < 4; i++)
		cr_expect_neq(th[i]->blocks.tier[0].off, 0);
	reap_records(&me, 0, 0);
	for (i = 0; i < 4; i++)
		cr_expect_eq(th[i]->blocks.tier[0].off, 0);
	msg_remove(&me, id);
}
