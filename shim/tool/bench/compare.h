// SPDX-License-Identifier: MIT
/*
 * Two results side by side: the shim's change, and whether it is one.
 */
#ifndef IPCLIFT_BENCH_COMPARE_H
#define IPCLIFT_BENCH_COMPARE_H

#include "tool/bench/results.h"

/* As text. */
void compare_print(const struct results *old, const struct results *new);
/* As an array, a row a figure that both have. */
json_object *compare_json(const struct results *old, const struct results *new);

#endif
