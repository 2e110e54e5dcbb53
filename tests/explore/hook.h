// SPDX-License-Identifier: MIT
/*
 * Included by the compiler before each file of the core (-include) in the
 * explorer's build, which is compiled with -fsanitize=thread but without that
 * sanitizer's library: each load and store of memory first calls a function of
 * memory.c, which also does the atomics. The names below redirect what is
 * written in assembly. Product code does not depend on it.
 */
#ifndef EXPLORE_HOOK_H
#define EXPLORE_HOOK_H

#define arch_syscall6 arch_real_syscall6
#define arch_syscall6_intr arch_real_syscall6_intr
#define arch_cas16 arch_real_cas16
#define arch_pause arch_real_pause
#define arch_cycles arch_real_cycles
#include "arch.h"
#undef arch_syscall6
#undef arch_syscall6_intr
#undef arch_cas16
#undef arch_pause
#undef arch_cycles

long explore_syscall6(long nr, long a, long b, long c, long d, long e, long f);
int explore_cas16(
	void *p, uint64_t *lo, uint64_t *hi, uint64_t new_lo, uint64_t new_hi);
void explore_pause(void);

#define arch_syscall6 explore_syscall6
#define arch_cas16 explore_cas16
#define arch_pause explore_pause
/* A sleep that a stop ends: the restartable sequence is the real one. */
long explore_syscall6_intr(volatile uint64_t *rseq_cs, long nr, long a, long b,
	long c, long d, long e);
#define arch_syscall6_intr explore_syscall6_intr
/* So many from one look to the next. */
unsigned long explore_cycles(void);
#define arch_cycles explore_cycles

/* So that a flush under the lock needs few sleepers: the array keeps its
 * size. */
#include "registry/caller.h"
#ifdef MAX_GRANTS
#undef MAX_GRANTS
#define MAX_GRANTS 2u
#endif

#endif
