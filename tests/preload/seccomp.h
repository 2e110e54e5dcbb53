// SPDX-License-Identifier: MIT
/*
 * seccomp.h - system calls that are refused from now on, as a sandbox or an
 * older kernel refuses them.
 */
#ifndef SECCOMP_H
#define SECCOMP_H

#include "t.h"
#include <stdint.h>
#include <sys/prctl.h>

/* As in <linux/filter.h>, which musl's compiler driver does not find. */
struct instruction {
	uint16_t code;
	uint8_t jump_true, jump_false;
	uint32_t k;
};
struct program {
	unsigned short len;
	const struct instruction *code;
};

/* From now on the code decides what each system call is answered. */
static inline void filter(const struct instruction *code, unsigned short len)
{
	const struct program program = {len, code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, 2 /* FILTER */, &program))
		_exit(90);
}

/* The calls with these two numbers (perhaps the same) fail with err. */
static inline void deny_two(int nr, int other, int err)
{
	const struct instruction code[] = {
		{0x20, 0, 0, 0}, /* load the number of the call */
		{0x15, 1, 0, (uint32_t)nr}, {0x15, 0, 1, (uint32_t)other},
		{0x06, 0, 0, 0x00050000u | (unsigned)err}, /* an error */
		{0x06, 0, 0, 0x7fff0000u},		   /* allow */
	};

	filter(code, 5);
}

#endif
