// SPDX-License-Identifier: MIT
/*
 * Damage done to a file of `ipclift save`.
 */
#ifndef IPCLIFT_TESTS_FUZZ_SAVEDAMAGE_H
#define IPCLIFT_TESTS_FUZZ_SAVEDAMAGE_H

#include <stddef.h>

#include "mutate.h"

/* Change a word, of a record's head or of the struct behind it, mostly; where
 * it is. len: at least 4. */
size_t savefile_damage(struct rng *r, char *bytes, size_t len);
/* Make the sum at its end right. */
void savefile_sum(char *bytes, size_t len);

#endif
