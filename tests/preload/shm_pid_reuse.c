// SPDX-License-Identifier: MIT
/*
 * shm_pid_reuse: a process with a segment forks, the child is killed before it
 * has run anything of the program's, and its number is then given to another
 * process, at once or later, which runs for long. The child does not have the
 * segment.
 *
 * The bugs: of such a child the number was known, and nothing else: it was
 * taken to exist as long as any process had that. Then also its start time, to
 * 1/100 s.
 */
#include "shm.h"
#include "pidns.h"

static int dies;

static void die(void)
{
	if (dies)
		kill(getpid(), SIGKILL);
}

static void stay(void)
{
	alarm(T_LIMIT);
	for (;;)
		pause();
}

/* The number of a child that is gone. */
static pid_t spent(void)
{
	pid_t child;

	dies = 1;
	child = fork();
	waitpid(child, NULL, 0);
	dies = 0;
	return child;
}

/* A process that stays, with that number. */
static pid_t successor(pid_t number)
{
	pid_t pid;

	p_next(number);
	pid = fork();
	if (!pid)
		stay();
	t_true(pid == number);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	t_join(pid);
}

/* The number is that of a process beside it. */
static void another(const char *name, int parent_lives, useconds_t later)
{
	int seg = s_seg(PAGE), answer[2];
	pid_t parent, child = 0, other;

	t_story(name);
	if (pipe(answer))
		exit(90);
	parent = t_fork();
	if (!parent) {
		s_at(seg);
		child = spent();
		t_quiet(write(answer[1], &child, sizeof(child)) ==
			sizeof(child));
		if (parent_lives)
			stay();
		_exit(0);
	}
	t_eq(read(answer[0], &child, sizeof(child)), sizeof(child));
	if (!parent_lives)
		t_join(parent);
	usleep(later);
	other = successor(child);
	s_nattch(seg, parent_lives);
	s_rm(seg);
	if (parent_lives) {
		s_nattch(seg, 1);
		end(parent);
	}
	t_err(shmctl(seg, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
	end(other);
	close(answer[0]);
	close(answer[1]);
}

/* The number is that of the same process's next child, which has it. */
static void sibling(void)
{
	int seg = s_seg(PAGE);
	char *at = s_at(seg);
	pid_t other;

	t_story("its parent's next child");
	other = successor(spent());
	s_nattch(seg, 2);
	t_eq(shmdt(at), 0);
	s_nattch(seg, 1);
	s_rm(seg);
	end(other);
	t_err(shmctl(seg, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
}

int main(void)
{
	t_begin();
	if (!p_enter())
		return 0;
	pthread_atfork(NULL, NULL, die);
	another("another's, its parent lives", 1, 0);
	another("another's, its parent is gone", 0, 0);
	another("another's, later", 0, 50000);
	sibling();
	return s_end();
}
