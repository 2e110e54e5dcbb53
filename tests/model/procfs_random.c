// SPDX-License-Identifier: MIT
/*
 * procfs_random: random calls on the kernel's files about IPC and on objects
 * that their limits are about, one line of transcript a call. Run in a fresh
 * IPC namespace and, with the same seed, under the shim (compare.sh): the
 * transcripts must be the same.
 *
 *	procfs_random [--calls N] [--seed N]
 *
 * Control files are opened in all ways and read, written and sought at random,
 * also by stdio, dup and a child; sysvipc files are read whole. Objects are
 * made and removed with the limits as they then are, down to none at all.
 */
#define _GNU_SOURCE
#include "../option.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_FDS 8
#define N_OBJECTS 40
#define K "/proc/sys/kernel/"
#define M "/proc/sys/fs/mqueue/"

static const char *const files[] = {K "sem", K "sem", K "msgmax", K "msgmnb",
	K "msgmni", K "auto_msgmni", K "shmmax", K "shmall", K "shmmni",
	K "shm_rmid_forced", K "sem_next_id", K "msg_next_id", K "shm_next_id",
	M "queues_max", M "msg_max", M "msgsize_max", M "msg_default",
	M "msgsize_default"};
#define N_FILES (sizeof(files) / sizeof(*files))

static uint64_t state;
static int fds[N_FDS];
static struct {
	int kind, id; /* 's' 'q' 'm', 0 = none */
} objects[N_OBJECTS];

static unsigned pick(unsigned n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % n;
}

static const char *name_of(int err)
{
	static char text[24];

	snprintf(text, sizeof(text), "E%d", err);
	return text;
}

/* A result: the number, or the error's. */
static void say(const char *what, long a, long b, long ret)
{
	printf("%s %ld %ld: ", what, a, b);
	if (ret < 0)
		puts(name_of(errno));
	else
		printf("%ld\n", ret);
}

/* Text with its unprintable bytes escaped. */
static void say_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] >= ' ' && text[i] <= '~')
			putchar(text[i]);
		else
			printf("\\%02x", (unsigned char)text[i]);
	putchar('\n');
}

static size_t text_make(char *buf)
{
	static const char *const words[] = {"0", "1", "2", "3", "5", "8", "10",
		"31", "32", "64", "100", "127", "128", "500", "8192", "16384",
		"32000", "32767", "32768", "32769", "65536", "1000000",
		"2147483647", "2147483648", "-1", "-2147483648", "4294967296",
		"18446744073709551615", "0x40", "0100", "08", "x", "7x", "-",
		"98804", "65599", "2147450000"};
	static const char *const gaps[] = {" ", "\t", "\n", "  ", "\n", ","};
	unsigned n = pick(8) ? 1 + pick(5) : 0;
	size_t len = 0;

	while (n--) {
		len += (size_t)sprintf(buf + len, "%s",
			words[pick(sizeof(words) / sizeof(*words))]);
		len += (size_t)sprintf(buf + len, "%s",
			gaps[pick(sizeof(gaps) / sizeof(*gaps))]);
	}
	return len;
}

/* Most writes keep the limits where objects can still be made. */
static size_t text_mild(const char *path, char *buf)
{
	if (!strcmp(path, K "sem"))
		return (size_t)sprintf(buf, "%u %u %u %u\n", 1 + pick(250),
			20 + pick(1000), 1 + pick(40), pick(40));
	return (size_t)sprintf(
		buf, "%u\n", pick(3) ? 200 + pick(9000) : pick(40));
}

/* ---- files ---- */

static void do_open(int at)
{
	static const int ways[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_TRUNC,
		O_WRONLY | O_CREAT | O_TRUNC, O_RDONLY | O_NONBLOCK};
	unsigned f = pick(N_FILES), way = pick(6);

	if (fds[at] >= 0)
		close(fds[at]);
	fds[at] = pick(2) ? open(files[f], ways[way], 0666)
			  : openat(AT_FDCWD, files[f], ways[way], 0666);
	say("open", f, way, fds[at] < 0 ? -1 : 0);
	if (fds[at] >= 0)
		say("  flags", 0, 0,
			fcntl(fds[at], F_GETFL) & (O_ACCMODE | O_NONBLOCK));
}

static void do_read(int at)
{
	size_t n = pick(3) ? pick(64) : pick(4);
	long off = pick(2) ? -1 : (long)pick(4);
	char buf[64];
	ssize_t ret;

	errno = 0;
	ret = off < 0 ? read(fds[at], buf, n) : pread(fds[at], buf, n, off);
	say("read", (long)n, off, ret);
	if (ret > 0)
		say_text(buf, (size_t)ret);
}

static void do_write(int at, const char *path)
{
	char text[512];
	size_t n = path ? text_mild(path, text) : text_make(text), half;
	unsigned how = pick(4);
	struct iovec iov[2];
	ssize_t ret;

	half = n / 2;
	iov[0] = (struct iovec){text, half};
	iov[1] = (struct iovec){text + half, n - half};
	errno = 0;
	ret = how == 0	 ? pwrite(fds[at], text, n, pick(3))
	      : how == 1 ? writev(fds[at], iov, 2)
			 : write(fds[at], text, n);
	say("write", (long)n, how, ret);
	say_text(text, n);
}

static void do_seek(int at)
{
	long to = pick(3) ? 0 : (long)pick(10);

	say("seek", to, 0, lseek(fds[at], to, SEEK_SET));
}

static void do_dup(int at)
{
	int to = (int)pick(N_FDS), ret;

	if (to == at || fds[at] < 0)
		return;
	if (fds[to] >= 0) {
		ret = dup2(fds[at], fds[to]) < 0 ? -1 : 0;
	} else {
		fds[to] = dup(fds[at]);
		ret = fds[to] < 0 ? -1 : 0;
	}
	say("dup", at, to, ret);
}

static void do_close(int at)
{
	say("close", at, 0, close(fds[at]));
	fds[at] = -1;
}

/* A whole write by stdio: libc's own write. */
static void do_stream(void)
{
	const char *path = files[pick(N_FILES)];
	FILE *f = fopen(path, pick(2) ? "w" : "we");
	char text[512] = "";

	if (!f) {
		say("fopen", 0, 0, -1);
		return;
	}
	pick(3) ? text_mild(path, text) : text_make(text);
	say("fputs", 0, 0, fputs(text, f) < 0 ? -1 : 0);
	say_text(text, strlen(text));
	errno = 0;
	if (pick(2)) {
		say("fflush", 0, 0, fflush(f));
		say("ferror", 0, 0, !!ferror(f));
		clearerr(f);
	}
	say("fclose", 0, 0, fclose(f));
}

/* As a shell starts a program: a child writes by stdio and just ends. */
static void do_child(void)
{
	const char *path = files[pick(N_FILES)];
	char text[512] = "";
	pid_t pid;

	text_mild(path, text);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		int fd = open(path, O_WRONLY);

		dprintf(fd, "%s", text);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	printf("child %s: ", path);
	say_text(text, strlen(text));
}

/* Times become T, pids P. */
static void say_row(char *row)
{
	char *word, *rest;

	for (word = strtok_r(row, " ", &rest); word;
		word = strtok_r(NULL, " ", &rest)) {
		long v = atol(word);

		if (v > 1700000000 && v < 1900000000 && strlen(word) == 10)
			word = "T";
		else if (v == getpid())
			word = "P";
		printf("%s ", word);
	}
	putchar('\n');
}

static void do_list(void)
{
	static const char *const lists[] = {
		"/proc/sysvipc/sem", "/proc/sysvipc/msg", "/proc/sysvipc/shm"};
	const char *path = lists[pick(3)];
	static char text[65536];
	int fd = open(path, O_RDONLY);
	char *row, *rest;
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, text + len, 4096)) > 0)
		len += (size_t)n;
	close(fd);
	text[len] = 0;
	printf("%s\n", path);
	for (row = strtok_r(text, "\n", &rest); row;
		row = strtok_r(NULL, "\n", &rest))
		say_row(row);
}

/* ---- objects ---- */

static void do_create(void)
{
	int at = (int)pick(N_OBJECTS), id;
	unsigned kind = pick(3), size = pick(4) ? pick(300) : pick(100000);
	key_t key = pick(2) ? IPC_PRIVATE : (key_t)(1 + pick(30));

	errno = 0;
	id = kind == 0	 ? semget(key, (int)(size % 300), IPC_CREAT | 0600)
	     : kind == 1 ? msgget(key, IPC_CREAT | 0600)
			 : shmget(key, size, IPC_CREAT | 0600);
	printf("create %u %u ", kind, size);
	say("", key, 0, id);
	if (id >= 0 && !objects[at].kind) {
		objects[at].kind = "sqm"[kind];
		objects[at].id = id;
	}
}

static void do_remove(int at)
{
	int id = objects[at].id, ret;

	if (!objects[at].kind)
		return;
	ret = objects[at].kind == 's'	? semctl(id, 0, IPC_RMID)
	      : objects[at].kind == 'q' ? msgctl(id, IPC_RMID, NULL)
					: shmctl(id, IPC_RMID, NULL);
	say("remove", id, 0, ret);
	objects[at].kind = 0;
}

static void do_use(int at)
{
	static struct {
		long type;
		char text[70000];
	} msg = {1, ""};
	struct sembuf ops[50];
	unsigned n = pick(50), size = pick(3) ? pick(300) : pick(70000);

	errno = 0;
	if (objects[at].kind == 's') {
		for (unsigned i = 0; i < n; i++)
			ops[i] = (struct sembuf){0, 1, IPC_NOWAIT};
		say("semop", objects[at].id, n, semop(objects[at].id, ops, n));
	} else if (objects[at].kind == 'q') {
		say("msgsnd", objects[at].id, size,
			msgsnd(objects[at].id, &msg, size, IPC_NOWAIT));
	}
}

static void one_call(void)
{
	int at = (int)pick(N_FDS), object = (int)pick(N_OBJECTS);
	unsigned what = pick(100);

	if (what < 12)
		do_open(at);
	else if (what < 27)
		do_read(at);
	else if (what < 37)
		do_write(at, NULL);
	else if (what < 45)
		do_write(at, files[2]);
	else if (what < 53)
		do_seek(at);
	else if (what < 55)
		do_dup(at);
	else if (what < 60)
		do_close(at);
	else if (what < 65)
		do_stream();
	else if (what < 66)
		do_child();
	else if (what < 69)
		do_list();
	else if (what < 85)
		do_create();
	else if (what < 93)
		do_remove(object);
	else
		do_use(object);
}

int main(int argc, char **argv)
{
	long calls = 20000, seed = 0;
	const struct option_of options[] = {
		{"calls", .number = &calls},
		{"seed", .number = &seed},
		{0},
	};

	options_only(argc, argv, options);
	state = (uint64_t)seed;
	for (int i = 0; i < N_FDS; i++)
		fds[i] = -1;
	while (calls--)
		one_call();
	for (int i = 0; i < N_OBJECTS; i++)
		do_remove(i);
	puts("end");
	return 0;
}
