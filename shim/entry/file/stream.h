// SPDX-License-Identifier: MIT
/*
 * Streams whose reads and writes come to us: what fopen and fdopen make of a
 * descriptor that is served (fd.h).
 */
#ifndef IPCLIFT_ENTRY_FILE_STREAM_H
#define IPCLIFT_ENTRY_FILE_STREAM_H

#include <stdio.h>

/*
 * A stream on fd, which it owns from then on; flags are those of open(2) that
 * its mode means. NULL with errno ENOMEM, or 0 where this libc has no such
 * streams or is of an unknown build: the caller makes an ordinary one.
 */
FILE *stream_make(int fd, int flags);

/*
 * Descriptor 0 was inherited and may be a queue's: what libc reads from stdin
 * comes to us, too. Before the program's own code; glibc allocates.
 */
void stream_standard_input(void);

#endif
