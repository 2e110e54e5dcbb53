// SPDX-License-Identifier: MIT
/*
 * The mutator of those targets whose input is nothing but steps.
 */
#include "target.h"

size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	if (seed % 4 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	return target_add_step(data, size, max_size, seed);
}
