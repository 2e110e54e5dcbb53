// SPDX-License-Identifier: MIT
/*
 * A waker is killed at the worst moment, and others, too: the sleeper is let
 * through exactly once, by a living process, and never forgotten.
 *
 * Under the shim the moments are chosen by breakpoints (stops.h); on the
 * kernel, where an operation is atomic, a process is killed before or after it
 * instead.
 */
#include "stops.h"
#include <sys/msg.h>

static struct {
	volatile int rounds; /* of the sleeper */
	volatile int got;
} * shared;
static int id;

static int under_shim;

/* Known to the registry: a change of the other semaphore, under the lock. */
static void enroll(void)
{
	semop(id, OPS({1, 1, U}, {1, -1, U}));
}

static int wait_for(volatile int *what, int value, int ms)
{
	while (*what != value && ms-- > 0)
		usleep(1000);
	return *what == value;
}

/* Through the lock, not by the fast path. */
static void run_increment(void)
{
	enroll();
	stop_here();
	semop(id, OPS({0, 1, 0}));
}

static void run_three_decrements(void)
{
	enroll();
	stop_here();
	for (int i = 0; i < 3; i++) {
		if (semop(id, OPS({0, -1, 0})))
			_exit(1);
		shared->rounds++;
	}
}

/* The first waker has promised and dies; the second one grants, and has not yet
 * made its last store when the sleeper comes for the lock. */
static void two_wakers(void)
{
	pid_t s, w1, w2;

	t_story("a waker dies in its grant, another one grants");
	id = t_set(2, VALS(0, 0));
	shared->rounds = 0;
	s = stop_child(run_three_decrements);
	t_true(stop_wait(s, SIGSTOP));
	w1 = stop_child(run_increment);
	t_true(stop_wait(w1, SIGSTOP));
	w2 = stop_child(run_increment);
	t_true(stop_wait(w2, SIGSTOP));
	if (under_shim) {
		struct stop lock;

		/* Asleep, and stops when it wants the lock again. */
		t_quiet(stop_at(s, "lock_acquire", NULL, 1));
		t_quiet(!ptrace(PTRACE_SINGLESTEP, s, NULL, NULL) &&
			stop_wait(s, SIGTRAP));
		t_quiet(stop_set(&lock, s, stop_find("lock_acquire", NULL)));
		ptrace(PTRACE_CONT, s, NULL, NULL);
		t_wait_blocked(id, 0, GETNCNT, 1);
		t_quiet(stop_at(w1, "wait_grant", NULL, 1) && stop_return(w1));
		stop_kill(w1);
		t_quiet(stop_wait(s, SIGTRAP) && stop_clear(&lock));
		t_quiet(stop_at(w2, "wake_next", "flush", 1));
		stop_go(s);
		usleep(200000);
		stop_go(w2);
	} else {
		stop_go(s);
		t_wait_blocked(id, 0, GETNCNT, 1);
		stop_kill(w1);
		stop_go(w2);
	}
	t_true(t_join(w2) == 0);
	t_true(wait_for(&shared->rounds, 1, 8000));
	t_wait_blocked(id, 0, GETNCNT, 1);
	usleep(20000);
	t_true(shared->rounds == 1);
	t_row(id, GETVAL, "0 0");
	t_row(id, GETNCNT, "1 0");
	t_eq(semop(id, OPS({0, 2, 0})), 0);
	t_true(t_join(s) == 0);
	t_true(shared->rounds == 3);
	t_row(id, GETVAL, "0 0");
	t_rm(id);
}

static void run_one_decrement(void)
{
	int ret = semop(id, OPS({0, -1, 0}));

	shared->got = ret ? errno : 1;
}

/* Two that sleep, the first one enrolled before it sleeps. */
static void two_sleepers(pid_t *ret_first, pid_t *ret_second)
{
	shared->got = 0;
	*ret_first = t_sleeper(id, OPS({0, -1, 0}));
	t_wait_blocked(id, 0, GETNCNT, 1);
	*ret_second = t_fork();
	if (*ret_second == 0) {
		run_one_decrement();
		_exit(0);
	}
	t_wait_blocked(id, 0, GETNCNT, 2);
}

/* On the kernel whoever is killed must be gone before the other one acts. */
static void kill_together(pid_t first, pid_t w)
{
	kill(first, SIGKILL);
	if (under_shim)
		stop_kill(w);
	waitpid(first, NULL, 0);
	if (!under_shim)
		stop_go(w);
}

/* The waker has committed, and dies together with whom it had the crash
 * guard. */
static void killed_together(void)
{
	pid_t w, first, second;

	t_story("a waker dies together with one of two sleepers");
	id = t_set(2, VALS(0, 0));
	w = stop_child(run_increment);
	t_true(stop_wait(w, SIGSTOP));
	two_sleepers(&first, &second);
	if (under_shim)
		t_quiet(stop_at(w, "sem_pass", NULL, 1));
	kill_together(first, w);
	/* Nobody touches the set. */
	t_true(wait_for(&shared->got, 1, 8000));
	t_true(t_join(second) == 0);
	if (!under_shim)
		t_join(w);
	t_row(id, GETVAL, "0 0");
	t_rm(id);
}

static void run_removal(void)
{
	enroll();
	stop_here();
	semctl(id, 0, IPC_RMID);
}

static void removal_together(void)
{
	pid_t w, first, second;

	t_story("who removes the set dies together with one of two sleepers");
	id = t_set(2, VALS(0, 0));
	w = stop_child(run_removal);
	t_true(stop_wait(w, SIGSTOP));
	two_sleepers(&first, &second);
	if (under_shim)
		t_quiet(stop_at(w, "visit_cancel", "sem_cancel", 1));
	kill_together(first, w);
	t_true(wait_for(&shared->got, EIDRM, 8000));
	t_true(t_join(second) == 0);
	if (!under_shim)
		t_join(w);
	t_err(semctl(id, 0, GETVAL), EINVAL);
}

struct text {
	long type;
	char body[64];
};

static void run_qbytes(void)
{
	struct msqid_ds ds;

	msgctl(id, IPC_STAT, &ds);
	stop_here();
	ds.msg_qbytes = 1024;
	msgctl(id, IPC_SET, &ds);
}

static pid_t sender(int noted)
{
	pid_t pid = t_fork();
	struct text m = {1, "x"};

	if (pid)
		return pid;
	if (msgsnd(id, &m, sizeof(m.body), 0))
		_exit(1);
	if (noted)
		shared->got = 1;
	_exit(0);
}

/* A process sleeps in msgsnd: nobody counts them, but it stands in a futex or
 * in the call. */
static void wait_sleeps(pid_t pid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 5000 && state != 'S'; i++) {
		usleep(2000);
		f = fopen(path, "r");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
	}
	usleep(20000);
}

static void senders_together(void)
{
	struct text m = {1, "x"};
	struct msqid_ds ds;
	pid_t w, first, second;

	t_story("who makes room dies together with one of two senders");
	id = msgget(IPC_PRIVATE, 0600);
	t_true(id >= 0 && !msgctl(id, IPC_STAT, &ds));
	ds.msg_qbytes = 64;
	t_eq(msgctl(id, IPC_SET, &ds), 0);
	t_eq(msgsnd(id, &m, sizeof(m.body), 0), 0);
	shared->got = 0;
	w = stop_child(run_qbytes);
	t_true(stop_wait(w, SIGSTOP));
	first = sender(0);
	wait_sleeps(first);
	second = sender(1);
	wait_sleeps(second);
	if (under_shim)
		t_quiet(stop_at(w, "msgqueue_wake", NULL, 1));
	kill_together(first, w);
	t_true(wait_for(&shared->got, 1, 8000));
	t_true(t_join(second) == 0);
	if (!under_shim)
		t_join(w);
	t_eq(msgctl(id, IPC_RMID, NULL), 0);
}

int main(void)
{
	t_begin();
	under_shim = stop_shim() != 0;
	shared = t_shared(4096);
	two_wakers();
	killed_together();
	removal_together();
	senders_together();
	return t_end();
}
