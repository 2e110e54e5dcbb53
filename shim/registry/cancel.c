// SPDX-License-Identifier: MIT
/*
 * Cancellation by libc's own functions, all of them weak; see cancel.h.
 */
#include "registry/cancel.h"

#define CANCEL_DEFERRED 0
#define CANCEL_ASYNCHRONOUS 1

extern void pthread_testcancel(void) __attribute__((weak));
extern int pthread_setcanceltype(int, int *) __attribute__((weak));
extern void _pthread_cleanup_push(void *, void (*)(void *), void *)
	__attribute__((weak));
extern void _pthread_cleanup_pop(void *, int) __attribute__((weak));

void cancel_test(void)
{
	if (pthread_testcancel)
		pthread_testcancel();
}

void cancel_begin(struct cancel_scope *s, void (*cleanup)(void *), void *arg)
{
	s->active = pthread_setcanceltype && _pthread_cleanup_push &&
		    _pthread_cleanup_pop;
	s->type = CANCEL_DEFERRED;
	if (s->active)
		_pthread_cleanup_push(s->libc, cleanup, arg);
}

void cancel_end(struct cancel_scope *s)
{
	if (s->active)
		_pthread_cleanup_pop(s->libc, 0);
}

/* A cancellation that is pending acts in here, at once: the caller is in a
 * state that `cleanup` can undo. */
void cancel_allow(struct cancel_scope *s)
{
	if (s->active)
		pthread_setcanceltype(CANCEL_ASYNCHRONOUS, &s->type);
}

void cancel_deny(struct cancel_scope *s)
{
	int was;

	if (s->active)
		pthread_setcanceltype(s->type, &was);
}
