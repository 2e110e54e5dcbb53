// SPDX-License-Identifier: MIT
/*
 * What every unit test starts from: a fresh registry of its own, and a caller.
 * The file is unlinked as soon as it is mapped, so no end of a test leaves it
 * behind.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <criterion/criterion.h>
#include "inspect/check.h"
#include "object/limits.h"
#include "object/perm.h"
#include "sem/sem.h"
#include "registry/lock.h"

extern struct caller me;
extern struct cred me_cred;

void unit_init(void);	    /* normal ids, kernel's limits */
void unit_init_named(void); /* the same; its file has its name until the end */
void unit_init_extended(void); /* extended ids, roomy limits */
void unit_fini(void);	       /* also: all invariants hold */
/* The registry's file, which has no name any more; open until unit_fini(). */
int unit_file(void);
/* In a fork child: a caller of its own. */
void unit_forked(void);
/* Forks a child that calls fn(id), which sleeps on an object; returns its pid
 * once n waiters of the registry stand in queues. Never, if it is fewer. */
pid_t unit_sleeper(void (*fn)(s32 id), s32 id, u32 n);
/* From now on system call nr of this process is answered by a SECCOMP_RET_*. */
void unit_filter(int nr, unsigned answer);
/* Seeded, and the seed is printed by whoever fails. */
unsigned unit_random(void);
#define UNIT_SEED 20260101u

#endif
