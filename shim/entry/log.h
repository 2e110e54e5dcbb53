// SPDX-License-Identifier: MIT
/*
 * The one diagnostic channel: IPCLIFT_LOG=off|stderr|PATH.
 */
#ifndef IPCLIFT_ENTRY_LOG_H
#define IPCLIFT_ENTRY_LOG_H

#include "registry/caller.h"

/* Where events of this process go: text is what IPCLIFT_LOG says, or NULL.
 * Called once, before the first event. */
void log_init(const char *text);

/* One line on stderr and, if there is one, in the log: why the registry cannot
 * be used. All signals must be blocked. */
void log_complain(const char *why);

#endif
