// SPDX-License-Identifier: MIT
/*
 * threads: calls of all kinds by some threads on a few objects of one registry,
 * to be watched by ThreadSanitizer, which sees each load and store of the core:
 * two that are not ordered, one of them a store and one of them plain, are a
 * fault, unless intended.txt says why they are meant.
 *
 *	threads [ROUNDS]
 *
 * What the kernel does to the memory of sleepers and of exited tasks it does
 * not see; nobody dies here. The same seed each time, printed at the end.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mq/mqueue.h"
#include "msg/msg.h"
#include "object/limits.h"
#include "sem/sem.h"
#include "shm/shm.h"
#include "shm/shmmap.h"

#define N_WORKERS 4
#define N_OBJECTS 3
#define NOWAIT 04000
#define UNDO 010000
#define SEED 20261123u

static struct cred cred = {.euid = ~0u};
static struct shm_process process;
static struct region region;
static int rounds = 3000;

struct worker {
	struct caller c;
	unsigned long long state;
	struct mq_desc queues[N_OBJECTS];
	u64 attached;
	char text[8192];
};

static unsigned roll(struct worker *w, unsigned n)
{
	w->state = w->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(w->state >> 33) % n;
}

/* ---- one call ---- */

static void sets(struct worker *w)
{
	static const struct sys_timespec soon = {0, 200000};
	struct sop ops[3] = {{0, 1, NOWAIT}, {1, -1, NOWAIT}, {2, 1, NOWAIT}};
	int id = sem_get(&w->c, 1 + (s32)roll(w, N_OBJECTS), 3, 01600);
	struct sem_stat st;
	u16 all[3] = {2, 2, 2};

	ops[0].num = (u16)roll(w, 3);
	ops[0].op = roll(w, 2) ? 1 : -1;
	switch (roll(w, 12)) {
	case 0:
		sem_op(&w->c, id, ops, 3, NULL);
		break;
	case 1:
		ops[0].flg = NOWAIT | UNDO;
		sem_op(&w->c, id, ops, 1, NULL);
		break;
	case 2:
		ops[0].op = (s16)-roll(w, 3);
		ops[0].flg = 0;
		sem_op(&w->c, id, ops, 1, &soon);
		break;
	case 3:
		ops[1].flg = 0;
		sem_op(&w->c, id, ops, 2, &soon);
		break;
	case 4:
		sem_getval(&w->c, id, (s32)roll(w, 3));
		break;
	case 5:
		sem_getall(&w->c, id, all, 3);
		break;
	case 6:
		if (roll(w, 4))
			sem_setval(&w->c, id, (s32)roll(w, 3), 2);
		else
			sem_setall(&w->c, id, all, 3);
		break;
	case 7:
		sem_stat(&w->c, id, OBJECT_BY_ID, &st);
		break;
	case 8:
		if (!roll(w, 20))
			sem_remove(&w->c, id);
		break;
	default:
		sem_op(&w->c, id, ops, 1, NULL);
		break;
	}
}

static void queues(struct worker *w)
{
	int id = msg_get(&w->c, 1 + (s32)roll(w, N_OBJECTS), 01600);
	u64 size = roll(w, 4) ? roll(w, 100) : roll(w, 6000);
	struct msg_stat st;

	switch (roll(w, 8)) {
	case 0:
	case 1:
	case 2:
		*(long *)(void *)w->text = 1 + roll(w, 3);
		msg_send(&w->c, id, w->text, size, NOWAIT, 0);
		break;
	case 3:
		msg_receive(&w->c, id, w->text, 8000, roll(w, 5) - 2,
			NOWAIT | MSG_FLG_NOERROR, 0);
		break;
	case 4:
		msg_stat(&w->c, id, OBJECT_BY_ID, &st);
		break;
	case 5:
		if (!roll(w, 20))
			msg_remove(&w->c, id);
		break;
	default:
		msg_receive(&w->c, id, w->text, 8000, 0, NOWAIT, 0);
		break;
	}
}

static void segments(struct worker *w)
{
	int id = shm_get(&w->c, 1 + (s32)roll(w, N_OBJECTS), 5000, 01600);
	struct shm_stat st;
	u64 at;

	switch (roll(w, 5)) {
	case 0:
		if (!w->attached && !shm_at(&w->c, id, 0, 0, &at))
			w->attached = at;
		break;
	case 1:
	case 2:
		if (w->attached)
			shm_dt(&w->c, w->attached);
		w->attached = 0;
		break;
	case 3:
		shm_stat(&w->c, id, OBJECT_BY_ID, &st);
		break;
	default:
		if (!roll(w, 20))
			shm_remove(&w->c, id);
		break;
	}
}

static void posix(struct worker *w)
{
	static const struct sys_timespec past = {0, 0};
	struct mq_desc *d = &w->queues[roll(w, N_OBJECTS)];
	struct sys_timespec soon = {sys_realtime_sec(), 0};
	struct mq_stat st;
	u32 prio;

	soon.nsec = 999999999;
	switch (roll(w, 8)) {
	case 0:
	case 1:
	case 2:
		mqueue_send(&w->c, d, w->text, roll(w, 400), roll(w, 40),
			roll(w, 20) ? &past : &soon);
		break;
	case 3:
		mq_stat(&w->c, d, &st);
		break;
	default:
		mqueue_receive(&w->c, d, w->text, sizeof(w->text), &prio,
			roll(w, 20) ? &past : &soon);
		break;
	}
}

/* ---- threads ---- */

static void open_queues(struct worker *w)
{
	static const struct mq_limits_attr attr = {10, 400};
	char name[] = "queue0";
	u32 i;

	for (i = 0; i < N_OBJECTS; i++) {
		name[5] = (char)('0' + i);
		if (mqueue_open(&w->c, name, 6, 0102, 0600, &attr,
			    &w->queues[i]) < 0)
			exit(2);
	}
}

static void *work(void *arg)
{
	struct worker *w = calloc(1, sizeof(*w));
	int i;

	w->c = (struct caller){
		.cred = &cred, .shm = &process, .region = region};
	w->state = SEED + (uintptr_t)arg;
	caller_refresh(&w->c);
	if (caller_enroll(&w->c))
		exit(2);
	open_queues(w);
	for (i = 0; i < rounds; i++)
		switch (roll(w, 8)) {
		case 0:
			segments(w);
			break;
		case 1:
		case 2:
			posix(w);
			break;
		case 3:
		case 4:
			queues(w);
			break;
		default:
			sets(w);
			break;
		}
	/* The kernel goes along its robust list, which is in the record. */
	return w;
}

static void make_registry(char *path, size_t cap)
{
	struct region_options opt = {.idx_bits = IDX_BITS_NORMAL};
	const char *dir = getenv("IPCLIFT_TEST_DIR");
	char why[256];

	snprintf(path, cap, "%s/threads-%d", dir ? dir : "/dev/shm",
		(int)getpid());
	limits_init(&opt.limits, LIMITS_KERNEL, IDX_BITS_NORMAL);
	if (region_map(&region, path, &opt, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[N_WORKERS];
	char path[256], command[600];
	uintptr_t i;

	if (argc > 1)
		rounds = atoi(argv[1]);
	make_registry(path, sizeof(path));
	for (i = 0; i < N_WORKERS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 2;
	for (i = 0; i < N_WORKERS; i++)
		pthread_join(threads[i], NULL);
	snprintf(command, sizeof(command), "rm -rf '%s' '%s.mq'", path, path);
	if (system(command))
		return 2;
	printf("%d threads, %d calls each, seed %u\n", N_WORKERS, rounds, SEED);
	return 0;
}
