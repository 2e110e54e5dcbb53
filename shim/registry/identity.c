// SPDX-License-Identifier: MIT
/*
 * Asking who somebody is; see identity.h.
 */
#include "base/file.h"
#include "base/statfs.h"
#include "base/str.h"
#include "registry/identity.h"

#define PIDFD_THREAD 0200 /* O_EXCL: any thread, Linux 6.9 */
#define PIDFD_GET_PID_NAMESPACE 0xff05

/* Do pidfds have inodes of their own? The same answer for all threads. */
enum {
	PIDFS_UNKNOWN,
	PIDFS_THERE,
	PIDFS_MISSING,
};
static u32 pidfs;

static int is_pidfs(int fd)
{
	u32 known = __atomic_load_n(&pidfs, __ATOMIC_RELAXED);
	struct sys_statfs fs;

	if (known == PIDFS_UNKNOWN) {
		known = !sys_call(__NR_fstatfs, fd, &fs) && fs.type == SYS_PIDFS
				? PIDFS_THERE
				: PIDFS_MISSING;
		__atomic_store_n(&pidfs, known, __ATOMIC_RELAXED);
	}
	return known == PIDFS_THERE;
}

/* By inode: 0 where there is no such process, or none can be told. */
static u64 birth_by_inode(u32 number)
{
	struct file_stat st;
	u64 birth = 0;
	long fd;

	if (__atomic_load_n(&pidfs, __ATOMIC_RELAXED) == PIDFS_MISSING)
		return 0;
	fd = sys_call(__NR_pidfd_open, number, PIDFD_THREAD);
	/* An older kernel does not know the flag, or the call; a filter may
	 * refuse it. */
	if (fd == -EINVAL || fd == -ENOSYS || fd == -EPERM)
		__atomic_store_n(&pidfs, PIDFS_MISSING, __ATOMIC_RELAXED);
	if (fd < 0)
		return 0;
	if (is_pidfs((int)fd) && !sys_call(__NR_fstat, fd, &st))
		birth = st.ino | BIRTH_INODE;
	sys_call(__NR_close, fd);
	return birth;
}

/* Of this process; pid 0: unknown. Its first call stores it, and its first
 * claim of a task, at most once each, reads it. */
static struct {
	u32 pid;
	u64 birth;
} self;

void identity_forget(void)
{
	__atomic_store_n(&self.pid, 0, __ATOMIC_RELAXED);
}

void identity_learned(u32 pid, u64 birth)
{
	self.birth = birth;
	__atomic_store_n(&self.pid, pid, __ATOMIC_RELEASE);
}

static u64 inode_of(long fd)
{
	struct file_stat st;

	return sys_call(__NR_fstat, fd, &st) ? 0 : st.ino;
}

/* By a pidfd of our own: two answers for one open, the inode of the pid
 * namespace and, since the pidfd is there, our own birth for the first
 * claim. */
u64 identity_namespace(void)
{
	u32 pid = sys_getpid();
	u64 found = 0, birth;
	long fd, ns;

	if (__atomic_load_n(&pidfs, __ATOMIC_RELAXED) == PIDFS_MISSING)
		return 0;
	fd = sys_call(__NR_pidfd_open, pid, PIDFD_THREAD);
	if (fd < 0)
		return 0;
	ns = sys_call(__NR_ioctl, fd, PIDFD_GET_PID_NAMESPACE, 0);
	if (ns >= 0) {
		found = inode_of(ns);
		sys_call(__NR_close, ns);
	}
	/* Whoever knows that has inodes for pidfds, too. */
	if (found) {
		__atomic_store_n(&pidfs, PIDFS_THERE, __ATOMIC_RELAXED);
		birth = inode_of(fd) | BIRTH_INODE;
		identity_learned(birth == BIRTH_INODE ? 0 : pid, birth);
	}
	sys_call(__NR_close, fd);
	return found;
}

/* The inode where the kernel has one and a descriptor is free, else the start
 * time in ticks; which of the two it is can be told (BIRTH_INODE). */
u64 identity_birth(u32 number)
{
	u64 birth;

	if (__atomic_load_n(&self.pid, __ATOMIC_ACQUIRE) == number)
		return self.birth;
	birth = birth_by_inode(number);
	return birth ? birth : sys_start_time(number, NULL);
}

/* Somebody else has the number now. */
static int is_other(u32 number, u64 birth, u64 ticks, int hint)
{
	u64 now;

	if (!birth)
		return 0;
	if (!(birth & BIRTH_INODE))
		return hint && ticks && ticks != birth;
	now = birth_by_inode(number);
	return now && now != birth;
}

/* 0 if a listed thread has ended, or has begun to. One whose status cannot be
 * read, for want of a descriptor, runs. */
static int thread_runs(u32 pid, u32 tid)
{
	struct sys_process p;

	if (sys_process_read(pid, tid, &p))
		return !p.ending;
	return sys_call(__NR_tgkill, pid, tid, 0) != -ESRCH;
}

/* 1 if no thread of the process is listed that has not begun to end. */
static int none_runs(u32 pid)
{
	struct file_dir dir;
	const char *name;
	char path[40];
	size_t n = str_add(path, sizeof(path), 0, "/proc/");
	int tid, runs = 0;

	n = str_add_u64(path, sizeof(path), n, pid);
	str_add(path, sizeof(path), n, "/task");
	if (file_dir_open(&dir, path))
		return 0;
	while (!runs && (name = file_dir_next(&dir))) {
		tid = file_number(name);
		runs = tid > 0 && thread_runs(pid, (u32)tid);
	}
	file_dir_close(&dir);
	return !runs;
}

/*
 * The leader is ending: are all the others, too? Of a killed process they end
 * one by one, and the last one may take long to give its memory back. Twice,
 * for one that was listed may have made another before it ended.
 */
static int all_end(u32 pid, const struct sys_process *leader)
{
	return leader->ending &&
	       (leader->n_threads <= 1 || (none_runs(pid) && none_runs(pid)));
}

/* ESRCH is the only answer that needs no second: a pid that exists may be a
 * zombie (all its threads end, and its leader is not fetched), or somebody
 * else. */
int identity_process_gone(u32 pid, u64 birth, int hint)
{
	struct sys_process p;
	int known;

	if (sys_call(__NR_kill, pid, 0) == -ESRCH)
		return 1;
	known = sys_process_read(pid, 0, &p);
	/* Whoever it is: if another, ours is gone, too. */
	if (known && all_end(pid, &p))
		return 1;
	/* Waited for meanwhile: there was no status to read, or no list of
	 * threads. Who was told "gone" is not told otherwise later. */
	if ((!known || p.ending) && sys_call(__NR_kill, pid, 0) == -ESRCH)
		return 1;
	return is_other(pid, birth, p.start, hint);
}

int identity_thread_gone(u32 tid, u64 birth)
{
	struct sys_process p;
	int known;

	if (sys_call(__NR_kill, tid, 0) == -ESRCH)
		return 1;
	known = sys_process_read(tid, tid, &p);
	if (known && p.ending)
		return 1;
	if (!known && sys_call(__NR_kill, tid, 0) == -ESRCH)
		return 1;
	return is_other(tid, birth, p.start, 1);
}
