// SPDX-License-Identifier: MIT
/*
 * sem_ids: which ids sets get.
 *
 * Indices are handed out in a circle of 64 places, or of half as many again
 * as there are sets; the sequence number above them (id / 32768) goes up when
 * the circle comes round. All is the namespace's history, so the order of the
 * functions below matters: each goes on where the last one stopped.
 */
#include "t.h"

static int make(void)
{
	return semget(IPC_PRIVATE, 1, 0600);
}

/* Print ids in one line: that line is the test. */
static void row(const char *what, const int *id, int n)
{
	char text[400];
	int len = 0;

	for (int i = 0; i < n; i++)
		len += snprintf(
			text + len, sizeof(text) - (size_t)len, " %d", id[i]);
	t_say("%s:%s", what, text);
}

static void one_after_another(void)
{
	int id[140], wrong = 0;

	t_story("make and remove, 130 times: 0…63, 32768…32831, 65536, 65537");
	for (int i = 0; i < 130; i++) {
		id[i] = make();
		t_rm(id[i]);
		wrong += id[i] != i / 64 * 32768 + i % 64;
	}
	t_true(wrong == 0);
	row("around the turn", id + 60, 8);
	row("the last two", id + 128, 2);
}

static void stale(int old, int now)
{
	unsigned short v[1] = {1};
	struct semid_ds ds;

	t_true(old != now && old % 32768 == now % 32768);
	t_err(semctl(old, 0, GETVAL), EINVAL);
	t_err(semctl(old, 0, SETVAL, 1), EINVAL);
	t_err(semctl(old, 0, GETALL, v), EINVAL);
	t_err(semctl(old, 0, IPC_STAT, &ds), EINVAL);
	t_err(semctl(old, 0, IPC_RMID), EINVAL);
	t_err(semop(old, OPS({0, 1, 0})), EINVAL);
	t_err(semop(old, OPS({9, 1, 0})), EINVAL);
	t_eq(semctl(old, 0, SEM_STAT, &ds), now);
	t_eq(semctl(old, 0, SEM_STAT_ANY, &ds), now);
	t_eq(semctl(now % 32768, 0, SEM_STAT, &ds), now);
	t_err(semctl(now % 32768, 0, IPC_STAT, &ds), EINVAL);
	t_true(semctl(now, 0, GETVAL) == 0);
}

static void stale_ids(void)
{
	int old = make(), id;

	t_story("an old id of a place that is in use again");
	t_rm(old);
	t_err(semctl(old, 0, GETVAL), EINVAL);
	do {
		id = make();
		if (id % 32768 != old % 32768)
			t_rm(id);
	} while (id % 32768 != old % 32768);
	stale(old, id);
	t_rm(id);
}

static void one_stays(void)
{
	int first = make(), id, wrong = 0, last = first;

	t_story("one stays: its place is left out");
	for (int i = 0; i < 70; i++) {
		id = make();
		wrong += id == first || id % 32768 == first % 32768;
		wrong += id <= last;
		last = id;
		t_rm(id);
	}
	t_true(wrong == 0);
	t_say("stayed %d, then 70 more: last %d", first, last);
	t_rm(first);
}

static void many_live(void)
{
	struct seminfo si;
	struct semid_ds ds;
	int id[100], more[52], wrong = 0;

	t_story("100 at once");
	for (int i = 0; i < 100; i++) {
		id[i] = make();
		for (int j = 0; j < i; j++)
			wrong += id[j] % 32768 == id[i] % 32768;
	}
	t_true(wrong == 0);
	row("the first", id, 10);
	row("the last", id + 90, 10);
	t_say("highest index %d", semctl(0, 0, SEM_INFO, &si));
	t_story("52 more, each removed at once");
	for (int i = 0; i < 52; i++) {
		more[i] = make();
		t_rm(more[i]);
	}
	row("ids", more, 26);
	row("ids", more + 26, 26);
	for (int i = 0; i < 100; i++)
		wrong += semctl(id[i] % 32768, 0, SEM_STAT, &ds) != id[i];
	t_true(wrong == 0);
	t_story("every second one removed, ten made");
	for (int i = 0; i < 100; i += 2)
		t_rm(id[i]);
	for (int i = 0; i < 20; i += 2)
		id[i] = make();
	for (int i = 0; i < 20; i += 2)
		row("id", id + i, 1);
	for (int i = 0; i < 20; i += 2)
		t_rm(id[i]);
	for (int i = 1; i < 100; i += 2)
		t_rm(id[i]);
	t_eq(semctl(0, 0, SEM_INFO, &si), 0);
	id[0] = make();
	row("all gone, the next", id, 1);
	t_rm(id[0]);
}

static void limit(void)
{
	static int id[32000];
	struct seminfo si;
	int wrong = 0, keyed;

	t_story("32000 sets and no more");
	keyed = semget(0x7f01, 1, IPC_CREAT | 0600);
	for (int i = 1; i < 32000; i++) {
		id[i] = make();
		wrong += id[i] < 0;
	}
	t_true(wrong == 0);
	t_err(make(), ENOSPC);
	t_err(semget(0x7f02, 1, IPC_CREAT | 0600), ENOSPC);
	t_err(semget(0x7f02, 1, 0), ENOENT);
	t_err(semget(0x7f02, 0, IPC_CREAT | 0600), EINVAL);
	t_err(semget(0x7f02, 32001, IPC_CREAT | 0600), EINVAL);
	t_eq(semget(0x7f01, 1, IPC_CREAT | 0600), keyed);
	t_err(semget(0x7f01, 1, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
	t_say("highest index %d", semctl(0, 0, SEM_INFO, &si));
	t_eq(si.semusz, 32000);
	t_eq(si.semaem, 32000);
	row("some of them", id + 1, 5);
	row("some of them", id + 31990, 10);
	t_story("one removed, one made");
	t_rm(id[500]);
	id[500] = make();
	t_true(id[500] >= 0);
	row("it", id + 500, 1);
	t_err(make(), ENOSPC);
	for (int i = 1; i < 32000; i++)
		wrong += semctl(id[i], 0, IPC_RMID) != 0;
	t_rm(keyed);
	t_true(wrong == 0);
	id[0] = make();
	row("all gone, the next", id, 1);
	t_rm(id[0]);
}

/* Where only one index is free, it is the last one again: a number of its own
 * nevertheless. */
static void full(void)
{
	static const char limits[] = "32000 1024000000 500 32768";
	int fd = open("/proc/sys/kernel/sem", O_WRONLY), wrong = 0;
	static int id[32768];

	t_story("all indices in use");
	t_eq(write(fd, limits, sizeof(limits) - 1), sizeof(limits) - 1);
	close(fd);
	for (int i = 0; i < 32768; i++) {
		id[i] = make();
		wrong += id[i] < 0;
	}
	t_true(wrong == 0);
	t_err(make(), ENOSPC);
	for (int i = 0; i < 3; i++) {
		int old = id[32767];

		t_rm(old);
		id[32767] = make();
		t_eq(id[32767] - old, 32768);
		t_err(semctl(old, 0, GETVAL), EINVAL);
	}
	for (int i = 0; i < 32768; i++)
		wrong += semctl(id[i], 0, IPC_RMID) != 0;
	t_true(wrong == 0);
}

int main(void)
{
	t_begin();
	one_after_another();
	stale_ids();
	one_stays();
	many_live();
	limit();
	full();
	return t_end();
}
