// SPDX-License-Identifier: MIT
/*
 * mq_calls: every other call on descriptors that a program, or a language's
 * library, makes on a queue's (doc/kernel-semantics.md §7.10). Prints the
 * result of each; the kernel's are the expected ones.
 */
#include "mq.h"
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

/* linux/fs.h, which not every libc brings */
#ifndef FIGETBSZ
#define FIGETBSZ 2
#endif

static mqd_t q, reader, writer, blank;
static char room[256];
/* Not for the compiler to see through. */
static void *volatile nowhere = (void *)8;
static volatile int minus = -1, many = 1025, none;

static const char *name_of(int err)
{
	static char text[16];

	switch (err) {
	case ENODEV:
		return "ENODEV";
	case ENOTTY:
		return "ENOTTY";
	case EOPNOTSUPP:
		return "EOPNOTSUPP";
	case ENOTDIR:
		return "ENOTDIR";
	case ENXIO:
		return "ENXIO";
	case EXDEV:
		return "EXDEV";
	case ENODATA:
		return "ENODATA";
	case EROFS:
		return "EROFS";
	case EDEADLK:
		return "EDEADLK";
	default:
		if (strcmp(t_errname(err), "other errno"))
			return t_errname(err);
		snprintf(text, sizeof(text), "errno %d", err);
		return text;
	}
}

static void show(const char *what, long ret, int err)
{
	if (ret < 0)
		t_say("     %s: %s", what, name_of(err));
	else
		t_say("     %s: %ld", what, ret);
}

#define SHOW(expr)                         \
	do {                               \
		long t_ret;                \
		errno = 0;                 \
		t_ret = (long)(expr);      \
		show(#expr, t_ret, errno); \
	} while (0)

static void reading(void)
{
	struct iovec two[2] = {{room, 10}, {room + 10, 100}};
	struct iovec bad[2] = {{room, 10}, {nowhere, 100}};

	t_story("reading");
	SHOW(lseek(q, 0, SEEK_SET));
	SHOW(read(q, room, 0));
	SHOW(read(q, room, 20));
	SHOW(read(q, nowhere, 20));
	SHOW(lseek(q, 0, SEEK_CUR));
	SHOW(readv(q, bad, 2));
	SHOW(lseek(q, 0, SEEK_CUR));
	SHOW(lseek(q, 25, SEEK_SET));
	SHOW(readv(q, two, 2));
	SHOW(readv(writer, two, 2));
	SHOW(readv(q, two, many));
	SHOW(pread(q, nowhere, 20, 0));
	SHOW(pread(q, room, 0, 0));
	SHOW(syscall(SYS_pread64, q, room, 10, 55));
	SHOW(syscall(SYS_readv, q, two, 2));
	SHOW(syscall(SYS_lseek, q, 3, SEEK_SET));
	SHOW(syscall(SYS_read, q, room, 10));
	SHOW(syscall(SYS_lseek, q, 0, SEEK_CUR));
}

static void writing(void)
{
	struct iovec one = {room, 10};

	t_story("writing");
	SHOW(write(q, room, 0));
	SHOW(write(q, room, 10));
	SHOW(write(reader, room, 10));
	SHOW(writev(q, &one, 1));
	SHOW(writev(reader, &one, 1));
	SHOW(pwrite(q, room, 10, 0));
	SHOW(pwrite(q, room, 10, -1));
	SHOW(pwrite(reader, room, 10, 0));
	SHOW(syscall(SYS_write, q, room, 10));
	SHOW(syscall(SYS_pwrite64, q, room, 10, 0));
	SHOW(syscall(SYS_writev, q, &one, 1));
	SHOW(q_count(q));
}

static void seeking(void)
{
	t_story("seeking");
	SHOW(lseek(q, 0, SEEK_END));
	SHOW(lseek(q, -10, SEEK_END));
	SHOW(lseek(q, 10, SEEK_END));
	SHOW(lseek(q, 0, SEEK_CUR));
	SHOW(lseek(q, -81, SEEK_END));
	SHOW(lseek(q, 1l << 20, SEEK_SET));
	SHOW(lseek(q, 0, SEEK_CUR));
	SHOW(lseek(q, 0, SEEK_DATA));
	SHOW(lseek(q, 0, SEEK_HOLE));
	SHOW(lseek(q, 80, SEEK_HOLE));
	SHOW(lseek(q, 0, SEEK_SET));
}

static void sizes(void)
{
	struct stat st;

	t_story("sizes");
	SHOW(ftruncate(q, 40));
	SHOW(fstat(q, &st));
	SHOW(st.st_size);
	SHOW(lseek(q, 0, SEEK_END));
	SHOW(lseek(q, 0, SEEK_SET));
	SHOW(pread(q, room, 100, 0));
	SHOW(ftruncate(q, 1000));
	SHOW(fstat(reader, &st));
	SHOW(st.st_size);
	SHOW(lseek(reader, 0, SEEK_END));
	SHOW(lseek(q, 500, SEEK_DATA));
	SHOW(ftruncate(q, 1l << 62));
	SHOW(ftruncate(reader, 1));
	SHOW(ftruncate(q, -1));
	SHOW(syscall(SYS_ftruncate, q, 50));
	SHOW(fstat(reader, &st));
	SHOW(st.st_size);
	SHOW(ftruncate(q, 80));
	SHOW(fstat(q, &st));
	SHOW(st.st_size);
	SHOW(fsync(q));
	SHOW(fdatasync(q));
	SHOW(syscall(SYS_fsync, q));
	SHOW(syncfs(q));
	SHOW(ftruncate(q, 80));
}

static void moving(void)
{
	int file = open("/dev/null", O_RDWR);
	int mem = (int)syscall(SYS_memfd_create, "m", 0);
	off_t at = 0;

	t_story("moving bytes without looking at them");
	SHOW(lseek(q, 0, SEEK_SET));
	SHOW(sendfile(mem, q, NULL, 20));
	SHOW(lseek(q, 0, SEEK_CUR));
	SHOW(sendfile(mem, q, &at, 20));
	SHOW(at);
	SHOW(sendfile(mem, q, nowhere, 20));
	SHOW(sendfile(q, mem, nowhere, 0));
	SHOW(syscall(SYS_sendfile, minus, q, nowhere, 20L));
	SHOW(sendfile(q, mem, NULL, 20));
	SHOW(sendfile(mem, writer, NULL, 20));
	SHOW(lseek(q, 0, SEEK_SET));
	SHOW(lseek(q, 0, SEEK_CUR));
	SHOW(lseek(q, 0, SEEK_SET));
	SHOW(syscall(SYS_copy_file_range, q, NULL, mem, NULL, 20, 0));
	SHOW(syscall(SYS_copy_file_range, mem, NULL, q, NULL, 20, 0));
	SHOW(syscall(SYS_copy_file_range, q, NULL, reader, NULL, 20, 0));
	SHOW(syscall(SYS_copy_file_range, q, nowhere, mem, NULL, 20, 0));
	SHOW(syscall(SYS_copy_file_range, reader, NULL, q, nowhere, 20, 9));
	SHOW(q_count(q));
	close(file);
	close(mem);
}

static void controls(void)
{
	int n = -7;

	t_story("ioctl");
	SHOW(lseek(q, 0, SEEK_SET));
	SHOW(ioctl(q, FIONREAD, &n));
	SHOW(n);
	SHOW(lseek(q, 10, SEEK_SET));
	SHOW(ioctl(q, FIONREAD, &n));
	SHOW(n);
	SHOW(lseek(q, 100, SEEK_SET));
	SHOW(ioctl(q, FIONREAD, &n));
	SHOW(n);
	SHOW(ioctl(q, FIONREAD, nowhere));
	SHOW(lseek(q, 0, SEEK_SET));
	n = 1;
	SHOW(ioctl(q, FIONBIO, &n));
	SHOW(fcntl(q, F_GETFL));
	n = 0;
	SHOW(ioctl(q, FIONBIO, &n));
	SHOW(fcntl(q, F_GETFL));
	SHOW(ioctl(q, FIONBIO, nowhere));
	n = 1;
	n = 0;
	SHOW(ioctl(q, FIONCLEX));
	SHOW(fcntl(q, F_GETFD));
	SHOW(ioctl(q, FIOCLEX));
	SHOW(fcntl(q, F_GETFD));
	SHOW(ioctl(q, TCGETS, room));
	SHOW(isatty(q));
	SHOW(ioctl(q, TIOCGWINSZ, room));
	SHOW(ioctl(q, FIGETBSZ, &n));
	SHOW(n);
	SHOW(ioctl(q, 0x40086601, room));
	SHOW(ioctl(q, 0x12345, room));
	SHOW(syscall(SYS_ioctl, q, FIONREAD, &n));
	SHOW(n);
}

/* Not every libc has the structure: the mode is 28 bytes in, the size 40. */
static void by_statx(void)
{
	unsigned short mode;
	long size;

	memset(room, 0, sizeof(room));
	SHOW(syscall(SYS_statx, q, "", AT_EMPTY_PATH, 0x7ff, room));
	memcpy(&mode, room + 28, sizeof(mode));
	memcpy(&size, room + 40, sizeof(size));
	t_say("     mode %o size %ld", mode, size);
	SHOW(syscall(SYS_statx, q, "", 0, 0x7ff, room));
	SHOW(syscall(SYS_statx, q, "", AT_EMPTY_PATH, 0x7ff, nowhere));
}

static void owners(void)
{
	struct stat st;

	t_story("owner, mode, times");
	SHOW(fchown(q, 5, 6));
	SHOW(fstatat(q, "", &st, AT_EMPTY_PATH));
	t_say("     uid %d gid %d", (int)st.st_uid, (int)st.st_gid);
	SHOW(syscall(SYS_fchown, q, 0, 0));
	SHOW(syscall(SYS_fchmod, q, 0640));
	SHOW(syscall(SYS_fstat, q, &st));
	t_say("     uid %d gid %d mode %o size %d nlink %d", (int)st.st_uid,
		(int)st.st_gid, st.st_mode, (int)st.st_size, (int)st.st_nlink);
	SHOW(syscall(SYS_newfstatat, q, "", &st, AT_EMPTY_PATH));
	t_say("     mode %o", st.st_mode);
	by_statx();
	SHOW(fchmod(q, 0604));
	SHOW(fstat(reader, &st));
	t_say("     mode %o", st.st_mode);
	SHOW(syscall(SYS_fchown, q, 5, 6));
	SHOW(syscall(SYS_fstat, q, &st));
	t_say("     uid %d gid %d", (int)st.st_uid, (int)st.st_gid);
	SHOW(fchown(q, 0, 0));
	SHOW(linkat(q, "", AT_FDCWD, "/dev/mq-link", AT_EMPTY_PATH));
	SHOW(fchdir(q));
	SHOW(fexecve(reader, (char *[]){"x", NULL}, (char *[]){NULL}));
}

static void flags(void)
{
	struct mq_attr attr = {.mq_flags = O_NONBLOCK};
	struct flock lock = {.l_type = F_WRLCK};
	int copy;

	t_story("flags and locks");
	SHOW(fcntl(q, F_GETFL));
	SHOW(fcntl(reader, F_GETFL));
	SHOW(fcntl(writer, F_GETFL));
	SHOW(fcntl(q, F_GETFD));
	SHOW(mq_setattr(q, &attr, NULL));
	SHOW(fcntl(q, F_GETFL));
	SHOW(fcntl(q, F_SETFL, 0));
	SHOW(mq_getattr(q, &attr));
	SHOW(attr.mq_flags);
	SHOW(fcntl(q, F_SETFL, O_NONBLOCK | O_APPEND));
	SHOW(fcntl(q, F_GETFL));
	SHOW(mq_getattr(q, &attr));
	SHOW(attr.mq_flags);
	SHOW(fcntl(q, F_SETFL, O_RDONLY));
	SHOW(fcntl(q, F_GETFL));
	SHOW(syscall(SYS_fcntl, q, F_GETFL));
	SHOW(fcntl(q, F_SETFL, O_NOATIME));
	SHOW(fcntl(q, F_GETFL));
	SHOW(fcntl(q, F_SETFL, 0));
	SHOW(fcntl(q, F_GETOWN));
	SHOW(fcntl(q, F_GETLEASE));
	SHOW(fcntl(q, F_SETLEASE, F_RDLCK));
	SHOW(fcntl(q, F_NOTIFY, 0));
	SHOW(fcntl(q, F_GETLK, &lock));
	SHOW(lock.l_type == F_UNLCK);
	SHOW(fcntl(q, F_SETLK, &lock));
	lock.l_type = F_RDLCK;
	SHOW(fcntl(writer, F_SETLK, &lock));
	lock.l_type = F_WRLCK;
	SHOW(fcntl(reader, F_SETLK, &lock));
	lock.l_type = F_UNLCK;
	SHOW(fcntl(q, F_SETLK, &lock));
	SHOW(lockf(q, F_TEST, 0));
	SHOW(flock(q, LOCK_EX | LOCK_NB));
	SHOW(flock(reader, LOCK_EX | LOCK_NB));
	SHOW(flock(q, LOCK_UN));
	SHOW(fcntl(q, F_GET_SEALS));
	SHOW(fcntl(q, F_ADD_SEALS, 1));
	SHOW(fcntl(q, F_GETSIG));
	SHOW(fcntl(q, F_SETSIG, 65));
	SHOW(fcntl(q, F_SETSIG, -1));
	SHOW(fcntl(q, F_SETSIG, SIGUSR2));
	copy = dup(q);
	SHOW(fcntl(q, F_GETSIG));
	SHOW(fcntl(copy, F_GETSIG));
	SHOW(close(copy));
	SHOW(fcntl(reader, F_GETSIG));
	SHOW(fcntl(q, F_SETSIG, 0));
	SHOW(fcntl(q, F_GETSIG));
	SHOW(fcntl(q, F_GETPIPE_SZ));
	SHOW(fcntl(q, 9999));
	SHOW(syscall(SYS_fcntl, q, F_SETFL, O_NONBLOCK));
	SHOW(mq_getattr(q, &attr));
	SHOW(attr.mq_flags);
	SHOW(fcntl(q, F_SETFL, 0));
}

static void numbers(void)
{
	char path[64];
	ssize_t n;
	int fd;

	t_story("numbers");
	SHOW(dup3(q, q, 0));
	SHOW(syscall(SYS_dup3, q, 40, 077));
	SHOW(dup3(q, 40, 0));
	SHOW(fcntl(40, F_GETFD));
	SHOW(q_count(40));
	SHOW(syscall(SYS_close_range, 40, 40, 4));
	SHOW(fcntl(40, F_GETFD));
	SHOW(q_count(40));
	SHOW(syscall(SYS_close_range, 40, 41, 0));
	SHOW(q_count(40));
	SHOW(syscall(SYS_close_range, 41, 40, 0));
	t_story("its name in /proc");
	sprintf(path, "/proc/self/fd/%d", q);
	n = readlink(path, room, sizeof(room) - 1);
	room[n > 0 ? n : 0] = 0;
	t_say("     readlink '%s'", room);
	t_say("     readlinkat '%.*s'",
		(int)readlinkat(AT_FDCWD, path, room, 2), room);
	SHOW(readlink(path, room, none));
	SHOW(readlinkat(AT_FDCWD, path, room, none));
	SHOW(readlink("/proc/self/exe", room, none));
	SHOW(readlink(nowhere, room, 10));
	SHOW(syscall(SYS_readlink, path, room, 0));
	t_story("what is behind the name in the buffer stays");
	memset(room, '#', 90);
	n = readlink(path, room, 90);
	t_say("     readlink '%.90s'", room);
	memset(room, '#', 90);
	n = readlinkat(AT_FDCWD, path, room, 90);
	t_say("     readlinkat '%.90s'", room);
	memset(room, '#', 90);
	n = syscall(SYS_readlinkat, AT_FDCWD, path, room, 90);
	t_say("     by number '%.90s'", room);
	SHOW(readlink(nowhere, room, 90));
	SHOW(readlink(path, nowhere, 90));
	SHOW(syscall(SYS_readlink, path, nowhere, 90));
	SHOW(syscall(SYS_readlink, path, room, -1));
	fd = open(path, O_RDONLY);
	SHOW(fd >= 0);
	SHOW(fcntl(fd, F_GETFL));
	SHOW(fcntl(fd, F_GETFD));
	SHOW(q_count(fd));
	SHOW(read(fd, room, 100));
	SHOW(q_put(fd, "x", 0));
	SHOW(close(fd));
	fd = openat(AT_FDCWD, path, O_RDWR | O_NONBLOCK);
	SHOW(fd >= 0);
	SHOW(fcntl(fd, F_GETFL));
	SHOW(q_count(fd));
	SHOW(q_put(fd, "y", 9));
	q_say(q);
	SHOW(close(fd));
	fd = open(path, O_PATH);
	SHOW(fd >= 0);
	SHOW(q_count(fd));
	SHOW(close(fd));
}

static void say_line(FILE *f)
{
	char *text = f ? fgets(room, sizeof(room), f) : NULL;

	t_say("     line '%.22s'", text ? text : "none");
}

static void streams(void)
{
	int fd = dup(q);
	char path[64];
	FILE *f;

	t_story("streams");
	f = fdopen(fd, "r+");
	say_line(f);
	rewind(f);
	q_put(q, "12", 0);
	say_line(f);
	SHOW(fileno(f) == fd);
	SHOW(fclose(f));
	SHOW(fcntl(fd, F_GETFD));
	f = fdopen(dup(q), "w");
	setvbuf(f, NULL, _IONBF, 0);
	SHOW(fputs("abc", f));
	SHOW(ferror(f) != 0);
	SHOW(fclose(f));
	f = fdopen(dup(reader), "w");
	t_say("     %s", f ? "made" : t_errname(errno));
	if (f) {
		SHOW(setvbuf(f, NULL, _IONBF, 0));
		SHOW(fputs("abc", f));
		SHOW(fclose(f));
	}
	sprintf(path, "/proc/self/fd/%d", q);
	f = fopen(path, "r");
	say_line(f);
	SHOW(q_count(fileno(f)));
	SHOW(fclose(f));
	SHOW(mq_receive(q, room, sizeof(room), NULL));
	t_story("the number of a stream's is free again");
	f = fdopen(dup(q), "r");
	SHOW(fclose(f));
	SHOW(dup(0) == fd);
	SHOW(q_count(fd));
	SHOW(close(fd));
}

static void blanks(void)
{
	struct iovec one = {room, 10};

	t_story("a descriptor that may neither send nor receive");
	SHOW(fcntl(blank, F_GETFL));
	SHOW(read(blank, room, 10));
	SHOW(write(blank, room, 10));
	SHOW(readv(blank, &one, 1));
	SHOW(q_put(blank, "x", 0));
	SHOW(q_count(blank));
	SHOW(lseek(blank, 0, SEEK_END));
	SHOW(ftruncate(blank, 80));
}

static void maps(void)
{
	t_story("mapping");
	SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, q, 0) == MAP_FAILED ? -1
									 : 0);
	SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, reader, 0) == MAP_FAILED
			? -1
			: 0);
	SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, writer, 0) == MAP_FAILED
			? -1
			: 0);
	SHOW(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, reader, 0) == MAP_FAILED
			? -1
			: 0);
	SHOW(mmap(NULL, 0, PROT_READ, MAP_SHARED, q, 0) == MAP_FAILED ? -1 : 0);
	SHOW(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, q, 0) == -1
			? -1
			: 0);
}

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 64};

	t_begin();
	q = mq_open(NAME, O_CREAT | O_RDWR, 0640, &attr);
	reader = mq_open(NAME, O_RDONLY);
	writer = mq_open(NAME, O_WRONLY);
	blank = mq_open("/blank", O_CREAT | 3, 0600, &attr);
	t_eq(mq_send(q, "abc", 3, 1), 0);
	reading();
	writing();
	seeking();
	sizes();
	moving();
	controls();
	owners();
	flags();
	numbers();
	streams();
	blanks();
	maps();
	mq_unlink("/blank");
	q_done(q);
	return t_end();
}
