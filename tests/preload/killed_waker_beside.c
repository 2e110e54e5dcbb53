// SPDX-License-Identifier: MIT
/*
 * killed_waker_beside: as killed_waker_refused, of a waker that is in the middle
 * of a robust mutex operation of its own (in a signal handler, say): the kernel
 * knows one pending entry a thread, and that is the mutex's.
 */
#include "three_kinds.h"
#include <pthread.h>

static pthread_mutex_t mutex;

/* The kernel's struct robust_list_head. */
struct head {
	void *next;
	long futex_offset;
	void *pending;
};

/* As libc leaves it between its first store and its last. */
static void in_mutex_operation(void)
{
	struct head *head = NULL;
	size_t size;

	/* musl registers a list at the first of one that is shared. */
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	syscall(SYS_get_robust_list, 0, &head, &size);
	if (!head)
		_exit(91);
	head->pending = (char *)&mutex - head->futex_offset;
	lock_something();
	wakes_no_more();
}

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&mutex, &attr);
	make_objects();
	t_story("asleep before the first such waker came");
	sleepers_go_on(in_mutex_operation);
	t_story("and after it");
	sleepers_go_on(in_mutex_operation);
	remove_objects();
	return t_end();
}
