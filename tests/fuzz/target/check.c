// SPDX-License-Identifier: MIT
/*
 * check: the proof of the invariants of a damaged registry, as of one that
 * nobody uses and as of one in use.
 */
#include "inspect/check.h"
#include "target.h"

static void check(void *arg)
{
	int quiet;

	(void)arg;
	check_region(&target.region, NULL, NULL);
	check_live(&target, NULL, NULL, &quiet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	target_damage(data, size);
	target_run(check, NULL);
	return 0;
}
