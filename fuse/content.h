// SPDX-License-Identifier: MIT
/*
 * What the files of the mount say: makers of texts, for the table of tree.c.
 *
 * Each takes the locks that it needs for one object at a time, and no longer
 * than to copy what it shows. All return 0 or -errno: what the views of
 * inspect/ return, -ENOENT for an object that is gone.
 */
#ifndef IPCLIFT_FUSE_CONTENT_H
#define IPCLIFT_FUSE_CONTENT_H

#include <sys/types.h>

#include "inspect/text.h"
#include "mq/mqueue.h"

/* Makes a text; 0 or -errno. */
typedef int make_view(struct caller *c, struct text *t);
typedef int make_part(struct caller *c, s32 id, struct text *t);

/* sysvipc/sem, msg, shm: the kernel's rows, added to t: of what has an idx from
 * *idx on, which is then the next to ask for. */
int content_sysvipc(
	struct caller *c, enum facility fac, u32 *idx, struct text *t);

/* About all (views.c). */
make_view content_tasks, content_waits, content_events, content_stats,
	content_locks;
/* "reset", "on", "off" written to locks: the bytes taken, or -EINVAL. */
s64 content_set_locks(struct caller *c, const char *text, size_t n);

/* About one object (parts.c). */
make_part content_sem_stat, content_sem_values, content_sem_holders,
	content_sem_waiters;
make_part content_msg_stat, content_msg_messages, content_msg_waiters;
make_part content_shm_stat, content_shm_attachments;

/* The status line of a queue, MQ_STATUS_SIZE bytes at most: its length. */
int content_queue(struct caller *c, const struct mq_desc *d, char *line);

/* Bytes that a segment has. No lock. */
u64 content_data_size(const struct caller *c, const struct slot *s);

/* Bytes of the segment with this id from offset on, into buf: how many there
 * are, 0 beyond the end, -ENOENT when it is gone. */
ssize_t content_data(
	struct caller *c, s32 id, char *buf, size_t size, u64 offset);

#endif
