// SPDX-License-Identifier: MIT
/*
 * shm_stepped: while a thread is in the midst of a call about segments, at many
 * places of it, another thread attaches a segment, forks, and detaches it; the
 * child has it, counted, until it detaches it or ends.
 */
#include "shm.h"
#include "stepped.h"

/* Instructions from one place to the next; arbitrary, so that it takes seconds.
 */
#define STRIDE 97

static struct shared {
	volatile int bad, forking;
} * sh;
static int seg;
static char *own;

static void attach(void)
{
	char *p = shmat(seg, NULL, 0);

	sh->bad |= p == BAD || shmdt(p);
}

static void remove_one(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, 0600);

	sh->bad |= id < 0 || shmctl(id, IPC_RMID, NULL);
}

static void fork_one(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		own[1] = 1;
		_exit(shmdt(own) != 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sh->bad |= status != 0;
}

static void first_of_thread(void)
{
	semctl(-1, 0, GETVAL);
}

static void *in_thread(void *arg)
{
	(void)arg;
	first_of_thread();
	return NULL;
}

static void thread_ends(void)
{
	pthread_t t;

	sh->bad |= pthread_create(&t, NULL, in_thread, NULL) != 0;
	pthread_join(t, NULL);
}

static const struct {
	const char *name;
	void (*f)(void);
} stories[] = {
	{"beside shmat and shmdt", attach},
	{"beside shmget and IPC_RMID", remove_one},
	{"beside fork", fork_one},
	{"beside a thread that begins and ends", thread_ends},
};
#define N_STORIES ((int)(sizeof(stories) / sizeof(stories[0])))

static void *calls(void *arg)
{
	(void)arg;
	stepped->tid = (pid_t)syscall(SYS_gettid);
	own = s_at(seg);
	for (;;) {
		while (!stepped->go)
			;
		if (stepped->go > N_STORIES)
			return NULL;
		stories[stepped->go - 1].f();
		stepped->go = 0;
		stepped->done = 1;
	}
}

/* What is wrong; 0: nothing. */
static int forks_with_segment(int removed, unsigned others)
{
	int id = shmget(IPC_PRIVATE, 2 * PAGE, 0600), status = -1;
	char *p = shmat(id, NULL, 0);
	struct shmid_ds ds;
	pid_t pid;

	if (p == BAD)
		return 1;
	if (removed)
		shmctl(id, IPC_RMID, NULL);
	*p = 1;
	pid = fork();
	if (!pid) {
		if (shmctl(id, IPC_STAT, &ds) || ds.shm_nattch < 1)
			_exit(2);
		if (++*p != 2)
			_exit(3);
		if (removed && shmdt(p))
			_exit(4);
		_exit(0);
	}
	if (shmdt(p))
		return 5;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* Nobody has it any more, but the child of a fork that is under way. */
	if (!removed && (shmctl(id, IPC_STAT, &ds) || ds.shm_nattch > others))
		return 6;
	if (!removed && shmctl(id, IPC_RMID, NULL))
		return 7;
	if (!others && !shmctl(id, IPC_STAT, &ds))
		return 8;
	return status;
}

static void program(void)
{
	pthread_t t;
	char removed;

	alarm(5 * T_LIMIT);
	close(stepped_ask[1]);
	seg = s_seg(PAGE);
	if (pthread_create(&t, NULL, calls, NULL))
		_exit(1);
	while (read(stepped_ask[0], &removed, 1) == 1) {
		int is = forks_with_segment(removed, sh->forking != 0);

		if (write(stepped_answer[1], &is, sizeof(is)) < 0)
			_exit(1);
	}
	pthread_join(t, NULL);
	s_rm(seg);
	_exit(0);
}

/* 0: the call was over before. */
static int at_place(long place, int which, int *bad)
{
	int over, is;

	sh->forking = stories[which].f == fork_one;
	stepped_begin(which + 1, place);
	over = stepped->done;
	is = stepped_asked((char)(place / STRIDE % 2), &(long){0});
	if (is && !(*bad)++)
		fprintf(stderr, "%s, after %ld steps: %x\n",
			stories[which].name, place, (unsigned)is);
	stepped_finish();
	return !over;
}

static void story(int which)
{
	int bad = 0, places = 0;
	long at;

	t_story(stories[which].name);
	for (at = 0; at_place(at, which, &bad); at += STRIDE)
		places++;
	t_true(places > 0);
	t_eq(bad, 0);
	t_eq(sh->bad, 0);
}

int main(void)
{
	int i;
	pid_t pid;

	t_begin();
	alarm(5 * T_LIMIT);
	sh = t_shared(sizeof(*sh));
	if (!stepped_make())
		return 1;
	pid = stepped_start(program);
	for (i = 0; i < N_STORIES; i++)
		story(i);
	stepped->go = N_STORIES + 1;
	stepped_end(pid);
	return s_end();
}
