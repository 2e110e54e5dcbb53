// SPDX-License-Identifier: MIT
/*
 * ipclift run --strict: the kernel's own IPC calls answer ENOSYS.
 */
#ifndef IPCLIFT_TOOL_FILTER_H
#define IPCLIFT_TOOL_FILTER_H

#include "registry/layout_base.h"

/*
 * From now on, for this process and all that it starts, whatever they are, the
 * system calls of these facilities (a bit each: route_parse) are answered by
 * ENOSYS: native, x32 and i386 ones, ipc(2) of the latter too. The library's
 * own few go through (SYS_OF_LIBRARY). Sets no_new_privs where the kernel wants
 * it, for who is not root. 0 or -errno.
 */
int filter_kernel_ipc(u32 routes);

#endif
