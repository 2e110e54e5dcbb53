// SPDX-License-Identifier: MIT
/*
 * three_kinds.h - a set, a System V and a POSIX queue, and who sleeps at each.
 */
#ifndef THREE_KINDS_H
#define THREE_KINDS_H

#include "seccomp.h"
#include "mq.h"
#include <sys/msg.h>

/* As in <linux/futex.h>, which musl's compiler driver does not find. */
#define OP_WAKE 1
#define OP_MASK (~(128 | 256))

enum { SET, QUEUE, MQ, KINDS };

static struct {
	int set, queue, mq;
} all;
static struct {
	long type;
	char text[8];
} m = {1, "hello"};

static inline int take(int kind)
{
	char text[8];

	if (kind == SET)
		return semop(all.set, OPS({0, -1, 0}));
	if (kind == QUEUE)
		return msgrcv(all.queue, &m, sizeof(m.text), 0, 0) < 0;
	return mq_receive(all.mq, text, sizeof(text), NULL) < 0;
}
static inline int give(int kind)
{
	if (kind == SET)
		return semop(all.set, OPS({0, 1, 0}));
	if (kind == QUEUE)
		return msgsnd(all.queue, &m, sizeof(m.text), 0);
	return mq_send(all.mq, "hello", 6, 0);
}

/* A call under a lock, so that what the library does for the first such is done. */
static inline void lock_something(void)
{
	t_rm(t_set(1, VALS(0)));
}

/* From now on FUTEX_WAKE kills. */
static inline void wakes_no_more(void)
{
	const struct rlimit none = {0, 0};
	const struct instruction code[] = {
		{0x20, 0, 0, 0}, /* load the number of the call */
		{0x15, 0, 3, SYS_futex},
		{0x20, 0, 0, 24}, /* load its second argument */
		{0x54, 0, 0, (uint32_t)OP_MASK}, {0x15, 1, 0, OP_WAKE},
		{0x06, 0, 0, 0x7fff0000u}, /* allow */
		{0x06, 0, 0, 0x80000000u}, /* kill */
	};

	setrlimit(RLIMIT_CORE, &none);
	filter(code, sizeof(code) / sizeof(*code));
}

static inline void make_objects(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 8};

	all.set = t_set(1, VALS(0));
	all.queue = msgget(IPC_PRIVATE, 0600);
	all.mq = mq_open(
		"/t-three-kinds", O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	mq_unlink("/t-three-kinds");
}
static inline void remove_objects(void)
{
	t_rm(all.set);
	msgctl(all.queue, IPC_RMID, NULL);
	mq_close(all.mq);
}

/* before: what it does first, NULL for nothing. */
static inline pid_t sleeper(int kind, void (*before)(void))
{
	pid_t pid = t_fork();

	if (!pid) {
		if (before)
			before();
		_exit(take(kind));
	}
	t_asleep(pid);
	return pid;
}

/* What is given is there for others: nobody lives who slept for it. */
static inline void nobody_gets_it(void)
{
	struct msqid_ds ds = {0};
	struct mq_attr attr = {0};

	t_eq(give(SET), 0);
	t_row(all.set, GETVAL, "1");
	t_eq(give(QUEUE), 0);
	msgctl(all.queue, IPC_STAT, &ds);
	t_say("messages: %ld", (long)ds.msg_qnum);
	t_eq(give(MQ), 0);
	mq_getattr(all.mq, &attr);
	t_say("messages: %ld", attr.mq_curmsgs);
}

/* Each kind: who sleeps goes on, whether or not its waker is killed by the very
 * system call that would wake it. */
static inline void sleepers_go_on(void (*prepare)(void))
{
	pid_t asleep[KINDS], waker;
	int kind, status;

	for (kind = 0; kind < KINDS; kind++)
		asleep[kind] = sleeper(kind, NULL);
	for (kind = 0; kind < KINDS; kind++) {
		waker = t_fork();
		if (!waker) {
			prepare();
			_exit(give(kind));
		}
		/* The kernel's IPC needs no futex. */
		status = t_join(waker);
		t_quiet(status == 0 || status == 1000 + SIGSYS);
		t_eq(t_join(asleep[kind]), 0);
	}
}

#endif
