// SPDX-License-Identifier: MIT
/*
 * The file of a registry that is to be made: how it gets its size and its first
 * pages, what its file system must offer, and how one looks that a creator left
 * who died.
 */
#include <linux/fs.h>
#include <linux/resource.h>
#include "registry/region/regionfile.h"
#include "base/statfs.h"
#include "base/sys.h"
#include "registry/layout.h"

/* Arbitrary: a window smaller than this is none. */
#define WINDOW_MIN (4ULL << 30)
/* A registry in a file system with less space is refused. Arbitrary: a handful
 * of objects and processes. */
#define LEAST_WIDTH (512u << 10)

/*
 * A page that was filled once, by MADV_POPULATE_WRITE, must be there for good:
 * where a file system copies on write, each page that it has written to the
 * disk takes space anew when it is stored to again, and if there is none that
 * store ends in SIGBUS. btrfs does without that in a file that is marked while
 * it is empty; under a quota it does not, so doctor warns of it in any case.
 */
static void no_copy_on_write(long fd)
{
	struct sys_statfs fs;
	s64 flags = 0;

	if (sys_call(__NR_fstatfs, fd, &fs) || fs.type != SYS_BTRFS ||
		sys_call(__NR_ioctl, fd, FS_IOC_GETFLAGS, &flags))
		return;
	flags = (s64)(u32)flags | FS_NOCOW_FL;
	sys_call(__NR_ioctl, fd, FS_IOC_SETFLAGS, &flags);
}

/* Asked for first, largest window first, a quarter each time: ftruncate beyond
 * RLIMIT_FSIZE would be SIGXFSZ, which is not ours to raise; EFBIG of a file
 * system just makes the next one be tried. */
int regionfile_grow(long fd)
{
	u64 limit[2] = {~0ULL, 0}, window;
	long err = -EFBIG;

	no_copy_on_write(fd);
	sys_call(__NR_prlimit64, 0, RLIMIT_FSIZE, NULL, limit);
	for (window = WINDOW_MAX; err; window >>= 2) {
		if (window < WINDOW_MIN)
			window = 0;
		if (limit[0] >= REGION_SIZE + window)
			err = sys_call(
				__NR_ftruncate, fd, REGION_SIZE + window);
		if (!window)
			break;
	}
	return err;
}

/* 1 if `len` bytes at an offset, no more than a page, are zeros. */
static int is_zero(long fd, u64 off, u64 len)
{
	char some[512]; /* on a stack that may be small; arbitrary */
	u64 i, n;

	for (; len; len -= n, off += n) {
		n = len < sizeof(some) ? len : sizeof(some);
		if (sys_call(__NR_pread64, fd, some, n, off) != (long)n)
			return 0;
		for (i = 0; i < n; i++)
			if (some[i])
				return 0;
	}
	return 1;
}

/* Is that one of the sizes that regionfile_grow gives? */
static int is_grown_size(u64 size)
{
	u64 window;

	for (window = WINDOW_MAX; window >= WINDOW_MIN; window >>= 2)
		if (size == REGION_SIZE + window)
			return 1;
	return size == REGION_SIZE;
}

/* Those that regionfile_first_pages asks for, of buckets and slots. */
static u64 first_page(u64 i)
{
	return i & 1 ? SLOTS_OFF(i / 2) : BUCKETS_OFF(i / 2);
}

/*
 * Page by page of what the file has: each must be one that
 * regionfile_first_pages makes, or of the header, and zero. With the version
 * stored the header's own bytes may be anything as far as write_header came, so
 * they are left out; without it they must be zeros, too.
 */
int regionfile_unfinished(long fd, u64 size)
{
	u32 begun[4] = {0}; /* magic, version, word size */
	u64 at, i;
	s64 data;

	if (!is_grown_size(size) ||
		sys_call(__NR_pread64, fd, begun, sizeof(begun), 0) !=
			sizeof(begun) ||
		(begun[2] && begun[2] != LAYOUT_VERSION))
		return 0;
	at = begun[2] ? (sizeof(struct header) + SYS_PAGE - 1) &
				~(u64)(SYS_PAGE - 1)
		      : 0;
	for (;; at = (u64)data + SYS_PAGE) {
		data = sys_call(__NR_lseek, fd, at, SEEK_DATA);
		if (data == -ENXIO)
			return 1;
		if (data < 0)
			return 0;
		data &= ~(s64)(SYS_PAGE - 1);
		for (i = 0; i < 2 * N_FAC && first_page(i) != (u64)data; i++)
			;
		if (((u64)data >= HEADER_SIZE && i == 2 * N_FAC) ||
			!is_zero(fd, (u64)data, SYS_PAGE))
			return 0;
	}
}

/* A tmpfs without a limit says 0 blocks. */
int regionfile_no_space(long fd)
{
	struct sys_statfs fs;

	return !sys_call(__NR_fstatfs, fd, &fs) && fs.n_blocks &&
	       fs.n_available < LEAST_WIDTH / fs.block_size;
}

u64 regionfile_heap_keep(long fd)
{
	struct sys_statfs fs;
	u64 share;

	if (sys_call(__NR_fstatfs, fd, &fs) || !fs.n_blocks)
		return HEAP_KEEP_MOST;
	share = fs.n_blocks / HEAP_KEEP_SHARE * fs.block_size;
	return share < HEAP_KEEP_MOST ? share : HEAP_KEEP_MOST;
}

int regionfile_on_disk(long fd)
{
	struct sys_statfs fs;

	return !sys_call(__NR_fstatfs, fd, &fs) && fs.type != SYS_TMPFS;
}

/* fallocate and not a store: a store for which there is no space is SIGBUS. An
 * error but ENOSPC (a file system without it) is taken for success: then the
 * pages are made as they are needed. */
int regionfile_first_pages(long fd)
{
	u64 f;
	long err = sys_call(__NR_fallocate, fd, 0, 0, HEADER_SIZE);

	for (f = 0; f < 2 * N_FAC && err != -ENOSPC; f++)
		err = sys_call(__NR_fallocate, fd, 0, first_page(f), SYS_PAGE);
	return err == -ENOSPC;
}
