// SPDX-License-Identifier: MIT
/*
 * Attachments against what processes have mapped; see mapcheck.c.
 */
#ifndef IPCLIFT_TOOL_MAPCHECK_H
#define IPCLIFT_TOOL_MAPCHECK_H

#include "inspect/check.h"

/* Report each process and segment that disagree (INV_SHM_MAPPED). The registry
 * must not be a copy. Cost: the maps of each process once. */
void mapcheck(struct caller *c, check_report *report, void *arg);

#endif
