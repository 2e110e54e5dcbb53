// SPDX-License-Identifier: MIT
/*
 * All that can be done to files in a directory of POSIX queues: made by open,
 * creat and mknod, read, sought, polled, truncated, changed and removed by
 * their owner and by another user, and what cannot be done; and to the
 * directory. Prints each call with its result; it must be the same in the
 * kernel's mqueue file system and in mqueue/ of the mount (mqueue.sh).
 *
 *	queue_files DIR
 *	queue_files wait FILE	polls FILE until it can be read: "ready", and
 *				what poll and epoll say of it then
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OTHER_UID 65534

static char text[512];

static long told(const char *what, long result)
{
	printf("%s: ", what);
	if (result < 0)
		puts(strerrorname_np(errno));
	else
		printf("%ld\n", result);
	return result;
}
/* Do it and tell what came of it. A descriptor is told as one. */
#define tell(call) (errno = 0, told(#call, (long)(call)))

static int opened(const char *what, int fd)
{
	printf("%s: %s\n", what, fd < 0 ? strerrorname_np(errno) : "open");
	return fd;
}
#define tell_open(call) opened(#call, call)
/* And closed again. */
#define tell_closed(call) close(opened(#call, call))

static void show(const char *path)
{
	struct stat st;

	if (stat(path, &st)) {
		printf("  %s: %s\n", path, strerrorname_np(errno));
		return;
	}
	printf("  %s: %o %u:%u size %ld nlink %lu blocks %ld of %ld, whole "
	       "seconds %d\n",
		path, st.st_mode, st.st_uid, st.st_gid, (long)st.st_size,
		(unsigned long)st.st_nlink, (long)st.st_blocks,
		(long)st.st_blksize, !st.st_mtim.tv_nsec);
}

static void show_times(const char *path)
{
	struct stat st;

	stat(path, &st);
	printf("  times %ld.%ld %ld.%ld; changed now %d\n",
		st.st_atim.tv_sec > 1600000000 ? -1 : st.st_atim.tv_sec,
		st.st_atim.tv_nsec,
		st.st_mtim.tv_sec > 1600000000 ? -1 : st.st_mtim.tv_sec,
		st.st_mtim.tv_nsec, st.st_ctim.tv_sec > 1600000000);
}

static void read_and_seek(void)
{
	int fd = tell_open(open("a", O_RDWR | O_CREAT, 0666));
	struct pollfd p = {.fd = fd,
		.events = POLLIN | POLLOUT | POLLPRI | POLLRDNORM | POLLWRNORM};

	show("a");
	show(".");
	memset(text, 0, sizeof(text));
	tell(read(fd, text, sizeof(text)));
	printf("[%s]\n", text);
	tell(read(fd, text, 5));
	tell(lseek(fd, 0, SEEK_END));
	tell(lseek(fd, 5, SEEK_SET));
	tell(read(fd, text, 10));
	printf("[%.10s]\n", text);
	tell(pread(fd, text, 10, 55));
	tell(pread(fd, text, 10, 60));
	tell(pread(fd, text, 10, 79));
	tell(pread(fd, text, 10, 80));
	tell(pread(fd, text, 10, -1));
	tell(write(fd, "x", 1));
	tell(pwrite(fd, "x", 1, 0));
	tell(poll(&p, 1, 0));
	printf("events %x\n", p.revents);
	tell(fcntl(fd, F_GETFL) & O_ACCMODE);
	tell(fcntl(fd, F_GETFD));
	close(fd);
}

static void sizes(void)
{
	int fd = open("a", O_RDWR);

	tell(ftruncate(fd, 0));
	show("a");
	tell(ftruncate(fd, 100));
	show("a");
	tell(pread(fd, text, 10, 0));
	tell(truncate("a", 7));
	show("a");
	tell(pread(fd, text, 100, 0));
	tell(lseek(fd, 0, SEEK_END));
	tell(lseek(fd, 0, SEEK_DATA));
	tell(lseek(fd, 3, SEEK_HOLE));
	tell(lseek(fd, 7, SEEK_DATA));
	tell(lseek(fd, 7, SEEK_HOLE));
	tell(ftruncate(fd, 80));
	tell(ftruncate(fd, -1));
	close(fd);
}

static void on_descriptor(void)
{
	struct flock whole = {.l_type = F_WRLCK};
	int fd = open("a", O_RDWR), n;

	tell(fsync(fd));
	tell(fdatasync(fd));
	tell(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	tell(flock(fd, LOCK_EX));
	tell(fcntl(fd, F_SETLK, &whole));
	tell(fallocate(fd, 0, 0, 10));
	tell(ioctl(fd, FIONREAD, &n));
	tell(fchmod(fd, 0600));
	show("a");
	tell(fchown(fd, 1, 2));
	show("a");
	tell(fchown(fd, 0, 0));
	tell(setxattr("a", "user.x", "1", 1, 0));
	tell(getxattr("a", "user.x", text, 10));
	tell(listxattr("a", text, 10));
	close(fd);
}

static void times(void)
{
	struct timespec t[2] = {{100, 5}, {200, 7}};
	int fd = open("a", O_RDWR);

	tell(utimensat(AT_FDCWD, "a", t, 0));
	show_times("a");
	t[0].tv_nsec = UTIME_NOW;
	t[1].tv_nsec = UTIME_OMIT;
	tell(utimensat(AT_FDCWD, "a", t, 0));
	show_times("a");
	tell(futimens(fd, NULL));
	show_times("a");
	t[0] = t[1] = (struct timespec){300, 0};
	tell(futimens(fd, t));
	tell(pread(fd, text, 80, 0));
	show_times("a");
	close(fd);
}

static void ways_to_open(void)
{
	int fd;

	tell_open(open("a", O_RDWR | O_CREAT | O_EXCL, 0600));
	tell_closed(open("a", O_RDONLY | O_TRUNC));
	show("a");
	fd = tell_open(open("a", O_WRONLY | O_TRUNC));
	tell(read(fd, text, 1));
	close(fd);
	fd = tell_open(open("a", O_ACCMODE));
	tell(read(fd, text, 1));
	tell(write(fd, "x", 1));
	close(fd);
	fd = tell_open(open("a", O_APPEND | O_RDWR));
	tell(read(fd, text, 80));
	tell(write(fd, "x", 1));
	close(fd);
	tell_open(open("a", O_DIRECTORY));
	tell_open(open("a", O_DIRECT));
	tell_closed(open("a", O_NONBLOCK | O_RDWR));
	tell_closed(open("a", O_PATH));
	tell_open(open("none", O_RDWR));
}

static void ways_to_make(void)
{
	tell_closed(creat("c", 0777));
	show("c");
	tell(mknod("m", S_IFREG | 0644, 0));
	show("m");
	tell(mknod("m", S_IFREG | 0644, 0));
	tell(mknod("z", 0644, 0));
	show("z");
	tell(mknod("f", S_IFIFO | 0644, 0));
	tell(mknod("d", S_IFCHR | 0644, makedev(1, 3)));
	tell(mknod("s", S_IFSOCK | 0644, 0));
	tell(mkdir("dir", 0755));
	tell(symlink("x", "y"));
	tell(link("a", "b"));
	tell(link("nothing", "b"));
	tell(rename("a", "b"));
	tell(rename("a", "c"));
	tell(rename("nothing", "b"));
	tell(rename("a", "a"));
	tell(renameat2(AT_FDCWD, "a", AT_FDCWD, "c", RENAME_EXCHANGE));
	tell(renameat2(AT_FDCWD, "a", AT_FDCWD, "q", RENAME_NOREPLACE));
	tell(symlink("x", "a"));
	tell(mkdir("a", 0700));
	tell(rmdir("a"));
	tell(rmdir("none"));
	tell(unlink("none"));
	tell(unlink("."));
	tell_open(open("x/y", O_CREAT, 0600));
	tell_open(open("a/y", O_CREAT, 0600));
	tell_open(open(".", O_CREAT | O_RDWR, 0600));
	tell_open(open(".", O_TMPFILE | O_RDWR, 0600));
}

static void names(void)
{
	char longest[300];
	struct stat st;

	memset(longest, 'l', sizeof(longest));
	longest[255] = 0;
	tell_closed(open(longest, O_CREAT | O_RDWR, 0600));
	tell(unlink(longest));
	longest[255] = 'l';
	longest[256] = 0;
	tell_open(open(longest, O_CREAT | O_RDWR, 0600));
	tell(stat(longest, &st));
	tell(unlink(longest));
	tell_closed(open("...", O_CREAT | O_RDWR, 0600));
	tell(unlink("..."));
	tell_closed(open("name with blank\n", O_CREAT | O_RDWR, 0600));
	tell(unlink("name with blank\n"));
}

static void modes(void)
{
	tell(truncate(".", 0));
	tell(access(".", R_OK | W_OK | X_OK));
	tell(access("a", X_OK));
	tell(chmod("a", 07755));
	show("a");
	tell(access("a", X_OK));
	tell(chmod("a", 0600));
}

static void list(const char *what, DIR *d)
{
	struct dirent *e;

	printf("%s:", what);
	while ((e = readdir(d)))
		printf(" %s", e->d_name);
	printf("\n");
}

/* To ask for what it has is granted; who rewinds it sees what is new; each
 * number below that of entries is a place to go on. */
static void directory(void)
{
	DIR *d = opendir(".");
	long second;
	int fd = dirfd(d);

	list("names", d);
	tell_closed(open("later", O_CREAT | O_RDWR, 0600));
	list("at the end", d);
	rewinddir(d);
	list("again", d);
	tell(unlink("later"));
	rewinddir(d);
	readdir(d);
	second = telldir(d);
	list("behind the first", d);
	seekdir(d, second);
	list("from there again", d);
	for (second = 0; second < 9; second++) {
		lseek(fd, 0, SEEK_SET);
		rewinddir(d);
		tell(lseek(fd, second, SEEK_SET) == second);
		list("from there", d);
	}
	tell(lseek(fd, 1L << 40, SEEK_SET) == 1L << 40);
	list("far behind", d);
	tell(lseek(fd, -1, SEEK_SET));
	tell(fsync(fd));
	tell(fchmod(fd, 01777));
	tell(fchown(fd, 0, 0));
	tell(chown(".", -1, -1));
	tell(utimensat(AT_FDCWD, ".", NULL, 0));
	closedir(d);
}

static void unlinked_but_open(void)
{
	int fd = open("a", O_RDWR), other;
	struct stat st;

	tell(unlink("a"));
	tell(fstat(fd, &st));
	printf("nlink %lu\n", (unsigned long)st.st_nlink);
	tell(read(fd, text, 80));
	tell(fchmod(fd, 0644));
	tell(ftruncate(fd, 0));
	tell_open(open("a", O_RDWR));
	tell(stat("a", &st));
	other = tell_open(open("a", O_RDWR | O_CREAT, 0640));
	show("a");
	tell(fstat(fd, &st));
	printf("mode %o nlink %lu\n", st.st_mode, (unsigned long)st.st_nlink);
	close(other);
	close(fd);
}

static void other_user(void)
{
	struct timespec t[2] = {{100, 5}, {200, 7}};
	int fd;

	tell(chmod("c", 0644));
	tell(chmod("m", 0));
	if (setegid(OTHER_UID) || seteuid(OTHER_UID))
		exit(1);
	tell(chmod(".", 01777));
	tell(chown(".", 0, 0));
	tell(utimensat(AT_FDCWD, ".", NULL, 0));
	tell(utimensat(AT_FDCWD, ".", t, 0));
	tell(access(".", W_OK));
	tell_open(open("c", O_RDWR));
	tell_closed(open("c", O_RDONLY));
	tell_open(open("c", O_RDONLY | O_TRUNC));
	tell_open(open("m", O_RDONLY));
	tell(unlink("c"));
	tell(unlink("none"));
	tell(chmod("c", 0666));
	tell(chown("c", OTHER_UID, -1));
	tell(truncate("c", 0));
	tell(utimensat(AT_FDCWD, "c", NULL, 0));
	tell(utimensat(AT_FDCWD, "c", t, 0));
	tell(rename("c", "k"));
	tell(link("c", "k"));
	tell(mkdir("dd", 0700));
	tell(symlink("x", "y"));
	tell(mknod("ff", S_IFIFO | 0600, 0));
	tell(mknod("dv", S_IFCHR | 0600, makedev(1, 3)));
	tell_open(open("c", O_CREAT | O_EXCL | O_RDWR, 0600));
	tell_open(open("c", O_CREAT | O_RDWR, 0600));
	tell_open(open("m", O_CREAT | O_RDONLY, 0600));
	tell_closed(open("c", O_CREAT | O_RDONLY, 0600));
	fd = tell_open(open("mine", O_CREAT | O_RDWR, 0));
	tell(read(fd, text, 80));
	close(fd);
	show("mine");
	tell_open(open("mine", O_RDONLY));
	tell(chmod("mine", 0600));
	tell(chown("mine", -1, 1));
	tell(chown("mine", OTHER_UID, OTHER_UID));
	tell(utimensat(AT_FDCWD, "mine", t, 0));
	tell(unlink("mine"));
	if (seteuid(0) || setegid(0))
		exit(1);
}

/* What queues may take of RLIMIT_MSGQUEUE is the maker's, by his real uid: one
 * that nobody else on the machine has queues of. */
static void limits(void)
{
	struct rlimit two = {2 * 82880 + 1, 2 * 82880 + 1};
	char name[] = "r0";
	uid_t uid;

	fflush(stdout);
	if (fork()) {
		wait(NULL);
		return;
	}
	tell(setrlimit(RLIMIT_MSGQUEUE, &two));
	if (getrandom(&uid, sizeof(uid), 0) != sizeof(uid))
		exit(1);
	tell(setuid(1u << 30 | uid >> 2));
	for (; name[1] < '4'; name[1]++)
		tell_closed(open(name, O_CREAT | O_RDWR, 0600));
	for (name[1] = '0'; name[1] < '4'; name[1]++)
		tell(unlink(name));
	exit(fflush(stdout));
}

static int wait_for(const char *path)
{
	struct pollfd p = {.fd = open(path, O_RDONLY), .events = POLLIN};
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
	int ep = epoll_create1(0);

	printf("before %d\n", poll(&p, 1, 0));
	printf("entered %d\n", epoll_ctl(ep, EPOLL_CTL_ADD, p.fd, &ev));
	printf("events %d", epoll_wait(ep, &ev, 1, 0));
	printf(" %x\n", ev.events);
	printf("wait %d", poll(&p, 1, 20000));
	printf(" %x\n", p.revents);
	printf("events %d", epoll_wait(ep, &ev, 1, 20000));
	printf(" %x\n", ev.events);
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "wait"))
		return wait_for(argv[2]);
	if (argc != 2 || chdir(argv[1]))
		return 2;
	umask(027);
	/* Nobody else's queues count. */
	if (setresuid(64998, 0, 0))
		return 1;
	show(".");
	read_and_seek();
	sizes();
	on_descriptor();
	times();
	ways_to_open();
	ways_to_make();
	names();
	modes();
	directory();
	unlinked_but_open();
	other_user();
	limits();
	tell(unlink("a"));
	tell(unlink("c"));
	tell(unlink("m"));
	tell(unlink("z"));
	show(".");
	return 0;
}
