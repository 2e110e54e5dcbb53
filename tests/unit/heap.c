// SPDX-License-Identifier: MIT
/*
 * The heap: classes, reuse, no overlap, and a file system without space.
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "registry/heap.h"
#include "registry/heap/span.h"
#include "unit.h"

TestSuite(heap, .init = unit_init, .timeout = 60);

static int small_fd = -1;

/* References must stand in the registry: unused words of thread records. */
static struct ref *ref_at(u32 i)
{
	return (struct ref *)((char *)region_at(&me.region, EVENTS_OFF) +
			      i * 8);
}

/* But between the largest that is cut from a span and the span. */
Test(heap, blocks_are_aligned_and_at_most_a_quarter_too_large)
{
	u64 size, block;

	for (size = 1; size < 300000; size += 1 + size / 50) {
		block = heap_block_size(size);
		cr_assert_geq(block, size);
		cr_assert_eq(block % 64, 0);
		cr_assert(block <= size + 64 || block <= size + size / 4 + 1 ||
			  (size > HEAP_SMALL && block == HEAP_LARGE));
	}
	cr_assert_eq(heap_block_size(1ULL << 30), 1ULL << 30);
	cr_assert_eq(heap_block_size((1ULL << 30) + 1), 0);
}

Test(heap, class_sizes_are_the_block_sizes)
{
	u32 k;

	for (k = 0; k < 90; k++) {
		if (heap_class_size(k) <= HEAP_SMALL ||
			heap_class_size(k) >= HEAP_LARGE)
			cr_assert_eq(heap_block_size(heap_class_size(k)),
				heap_class_size(k));
		cr_assert(
			k == 0 || heap_class_size(k) > heap_class_size(k - 1));
	}
}

Test(heap, a_freed_block_is_used_again)
{
	u64 first;

	cr_assert_eq(heap_alloc_at(&me, 1000, ref_at(0)), 0);
	first = ref_at(0)->off;
	heap_free_at(&me, 1000, ref_at(0));
	cr_assert_eq(ref_at(0)->off, 0);
	cr_assert_eq(heap_alloc_at(&me, 990, ref_at(1)), 0);
	cr_assert_eq(ref_at(1)->off, first);
}

Test(heap, an_aborted_allocation_leaves_all_as_it_was)
{
	struct heap before, *heap = &caller_header(&me)->heap;

	cr_assert_eq(heap_alloc_at(&me, 100, ref_at(0)), 0);
	heap_free_at(&me, 100, ref_at(0));
	heap_acquire(&me);
	before = *heap;
	cr_assert_eq(heap_alloc_locked(&me, 100, ref_at(0)), 0);
	cr_assert_eq(heap_alloc_locked(&me, 5000, ref_at(1)), 0);
	memset(region_at(&me.region, ref_at(0)->off), 0xff, 100);
	journal_abort(&me);
	cr_assert_eq(ref_at(0)->off, 0);
	cr_assert_eq(ref_at(1)->off, 0);
	cr_assert_eq(heap->bump, before.bump);
	cr_assert_eq(heap->used, before.used);
	cr_assert_arr_eq(
		heap->free_head, before.free_head, sizeof(before.free_head));
	heap_release(&me);
	cr_assert_eq(check_region(&me.region, NULL, NULL), 0);
}

Test(heap, random_blocks_never_overlap)
{
	enum { N = 400 };
	static u64 sizes[N];
	u32 i, k, j;
	u64 used = caller_header(&me)->heap.used;

	for (i = 0; i < 40000; i++) {
		k = unit_random() % N;
		if (!sizes[k]) {
			sizes[k] = 1 + unit_random() % (k < 4 ? 300000 : 3000);
			cr_assert_eq(
				heap_alloc_at(&me, sizes[k], ref_at(k)), 0);
			memset(region_at(&me.region, ref_at(k)->off), k,
				sizes[k] > 256 ? 256 : sizes[k]);
			((char *)region_at(&me.region,
				ref_at(k)->off))[sizes[k] - 1] = (char)k;
			continue;
		}
		for (j = 0; j < sizes[k] && j < 256; j++)
			cr_assert_eq(((char *)region_at(
					     &me.region, ref_at(k)->off))[j],
				(char)k, "step %u seed %u", i, UNIT_SEED);
		cr_assert_eq(((char *)region_at(
				     &me.region, ref_at(k)->off))[sizes[k] - 1],
			(char)k);
		heap_free_at(&me, sizes[k], ref_at(k));
		sizes[k] = 0;
	}
	for (k = 0; k < N; k++)
		if (sizes[k])
			heap_free_at(&me, sizes[k], ref_at(k));
	cr_assert_eq(caller_header(&me)->heap.used, used);
	cr_assert_eq(check_region(&me.region, NULL, NULL), 0);
}

/* A registry in a file system of its own, of so many MiB. */
static void small_registry(u32 mib)
{
	struct region_options opt = {.idx_bits = IDX_BITS_NORMAL};
	char dir[] = "/tmp/unit-XXXXXX", path[64], why[256], size[32];
	int err;

	if (geteuid() != 0)
		cr_skip_test("mounting a small tmpfs needs root");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(size, sizeof(size), "size=%um", mib);
	if (mount("unit", dir, "tmpfs", 0, size)) {
		rmdir(dir);
		cr_skip_test("no right to mount here");
	}
	snprintf(path, sizeof(path), "%s/r", dir);
	limits_init(&opt.limits, LIMITS_ROOMY, opt.idx_bits);
	me = (struct caller){.cred = &me_cred};
	err = region_map(&me.region, path, &opt, why, sizeof(why));
	small_fd = open(path, O_RDONLY | O_CLOEXEC);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	cr_assert_eq(err, 0, "%s", why);
	caller_refresh(&me);
	cr_assert_eq(caller_enroll(&me), 0);
}

Test(heap, a_full_file_system_is_enomem_and_not_sigbus, .init = NULL)
{
	u32 i;
	int err = 0;

	small_registry(1);
	for (i = 0; i < 1000 && !err; i++)
		err = sem_get(&me, 0, 500, 0600) < 0 ? -ENOMEM : 0;
	cr_assert_eq(err, -ENOMEM);
	cr_assert_gt(i, 20);
	cr_assert_eq(check_region(&me.region, NULL, NULL), 0);
	/* What is there still works. */
	cr_assert_eq(sem_setval(&me, 0, 1, 3), 0);
	/* Two give back pages enough for one, and for a page of slots. */
	cr_assert_eq(sem_remove(&me, 1), 0);
	cr_assert_eq(sem_remove(&me, 2), 0);
	cr_assert_geq(sem_get(&me, 0, 500, 0600), 0);
}

/* KiB that the registry takes. */
static u64 taken(void)
{
	struct stat st;

	cr_assert_eq(fstat(small_fd, &st), 0);
	return (u64)st.st_blocks / 2;
}

/* Of the heap itself: blocks of these tests stand in no reference that check
 * knows. */
static u32 n_faults;
static void count_fault(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	(void)arg;
	if (which == INV_LEAK || which == INV_USED)
		return;
	n_faults++;
	fprintf(stderr, "%d: %s %lx %lx\n", which, what, a, b);
}

static u32 heap_faults(void)
{
	n_faults = 0;
	check_region(&me.region, count_fault, NULL);
	return n_faults;
}

/* Blocks of a size until there is no space: how many. Their references stand in
 * a block of their own. */
#define MANY (1u << 19)
static u32 fill(u64 size)
{
	struct ref *all = region_at(&me.region, ref_at(0)->off);
	u32 n;

	for (n = 0; n < MANY && !heap_alloc_at(&me, size, &all[n]); n++)
		;
	return n;
}

static void empty(u64 size, u32 n)
{
	struct ref *all = region_at(&me.region, ref_at(0)->off);
	u32 i;

	/* Not in the order in which they were made. */
	for (i = 0; i < n; i += 2)
		heap_free_at(&me, size, &all[i]);
	for (i = 1; i < n; i += 2)
		heap_free_at(&me, size, &all[i]);
}

Test(heap, memory_of_small_blocks_is_there_for_others, .init = NULL)
{
	static const u64 sizes[] = {64, 1000, 200, 4096, 16384, 60000, 320};
	u64 before, kib;
	u32 i, n;

	small_registry(24);
	cr_assert_eq(heap_alloc_at(&me, MANY * 8, ref_at(0)), 0);
	memset(region_at(&me.region, ref_at(0)->off), 0, MANY * 8);
	before = taken();
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		n = fill(sizes[i]);
		kib = n * heap_block_size(sizes[i]) / 1024;
		cr_expect_gt(kib, 12000, "%lu bytes: %lu KiB", sizes[i], kib);
		empty(sizes[i], n);
		cr_assert_eq(heap_faults(), 0);
		cr_expect_lt(taken(),
			before + caller_header(&me)->heap.keep / 1024 + 2000,
			"%lu bytes: %lu KiB stay", sizes[i], taken() - before);
	}
	heap_reclaim(&me);
	cr_expect_lt(taken(), before + 1500, "%lu KiB stay", taken() - before);
	cr_assert_eq(heap_faults(), 0);
}

/* What an operation has freed is there again when it is rolled back, though
 * there was no space for what it needed then. */
Test(heap, a_rolled_back_free_has_its_contents_without_space, .init = NULL)
{
	struct ref *all;
	u32 n;
	char *p;

	small_registry(8);
	cr_assert_eq(heap_alloc_at(&me, MANY * 8, ref_at(0)), 0);
	memset(region_at(&me.region, ref_at(0)->off), 0, MANY * 8);
	cr_assert_eq(heap_alloc_at(&me, 20000, ref_at(1)), 0);
	cr_assert_eq(heap_alloc_at(&me, 20000, ref_at(2)), 0);
	p = region_at(&me.region, ref_at(1)->off);
	memset(p, 7, 20000);
	heap_free_at(&me, 20000, ref_at(2));
	n = fill(1000);
	heap_acquire(&me);
	cr_assert_eq(heap_free_locked(&me, 20000, ref_at(1)), 1);
	cr_expect_eq(heap_alloc_locked(&me, 500000, ref_at(3)), -ENOMEM);
	journal_abort(&me);
	heap_release(&me);
	cr_expect_eq(p[0], 7);
	cr_expect_eq(p[19999], 7);
	all = region_at(&me.region, ref_at(0)->off);
	heap_free_at(&me, 1000, &all[0]);
	empty(1000, n);
	cr_assert_eq(heap_faults(), 0);
}

/* Whoever may write the file has written the record of a block made ready: what
 * the two words say is believed only if it is a block that was handed out. */
static struct thread *ready_damaged(u64 off, u64 size, u64 filled)
{
	struct thread *th = region_thread(&me.region, me.thread);

	th->ready.off = off;
	th->ready_size = size;
	th->ready_filled = filled;
	return th;
}

Test(heap, a_damaged_size_of_what_is_ready_fills_no_pages, .init = NULL)
{
	const u64 sizes[] = {2ULL << 30, 1ULL << 33, 1ULL << 34, 1ULL << 30,
		1ULL << 48, ~0ULL, 1, 0};
	u64 before;
	u32 i;

	small_registry(64);
	cr_assert_eq(heap_alloc_at(&me, 200000, ref_at(0)), 0);
	before = taken();
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ready_damaged(ref_at(0)->off, sizes[i], 0);
		heap_prepare(&me, 200000);
		cr_expect_lt(taken(), before + 2000, "size %lx: %lu KiB",
			sizes[i], taken());
		/* It does not stand in the way. */
		heap_settle(&me);
		cr_expect_eq(heap_prepare(&me, 300000), 0);
		heap_settle(&me);
	}
	/* A place that is none. */
	ready_damaged(64, 200000, 0);
	heap_prepare(&me, 200000);
	heap_settle(&me);
	cr_expect_eq(region_thread(&me.region, me.thread)->ready.off, 0);
}

Test(heap, a_damaged_size_of_what_is_ready_empties_no_pages, .init = NULL)
{
	char *p;

	small_registry(64);
	cr_assert_eq(heap_alloc_at(&me, 200000, ref_at(0)), 0);
	cr_assert_eq(heap_alloc_at(&me, 300000, ref_at(1)), 0);
	p = region_at(&me.region, ref_at(1)->off);
	memset(p, 7, 300000);
	ready_damaged(ref_at(0)->off, 3ULL << 30, 0);
	heap_settle(&me);
	cr_expect_eq(p[100000], 7);
}

Test(heap, a_damaged_size_of_what_is_ready_is_not_written_to, .init = NULL)
{
	const u64 sizes[] = {1ULL << 30, 1ULL << 33, 1ULL << 28};
	u64 before;
	u32 i;

	small_registry(64);
	before = taken();
	for (i = 0; i < 3; i++) {
		ready_damaged(HEAP_OFF, sizes[i], 1);
		sem_get(&me, 0, 2, 0600);
		cr_expect_lt(taken(), before + 2000, "size %lx: %lu KiB",
			sizes[i], taken());
	}
}

Test(heap, a_damaged_journal_is_not_gone_through, .init = NULL)
{
	struct journal j = {.cap = 1u << 25, .n = 1u << 25};
	u64 before;

	small_registry(64);
	cr_assert_eq(heap_alloc_at(&me, 200000, ref_at(0)), 0);
	before = taken();
	j.ext = *ref_at(0);
	((struct journal_ext *)region_at(&me.region, j.ext.off))->cap = j.cap;
	cr_expect_null(journal_entries(&me.region, &j, j.cap));
	cr_expect_lt(taken(), before + 2000);
}

/* Of a block whose pages are given back, its record says before that they are
 * not there: should the thread be killed next, who comes by the record keeps
 * nothing of it. */
Test(heap, what_loses_its_pages_is_not_said_to_have_them)
{
	struct thread *th;
	int told[2], status;
	u32 idx = 0;
	pid_t pid;

	caller_header(&me)->heap.keep = 0;
	cr_assert_eq(pipe(told), 0);
	pid = fork();
	if (!pid) {
		unit_forked();
		if (heap_prepare(&me, HEAP_SPAN) ||
			!region_thread(&me.region, me.thread)->ready_filled ||
			write(told[1], &me.thread, sizeof(me.thread)) < 0)
			_exit(2);
		unit_filter(SYS_madvise, SECCOMP_RET_KILL_PROCESS);
		heap_settle(&me);
		_exit(3);
	}
	close(told[1]);
	waitpid(pid, &status, 0);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	cr_assert_eq(read(told[0], &idx, sizeof(idx)), sizeof(idx));
	close(told[0]);
	th = region_thread(&me.region, idx);
	cr_expect_neq(th->ready.off, 0);
	cr_expect_eq(th->ready_filled, 0);
}
