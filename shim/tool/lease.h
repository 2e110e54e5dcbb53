// SPDX-License-Identifier: MIT
/*
 * `ipclift get` and `set` of lease:KIND/NAME: whether messages received from a
 * queue are leased (object/lease.h).
 */
#ifndef IPCLIFT_TOOL_LEASE_H
#define IPCLIFT_TOOL_LEASE_H

#include "registry/caller.h"

/* 1 if the word names a lease: lease:... */
int lease_is_word(const char *word);
/* Check such a word, with `=on` or `=off` at its end, or (0) without: 0, or the
 * exit status after a message. */
int lease_check_word(const char *word, int with_value);
/* Do it: 0, or the exit status after a message. ret: 1 for on. */
int lease_set(struct caller *c, const char *word);
int lease_get(struct caller *c, const char *word, int *ret);

#endif
