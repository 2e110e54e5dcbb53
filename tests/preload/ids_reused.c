// SPDX-License-Identifier: MIT
/*
 * ids_reused: while a call on an object is under way, the object is removed and
 * its place in the table given to another one, which is smaller and has another
 * owner.
 *
 * A child makes the call by single steps. In each run it is held at another
 * instruction, while its parent removes the object and puts the other in its
 * place (sem_next_id). The call may find that the object is gone; it must not
 * be judged by the size or the rights of the other.
 *
 * The bug: semget(K, n, IPC_CREAT) failed with EINVAL although a set K of n
 * existed at every moment, since it looked up K without the lock and then
 * compared n with the size of whatever set was in the slot by then; shmget
 * likewise; semop, msgsnd, shmat and the ctl calls failed with EACCES.
 */
#include "t.h"
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/shm.h>

#define KEY 0x1d5ee
#define SIZE 4
/* Instructions between two that the child is held at; and where to stop. */
#define STRIDE 7
#define MOST 4000
/* The same place in the table, another id. */
#define NEXT_SEQ 32768

enum kind {
	SEM,
	MSG,
	SHM,
};
static const char *const requests[] = {"/proc/sys/kernel/sem_next_id",
	"/proc/sys/kernel/msg_next_id", "/proc/sys/kernel/shm_next_id"};

static int make(enum kind kind, key_t key, int size, int mode)
{
	mode |= IPC_CREAT | IPC_EXCL;
	return kind == SEM   ? semget(key, size, mode)
	       : kind == MSG ? msgget(key, mode)
			     : shmget(key, (size_t)size, mode);
}

static int gone(enum kind kind, int id)
{
	return kind == SEM   ? semctl(id, 0, IPC_RMID)
	       : kind == MSG ? msgctl(id, IPC_RMID, NULL)
			     : shmctl(id, IPC_RMID, NULL);
}

static void request_id(enum kind kind, int id)
{
	char text[16];
	int fd = open(requests[kind], O_WRONLY);
	int n = snprintf(text, sizeof(text), "%d", id);

	if (fd < 0 || write(fd, text, (size_t)n) != n)
		t_say("FAIL %s: errno %d", requests[kind], errno);
	close(fd);
}

static int victim;    /* the object's id */
static pid_t swapper; /* 0: it is done */

/* ---- the calls: 0 or errno ---- */

static int call_semget(void)
{
	return t_code(semget(KEY, SIZE, IPC_CREAT | 0600));
}
static int call_shmget(void)
{
	return t_code(shmget(KEY, SIZE, IPC_CREAT | 0600));
}
static int call_semop(void)
{
	return t_code(semop(victim, OPS({SIZE - 1, 1, 0})));
}
static int call_getval(void)
{
	return t_code(semctl(victim, SIZE - 1, GETVAL));
}
static int call_semstat(void)
{
	struct semid_ds ds;

	return t_code(semctl(victim, 0, IPC_STAT, &ds));
}
static int call_setval(void)
{
	return t_code(semctl(victim, SIZE - 1, SETVAL, 3));
}
static int call_msgsnd(void)
{
	struct msgbuf m = {.mtype = 1};

	return t_code(msgsnd(victim, &m, 1, IPC_NOWAIT));
}
static int call_msgstat(void)
{
	struct msqid_ds ds;

	return t_code(msgctl(victim, IPC_STAT, &ds));
}
static int call_shmat(void)
{
	void *p = shmat(victim, NULL, 0);

	return p == (void *)-1 ? errno : t_code(shmdt(p));
}
static int call_shmstat(void)
{
	struct shmid_ds ds;

	return t_code(shmctl(victim, IPC_STAT, &ds));
}

static const struct call {
	const char *name;
	enum kind kind;
	int by_key; /* must find the object, or one that took its key */
	int (*call)(void);
} calls[] = {
	{"semget", SEM, 1, call_semget},
	{"shmget", SHM, 1, call_shmget},
	{"semop", SEM, 0, call_semop},
	{"GETVAL", SEM, 0, call_getval},
	{"SETVAL", SEM, 0, call_setval},
	{"IPC_STAT of a set", SEM, 0, call_semstat},
	{"msgsnd", MSG, 0, call_msgsnd},
	{"IPC_STAT of a queue", MSG, 0, call_msgstat},
	{"shmat", SHM, 0, call_shmat},
	{"IPC_STAT of a segment", SHM, 0, call_shmstat},
};

static _Noreturn void traced(const struct call *call)
{
	/* What a first call does besides is not what is looked at. */
	call->call();
	if (!call->by_key)
		t_become(T_OTHER_UID, T_OTHER_UID);
	call->call();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	_exit(call->call());
}

static int step(pid_t pid, int *status)
{
	return !ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) &&
	       waitpid(pid, status, 0) == pid && WIFSTOPPED(*status);
}

/* The object goes and another takes its place. 0 if that must wait for the
 * child, which holds the lock. */
static int swap(const struct call *call)
{
	int status, naps = 200;
	pid_t pid = t_fork(), got;

	if (!pid) {
		gone(call->kind, victim);
		request_id(call->kind, victim + NEXT_SEQ);
		make(call->kind, IPC_PRIVATE, 1, 0600);
		make(call->kind, KEY, SIZE, call->by_key ? 0600 : 0666);
		_exit(0);
	}
	while (!(got = waitpid(pid, &status, WNOHANG)) && naps--)
		t_nap();
	swapper = got ? 0 : pid;
	return got == pid;
}

/* All of a kind, whoever made them. */
static void clear(enum kind kind)
{
	struct seminfo sem;
	struct msginfo msg;
	struct shm_info shm;
	struct semid_ds sem_ds;
	struct msqid_ds msg_ds;
	struct shmid_ds shm_ds;
	int i, id,
		n = kind == SEM	  ? semctl(0, 0, SEM_INFO, &sem)
		    : kind == MSG ? msgctl(0, MSG_INFO, (void *)&msg)
				  : shmctl(0, SHM_INFO, (void *)&shm);

	for (i = 0; i <= n; i++) {
		id = kind == SEM   ? semctl(i, 0, SEM_STAT, &sem_ds)
		     : kind == MSG ? msgctl(i, MSG_STAT, &msg_ds)
				   : shmctl(i, SHM_STAT, &shm_ds);
		if (id >= 0)
			gone(kind, id);
	}
}

/* Hold it after n steps: its errno, or -1 if it had ended before, or none of
 * this can happen from there on. */
static int run(const struct call *call, int n)
{
	int status, left = n, mode = call->by_key ? 0600 : 0666, swapped;
	pid_t pid;

	victim = make(call->kind, KEY, SIZE, mode);
	pid = t_fork();
	if (!pid)
		traced(call);
	waitpid(pid, &status, 0);
	while (left && WIFSTOPPED(status) && step(pid, &status))
		left--;
	swapped = swap(call);
	if (WIFSTOPPED(status)) {
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		waitpid(pid, &status, 0);
	}
	if (swapper)
		t_join(swapper);
	clear(call->kind);
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return left || !swapped ? -1 : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int n, err, wrong, stride = argc > 1 ? atoi(argv[1]) : STRIDE;

	t_begin();
	/* Else thousands of steps are the loader's. */
	if (!getenv("LD_BIND_NOW") && !setenv("LD_BIND_NOW", "1", 1))
		execv("/proc/self/exe", argv);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct call *call = &calls[i];

		alarm(T_LIMIT);
		wrong = 0;
		for (n = 1, err = 0; err >= 0 && n < MOST; n += stride) {
			err = run(call, n);
			if (err <= 0 ||
				(!call->by_key &&
					(err == EIDRM || err == EINVAL)))
				continue;
			wrong++;
			fprintf(stderr, "%s: %s after %d steps\n", call->name,
				t_errname(err), n);
		}
		t_cond(__FILE__, __LINE__, call->name, !wrong);
	}
	return t_end();
}
