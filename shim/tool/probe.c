// SPDX-License-Identifier: MIT
/*
 * The probes, and running them; see probe.h.
 *
 * They make libc's calls, so that the shim serves them if it is preloaded. No
 * ids are printed: without a namespace of our own they depend on other objects.
 */
#include "tool/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/home.h"

/* ---- running ---- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

/* Execute the probe; returns only on failure. */
static void become(const char *shim, const char *registry, const char *what,
	const char *number)
{
	if (shim) {
		setenv("LD_PRELOAD", shim, 1);
		setenv("IPCLIFT_REGISTRY", registry, 1);
		setenv("IPCLIFT_LIMITS",
			strcmp(what, PROBE_PARITY) ? "roomy" : "kernel", 1);
		unsetenv("IPCLIFT_ROUTE");
	} else {
		unsetenv("LD_PRELOAD");
		/* Without that right: among other programs' objects. */
		if (!unshare(CLONE_NEWIPC) && strcmp(what, PROBE_PARITY))
			write_file("/proc/sys/fs/mqueue/msg_max", "65536");
	}
	execl("/proc/self/exe", "ipclift", "--probe", what, number, NULL);
}

int probe_run(const char *shim, const char *what, const char *number, char *ret,
	size_t cap)
{
	char registry[HOME_PATH_MAX] = "";
	int fds[2], status = -1, keep = -1;
	size_t len = 0;
	ssize_t n = 1;
	pid_t pid;

	*ret = 0;
	if (pipe2(fds, O_CLOEXEC))
		return -1;
	/* PROBE_LOADED needs no registry. */
	if (shim && strcmp(what, PROBE_LOADED) != 0) {
		keep = home_make_private(registry);
		if (keep < 0) {
			close(fds[0]);
			close(fds[1]);
			return -1;
		}
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(fds[1], 1);
		become(shim, registry, what, number);
		_exit(126);
	}
	close(fds[1]);
	while (n > 0 && len + 1 < cap) {
		n = read(fds[0], ret + len, cap - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	ret[len] = 0;
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (keep >= 0) {
		home_remove(registry);
		close(keep);
	}
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- loaded ---- */

static int probe_loaded(void)
{
	char line[1024];
	FILE *f = fopen("/proc/self/maps", "re");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libipclift.so") != NULL;
	if (f)
		fclose(f);
	return !found;
}

/* ---- parity ---- */

static void say(const char *what, long result)
{
	if (result < 0)
		printf("%s: %s\n", what, strerror(errno));
	else
		printf("%s: %ld\n", what, result);
}

/* For calls that return an id. */
static long id_of(long id)
{
	return id < 0 ? id : 0;
}

static int op(int id, int num, int value, int flags)
{
	struct sembuf s = {(unsigned short)num, (short)value, (short)flags};

	return semop(id, &s, 1);
}

static void parity_sem(void)
{
	int id = semget(IPC_PRIVATE, 3, 0600);
	struct semid_ds ds;
	unsigned short values[3] = {4, 5, 6};

	say("semget", id_of(id));
	say("semget 0 semaphores", semget(IPC_PRIVATE, 0, 0600));
	say("semget no key", semget(0x1f2e3d4c, 1, 0));
	say("SETALL", semctl(id, 0, SETALL, values));
	say("SETVAL too much", semctl(id, 0, SETVAL, 40000));
	say("semop down", op(id, 0, -3, IPC_NOWAIT));
	say("semop would wait", op(id, 0, -3, IPC_NOWAIT));
	say("semop zero", op(id, 0, 0, IPC_NOWAIT));
	say("semop overflow", op(id, 1, 32767, 0));
	say("semop no such", op(id, 3, 1, 0));
	say("semop undo", op(id, 2, 1, SEM_UNDO));
	say("GETVAL", semctl(id, 0, GETVAL));
	say("GETVAL", semctl(id, 2, GETVAL));
	say("GETNCNT", semctl(id, 0, GETNCNT));
	say("GETPID", semctl(id, 0, GETPID) == getpid());
	say("IPC_STAT", semctl(id, 0, IPC_STAT, &ds));
	say("nsems", (long)ds.sem_nsems);
	say("mode", ds.sem_perm.mode);
	if (!fork()) {
		op(id, 1, 10, SEM_UNDO);
		_exit(0);
	}
	wait(NULL);
	say("after a child's undo", semctl(id, 1, GETVAL));
	say("IPC_RMID", semctl(id, 0, IPC_RMID));
	say("semop after", op(id, 0, 1, 0));
}

static void parity_msg(void)
{
	int id = msgget(IPC_PRIVATE, 0600);
	struct {
		long type;
		char text[32];
	} m = {3, "three"};
	struct msqid_ds ds;

	say("msgget", id_of(id));
	say("msgsnd", msgsnd(id, &m, 6, 0));
	m.type = 1;
	say("msgsnd", msgsnd(id, &m, 20, 0));
	m.type = 0;
	say("msgsnd type 0", msgsnd(id, &m, 6, 0));
	say("msgsnd too long", msgsnd(id, &m, 1 << 20, 0));
	say("IPC_STAT", msgctl(id, IPC_STAT, &ds));
	say("qnum", (long)ds.msg_qnum);
	say("qbytes", (long)ds.msg_qbytes);
	say("msgrcv too small", msgrcv(id, &m, 3, 1, IPC_NOWAIT));
	say("msgrcv cut", msgrcv(id, &m, 3, -3, IPC_NOWAIT | MSG_NOERROR));
	say("type", m.type);
	say("msgrcv none", msgrcv(id, &m, 32, 7, IPC_NOWAIT));
	say("msgrcv", msgrcv(id, &m, 32, 0, IPC_NOWAIT));
	say("type", m.type);
	say("IPC_RMID", msgctl(id, IPC_RMID, NULL));
	say("msgrcv after", msgrcv(id, &m, 32, 0, IPC_NOWAIT));
}

static void parity_shm(void)
{
	int id = shmget(IPC_PRIVATE, 10000, 0600);
	struct shmid_ds ds;
	char *p, *q;

	say("shmget", id_of(id));
	say("shmget 0 bytes", shmget(IPC_PRIVATE, 0, 0600));
	p = shmat(id, NULL, 0);
	q = shmat(id, NULL, SHM_RDONLY);
	say("shmat", p == (void *)-1 ? -1 : 0);
	say("shmat read-only", q == (void *)-1 ? -1 : 0);
	strcpy(p + 9000, "shared");
	say("same bytes", !strcmp(q + 9000, "shared"));
	say("shmat misaligned", (long)shmat(id, p + 1, 0));
	say("IPC_STAT", shmctl(id, IPC_STAT, &ds));
	say("nattch", (long)ds.shm_nattch);
	say("size", (long)ds.shm_segsz);
	say("IPC_RMID", shmctl(id, IPC_RMID, NULL));
	say("shmctl while attached", shmctl(id, IPC_STAT, &ds));
	say("shmdt", shmdt(p));
	say("shmdt", shmdt(q));
	say("shmdt again", shmdt(q));
	say("shmctl after", shmctl(id, IPC_STAT, &ds));
}

static void parity_mq(void)
{
	struct mq_attr attr = {.mq_maxmsg = 3, .mq_msgsize = 16}, got;
	char name[64], buf[16];
	unsigned prio;
	mqd_t q;

	snprintf(name, sizeof(name), "/ipclift-probe-%d", getpid());
	q = mq_open(name, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0600, &attr);
	say("mq_open", q < 0 ? -1 : 0);
	say("mq_open again",
		mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr));
	say("mq_open without a slash", mq_open("x", O_RDWR));
	say("mq_send", mq_send(q, "low", 3, 1));
	say("mq_send", mq_send(q, "high", 4, 9));
	say("mq_send", mq_send(q, "low too", 7, 1));
	say("mq_send full", mq_send(q, "x", 1, 1));
	say("mq_send too long", mq_send(q, name, 17, 1));
	say("mq_getattr", mq_getattr(q, &got));
	say("curmsgs", got.mq_curmsgs);
	say("mq_receive too small", mq_receive(q, buf, 15, &prio));
	say("mq_receive", mq_receive(q, buf, 16, &prio));
	say("priority", prio);
	say("mq_receive", mq_receive(q, buf, 16, &prio));
	say("mq_receive", mq_receive(q, buf, 16, &prio));
	say("mq_receive empty", mq_receive(q, buf, 16, &prio));
	say("mq_unlink", mq_unlink(name));
	say("mq_unlink again", mq_unlink(name));
	say("mq_close", mq_close(q));
	say("mq_close again", mq_close(q));
}

/* ---- speed ---- */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int tell(double ns)
{
	printf("ns %.1f\n", ns);
	return 0;
}

#define OPS 400000

static int bench_semop(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600), i;
	double from = now_ns();

	if (id < 0)
		return 1;
	for (i = 0; i < OPS; i++) {
		op(id, 0, 1, 0);
		op(id, 0, -1, 0);
	}
	from = (now_ns() - from) / OPS;
	semctl(id, 0, IPC_RMID);
	return tell(from);
}

static int bench_msg(void)
{
	int id = msgget(IPC_PRIVATE, 0600), i;
	struct {
		long type;
		char text[64];
	} m = {1, ""};
	double from = now_ns();

	if (id < 0)
		return 1;
	for (i = 0; i < OPS / 2; i++) {
		msgsnd(id, &m, 64, 0);
		msgrcv(id, &m, 64, 0, 0);
	}
	from = (now_ns() - from) / (OPS / 2);
	msgctl(id, IPC_RMID, NULL);
	return tell(from);
}

/* Random priorities; depth messages stay in it. */
static int bench_mq(long depth)
{
	struct mq_attr attr = {.mq_maxmsg = depth + 2, .mq_msgsize = 64};
	char name[64], buf[64] = "";
	unsigned x = 7, prio;
	double from = 0;
	mqd_t q;
	long i;

	setrlimit(RLIMIT_MSGQUEUE,
		&(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
	snprintf(name, sizeof(name), "/ipclift-probe-%d", getpid());
	q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
	if (q < 0)
		return 1;
	mq_unlink(name);
	for (i = -depth; i < OPS / 2; i++) {
		if (i == 0)
			from = now_ns();
		x = x * 1103515245 + 12345;
		mq_send(q, buf, 64, x >> 16 & 32767);
		if (i >= 0)
			mq_receive(q, buf, 64, &prio);
	}
	return tell((now_ns() - from) / (OPS / 2));
}

int probe_main(int argc, char **argv)
{
	const char *what = argc ? argv[0] : "";
	long n = argc > 1 ? atol(argv[1]) : 0;

	if (!strcmp(what, PROBE_LOADED))
		return probe_loaded();
	if (!strcmp(what, PROBE_SEMOP))
		return bench_semop();
	if (!strcmp(what, PROBE_MSG))
		return bench_msg();
	if (!strcmp(what, PROBE_MQ))
		return bench_mq(n);
	if (strcmp(what, PROBE_PARITY) != 0)
		return 2;
	setvbuf(stdout, NULL, _IOFBF, 65536);
	parity_sem();
	fflush(stdout);
	parity_msg();
	parity_shm();
	parity_mq();
	return 0;
}
