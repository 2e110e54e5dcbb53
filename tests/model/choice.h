// SPDX-License-Identifier: MIT
/*
 * choice.h: the random choices of a model program: splitmix64, one state a
 * program, so that a seed names a run.
 */
#ifndef CHOICE_H
#define CHOICE_H

#include <stdbool.h>
#include <stdint.h>

static uint64_t choice_state;

static inline void choice_seed(long seed)
{
	choice_state = (uint64_t)seed * 0x2545f4914f6cdd1dULL;
}

/* 0 ... below - 1 */
static inline uint32_t pick(uint32_t below)
{
	uint64_t z = choice_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (uint32_t)(((z ^ z >> 31) >> 32) % below);
}

static inline bool chance(uint32_t per_mille)
{
	return pick(1000) < per_mille;
}

#define PICK_OF(a) ((a)[pick(sizeof(a) / sizeof((a)[0]))])

#endif
