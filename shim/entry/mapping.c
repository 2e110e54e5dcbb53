// SPDX-License-Identifier: MIT
/*
 * munmap, mmap, mprotect, madvise, mlock and mremap of ranges that concern an
 * attached segment: the number of its mappings is what nattch counts, and what
 * the shim keeps mapped for itself must not become somebody else's, nor keep
 * flags that were meant for a segment (MADV_DONTFORK). Every other range goes
 * to the kernel after a compare or two. mlockall leaves the registry out.
 */
#include <stdarg.h>
#include <sys/types.h>
#include "entry/file/mqfile.h"
#include "entry/process.h"
#include "entry/sysv.h"
#include "shm/shmapp.h"

#define MAP_FIXED 0x10
#define MAP_NOREPLACE 0x100000 /* MAP_FIXED_NOREPLACE */
#define MREMAP_FIXED_FLAG 2
#define MLOCK_ONFAULT_FLAG 1u
#define MCL_CURRENT_FLAG 1
#define MCL_ONFAULT_FLAG 4
#define MCL_FLAGS 7

static struct caller *concerned(const void *addr, size_t len)
{
	const struct shm_process *p = process_shm();
	int err = 0;

	if (likely(!p->home[0] && !p->home[1] && !p->n_used))
		return NULL;
	if (likely(!shm_app_concerns(p, (u64)addr, len)))
		return NULL;
	/* A section of our own, or a vfork child. */
	if (process_caller.in_section || process_page.pid != sys_getpid())
		return NULL;
	return process_get(&err);
}

static long entry_munmap(void *addr, size_t len)
{
	struct caller *c = concerned(addr, len);

	if (likely(!c))
		return sys_call(__NR_munmap, addr, len);
	return shm_app_unmap(c, (u64)addr, len);
}

EXPORT int munmap(void *addr, size_t len)
{
	if (likely(!concerned(addr, len)))
		PROCESS_PASS_ON(int, munmap, (void *, size_t), addr, len);
	return process_return(entry_munmap(addr, len));
}

static long entry_mmap(
	void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	const struct shm_app_mmap how = {prot, flags, fd, off};
	struct caller *c = flags & MAP_FIXED ? concerned(addr, len) : NULL;
	long ret;

	if (unlikely(c != NULL))
		ret = shm_app_map(c, (u64)addr, len, &how);
	else
		ret = sys_call(__NR_mmap, addr, len, prot, flags, fd, off);
	if (unlikely(ret == -ENODEV && fd_is_mq(fd)))
		return mqfile_map_error(fd, prot, flags);
	if (unlikely(ret == -EEXIST && (flags & MAP_NOREPLACE))) {
		c = concerned(addr, len);
		if (c)
			return shm_app_map_free(c, (u64)addr, len, &how);
	}
	return ret;
}

/* To the next definition: nothing here is to be said of it afterwards. */
static int is_plain(const void *addr, size_t len, int flags, int fd)
{
	return likely(!fd_is_mq(fd)) &&
	       (likely(!(flags & (MAP_FIXED | MAP_NOREPLACE))) ||
		       !concerned(addr, len));
}

EXPORT void *mmap(
	void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	if (is_plain(addr, len, flags, fd))
		PROCESS_PASS_ON(void *, mmap,
			(void *, size_t, int, int, int, off_t), addr, len, prot,
			flags, fd, off);
	return (void *)process_return(
		entry_mmap(addr, len, prot, flags, fd, off));
}

EXPORT void *mmap64(
	void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	if (is_plain(addr, len, flags, fd))
		PROCESS_PASS_ON(void *, mmap64,
			(void *, size_t, int, int, int, off_t), addr, len, prot,
			flags, fd, off);
	return (void *)process_return(
		entry_mmap(addr, len, prot, flags, fd, off));
}

static long entry_mprotect(void *addr, size_t len, int prot)
{
	struct caller *c = concerned(addr, len);

	if (likely(!c))
		return sys_call(__NR_mprotect, addr, len, prot);
	return shm_app_protect(c, (u64)addr, len, prot);
}

EXPORT int mprotect(void *addr, size_t len, int prot)
{
	if (likely(!concerned(addr, len)))
		PROCESS_PASS_ON(
			int, mprotect, (void *, size_t, int), addr, len, prot);
	return process_return(entry_mprotect(addr, len, prot));
}

/* madvise and the calls that lock: number, range, third argument. */
static long entry_advise(long nr, const void *addr, size_t len, u64 arg,
	struct shm_change change)
{
	struct caller *c =
		change.clear | change.set ? concerned(addr, len) : NULL;

	if (likely(!c))
		return sys_call(nr, addr, len, arg);
	return shm_app_advise(c, nr, (u64)addr, len, arg, change);
}

static struct shm_change locking(unsigned flags)
{
	u32 bits = flags & MLOCK_ONFAULT_FLAG ? SHM_ATTR_ONFAULT : 0;

	return (struct shm_change){0, SHM_ATTR_ONFAULT, SHM_ATTR_LOCKED | bits};
}

static const struct shm_change unlocking = {
	0, SHM_ATTR_LOCKED | SHM_ATTR_ONFAULT, 0};

EXPORT int madvise(void *addr, size_t len, int advice)
{
	if (likely(!concerned(addr, len)))
		PROCESS_PASS_ON(
			int, madvise, (void *, size_t, int), addr, len, advice);
	return process_return(entry_advise(
		__NR_madvise, addr, len, (u64)advice, shm_app_advice(advice)));
}

EXPORT int mlock(const void *addr, size_t len)
{
	if (likely(!concerned(addr, len)))
		PROCESS_PASS_ON(int, mlock, (const void *, size_t), addr, len);
	return process_return(
		entry_advise(__NR_mlock, addr, len, 0, locking(0)));
}

EXPORT int mlock2(const void *addr, size_t len, unsigned flags)
{
	return process_return(
		entry_advise(__NR_mlock2, addr, len, flags, locking(flags)));
}

EXPORT int munlock(const void *addr, size_t len)
{
	if (likely(!concerned(addr, len)))
		PROCESS_PASS_ON(
			int, munlock, (const void *, size_t), addr, len);
	return process_return(
		entry_advise(__NR_munlock, addr, len, 0, unlocking));
}

/* The registry is mapped from the first served call on. */
static long entry_mlockall(int flags)
{
	struct caller *c;
	int err;

	if (!(flags & MCL_CURRENT_FLAG) || (flags & ~MCL_FLAGS) ||
		!process_active())
		return sys_call(__NR_mlockall, flags);
	c = process_get(&err);
	return c ? shm_app_lock_all(c, flags)
		 : sys_call(__NR_mlockall, flags | MCL_ONFAULT_FLAG);
}

EXPORT int mlockall(int flags)
{
	return process_return(entry_mlockall(flags));
}

static long entry_mremap(
	void *old, size_t old_len, size_t len, int flags, void *to)
{
	struct caller *c = concerned(old, old_len ? old_len : SYS_PAGE);

	if (unlikely(!c && (flags & MREMAP_FIXED_FLAG)))
		c = concerned(to, len);
	if (likely(!c))
		return sys_call(__NR_mremap, old, old_len, len, flags, to);
	return shm_app_remap(c, (u64)old, old_len, len, flags, (u64)to);
}

EXPORT void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	void *to = NULL;
	va_list ap;

	if (flags & MREMAP_FIXED_FLAG) {
		va_start(ap, flags);
		to = va_arg(ap, void *);
		va_end(ap);
	}
	return (void *)process_return(
		entry_mremap(old, old_len, len, flags, to));
}

static long entry_remap_pages(
	void *addr, size_t len, int prot, size_t pgoff, int flags)
{
	struct caller *c = concerned(addr, len);

	if (likely(!c))
		return sys_call(
			__NR_remap_file_pages, addr, len, prot, pgoff, flags);
	return shm_app_remap_pages(c, (u64)addr, len, prot, pgoff, flags);
}

EXPORT int remap_file_pages(
	void *addr, size_t len, int prot, size_t pgoff, int flags)
{
	return process_return(entry_remap_pages(addr, len, prot, pgoff, flags));
}

long entry_mapping(long nr, long a, long b, long c, long d, long e, long f)
{
	void *addr = (void *)a;

	switch (nr) {
	case __NR_mmap:
		return entry_mmap(addr, b, (int)c, (int)d, (int)e, f);
	case __NR_munmap:
		return entry_munmap(addr, b);
	case __NR_mprotect:
		return entry_mprotect(addr, b, (int)c);
	case __NR_madvise:
		return entry_advise(nr, addr, b, c, shm_app_advice((int)c));
	case __NR_mlock:
		return entry_advise(nr, addr, b, 0, locking(0));
	case __NR_mlock2:
		return entry_advise(nr, addr, b, c, locking((unsigned)c));
	case __NR_munlock:
		return entry_advise(nr, addr, b, 0, unlocking);
	case __NR_mlockall:
		return entry_mlockall((int)a);
	case __NR_mremap:
		return entry_mremap(addr, b, c, (int)d, (void *)e);
	case __NR_remap_file_pages:
		return entry_remap_pages(addr, b, (int)c, d, (int)e);
	default:
		return sys_call(nr, a, b, c, d, e, f);
	}
}
