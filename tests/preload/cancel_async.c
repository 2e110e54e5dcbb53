// SPDX-License-Identifier: MIT
/*
 * cancel_async: threads that may be cancelled at any instruction
 * (PTHREAD_CANCEL_ASYNCHRONOUS) are, in the middle of calls of each kind. What
 * they hold for the moment is held by a thread that lives on in its cleanup
 * handler: that one makes a call, too, and so does everybody after it.
 */
#include "t.h"

#include <mqueue.h>
#include <sys/msg.h>
#include <sys/shm.h>

#define ROUNDS 8
#define THREADS 3

static int set, queue, segment;
static mqd_t mq;
static pthread_barrier_t going;

static void sem_undo(void)
{
	semop(set, OPS({0, 1, U}));
	semop(set, OPS({0, -1, U}));
}

static void sem_array(void)
{
	semop(set, OPS({0, 1, 0}, {1, 1, 0}, {2, 1, 0}));
	semop(set, OPS({0, -1, 0}, {1, -1, 0}, {2, -1, 0}));
}

static void messages(void)
{
	struct {
		long type;
		char text[20];
	} m = {1, "text"};

	msgsnd(queue, &m, sizeof(m.text), IPC_NOWAIT);
	msgrcv(queue, &m, sizeof(m.text), 0, IPC_NOWAIT);
}

static void posix_messages(void)
{
	char text[16] = "text";

	mq_send(mq, text, sizeof(text), 1);
	mq_receive(mq, text, sizeof(text), NULL);
}

/* What one of them leaves when it is cancelled is removed below. */
static void sets(void)
{
	semctl(semget(IPC_PRIVATE, 1, 0600), 0, IPC_RMID);
}

static void attach(void)
{
	void *at = shmat(segment, NULL, 0);

	if (at != (void *)-1)
		shmdt(at);
}

/* musl runs it on the stack as it was when the signal came, aligned or not. */
__attribute__((force_align_arg_pointer)) static void cleanup(void *arg)
{
	(void)arg;
	semop(set, OPS({3, 1, 0}));
	semop(set, OPS({0, 0, NW}, {3, -1, 0}));
	semop(set, OPS({0, 1, U | NW}, {0, -1, U | NW}));
}

static void (*kind)(void);

static void *loop(void *arg)
{
	pthread_cleanup_push(cleanup, arg);
	pthread_barrier_wait(&going);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		kind();
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel_some(const char *name, void (*fn)(void))
{
	unsigned long seed = 7;
	struct timespec t = {0, 0};
	pthread_t threads[THREADS];
	int i, k;

	kind = fn;
	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < THREADS; k++)
			pthread_create(&threads[k], NULL, loop, NULL);
		pthread_barrier_wait(&going);
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		t.tv_nsec = 100000 + (long)(seed >> 33) % 600000;
		nanosleep(&t, NULL);
		for (k = 0; k < THREADS; k++)
			pthread_cancel(threads[k]);
		for (k = 0; k < THREADS; k++)
			pthread_join(threads[k], NULL);
	}
	t_say("%s", name);
}

static void *deferred(void *arg)
{
	int old = -1;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	semop(set, OPS({0, 1, U}, {0, -1, U}));
	t_eq(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old), 0);
	t_eq(old, PTHREAD_CANCEL_ASYNCHRONOUS);
	t_eq(pthread_setcanceltype(17, NULL), EINVAL);
	semop(set, OPS({0, 1, U}, {0, -1, U}));
	return arg;
}

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 8, .mq_msgsize = 16};
	pthread_t thread;
	int i, top;

	t_begin();
	pthread_barrier_init(&going, NULL, THREADS + 1);
	set = semget(IPC_PRIVATE, 4, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	segment = shmget(IPC_PRIVATE, 4096, 0600);
	mq = mq_open(
		"/cancel_async", O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attr);
	mq_unlink("/cancel_async");
	cancel_some("undo", sem_undo);
	cancel_some("array", sem_array);
	cancel_some("messages", messages);
	cancel_some("POSIX messages", posix_messages);
	cancel_some("sets", sets);
	cancel_some("attach", attach);
	/* Not a word of ours while the thread says its own. */
	t_quiet(pthread_create(&thread, NULL, deferred, NULL) == 0);
	t_eq(pthread_join(thread, NULL), 0);
	/* The others go on: all is free. */
	t_eq(semctl(set, 0, SETALL, VALS(0, 0, 0, 0)), 0);
	t_eq(semop(set, OPS({0, 1, U | NW}, {1, 1, NW})), 0);
	t_eq(msgctl(queue, IPC_RMID, NULL), 0);
	t_eq(shmctl(segment, IPC_RMID, NULL), 0);
	mq_close(mq);
	t_rm(set);
	top = semctl(0, 0, SEM_INFO, &(struct seminfo){0});
	for (i = 0; i <= top; i++)
		semctl(semctl(i, 0, SEM_STAT, &(struct semid_ds){0}), 0,
			IPC_RMID);
	return t_end();
}
