// SPDX-License-Identifier: MIT
/*
 * `ipclift mount`, and what mount(8) starts for `-t fuse.ipclift`: both hand
 * over to ipclift-fuse (fuse/).
 */
#ifndef IPCLIFT_TOOL_MOUNT_H
#define IPCLIFT_TOOL_MOUNT_H

#include "tool/command.h"

/*
 * Is this mount.fuse(8) speaking? It takes the type behind "fuse." for a
 * program, and starts it as: ipclift SOURCE DIR -o OPTIONS. Asked only if
 * SOURCE is no command's name.
 */
int mount_is_helper(int argc, char **argv);
/* Hand the whole line over; returns EXIT_FAILED if that fails. */
int mount_helper(char **argv);

#endif
