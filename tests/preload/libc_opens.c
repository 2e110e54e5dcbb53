// SPDX-License-Identifier: MIT
/*
 * libc_opens: paths of the kernel's files about IPC and of queues that libc
 * opens by system calls of its own: freopen(3), and the actions of
 * posix_spawn(3). The spawned program is this one again, which prints what it
 * finds.
 */
#include "procfs.h"
#include <mqueue.h>
#include <spawn.h>

#define QUEUE "/dev/mqueue/libc_opens"
#define NEW "/dev/mqueue/libc_new"

extern char **environ;

static char text[128];
static int queue, n_rows;

/* ---- freopen ---- */

static FILE *from_null(const char *path, const char *mode)
{
	FILE *f = fopen("/dev/null", *mode == 'r' ? "r" : "w");

	return f ? freopen(path, mode, f) : NULL;
}

static int lines_of(FILE *f)
{
	char line[400];
	int n = 0;

	while (fgets(line, sizeof(line), f))
		n++;
	return n;
}

static void freopen_to_read(void)
{
	FILE *f = from_null(QUEUE, "r");

	t_story("freopen to read");
	t_true(f != NULL);
	t_true(f && fgets(text, sizeof(text), f) != NULL);
	t_true(!strncmp(text, "QSIZE:3 ", 8));
	t_true(f && !fgets(text, sizeof(text), f) && feof(f));
	t_eq(fclose(f), 0);
	f = from_null(IPC "msg", "re");
	t_true(f && lines_of(f) == n_rows);
	t_true(f && (fcntl(fileno(f), F_GETFD) & FD_CLOEXEC));
	t_eq(fclose(f), 0);
	t_true(from_null(QUEUE ".none", "r") == NULL && errno == ENOENT);
	t_true(from_null(QUEUE, "z") == NULL && errno == EINVAL);
	t_true(from_null(NULL, "r") != NULL || errno != EFAULT);
}

static void freopen_to_write(mqd_t q)
{
	struct mq_attr attr;
	FILE *f = from_null(QUEUE, "w");

	t_story("freopen to write");
	t_true(f != NULL);
	t_eq(fputs("text", f) < 0, 0);
	t_err(fflush(f), EINVAL);
	t_true(ferror(f));
	fclose(f);
	f = from_null(QUEUE, "a+");
	t_true(f && (fcntl(fileno(f), F_GETFL) & O_ACCMODE) == O_RDWR);
	fclose(f);
	t_eq(mq_getattr(q, &attr), 0);
	t_eq(attr.mq_curmsgs, 1);
	f = from_null(NEW, "w");
	t_true(f != NULL);
	t_eq(fclose(f), 0);
	t_eq(unlink(NEW), 0);
}

static void freopen_stdin(void)
{
	t_story("freopen of stdin");
	t_true(freopen(QUEUE, "r", stdin) == stdin && fileno(stdin) == 0);
	t_eq(getchar(), 'Q');
	t_true(freopen("/dev/null", "r", stdin) == stdin);
}

/* ---- posix_spawn ---- */

/* Open at exec, above those that the actions name. */
static int n_kept(void)
{
	int n = 0;

	for (int fd = 7; fd < 256; fd++)
		n += !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	return n;
}

/* What the spawned one says of 5, which is a queue or a list, and of 6. */
static int look(const char *kind, int n_handed)
{
	static char all[65536];
	struct mq_attr attr;
	int rows = 0;
	ssize_t n = read(5, all, sizeof(all) - 1);

	if (n < 0)
		return errno;
	for (ssize_t i = 0; i < n; i++)
		rows += all[i] == '\n';
	if (*kind == 'q')
		t_say("     spawned: %.7s, %ld waiting", all,
			mq_getattr(5, &attr) ? -1L : attr.mq_curmsgs);
	else
		t_say("     spawned: %d rows more than none", rows > 1);
	t_say("     spawned: 6 is %s", fcntl(6, F_GETFD) < 0 ? "shut" : "open");
	t_say("     spawned: no other: %d", n_kept() == n_handed);
	return 0;
}

static void spawn(const char *kind, posix_spawn_file_actions_t *fa)
{
	char kept[16], *argv[] = {"libc_opens", (char *)kind, kept, NULL};
	pid_t pid = -1;
	int err;

	snprintf(kept, sizeof(kept), "%d", n_kept());
	err = posix_spawn(&pid, "/proc/self/exe", fa, NULL, argv, environ);
	if (!err)
		t_eq(t_join(pid), 0);
	t_say("     posix_spawn %s: errno %d", kind, err);
	posix_spawn_file_actions_destroy(fa);
}

static int n_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void by_actions(void)
{
	posix_spawn_file_actions_t fa;
	int before = n_open();

	t_story("posix_spawn");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 5, QUEUE, O_RDONLY, 0);
	spawn("queue", &fa);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 5, IPC "msg", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 6, "/dev/null", O_RDONLY, 0);
	spawn("list", &fa);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 3, QUEUE, O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&fa, 3, 5);
	posix_spawn_file_actions_addclose(&fa, 3);
	posix_spawn_file_actions_addopen(&fa, 6, MQ "msg_max", O_RDONLY, 0);
	spawn("queue", &fa);
	t_story("one that fails");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 5, QUEUE, O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 6, QUEUE ".no", O_RDONLY, 0);
	spawn("queue", &fa);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(
		&fa, 5, QUEUE, O_RDONLY | O_CREAT | O_EXCL, 0600);
	spawn("queue", &fa);
	t_story("one that makes a queue");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(
		&fa, 5, NEW, O_RDWR | O_CREAT | O_EXCL, 0600);
	spawn("queue", &fa);
	t_eq(unlink(NEW), 0);
	t_true(n_open() == before);
}

static void writes_control(void)
{
	char *argv[] = {"sh", "-c", "echo 6", NULL};
	posix_spawn_file_actions_t fa;
	pid_t pid;

	t_story("posix_spawn of who writes a control");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, MQ "msg_default", O_WRONLY, 0);
	t_eq(posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ), 0);
	t_eq(t_join(pid), 0);
	p_say("msg_default", p_file(MQ "msg_default"));
	posix_spawn_file_actions_destroy(&fa);
}

static int count_rows(void)
{
	const char *at = p_file(IPC "msg");
	int n = 0;

	for (; *at; at++)
		n += *at == '\n';
	return n;
}

int main(int argc, char **argv)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 64};
	mqd_t q;

	if (argc > 2)
		return look(argv[1], atoi(argv[2]));
	t_begin();
	if (geteuid()) {
		t_say("skipped: not root");
		return 0;
	}
	queue = msgget(IPC_PRIVATE, 0600);
	q = mq_open("/libc_opens", O_CREAT | O_RDWR, 0600, &attr);
	t_true(queue >= 0 && q >= 0);
	t_eq(mq_send(q, "abc", 3, 0), 0);
	if (!p_has_mqueue(QUEUE)) {
		t_say("skipped: no /dev/mqueue");
		return 0;
	}
	n_rows = count_rows();
	freopen_to_read();
	freopen_to_write(q);
	freopen_stdin();
	by_actions();
	writes_control();
	t_eq(msgctl(queue, IPC_RMID, NULL), 0);
	mq_close(q);
	mq_unlink("/libc_opens");
	return t_end();
}
