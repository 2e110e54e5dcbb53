// SPDX-License-Identifier: MIT
/*
 * Image locks; see image.h.
 */
#include <linux/fcntl.h>
#include <linux/mman.h>
#include "base/file.h"
#include "registry/image.h"

/* Where the bytes begin, and how many numbers a task has. */
#define IMAGE_BASE (1ULL << 62)
#define IMAGE_TASK_BITS 16
_Static_assert(N_TASKS == 1u << IMAGE_TASK_BITS, "a task's number fits");

/* struct flock of fcntl(2). */
struct file_lock {
	s16 type, whence;
	s64 start, len;
	u32 pid;
};

/* Of this process; a fork child has its parent's until it leaves it. */
static struct {
	char *page, *inherited;
	u64 image;
	u32 generation; /* caller's, when it was made */
} own;
u32 image_mapped;

u64 image_own(const struct caller *c)
{
	return own.generation == c->generation ? own.image : 0;
}

/* The registry's file, if it is still that at its path: -errno if not. */
static long open_registry(const struct caller *c)
{
	struct file_stat st;
	long fd;

	if (!c->region.path[0])
		return -ENOENT;
	fd = sys_call(__NR_open, c->region.path,
		O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd >= 0 &&
		(sys_call(__NR_fstat, fd, &st) || st.ino != c->region.ino ||
			st.dev != c->region.dev)) {
		sys_call(__NR_close, fd);
		return -ESTALE;
	}
	return fd;
}

static void drop(char **page)
{
	if (!*page)
		return;
	sys_call(__NR_munmap, *page, SYS_PAGE);
	*page = NULL;
}

/* own.generation is another: no lock was made here since the fork, so the page
 * is the parent's, too, and goes with what that had inherited. */
void image_leave_slow(u32 generation)
{
	drop(&own.inherited);
	if (own.generation != generation)
		drop(&own.page);
}

/* The page, or NULL. */
static char *lock_and_map(const struct caller *c, u64 image)
{
	struct file_lock lock = {
		.type = F_RDLCK, .start = (s64)image, .len = 1};
	long fd = open_registry(c);
	char *page = NULL;

	if (fd < 0)
		return NULL;
	if (!sys_call(__NR_fcntl, fd, F_OFD_SETLK, &lock))
		page = sys_mmap(NULL, SYS_PAGE, 0, MAP_SHARED, (int)fd, 0);
	sys_call(__NR_close, fd);
	return (unsigned long)page > -4096UL ? NULL : page;
}

/* The new lock is held before task.image names it, and what the task had named
 * before stays mapped until image_leave: so whoever reads either number finds
 * it held. Who dies in between has mapped a page that nobody asks for. */
void image_make(struct caller *c)
{
	u64 serial = (u64)atom_add(&caller_header(c)->stamp, 1);
	u64 image = IMAGE_BASE | c->task |
		    (serial << IMAGE_TASK_BITS & (IMAGE_BASE - 1));

	if (own.page) {
		drop(&own.inherited);
		own.inherited = own.page;
	}
	own.page = lock_and_map(c, image);
	if (own.page)
		image_mapped = 1;
	own.image = own.page ? image : IMAGE_UNKNOWN;
	/* Whoever reads it finds it held. */
	atom_store_release(&region_task(&c->region, c->task)->image, own.image);
	own.generation = c->generation;
}

/* F_OFD_GETLK for a write lock: who holds the byte for reading is in the way.
 * What cannot be asked (no file, no descriptor) counts as held: nothing is
 * taken from a process that may be there. */
int image_held(const struct caller *c, u64 image)
{
	struct file_lock lock = {
		.type = F_WRLCK, .start = (s64)image, .len = 1};
	long fd, err;

	if (image < IMAGE_BASE)
		return image == IMAGE_UNKNOWN;
	fd = open_registry(c);
	if (fd < 0)
		return 1;
	err = sys_call(__NR_fcntl, fd, F_OFD_GETLK, &lock);
	sys_call(__NR_close, fd);
	return err || lock.type != F_UNLCK;
}
