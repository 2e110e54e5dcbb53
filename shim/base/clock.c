// SPDX-License-Identifier: MIT
/*
 * Clocks and the CPU; see clock.h.
 */
#include <linux/auxvec.h>
#include <linux/time.h>
#include "base/clock.h"
#include "base/atom.h"
#include "base/elf.h"

extern unsigned long getauxval(unsigned long) __attribute__((weak));

typedef int (*clock_fn)(int, struct sys_timespec *);
typedef int (*getcpu_fn)(unsigned *, unsigned *, void *);

static clock_fn vdso_clock;
static getcpu_fn vdso_getcpu;
static int vdso_looked;
/*
 * The word in which the kernel keeps the second of CLOCK_REALTIME for the vDSO,
 * or NULL. A clock call costs 4 ns, a load of this word well below 1 ns. The
 * layout of its page is not part of the kernel's interface, so the word is
 * found by its value and compared with the clock again and again
 * (SECOND_CHECKS); the first difference ends its use.
 */
static const volatile int64_t *second_word;
/* For functions that read it: AddressSanitizer does not know these pages. */
#define READS_VVAR __attribute__((no_sanitize("address")))
#define SECOND_CHECKS 4096
#define VVAR_PAGES 24
/* Where kernels up to now have it: how many pages before the code. These are
 * tried first, for each try is a system call. */
static const unsigned char vvar_known[] = {6, 4, 3};

static int clock_by_syscall(int clock, struct sys_timespec *ts)
{
	return sys_call(__NR_clock_gettime, clock, ts);
}

static int getcpu_by_syscall(unsigned *cpu, unsigned *node, void *unused)
{
	(void)unused;
	return sys_call(__NR_getcpu, cpu, node, 0);
}

/* 1 if the page has the second; it is used from now on. */
READS_VVAR static int second_look_at(uintptr_t page)
{
	const volatile int64_t *p = (const volatile int64_t *)page;
	struct sys_timespec before, after;
	int k;

	/* Some of these pages are not readable, and madvise(2) does not tell
	 * which. */
	if (sys_call(__NR_rt_sigprocmask, ~0u, page, NULL, 8) == -EFAULT)
		return 0;
	vdso_clock(CLOCK_REALTIME_COARSE, &before);
	for (k = 0; k < 512 && p[k] != before.sec; k++)
		;
	if (k == 512)
		return 0;
	vdso_clock(CLOCK_REALTIME_COARSE, &after);
	if (after.sec == before.sec)
		second_word = &p[k];
	return 1;
}

/* The data pages are before the code. */
static void second_look(uintptr_t code)
{
	uintptr_t base = code & ~(SYS_PAGE - 1);
	unsigned i;

	for (i = 0; i < sizeof(vvar_known); i++)
		if (second_look_at(base - vvar_known[i] * SYS_PAGE))
			return;
	for (i = VVAR_PAGES; i > 0; i--)
		if (second_look_at(base - i * SYS_PAGE))
			return;
}

/*
 * The address is taken only from getauxval: under valgrind it returns 0, while
 * /proc/self/auxv still names a page that is no longer mapped
 * (doc/measurements.md §1).
 */
static void vdso_look(void)
{
	uintptr_t base = getauxval ? getauxval(AT_SYSINFO_EHDR) : 0;
	struct elf_image vdso;
	clock_fn clock = NULL;
	getcpu_fn getcpu = NULL;

	if (base && elf_image_loaded(&vdso, base)) {
		clock = (clock_fn)elf_symbol(&vdso, "__vdso_clock_gettime");
		getcpu = (getcpu_fn)elf_symbol(&vdso, "__vdso_getcpu");
	}
	vdso_clock = clock ? clock : clock_by_syscall;
	vdso_getcpu = getcpu ? getcpu : getcpu_by_syscall;
	if (clock)
		second_look(base);
	__atomic_store_n(&vdso_looked, 1, __ATOMIC_RELEASE);
}

static inline void vdso_ready(void)
{
	if (unlikely(!__atomic_load_n(&vdso_looked, __ATOMIC_ACQUIRE)))
		vdso_look();
}

READS_VVAR static __attribute__((noinline)) int64_t second_by_clock(void)
{
	struct sys_timespec ts;
	int64_t was;

	vdso_ready();
	was = second_word ? *second_word : 0;
	vdso_clock(CLOCK_REALTIME_COARSE, &ts);
	/* A difference of one: the second changed between the two. */
	if (second_word && ts.sec != was && ts.sec != was + 1)
		second_word = NULL;
	return ts.sec;
}

static uint64_t clock_ns(int clock)
{
	struct sys_timespec ts;

	vdso_ready();
	vdso_clock(clock, &ts);
	return ts.sec * 1000000000ULL + ts.nsec;
}

int64_t sys_realtime_coarse_ns(void)
{
	return (int64_t)clock_ns(CLOCK_REALTIME_COARSE);
}

int64_t sys_realtime_ns(void)
{
	return (int64_t)clock_ns(CLOCK_REALTIME);
}

READS_VVAR int64_t sys_realtime_sec(void)
{
	static __thread unsigned calls;
	const volatile int64_t *word = second_word;

	if (unlikely(!word || ++calls % SECOND_CHECKS == 0))
		return second_by_clock();
	return *word;
}

uint64_t sys_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t sys_boottime_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

/* Of glibc 2.35 and later, for its rseq(2) registration of each thread. */
extern const long __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

HOT struct sys_rseq *sys_rseq_of_libc(void)
{
	if (!&__rseq_size || !&__rseq_offset || !__rseq_size)
		return NULL;
	return (struct sys_rseq *)(arch_thread_pointer() + __rseq_offset);
}

HOT unsigned sys_cpu(void)
{
	const struct sys_rseq *area = sys_rseq_of_libc();
	unsigned cpu = 0;

	/* Maintained by the kernel: no call into the vDSO's pages. */
	if (likely(area && (int)area->cpu >= 0))
		return area->cpu;

	vdso_ready();
	vdso_getcpu(&cpu, NULL, NULL);
	return cpu;
}
