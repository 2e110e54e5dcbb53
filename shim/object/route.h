// SPDX-License-Identifier: MIT
/*
 * Which facilities are served: the words of IPCLIFT_ROUTE and of `ipclift run
 * --route`.
 */
#ifndef IPCLIFT_OBJECT_ROUTE_H
#define IPCLIFT_OBJECT_ROUTE_H

#include "registry/layout.h"

/* The facility that n letters name, or -1. */
int route_find(const char *word, size_t n);

/* A bit for each facility that is served: "sem,mq" serves just these, "-shm"
 * all but that, NULL and "" all. Words that name none are skipped. */
u32 route_parse(const char *list);
/* A bit for each facility named, NULL: none; for the list of IPCLIFT_LEASE. */
u32 route_named(const char *list);

#endif
