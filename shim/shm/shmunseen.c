// SPDX-License-Identifier: MIT
/*
 * Children that were not seen to be made: by a system call instruction of the
 * application's own. Such a child has what its parent had, and nobody counts
 * that until it makes a call. Before this process gives a segment away for good
 * it looks whether a child of its own has it: in /proc/PID/maps, of those that
 * are not known. A process without children pays one system call.
 *
 * Not found: a child whose parent is gone, or detached before another process
 * removes the segment. Its pages are then somebody else's, as soon as they are
 * used again.
 */
#include "base/file.h"
#include "shm/shmattach.h"
#include "shm/shmfork.h"
#include "registry/mapped.h"

#define P_ALL 0
#define WNOHANG_WEXITED_WNOWAIT_WALL 0x41000005

static int has_children(void)
{
	return sys_call(__NR_waitid, P_ALL, 0, NULL,
		       WNOHANG_WEXITED_WNOWAIT_WALL, NULL) != -ECHILD;
}

/* The pages [off, off + len) of the file, as the child has them: its address of
 * the first, and how they may be used; 0 if it has none. */
static u64 find_part(
	struct caller *c, u32 pid, u64 off, u64 len, struct shm_entry *ret)
{
	struct mapped_part part;
	struct mapped m;

	if (mapped_open(&m, c, pid))
		return 0;
	ret->addr = 0;
	while (!ret->addr && mapped_next(&m, &part)) {
		if (!part.prot || part.off >= off + len ||
			part.off + part.len <= off)
			continue;
		ret->addr = part.addr + off - part.off;
		ret->read_only = !(part.prot & 2);
	}
	mapped_close(&m);
	return ret->addr;
}

static void look_at(struct caller *c, struct slot *s, u64 ident, u32 pid)
{
	const struct shm_segment *seg = shm_body(c, s);
	struct shm_entry e = {.ident = ident};

	if (!seg || task_is_known(c, pid))
		return;
	if (find_part(c, pid, seg->off, seg->pages * SYS_PAGE, &e))
		shm_fork_found(c, pid, s, &e);
}

/* "1 2 3 ": of one thread. Those beyond the buffer are not looked at. */
static void children_of(struct caller *c, struct slot *s, u64 ident, int tid)
{
	char path[64], buf[2048];
	size_t n = str_add(path, sizeof(path), 0, "/proc/self/task/");
	u32 pid = 0;
	char *p;

	n = str_add_u64(path, sizeof(path), n, (u64)tid);
	str_add(path, sizeof(path), n, "/children");
	if (sys_read_file(path, buf, sizeof(buf)) <= 0)
		return;
	for (p = buf; *p; p++) {
		if (*p >= '0' && *p <= '9') {
			pid = pid * 10 + (u32)(*p - '0');
			continue;
		}
		if (pid)
			look_at(c, s, ident, pid);
		pid = 0;
	}
}

void shm_count_unseen(struct caller *c, struct slot *s, u64 ident)
{
	struct file_dir dir;
	const char *name;
	int tid;

	if (!has_children() || file_dir_open(&dir, "/proc/self/task"))
		return;
	while ((name = file_dir_next(&dir))) {
		tid = file_number(name);
		if (tid > 0)
			children_of(c, s, ident, tid);
	}
	file_dir_close(&dir);
}
