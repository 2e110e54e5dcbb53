// SPDX-License-Identifier: MIT
/*
 * The registry as text, byte for byte as Linux prints its own: the files of
 * /proc/sysvipc (doc/kernel-semantics.md §8) and the status line of a POSIX
 * queue (§9.2). Used by the mount, the command, and the procfs paths that
 * programs under the shim open.
 *
 * A listing is made in pieces of any size. Each row shows its object at one
 * moment, as in the kernel; between two rows objects may be created and
 * removed, but one that exists from the first piece to the last is listed
 * exactly once, for rows are in order of idx, which never changes. No lock is
 * held between two rows, so no call waits for a listing longer than for an
 * IPC_STAT.
 */
#ifndef IPCLIFT_RENDER_RENDER_H
#define IPCLIFT_RENDER_RENDER_H

#include "mq/mqueue.h"
#include "msg/msg.h"
#include "sem/sem.h"
#include "shm/shm.h"

/* The longest row, with its newline. */
#define RENDER_ROW_MAX 320u

/* The first line of the file, with its newline; f is FAC_SEM, FAC_MSG or
 * FAC_SHM here and below. */
const char *render_head(enum facility f);

/*
 * As many whole rows as fit into cap, of the objects with idx >= *idx, in order
 * of idx; *idx is then the one after the last row. Begin with 0. Returns the
 * bytes written, 0 at the end if cap >= RENDER_ROW_MAX, or -errno of enrolling.
 * Cost: one IPC_STAT per row; holes between idx cost nothing. Segments: some
 * system calls each in addition, for rss.
 */
s64 render_rows(
	struct caller *c, enum facility f, u32 *idx, char *buf, size_t cap);

/* One row with its newline into buf (RENDER_ROW_MAX bytes, no NUL); returns
 * its length. rss and swap in bytes. */
size_t render_sem_row(const struct sem_stat *st, char *buf);
size_t render_msg_row(const struct msg_stat *st, char *buf);
size_t render_shm_row(const struct shm_stat *st, u64 rss, u64 swap, char *buf);

/* The status line of a queue with its newline into buf (MQ_STATUS_SIZE bytes,
 * no NUL); returns its length. Too long a line is cut, as the kernel cuts it.
 */
size_t render_mq_line(const struct mq_status *st, char *buf);

#endif
