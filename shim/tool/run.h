// SPDX-License-Identifier: MIT
/*
 * ipclift run: start a program under the shim.
 */
#ifndef IPCLIFT_TOOL_RUN_H
#define IPCLIFT_TOOL_RUN_H

#include "tool/command.h"

/* The path of libipclift.so: beside this program in the build tree, else
 * where it is installed. NULL (and errno) if it is in neither place. */
const char *run_find_shim(void);

#endif
