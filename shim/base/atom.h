// SPDX-License-Identifier: MIT
/*
 * Atomics with their order in the name, and the crash points.
 *
 * Every store to the registry goes through this file. In the test build
 * (-DIPCLIFT_CRASH) each of them first calls crash_point(), which numbers it
 * and may stop the process there for good: that is how tests/crash shows that
 * an operation happens wholly or not at all. In the normal build the hook is
 * nothing.
 *
 * All shared stores are release stores: on x86 this is a plain move, and it
 * keeps the compiler from changing their order, which the journal needs.
 */
#ifndef IPCLIFT_BASE_ATOM_H
#define IPCLIFT_BASE_ATOM_H

#include <stdint.h>
#include "arch.h"

/* In the crash tests (tests/crash) the process stops here, before each store to
 * shared memory in turn; nothing elsewhere. */
#ifdef IPCLIFT_CRASH
void crash_point(void);
#else
static inline void crash_point(void)
{
}
#endif

#define atom_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define atom_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

#define atom_store_release(p, v)                              \
	do {                                                  \
		crash_point();                                \
		__atomic_store_n((p), (v), __ATOMIC_RELEASE); \
	} while (0)

/* Strong compare-and-swap, acquire and release; *(expect) is updated. */
#define atom_cas(p, expect, v)                                             \
	(crash_point(), __atomic_compare_exchange_n((p), (expect), (v), 0, \
				__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))

#define atom_xchg(p, v) \
	(crash_point(), __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL))

#define atom_add(p, v) \
	(crash_point(), __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL))

#define atom_or(p, v) \
	(crash_point(), __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL))

static inline int atom_cas16(
	void *p, uint64_t *lo, uint64_t *hi, uint64_t new_lo, uint64_t new_hi)
{
	crash_point();
#ifdef IPCLIFT_SEEN
	/* What ThreadSanitizer can see (tests/tsan). */
	unsigned __int128 was = (unsigned __int128)*hi << 64 | *lo;
	unsigned __int128 now = (unsigned __int128)new_hi << 64 | new_lo;
	int done = atom_cas((unsigned __int128 *)p, &was, now);

	*lo = (uint64_t)was;
	*hi = (uint64_t)(was >> 64);
	return done;
#else
	return arch_cas16(p, lo, hi, new_lo, new_hi);
#endif
}

/* Keeps the compiler from moving memory accesses across; no instruction. */
static inline void atom_compiler_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Linked side by side: after a switch of processes each page of code that a
 * call passes through costs a miss of the TLB. */
#define HOT __attribute__((hot))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
