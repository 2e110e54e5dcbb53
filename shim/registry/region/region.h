// SPDX-License-Identifier: MIT
/*
 * Mapping the registry file, and the way from offsets to addresses.
 *
 * A region is mapped once in a process and never unmapped: the kernel walks
 * our robust-list entries in it when a thread dies. The descriptor is closed
 * before region_map returns.
 */
#ifndef IPCLIFT_REGISTRY_REGION_H
#define IPCLIFT_REGISTRY_REGION_H

#include <stddef.h>
#include "base/atom.h"
#include "base/sys.h"
#include "registry/layout.h"
#include "registry/region/holes.h"

struct region {
	char *base;    /* NULL = not mapped */
	u64 file_size; /* when it was mapped, and */
	u32 owner;     /* whose it was: what the header says is anybody's */
	/* The file's absolute name, in static memory, for statfs(2) and for the
	 * FIFOs of message queues in the directory PATH.mq; "" if it is not
	 * known. And which file that was. */
	const char *path;
	u64 dev, ino;
	struct holes *holes; /* of who looks and keeps off them; else NULL */
};

#define REGION_NAME_CAP 1024u

struct region_options {
	int canonical; /* the path is absolute and has no link in it */
	u32 idx_bits;  /* for a new registry: IDX_BITS_* */
	u32 profile;
	struct limits limits;
	/* Called before a new one gets them; may be NULL. */
	void (*complete)(struct limits *limits, u32 idx_bits);
	int must_exist; /* -ENOENT, -ENODATA instead of making it */
	int any_owner;	/* even if he has not shared it */
	/* For its name, REGION_NAME_CAP bytes for good; NULL: a process's only
	 * region. */
	char *name;
};

/*
 * Map the registry at path, creating it if there is none. Two processes that
 * start at the same moment get one registry (flock around the decision).
 * Errors, each with one line of explanation in why (capacity cap):
 *   -ENOENT    must_exist and no file, or no directory
 *   -ENODATA   must_exist and a file that nobody has made one of yet
 *   -EACCES    owned by somebody else and not shared on purpose, or in a
 *              user's directory that others may write (regionhome.h)
 *   -EINVAL    not a registry: wrong size, magic, sum, or a symbolic link
 *   -EPROTO    another layout version or word size
 *   -ESTALE    made before this boot
 *   -EXDEV     of another pid namespace
 *   -ENOSPC    no space in the file system for a new one
 *   -ENOMEM    no address space (RLIMIT_AS)
 *   -EMFILE and other errors of open(2), mmap(2)
 * A file that is refused is never written.
 */
int region_map(struct region *region, const char *path,
	const struct region_options *options, char *why, size_t cap);

/*
 * A copy of the registry at path in private memory, for those who look at what
 * is somebody else's: nothing is written to the file, no lock is taken in it,
 * and nothing that happens to it meanwhile reaches them. It is of about one
 * moment: what was under way is as if its thread had died there, so that
 * whoever takes a lock in the copy finishes it. Needs no more than the right to
 * read. Errors as of region_map; -ENODATA also of a file that is empty.
 */
int region_inspect(struct region *region, const char *path, int copy, char *why,
	size_t cap);
static inline int region_copy(
	struct region *region, const char *path, char *why, size_t cap)
{
	return region_inspect(region, path, 1, why, cap);
}

/*
 * The registry at path itself, so that what happens there is seen, in a mapping
 * that cannot be written: whoever has it takes no lock and enrolls nowhere
 * (inspect/glance.h). Needs no more than the right to read. Errors as of
 * region_copy.
 */
static inline int region_map_glance(
	struct region *region, const char *path, char *why, size_t cap)
{
	return region_inspect(region, path, 0, why, cap);
}

/*
 * The last page of the region once more, through a descriptor opened for
 * reading: what is duplicated from it can never be made writable. NULL if there
 * is no such file any more, or it may not be opened; nothing is lost then but
 * one check of mprotect.
 */
char *region_map_read_only(const struct region *region);

/*
 * What is at path, without mapping it: its header into ret, also if
 * it is refused. Errors as of region_copy; -ENODATA of a file that is none.
 */
int region_peek(const char *path, struct header *ret, char *why, size_t cap);

/*
 * The default path, /dev/shm/ipclift-<uid>/default, into path (cap bytes). The
 * directory is made (mode 0700) if there is none; one that somebody else made,
 * or that others may write, is -EACCES with an explanation in why (why_cap):
 * /dev/shm is everybody's.
 */
int region_default_path(char *path, size_t cap, char *why, size_t why_cap);

/* A fork child may have come into another pid namespace, where its ids mean
 * somebody else: 0, or -EXDEV with an explanation. Where /proc does not tell,
 * 0: a chroot after the first call is allowed. */
int region_check_namespace(const struct region *region, char *why, size_t cap);

/* Offset of a mapped address and back. region_at checks nothing, and wraps: for
 * references read from the region use region_span. */
static inline void *region_at(const struct region *r, u64 off)
{
	return (void *)((uintptr_t)r->base + off);
}

static inline u64 region_off(const struct region *r, const void *p)
{
	return (const char *)p - r->base;
}

/* The address of `size` bytes that a reference names, or NULL if it is 0 or
 * leads out of the bodies and the heap. */
static inline void *region_span(
	const struct region *r, struct ref ref, u64 size)
{
	u64 off = ref.off;

	if (off < SETS_OFF || size > HEAP_END || off > HEAP_END - size)
		return NULL;
	return r->base + off;
}

/* May so many bytes, inside the region, be read without filling a hole? Always
 * 1 for an application. */
static inline int region_has(const struct region *r, const void *p, u64 size)
{
	return likely(!r->holes) ||
	       holes_have(r->holes, (u64)((const char *)p - r->base), size);
}

/* The same of the byte at p, for walks along tables, whose pages are never given
 * back: mostly without a system call. */
static inline int region_has_row(const struct region *r, const void *p)
{
	u64 off = (u64)((const char *)p - r->base);

	return likely(!r->holes) || holes_next(r->holes, off) == off;
}

/* One that another thread may change: read once, whole; whether it still holds
 * is the reader's to find out. */
static inline struct ref ref_relaxed(const struct ref *ref)
{
	return (struct ref){atom_load_relaxed(&ref->off)};
}
static inline struct ref ref_long(struct short_ref ref)
{
	return (struct ref){(u64)ref.unit << 6};
}
static inline struct short_ref ref_short(struct ref ref)
{
	return (struct short_ref){(u32)(ref.off >> 6)};
}

static inline struct header *region_header(const struct region *r)
{
	return (struct header *)r->base;
}

/* How many bits of an id say the place. It was one of the two when the file was
 * mapped; whoever may write it can have changed it since. */
static inline u32 header_idx_bits(const struct header *h)
{
	return h->idx_bits == IDX_BITS_EXTENDED ? IDX_BITS_EXTENDED
						: IDX_BITS_NORMAL;
}

static inline struct slot *region_slot(
	const struct region *r, enum facility f, u32 idx)
{
	return (struct slot *)(r->base + SLOTS_OFF((u64)f) +
			       idx * SLOT_STRIDE(f));
}

/* And back: the idx of a slot of facility f. */
static inline u32 region_slot_idx(
	const struct region *r, enum facility f, const struct slot *s)
{
	u64 off = region_off(r, s) - SLOTS_OFF((u64)f);

	return (u32)(f == FAC_SEM ? off / SLOT_STRIDE(FAC_SEM)
				  : off / SLOT_STRIDE(FAC_MSG));
}

static inline struct task *region_task(const struct region *r, u32 idx)
{
	return (struct task *)(r->base + TASKS_OFF) + (idx & (N_TASKS - 1));
}

/* 1 if a task of this one's page was ever claimed (header.task_pages). */
static inline int region_task_noted(const struct region *r, u32 idx)
{
	u32 page = idx % N_TASKS / TASKS_A_PAGE;

	return atom_load_acquire(&region_header(r)->task_pages[page / 64]) >>
		       page % 64 &
	       1;
}

static inline struct thread *region_thread(const struct region *r, u32 idx)
{
	return (struct thread *)(r->base + THREADS_OFF +
				 (u64)(idx & (N_THREADS - 1)) * THREAD_STRIDE);
}

#endif
