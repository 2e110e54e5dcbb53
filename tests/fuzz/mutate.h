// SPDX-License-Identifier: MIT
/*
 * Damage done to a registry where it may hurt: in the fields of its structs,
 * with values that somebody who meant harm, or a stray store, would leave.
 */
#ifndef IPCLIFT_TESTS_FUZZ_MUTATE_H
#define IPCLIFT_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include "registry/layout.h"

enum kind {
	K_ANY,	  /* a number without a rule */
	K_COUNT,  /* how many, or how large */
	K_LOCK,	  /* a futex word with a thread's id */
	K_PID,	  /* a process or thread */
	K_REF,	  /* offset of a block */
	K_LINK,	  /* the same by 64 */
	K_THREAD, /* index of a thread record */
	K_IDX,	  /* index of a slot, + 1 */
};

/* A field of a struct; table: the struct's number, for an even choice. */
struct field {
	const char *name;
	uint32_t off, size;
	enum kind kind;
};

/* One field of one object of the registry that was scanned. */
struct place {
	const struct field *field;
	uint64_t off;
	uint32_t table;
};

#define N_TABLES 96

struct places {
	struct place *at;
	size_t n, cap;
	/* By struct, so that each is chosen as often. */
	size_t first[N_TABLES], count[N_TABLES];
	uint32_t n_tables;
	/* What a lock word or pid may be damaged to: places_scan takes ours and
	 * our parent's, who live. */
	uint32_t living[2];
};

/* xorshift: the same everywhere. */
struct rng {
	uint64_t x;
};
uint64_t rng_next(struct rng *r);
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return n ? rng_next(r) % n : 0;
}

/* All places of the registry that is mapped at base. Trusts nothing in it. */
void places_scan(struct places *p, const char *base);
void places_free(struct places *p);

/* What was done, in words. */
struct damage {
	const struct field *field;
	uint64_t off, old, new;
};
/* Damage one place, at base; live: by one atomic store. */
void damage_one(
	const struct places *p, char *base, struct rng *r, struct damage *ret);
/* The value that damage_at would store there, and the store. */
uint64_t damage_value(const struct places *p, const char *base, struct rng *r,
	const struct place *at);
void damage_set(char *base, const struct place *at, uint64_t value);
/* One store to this place, of whatever value. */
void damage_at(const struct places *p, char *base, struct rng *r,
	const struct place *at);

#endif
