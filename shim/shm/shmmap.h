// SPDX-License-Identifier: MIT
/*
 * Segments in one process's address space.
 *
 * A process maps the first part of the window (the segments' pages in the file)
 * twice, without access: its home mappings, one that can be made writable and one
 * that cannot. The first attachment of a segment, writable or read-only, is an
 * mprotect of its place there, its home; detaching takes the access away again.
 * The page tables stay, so attaching again costs no faults. Anything else (a
 * second attachment, a given address, a segment beyond the home mapping) is a
 * duplicate: mremap(old_len = 0) of the home or, if it has none, of the region's
 * last page and all up to the segment, which is then cut off. No descriptor is
 * needed.
 *
 * All processes of a registry try to have their homes at one address, so that
 * a pointer handed to another process, which attaches there, still works.
 *
 * struct shm_process lists the attachments. It is private memory, inherited by
 * a fork child with the mappings themselves, and gone with them at exec. It is
 * changed under the lock of the own task; a child that was forked meanwhile
 * can tell from `changing` and `state` what was under way: shmfork.h.
 */
#ifndef IPCLIFT_SHM_SHMMAP_H
#define IPCLIFT_SHM_SHMMAP_H

#include "registry/caller.h"

#define SHM_RDONLY_FLAG 010000
#define SHM_RND_FLAG 020000
#define SHM_REMAP_FLAG 040000
#define SHM_EXEC_FLAG 0100000

enum shm_entry_state {
	SHM_UNUSED,
	SHM_MAPPING,
	SHM_USED,
	SHM_UNMAPPING,
};

enum shm_entry_kind {
	SHM_HOME,      /* the home itself */
	SHM_DUPLICATE, /* elsewhere */
	SHM_FOREIGN,   /* elsewhere, but within a home mapping */
};

enum shm_home_state {
	HOME_UNKNOWN,
	HOME_IN_WORK,
	HOME_KNOWN,
};

/* An attachment; or, with ident 0, a mapping that the application made there. */
struct shm_entry {
	u64 addr; /* where the attachment began */
	/* More than the segment's, if mremap has made it longer: pages beyond the
	 * segment's end raise SIGBUS. */
	u64 pages;
	u64 ident; /* of the segment */
	u64 off;   /* of its pages in the file */
	u64 rec;   /* offset of the attachment record */
	u32 slot_idx;
	u32 next;  /* hash chain or list of the unused: index, 0 = end */
	u32 state; /* enum shm_entry_state */
	/* unlike: SHM_UNLIKE_* */
	unsigned char kind, read_only, prot, unlike;
	/* What is left of it, if not the whole: index of its first fragment. */
	u32 frags;
	u32 pad1;
};

/*
 * An attachment at home whose mappings have flags that a home must not keep. NOW
 * ends when the application takes them back (munlock, MADV_NORMAL), and in a fork
 * child, where nothing is locked. KEPT stays: homes differ in MADV_DONTDUMP among
 * themselves, or there was no memory to note the flags.
 */
#define SHM_UNLIKE_NOW 1
#define SHM_UNLIKE_KEPT 2

/* What a fragment differs in from its neighbours: its protection, and what the
 * application set by madvise and mlock. */
#define SHM_ATTR_PROT 0xffu
#define SHM_ATTR_LOCKED 0x100u
#define SHM_ATTR_ONFAULT 0x200u
#define SHM_ATTR_DONTFORK 0x400u
#define SHM_ATTR_DONTDUMP 0x800u
#define SHM_ATTR_RANDOM 0x1000u
#define SHM_ATTR_SEQUENTIAL 0x2000u
#define SHM_ATTR_HUGE 0x4000u
#define SHM_ATTR_NOHUGE 0x8000u
#define SHM_ATTR_ELSEWHERE 0x10000u /* shows other pages of the segment */

/* Pages [from, to) of an attachment, still mapped. */
struct shm_frag {
	u64 from, to;
	u32 next; /* 0 = end */
	u32 attr; /* SHM_ATTR_* */
};

/* What the application did to pages: unmapped or replaced them, or changed
 * attributes.
 */
struct shm_change {
	u32 gone, clear, set;
};
#define SHM_GONE ((struct shm_change){1, 0, 0})

/* Homes that the kernel has as mappings of their own now; a page of these. */
#define SHM_PIECES 256u
struct shm_piece {
	char *at;
	u64 len;
};

/* A task that a fork child is to take over: shmfork.h. task 0 = none. */
struct shm_fork {
	u32 task;
	u32 nonce;
};

/*
 * The announcement of a fork that a thread is about to make, or is in: shmfork.h.
 * Private memory, so a child has it as it was when it was made.
 * owner   the forking thread, by compare-and-swap, 0 = free; others read it
 * f       task and nonce, under the own task's lock: stored by the owner before
 *         the fork, or, while it is 0, by a thread that attaches meanwhile
 * rest    only the owner stores
 */
struct shm_forking {
	u64 owner; /* thread pointer */
	u64 frame; /* on its stack */
	u64 since_ns;
	u32 serial;
	u32 over; /* fork has returned in the parent */
	struct shm_fork f, outer;
};
#define SHM_FORKS 8u /* at once without a page more; arbitrary */

/* For more at once: a page each, that stays. next: by compare-and-swap. */
#define SHM_FORKS_PAGE 63u
struct shm_more_forks {
	struct shm_more_forks *next;
	struct shm_forking forks[SHM_FORKS_PAGE];
};
_Static_assert(sizeof(struct shm_more_forks) <= SYS_PAGE, "a page");

struct shm_process {
	char *home[2];	 /* [1] cannot be made writable; NULL = none (yet) */
	char *read_only; /* region_map_read_only, before home[1] */
	u64 home_len[2];
	u32 tried[2];		   /* HOME_* */
	struct shm_entry *entries; /* index 0 is never used */
	u32 *hash;
	u32 cap, high, unused, n_used;
	u32 n_foreign;
	struct shm_frag *frags;
	u32 frag_cap, frag_high, frag_unused;
	u32 n_unlike;	    /* attachments with SHM_UNLIKE_* */
	u32 last_gone;	    /* a segment lost its last attachment: sweep */
	u64 low, high_addr; /* all attachments ever made lie between */
	u32 changing;	    /* the holder of the task's lock changes mappings */
	u32 changes;	    /* odd: the table, too (shm_address_is_free) */
	u32 passing;	    /* threads that map something for a moment */
	u32 n_forks;	    /* of forks: in use */
	u32 fork_serial;
	struct shm_forking forks[SHM_FORKS];
	struct shm_more_forks *more_forks;
	struct shm_piece *pieces; /* [SHM_PIECES], a page; NULL = none yet */
	u64 held, held_len;	  /* address range reserved for an attachment */
	/* 1: a fork child, made by `unbound`, that has got no record in the registry
	 * yet (shm_fork_again). */
	u32 is_unbound;
	struct shm_fork unbound;
};

/* ---- shmtable.c ---- */

/* An entry that is not in use yet, or NULL without memory. */
struct shm_entry *shm_entry_new(struct shm_process *p);
/* 1 if shm_entry_new finds one without mapping memory for the table. */
static inline int shm_entry_is_free(const struct shm_process *p)
{
	return p->unused || p->high < p->cap;
}
/* Put it in the table once addr is known. */
void shm_entry_insert(struct shm_process *p, struct shm_entry *e);
/* Take it out and free it. The last step of a detach, after the record's end: a
 * fork that finds it in n_used (shm_fork_concerns) waits for the task's lock. */
void shm_entry_remove(struct shm_process *p, struct shm_entry *e);
/* It is unmapped, and a fork child must not unmap it again. shm_entry_remove
 * follows. */
static inline void shm_entry_unmapped(struct shm_entry *e)
{
	__atomic_store_n(&e->state, SHM_UNUSED, __ATOMIC_RELEASE);
}
void shm_entry_drop(struct shm_process *p, struct shm_entry *e);
/* The attachment that began at addr, or NULL; of several the one of which the
 * lowest page is left. */
struct shm_entry *shm_entry_find(struct shm_process *p, u64 addr);
/* One of this segment that began there and has no record yet, or NULL. */
struct shm_entry *shm_entry_unbound(struct shm_process *p, u64 addr, u64 ident);
/* Walk all that are in use: the next behind index *at, or NULL. */
struct shm_entry *shm_entry_each(struct shm_process *p, u32 *at);
/* After fork: make the hash anew. */
void shm_table_rebuild(struct shm_process *p);
/* Number of its fragments, which is its part of nattch; count_fork: of those
 * that a fork child will have (not of pages with MADV_DONTFORK). */
u32 shm_entry_count(const struct shm_process *p, const struct shm_entry *e);
u32 shm_entry_count_fork(
	const struct shm_process *p, const struct shm_entry *e);
/* Pages [from, to) of the attachment were changed. 1 if the number of its
 * fragments may be another one now, -ENOMEM. */
int shm_entry_cut(struct shm_process *p, struct shm_entry *e, u64 from, u64 to,
	struct shm_change change);
/* Set bits of SHM_UNLIKE_*: its mappings' flags are about to be changed in a
 * way that its fragments do not tell. */
void shm_entry_unlike(struct shm_process *p, struct shm_entry *e, int bits);
/* They were changed: SHM_UNLIKE_NOW goes if no fragment differs any more. */
void shm_entry_judge(struct shm_process *p, struct shm_entry *e);
/* In a fork child: nothing is locked. */
void shm_entry_unlock(struct shm_process *p, struct shm_entry *e);
/* The fragment that page lies in: its attributes, or -1 if it is unmapped. */
s64 shm_entry_attr(
	const struct shm_process *p, const struct shm_entry *e, u64 page);
/* The page behind the fragment that page lies in, or 0 if it is unmapped. */
u64 shm_entry_end(
	const struct shm_process *p, const struct shm_entry *e, u64 page);
/* That fragment, which ends at page `end`, has n pages more. kind: of the whole
 * from now on. */
void shm_entry_grow(struct shm_process *p, struct shm_entry *e, u64 end, u64 n,
	unsigned char kind);
/* 1 if pages [from, to) of it lie in one fragment. */
int shm_entry_one_fragment(const struct shm_process *p,
	const struct shm_entry *e, u64 from, u64 to);
/* 1 if pages [from, to) of it are all still mapped. */
int shm_entry_covers(const struct shm_process *p, const struct shm_entry *e,
	u64 from, u64 to);

/* Around each change of what is attached: who reads the table without the lock
 * looks again. The own task's lock is held. */
static inline void shm_table_begin(struct shm_process *p)
{
	__atomic_store_n(&p->changes, p->changes | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}
static inline void shm_table_end(struct shm_process *p)
{
	if (p->changes & 1)
		atom_store_release(&p->changes, p->changes + 1);
}
/*
 * 1 if the address lies in a home mapping, and no attachment nor a mapping of
 * the application's has it: in the kernel nothing would be mapped there. No
 * lock; for a signal handler, whatever it interrupts. It sleeps, for some
 * milliseconds at most, as long as another thread changes mappings.
 */
int shm_address_is_free(const struct shm_process *p, u64 addr);

/* ---- shmmap.c ---- */

/* Note that an address range is reserved, or (0, 0) that none is any more: a fork
 * child gives it up. */
static inline void shm_map_hold(struct shm_process *p, u64 addr, u64 len)
{
	p->held = addr;
	__atomic_store_n(&p->held_len, len, __ATOMIC_RELEASE);
}

/*
 * Have the mapping that attachments with SHM_RDONLY are duplicated from: made
 * by the first of them, and before the process becomes one that may not open
 * the registry. No lock; six system calls, once.
 */
void shm_map_read_only(struct shm_process *p, const struct region *region);
/*
 * Map the pages that e says (off, pages, read_only, prot) at e->addr, if fixed,
 * else somewhere; fills in addr and kind. The own task's lock is held.
 *   -EINVAL  fixed and something is mapped there (and not replace)
 *   -ENOMEM -EPERM -EACCES  as mmap(2)
 */
int shm_map(struct caller *c, struct shm_entry *e, int fixed, int replace);
void shm_unmap(struct caller *c, const struct shm_entry *e);
/* Reserve an address range without access, at `to`, or anywhere if that is NULL.
 * The address, or -errno (EEXIST: something is there). */
char *shm_map_reserve(void *to, u64 len);
/* How many pages the segment has that e is of; 0 if it is gone. */
u64 shm_map_size(const struct caller *c, const struct shm_entry *e);
/* Map n pages of the segment from page `from` on at `to` (replacing what is
 * there), or anywhere: the address or -errno. Behind the segment's end they have
 * nothing. e says which pages, and gets addr, where its page 0 would be, and
 * kind. The own task's lock is held. */
long shm_map_part(
	struct caller *c, struct shm_entry *e, u64 from, u64 n, void *to);
/* Make a piece of a home mapping, whatever is mapped there now, what it was:
 * ours, without access. Without memory for that it is left unmapped. */
void shm_restore_home(struct caller *c, u64 addr, u64 len);
/* Are these pages of the file, as it was when it was mapped, in the window?
 * What is asked for must be: beyond the end is SIGBUS, before it are the
 * tables. */
static inline int shm_in_file(const struct caller *c, u64 off, u64 pages)
{
	u64 end = c->region.file_size;

	return off % SYS_PAGE == 0 && off >= REGION_SIZE && off <= end &&
	       pages <= (end - off) / SYS_PAGE;
}
/* Free the pages at a file offset: takes long where there are many, so no lock
 * should be held. 0, -ENOMEM, or what madvise(2) says. */
int shm_map_discard(struct caller *c, u64 off, u64 pages);
/* Resident pages at a file offset; fewer of a registry with more pages, or with
 * larger holes, than a machine can have. */
u64 shm_map_resident(struct caller *c, u64 off, u64 pages);
/* 1 if [addr, addr+len) touches the home mappings. */
static inline int shm_in_home(const struct shm_process *p, u64 addr, u64 len)
{
	int i;

	for (i = 0; i < 2; i++)
		if (p->home[i] && addr < (u64)p->home[i] + p->home_len[i] &&
			addr + len > (u64)p->home[i])
			return 1;
	return 0;
}

#endif
