// SPDX-License-Identifier: MIT
/*
 * Many keys that come and go: each is found while it is there, and only then.
 * Some hundred sets and some thousand by turns, so that the table of keys grows
 * and shrinks. If IPCLIFT_TOOL names the command, it proves the registry, if
 * there is one, whole after each turn.
 */
#include "t.h"

#define KEYS 5000
#define FEW 300
#define TURNS 6
#define CALLS 12000

static int ids[KEYS]; /* -1: not there */

static key_t key_of(int i)
{
	return (key_t)(0x10000000 + i * 65537);
}

/* One key more or less, and what its callers see before and after. */
static int change(int i)
{
	key_t key = key_of(i);
	int seen = semget(key, 1, 0);

	if (seen != ids[i] || (seen < 0 && errno != ENOENT))
		return 0;
	if (seen >= 0) {
		ids[i] = -1;
		return !semctl(seen, 0, IPC_RMID) && semget(key, 1, 0) < 0 &&
		       errno == ENOENT;
	}
	ids[i] = semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);
	return ids[i] >= 0 && semget(key, 1, 0) == ids[i] &&
	       semget(key, 1, IPC_CREAT | IPC_EXCL | 0600) < 0 &&
	       errno == EEXIST;
}

static int whole(void)
{
	const char *tool = getenv("IPCLIFT_TOOL");
	int status;
	pid_t pid;

	if (!tool || !getenv("IPCLIFT_REGISTRY") || !getenv("LD_PRELOAD"))
		return 1;
	pid = fork();
	if (!pid) {
		unsetenv("LD_PRELOAD");
		dup2(2, 1);
		execl(tool, tool, "check", (char *)NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

int main(void)
{
	int wrong = 0, left = 0;

	srandom(7);
	for (int i = 0; i < KEYS; i++)
		ids[i] = -1;
	for (int turn = 0; turn < TURNS; turn++) {
		for (int n = 0; n < CALLS; n++)
			wrong += !change(
				(int)(random() % (turn % 2 ? KEYS : FEW)));
		t_true(whole());
	}
	t_true(wrong == 0);
	for (int i = 0; i < KEYS; i++)
		if (ids[i] >= 0)
			left += semctl(ids[i], 0, IPC_RMID) != 0;
	t_true(left == 0);
	for (int i = 0; i < KEYS; i++)
		left += semget(key_of(i), 1, 0) >= 0;
	t_true(left == 0);
	t_true(whole());
	return t_failed;
}
