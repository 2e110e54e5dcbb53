// SPDX-License-Identifier: MIT
/*
 * shm_tid_reuse: a thread attaches a segment and ends, and a later thread of
 * the same process gets its number. The segment stays attached, and its pages
 * stay the process's.
 *
 * The bug: the existence of a thread with that number was taken as a sign that
 * the process had called exec. nattch became 0, IPC_RMID freed the segment
 * under the process's eyes, and its pages were given to the next one.
 */
#include "shm.h"
#include "pidns.h"

static int seg;
static char *at;
static volatile pid_t number;

static void *attach(void *arg)
{
	(void)arg;
	at = s_at(seg);
	strcpy(at, "the holder's");
	number = syscall(SYS_gettid);
	return NULL;
}

/* Tells by a byte that its thread is there, ends at the end of the input. */
static void holder(int in, int out)
{
	struct p_thread p;
	pthread_t t;
	char c;

	pthread_create(&t, NULL, attach, NULL);
	pthread_join(t, NULL);
	t = p_thread(&p, number);
	t_quiet(write(out, "x", 1) == 1);
	t_quiet(read(in, &c, 1) == 1);
	t_quiet(!strcmp(at, "the holder's"));
	strcpy(at, "the holder's again");
	p.stay = 0;
	pthread_join(t, NULL);
}

int main(void)
{
	int to[2], from[2], other;
	pid_t pid;
	char c, *p;

	t_begin();
	if (!p_enter())
		return 0;
	if (pipe(to) || pipe(from))
		return 1;
	seg = s_seg(PAGE);
	pid = t_fork();
	if (!pid) {
		holder(to[0], from[1]);
		_exit(t_failed);
	}
	t_eq(read(from[0], &c, 1), 1);
	t_story("the thread that attached has ended, its number is another's");
	s_nattch(seg, 1);
	s_rm(seg);
	s_nattch(seg, 1);
	p = s_fresh(&other, "the observer's");
	t_eq(write(to[1], "x", 1), 1);
	t_eq(t_join(pid), 0);
	t_true(!strcmp(p, "the observer's"));
	t_story("the process has ended");
	t_err(shmctl(seg, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
	t_eq(shmdt(p), 0);
	s_rm(other);
	return s_end();
}
