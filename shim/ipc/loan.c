// SPDX-License-Identifier: MIT
/*
 * Ending a loan; see loan.h.
 */
#include "ipc/loan.h"

__attribute__((noinline)) void loan_end(
	struct caller *c, struct slot *s, struct loan *loan)
{
	int foreign = bias_revoke(c, s);

	if (foreign && loan)
		loan->backoff++;
	bias_end(s);
}
