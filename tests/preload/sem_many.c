// SPDX-License-Identifier: MIT
/*
 * sem_many: the fast paths of semop with more of everything: sets
 * used in turn whose ids are equal modulo 8 and 16, many sets with SEM_UNDO,
 * large sets that one process has to itself (with semaphores equal modulo 64 in
 * one call), and operations with a timeout that need not wait. Each long enough
 * for the shim to take its fast path.
 */
#include "t.h"

#define SETS 60
#define TURNS 400
#define LARGE 500

static int ids[SETS];

static void sets_in_turn(void)
{
	int good = 0, right = 0;

	t_story("sets in turn");
	for (int i = 0; i < SETS; i++)
		ids[i] = t_set(1, NULL);
	for (int step = 8; step <= 32; step *= 2)
		for (int k = 0; k < TURNS; k++)
			for (int i = 0; i < SETS; i += step)
				good += !semop(ids[i], OPS({0, 1, 0}));
	t_say("%d", good);
	for (int i = 0; i < SETS; i++)
		right += semctl(ids[i], 0, GETVAL);
	t_eq(right, good);
}

static int alone_with(int id, int n)
{
	int good = 0;

	for (int k = 0; k < n; k++)
		good += !semop(id, OPS({0, k % 2 ? -1 : 1, 0}));
	return good;
}

/* The next set that stands where `old` stood; -1 if none comes. */
static int in_place_of(int old)
{
	for (int k = 0; k < 200; k++) {
		int id = semget(IPC_PRIVATE, 1, 0600);

		if (id < 0 || ((id - old) % 32768 == 0 && id != old))
			return id;
		t_rm(id);
	}
	return -1;
}

/*
 * Two sets whose ids are equal modulo 8 are used in turn, long enough for both
 * to be known by the short way. Then one of them goes, another set comes into
 * its place and is used as long: the old id is nobody's.
 */
static void one_of_two_goes(int first)
{
	int pair[9], next, good = 0;

	t_story("one of two goes");
	for (int i = 0; i < 9; i++)
		pair[i] = t_set(1, NULL);
	for (int k = 0; k < TURNS; k++)
		good += alone_with(pair[0], 2) + alone_with(pair[8], 2);
	t_eq(good, 4 * TURNS);
	for (int times = 0; times < 2; times++) {
		t_rm(pair[first]);
		next = in_place_of(pair[first]);
		t_true(next >= 0);
		t_eq(alone_with(next, TURNS), TURNS);
		t_err(semop(pair[first], OPS({0, 1, 0})), EINVAL);
		t_eq(alone_with(pair[8 - first], TURNS), TURNS);
		t_err(semop(pair[first], OPS({0, 1, 0})), EINVAL);
		t_eq(semctl(next, 0, GETVAL), 0);
		pair[first] = next;
	}
	for (int i = 0; i < 9; i++)
		t_rm(pair[i]);
}

static void undo_everywhere(void)
{
	struct sembuf up = {0, 1, U}, down = {0, -1, U};
	int left = 0;
	pid_t pid;

	t_story("undo in many sets");
	for (int i = 0; i < SETS; i++)
		left += semctl(ids[i], 0, GETVAL);
	t_true(left > 0);
	pid = t_fork();
	if (pid == 0) {
		for (int k = 0; k < 20; k++)
			for (int i = 0; i < SETS; i++)
				if (semop(ids[i], k % 4 < 3 ? &up : &down, 1))
					_exit(errno);
		/* A set that came instead of another has its own record. */
		for (int i = 0; i < SETS; i += 7) {
			if (semctl(ids[i], 0, IPC_RMID))
				_exit(errno);
			ids[i] = semget(IPC_PRIVATE, 1, 0600);
			if (semop(ids[i], &up, 1) ||
				semctl(ids[i], 0, GETVAL) != 1)
				_exit(100);
		}
		for (int i = 0; i < SETS; i += 7)
			if (semctl(ids[i], 0, IPC_RMID))
				_exit(errno);
		pid = fork();
		if (pid == 0)
			_exit(t_code(semop(ids[1], &up, 1)));
		_exit(t_join(pid));
	}
	t_eq(t_join(pid), 0);
	for (int i = 0; i < SETS; i++)
		if (i % 7)
			left -= semctl(ids[i], 0, GETVAL);
	/* What was in those that are gone. */
	t_say("%d", left);
	for (int i = 0; i < SETS; i++)
		if (i % 7)
			t_rm(ids[i]);
}

static void large(int n)
{
	int id = t_set(n, NULL), good = 0;

	t_story("a large set");
	for (int k = 0; k < 3 * LARGE; k++)
		good += !semop(id, OPS({(unsigned short)(n - 1), 1, 0}));
	t_eq(good, 3 * LARGE);
	for (int k = 0; k < 100; k++)
		good -= !semop(id, OPS({(unsigned short)(n - 1), -1, 0},
					   {(unsigned short)(n - 65), 1, 0},
					   {0, 1, 0}, {1, 0, 0}));
	t_eq(good, 3 * LARGE - 100);
	t_eq(semctl(id, n - 65, GETVAL), 100);
	/* Twice the same, and two that are not. */
	t_eq(semop(id, OPS({5, 1, 0}, {5, 1, 0}, {69, 1, 0})), 0);
	t_eq(semctl(id, 5, GETVAL), 2);
	t_eq(semctl(id, 69, GETVAL), 1);
	t_err(semop(id, OPS({5, -3, NW}, {69, 1, 0})), EAGAIN);
	t_err(semop(id, OPS({5, 1, NW}, {(unsigned short)n, 1, 0})), EFBIG);
	for (int k = 0; k < 100; k++)
		good -= !semop(id, OPS({7, 1, U})) +
			!semop(id, OPS({7, -1, U}, {8, 1, U}));
	t_eq(good, 3 * LARGE - 300);
	t_eq(semctl(id, 8, GETVAL), 100);
	t_pid_is(id, 8, getpid());
	/* Another process ends it. */
	t_eq(t_join(t_sleeper(id, OPS({8, -100, 0}, {n - 1, -1, U}))), 0);
	t_eq(semctl(id, 8, GETVAL), 0);
	t_eq(semctl(id, n - 1, GETVAL), 3 * LARGE - 100);
	t_rm(id);
}

static void timed(void)
{
	struct timespec second = {1, 0}, zero = {0, 0}, wrong = {0, 1000000000},
			negative = {-1, 0}, hour = {3600, 0};
	int id = t_set(2, NULL), good = 0;
	pid_t child;

	t_story("timeouts");
	for (int k = 0; k < TURNS; k++)
		good += !semtimedop(id, OPS({0, 1, 0}), &second);
	for (int k = 0; k < 10; k++)
		good += !semtimedop(id, OPS({0, -1, 0}), &zero);
	t_eq(good, TURNS + 10);
	t_row(id, GETVAL, "390 0");
	t_err(semtimedop(id, OPS({0, 1, 0}), &wrong), EINVAL);
	t_err(semtimedop(id, OPS({0, 1, 0}), &negative), EINVAL);
	t_err(semtimedop(id, OPS({0, 1, 0}), (void *)8), EFAULT);
	t_err(semtimedop(id, OPS({1, -1, 0}), &zero), EAGAIN);
	t_err(semtimedop(id, OPS({1, -1, NW}), &second), EAGAIN);
	t_err(semtimedop(id, OPS({2, 1, 0}), &second), EFBIG);
	t_err(semtimedop(id, (void *)8, 1, &second), EFAULT);
	t_err(semtimedop(id, OPS({0, 32767, 0}), &second), ERANGE);
	t_err(semtimedop(-1, OPS({0, 1, 0}), &second), EINVAL);
	t_row(id, GETVAL, "390 0");
	/* Whole seconds are a time to wait, too. */
	child = t_fork();
	if (!child)
		_exit(!t_poll(id, 1, GETNCNT, 1) ||
			semop(id, OPS({1, 1, 0})) != 0);
	t_eq(semtimedop(id, OPS({1, -1, 0}), &hour), 0);
	t_eq(t_join(child), 0);
	t_rm(id);
	t_err(semtimedop(id, OPS({0, 1, 0}), &second), EINVAL);
}

int main(void)
{
	t_begin();
	sets_in_turn();
	undo_everywhere();
	one_of_two_goes(0);
	one_of_two_goes(8);
	large(76);
	large(LARGE);
	timed();
	return t_end();
}
