// SPDX-License-Identifier: MIT
/*
 * Applying what was written to control files; see controlfile.h.
 */
#include <linux/fcntl.h>
#include "object/controlfile.h"
#include "object/sidefile.h"
#include "object/sysctltext.h"
#include "registry/event.h"
#include "registry/journal/journal.h"
#include "registry/lock.h"

/* O_WRONLY, O_RDWR, O_NONBLOCK, O_DSYNC and O_SYNC, O_CLOEXEC */
#define O_KEPT (03 | 04000 | 04010000 | O_CLOEXEC)
/* The kernel reads no more of one write. */
#define TEXT_MAX 4095

static struct control_file *file_at(struct caller *c, u32 at)
{
	return &caller_header(c)->control[at % CONTROL_FILES];
}

static void forget_locked(struct caller *c, u32 at)
{
	u32 *open = &caller_header(c)->control_open;

	sidefile_unlink(c, file_at(c, at)->token);
	atom_store_release(open, *open & ~(1u << at));
}

/* ---- a text and its values ---- */

/* Read the text at the start of the file: its length, and in *ret_result what
 * the write would have returned; 0 if nothing was written at offset 0. */
static long read_text(struct caller *c, int fd, u32 which,
	struct sysctl_values *ret, s64 *ret_result)
{
	/* Not on the stack, which may be small. */
	char *text = sys_mmap_private(TEXT_MAX);
	long n;

	ret->n = 0;
	*ret_result = 0;
	if ((unsigned long)text > -4096UL)
		return 0;
	n = sys_call(__NR_pread64, fd, text, TEXT_MAX, 0);
	/* Not a hole. */
	if (n > 0 && text[0] && which < n_sysctl_files)
		*ret_result = sysctl_parse(
			c, &sysctl_files[which], text, (u64)n, ret);
	sys_call(__NR_munmap, text, TEXT_MAX);
	return n > 0 ? n : 0;
}

static void note_values(
	struct caller *c, u32 at, const struct sysctl_values *values)
{
	struct control_taken *taken = &caller_header(c)->control_taken;
	u32 i;

	for (i = 0; i < values->n; i++)
		atom_store_release(&taken->v[i], values->v[i]);
	atom_store_release(&taken->n, values->n);
	atom_store_release(&taken->from, at + 1);
}

/* Set the values noted. If the facility's last owner died, the next one repairs
 * it. */
static void apply_noted(struct caller *c)
{
	struct control_taken *taken = &caller_header(c)->control_taken;
	u32 which = file_at(c, taken->from - 1)->which, i, n = taken->n;
	const struct sysctl_file *f;
	const struct control *k;
	struct lock *lock;
	int died;

	if (which >= n_sysctl_files || !n || n > sysctl_files[which].n_values) {
		atom_store_release(&taken->from, 0);
		return;
	}
	f = &sysctl_files[which];
	k = control_find(f->control);
	lock = &caller_header(c)->fac_lock[f->facility].lock;
	died = lock_acquire(c, lock);
	for (i = 0; i < n; i++)
		control_set_journaled(c, k + i, taken->v[i]);
	journal_set32(c, &taken->from, 0);
	journal_commit(c);
	if (died)
		lock_pass_on(c, lock);
	else
		lock_release(c, lock);
}

/* Remove the text at the start of the file. */
static int take_text(struct caller *c, int fd, u32 at)
{
	u32 which = file_at(c, at)->which;
	struct sysctl_values values;
	s64 result;

	if (!read_text(c, fd, which, &values, &result))
		return 0;
	note_values(c, at, &values);
	crash_point();
	sys_call(__NR_ftruncate, fd, 0);
	apply_noted(c);
	if (result < 0)
		event_add(c, EVENT_REFUSED, which, (u64)-result);
	return result < 0 ? (int)result : 0;
}

static int open_again(struct caller *c, u32 at)
{
	char path[sidefile_path_size(c)];

	sidefile_path(c, file_at(c, at)->token, path);
	return (int)sys_call(__NR_open, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

/* A note of a thread that died: 1 if the file still has that text. */
static int still_said(struct caller *c, u32 at)
{
	const struct control_taken *taken = &caller_header(c)->control_taken;
	struct sysctl_values values;
	int fd = open_again(c, at);
	long length;
	s64 result;
	u32 i;

	if (fd < 0)
		return 0;
	length = read_text(c, fd, file_at(c, at)->which, &values, &result);
	sys_call(__NR_close, fd);
	if (!length || values.n != taken->n)
		return 0;
	for (i = 0; i < values.n; i++)
		if (values.v[i] != taken->v[i])
			return 0;
	return 1;
}

static void control_acquire(struct caller *c)
{
	struct control_taken *taken = &caller_header(c)->control_taken;

	lock_acquire(c, &caller_header(c)->control_lock.lock);
	if (likely(!taken->from))
		return;
	if (still_said(c, taken->from - 1))
		atom_store_release(&taken->from, 0);
	else
		apply_noted(c);
}

static void control_release(struct caller *c)
{
	lock_release(c, &caller_header(c)->control_lock.lock);
}

/* ---- files ---- */

/* control_lock held. An opener that died early has left no file. */
static int commit_locked(struct caller *c, u32 at)
{
	int fd = open_again(c, at), err;

	if (fd < 0) {
		if (fd == -ENOENT)
			forget_locked(c, at);
		return 0;
	}
	err = take_text(c, fd, at);
	if (!sys_call(__NR_flock, fd, LOCK_EX | LOCK_NB)) {
		/* What was written in between; nothing more can be. */
		if (!err)
			err = take_text(c, fd, at);
		forget_locked(c, at);
	}
	sys_call(__NR_close, fd);
	return err;
}

static int is_open(struct caller *c, u32 at)
{
	return at < CONTROL_FILES && (caller_header(c)->control_open >> at & 1);
}

int controlfile_commit(struct caller *c, u32 at)
{
	int err = 0;

	if (caller_enroll(c))
		return 0;
	control_acquire(c);
	if (is_open(c, at))
		err = commit_locked(c, at);
	control_release(c);
	return err;
}

void controlfile_drain_slow(struct caller *c)
{
	u32 at;

	/* Without a path there is no directory of control files. */
	if (!c->region.path[0] || caller_enroll(c))
		return;
	control_acquire(c);
	for (at = 0; at < CONTROL_FILES; at++)
		if (is_open(c, at))
			commit_locked(c, at);
	control_release(c);
}

/* The lock is the open file description's: it ends with the last descriptor. */
static int make_file(struct caller *c, const u64 token[2], u32 oflag)
{
	char path[sidefile_path_size(c)];
	int fd, tries;

	sidefile_path(c, token, path);
	for (tries = 0; tries < 2; tries++) {
		fd = sys_call(__NR_open, path,
			(oflag & O_KEPT) | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd != -ENOENT || sidefile_make_dir(c))
			break;
	}
	if (fd < 0)
		return fd;
	sys_call(__NR_fchmod, fd, 0666);
	sys_call(__NR_flock, fd, LOCK_SH | LOCK_NB);
	return fd;
}

static int open_locked(struct caller *c, u32 which, u32 oflag, u32 at)
{
	struct header *h = caller_header(c);
	struct control_file *f = file_at(c, at);
	int fd;

	sidefile_name(c, f->token);
	f->which = which;
	atom_store_release(&h->control_open, h->control_open | 1u << at);
	fd = make_file(c, f->token, oflag);
	if (fd < 0)
		forget_locked(c, at);
	return fd;
}

int controlfile_open(struct caller *c, u32 which, u32 oflag, u32 *ret_at)
{
	struct header *h = caller_header(c);
	int fd = caller_enroll(c);
	u32 used;

	if (fd)
		return fd;
	if (!c->region.path[0])
		return -ENOENT;
	controlfile_drain(c);
	control_acquire(c);
	used = h->control_open;
	if (used == ~0u) {
		fd = -ENFILE;
	} else {
		*ret_at = (u32)__builtin_ctz(~used);
		fd = open_locked(c, which, oflag, *ret_at);
	}
	control_release(c);
	return fd;
}
