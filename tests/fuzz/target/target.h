// SPDX-License-Identifier: MIT
/*
 * What the libFuzzer targets share: a caller on a registry with one of
 * everything (filled.h), damaged as the input says, in this process.
 *
 * The registry is mapped privately, so what an input changed goes by giving its
 * pages back. Whoever used it is gone, so locks are repaired and exited tasks
 * reaped. Locks that somebody alive seems to hold are left after a millisecond,
 * with the rest of the input.
 *
 * The input is a list of steps. A step names a field by its table and its
 * number there (mutate.h), so that each string of bytes damages fields, and a
 * custom mutator adds what registries.c would do: the same rule, one place.
 *
 * An input that makes the process or a file more than GROWTH_MAX larger is a
 * fault like a crash, and says so.
 *
 * IPCLIFT_SHIM and IPCLIFT_TESTS make the registry; IPCLIFT_FUZZ_SAY tells the
 * steps of each input in words.
 */
#ifndef IPCLIFT_TESTS_FUZZ_TARGET_H
#define IPCLIFT_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "mutate.h"
#include "registry/caller.h"

struct step {
	uint16_t table, at;
	uint32_t value_low, value_high;
};
/* More in one input only hide each other. */
#define STEPS_MAX 8u
/* Bytes. Arbitrary: some ten times what the same takes of a sound registry. */
#define GROWTH_MAX (16L << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* The registry, the caller, and a directory of our own. */
extern struct caller target;
extern struct places target_places;
const char *target_dir(void);

/* Do to the registry what the input says. */
void target_damage(const uint8_t *data, size_t size);
/* A step more or another, of the first `size` bytes, by mutate.h's rules; the
 * new size. */
size_t target_add_step(
	uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* The same for an input that has a head of so many bytes before its steps (0:
 * it is too short): every other time libFuzzer's own mutation of all of it. */
size_t target_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed,
	size_t head);

/* fn(arg) as this caller; then all is as it was. 0, or 1 if it had to be left
 * for a lock. */
int target_run(void (*fn)(void *arg), void *arg);

/* A command of `ipclift`, its words with it, on the registry. */
struct command;
int target_command(const struct command *command, int argc, char **argv);

#endif
