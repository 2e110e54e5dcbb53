// SPDX-License-Identifier: MIT
/*
 * Who may do what with an object: doc/kernel-semantics.md §1.4 and §1.11.
 *
 * Credentials are cached for the process and dropped by the interposed set*id
 * calls; before a call is refused they are read anew. No function here takes a
 * lock.
 */
#ifndef IPCLIFT_OBJECT_PERM_H
#define IPCLIFT_OBJECT_PERM_H

#include "registry/caller.h"

#define PERM_R 4u
#define PERM_W 2u
#define CRED_IPC_OWNER 1u
#define CRED_SYS_ADMIN 2u
#define CRED_SYS_RESOURCE 4u
#define CRED_IPC_LOCK 8u
#define CRED_CHECKPOINT 16u
#define CRED_DAC_OVERRIDE 32u
#define CRED_DAC_READ 64u
#define CRED_FOWNER 128u
#define CRED_FSETID 256u
#define GROUPS_UNKNOWN 0xffffffffu

/* Drop the cached ones: the next check reads the kernel's. */
void cred_forget(struct cred *cred);

/* Requested rights as three octal digits or one (they are OR-ed together).
 * 0 or -EACCES. */
int perm_check_slow(struct caller *c, const struct slot *s, u32 want);
static inline int perm_check(struct caller *c, const struct slot *s, u32 want)
{
	u32 euid = c->cred->euid;

	want = (want | want >> 3 | want >> 6) & 7;
	if (likely((euid == s->uid || euid == s->cuid) &&
		    !(want & ~(s->mode >> 6))))
		return 0;
	return perm_check_slow(c, s, want);
}

/*
 * The same for an object that was found without its lock: the rights read may
 * be those of another object, which has its slot by now. A refusal is valid
 * only if the slot is still the object of ident; else -EIDRM. A caller that is
 * permitted compares ident under the lock.
 */
static inline int perm_refusal(const struct slot *s, u64 ident, int err)
{
	atom_compiler_barrier();
	return atom_load_acquire(&s->ident) == ident ? err : -EIDRM;
}
static inline int perm_check_of(
	struct caller *c, const struct slot *s, u64 ident, u32 want)
{
	int err = perm_check(c, s, want);

	return likely(!err) ? 0 : perm_refusal(s, ident, err);
}

/* The same for a message queue, which is a file: its owner, group or others,
 * and the capabilities of files. want: PERM_R, PERM_W. */
int perm_check_file(struct caller *c, const struct slot *s, u32 want);
/* 1 if the caller may change the mode of the queue, or remove it. */
int perm_owner_file(struct caller *c, const struct slot *s);

/* IPC_SET and IPC_RMID: 0 or -EPERM; _of as perm_check_of. */
int perm_owner(struct caller *c, const struct slot *s);
static inline int perm_owner_of(
	struct caller *c, const struct slot *s, u64 ident)
{
	int err = perm_owner(c, s);

	return likely(!err) ? 0 : perm_refusal(s, ident, err);
}
/* The cached credentials, valid. */
const struct cred *perm_cred(struct caller *c);
/* The owner of files that the thread makes, whose rights count: setfsuid(2). */
static inline u32 perm_file_uid(const struct cred *cred)
{
	return unlikely(cred->has_fs) ? cred->fsuid : cred->euid;
}
static inline u32 perm_file_gid(const struct cred *cred)
{
	return unlikely(cred->has_fs) ? cred->fsgid : cred->egid;
}
/* 1 if it is the group of files that they make, or a supplementary one: as
 * Linux's in_group_p, for System V objects too. */
int perm_in_group(const struct cred *cred, u32 gid);
/* 1 if the process has one of these capabilities (CRED_*, OR-ed) now: read
 * from the kernel each time. */
int perm_capable(struct caller *c, u32 cap);

#endif
