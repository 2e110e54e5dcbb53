// SPDX-License-Identifier: MIT
/*
 * Permission checks; see perm.h.
 */
#include <linux/capability.h>
#include "object/perm.h"

#define NO_ID 0xffffffffu

void cred_forget(struct cred *cred)
{
	__atomic_fetch_add(&cred->seq, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&cred->euid, NO_ID, __ATOMIC_RELEASE);
}

static u32 read_caps(void)
{
	struct {
		u32 version;
		int pid;
	} head = {0x20080522, 0};
	struct {
		u32 effective, permitted, inheritable;
	} data[2] = {{0, 0, 0}, {0, 0, 0}};
	u64 caps;

	if (sys_call(__NR_capget, &head, data))
		return 0;
	caps = data[0].effective | (u64)data[1].effective << 32;
	return (caps >> CAP_IPC_OWNER & 1 ? CRED_IPC_OWNER : 0) |
	       (caps >> CAP_SYS_ADMIN & 1 ? CRED_SYS_ADMIN : 0) |
	       (caps >> CAP_SYS_RESOURCE & 1 ? CRED_SYS_RESOURCE : 0) |
	       (caps >> CAP_IPC_LOCK & 1 ? CRED_IPC_LOCK : 0) |
	       (caps >> CAP_DAC_OVERRIDE & 1 ? CRED_DAC_OVERRIDE : 0) |
	       (caps >> CAP_DAC_READ_SEARCH & 1 ? CRED_DAC_READ : 0) |
	       (caps >> CAP_FOWNER & 1 ? CRED_FOWNER : 0) |
	       (caps >> CAP_FSETID & 1 ? CRED_FSETID : 0) |
	       (caps >> CAP_CHECKPOINT_RESTORE & 1 ? CRED_CHECKPOINT : 0);
}

static void cred_ask(struct cred *cred)
{
	u32 euid = (u32)sys_call(__NR_geteuid);
	u32 groups[64];
	long n;
	u32 i;

	n = sys_call(__NR_getgroups, 64, groups);
	cred->caps = read_caps();
	cred->egid = sys_call(__NR_getegid);
	cred->fsgid = cred->egid;
	cred->fsuid = euid;
	/* -1 is no user: the kernel changes nothing and returns the current
	 * one. */
	if (unlikely(cred->has_fs)) {
		cred->fsuid = (u32)sys_call(__NR_setfsuid, NO_ID);
		cred->fsgid = (u32)sys_call(__NR_setfsgid, NO_ID);
	}
	cred->n_groups = n < 0 ? GROUPS_UNKNOWN : (u32)n;
	for (i = 0; n > 0 && i < (u32)n; i++)
		cred->groups[i] = groups[i];
	__atomic_store_n(&cred->euid, euid, __ATOMIC_RELEASE);
}

/* Read again if a handler or another thread changed them meanwhile. */
static void cred_read(struct cred *cred)
{
	u32 seq;

	if (cred->read) {
		cred->read(cred);
		return;
	}
	do {
		seq = atom_load_acquire(&cred->seq);
		cred_ask(cred);
	} while (unlikely(seq != atom_load_acquire(&cred->seq)));
}

/* More than 64 groups: read each time, to pages of our own. */
static int in_many_groups(u32 gid)
{
	long n = sys_call(__NR_getgroups, 0, NULL), i;
	u32 *groups;
	int found = 0;

	if (n <= 0)
		return 0;
	groups = sys_mmap_private(n * 4);
	if ((unsigned long)groups > -4096UL)
		return 0;
	n = sys_call(__NR_getgroups, n, groups);
	for (i = 0; i < n; i++)
		found |= groups[i] == gid;
	sys_call(__NR_munmap, groups, n * 4);
	return found;
}

int perm_in_group(const struct cred *cred, u32 gid)
{
	const u32 *groups = cred->many ? cred->many : cred->groups;
	u32 i;

	if (perm_file_gid(cred) == gid)
		return 1;
	if (cred->n_groups == GROUPS_UNKNOWN)
		return in_many_groups(gid);
	for (i = 0; i < cred->n_groups; i++)
		if (groups[i] == gid)
			return 1;
	return 0;
}

static int granted(const struct cred *cred, const struct slot *s, u32 want)
{
	u32 mode = s->mode;

	if (cred->euid == s->uid || cred->euid == s->cuid)
		mode >>= 6;
	else if (perm_in_group(cred, s->gid) || perm_in_group(cred, s->cgid))
		mode >>= 3;
	return !(want & ~mode & 7) || (cred->caps & CRED_IPC_OWNER);
}

int perm_check_slow(struct caller *c, const struct slot *s, u32 want)
{
	struct cred *cred = c->cred;

	if (cred->euid != NO_ID && granted(cred, s, want))
		return 0;
	cred_read(cred);
	return granted(cred, s, want) ? 0 : -EACCES;
}

static int granted_file(const struct cred *cred, const struct slot *s, u32 want)
{
	u32 mode = s->mode;

	if (perm_file_uid(cred) == s->uid)
		mode >>= 6;
	else if (perm_in_group(cred, s->gid))
		mode >>= 3;
	return !(want & ~mode & 7) || (cred->caps & CRED_DAC_OVERRIDE) ||
	       (want == PERM_R && (cred->caps & CRED_DAC_READ));
}

int perm_check_file(struct caller *c, const struct slot *s, u32 want)
{
	struct cred *cred = c->cred;

	if (cred->euid != NO_ID && granted_file(cred, s, want))
		return 0;
	cred_read(cred);
	return granted_file(cred, s, want) ? 0 : -EACCES;
}

int perm_owner_file(struct caller *c, const struct slot *s)
{
	if (c->cred->euid != NO_ID && perm_file_uid(c->cred) == s->uid)
		return 1;
	cred_read(c->cred);
	return perm_file_uid(c->cred) == s->uid ||
	       (c->cred->caps & CRED_FOWNER);
}

int perm_owner(struct caller *c, const struct slot *s)
{
	if (c->cred->euid == s->uid || c->cred->euid == s->cuid)
		return 0;
	cred_read(c->cred);
	if (c->cred->euid == s->uid || c->cred->euid == s->cuid ||
		(c->cred->caps & CRED_SYS_ADMIN))
		return 0;
	return -EPERM;
}

const struct cred *perm_cred(struct caller *c)
{
	if (c->cred->euid == NO_ID)
		cred_read(c->cred);
	return c->cred;
}

int perm_capable(struct caller *c, u32 cap)
{
	cred_read(c->cred);
	return (c->cred->caps & cap) != 0;
}
