// SPDX-License-Identifier: MIT
/*
 * The control files below a directory that is laid out as /proc/sys: reads of
 * all sizes and offsets, writes of what is taken and what is not, rights of a
 * other user. Prints what happened; it must be the same of the kernel's files
 * and of the mount's (sysctl.sh).
 *
 *	sysctl_files DIR
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const files[] = {"kernel/sem", "kernel/msgmax",
	"kernel/msgmnb", "kernel/msgmni", "kernel/auto_msgmni", "kernel/shmmax",
	"kernel/shmall", "kernel/shmmni", "kernel/shm_rmid_forced",
	"kernel/sem_next_id", "kernel/msg_next_id", "kernel/shm_next_id",
	"fs/mqueue/queues_max", "fs/mqueue/msg_max", "fs/mqueue/msgsize_max",
	"fs/mqueue/msg_default", "fs/mqueue/msgsize_default"};
#define N_FILES (sizeof(files) / sizeof(files[0]))

static const char *const writes[] = {"1", "12\n", " \t33 \n\n", "12 13\n",
	"0x80", "010", "-1", "-5\n", "+5", "12abc", "1,2", "0x", "", " ", "\n",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "32768",
	"32769", "65536", "65537", "16777216", "16777217", "128", "127", "0",
	"18446744073709551615", "18446744073709551616", "10 20", "9 x 7",
	"250 32000 32 128", "1 2 3 4 5", "1 2 3 40000", "1 2 3 -1", "7\n8\n"};

static const char *error_name(int e)
{
	switch (e) {
	case EACCES:
		return "EACCES";
	case EPERM:
		return "EPERM";
	case EINVAL:
		return "EINVAL";
	case ERANGE:
		return "ERANGE";
	case EIO:
		return "EIO";
	default:
		return strerror(e);
	}
}

static void say(long n)
{
	if (n < 0)
		printf(" %s", error_name(errno));
	else
		printf(" %ld", n);
}

/* The text with its blanks visible. */
static void print_text(const char *s, long n)
{
	long i;

	putchar('"');
	for (i = 0; i < n; i++)
		if (s[i] == '\t' || s[i] == '\n')
			printf("\\%c", s[i] == '\t' ? 't' : 'n');
		else
			putchar(s[i]);
	putchar('"');
}

static void print_value(const char *path)
{
	char buf[256];
	int fd = open(path, O_RDONLY);
	long n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

	putchar(' ');
	if (n < 0)
		say(n);
	else
		print_text(buf, n);
	close(fd);
}

static void try_reads(const char *path)
{
	static const long sizes[] = {0, 1, 2, 5, 100};
	char buf[256];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fd = open(path, O_RDONLY);
		long n;

		printf("  read %ld:", sizes[i]);
		n = read(fd, buf, (size_t)sizes[i]);
		say(n);
		printf(" then");
		say(read(fd, buf, sizeof(buf)));
		printf(" at 1");
		say(pread(fd, buf, sizeof(buf), 1));
		printf(" at 0");
		say(pread(fd, buf, sizeof(buf), 0));
		printf(" back");
		lseek(fd, 0, SEEK_SET);
		say(read(fd, buf, 2));
		printf("\n");
		close(fd);
	}
}

static void try_writes(const char *path)
{
	size_t i;

	for (i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		int fd = open(path, O_WRONLY);

		printf("  write ");
		print_text(writes[i], (long)strlen(writes[i]));
		if (fd < 0) {
			say(-1);
			printf(" at open\n");
			continue;
		}
		printf(":");
		say(write(fd, writes[i], strlen(writes[i])));
		/* Not at the beginning any more, unless nothing was taken. */
		printf(" again");
		say(write(fd, "77", 2));
		printf(" at 3");
		say(pwrite(fd, "88", 2, 3));
		close(fd);
		print_value(path);
		printf("\n");
	}
}

static void try_flags(const char *path)
{
	static const struct {
		const char *name;
		int flags;
	} how[] = {{"trunc", O_WRONLY | O_TRUNC},
		{"append", O_WRONLY | O_APPEND}, {"rdwr", O_RDWR},
		{"creat", O_WRONLY | O_CREAT}};
	char buf[64];
	size_t i;

	for (i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		int fd = open(path, how[i].flags, 0600);

		printf("  %s:", how[i].name);
		say(fd < 0 ? -1 : 0);
		if (fd >= 0) {
			say(write(fd, "130", 3));
			say(pread(fd, buf, sizeof(buf), 0));
			close(fd);
		}
		print_value(path);
		printf("\n");
	}
	printf("  truncate:");
	say(truncate(path, 0));
	print_value(path);
	printf("\n  chmod, unlink:");
	say(chmod(path, 0600));
	say(unlink(path));
	printf("\n");
}

/* Each opening begins at the start, also for appending right after another write. */
static void try_appending(const char *path)
{
	int i, fd;

	printf("  append again:");
	for (i = 0; i < 3; i++) {
		fd = open(path, O_WRONLY | (i ? O_APPEND : 0));
		say(write(fd, &"1\n2\n3\n"[2 * i], 2));
		say(write(fd, "4\n", 2));
		close(fd);
	}
	print_value(path);
	printf("\n");
}

static void print_stat(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		exit(1);
	printf("  mode %o uid %u gid %u size %ld nlink %lu\n", st.st_mode,
		st.st_uid, st.st_gid, (long)st.st_size,
		(unsigned long)st.st_nlink);
	printf("  access r%d w%d x%d\n", access(path, R_OK), access(path, W_OK),
		access(path, X_OK));
}

/* As an ordinary user, and as root's group. */
static void try_others(const char *path, gid_t gid)
{
	const struct timespec t[2] = {{100, 0}, {200, 0}};
	int status;

	fflush(stdout);
	if (!fork()) {
		int fd, err = setgid(gid) || setuid(65534);

		printf("  as 65534:%u:", gid);
		fd = open(path, O_RDONLY);
		say(err || fd < 0 ? -1 : 0);
		fd = open(path, O_WRONLY);
		say(fd < 0 ? -1 : 0);
		say(access(path, W_OK));
		say(truncate(path, 0));
		printf(" times");
		say(utimensat(AT_FDCWD, path, t, 0));
		say(utimensat(AT_FDCWD, path, NULL, 0));
		if (fd >= 0)
			say(write(fd, "1", 1));
		printf("\n");
		exit(fflush(stdout));
	}
	wait(&status);
}

/* What nobody may change. */
static void try_directory(const char *path)
{
	char inside[64];
	int fd = open(path, O_RDONLY);

	snprintf(inside, sizeof(inside), "%s/x", path);
	printf("%s: mkdir, mknod, symlink, open, rename:", path);
	say(mkdir(inside, 0700));
	say(mknod(inside, S_IFREG | 0600, 0));
	say(symlink("x", inside));
	say(open(inside, O_WRONLY | O_CREAT, 0600));
	say(rename(path, "x"));
	printf(" rmdir:");
	say(rmdir(path));
	printf(" may write:");
	say(access(path, W_OK));
	printf(" fsync:");
	say(fsync(fd));
	printf(" chmod, chown:");
	say(chmod(path, 0700));
	say(chown(path, 1, 1));
	printf("\n");
	close(fd);
	try_others(path, 65534);
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc != 2 || chdir(argv[1]))
		return 1;
	for (i = 0; i < N_FILES; i++) {
		printf("%s", files[i]);
		print_value(files[i]);
		printf("\n");
		print_stat(files[i]);
		try_others(files[i], 65534);
		try_reads(files[i]);
		try_writes(files[i]);
		try_flags(files[i]);
		try_appending(files[i]);
	}
	try_directory("kernel");
	try_directory("fs/mqueue");
	try_directory("fs");
	return 0;
}
