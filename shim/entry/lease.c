// SPDX-License-Identifier: MIT
/*
 * Leases as programs have them (object/lease.h): ipclift_ack, and the end of a
 * process in order, which acknowledges all that it has received.
 *
 * In order is exit(3), a return from main, _exit(2), _Exit, quick_exit and
 * exit_group by number. A signal that ends the process is not, nor abort(3),
 * nor a system call that does not go through libc. exec keeps what the process
 * has.
 */
#include <errno.h>
#include <mqueue.h>
#include "entry/ipclift.h"
#include "entry/file/fd.h"
#include "entry/lease.h"
#include "entry/process.h"
#include "mq/mqlease.h"
#include "msg/msg.h"
#include "msg/msglease.h"

/* In a vfork child the memory is its parent's, so the number is asked for. */
void lease_process_ends(void)
{
	struct caller *c;
	u32 at = 0;
	int err = 0;

	if (likely(!lease_may_hold()) || !lease_may_hold_as(sys_getpid()))
		return;
	c = process_get(&err);
	if (!c)
		return;
	do {
		msg_acknowledge_all(c);
		mq_acknowledge_all(c);
	} while (process_enter_other(c, &at));
	if (at)
		process_home(0);
}

/* Of a process without leases it calls nothing: the page of text would cost more
 * than the rest. */
__attribute__((destructor)) static void at_exit(void)
{
	if (unlikely(lease_may_hold()))
		lease_process_ends();
}

static long acknowledge(int kind, int id)
{
	struct caller *c;
	struct mq_desc d;
	int err = 0;

	if (kind != IPCLIFT_MSG && kind != IPCLIFT_MQ)
		return -EINVAL;
	c = process_get(&err);
	if (!c)
		return -err;
	if (kind == IPCLIFT_MSG)
		return msg_acknowledge(c, id);
	if (!fd_lookup(c, id, &d))
		return mq_acknowledge(c, &d);
	return fd_is_elsewhere(c, id) ? process_home(acknowledge(kind, id))
				      : -EBADF;
}

EXPORT int ipclift_ack(int kind, int id)
{
	return (int)process_return(acknowledge(kind, id));
}

static void *next_exit;

void lease_fork_begins(void)
{
	process_next(&next_exit, "_exit");
}

EXPORT __attribute__((noreturn)) void _exit(int status)
{
	void (*real)(int);

	lease_process_ends();
	real = (void (*)(int))process_next(&next_exit, "_exit");
	if (likely(real != NULL))
		real(status);
	for (;;)
		sys_call(__NR_exit_group, status);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
	static void *next;
	void (*real)(int);

	lease_process_ends();
	real = (void (*)(int))process_next(&next, "quick_exit");
	if (likely(real != NULL))
		real(status);
	_exit(status);
}
