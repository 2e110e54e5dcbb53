// SPDX-License-Identifier: MIT
/*
 * mq_times: the times of a queue, and its file system, by its descriptor.
 * futimens(3) keeps whole seconds and checks in the kernel's order; who may
 * write may set both times to now, only the owner to another. fstatfs(2) says
 * mqueue, though what stands behind the descriptor is something else.
 */
#include "mq.h"
#include <sys/stat.h>
#include <sys/vfs.h>

static void say_times(int fd)
{
	struct stat st;

	t_eq(fstat(fd, &st), 0);
	t_say("     %lld.%ld %lld.%ld", (long long)st.st_atim.tv_sec,
		st.st_atim.tv_nsec, (long long)st.st_mtim.tv_sec,
		st.st_mtim.tv_nsec);
}

static int set(int fd, long asec, long ansec, long msec, long mnsec)
{
	struct timespec t[2] = {{asec, ansec}, {msec, mnsec}};

	return futimens(fd, t);
}

static void others(int fd, int rights)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		t_eq(setresuid(T_OTHER_UID, T_OTHER_UID, T_OTHER_UID), 0);
		t_err(set(fd, 1, 0, 2, 0), EPERM);
		t_err(set(fd, 1, UTIME_OMIT, 2, UTIME_NOW), EPERM);
		t_eq(set(fd, 1, UTIME_OMIT, 2, UTIME_OMIT), 0);
		if (rights)
			t_eq(futimens(fd, NULL), 0);
		else
			t_err(futimens(fd, NULL), EACCES);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
}

int main(void)
{
	struct statfs fs;
	struct stat st;
	time_t now;
	mqd_t q;

	t_begin();
	q = q_open(NAME, RW, 4, 32);
	t_story("times");
	t_eq(set(q, 5, 0, 7, 999999999), 0);
	say_times(q);
	t_eq(set(q, -5, 999999999, -7, 1), 0);
	say_times(q);
	t_eq(set(q, 9, 0, 7, UTIME_OMIT), 0);
	say_times(q);
	t_eq(set(q, 9, UTIME_OMIT, 11, 0), 0);
	say_times(q);
	t_err(set(q, 1, 1000000000, 2, 0), EINVAL);
	t_err(set(q, 1, 0, 2, -1), EINVAL);
	say_times(q);
	t_err(futimens(-1, NULL), EBADF);
	time(&now);
	t_eq(set(q, 1, UTIME_OMIT, 2, UTIME_NOW), 0);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_atime, 9);
	t_true(st.st_mtime >= now - 1);
	t_true(st.st_ctime >= now - 1);
	t_eq(futimens(q, NULL), 0);
	t_eq(fstat(q, &st), 0);
	t_true(st.st_atime >= now - 1);
	t_story("a message sets them all again");
	t_eq(set(q, 5, 0, 7, 0), 0);
	t_eq(q_put(q, "one", 0), 0);
	t_eq(fstat(q, &st), 0);
	t_true(st.st_atime >= now - 1 && st.st_mtime >= now - 1);
	t_story("somebody else");
	others(q, 0);
	t_eq(fchmod(q, 0666), 0);
	others(q, 1);
	t_story("the file system");
	memset(&fs, 0x55, sizeof(fs));
	t_eq(fstatfs(q, &fs), 0);
	t_eq(fs.f_type, 0x19800202);
	t_eq(fs.f_bsize, 4096);
	t_eq(fs.f_blocks + fs.f_bfree + fs.f_bavail + fs.f_files, 0);
	t_eq(fs.f_namelen, 255);
	t_story("unlinked");
	t_eq(mq_unlink(NAME), 0);
	t_eq(set(q, 5, 0, 7, 0), 0);
	say_times(q);
	t_eq(fstatfs(q, &fs), 0);
	t_eq(fs.f_type, 0x19800202);
	mq_close(q);
	return t_end();
}
