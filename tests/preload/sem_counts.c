// SPDX-License-Identifier: MIT
/*
 * sem_counts: where GETNCNT and GETZCNT count a sleeper.
 *
 * Once, on the semaphore of the operation that it is blocked at, and by that
 * operation's kind. When a change lets it come further, the count moves. One
 * fine point is the kernel's own: an array of waits for zero is looked at only
 * when one of its semaphores becomes zero, so its count can be out of date.
 */
#include "t.h"

static pid_t sleep_on(
	int id, int num, int cmd, int n, struct sembuf *ops, size_t n_ops)
{
	pid_t child = t_sleeper(id, ops, n_ops);

	t_wait_blocked(id, num, cmd, n);
	return child;
}

#define SLEEP(num, cmd, n, ...) sleep_on(id, num, cmd, n, OPS(__VA_ARGS__))

static void end(int id, pid_t w)
{
	kill(w, SIGKILL);
	t_eq(t_join(w), 1000 + SIGKILL);
	t_eq(semctl(id, 0, GETNCNT), 0);
	t_eq(semctl(id, 0, GETZCNT), 0);
}

static void nobody(void)
{
	int id = t_set(2, NULL);

	t_story("nobody sleeps");
	t_row(id, GETNCNT, "0 0");
	t_row(id, GETZCNT, "0 0");
	t_err(semctl(id, 2, GETNCNT), EINVAL);
	t_err(semctl(id, 2, GETZCNT), EINVAL);
	t_err(semctl(id, -1, GETNCNT), EINVAL);
	t_err(semop(id, OPS({0, -1, NW})), EAGAIN);
	t_row(id, GETNCNT, "0 0");
	t_rm(id);
}

static void only_the_blocking_one(void)
{
	int id = t_set(4, VALS(1, 1, 0, 0)), w;

	t_story("counted at the blocking operation only");
	w = SLEEP(
		2, GETNCNT, 1, {0, -1, 0}, {1, -1, 0}, {2, -1, 0}, {3, -1, 0});
	t_row(id, GETNCNT, "0 0 1 0");
	t_row(id, GETZCNT, "0 0 0 0");
	t_eq(semop(id, OPS({2, 1, 0})), 0);
	t_row(id, GETNCNT, "0 0 0 1");
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETNCNT, "1 0 0 0");
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETNCNT, "0 0 0 1");
	t_eq(semctl(id, 1, SETVAL, 0), 0);
	t_row(id, GETNCNT, "0 1 0 0");
	t_row(id, GETVAL, "1 0 1 0");
	end(id, w);
	t_row(id, GETNCNT, "0 0 0 0");
	t_rm(id);
}

static void kind_of_the_blocking_one(void)
{
	int id = t_set(2, VALS(1, 0)), w;

	t_story("an array that alters, blocked at its wait for zero");
	w = SLEEP(0, GETZCNT, 1, {0, 0, 0}, {1, -1, 0});
	t_row(id, GETNCNT, "0 0");
	t_row(id, GETZCNT, "1 0");
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETNCNT, "0 1");
	t_row(id, GETZCNT, "0 0");
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETNCNT, "0 0");
	t_row(id, GETZCNT, "1 0");
	end(id, w);
	t_story("both on one semaphore");
	t_eq(semctl(id, 0, SETVAL, 1), 0);
	w = SLEEP(0, GETZCNT, 1, {0, -1, 0}, {0, 1, 0}, {0, 0, 0});
	t_row(id, GETNCNT, "0 0");
	t_eq(semctl(id, 0, SETVAL, 0), 0);
	t_row(id, GETNCNT, "1 0");
	t_row(id, GETZCNT, "0 0");
	end(id, w);
	t_rm(id);
}

static void several(void)
{
	int id = t_set(2, VALS(1, 1)), w[7];

	t_story("several of each kind");
	w[0] = SLEEP(0, GETNCNT, 1, {0, -2, 0});
	w[1] = SLEEP(0, GETZCNT, 1, {0, 0, 0});
	w[2] = SLEEP(0, GETNCNT, 2, {0, -2, 0}, {1, -1, 0});
	w[3] = SLEEP(0, GETZCNT, 2, {0, 0, 0}, {1, 0, 0});
	w[4] = SLEEP(1, GETZCNT, 1, {1, 0, 0});
	w[5] = SLEEP(1, GETNCNT, 1, {1, -3, 0});
	w[6] = SLEEP(1, GETZCNT, 2, {1, 0, 0}, {0, 1, 0});
	t_row(id, GETNCNT, "2 1");
	t_row(id, GETZCNT, "2 2");
	kill(w[2], SIGKILL);
	t_eq(t_join(w[2]), 1000 + SIGKILL);
	t_row(id, GETNCNT, "1 1");
	kill(w[3], SIGKILL);
	t_eq(t_join(w[3]), 1000 + SIGKILL);
	t_row(id, GETZCNT, "1 2");
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETZCNT, "0 2");
	t_eq(t_join(w[1]), 0);
	t_eq(semctl(id, 1, SETVAL, 0), 0);
	t_row(id, GETVAL, "1 0");
	t_row(id, GETNCNT, "1 1");
	t_row(id, GETZCNT, "0 0");
	t_eq(t_join(w[4]), 0);
	t_eq(t_join(w[6]), 0);
	t_rm(id);
	t_eq(t_join(w[0]), EIDRM);
	t_eq(t_join(w[5]), EIDRM);
}

/* The kernel's fine point; §4.5. */
static void stale_zero_count(void)
{
	int id = t_set(2, VALS(1, 1)), w;

	t_story("the count of an array of waits for zero can be stale");
	w = SLEEP(0, GETZCNT, 1, {0, 0, 0}, {1, 0, 0});
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETZCNT, "0 1");
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETVAL, "1 1");
	t_row(id, GETZCNT, "0 1");
	t_eq(semop(id, OPS({1, 1, 0})), 0);
	t_row(id, GETZCNT, "0 1");
	t_eq(semop(id, OPS({1, -2, 0})), 0);
	t_row(id, GETVAL, "1 0");
	t_row(id, GETZCNT, "1 0");
	t_eq(semctl(id, 1, SETVAL, 4), 0);
	t_row(id, GETZCNT, "1 0");
	t_eq(semctl(id, 0, SETVAL, 0), 0);
	t_row(id, GETZCNT, "0 1");
	t_eq(semctl(id, 1, SETVAL, 0), 0);
	t_row(id, GETZCNT, "0 0");
	t_eq(t_join(w), 0);
	t_rm(id);
}

static void not_stale_when_it_alters(void)
{
	int id = t_set(3, VALS(1, 1, 0)), w;

	t_story("an array that alters as well is always looked at");
	w = SLEEP(0, GETZCNT, 1, {0, 0, 0}, {1, 0, 0}, {2, 1, 0});
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_row(id, GETZCNT, "0 1 0");
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_row(id, GETZCNT, "1 0 0");
	end(id, w);
	t_rm(id);
}

static void timeout_and_removal(void)
{
	struct timespec ms = {0, 2000000};
	int id = t_set(1, NULL);

	t_story("a timeout leaves no count");
	t_err(semtimedop(id, OPS({0, -1, 0}), &ms), EAGAIN);
	t_err(semtimedop(id, OPS({0, 1, 0}, {0, -2, 0}), &ms), EAGAIN);
	t_err(semtimedop(id, OPS({0, 1, 0}, {0, 0, 0}), &ms), EAGAIN);
	t_row(id, GETNCNT, "0");
	t_row(id, GETZCNT, "0");
	t_rm(id);
	t_err(semctl(id, 0, GETNCNT), EINVAL);
}

int main(void)
{
	t_begin();
	nobody();
	only_the_blocking_one();
	kind_of_the_blocking_one();
	several();
	stale_zero_count();
	not_stale_when_it_alters();
	timeout_and_removal();
	return t_end();
}
