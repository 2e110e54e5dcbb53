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

/* Make the registry of IPCLIFT_REGISTRY, or the default one, if there is none,
 * with limits and ids as the program would; say what is different if there is.
 * 0, or -1 after a message: it cannot be used. */
int run_make_registry(void);

/* Become the program argv[0]. Returns only on failure, after one line on
 * stderr: 127 if there is no such program, 126 if it cannot be started. */
int run_exec(char **argv);

#endif
