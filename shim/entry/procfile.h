// SPDX-License-Identifier: MIT
/*
 * Between procfs.c, which opens, and procfile.c, which has the calls on what
 * was opened: how a descriptor with FD_PROC is noted in the table of fd.h.
 */
#ifndef IPCLIFT_ENTRY_PROCFILE_H
#define IPCLIFT_ENTRY_PROCFILE_H

#include "entry/procfs.h"
#include "render/render.h"
#include "object/sysctl.h"

/* A file's number: the facility of a sysvipc file, or this plus the index in
 * sysctl_files. */
#define PROC_SYSVIPC 3
_Static_assert(FAC_SEM == 0 && FAC_MSG == 1 && FAC_SHM == 2, "numbers");
static inline const struct sysctl_file *proc_sysctl(int which)
{
	return &sysctl_files[which - PROC_SYSVIPC];
}

/* No file beside the registry: it was not opened for writing. */
#define PROC_NO_FILE 0xffu

/* fd_entry.ident: the low half of the inode, so that a number which libc closed
 * and gave away behind our back is not taken for ours; the file's number; the
 * place of its control file. */
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

/* The file's path in /proc. */
#define PROC_PATH_CAP 64
void proc_path(int which, char path[PROC_PATH_CAP]);
/* Note a descriptor that was just opened. */
void proc_enter(struct caller *c, int fd, int which, u32 at, u32 access);
/* Fill a memfd with the text of now: 0 or -errno. */
int proc_snapshot(struct caller *c, int fd, int which);
/* Add to that of a sysvipc file, size bytes, the rows of what came since with a
 * higher idx: a reader at the end goes on there. */
int proc_extend(struct caller *c, int fd, int which, u64 size);

#endif
