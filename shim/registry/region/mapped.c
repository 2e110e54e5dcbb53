// SPDX-License-Identifier: MIT
/*
 * Reading /proc/PID/maps; see mapped.h.
 */
#include <linux/fcntl.h>
#include "registry/region/mapped.h"

/* -1 at the end, and where the process has ended: its maps are empty then. */
static int next_char(struct mapped *m)
{
	long n;

	if (m->at == m->n) {
		do
			n = sys_call(__NR_read, m->fd, m->buf, sizeof(m->buf));
		while (n == -EINTR);
		if (n <= 0)
			return -1;
		m->at = 0;
		m->n = (u32)n;
	}
	return (unsigned char)m->buf[m->at++];
}

/* A number and the character behind it, which is returned; -1 at the end. */
static int number(struct mapped *m, unsigned base, u64 *ret)
{
	u64 v = 0;
	int ch;

	while ((ch = next_char(m)) >= 0) {
		if (ch >= '0' && ch <= '9')
			v = v * base + (ch - '0');
		else if (base == 16 && ch >= 'a' && ch <= 'f')
			v = v * base + (ch - 'a' + 10);
		else
			break;
	}
	*ret = v;
	return ch;
}

/* One line: "from-to perm offset major:minor inode  name". 0 at the end. */
static int line(
	struct mapped *m, struct mapped_part *ret, u64 *ret_dev, u64 *ret_ino)
{
	u64 to, major, minor;
	int i, ch;

	if (number(m, 16, &ret->addr) != '-' || number(m, 16, &to) != ' ')
		return 0;
	ret->len = to - ret->addr;
	ret->prot = 0;
	for (i = 0; i < 5; i++) {
		ch = next_char(m);
		ret->prot |= ch == 'r' ? 1 : ch == 'w' ? 2 : ch == 'x' ? 4 : 0;
	}
	number(m, 16, &ret->off);
	number(m, 16, &major);
	number(m, 16, &minor);
	*ret_dev = major << 32 | minor;
	ch = number(m, 10, ret_ino);
	while (ch >= 0 && ch != '\n')
		ch = next_char(m);
	return 1;
}

int mapped_reopen(struct mapped *m, u32 pid)
{
	char path[40];
	size_t n = str_add(path, sizeof(path), 0, "/proc/");

	n = str_add_u64(path, sizeof(path), n, pid);
	str_add(path, sizeof(path), n, "/maps");
	m->at = m->n = 0;
	m->fd = (int)sys_call(__NR_open, path, O_CLOEXEC, 0);
	return m->fd < 0 ? m->fd : 0;
}

/* The file is told by what our own maps say of it: stat(2) knows another
 * device where it lies in a subvolume. */
int mapped_open(struct mapped *m, const struct caller *c, u32 pid)
{
	struct mapped_part part;
	u64 base = (u64)(uintptr_t)c->region.base;
	int err = mapped_reopen(m, sys_getpid());

	if (err)
		return err;
	do {
		if (!line(m, &part, &m->dev, &m->ino)) {
			mapped_close(m);
			return -ENOENT;
		}
	} while (base < part.addr || base >= part.addr + part.len);
	mapped_close(m);
	return mapped_reopen(m, pid);
}

/* The file is read in pieces, so a line may be of another moment than the one
 * before: mappings that come or go meanwhile may be missed. */
int mapped_next(struct mapped *m, struct mapped_part *ret)
{
	u64 dev, ino;

	while (line(m, ret, &dev, &ino))
		if (dev == m->dev && ino == m->ino)
			return 1;
	return 0;
}

void mapped_close(struct mapped *m)
{
	sys_call(__NR_close, m->fd);
}

int mapped_any(const struct caller *c, u32 pid)
{
	struct mapped_part part;
	struct mapped m;
	int ret = mapped_open(&m, c, pid);

	if (!ret) {
		ret = mapped_next(&m, &part);
		/* One that ended meanwhile has nothing mapped. */
		mapped_close(&m);
	}
	return ret;
}
