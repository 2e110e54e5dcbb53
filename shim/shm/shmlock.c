// SPDX-License-Identifier: MIT
/*
 * mlockall(MCL_CURRENT) without what is ours: the registry is a sparse file of
 * many GiB, and so is the window of the segments. To lock them as they are
 * would give each of their pages memory, and count against RLIMIT_MEMLOCK.
 *
 * Everything else in /proc/self/maps is locked piece by piece, attached
 * segments too. Without /proc everything is, but only as it is touched.
 */
#include <linux/mman.h>
#include <linux/resource.h>
#include "object/perm.h"
#include "shm/shmapp.h"

/* One line of maps after the other, in little stack. */
struct maps {
	long fd;
	u32 at, n;
	char buf[512];
};

struct range {
	u64 from, to;
	int open; /* it can be accessed */
};

static int next_char(struct maps *m)
{
	if (m->at == m->n) {
		long n = sys_call(__NR_read, m->fd, m->buf, sizeof(m->buf));

		m->at = 0;
		m->n = n > 0 ? n : 0;
		if (n <= 0)
			return -1;
	}
	return m->buf[m->at++];
}

static int next_hex(struct maps *m, u64 *ret)
{
	int ch;

	*ret = 0;
	while ((ch = next_char(m)) >= 0) {
		if (ch >= '0' && ch <= '9')
			*ret = *ret * 16 + (ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			*ret = *ret * 16 + (ch - 'a' + 10);
		else
			return ch;
	}
	return -1;
}

/* "from-to rwxp ...": 0 at the end. */
static int next_range(struct maps *m, struct range *ret)
{
	int ch, i;

	if (next_hex(m, &ret->from) != '-' || next_hex(m, &ret->to) != ' ')
		return 0;
	ret->open = 0;
	for (i = 0; i < 3; i++)
		ret->open |= next_char(m) != '-';
	do
		ch = next_char(m);
	while (ch >= 0 && ch != '\n');
	return 1;
}

/* The registry and the idle parts of the home mappings; the page in front of a
 * home belongs to it. */
static int is_ours(struct caller *c, const struct range *r)
{
	const struct shm_process *p = c->shm;
	u64 base = (u64)c->region.base, ro = (u64)p->read_only;
	int i;

	if ((r->from < base + REGION_SIZE && r->to > base) ||
		(ro && r->from <= ro && r->to > ro))
		return 1;
	for (i = 0; i < 2; i++)
		if (p->home[i] && !r->open &&
			r->from < (u64)p->home[i] + p->home_len[i] &&
			r->to >= (u64)p->home[i])
			return 1;
	return 0;
}

static long open_maps(struct maps *m)
{
	m->fd = sys_call(__NR_open, "/proc/self/maps", 02000000 /* CLOEXEC */);
	m->at = m->n = 0;
	return m->fd;
}

/* Bytes of the application's mappings; -errno without /proc. */
static s64 host_size(struct caller *c)
{
	struct maps m;
	struct range r;
	s64 size = 0;

	if (open_maps(&m) < 0)
		return m.fd;
	while (next_range(&m, &r))
		if (!is_ours(c, &r))
			size += r.to - r.from;
	sys_call(__NR_close, m.fd);
	return size;
}

static int within_limit(struct caller *c, u64 size)
{
	u64 limit[2] = {0, 0};

	sys_call(__NR_prlimit64, 0, RLIMIT_MEMLOCK, NULL, limit);
	return size <= limit[0] || perm_capable(c, CRED_IPC_LOCK);
}

static void lock_ranges(struct caller *c, int flags)
{
	u32 bits =
		SHM_ATTR_LOCKED | (flags & MCL_ONFAULT ? SHM_ATTR_ONFAULT : 0);
	struct maps m;
	struct range r;

	if (open_maps(&m) < 0)
		return;
	while (next_range(&m, &r)) {
		if (is_ours(c, &r))
			continue;
		/* As in the kernel, what cannot be filled is no error. */
		if (shm_app_concerns(c->shm, r.from, r.to - r.from))
			shm_app_advise(c, __NR_mlock2, r.from, r.to - r.from,
				flags & MCL_ONFAULT ? 1 : 0,
				(struct shm_change){0, SHM_ATTR_ONFAULT, bits});
		else
			sys_call(__NR_mlock2, r.from, r.to - r.from,
				flags & MCL_ONFAULT ? 1 : 0);
	}
	sys_call(__NR_close, m.fd);
}

long shm_app_lock_all(struct caller *c, int flags)
{
	s64 size = host_size(c);
	long err;

	if (size < 0)
		return sys_call(__NR_mlockall, flags | MCL_ONFAULT);
	if (!within_limit(c, size))
		return -ENOMEM;
	/* Alone, MCL_FUTURE touches no mapping; and without it, it ends. */
	err = flags & MCL_FUTURE ? sys_call(__NR_mlockall, flags & ~MCL_CURRENT)
				 : sys_call(__NR_munlockall);
	if (!err)
		lock_ranges(c, flags);
	return err;
}
