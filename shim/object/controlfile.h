// SPDX-License-Identifier: MIT
/*
 * Control files (sysctl.h) that are open for writing.
 *
 * What a program writes by a call that the shim serves is applied at once,
 * without a file. But stdio writes from within libc, where nothing can be
 * interposed, and a program executed with the descriptor (`/bin/echo 500
 * >/proc/sys/kernel/sem_next_id`) may not even have the shim. So the descriptor
 * is that of a real file beside the registry, empty at first; text in it was
 * written in one of these ways. It is removed and applied (committed) by
 *   - the process that opened it, at fflush, fclose, close and dup2, and
 *   - every process that is about to create an object, to read a limit or to
 *     fail because of one (controlfile_drain): no process sees the value from
 *     before the write.
 * The first write at offset 0 counts, as in the kernel; one at another offset
 * leaves a hole before it and is dropped.
 *
 * An flock(2) of the open file description tells when the last descriptor is
 * closed, whichever process had it; then the file is removed. Up to
 * CONTROL_FILES can be open at the same time.
 *
 * All under header.control_lock, which is taken before any other. A text is
 * applied exactly once, even if a thread is killed in the middle: its values
 * are noted (header.control_taken), it is removed from the file, and one
 * operation sets them and removes the note, under the facility's lock, so that
 * no id is given out before that is final. The next owner of the lock that
 * finds a note reads the file. If it still has the same text, this was not
 * removed, or the same was written again before any process could see the
 * first: either way it is one text still to be applied. Else the note is to be
 * applied.
 */
#ifndef IPCLIFT_OBJECT_CONTROLFILE_H
#define IPCLIFT_OBJECT_CONTROLFILE_H

#include "registry/caller.h"

/*
 * Open file `which` (index in sysctl_files) with these flags of open(2); rights
 * were checked. The descriptor, and in *ret_at the place for the calls below.
 * -ENFILE: too many are open. Errors of open(2).
 */
int controlfile_open(struct caller *c, u32 which, u32 oflag, u32 *ret_at);

/* Apply what was written, if anything, and forget the file if its last
 * descriptor was closed: 0, or what the write would have returned in the kernel
 * (-EINVAL, -ERANGE). */
int controlfile_commit(struct caller *c, u32 at);

/* Commit all. No lock may be held. */
void controlfile_drain_slow(struct caller *c);
static inline void controlfile_drain(struct caller *c)
{
	if (unlikely(atom_load_relaxed(&caller_header(c)->control_open)))
		controlfile_drain_slow(c);
}

#endif
