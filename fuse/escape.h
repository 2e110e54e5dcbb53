// SPDX-License-Identifier: MIT
/*
 * A way out of a request that cannot go on: the lock that it needs is not given
 * back (a stopped process, a damaged file), the file was cut short under the
 * mapping (SIGBUS), or is damaged in a way that no check finds (SIGSEGV). Twelve
 * requests for one such lock would stop the whole mount.
 *
 * What the request holds of the registry goes to whoever comes next, as if the
 * mount had died there (lock_abandon); what it has of the mount's own memory is
 * lost, a few kilobytes. A mutex of the mount must not be held from outside
 * escape_guard to inside.
 */
#ifndef IPCLIFT_FUSE_ESCAPE_H
#define IPCLIFT_FUSE_ESCAPE_H

#include <setjmp.h>

#include "registry/caller.h"

/* Catch the signals, of faults in this region. cut_short is called, in the
 * handler, when a page of it is found to be gone. */
void escape_init(const struct region *region, void (*cut_short)(void));

/* Set up a caller so that it waits for no lock for ever. */
void escape_prepare(struct caller *c);

/*
 * From here on this thread comes back here with a value that is not 0: EBUSY,
 * ESTALE or EIO. In a function that does not return before the request is
 * answered: if (sigsetjmp(*escape_here(), 0)) ...
 */
sigjmp_buf *escape_here(void);

/* fn(arg), or the negative error with which it was left. */
int escape_guard(int (*fn)(void *arg), void *arg);

#endif
