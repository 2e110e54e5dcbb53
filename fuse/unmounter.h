// SPDX-License-Identifier: MIT
/*
 * What takes the mount away if the daemon is killed: a small process of its
 * own that waits for the daemon's end.
 *
 * Not libfuse's auto_unmount: that unmounts whatever stands at the mount point
 * once the daemon is gone, also the next mount, which somebody made there a
 * moment after a regular unmount. This one is told of a regular end, and looks
 * whether the mount is dead before it touches it.
 */
#ifndef IPCLIFT_FUSE_UNMOUNTER_H
#define IPCLIFT_FUSE_UNMOUNTER_H

/* The word that this program is started with to be the unmounter. */
#define UNMOUNTER_WORD "--unmount-when-gone"

/* Start it for the mount at dir, an absolute name, before the daemon goes into
 * the background and has threads. A descriptor for unmounter_end, or -1. */
int unmounter_start(const char *dir);
/* The daemon ends in an orderly way, and the mount with it. */
void unmounter_end(int fd);
/* The process itself; stdin is the daemon's lifeline. The exit status. */
int unmounter_main(const char *dir);

#endif
