// SPDX-License-Identifier: MIT
/*
 * Thread cancellation in calls that are cancellation points.
 *
 * A raw futex call is none, so the sleep itself is made with the asynchronous
 * cancel type, and a cleanup handler undoes the caller's place in its queue
 * (doc/measurements.md §8). Outside that window the thread's own type holds, so
 * nothing of ours is ever cut off in a section. Where libc has no threads these
 * functions do nothing.
 */
#ifndef IPCLIFT_REGISTRY_CANCEL_H
#define IPCLIFT_REGISTRY_CANCEL_H

/* On the sleeper's stack, in a frame that outlives the scope. */
struct cancel_scope {
	unsigned long libc[16]; /* space for struct _pthread_cleanup_buffer */
	int type;
	int active;
};

/* Act on a cancellation that is pending. */
void cancel_test(void);

/* From begin to end `cleanup` runs if the thread is cancelled; it may be so
 * only between allow and deny. */
void cancel_begin(struct cancel_scope *s, void (*cleanup)(void *), void *arg);
void cancel_end(struct cancel_scope *s);
void cancel_allow(struct cancel_scope *s);
void cancel_deny(struct cancel_scope *s);

#endif
