// SPDX-License-Identifier: MIT
/*
 * shm_fork_attach: a process forks while another of its threads attaches a
 * segment, its first or one more. A child that has the segment is counted: the
 * segment stays its own when the parent detaches and removes it, and what it
 * writes reaches nobody else.
 *
 * The bug: what the child would have was counted before the fork, and what was
 * attached between the two was not; a parent without attachments did not even
 * look again.
 */
#include "shm.h"

#define FORKS 1200

static int seg;
static char *volatile at;
static volatile int go;
static unsigned seed = 1;

static void wait_for(volatile int *word, int value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static void set_to(volatile int *word, int value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Attaches at a moment of its own choice after `go`, then `go` is 2. */
static void *attacher(void *arg)
{
	unsigned turns = *(unsigned *)arg;

	wait_for(&go, 1);
	for (volatile unsigned i = 0; i < turns; i++)
		;
	at = s_at(seg);
	set_to(&go, 2);
	return NULL;
}

/* What a child finds: 0, or what is wrong. */
static int child(const int *in, const int *out)
{
	char *p = at, c;

	if (!p) {
		t_quiet(write(out[1], "n", 1) == 1);
		return 0;
	}
	*p = 'c';
	t_quiet(write(out[1], "y", 1) == 1);
	if (read(in[0], &c, 1) != 1)
		return 1;
	/* The parent has removed it, and made another. */
	if (*p != 'c')
		return 2;
	*p = 'd';
	t_quiet(write(out[1], "y", 1) == 1);
	t_quiet(read(in[0], &c, 1) == 1);
	return 0;
}

/* 1 if the child had the segment and something was wrong. */
static int look(const int *in, const int *out)
{
	struct shmid_ds ds;
	char c, *p;
	int other, wrong = 0;

	t_quiet(read(out[0], &c, 1) == 1);
	if (c == 'n') {
		t_quiet(!shmdt(at) && !shmctl(seg, IPC_RMID, NULL));
		return 0;
	}
	if (shmctl(seg, IPC_STAT, &ds) || ds.shm_nattch != 2)
		wrong |= 1;
	t_quiet(!shmdt(at) && !shmctl(seg, IPC_RMID, NULL));
	if (shmctl(seg, IPC_STAT, &ds) || ds.shm_nattch != 1)
		wrong |= 2;
	other = s_seg(PAGE);
	p = s_at(other);
	if (*p)
		wrong |= 4;
	t_quiet(write(in[1], "x", 1) == 1);
	if (read(out[0], &c, 1) != 1 || *p)
		wrong |= 8;
	t_quiet(write(in[1], "x", 1) == 1);
	t_quiet(!shmdt(p) && !shmctl(other, IPC_RMID, NULL));
	return wrong;
}

/* One fork beside one attachment: as look, and 16 if the child was wrong. */
static int round_of(unsigned turns)
{
	int in[2], out[2], wrong, status;
	pthread_t t;
	pid_t pid;

	if (pipe(in) || pipe(out))
		exit(90);
	seg = s_seg(PAGE);
	at = NULL;
	go = 0;
	pthread_create(&t, NULL, attacher, &turns);
	set_to(&go, 1);
	pid = fork();
	if (!pid)
		_exit(child(in, out));
	close(out[1]);
	pthread_join(t, NULL);
	wrong = look(in, out);
	waitpid(pid, &status, 0);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	return wrong | (status ? 16 : 0);
}

static void forks(const char *name)
{
	int i, wrong[2] = {0, 0}, got;

	t_story(name);
	for (i = 0; i < FORKS; i++) {
		seed = seed * 1103515245 + 12345;
		got = round_of((seed >> 16) % 100000);
		wrong[0] += (got & 15) != 0;
		wrong[1] += (got & 16) != 0;
	}
	t_eq(wrong[0], 0);
	t_eq(wrong[1], 0);
}

/* In the handlers of pthread_atfork, before the fork and in the parent. */
static volatile int held;

static void prepare(void)
{
	if (held != 1)
		return;
	set_to(&go, 1);
	wait_for(&go, 2);
}

static void afterwards(void)
{
	if (held != 2)
		return;
	set_to(&go, 1);
	wait_for(&go, 2);
}

/* The attachment comes when the fork has begun, or has happened. */
static void held_open(const char *name, int when)
{
	int in[2], out[2];
	unsigned turns = 0;
	pthread_t t;
	pid_t pid;
	char c;

	t_story(name);
	if (pipe(in) || pipe(out))
		exit(90);
	seg = s_seg(PAGE);
	at = NULL;
	go = 0;
	pthread_create(&t, NULL, attacher, &turns);
	held = when;
	pid = fork();
	held = 0;
	if (!pid)
		_exit(child(in, out));
	close(out[1]);
	pthread_join(t, NULL);
	if (when == 1) {
		t_eq(look(in, out), 0);
	} else {
		t_eq(read(out[0], &c, 1), 1);
		t_eq(t_join(pid), 0);
		s_nattch(seg, 1);
		t_quiet(!shmdt(at) && !shmctl(seg, IPC_RMID, NULL));
		return;
	}
	t_eq(t_join(pid), 0);
}

int main(void)
{
	int first;
	char *p;

	t_begin();
	alarm(60);
	pthread_atfork(prepare, afterwards, NULL);
	held_open("nothing is attached; before the fork", 1);
	held_open("nothing is attached; after it", 2);
	forks("nothing is attached before");
	first = s_seg(PAGE);
	p = s_at(first);
	held_open("something is attached; before the fork", 1);
	held_open("something is attached; after it", 2);
	forks("something is attached before");
	t_eq(shmdt(p), 0);
	s_rm(first);
	return s_end();
}
