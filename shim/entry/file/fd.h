// SPDX-License-Identifier: MIT
/*
 * Which of the process's descriptors are message queues or files of procfs.h,
 * and the calls that close or copy one, returning -errno, for syscall().
 *
 * A "number" here is a descriptor's number, an index into the table: what it
 * refers to may be changed by any thread at any time.
 */
#ifndef IPCLIFT_ENTRY_FILE_FD_H
#define IPCLIFT_ENTRY_FILE_FD_H

#include "entry/process.h"
#include "mq/mqueue.h"

#define FD_ACCESS 3u   /* MQ_O_ACCMODE */
#define FD_MQ 4u       /* ident and FD_ACCESS count */
#define FD_OTHER 8u    /* was looked at for poll, and is no queue */
#define FD_HERE 32u    /* with FD_MQ: opened by this program image */
#define FD_PROC 16u    /* of procfs.h: ident (proc_ident) and FD_ACCESS count */
#define FD_CLOSING 64u /* about to be closed: nothing is noted here */
#define FD_NAMELESS 128u /* with FD_MQ: mq_desc.nameless */
/* Alone: it was not opened here and may be a queue's, which is found out when it
 * is used. */
#define FD_UNKNOWN 256u
#define FD_DIR 512u /* alone: of /dev/mqueue (mqdir.h) */

/*
 * Begins with a struct mq_number, which is stored as a whole (16 bytes): threads
 * may open, close and look at one number at the same time, and what one of them
 * found out is dropped if another has changed the number since it began to look.
 */
struct fd_entry {
	u64 ident;
	u32 info;    /* 0 = not known */
	u32 changes; /* how often it was stored */
	u64 pos;     /* of read(2); FD_PROC: 1 once it was read */
	u64 sig; /* of F_SETSIG, which a queue's file keeps and never sends */
} __attribute__((aligned(16)));
_Static_assert(__builtin_offsetof(struct fd_entry, ident) ==
			       __builtin_offsetof(struct mq_number, ident) &&
		       __builtin_offsetof(struct fd_entry, info) ==
			       __builtin_offsetof(struct mq_number, info) &&
		       __builtin_offsetof(struct fd_entry, changes) ==
			       __builtin_offsetof(struct mq_number, changes),
	"a number's entry");

/* No file beside the registry: it was not opened for writing. */
#define PROC_NO_FILE 0xffu

/* fd_entry.ident with FD_PROC: the low half of the inode, so that a number which
 * libc closed and reused unseen is not taken for ours; the file's number
 * (proctext.h); the index of its control file (controlfile_commit). */
static inline u64 proc_ident(u64 ino, int which, u32 at)
{
	return ino << 32 | at << 8 | (u32)which;
}
static inline int proc_which(u64 ident)
{
	return (int)(ident & 0xff);
}
static inline u32 proc_at(u64 ident)
{
	return ident >> 8 & 0xff;
}

#define FD_CHUNK 1024u
#define FD_CHUNKS 1024u
extern struct fd_entry *fd_table[FD_CHUNKS]
	__attribute__((visibility("hidden")));
/* 1 in a process that has opened a queue, or looked for one. */
extern int fd_used __attribute__((visibility("hidden")));

static inline struct fd_entry *fd_entry(int fd)
{
	struct fd_entry *chunk;

	if (unlikely((u32)fd >= FD_CHUNK * FD_CHUNKS))
		return NULL;
	chunk = __atomic_load_n(&fd_table[fd / FD_CHUNK], __ATOMIC_ACQUIRE);
	return likely(chunk) ? &chunk[fd % FD_CHUNK] : NULL;
}

/* 1 if a number with FD_MQ still is its queue's; if not, it was closed by a call
 * that we did not see (io_uring, inside libc), and is forgotten. One with
 * FD_UNKNOWN is looked up, for which the process's first call may be made. */
int fd_still_mq(int fd);

static inline int fd_may_be_mq(int fd)
{
	struct fd_entry *e = fd_entry(fd);

	return unlikely(e && (e->info & (FD_MQ | FD_UNKNOWN)));
}

static inline int fd_is_unknown(int fd)
{
	struct fd_entry *e = fd_entry(fd);

	return unlikely(e && (e->info & FD_UNKNOWN));
}

/* For calls that are rare on a queue's descriptor; mq_send and mq_receive trust
 * the table (fd_lookup). */
static inline int fd_is_mq(int fd)
{
	return fd_may_be_mq(fd) && fd_still_mq(fd);
}

static inline int fd_is_proc(int fd)
{
	struct fd_entry *e = fd_entry(fd);

	return unlikely(e && (e->info & FD_PROC));
}

/* Neither a result nor an error: the kernel's own answer is right. */
#define FD_PASS (-0x7fffffffL)

/* Of either kind: one load for the calls that serve both. */
static inline int fd_is_served(int fd)
{
	struct fd_entry *e = fd_entry(fd);

	return unlikely(e && (e->info & (FD_MQ | FD_PROC | FD_UNKNOWN))) &&
	       ((e->info & FD_PROC) || fd_still_mq(fd));
}

/* A consistent copy of ident, info and changes; not of pos and sig. */
static inline struct fd_entry fd_entry_read(const struct fd_entry *e)
{
	struct fd_entry is;

	do {
		is.changes = e->changes;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		is.ident = e->ident;
		is.info = e->info;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (unlikely(
		__atomic_load_n(&e->changes, __ATOMIC_RELAXED) != is.changes));
	return is;
}

static inline void fd_desc(const struct caller *c, int fd,
	const struct fd_entry *e, struct mq_desc *ret)
{
	const struct fd_entry is = fd_entry_read(e);

	ret->changes = is.changes;
	ret->ident = is.ident;
	ret->s = ids_slot(c, FAC_MQ, IDENT_ID(is.ident));
	ret->fd = fd;
	ret->access = is.info & FD_ACCESS;
	ret->nameless = !!(is.info & FD_NAMELESS);
	ret->number = (const struct mq_number *)(const void *)e;
}

/* The queue of a descriptor: 0, or -EBADF. No system call if it was opened
 * here or by an ancestor. */
int fd_lookup_slow(struct caller *c, int fd, struct mq_desc *ret);
static inline int fd_lookup(struct caller *c, int fd, struct mq_desc *ret)
{
	struct fd_entry *e = fd_entry(fd);

	if (unlikely(!e || !(e->info & FD_MQ)))
		return fd_lookup_slow(c, fd, ret);
	fd_desc(c, fd, e, ret);
	return 0;
}

/* After fd_lookup has failed: 1 if it is a queue of another IPC namespace that
 * the process was in; the caller is then of that one, until process_home. */
int fd_is_elsewhere(struct caller *c, int fd);
/* The same with the fd_lookup, which only a number with FD_UNKNOWN needs: whoever
 * gets 1 makes its call anew and hands the result to process_home. */
int fd_is_away_slow(int fd);
static inline int fd_is_away(int fd)
{
	return fd_is_unknown(fd) && fd_is_away_slow(fd);
}
/* What a number for which fd_is_served has said 1 is open for: MQ_O_ACCMODE. */
u32 fd_access(int fd);
/* The process is in another IPC namespace: from now on each use of a queue's
 * descriptor looks up which queue it is. */
void fd_ask_again(void);

/* One more than the highest number in the table. */
u32 fd_end(void);
/* The caller, or NULL in a vfork child, where the table is the parent's. */
struct caller *fd_table_owner(void);
/* Clear the number's entry. */
void fd_forget(int fd);

/* Note a number that was not opened here (FD_UNKNOWN), and one of /dev/mqueue
 * itself (FD_DIR). */
void fd_arrived(int fd);
void fd_enter_dir(struct caller *c, int fd);

/* Note a descriptor that mq_open has made. */
void fd_enter(struct caller *c, const struct mq_desc *d);

/* Note one that procfs.c has made. */
void fd_enter_proc(struct caller *c, int fd, u64 ident, u32 access);
/* A number with FD_PROC is about to be closed by libc, or is another file by
 * now. Returns the argument for fd_closed_proc. */
u64 fd_forget_proc(int fd);
/* It is closed: apply what was written to it. 0 or -errno. */
long fd_closed_proc(u64 ident);

/* close, dup, dup2 and dup3 (nr says which), close_range of a descriptor that the
 * table knows: make the call, and bring the table in line with it. */
long entry_close(int fd);
long entry_dup3(long nr, int fd, int to, int flags);
long entry_close_range(unsigned first, unsigned last, int flags);
/* `to` is now a duplicate of fd. */
void fd_copied(int fd, int to);

#endif
