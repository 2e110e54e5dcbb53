// SPDX-License-Identifier: MIT
/*
 * Typed raw system calls: what the registry needs of the kernel, without
 * libc. All return a count, a descriptor or 0, or -errno.
 */
#ifndef IPCLIFT_BASE_SYS_H
#define IPCLIFT_BASE_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <asm/unistd.h>
#include "arch.h"

#define SYS_ARGS_(nr, a, b, c, d, e, f, ...)                                  \
	arch_syscall6((long)(nr), (long)(a), (long)(b), (long)(c), (long)(d), \
		(long)(e), (long)(f))
#define sys_call(...) SYS_ARGS_(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

/* The sixth argument of the kernel's own IPC calls that the library makes: none
 * of them has that many, and run --strict lets them through (tool/filter.h).
 * "IPCL" */
#define SYS_OF_LIBRARY 0x4c435049

struct sys_timespec {
	int64_t sec;
	int64_t nsec;
};

/* One word of futex_waitv(2). */
struct sys_waitv {
	uint64_t val;
	uint64_t uaddr;
	uint32_t flags;
	uint32_t reserved;
};

#define SYS_FUTEX_WAIT 0
#define SYS_FUTEX_WAKE 1
#define SYS_FUTEX_REQUEUE 3
#define SYS_FUTEX_CMP_REQUEUE 4
#define SYS_FUTEX_LOCK_PI 6
#define SYS_FUTEX_UNLOCK_PI 7
#define SYS_FUTEX2_32 2 /* futex_waitv: a 32-bit shared futex */

#define SYS_TID_MASK 0x3fffffffu
#define SYS_OWNER_DIED 0x40000000u
#define SYS_WAITERS 0x80000000u

/* Sleep while *word == val, at most timeout (relative; NULL = no limit). */
static inline int sys_futex_wait(
	uint32_t *word, uint32_t val, const struct sys_timespec *timeout)
{
	return sys_call(__NR_futex, word, SYS_FUTEX_WAIT, val, timeout);
}

/* Wake up to n sleepers of word; returns how many. */
static inline int sys_futex_wake(uint32_t *word, int n)
{
	return sys_call(__NR_futex, word, SYS_FUTEX_WAKE, n);
}

/* While *from == val: whoever sleeps on it sleeps on `to` from now on, and
 * nobody is woken. How many, or -errno; -EAGAIN: another value. */
static inline int sys_futex_requeue(uint32_t *from, uint32_t val, uint32_t *to)
{
	return sys_call(__NR_futex, from, SYS_FUTEX_CMP_REQUEUE, 0, 0x7fffffff,
		to, val);
}

/* Does anybody sleep on the word? Nobody is woken by the question. */
static inline int sys_futex_asleep(uint32_t *word)
{
	return sys_call(__NR_futex, word, SYS_FUTEX_REQUEUE, 0, 1, word) == 1;
}

static inline uint32_t sys_gettid(void)
{
	return sys_call(__NR_gettid);
}

static inline uint32_t sys_getpid(void)
{
	return sys_call(__NR_getpid);
}

struct sys_robust_head {
	void *next; /* first entry, or the head itself */
	long futex_offset;
	void *pending;
};

static inline long sys_get_robust_list(struct sys_robust_head **ret_head)
{
	size_t len;

	return sys_call(__NR_get_robust_list, 0, ret_head, &len);
}

static inline long sys_set_robust_list(struct sys_robust_head *head)
{
	return sys_call(__NR_set_robust_list, head, sizeof(*head));
}

#define SYS_PAGE 4096UL

/* The address, or -errno as one: above -4096UL. */
void *sys_mmap(void *addr, size_t len, int prot, int flags, int fd, long off);
/* New private memory, zeroed; as sys_mmap. */
void *sys_mmap_private(size_t len);
/*
 * Such pages for the length of one call, which the process keeps in *kept for
 * the next one; whoever finds them in use maps his own. A call that is never
 * ended (longjmp out of a handler) leaves them mapped.
 */
static inline void *sys_kept_take(void **kept, size_t len)
{
	void *p = __atomic_exchange_n(kept, NULL, __ATOMIC_ACQUIRE);

	return p ? p : sys_mmap_private(len);
}
static inline void sys_kept_give(void **kept, void *p, size_t len)
{
	void *none = NULL;

	if (!__atomic_compare_exchange_n(
		    kept, &none, p, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		sys_call(__NR_munmap, p, len);
}
/* 1 if [p, p+len) can be read (or written, for sys_writable) by this process
 * right now, else 0. A system call, or where the answer is no (or the kernel
 * older than 5.14) one a page; no memory is changed. */
int sys_readable(const void *p, size_t len);
int sys_writable(const void *p, size_t len);

/* Read a small file of /proc, of one record, whole: at most cap-1 bytes,
 * zero-terminated, in one read(2). Returns the length or -errno; the descriptor
 * is closed again. */
long sys_read_file(const char *path, char *buf, size_t cap);

/*
 * Call fn(arg) where some descriptors are free although this process has none
 * left: in a thread that lives as long as the call does and has a copy of the
 * table, of which it closes a few. It shares all memory, but not what is one
 * thread's (tid, robust list), and its thread-local data is the caller's. All
 * signals must be blocked. 0, or -errno of clone(2): fn was not called.
 */
int sys_with_descriptors(void (*fn)(void *), void *arg);

/*
 * Where variables lie. The dynamic loader writes two pages of the library's in
 * each program, served or not: what is read-only after relocation, and the end of
 * .data, with which .bss begins. So what a program reads or writes that makes no
 * IPC call lies in one of these, for another page costs 1 to 2 us in each process
 * (doc/measurements.md §18; tests/preload/quiet.sh counts), and so does what a
 * first call stores: a fork child copies each page that it stores to.
 *
 * SYS_FAR_BSS: large or rarely written variables, behind all others that begin as
 * zero, which together are smaller than a page (first.ld).
 * SYS_NEAR_RODATA: constants for the library's load. Without pointers, which
 * would have to be relocated.
 * SYS_LOAD_TEXT: functions called at load only; near the tables that the loader
 * reads.
 */
#define SYS_FAR_BSS __attribute__((section(".bss.far")))
#define SYS_NEAR_RODATA __attribute__((section(".data.rel.ro.load")))
#define SYS_LOAD_TEXT __attribute__((section(".text.startup"), noinline))

/* What /proc/PID/stat, or /proc/PID/task/TID/stat, says. */
struct sys_process {
	uint64_t start; /* clock ticks since boot */
	uint64_t stack; /* where its stack starts: another after exec; 0 or
			 * 1 if we may not know */
	uint64_t n_threads;
	uint32_t pid;
	int stopped; /* by a signal */
	int traced;  /* by a tracer, be it for the moment of a system call */
	int ending;  /* a zombie or on its way out (PF_EXITING) */
};
/* Of this process, whatever pid namespace /proc shows. 1 if it could be read.
 */
int sys_process_read_self(struct sys_process *ret);
/* tid 0: of the process. 1 if it could be read. */
int sys_process_read(uint32_t pid, uint32_t tid, struct sys_process *ret);

/* The start time of process pid in clock ticks since boot, as in field 22 of
 * /proc/PID/stat, and in *ret_exiting whether it is a zombie or on its way out
 * (PF_EXITING) with no other thread left. 0 if there is no such process or no
 * /proc. */
uint64_t sys_start_time(uint32_t pid, int *ret_exiting);

#endif
