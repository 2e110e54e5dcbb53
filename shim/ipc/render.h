// SPDX-License-Identifier: MIT
/*
 * The registry as text, byte for byte as Linux prints its own in
 * /proc/sysvipc (KERNEL-SEMANTICS §8). Used by the mount, the command, and the
 * procfs paths that programs under the shim open.
 */
#ifndef IPCLIFT_IPC_RENDER_H
#define IPCLIFT_IPC_RENDER_H

#include "ipc/sem.h"

/* No row is longer, newline included. */
#define RENDER_ROW_MAX 256u

/* The first line of the file, with its newline. */
const char *render_sem_head(void);

/* One row with its newline into buf (RENDER_ROW_MAX bytes, no NUL); returns
 * its length. */
size_t render_sem_row(const struct sem_stat *st, char *buf);

/*
 * As many whole rows as fit into cap, of the sets with idx >= *idx, in order of
 * idx; *idx is then the next to ask for. Returns the bytes written, 0 at the
 * end if cap >= RENDER_ROW_MAX, or -errno of enrolling. Each row is one moment
 * of its set.
 */
s64 render_sem_rows(struct caller *c, u32 *idx, char *buf, size_t cap);

#endif
