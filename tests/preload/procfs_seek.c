// SPDX-License-Identifier: MIT
/*
 * procfs_seek: the kernel's files about IPC as what can be sought, read in
 * pieces, read on after more objects came, and written in pieces.
 *
 *	procfs_seek [DIR]	DIR has the layout of /proc: that of a mount, or
 *				/proc to compare it with (tests/fuse/seek.sh)
 *
 * What is not compared: how much of a sysvipc file one read gives (the kernel
 * no more than fits a page, we as much as is asked for), and whether it shows a
 * change behind the place where the reader is before he has come to the end (we
 * show one moment). Segments neither: their rows have pids of varying width.
 */
#include "procfs.h"

static const char *dir = "/proc";
/* FUSE does not tell where an appender is: he is not asked to go back. */
static int mounted;

static int open_in(const char *path, int flags)
{
	char whole[512];
	int fd;

	snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	fd = open(whole, flags, 0600);
	if (fd < 0)
		t_say("%s: %s", path, t_errname(errno));
	return fd;
}

static void say_result(const char *what, long arg, long n, int err)
{
	if (n < 0)
		t_say("%s %ld: %s", what, arg, t_errname(err));
	else
		t_say("%s %ld: %ld", what, arg, n);
}

/* A text without what differs from run to run: seconds of now. */
static void say_text(char *text, long n)
{
	long i, digits = 0;

	text[n] = 0;
	for (i = 0; i <= n; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			digits++;
			continue;
		}
		if (digits == 10 && text[i - 10] == '1')
			memset(text + i - 10, 'T', 10);
		digits = 0;
	}
	p_say("text", text);
}

/* read(2) on and on until there are n bytes, or no more. */
static void take(int fd, long n)
{
	static char text[65536];
	long got = 0, part = 1;

	while (got < n && part > 0) {
		errno = 0;
		part = read(fd, text + got, (size_t)(n - got));
		if (part > 0)
			got += part;
	}
	say_result("read", n, part < 0 ? part : got, errno);
	if (got > 0)
		say_text(text, got);
	t_say("at %ld", (long)lseek(fd, 0, SEEK_CUR));
}

static void seek(int fd, long off, int whence)
{
	long n;

	errno = 0;
	n = lseek(fd, off, whence);
	t_say("lseek %ld %d: %ld %s", off, whence, n,
		n < 0 ? t_errname(errno) : "");
}

static void take_at(int fd, long n, long off)
{
	char text[512];
	long got;

	errno = 0;
	got = pread(fd, text, (size_t)n, off);
	say_result("pread at", off, got, errno);
	if (got > 0)
		say_text(text, got);
}

static void put(int fd, const char *text)
{
	long n;

	errno = 0;
	n = write(fd, text, strlen(text));
	p_say("write", text);
	say_result("gives", (long)strlen(text), n, errno);
}

static void seeks(const char *path)
{
	static const int whences[] = {
		SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, 5, -1};
	static const long offs[] = {0, 1, 10, -1, -11, 1000, LONG_MIN};
	int fd = open_in(path, O_RDONLY);

	t_story(path);
	for (size_t w = 0; w < 7; w++)
		for (size_t i = 0; i < 7; i++) {
			lseek(fd, 10, SEEK_SET);
			seek(fd, offs[i], whences[w]);
			seek(fd, 0, SEEK_CUR);
		}
	lseek(fd, 0, SEEK_SET);
	take(fd, 7);
	seek(fd, 0, SEEK_END);
	take(fd, 5);
	seek(fd, 3, SEEK_SET);
	take(fd, 5);
	seek(fd, -4, SEEK_CUR);
	take(fd, 2);
	seek(fd, 1L << 40, SEEK_SET);
	take(fd, 2);
	seek(fd, 0, SEEK_SET);
	take_at(fd, 5, 0);
	take_at(fd, 5, 5);
	take_at(fd, 5, 1L << 40);
	take_at(fd, 5, -1);
	take_at(fd, 0, 0);
	take(fd, 3);
	close(fd);
}

static void pieces(void)
{
	static const long sizes[] = {1, 3, 84, 85, 86, 255, 4095, 4096, 4097};
	int fd, ids[3];
	char *text;

	t_story("pieces of odd sizes");
	for (int i = 0; i < 3; i++)
		ids[i] = semget(IPC_PRIVATE, i + 1, 0600);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fd = open_in("sysvipc/sem", O_RDONLY);
		text = p_text(fd, (size_t)sizes[i]);
		t_say("in pieces of %ld: %zu", sizes[i], strlen(text));
		if (i == 3)
			say_text(text, (long)strlen(text));
		take(fd, 1);
		close(fd);
	}
	for (int i = 0; i < 3; i++)
		t_rm(ids[i]);
}

static void more_objects(const char *path, int (*make)(key_t), int n)
{
	int fd = open_in(path, O_RDONLY), other;

	t_story("objects come while it is open");
	t_say("%s", path);
	take(fd, 4096);
	for (int i = 0; i < n; i++) {
		make(0x200 + i);
		take_at(fd, 511, 0);
		take(fd, i % 2 ? 40 : 4096);
		take(fd, 4096);
	}
	take_at(fd, 30, lseek(fd, 0, SEEK_CUR) - 30);
	make(0x200 + n);
	other = dup(fd);
	take(other, 4096);
	take(fd, 4096);
	seek(fd, 0, SEEK_SET);
	take(fd, 4096);
	close(fd);
	close(other);
}

static int make_set(key_t key)
{
	return semget(key, 2, IPC_CREAT | 0640);
}
static int make_queue(key_t key)
{
	return msgget(key, IPC_CREAT | 0640);
}

static void objects_go(void)
{
	int fd = open_in("sysvipc/sem", O_RDONLY), id;

	t_story("the last goes, another comes");
	take(fd, 4096);
	t_rm(semget(0x203, 0, 0));
	take(fd, 4096);
	id = make_set(0x203);
	take(fd, 4096);
	t_rm(semget(0x200, 0, 0));
	make_set(0x200);
	take(fd, 4096);
	t_rm(id);
	seek(fd, 0, SEEK_SET);
	take(fd, 4096);
	close(fd);
}

static void remove_all(void)
{
	for (int i = 0; i < 4; i++) {
		semctl(semget(0x200 + i, 0, 0), 0, IPC_RMID);
		msgctl(msgget(0x200 + i, 0), IPC_RMID, NULL);
	}
}

static void written_anew(int fd)
{
	seek(fd, 0, SEEK_CUR);
	seek(fd, 0, SEEK_SET);
	put(fd, "200\n");
	seek(fd, 0, SEEK_CUR);
	say_result("pwrite at", 0, pwrite(fd, "129\n", 4, 0), errno);
	say_result("pwrite at", 2, pwrite(fd, "128\n", 4, 2), errno);
}

/* Every piece is written on a fresh descriptor's place. */
static void written_in_pieces(const char *path, int flags)
{
	static const char *const texts[][4] = {{"5", "\n"}, {"5\n", "6\n"},
		{"", "7\n"}, {" ", "8\n"}, {"9 ", "10\n"}, {"-", "1\n"},
		{"0x1", "2\n"}, {"1x", "2\n"}, {"  130", "0"}, {"131\n\n", "5"},
		{"-5\n", "133"}, {"134 x\n"}, {"135\t9\n"}, {"\n136\n"},
		{"1e3\n", "137\n"}};
	int fd;

	t_story(path);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fd = open_in(path, flags);
		if (fd < 0)
			return;
		for (int k = 0; k < 4 && texts[i][k]; k++)
			put(fd, texts[i][k]);
		put(fd, "3\n");
		if (!(mounted && (flags & O_APPEND)))
			written_anew(fd);
		close(fd);
		fd = open_in(path, O_RDONLY);
		take(fd, 64);
		close(fd);
	}
}

static void fewer_values(void)
{
	static const char *const texts[] = {"1\n", "2 3\n", "4 5 6\n",
		"7 8 9 10\n", "11 12 13 14 15\n", "16\t17\n", " 18  19 \n",
		"20\n21\n", "22 x\n", "23 24x\n", "-25 -26\n", "0x1b 034\n",
		"29 30 31 32769\n", "32 33 34 -1\n", "99999999999 1\n", "\n",
		"32000 1024000000 500 32000"};
	int fd;

	t_story("kernel.sem with fewer values");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fd = open_in("sys/kernel/sem", O_RDWR);
		put(fd, texts[i]);
		seek(fd, 0, SEEK_SET);
		take(fd, 64);
		take(fd, 64);
		close(fd);
	}
}

static void odd_writes(void)
{
	static char big[8192];
	struct iovec iov[2] = {{"15", 2}, {"0\n", 2}};
	int fd = open_in("sys/kernel/msgmni", O_RDWR), zero, i;

	t_story("long, scattered and copied texts");
	memset(big, ' ', sizeof(big));
	memcpy(big + 4000, "140\n", 4);
	say_result("write", 8192, write(fd, big, sizeof(big)), errno);
	lseek(fd, 0, SEEK_SET);
	take(fd, 64);
	memset(big, ' ', sizeof(big));
	memcpy(big + 4094, "141\n", 4);
	lseek(fd, 0, SEEK_SET);
	errno = 0;
	say_result("write", 8192, write(fd, big, sizeof(big)), errno);
	lseek(fd, 0, SEEK_SET);
	take(fd, 64);
	lseek(fd, 0, SEEK_SET);
	say_result("writev", 2, writev(fd, iov, 2), errno);
	lseek(fd, 0, SEEK_SET);
	take(fd, 64);
	lseek(fd, 0, SEEK_SET);
	errno = 0;
	say_result("NUL", 5, write(fd, "14\0003\n", 5), errno);
	lseek(fd, 0, SEEK_SET);
	take(fd, 64);
	lseek(fd, 0, SEEK_SET);
	say_result("again", 6, write(fd, "32000\n", 6), errno);
	close(fd);
	fd = open_in("sys/kernel/msgmni", O_RDONLY);
	errno = 0;
	zero = (int)write(fd, "1", 1);
	say_result("write to what is read", 1, zero, errno);
	for (i = 0; i < 3; i++) {
		errno = 0;
		say_result("readv", i,
			readv(fd, (struct iovec[]){{big, 2}, {big + 2, 2}}, 2),
			errno);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	t_begin();
	if (argc > 1) {
		mounted = 1;
		dir = argv[1];
	}
	seeks("sysvipc/sem");
	seeks("sysvipc/msg");
	seeks("sys/kernel/sem");
	seeks("sys/fs/mqueue/msg_max");
	pieces();
	more_objects("sysvipc/sem", make_set, 3);
	more_objects("sysvipc/msg", make_queue, 3);
	objects_go();
	remove_all();
	written_in_pieces("sys/kernel/msgmnb", O_WRONLY);
	written_in_pieces("sys/kernel/msgmnb", O_RDWR | O_TRUNC);
	written_in_pieces("sys/kernel/shmmax", O_WRONLY | O_APPEND);
	written_in_pieces("sys/fs/mqueue/msgsize_max", O_WRONLY | O_APPEND);
	written_in_pieces("sys/kernel/sem_next_id", O_WRONLY | O_CREAT);
	written_in_pieces("sys/kernel/sem", O_WRONLY);
	fewer_values();
	odd_writes();
	return t_end();
}
