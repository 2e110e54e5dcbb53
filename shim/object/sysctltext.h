// SPDX-License-Identifier: MIT
/*
 * The files below /proc/sys that control System V IPC and POSIX queues: what a
 * read gives and what a write takes, byte for byte and error for error as in
 * Linux (doc/kernel-semantics.md §2.3, §3). Here are their names, rights and
 * texts; the values are in control.h, reads and writes in sysctl.h.
 *
 * The owner of the registry has the rights of the user namespace's owner in
 * Linux: it may write, and so may root. The three *_next_id are for whoever has
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN, as in Linux (root without them may
 * not), and for an owner who is not root.
 */
#ifndef IPCLIFT_OBJECT_SYSCTLTEXT_H
#define IPCLIFT_OBJECT_SYSCTLTEXT_H

#include "object/control.h"

/* The longest text of a file, with its newline. */
#define SYSCTL_TEXT_MAX 64u
#define SYSCTL_VALUES_MAX 4u

struct sysctl_file {
	const char *path; /* below /proc/sys */
	enum facility facility;
	u32 mode;
	const char *control; /* the first of n_values, which follow each other
			      * in controls[] */
	u32 n_values;	     /* 0: auto_msgmni, without effect */
};

extern const struct sysctl_file sysctl_files[];
extern const u32 n_sysctl_files;

/* By path below /proc/sys, or NULL. */
const struct sysctl_file *sysctl_find(const char *path);

/* May the caller open it for PERM_R, PERM_W? 0 or -EACCES. Also the answer of
 * access(2). */
int sysctl_access(struct caller *c, const struct sysctl_file *f, u32 want);

/* The control of its first value; NULL for auto_msgmni. */
const struct control *sysctl_control(const struct sysctl_file *f);

/* The whole text into buf (SYSCTL_TEXT_MAX bytes, no NUL); its length. */
size_t sysctl_text(
	const struct caller *c, const struct sysctl_file *f, char *buf);

/* What a written text sets: the first n values of the file, in range. */
struct sysctl_values {
	u32 n;
	u64 v[SYSCTL_VALUES_MAX];
};

/* Parse a write at offset 0 as sysctl_write does, which stores the values
 * before one that is wrong. The same results. */
s64 sysctl_parse(const struct caller *c, const struct sysctl_file *f,
	const char *text, u64 count, struct sysctl_values *ret);

#endif
