// SPDX-License-Identifier: MIT
/*
 * procfs_write: writing the control files, by write(2) and the like, by stdio
 * in all its ways, and by programs that inherit the descriptor. What is written
 * takes effect at once, for the writer and for others.
 */
#include "procfs.h"

static void by_write(void)
{
	int fd = open(SYS "msgmax", O_WRONLY), other;
	struct iovec iov[3] = {{"1", 1}, {"2", 1}, {"3\n", 2}};

	t_story("write");
	t_eq(write(fd, "0x20\n", 5), 5);
	p_say_file(SYS "msgmax");
	t_eq(write(fd, "77\n", 3), 3);
	p_say_file(SYS "msgmax");
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_eq(write(fd, "12 13\n", 6), 3);
	t_eq(lseek(fd, 0, SEEK_CUR), 3);
	p_say_file(SYS "msgmax");
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_err(write(fd, "-1", 2), EINVAL);
	t_err(write(fd, "12abc", 5), EINVAL);
	t_err(write(fd, "2147483648", 10), EINVAL);
	t_err(write(fd, " ", 1), EINVAL);
	t_eq(write(fd, "", 0), 0);
	t_err(write(fd, t_beyond_eof(), 3), EFAULT);
	t_err(write(fd, t_kernel_half(), 3), EFAULT);
	t_eq(lseek(fd, 0, SEEK_CUR), 0);
	p_say_file(SYS "msgmax");
	t_eq(writev(fd, iov, 3), 4);
	p_say_file(SYS "msgmax");
	t_eq(pwrite(fd, "55", 2, 0), 2);
	t_eq(pwrite(fd, "66", 2, 1), 2);
	t_err(pwrite(fd, "66", 2, -1), EINVAL);
	t_eq(lseek(fd, 0, SEEK_CUR), 4);
	p_say_file(SYS "msgmax");
	other = dup(fd);
	t_eq(close(fd), 0);
	t_eq(lseek(other, 0, SEEK_SET), 0);
	t_eq(write(other, "88", 2), 2);
	t_eq(close(other), 0);
	p_say_file(SYS "msgmax");
}

static void four_values(void)
{
	int fd = open(SYS "sem", O_RDWR);

	t_story("kernel/sem");
	t_err(pwrite(fd, "9 x 7", 5, 0), EINVAL);
	p_say_file(SYS "sem");
	t_eq(pwrite(fd, "10 20", 5, 0), 5);
	p_say_file(SYS "sem");
	t_err(pwrite(fd, "1 2 3 99999", 11, 0), ERANGE);
	p_say_file(SYS "sem");
	t_eq(pwrite(fd, "250 32000 100 128 5", 19, 0), 18);
	p_say_file(SYS "sem");
	t_err(semget(IPC_PRIVATE, 251, 0600), EINVAL);
	t_eq(close(fd), 0);
}

static void *cancelled(void *arg)
{
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	(void)arg;
	for (;;)
		close(open(SYS "msgmax", O_RDONLY));
	return NULL;
}

static void cancellation(void)
{
	pthread_t thread;
	void *ret;

	t_story("open is a cancellation point");
	t_eq(pthread_create(&thread, NULL, cancelled, NULL), 0);
	t_eq(pthread_cancel(thread), 0);
	t_eq(pthread_join(thread, &ret), 0);
	t_true(ret == PTHREAD_CANCELED);
}

static void effects(void)
{
	struct {
		long type;
		char text[100];
	} msg = {1, ""};
	int fd, q = msgget(IPC_PRIVATE, 0600), one, two;
	struct msqid_ds ds;

	t_story("limits hold at once");
	t_eq(msgsnd(q, &msg, 88, IPC_NOWAIT), 0);
	t_err(msgsnd(q, &msg, 89, IPC_NOWAIT), EINVAL);
	fd = open(SYS "msgmnb", O_WRONLY);
	t_eq(write(fd, "65536", 5), 5);
	close(fd);
	t_eq(msgctl(q, IPC_RMID, NULL), 0);
	q = msgget(IPC_PRIVATE, 0600);
	t_eq(msgctl(q, IPC_STAT, &ds), 0);
	t_eq(ds.msg_qbytes, 65536);
	t_eq(msgctl(q, IPC_RMID, NULL), 0);
	fd = open(SYS "shmall", O_WRONLY);
	t_eq(write(fd, "3", 1), 1);
	two = shmget(IPC_PRIVATE, 4097, 0600);
	one = shmget(IPC_PRIVATE, 1, 0600);
	t_true(two >= 0 && one >= 0);
	t_err(shmget(IPC_PRIVATE, 1, 0600), ENOSPC);
	t_eq(shmctl(one, IPC_RMID, NULL), 0);
	t_err(shmget(IPC_PRIVATE, 4097, 0600), ENOSPC);
	t_eq(shmctl(two, IPC_RMID, NULL), 0);
	t_eq(write(fd, "1000000", 7), 7);
	close(fd);
	fd = open(SYS "shmmni", O_WRONLY);
	t_eq(write(fd, "0", 1), 1);
	close(fd);
	t_err(shmget(IPC_PRIVATE, 1, 0600), ENOSPC);
}

/* Somebody who may not write any more. */
static void rights(void)
{
	int fd = open(SYS "msgmnb", O_RDWR), next = open(SYS "sem_next_id", 2);

	t_story("rights are asked for at each write");
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(write(fd, "1", 1), EPERM);
		t_err(write(next, "1", 1), EPERM);
		p_say("msgmnb", p_text(fd, 64));
	}
	close(fd);
	close(next);
}

static void stdio(void)
{
	FILE *f = fopen(SYS "sem_next_id", "w");
	char line[64];
	int fd;

	t_story("stdio");
	t_true(f != NULL);
	t_eq(fprintf(f, "%d\n", 4242), 5);
	p_say_file(SYS "sem_next_id");
	t_eq(fflush(f), 0);
	p_say_file(SYS "sem_next_id");
	t_eq(fclose(f), 0);

	f = fopen(SYS "sem_next_id", "we");
	fputs("4243", f);
	t_eq(fcntl(fileno(f), F_GETFD), FD_CLOEXEC);
	t_eq(fclose(f), 0);
	p_say_file(SYS "sem_next_id");

	f = fdopen(open(SYS "sem_next_id", O_WRONLY | O_TRUNC), "w");
	fputs("4244\n", f);
	t_eq(fclose(f), 0);
	p_say_file(SYS "sem_next_id");

	f = fopen(SYS "sem_next_id", "a");
	fputs("4245\n", f);
	t_eq(fclose(f), 0);
	p_say_file(SYS "sem_next_id");

	t_story("stdio: errors");
	f = fopen(SYS "sem_next_id", "w");
	fputs("-5\n", f);
	t_err(fflush(f), EINVAL);
	t_true(ferror(f));
	clearerr(f);
	fclose(f);
	f = fopen(SYS "msgmni", "w");
	fputs("99999\n", f);
	t_err(fclose(f), EINVAL);
	t_true(fopen(SYS "msgmnix", "w") == NULL);
	t_true(fopen(SYS "msgmni", "z") == NULL);
	t_true(fopen(SYS "msgmni", "wx") == NULL);
	p_say_file(SYS "msgmni");

	t_story("stdio: reading");
	f = fopen(SYS "sem", "r");
	t_true(fgets(line, sizeof(line), f) == line);
	p_say("line", line);
	t_true(fgets(line, sizeof(line), f) == NULL && feof(f));
	t_eq(fclose(f), 0);
	f = fopen(IPC "sem", "r");
	t_true(fgets(line, sizeof(line), f) == line);
	p_say("line", line);
	fd = fileno(f);
	t_eq(fclose(f), 0);
	t_err(read(fd, line, 1), EBADF);

	t_story("stdio: freopen");
	f = fopen("/dev/null", "r");
	f = freopen(SYS "msgmni", "r", f);
	t_true(f && fgets(line, sizeof(line), f) == line);
	p_say("line", line);
	f = freopen(SYS "msgmni", "w", f);
	t_true(f != NULL);
	fputs("321", f);
	t_eq(fclose(f), 0);
	p_say_file(SYS "msgmni");

	t_story("dprintf");
	fd = open(SYS "msgmni", O_WRONLY);
	t_eq(dprintf(fd, "%d\n", 322), 4);
	t_eq(close(fd), 0);
	p_say_file(SYS "msgmni");
}

/* The number that f gives from its start. */
static int p_scan(FILE *f)
{
	int value = -1;

	rewind(f);
	return fscanf(f, "%d", &value) == 1 ? value : -1;
}

/* What the stream says when text is written from its start. */
static void p_put(FILE *f, const char *text)
{
	rewind(f);
	t_eq(fputs(text, f) >= 0, 1);
	t_eq(fflush(f), 0);
	rewind(f);
}

/* One stream for all: settings are saved, changed and looked at again. */
static void kept_open(void)
{
	FILE *f = fopen(SYS "msgmax", "r+"), *reader = fopen(SYS "msgmax", "r");
	int fd;

	t_story("stdio: a stream that is kept open");
	t_eq(p_scan(f), p_scan(reader));
	p_put(f, "777\n");
	t_eq(p_scan(f), 777);
	p_say_file(SYS "msgmax");
	fflush(reader);
	t_eq(p_scan(reader), 777);
	p_put(f, "65");
	t_eq(p_scan(f), 65);
	rewind(f);
	fputs("-8", f);
	t_err(fflush(f), EINVAL);
	t_true(ferror(f));
	clearerr(f);
	t_eq(p_scan(f), 65);
	setvbuf(f, NULL, _IONBF, 0);
	rewind(f);
	t_eq(fprintf(f, "66"), 2);
	p_say_file(SYS "msgmax");
	rewind(f);
	t_err(fprintf(f, "x"), EINVAL);
	fclose(f);
	fclose(reader);

	f = fopen(SYS "msgmax", "w+e");
	p_put(f, "67\n");
	t_eq(p_scan(f), 67);
	t_eq(fcntl(fileno(f), F_GETFD), FD_CLOEXEC);
	t_eq(fclose(f), 0);
	f = fopen(SYS "msgmax", "a+");
	t_eq(p_scan(f), 67);
	t_eq(fclose(f), 0);

	fd = open(SYS "msgmax", O_RDWR);
	f = fdopen(fd, "r+");
	t_eq(p_scan(f), 67);
	t_eq(fileno(f) == fd, 1);
	p_put(f, "68\n");
	t_eq(p_scan(f), 68);
	f = freopen("/dev/null", "r", f);
	t_true(f != NULL && fileno(f) == fd);
	t_eq(fgetc(f), EOF);
	t_eq(fclose(f), 0);
	fd = open(SYS "msgmax", O_RDONLY);
#ifdef __GLIBC__
	t_true(fdopen(fd, "w") == NULL && errno == EINVAL);
#endif
	t_true(fdopen(fd, "x") == NULL && errno == EINVAL);
	f = fdopen(fd, "r");
	t_eq(p_scan(f), 68);
	t_eq(fclose(f), 0);
	t_err(fcntl(fd, F_GETFD), EBADF);
}

/* As a shell does: the descriptor becomes standard output. */
static pid_t redirected(const char *path, char *const argv[])
{
	pid_t pid = t_fork();
	int fd;

	if (pid)
		return pid;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0 || dup2(fd, 1) != 1)
		_exit(97);
	close(fd);
	execvp(argv[0], argv);
	_exit(96);
}

static void inherited(void)
{
	char *echo[] = {"/bin/echo", "700", NULL},
	     *bare[] = {"env", "-i", "/bin/echo", "701", NULL},
	     *cat[] = {"cat", NULL};
	int fd;
	pid_t pid;

	t_story("a program that inherits it");
	t_eq(t_join(redirected(SYS "sem_next_id", echo)), 0);
	fd = semget(IPC_PRIVATE, 1, 0600);
	t_true(fd == 700);
	t_rm(fd);
	t_eq(t_join(redirected(SYS "sem_next_id", bare)), 0);
	p_say_file(SYS "sem_next_id");

	t_story("a child");
	fd = open(SYS "sem_next_id", O_WRONLY);
	pid = t_fork();
	if (!pid) {
		dprintf(fd, "703\n");
		_exit(0);
	}
	t_eq(t_join(pid), 0);
	p_say_file(SYS "sem_next_id");
	t_eq(lseek(fd, 0, SEEK_SET), 0);
	t_eq(write(fd, "704\n", 4), 4);
	p_say_file(SYS "sem_next_id");
	t_eq(close(fd), 0);

	t_story("reading it");
	fflush(stdout);
	pid = t_fork();
	if (!pid) {
		fd = open(SYS "sem", O_RDONLY);
		dup2(fd, 0);
		execvp("cat", cat);
		_exit(96);
	}
	t_eq(t_join(pid), 0);
}

static void dup_over(void)
{
	int fd = open(SYS "msgmni", O_WRONLY), null = open("/dev/null", O_RDWR);

	t_story("dup2 over it");
	t_eq(dprintf(fd, "11"), 2);
	t_true(dup2(null, fd) == fd);
	p_say_file(SYS "msgmni");
	t_eq(write(fd, "22", 2), 2);
	p_say_file(SYS "msgmni");
	fd = open(SYS "msgmni", O_WRONLY);
	t_true(dup2(fd, null) == null);
	close(fd);
	t_eq(write(null, "33", 2), 2);
	p_say_file(SYS "msgmni");
	close(null);
}

/* Where a person would be who has gone there by cd. */
static void other_ways(void)
{
	int dir = open("/proc/sys", O_RDONLY | O_DIRECTORY), fd;
	char line[64] = "";
	FILE *f;

	t_story("relative paths");
	t_eq(chdir("/proc/sys/kernel"), 0);
	fd = open("msgmax", O_WRONLY);
	t_eq(write(fd, "901\n", 4), 4);
	t_eq(close(fd), 0);
	p_say_file(SYS "msgmax");
	p_say_file("./msgmax");
	fd = openat(dir, "kernel/msgmax", O_RDWR);
	p_say("openat", p_text(fd, 64));
	t_eq(pwrite(fd, "902\n", 4, 0), 4);
	t_eq(close(fd), 0);
	f = fopen("../kernel/msgmax", "r");
	t_true(f && fgets(line, sizeof(line), f) == line);
	p_say("fopen", line);
	t_eq(fclose(f), 0);
	f = fopen("msgmax", "w");
	fputs("903\n", f);
	t_eq(fclose(f), 0);
	p_say_file("/proc//sys/kernel/msgmax");
	t_eq(chdir("/proc/sysvipc"), 0);
	t_true(strlen(p_file("sem")) == 85);
	t_eq(chdir("/proc"), 0);
	t_err(open("sem", O_RDONLY), ENOENT);
	t_eq(close(dir), 0);
}

int main(void)
{
	t_begin();
	by_write();
	four_values();
	cancellation();
	effects();
	rights();
	stdio();
	kept_open();
	inherited();
	dup_over();
	other_ways();
	return t_end();
}
