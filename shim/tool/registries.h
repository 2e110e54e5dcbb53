// SPDX-License-Identifier: MIT
/*
 * The registries of this machine that we can see.
 */
#ifndef IPCLIFT_TOOL_REGISTRIES_H
#define IPCLIFT_TOOL_REGISTRIES_H

#include <stddef.h>

/* What to say after "no such registry": which there are, in our own directory,
 * or how one is made. Begins with "; ". */
void registries_hint(char *text, size_t cap);

#endif
