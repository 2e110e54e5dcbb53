// SPDX-License-Identifier: MIT
/*
 * Taking over what was written to control files; see controlfile.h.
 */
#include "ipc/controlfile.h"
#include "ipc/sidefile.h"
#include "ipc/sysctl.h"
#include "registry/event.h"
#include "registry/lock.h"

#define O_ACCMODE_RW 2
#define O_CREAT 0100
#define O_EXCL 0200
#define O_CLOEXEC 02000000
#define O_NOFOLLOW 0400000
/* O_WRONLY, O_RDWR, O_NONBLOCK, O_DSYNC and O_SYNC, O_CLOEXEC */
#define O_KEPT (03 | 04000 | 04010000 | O_CLOEXEC)
#define LOCK_SHARED 1
#define LOCK_ALONE 2
#define LOCK_NO_WAIT 4
#define SEEK_START 0
/* The kernel looks no further in one write. */
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

/* Text at the front of the file is taken out. */
static int take_text(struct caller *c, int fd, u32 which)
{
	char text[TEXT_MAX];
	long n = sys_call(__NR_pread64, fd, text, sizeof(text), 0);
	s64 err = 0;

	if (n <= 0)
		return 0;
	/* A hole: not written at offset 0. */
	if (text[0] && which < n_sysctl_files)
		err = sysctl_store(c, &sysctl_files[which], 0, text, (u64)n);
	sys_call(__NR_ftruncate, fd, 0);
	if (err < 0)
		event_add(c, EVENT_REFUSED, which, (u64)-err);
	return err < 0 ? (int)err : 0;
}

/* control_lock held. An opener that died at once has left no file. */
static int commit_locked(struct caller *c, u32 at)
{
	const struct control_file *f = file_at(c, at);
	char path[SIDEFILE_PATH_CAP];
	int fd, err;

	sidefile_path(c, f->token, path);
	fd = sys_call(__NR_open, path, O_ACCMODE_RW | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		if (fd == -ENOENT)
			forget_locked(c, at);
		return 0;
	}
	err = take_text(c, fd, f->which);
	if (!sys_call(__NR_flock, fd, LOCK_ALONE | LOCK_NO_WAIT)) {
		/* What came between, since nothing can come any more. */
		if (!err)
			err = take_text(c, fd, f->which);
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
	struct lock *lock = &caller_header(c)->control_lock;
	int err = 0;

	if (caller_enroll(c))
		return 0;
	lock_acquire(c, lock);
	if (is_open(c, at))
		err = commit_locked(c, at);
	lock_release(c, lock);
	return err;
}

void controlfile_drain_slow(struct caller *c)
{
	struct lock *lock = &caller_header(c)->control_lock;
	u32 at;

	/* Below the directory's path is nothing for us. */
	if (!c->region.path[0] || caller_enroll(c))
		return;
	lock_acquire(c, lock);
	for (at = 0; at < CONTROL_FILES; at++)
		if (is_open(c, at))
			commit_locked(c, at);
	lock_release(c, lock);
}

/* The lock is that of the description: it goes with the last descriptor. */
static int make_file(struct caller *c, const u64 token[2], u32 oflag)
{
	char path[SIDEFILE_PATH_CAP];
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
	sys_call(__NR_flock, fd, LOCK_SHARED | LOCK_NO_WAIT);
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
	lock_acquire(c, &h->control_lock);
	used = h->control_open;
	if (used == ~0u) {
		fd = -ENFILE;
	} else {
		*ret_at = (u32)__builtin_ctz(~used);
		fd = open_locked(c, which, oflag, *ret_at);
	}
	lock_release(c, &h->control_lock);
	return fd;
}
