// SPDX-License-Identifier: MIT
/*
 * procfs_read: the kernel's files about IPC as a program reads them: texts,
 * offsets, flags of open, what fstat and fcntl say, and that their neighbours
 * in /proc are left alone.
 */
#include "procfs.h"

static void controls(void)
{
	t_story("control files");
	for (size_t i = 0; i < N_CONTROLS; i++)
		p_say_file(p_controls[i]);
}

static void control_offsets(void)
{
	int fd = open(SYS "sem", O_RDONLY), other;
	char buf[64];

	t_story("a control file is read at offset 0 only");
	t_eq(read(fd, buf, 1), 1);
	t_true(buf[0] == '3');
	t_eq(read(fd, buf, 1), 0);
	t_eq(lseek(fd, 0, SEEK_CUR), 1);
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_eq(read(fd, buf, 64), 27);
	t_true(!memcmp(buf, "32000\t1024000000\t500\t32000\n", 27));
	t_eq(read(fd, buf, 64), 0);
	t_eq(pread(fd, buf, 5, 0), 5);
	t_eq(pread(fd, buf, 5, 3), 0);
	t_err(pread(fd, buf, 5, -1), EINVAL);
	t_eq(lseek(fd, 0, SEEK_CUR), 27);
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_eq(read(fd, buf, 0), 0);
	t_err(read(fd, t_kernel_half(), 5), EFAULT);
	t_err(write(fd, "5", 1), EBADF);
	other = dup(fd);
	t_eq(read(other, buf, 3), 3);
	t_eq(read(fd, buf, 3), 0);
	t_eq(close(fd), 0);
	t_eq(lseek(other, 0, SEEK_SET), 0);
	t_eq(read(other, buf, 64), 27);
	t_eq(close(other), 0);
	t_err(read(other, buf, 64), EBADF);
}

static void live(void)
{
	int fd = open(SYS "sem_next_id", O_RDWR), reader, id;

	t_story("a read tells of now, not of the time of open");
	reader = open(SYS "sem_next_id", O_RDONLY);
	t_eq(write(fd, "500\n", 4), 4);
	p_say("next id", p_text(reader, 64));
	id = semget(IPC_PRIVATE, 1, 0600);
	t_true(id == 500);
	t_eq(lseek(reader, 0, SEEK_SET), 0);
	p_say("next id", p_text(reader, 64));
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	p_say("next id", p_text(fd, 64));
	close(fd);
	close(reader);
	t_rm(id);
}

static void next_ids(void)
{
	static const char *const requests[] = {"32767", "98804", "500", "500"};

	t_story("rows come in the order of idx");
	for (int i = 0; i < 4; i++) {
		int fd = open(SYS "sem_next_id", O_WRONLY);

		t_true(write(fd, requests[i], strlen(requests[i])) > 0);
		close(fd);
		t_true(semget(0x100 + i, 3, IPC_CREAT | 0640) >= 0);
	}
	p_column(IPC "sem", 1);
	p_column(IPC "sem", 0);
	p_column(IPC "sem", 2);
	p_column(IPC "sem", 3);
	for (int i = 0; i < 4; i++)
		t_rm(semget(0x100 + i, 0, 0));
	p_say_file(IPC "sem");
}

static void objects(void)
{
	int q = msgget((key_t)0xdeadbeef, IPC_CREAT | 0622);
	int m = shmget(7, 5000, IPC_CREAT | 0600);
	struct {
		long type;
		char text[16];
	} msg = {1, "fourteen bytes"};
	char *p;

	t_story("queues and segments");
	p_say("head", strtok(p_file(IPC "msg"), "\n"));
	p_say("head", strtok(p_file(IPC "shm"), "\n"));
	t_eq(msgsnd(q, &msg, 14, 0), 0);
	for (int i = 0; i < 5; i++)
		p_column(IPC "msg", i);
	for (int i = 7; i < 11; i++)
		p_column(IPC "msg", i);
	p_column(IPC "msg", 12);
	p = shmat(m, NULL, 0);
	for (int i = 0; i < 4; i++)
		p_column(IPC "shm", i);
	p_column(IPC "shm", 6);
	p_column(IPC "shm", 14);
	p[0] = p[4096] = 1;
	p_column(IPC "shm", 14);
	t_eq(shmctl(m, IPC_RMID, NULL), 0);
	for (int i = 0; i < 4; i++)
		p_column(IPC "shm", i);
	t_eq(shmdt(p), 0);
	t_eq(msgctl(q, IPC_RMID, NULL), 0);
	p_column(IPC "shm", 0);
	p_column(IPC "msg", 0);
}

static void sysvipc_offsets(void)
{
	int a = semget(IPC_PRIVATE, 1, 0600), b;
	int fd = open(IPC "sem", O_RDONLY);
	char whole[512], buf[64];
	struct iovec iov[2] = {{buf, 10}, {buf + 10, 10}};

	t_story("a sysvipc file can be read in any pieces");
	strcpy(whole, p_text(fd, 4096));
	t_true(strlen(whole) == 170);
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_true(!strcmp(whole, p_text(fd, 7)));
	t_eq(lseek(fd, 80, SEEK_SET), 80);
	t_true(!strcmp(whole + 80, p_text(fd, 64)));
	t_eq(pread(fd, buf, 10, 5), 10);
	t_true(!memcmp(buf, whole + 5, 10));
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_eq(readv(fd, iov, 2), 20);
	t_true(!memcmp(buf, whole, 20));
	t_eq(lseek(fd, 100000, SEEK_SET), 100000);
	t_eq(read(fd, buf, 10), 0);
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_err(read(fd, t_kernel_half(), 10), EFAULT);
	b = semget(IPC_PRIVATE, 1, 0600);
	t_true(strlen(p_text(fd, 4096)) == 255);
	t_eq(close(fd), 0);
	t_rm(a);
	t_rm(b);
}

static void many(void)
{
	int ids[300];
	int fd;

	t_story("300 sets");
	for (int i = 0; i < 300; i++)
		ids[i] = semget(IPC_PRIVATE, 1, 0600);
	fd = open(IPC "sem", O_RDONLY);
	t_true(strlen(p_text(fd, 4096)) == 301 * 85);
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_true(strlen(p_text(fd, 1000)) == 301 * 85);
	close(fd);
	for (int i = 0; i < 300; i++)
		t_rm(ids[i]);
}

static void flags(void)
{
	static const char *const paths[] = {IPC "sem", SYS "msgmni"};
	struct stat st;
	int fd;

	for (int i = 0; i < 2; i++) {
		const char *path = paths[i];

		t_story(path);
		t_err(open(path, O_RDONLY | O_CREAT | O_EXCL, 0600), EEXIST);
		t_err(open(path, O_RDONLY | O_DIRECTORY), ENOTDIR);
		t_err(open(path, O_RDONLY | O_DIRECT), EINVAL);
		fd = open(path, O_RDONLY | O_CREAT | O_NOFOLLOW, 0600);
		t_true(fd >= 0);
		t_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		t_eq(fcntl(fd, F_GETFD), 0);
		t_eq(fstat(fd, &st), 0);
		t_true(S_ISREG(st.st_mode) && st.st_size == 0);
		t_eq(st.st_mode & 07777, i ? 0644 : 0444);
		t_eq(close(fd), 0);
		fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		t_eq(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK),
			O_RDWR | O_NONBLOCK);
		t_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
		t_eq(close(fd), 0);
		fd = open(path, O_WRONLY | O_TRUNC);
		t_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_WRONLY);
		t_err(read(fd, &st, 1), EBADF);
		t_eq(close(fd), 0);
		fd = open(path, O_ACCMODE);
		t_err(read(fd, &st, 1), EBADF);
		t_err(write(fd, &st, 1), EBADF);
		t_eq(close(fd), 0);
	}
	fd = open(IPC "sem", O_RDWR);
	t_err(write(fd, "1", 1), EIO);
	t_eq(close(fd), 0);
}

/* The number that a descriptor gets, and what is behind it afterwards. */
static void numbers(void)
{
	int low = dup(0), fd;

	t_story("the lowest number");
	close(low);
	fd = open(IPC "msg", O_RDONLY);
	t_true(fd == low);
	t_eq(close(fd), 0);
	fd = open("/dev/null", O_RDWR);
	t_true(fd == low);
	t_eq(write(fd, "x", 1), 1);
	t_eq(read(fd, &low, 1), 0);
	t_eq(close(fd), 0);
}

static int by_name(const char *name)
{
	if (!strcmp(name, "openat"))
		return openat(AT_FDCWD, SYS "msgmni", O_RDONLY);
	if (!strcmp(name, "openat absolute"))
		return openat(-1, SYS "msgmni", O_RDONLY);
	if (!strcmp(name, "open64"))
		return open64(SYS "msgmni", O_RDONLY);
	if (!strcmp(name, "openat64"))
		return openat64(AT_FDCWD, SYS "msgmni", O_RDONLY);
	if (!strcmp(name, "SYS_open"))
		return (int)syscall(SYS_open, SYS "msgmni", O_RDONLY);
	return (int)syscall(SYS_openat, -1, SYS "msgmni", O_RDONLY);
}

static void names(void)
{
	static const char *const all[] = {"openat", "openat absolute", "open64",
		"openat64", "SYS_open", "SYS_openat"};
	int fd, change;

	change = open(SYS "msgmni", O_WRONLY);
	t_eq(write(change, "123", 3), 3);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		t_story(all[i]);
		fd = by_name(all[i]);
		p_say("msgmni", p_text(fd, 64));
		close(fd);
	}
	fd = creat(SYS "msgmni", 0600);
	t_eq(write(fd, "124", 3), 3);
	close(fd);
	t_eq(syscall(SYS_write, change, "7", 1L), 1);
	p_say_file(SYS "msgmni");
	close(change);
}

static void permissions(void)
{
	t_story("access");
	t_eq(access(SYS "sem", F_OK), 0);
	t_eq(access(SYS "sem", R_OK | W_OK), 0);
	t_err(access(SYS "sem", X_OK), EACCES);
	t_err(access(SYS "sem", 64), EINVAL);
	t_eq(access(IPC "sem", R_OK), 0);
	t_eq(faccessat(AT_FDCWD, SYS "sem_next_id", W_OK, 0), 0);
	t_err(access(SYS "semx", F_OK), ENOENT);
	t_err(access((char *)8, F_OK), EFAULT);
	t_true(semget(IPC_PRIVATE, 0, 0600) == -1);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_eq(access(SYS "sem", R_OK), 0);
		t_err(access(SYS "sem", W_OK), EACCES);
		t_err(access(SYS "sem_next_id", W_OK), EACCES);
		t_err(open(SYS "sem", O_WRONLY), EACCES);
		t_err(open(SYS "sem", O_RDWR), EACCES);
		t_err(open(SYS "sem_next_id", O_WRONLY), EACCES);
		t_err(open(IPC "sem", O_RDWR), EACCES);
		p_say_file(SYS "sem_next_id");
		t_true(strlen(p_file(IPC "sem")) == 85);
	}
}

static void other_users(void)
{
	char *cliff = t_cliff();
	int fd;

	t_story("all else is the kernel's");
	t_err(open(t_kernel_half(), O_RDONLY), EFAULT);
	t_err(open((char *)8, O_RDONLY), EFAULT);
	t_err(open(cliff, O_RDONLY), EFAULT);
	memcpy(cliff - 9, "/proc/sys", 9);
	t_err(open(cliff - 9, O_RDONLY), EFAULT);
	t_err(open(cliff - 4, O_RDONLY | O_CREAT, 0600), EFAULT);
	t_err(open("", O_RDONLY), ENOENT);
	t_err(open("/proc/sysvipc/semx", O_RDONLY), ENOENT);
	t_err(open("/proc/sysvipc/", O_WRONLY), EISDIR);
	t_err(open("/proc/sys/kernel/sem/", O_RDONLY), ENOTDIR);
	fd = open("/proc/sysvipc", O_RDONLY | O_DIRECTORY);
	t_true(fd >= 0);
	t_eq(close(fd), 0);
	p_say_file("/proc/sys/kernel/ostype");
	fd = open("/proc/self/comm", O_RDWR);
	t_eq(write(fd, "renamed", 7), 7);
	t_eq(close(fd), 0);
	p_say_file("/proc/self/comm");
}

int main(void)
{
	t_begin();
	controls();
	control_offsets();
	live();
	next_ids();
	objects();
	sysvipc_offsets();
	many();
	flags();
	numbers();
	names();
	permissions();
	other_users();
	return t_end();
}
