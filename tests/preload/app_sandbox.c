// SPDX-License-Identifier: MIT
/*
 * A program for sandbox.sh.
 *
 *	app_sandbox deny NR[,NR] HOW CMD...   CMD where these system calls fail
 *	                                        with HOW (a number) or kill (0)
 *	app_sandbox novdso CMD...             CMD without a vDSO
 *	app_sandbox oldns CMD...              CMD where IPC namespaces have no
 *	                                        numbers for good, as before
 *	                                        Linux 6.18
 *	app_sandbox work                      a bit of everything, a line each
 *	app_sandbox stopped                   how a sleeper ends that is stopped,
 *	                                        continued and, if it sleeps on,
 *	                                        woken
 *
 * work has a process asleep in each facility woken by another one, and a holder
 * of SEM_UNDO killed with one asleep for what it holds.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "seccomp.h"

static int refuse(char *list, int err)
{
	struct instruction code[20] = {{0x20, 0, 0, 0}};
	struct program program = {0, code};
	unsigned n = 1;
	char *word;

	for (word = strtok(list, ","); word && n < 16;
		word = strtok(NULL, ",")) {
		code[n++] =
			(struct instruction){0x15, 0, 1, (uint32_t)atoi(word)};
		code[n++] = (struct instruction){0x06, 0, 0,
			err ? 0x00050000u | (unsigned)err : 0x80000000u};
	}
	code[n++] = (struct instruction){0x06, 0, 0, 0x7fff0000u};
	program.len = (unsigned short)n;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, 2, &program);
}

/* ioctl(NS_GET_ID), which an older kernel does not know. */
static int forget_ids(void)
{
	static const struct instruction code[] = {{0x20, 0, 0, 0},
		{0x15, 0, 3, 16 /* ioctl */},
		{0x20, 0, 0, 24 /* its command, the lower half */},
		{0x15, 0, 1, 0x8008b70du}, {0x06, 0, 0, 0x00050000u | ENOTTY},
		{0x06, 0, 0, 0x7fff0000u}};
	static const struct program program = {6, code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, 2, &program);
}

/* At the exec's end argc, argv, envp and the auxiliary vector are on its stack.
 */
static int hide_vdso(pid_t pid)
{
	struct user_regs_struct regs;
	unsigned long at, word;
	int nulls = 0;

	if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
		return -1;
	for (at = regs.rsp + 8; nulls < 2; at += 8) {
		errno = 0;
		word = (unsigned long)ptrace(PTRACE_PEEKDATA, pid, at, 0);
		if (errno)
			return -1;
		nulls += !word;
	}
	for (;; at += 16) {
		word = (unsigned long)ptrace(PTRACE_PEEKDATA, pid, at, 0);
		if (word == AT_NULL)
			return -1;
		if (word == AT_SYSINFO_EHDR)
			return (int)ptrace(PTRACE_POKEDATA, pid, at, AT_IGNORE);
	}
}

static int without_vdso(char **argv)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status) || hide_vdso(pid))
		goto fail;
	/* Each program that it executes gets one anew. */
	ptrace(PTRACE_SETOPTIONS, pid, 0,
		PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, pid, 0, 0);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int exec = status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);

		if (exec && hide_vdso(pid))
			goto fail;
		ptrace(PTRACE_CONT, pid, 0, exec ? 0 : WSTOPSIG(status));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
fail:
	kill(pid, SIGKILL);
	return 99;
}

/* ---- work ---- */

static void tell(const char *what, int good)
{
	printf("%s %s\n", good ? "ok" : strerrorname_np(errno), what);
	fflush(stdout);
}

/* It ends with its parent. */
static pid_t child(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static int op(int set, int num, int by, int flg)
{
	struct sembuf o = {(unsigned short)num, (short)by, (short)flg};

	return semop(set, &o, 1);
}

static void until_asleep(int set, int num)
{
	int i;

	for (i = 0; i < 5000 && semctl(set, num, GETNCNT) == 0; i++)
		usleep(1000);
}

/* A child takes what there is, and is killed when somebody has slept for it so
 * long that deaths are watched for: a sleep's first milliseconds are on the own
 * word alone. It is not waited for before that one is told to go on. */
static void hold_and_kill(int set)
{
	pid_t pid = child();

	if (!pid) {
		op(set, 1, -1, SEM_UNDO);
		op(set, 2, 1, 0);
		for (;;)
			pause();
	}
	until_asleep(set, 1);
	usleep(200000);
	kill(pid, SIGKILL);
	op(set, 2, -1, 0);
}

static void work_sem(void)
{
	int set = semget(IPC_PRIVATE, 3, 0600), status = 0;
	pid_t pid;

	tell("semget", set >= 0);
	if (set < 0)
		return;
	pid = child();
	if (!pid)
		_exit(op(set, 0, -1, 0) != 0);
	until_asleep(set, 0);
	tell("semop that wakes", !op(set, 0, 1, 0));
	tell("who was woken", waitpid(pid, &status, 0) == pid && !status);
	op(set, 1, 1, 0);
	pid = child();
	if (!pid) {
		hold_and_kill(set);
		_exit(0);
	}
	tell("the holder holds", !op(set, 2, -1, 0));
	tell("SEM_UNDO of the killed",
		!semtimedop(set, &(struct sembuf){1, -1, 0}, 1,
			&(struct timespec){10, 0}));
	op(set, 2, 1, 0);
	waitpid(pid, &status, 0);
	semctl(set, 0, IPC_RMID);
}

static void work_msg(void)
{
	struct {
		long type;
		char text[8000];
	} m = {1, "x"};
	int id = msgget(IPC_PRIVATE, 0600), status = 0;
	pid_t pid;

	tell("msgget", id >= 0);
	if (id < 0)
		return;
	pid = child();
	if (!pid)
		_exit(msgrcv(id, &m, sizeof(m.text), 0, 0) != sizeof(m.text));
	usleep(10000);
	tell("msgsnd", !msgsnd(id, &m, sizeof(m.text), 0));
	tell("msgrcv", waitpid(pid, &status, 0) == pid && !status);
	msgctl(id, IPC_RMID, NULL);
}

static void work_shm(void)
{
	int id = shmget(IPC_PRIVATE, 100000, 0600), status = 0;
	struct shmid_ds ds = {0};
	char *p = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);

	tell("shmget, shmat", p != MAP_FAILED);
	if (p == MAP_FAILED)
		return;
	if (!child()) {
		p[99999] = 7;
		_exit(0);
	}
	wait(&status);
	tell("a child's byte", p[99999] == 7);
	tell("nattch", !shmctl(id, IPC_STAT, &ds) && ds.shm_nattch == 1);
	shmctl(id, IPC_RMID, NULL);
	tell("shmdt", !shmdt(p));
}

static void work_mq(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 100};
	char text[100];
	int status = 0;
	mqd_t q = mq_open("/sandbox", O_CREAT | O_RDWR, 0600, &attr);
	pid_t pid;

	tell("mq_open", q >= 0);
	if (q < 0)
		return;
	pid = child();
	if (!pid)
		_exit(mq_receive(q, text, 100, NULL) != 5);
	usleep(10000);
	tell("mq_send", !mq_send(q, "hello", 5, 1));
	tell("mq_receive", waitpid(pid, &status, 0) == pid && !status);
	mq_close(q);
	tell("mq_unlink", !mq_unlink("/sandbox"));
}

/* ---- stopped ---- */

/* As /proc has it, or 0. */
static char state_of(pid_t pid)
{
	char path[64], line[256], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY);
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = 0;
	end = strrchr(line, ')');
	return end ? end[2] : 0;
}

/* It comes to one of these states, and is found in it four times in a row: which
 * one, or 0. However busy the machine is, a process that has been continued and
 * has not run yet is in neither of those that are asked for then. */
static char comes_to(pid_t pid, const char *states)
{
	char state, last = 0;
	int i, seen = 0;

	for (i = 0; i < 5000 && seen < 4; i++, usleep(1000)) {
		state = state_of(pid);
		seen = !state || !strchr(states, state) ? 0
		       : state == last			? seen + 1
							: 1;
		last = state;
	}
	return seen < 4 ? 0 : last;
}

static void stopped(void)
{
	int set = semget(IPC_PRIVATE, 1, 0600), status = 0;
	pid_t pid = child();

	if (!pid)
		_exit(op(set, 0, -1, 0) ? errno : 0);
	until_asleep(set, 0);
	comes_to(pid, "S");
	kill(pid, SIGSTOP);
	comes_to(pid, "T");
	kill(pid, SIGCONT);
	/* It ends with EINTR, or sleeps again; what counts is how it ends. */
	if (comes_to(pid, "SZ") != 'S' || op(set, 0, 1, 0))
		waitpid(pid, &status, 0);
	else if (waitpid(pid, &status, 0) == pid && !status)
		status = -1;
	puts(status == -1		       ? "sleeps on"
		: WEXITSTATUS(status) == EINTR ? "EINTR"
					       : "lost");
	semctl(set, 0, IPC_RMID);
}

/* Without a registry it was the kernel that did all this. */
static void tell_registry(void)
{
	const char *path = getenv("IPCLIFT_REGISTRY");
	struct stat st;

	puts(path && !stat(path, &st) && st.st_size ? "registry" : "kernel");
}

int main(int argc, char **argv)
{
	if (argc > 4 && !strcmp(argv[1], "deny")) {
		if (refuse(argv[2], atoi(argv[3])))
			return 98;
		execvp(argv[4], argv + 4);
		return 127;
	}
	if (argc > 2 && !strcmp(argv[1], "oldns")) {
		if (forget_ids())
			return 98;
		execvp(argv[2], argv + 2);
		return 127;
	}
	if (argc > 2 && !strcmp(argv[1], "novdso"))
		return without_vdso(argv + 2);
	alarm(15);
	if (argc > 1 && !strcmp(argv[1], "stopped")) {
		stopped();
		return 0;
	}
	work_sem();
	work_msg();
	work_shm();
	work_mq();
	tell_registry();
	return 0;
}
