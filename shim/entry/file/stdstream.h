// SPDX-License-Identifier: MIT
/*
 * Standard input, output and error where their number is a queue's: of a
 * program that was started so (sort </dev/mqueue/NAME), and of one that had the
 * number free when it opened a queue. libc would read and fill the FIFO.
 */
#ifndef IPCLIFT_ENTRY_FILE_STDSTREAM_H
#define IPCLIFT_ENTRY_FILE_STDSTREAM_H

#define STDSTREAMS 3

/* The number 0, 1 or 2 is, or may be, a queue's: what the stream of that name
 * reads and writes comes to stream.h from now on, as long as the number is one
 * and after that. Allocates, by libc; nothing changes where that fails. */
void stdstream_serve(int fd);

#endif
