// SPDX-License-Identifier: MIT
/*
 * Files of queues; see queue.h.
 */
#define FUSE_USE_VERSION 312
#include "queue.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "object/perm.h"

int queue_open(
	struct caller *c, const struct node *n, int flags, struct mq_desc *ret)
{
	struct mq_desc d = {.fd = -1};
	int fd;

	d.s = node_slot(c, n, &d.ident);
	if (!d.s)
		return -ENOENT;
	fd = mqueue_open_again(c, &d,
		((u32)flags & (O_ACCMODE | O_TRUNC)) | O_NONBLOCK | O_CLOEXEC,
		ret);
	return fd == -EBADF ? -ENOENT : fd < 0 ? fd : 0;
}

/* To open it for both ways by access mode 3 is a right of open(2) alone. */
static u32 create_flags(int flags)
{
	u32 access = (u32)flags & O_ACCMODE;

	if (access == O_ACCMODE)
		access = O_RDWR;
	return access | O_CREAT | O_NONBLOCK | ((u32)flags & O_EXCL);
}

int queue_create(struct caller *c, const char *name, int flags, u32 mode,
	struct node *ret_node, struct mq_desc *ret)
{
	int fd = mqueue_open(
		c, name, strlen(name), create_flags(flags), mode, NULL, ret);

	return fd < 0 ? fd : node_of_queue(ret->ident, ret_node);
}

void queue_close(struct caller *c, struct mq_desc *d)
{
	if (d->fd < 0 || !d->s)
		return;
	close(d->fd);
	if (c)
		mq_closed(c, d);
	d->s = NULL;
}

/* ---- attributes ---- */

/* The kernel's files take any second; ours those of three centuries to either
 * side of 1970. */
static s64 to_ns(struct timespec t)
{
	const s64 most = 9000000000;
	s64 sec = t.tv_sec < -most ? -most : t.tv_sec > most ? most : t.tv_sec;

	return sec * 1000000000 + t.tv_nsec;
}

static int set_times(struct caller *c, const struct mq_desc *d,
	const struct stat *attr, int to_set)
{
	s64 atime = MQ_TIME_OMIT, mtime = MQ_TIME_OMIT;

	if (to_set & FUSE_SET_ATTR_ATIME)
		atime = to_set & FUSE_SET_ATTR_ATIME_NOW ? MQ_TIME_NOW
							 : to_ns(attr->st_atim);
	if (to_set & FUSE_SET_ATTR_MTIME)
		mtime = to_set & FUSE_SET_ATTR_MTIME_NOW ? MQ_TIME_NOW
							 : to_ns(attr->st_mtim);
	return mq_set_times(c, d, atime, mtime);
}

/* No file there is larger than 2 GiB. */
static int set_size(
	struct caller *c, const struct mq_desc *d, s64 size, int open)
{
	int err = open ? 0 : perm_check_file(c, d->s, PERM_W);

	if (err)
		return err;
	if (size > 0x7fffffff)
		return -EFBIG;
	mq_set_size(c, d, size);
	return 0;
}

int queue_set(struct caller *c, const struct node *n, const struct stat *attr,
	int to_set, int open)
{
	const int owner = FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
	struct mq_desc d = {.fd = -1};
	int err = 0;

	d.s = node_slot(c, n, &d.ident);
	if (!d.s)
		return -ENOENT;
	if (to_set & owner)
		err = mq_chown(c, &d,
			to_set & FUSE_SET_ATTR_UID ? attr->st_uid : ~0u,
			to_set & FUSE_SET_ATTR_GID ? attr->st_gid : ~0u);
	if (!err && (to_set & FUSE_SET_ATTR_MODE))
		err = mq_chmod(c, &d, attr->st_mode & 07777);
	if (!err && (to_set & FUSE_SET_ATTR_SIZE))
		err = set_size(c, &d, attr->st_size, open);
	else if (!err)
		err = set_times(c, &d, attr, to_set);
	return err;
}

/* ---- poll ---- */

/* A file that somebody waits for. Its number, not its address, goes through
 * epoll, which may tell of it once it is gone. */
struct watched {
	struct watched *next;
	void *key;
	u64 number;
	struct fuse_pollhandle *handle;
};

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct watched *watched; /* watch_lock */
static u64 watch_numbers;	/* watch_lock */
static int watch_epoll = -1;

static void tell(u64 number)
{
	struct watched *w;

	pthread_mutex_lock(&watch_lock);
	for (w = watched; w; w = w->next)
		if (w->number == number)
			fuse_lowlevel_notify_poll(w->handle);
	pthread_mutex_unlock(&watch_lock);
}

static void *watch(void *arg)
{
	struct epoll_event events[32];
	int i, n;

	(void)arg;
	for (;;) {
		n = epoll_wait(watch_epoll, events, 32, -1);
		for (i = 0; i < n; i++)
			tell(events[i].data.u64);
	}
	return NULL;
}

/* watch_lock held. Signals are for the threads of the session. */
static int start_watching(void)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (watch_epoll >= 0)
		return 0;
	watch_epoll = epoll_create1(EPOLL_CLOEXEC);
	if (watch_epoll < 0)
		return -1;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		close(watch_epoll);
		watch_epoll = -1;
		return -1;
	}
	pthread_detach(thread);
	return 0;
}

/* The latest handle of a file is the one that is told. */
/* watch_lock held. NULL if it cannot be waited for. */
static struct watched *watch_new(int fd, void *key)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
	struct watched *w = start_watching() ? NULL : calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct watched){watched, key, ++watch_numbers, NULL};
	ev.data.u64 = w->number;
	if (epoll_ctl(watch_epoll, EPOLL_CTL_ADD, fd, &ev)) {
		free(w);
		return NULL;
	}
	watched = w;
	return w;
}

static int watch_file(int fd, void *key, struct fuse_pollhandle *handle)
{
	struct watched *w;

	pthread_mutex_lock(&watch_lock);
	for (w = watched; w && w->key != key; w = w->next)
		;
	if (!w)
		w = watch_new(fd, key);
	else
		fuse_pollhandle_destroy(w->handle);
	if (w)
		w->handle = handle;
	else
		fuse_pollhandle_destroy(handle);
	pthread_mutex_unlock(&watch_lock);
	return w ? 0 : -1;
}

void queue_unpoll(void *key)
{
	struct watched **link, *w;

	pthread_mutex_lock(&watch_lock);
	for (link = &watched; *link && (*link)->key != key;
		link = &(*link)->next)
		;
	w = *link;
	if (w) {
		*link = w->next;
		fuse_pollhandle_destroy(w->handle);
		free(w);
	}
	pthread_mutex_unlock(&watch_lock);
}

/* Whoever waits is entered before the queue is looked at. */
u32 queue_poll(struct caller *c, const struct mq_desc *d, void *key,
	struct fuse_pollhandle *handle)
{
	struct mq_stat st;

	if (handle) {
		mq_watch(c, d, MQ_POLLED_IN | MQ_POLLED_OUT | MQ_POLLED_EDGE);
		if (watch_file(d->fd, key, handle))
			return POLLERR;
	}
	if (mq_stat(c, d, &st))
		return POLLERR;
	return (st.curmsgs ? POLLIN | POLLRDNORM : 0) |
	       (st.curmsgs < st.maxmsg ? POLLOUT | POLLWRNORM : 0);
}
