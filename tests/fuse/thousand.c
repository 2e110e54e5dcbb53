// SPDX-License-Identifier: MIT
/*
 * A thousand operations on sets, queues and segments, the same each time:
 * created with all sorts of keys, modes and owners, used, changed, removed.
 * What is left is then in /proc/sysvipc, or in sysvipc/ of the mount
 * (sysvipc.sh). The last line it prints are the pids that show there.
 *
 *	thousand [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_OPERATIONS 1000
#define N_KEPT 64 /* ids of a kind remembered, to be used again */

static unsigned long seed = 1;
static int sets[N_KEPT], queues[N_KEPT], segments[N_KEPT];

static unsigned draw(unsigned n)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)(seed >> 33) % n;
}

static key_t draw_key(void)
{
	static const unsigned odd[] = {
		0xdeadbeef, 0x7fffffff, 0x80000000, 0xffffffff, 1};

	if (draw(3) == 0)
		return IPC_PRIVATE;
	return draw(4) ? (key_t)(draw(200) + 4660) : (key_t)odd[draw(5)];
}

static int draw_mode(void)
{
	return (int)draw(01000) | IPC_CREAT;
}

static void keep(int *ids, int id)
{
	if (id >= 0)
		ids[draw(N_KEPT)] = id;
}

static void create(void)
{
	switch (draw(3)) {
	case 0:
		keep(sets, semget(draw_key(), 1 + (int)draw(300), draw_mode()));
		break;
	case 1:
		keep(queues, msgget(draw_key(), draw_mode()));
		break;
	default:
		keep(segments,
			shmget(draw_key(), 1 + draw(100000), draw_mode()));
	}
}

static void use_set(int id)
{
	struct sembuf op = {0, (short)(1 + draw(5)), IPC_NOWAIT};
	struct semid_ds ds = {0};

	switch (draw(4)) {
	case 0:
		ds.sem_perm.uid = draw(2) ? 4294967294u : 1000000;
		ds.sem_perm.gid = draw(70000);
		ds.sem_perm.mode = (unsigned short)draw(01000);
		semctl(id, 0, IPC_SET, &ds);
		break;
	case 1:
		semctl(id, 0, SETVAL, (int)draw(100));
		break;
	default:
		semop(id, &op, 1);
	}
}

static void use_queue(int id)
{
	struct {
		long type;
		char text[400];
	} m = {.type = 1 + (long)draw(9)};

	if (draw(3))
		msgsnd(id, &m, draw(400), IPC_NOWAIT);
	else
		msgrcv(id, &m, sizeof(m.text), 0, IPC_NOWAIT);
}

static void use_segment(int id)
{
	struct shmid_ds ds;
	char *at;

	if (draw(4) == 0) {
		shmctl(id, draw(2) ? SHM_LOCK : SHM_UNLOCK, NULL);
		return;
	}
	at = shmat(id, NULL, 0);
	if (at == (void *)-1)
		return;
	if (!shmctl(id, IPC_STAT, &ds))
		memset(at, 1, draw((unsigned)ds.shm_segsz + 1));
	/* Some stay attached to the end. */
	if (draw(3))
		shmdt(at);
}

static void use(void)
{
	switch (draw(3)) {
	case 0:
		use_set(sets[draw(N_KEPT)]);
		break;
	case 1:
		use_queue(queues[draw(N_KEPT)]);
		break;
	default:
		use_segment(segments[draw(N_KEPT)]);
	}
}

static void remove_one(void)
{
	switch (draw(3)) {
	case 0:
		semctl(sets[draw(N_KEPT)], 0, IPC_RMID);
		break;
	case 1:
		msgctl(queues[draw(N_KEPT)], IPC_RMID, NULL);
		break;
	default:
		shmctl(segments[draw(N_KEPT)], IPC_RMID, NULL);
	}
}

/* Every so often somebody else does it. */
static void operation(unsigned kind)
{
	if (kind < 4)
		create();
	else if (kind < 9)
		use();
	else
		remove_one();
}

static void operations_of_child(void)
{
	unsigned long after = seed;
	int i;

	fflush(stdout);
	if (!fork()) {
		for (i = 0; i < 20; i++)
			operation(draw(10));
		printf(" %d", getpid());
		exit(fflush(stdout));
	}
	wait(NULL);
	for (seed = after, i = 0; i < 20; i++)
		draw(10);
}

int main(int argc, char **argv)
{
	int i;

	if (argc > 1)
		seed = strtoul(argv[1], NULL, 0);
	for (i = 0; i < N_KEPT; i++)
		sets[i] = queues[i] = segments[i] = -1;
	printf("%d", getpid());
	for (i = 0; i < N_OPERATIONS; i++) {
		operation(draw(10));
		if (i % 250 == 249)
			operations_of_child();
	}
	printf("\n");
	fflush(stdout);
	/* What is attached stays so until the tables have been read. */
	getchar();
	return 0;
}
