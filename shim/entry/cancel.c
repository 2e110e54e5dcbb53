// SPDX-License-Identifier: MIT
/*
 * pthread_setcanceltype: which threads may be cancelled at any instruction.
 *
 * Of such a thread sections block libc's cancellation signal (section_shield):
 * cancelled inside one it would leave a lock held by a thread number that lives
 * on in its cleanup handlers. All others pay nothing. Nothing else about
 * cancellation is changed; the sleeps of registry/cancel.c pass through here
 * too, and handlers that run in them are in such a thread, indeed.
 */
#include "entry/process.h"

#define CANCEL_ASYNCHRONOUS 1

EXPORT int pthread_setcanceltype(int type, int *old)
{
	static void *next;
	int (*real)(int, int *) = process_next(&next, "pthread_setcanceltype");
	struct caller *c = &process_caller;
	u32 was = c->async;
	int err;

	if (!real)
		return ENOSYS;
	/* Marked as long as libc has it so, and a little longer. */
	if (type == CANCEL_ASYNCHRONOUS && !was)
		section_async(c, 1);
	err = real(type, old);
	if (c->async && (err ? !was : type != CANCEL_ASYNCHRONOUS))
		section_async(c, 0);
	return err;
}
