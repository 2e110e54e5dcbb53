// SPDX-License-Identifier: MIT
/*
 * The kernel's files about IPC that are answered here: their names, and the
 * text of one in a memfd.
 */
#ifndef IPCLIFT_ENTRY_FILE_PROCTEXT_H
#define IPCLIFT_ENTRY_FILE_PROCTEXT_H

#include "object/sysctl.h"
#include "registry/caller.h"

/* A file's number: the facility of a sysvipc file, or this plus the index in
 * sysctl_files. */
#define PROC_SYSVIPC 3
_Static_assert(FAC_SEM == 0 && FAC_MSG == 1 && FAC_SHM == 2, "numbers");
static inline const struct sysctl_file *proc_sysctl(int which)
{
	return &sysctl_files[which - PROC_SYSVIPC];
}
extern const char *const proc_sysvipc_names[PROC_SYSVIPC]
	__attribute__((visibility("hidden")));

/* The number of the file of that path, or -1. */
int proc_find(const char *path);
enum facility proc_facility(int which);
/* The file's path in /proc. */
#define PROC_PATH_CAP 64
void proc_path(int which, char path[PROC_PATH_CAP]);
/* Fill a memfd with the text of now: 0 or -errno. */
int proc_snapshot(struct caller *c, int fd, int which);
/* Add to that of a sysvipc file, size bytes, the rows of what came since with a
 * higher idx: a reader at the end goes on there. */
int proc_extend(struct caller *c, int fd, int which, u64 size);

#endif
