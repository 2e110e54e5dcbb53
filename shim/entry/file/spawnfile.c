// SPDX-License-Identifier: MIT
/*
 * See spawnfile.h.
 *
 * The list of actions is libc's own; it is read, never written: what is given to
 * libc is a copy on pages of ours. In the copy an opening is a dup2 of a number
 * above all that the actions name, closed at exec and, after the call, here.
 *
 * Different from the kernel: the file is opened with the parent's ids where
 * POSIX_SPAWN_RESETIDS gives the child others, and before the other actions.
 * A closefrom before the opening closes it too: then posix_spawn says EBADF.
 */
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include "base/str.h"
#include "entry/file/mqdir.h"
#include "entry/file/procfs.h"
#include "entry/file/spawnfile.h"

extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* glibc's <spawn.h>, and its struct __spawn_action. */
enum glibc_tag { GLIBC_CLOSE, GLIBC_DUP2, GLIBC_OPEN };

struct glibc_action {
	int tag;
	union {
		int fd;
		struct {
			int fd, to;
		} dup2;
		struct {
			int fd;
			const char *path;
			int flags;
			u32 mode;
		} open;
	} a;
};

struct glibc_actions {
	int room, n;
	const struct glibc_action *at;
	int pad[16];
};

/* musl's, whose list is done from its end. */
enum musl_kind { MUSL_CLOSE = 1, MUSL_DUP2, MUSL_OPEN, MUSL_CHDIR };

struct musl_action {
	struct musl_action *next, *previous;
	int kind, fd, from, flags;
	u32 mode;
	char path[];
};

struct musl_actions {
	int pad0[2];
	struct musl_action *first;
	int pad[16];
};

/* ---- one opening ---- */

static int is_ours(const char *path)
{
	struct mqdir_at at;

	return path[0] == '/' &&
	       (mqdir_is(AT_FDCWD, path, 0, &at) ||
		       (procfs_prefix(path) && procfs_find(path, -1) >= 0));
}

/* A descriptor above all `above` numbers, or -errno. */
static long open_one(const char *path, int flags, u32 mode, int above)
{
	struct mqdir_at at;
	long fd, to;

	flags |= O_CLOEXEC;
	if (mqdir_is(AT_FDCWD, path, 0, &at))
		fd = mqdir_open(&at, flags, mode);
	else
		fd = procfs_open_file(procfs_find(path, -1), flags);
	if (fd < 0 || fd >= above)
		return fd;
	to = sys_call(__NR_fcntl, fd, F_DUPFD_CLOEXEC, above);
	/* No number is so high: then it must be hoped that none is named. */
	if (to < 0)
		return fd;
	fd_copied((int)fd, (int)to);
	entry_close((int)fd);
	return to;
}

static int opened(struct spawnfile *s, long fd, int *ret)
{
	if (fd < 0)
		return (int)-fd;
	s->fds[s->n_fds++] = *ret = (int)fd;
	return 0;
}

/* ---- glibc ---- */

static int glibc_concerns(const struct glibc_actions *all)
{
	int i;

	for (i = 0; i < all->n; i++)
		if (all->at[i].tag == GLIBC_OPEN &&
			is_ours(all->at[i].a.open.path))
			return 1;
	return 0;
}

static int glibc_above(const struct glibc_actions *all)
{
	const struct glibc_action *a;
	int i, top = 2;

	for (i = 0; i < all->n; i++) {
		a = &all->at[i];
		if (a->a.fd > top)
			top = a->a.fd;
		if (a->tag == GLIBC_DUP2 && a->a.dup2.to > top)
			top = a->a.dup2.to;
	}
	return top + 1;
}

struct glibc_copy {
	struct glibc_actions head;
	struct glibc_action at[];
};

static int glibc_replace(struct spawnfile *s, struct glibc_copy *to, int above)
{
	struct glibc_action *a;
	int i, fd = -1, err;

	for (i = 0; i < to->head.n; i++) {
		a = &to->at[i];
		if (a->tag != GLIBC_OPEN || !is_ours(a->a.open.path))
			continue;
		err = opened(s,
			open_one(a->a.open.path, a->a.open.flags,
				a->a.open.mode, above),
			&fd);
		if (err)
			return err;
		*a = (struct glibc_action){
			GLIBC_DUP2, {.dup2 = {fd, a->a.open.fd}}};
	}
	return 0;
}

/* ---- musl ---- */

static int musl_concerns(const struct musl_actions *all)
{
	const struct musl_action *a;

	for (a = all->first; a; a = a->next)
		if (a->kind == MUSL_OPEN && is_ours(a->path))
			return 1;
	return 0;
}

static int musl_above(const struct musl_actions *all)
{
	const struct musl_action *a;
	int top = 2;

	for (a = all->first; a; a = a->next) {
		if (a->fd > top)
			top = a->fd;
		if (a->kind == MUSL_DUP2 && a->from > top)
			top = a->from;
	}
	return top + 1;
}

/* Bytes of one in the copy, whose neighbours are aligned. */
static size_t musl_size(const struct musl_action *a)
{
	size_t path = a->kind == MUSL_OPEN || a->kind == MUSL_CHDIR
			      ? str_len(a->path) + 1
			      : 1;

	return (sizeof(*a) + path + 15) & ~(size_t)15;
}

static size_t musl_all(const struct musl_actions *all)
{
	const struct musl_action *a;
	size_t n = 0;

	for (a = all->first; a; a = a->next)
		n += musl_size(a);
	return n;
}

struct musl_copy {
	struct musl_actions head;
	char at[] __attribute__((aligned(16)));
};

static void musl_fill(struct musl_copy *to, const struct musl_actions *all)
{
	struct musl_action *new, *before = NULL, **link = &to->head.first;
	const struct musl_action *a;
	char *at = to->at;

	for (a = all->first; a; a = a->next) {
		new = (struct musl_action *)(void *)at;
		__builtin_memcpy(new, a, sizeof(*a));
		if (a->kind == MUSL_OPEN || a->kind == MUSL_CHDIR)
			__builtin_memcpy(
				new->path, a->path, str_len(a->path) + 1);
		new->previous = before;
		*link = before = new;
		link = &new->next;
		at += musl_size(a);
	}
}

/* In the order in which they are done. */
static int musl_replace(struct spawnfile *s, struct musl_copy *to, int above)
{
	struct musl_action *a = to->head.first;
	int fd = -1, err;

	while (a && a->next)
		a = a->next;
	for (; a; a = a->previous) {
		if (a->kind != MUSL_OPEN || !is_ours(a->path))
			continue;
		err = opened(
			s, open_one(a->path, a->flags, a->mode, above), &fd);
		if (err)
			return err;
		a->kind = MUSL_DUP2;
		a->from = fd;
	}
	return 0;
}

/* ---- either ---- */

int spawnfile_concerns(const void *actions)
{
	if (!actions || process_in_vfork())
		return 0;
	return gnu_get_libc_version ? glibc_concerns(actions)
				    : musl_concerns(actions);
}

static u32 count_actions(const void *actions)
{
	const struct musl_action *a;
	u32 n = 0;

	if (gnu_get_libc_version)
		return (u32)((const struct glibc_actions *)actions)->n;
	for (a = ((const struct musl_actions *)actions)->first; a; a = a->next)
		n++;
	return n;
}

static int glibc_begin(
	struct spawnfile *s, const struct glibc_actions *all, void *pages)
{
	struct glibc_copy *to = pages;

	to->head = *all;
	__builtin_memcpy(to->at, all->at, (size_t)all->n * sizeof(*all->at));
	to->head.at = to->at;
	return glibc_replace(s, to, glibc_above(all));
}

static int musl_begin(
	struct spawnfile *s, const struct musl_actions *all, void *pages)
{
	struct musl_copy *to = pages;

	to->head = *all;
	musl_fill(to, all);
	return musl_replace(s, to, musl_above(all));
}

int spawnfile_begin(struct spawnfile *ret, const void *actions)
{
	u32 n = count_actions(actions);
	size_t numbers = ((size_t)n * sizeof(int) + 15) & ~(size_t)15;
	size_t list = gnu_get_libc_version
			      ? sizeof(struct glibc_copy) +
					n * sizeof(struct glibc_action)
			      : sizeof(struct musl_copy) + musl_all(actions);
	char *pages = sys_mmap_private((long)(numbers + list));
	int err;

	if ((unsigned long)pages > -4096UL)
		return (int)-(long)pages;
	*ret = (struct spawnfile){
		pages + numbers, numbers + list, (int *)(void *)pages, 0};
	err = gnu_get_libc_version ? glibc_begin(ret, actions, pages + numbers)
				   : musl_begin(ret, actions, pages + numbers);
	if (err)
		spawnfile_end(ret);
	return err;
}

void spawnfile_end(const struct spawnfile *s)
{
	u32 i;

	for (i = 0; i < s->n_fds; i++)
		entry_close(s->fds[i]);
	sys_call(__NR_munmap, s->fds, s->size);
}
