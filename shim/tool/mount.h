// SPDX-License-Identifier: MIT
/*
 * `ipclift mount`, and the helper that mount(8) starts for `-t fuse.ipclift`:
 * both execute ipclift-fuse (fuse/).
 */
#ifndef IPCLIFT_TOOL_MOUNT_H
#define IPCLIFT_TOOL_MOUNT_H

#include "tool/command.h"

/*
 * Were we started by mount.fuse(8)? It takes the type after "fuse." as a
 * program, and starts it as: ipclift SOURCE DIR -o OPTIONS. Called only if
 * SOURCE is no command's name.
 */
int mount_is_helper(int argc, char **argv);
/* Execute it with the whole command line; returns EXIT_FAILED if that fails. */
int mount_helper(char **argv);

#endif
