// SPDX-License-Identifier: MIT
/*
 * Thread cancellation in a blocking call, for both libcs.
 *
 * A sleep in a raw futex is no cancellation point, so the thread's cancel type
 * is asynchronous for the time of the system call (between cancel_open and
 * cancel_shut), and a cleanup handler stands on libc's list meanwhile. No lock
 * may be held there.
 */
#ifndef IPCLIFT_REGISTRY_CANCEL_H
#define IPCLIFT_REGISTRY_CANCEL_H

extern void pthread_testcancel(void) __attribute__((weak));
extern int pthread_setcanceltype(int type, int *old) __attribute__((weak));
extern void _pthread_cleanup_push(void *buf, void (*fn)(void *), void *arg)
	__attribute__((weak));
extern void _pthread_cleanup_pop(void *buf, int execute) __attribute__((weak));

struct cancel {
	long buf[16]; /* libc's record: 32 bytes in both */
	int active;
	int old_type;
};

static inline void cancel_test(void)
{
	if (pthread_testcancel)
		pthread_testcancel();
}

/* fn(arg) runs if the thread is cancelled before cancel_end. */
static inline void cancel_begin(struct cancel *x, void (*fn)(void *), void *arg)
{
	x->active = _pthread_cleanup_push && _pthread_cleanup_pop &&
		    pthread_setcanceltype;
	if (x->active)
		_pthread_cleanup_push(x->buf, fn, arg);
}
static inline void cancel_end(struct cancel *x)
{
	if (x->active)
		_pthread_cleanup_pop(x->buf, 0);
}
static inline void cancel_open(struct cancel *x)
{
	if (x->active)
		pthread_setcanceltype(1, &x->old_type);
}
static inline void cancel_shut(struct cancel *x)
{
	int unused;

	if (x->active)
		pthread_setcanceltype(x->old_type, &unused);
}

#endif
