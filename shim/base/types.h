// SPDX-License-Identifier: MIT
/*
 * Integers by their width, as layouts name them.
 */
#ifndef IPCLIFT_BASE_TYPES_H
#define IPCLIFT_BASE_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef int16_t s16;

#endif
