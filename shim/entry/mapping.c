// SPDX-License-Identifier: MIT
/*
 * munmap, mmap and mprotect of ranges that concern an attached segment: the
 * number of its mappings is what nattch counts, and what the shim keeps mapped
 * for itself must not become somebody else's. Every other range goes to libc
 * after a compare or two.
 */
#include <sys/types.h>
#include "entry/process.h"
#include "ipc/shmhost.h"

#define MAP_FIXED 0x10

static struct caller *concerned(const void *addr, size_t len)
{
	const struct shm_process *p = process_shm();
	int err = 0;

	if (likely(!p->home[0] && !p->home[1] && !p->n_used))
		return NULL;
	if (likely(!shm_host_concerns(p, (u64)addr, len)))
		return NULL;
	/* A section of our own, or a vfork child. */
	if (process_caller.in_section || process_page.pid != sys_getpid())
		return NULL;
	return process_get(&err);
}

EXPORT int munmap(void *addr, size_t len)
{
	struct caller *c = concerned(addr, len);

	if (likely(!c))
		return process_return(sys_call(__NR_munmap, addr, len));
	return process_return(shm_host_unmap(c, (u64)addr, len));
}

static void *map(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	long ret = sys_call(__NR_mmap, addr, len, prot, flags, fd, off);
	struct caller *c;

	if ((flags & MAP_FIXED) && ret == (long)addr) {
		c = concerned(addr, len);
		if (unlikely(c != NULL))
			shm_host_mapped(c, (u64)addr, len);
	}
	return (void *)process_return(ret);
}

EXPORT void *mmap(
	void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return map(addr, len, prot, flags, fd, off);
}

EXPORT void *mmap64(
	void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return map(addr, len, prot, flags, fd, off);
}

EXPORT int mprotect(void *addr, size_t len, int prot)
{
	struct caller *c = concerned(addr, len);

	if (likely(!c))
		return process_return(sys_call(__NR_mprotect, addr, len, prot));
	return process_return(shm_host_protect(c, (u64)addr, len, prot));
}
