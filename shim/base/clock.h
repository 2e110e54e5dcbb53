// SPDX-License-Identifier: MIT
/*
 * The time and the CPU, by the vDSO.
 */
#ifndef IPCLIFT_BASE_CLOCK_H
#define IPCLIFT_BASE_CLOCK_H

#include "base/sys.h"

/* Clocks by the vDSO where the C library has its address (getauxval), else by
 * system call. CLOCK_REALTIME seconds as the kernel stamps them;
 * CLOCK_MONOTONIC in nanoseconds. */
int64_t sys_realtime_sec(void);
uint64_t sys_boottime_ns(void); /* a system call */
int64_t sys_realtime_coarse_ns(void);
/* CLOCK_REALTIME, exact. */
int64_t sys_realtime_ns(void);
uint64_t sys_monotonic_ns(void);
/* CLOCK_BOOTTIME, what start times are counted in. */
uint64_t sys_boottime_ns(void);
/* What rseq(2) shares with the kernel. */
struct sys_rseq {
	uint32_t cpu_start;
	volatile uint32_t cpu; /* negative: not registered */
	volatile uint64_t cs;
	uint32_t flags, pad[3];
} __attribute__((aligned(32)));
/* The calling thread's, if its libc has registered one; else NULL. */
struct sys_rseq *sys_rseq_of_libc(void);
/* The CPU this thread last ran on; a hint. */
unsigned sys_cpu(void);

#endif
