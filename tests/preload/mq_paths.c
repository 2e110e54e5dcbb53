// SPDX-License-Identifier: MIT
/*
 * mq_paths: a queue by the paths of its descriptor, /proc/self/fd/N and
 * /dev/fd/N, and by /dev/stdin where it is the standard input: stat(2) and the
 * like have the results of fstat(2), and what is opened is the queue's file,
 * not the FIFO: a read that took bytes from that would leave pollers asleep.
 */
#include "mq.h"
#include <sys/stat.h>
#include <sys/wait.h>

static mqd_t q;

static int ready(void)
{
	struct pollfd p = {q, POLLIN, 0};

	return poll(&p, 1, 0);
}

static void say_stat(const char *how, int ret, const struct stat *st)
{
	if (ret)
		t_say("     %s: %s", how, t_errname(errno));
	else
		t_say("     %s: %o, %ld bytes", how, st->st_mode,
			(long)st->st_size);
}

static void stats(const char *path)
{
	struct stat st, same;
	unsigned char x[256] = {0};

	say_stat("stat", stat(path, &st), &st);
	fstat(q, &same);
	t_eq(st.st_ino == same.st_ino, 1);
	say_stat("fstatat", fstatat(AT_FDCWD, path, &st, 0), &st);
	t_eq(lstat(path, &st), 0);
	t_eq(S_ISLNK(st.st_mode), 1);
#ifdef STATX_TYPE
	t_eq(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, (struct statx *)x), 0);
	t_eq(((struct statx *)x)->stx_size, 80);
	t_eq(S_ISREG(((struct statx *)x)->stx_mode), 1);
#else
	(void)x;
#endif
}

static void opened(const char *path)
{
	char line[100] = "";
	int fd = open(path, O_RDONLY);
	FILE *f;

	t_eq(read(fd, line, 9), 9);
	t_say("     '%s'", line);
	t_eq(close(fd), 0);
	f = fopen(path, "r");
	t_true(f && fgets(line, sizeof(line), f));
	t_say("     '%.9s'", line);
	if (f)
		fclose(f);
	t_eq(ready(), 1);
}

/* What another program finds there. Not by popen(3): libc executes it unseen. */
static void told(const char *command)
{
	char line[100] = "nothing";
	int out[2], status;
	ssize_t n;
	pid_t pid;

	t_eq(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	n = read(out[0], line, sizeof(line) - 1);
	if (n >= 0)
		line[n] = 0;
	close(out[0]);
	waitpid(pid, &status, 0);
	line[strcspn(line, "\n")] = 0;
	t_say("     %s: %.9s", command, line);
}

int main(void)
{
	char path[40];
	struct stat st;
	int fifo[2];

	t_begin();
	q = q_open(NAME, RW | NB, 4, 32);
	t_eq(q_put(q, "one", 0), 0);
	t_story("by number");
	sprintf(path, "/proc/self/fd/%d", q);
	stats(path);
	opened(path);
	sprintf(path, "/proc/%d/fd/%d", (int)getpid(), q);
	stats(path);
	sprintf(path, "/dev/fd/%d", q);
	stats(path);
	opened(path);
	t_story("a pipe's is still a pipe's");
	t_eq(pipe(fifo), 0);
	sprintf(path, "/proc/self/fd/%d", fifo[0]);
	t_eq(stat(path, &st), 0);
	t_eq(S_ISFIFO(st.st_mode), 1);
	if (access("/dev/stdin", F_OK)) {
		t_say("     no /dev/stdin");
		q_done(q);
		return t_end();
	}
	t_story("as the standard input");
	t_eq(dup2(q, 0), 0);
	stats("/dev/stdin");
	opened("/dev/stdin");
	t_eq(readlink("/dev/stdin", path, sizeof(path)), 15);
	t_say("     '%.15s'", path);
	told("test -f /dev/stdin && echo file");
	told("test -p /dev/stdin || echo no pipe");
	told("cat /dev/stdin");
	told("stat -L -c %s /dev/stdin");
	t_eq(ready(), 1);
	q_say(q);
	t_eq(ready(), 0);
	t_story("and the standard error output");
	t_eq(dup2(q, 2), 2);
	t_eq(stat("/dev/stderr", &st), 0);
	t_eq(S_ISREG(st.st_mode), 1);
	q_done(q);
	return t_end();
}
