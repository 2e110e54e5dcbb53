// SPDX-License-Identifier: MIT
/*
 * shm_exec_image: a thread attaches a segment and ends, then the process calls
 * exec. The new program does not have the segment, even if its
 * stack begins where the old one's did: no address space layout randomization,
 * arguments of the same length, as a daemon does that executes itself again.
 *
 * The bug: with the thread's lifeline gone only the stack's address told one
 * program from the next, and other users cannot even read that. (What they can
 * do is open the registry, if it is shared.)
 */
#include "shm.h"
#include <sys/personality.h>

#define FIXED 0x0040000 /* ADDR_NO_RANDOMIZE */

static void *attach(void *arg)
{
	s_at(*(int *)arg);
	return NULL;
}

/* Once more, with "0", the segment and the pipe, so without randomization;
 * then with "1", which attaches; then with "2", which stays. */
static int stage(char **argv)
{
	int seg = atoi(argv[2]), out = atoi(argv[3]);
	pthread_t t;

	if (*argv[1] == '2') {
		t_quiet(write(out, "x", 1) == 1);
		for (;;)
			pause();
	}
	if (*argv[1] == '1') {
		pthread_create(&t, NULL, attach, &seg);
		pthread_join(t, NULL);
	}
	++*argv[1];
	execv("/proc/self/exe", argv);
	return 90;
}

/* As made by ipclift create --mode 666; on the kernel there is none. */
static void share(void)
{
	const char *registry = getenv("IPCLIFT_REGISTRY");

	if (registry && chmod(registry, 0666))
		exit(93);
}

static pid_t start(int seg, int fixed)
{
	char id[16], fd[16], first[] = "0";
	char *argv[] = {"shm_exec_image", first, id, fd, NULL}, c;
	int out[2];
	pid_t pid;

	if (pipe(out))
		exit(91);
	snprintf(id, sizeof(id), "%d", seg);
	snprintf(fd, sizeof(fd), "%d", out[1]);
	pid = t_fork();
	if (!pid) {
		if (fixed)
			personality(FIXED);
		execv("/proc/self/exe", argv);
		_exit(92);
	}
	t_eq(read(out[0], &c, 1), 1);
	close(out[0]);
	close(out[1]);
	return pid;
}

int main(int argc, char **argv)
{
	int fixed, seg, status;
	pid_t pid, other;

	if (argc > 3)
		return stage(argv);
	t_begin();
	for (fixed = 0; fixed < 2; fixed++) {
		t_story(fixed ? "the stack is where it was" : "randomized");
		seg = s_seg(PAGE);
		share();
		shmctl(seg, IPC_SET, &(struct shmid_ds){.shm_perm.mode = 0666});
		pid = start(seg, fixed);
		other = t_as_begin(T_OTHER_UID, T_OTHER_UID);
		if (!other) {
			s_nattch(seg, 0);
			_exit(t_failed);
		}
		status = t_join(other);
		t_eq(status, 0);
		s_nattch(seg, 0);
		s_rm(seg);
		t_err(shmctl(seg, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
		kill(pid, SIGKILL);
		t_eq(t_join(pid), 1000 + SIGKILL);
	}
	return s_end();
}
