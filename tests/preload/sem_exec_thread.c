// SPDX-License-Identifier: MIT
/*
 * sem_exec_thread: a thread that is not the leader calls exec, and so becomes
 * the leader, with the leader's thread id. What the process has taken with
 * SEM_UNDO stays taken in the new image, whether that ever makes an IPC call or
 * not, and comes back when it is killed.
 *
 * The bug: the word by which the kernel tells of a process's death had the
 * thread's old id, which no thread has any more when the kernel compares it.
 */
#include "t.h"

#include <pthread.h>
#include <sys/shm.h>

static int set;
static int ready[2];

/* What the thread executes: something that makes no call, or this program. */
static const char *const quiet[] = {"cat", NULL};
static const char *const calling[] = {"sem_exec_thread", "again", NULL};

struct plan {
	const char *const *argv;
	int leader_takes; /* before the thread does */
};

static void *take_and_execute(void *arg)
{
	const struct plan *plan = arg;

	semop(set, OPS({0, -1, U}));
	execv(plan->argv == quiet ? "/bin/cat" : "/proc/self/exe",
		(char *const *)plan->argv);
	_exit(90);
}

/* A process whose thread executes it, and has when this returns. */
static pid_t start(struct plan *plan)
{
	int hold[2];
	char c;
	pid_t pid;

	if (pipe(ready) || pipe(hold))
		_exit(91);
	pid = t_fork();
	if (!pid) {
		char id[16];
		pthread_t t;

		snprintf(id, sizeof(id), "%d", set);
		setenv("SET", id, 1);
		alarm(0);
		/* cat: the end of its input would end it. */
		dup2(hold[0], 0);
		dup2(ready[1], 1);
		fcntl(ready[1], F_SETFD, FD_CLOEXEC);
		if (plan->leader_takes)
			semop(set, OPS({1, -1, U}));
		pthread_create(&t, NULL, take_and_execute, plan);
		for (;;)
			pause();
	}
	/* cat gives back what it reads; the other says so itself. */
	if (write(hold[1], "x", 1) != 1 || read(ready[0], &c, 1) != 1)
		_exit(92);
	close(hold[0]);
	close(ready[1]);
	return pid;
}

static void case_of(struct plan *plan, const char *before)
{
	pid_t pid, sleeper, other;

	set = t_set(2, VALS(3, 1));
	pid = start(plan);
	t_row(set, GETVAL, before);
	sleeper = t_sleeper(set, OPS({0, -3, 0}));
	t_wait_blocked(set, 0, GETNCNT, 1);
	other = t_sleeper(set, OPS({1, -1, 0}, {0, -3, 0}));
	t_wait_blocked(set, 0, GETNCNT, plan->leader_takes ? 1 : 2);
	t_wait_blocked(set, 1, GETNCNT, plan->leader_takes ? 1 : 0);
	kill(pid, SIGKILL);
	t_eq(t_join(pid), 1000 + SIGKILL);
	t_eq(t_join(sleeper), 0);
	t_eq(semop(set, OPS({0, 3, 0})), 0);
	t_eq(t_join(other), 0);
	t_row(set, GETVAL, "0 0");
	t_rm(set);
}

/* Nobody sleeps: whoever looks next finds it given back. */
static void looked_at(struct plan *plan)
{
	pid_t pid;

	set = t_set(2, VALS(3, 1));
	pid = start(plan);
	kill(pid, SIGKILL);
	t_eq(t_join(pid), 1000 + SIGKILL);
	t_row(set, GETVAL, "3 1");
	t_eq(semop(set, OPS({0, -3, NW}, {1, -1, NW})), 0);
	t_rm(set);
}

/* And what it had attached is not attached any more. */
static void attached(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	struct plan plan = {quiet, 1};
	struct shmid_ds ds;
	pid_t pid;

	set = t_set(2, VALS(3, 1));
	t_true(shmat(id, NULL, 0) != (void *)-1);
	pid = start(&plan);
	t_eq(shmctl(id, IPC_STAT, &ds), 0);
	t_true(ds.shm_nattch == 1);
	kill(pid, SIGKILL);
	t_eq(t_join(pid), 1000 + SIGKILL);
	t_eq(shmctl(id, IPC_STAT, &ds), 0);
	t_true(ds.shm_nattch == 1);
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	t_rm(set);
}

static int again(void)
{
	const char *id = getenv("SET");

	set = id ? atoi(id) : -1;
	if (semop(set, OPS({0, -1, U})) || write(1, "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "again"))
		return again();
	t_begin();
	t_say("-- the new image makes no call");
	case_of(&(struct plan){quiet, 0}, "2 1");
	looked_at(&(struct plan){quiet, 0});
	t_say("-- the new image takes another unit");
	case_of(&(struct plan){calling, 0}, "1 1");
	looked_at(&(struct plan){calling, 0});
	t_say("-- the leader took one before");
	case_of(&(struct plan){quiet, 1}, "2 0");
	looked_at(&(struct plan){calling, 1});
	t_say("-- a segment");
	attached();
	return t_end();
}
