// SPDX-License-Identifier: MIT
/*
 * shm_orphan: a child made by an instruction of the program's own has what its
 * parent had attached, also when that is gone, has executed something else, or
 * has detached it: it is counted, at the latest when the segment is removed,
 * and what it writes reaches nobody else.
 *
 * The bug: only children of the process that removed the segment were looked
 * for. One whose parent had exited wrote into the next new segment.
 */
#include "raw.h"
#include "shm.h"
#include <poll.h>
#include <stdint.h>

/* More than the shim remembers of one segment. */
#define OTHERS 5

static char *at;
static int go[2], done[2], detached[2], seg;

static int child(void)
{
	return s_inheritor(at, go[0], done[1]);
}

static void by_fork(void)
{
	if (!raw(SYS_fork, 0, 0, 0, 0))
		child();
}

static void by_clone(void)
{
	if (!raw(SYS_clone, SIGCHLD, 0, 0, 0))
		child();
}

static void by_clone3(void)
{
	uint64_t a[8] = {[4] = SIGCHLD};

	if (!raw(435, (long)a, sizeof(a), 0, 0))
		child();
}

static void by_two(void)
{
	pid_t pid = (pid_t)raw(SYS_fork, 0, 0, 0, 0);

	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	by_fork();
	_exit(0);
}

static void execute(void)
{
	execlp("sleep", "sleep", "1000", NULL);
	_exit(96);
}

static void stays(void)
{
	shmdt(at);
	t_quiet(write(detached[1], "s", 1) == 1);
	for (;;)
		pause();
}

static void detaches_executes(void)
{
	shmdt(at);
	execute();
}

static void detaches(void)
{
	shmdt(at);
	_exit(0);
}

static void ends(void)
{
	_exit(0);
}

static void killed(void)
{
	kill(getpid(), SIGKILL);
}

static void removes(void)
{
	shmctl(seg, IPC_RMID, NULL);
	_exit(0);
}

static const struct story {
	const char *name;
	void (*make)(void), (*end)(void);
	int lives;   /* the parent: to be killed */
	int counted; /* before the segment is removed */
	int removed;
	int others; /* have detached it before, and live */
} stories[] = {
	{"fork, the parent ends", by_fork, ends, 0, 1, 0},
	{"clone, the parent ends", by_clone, ends, 0, 1, 0},
	{"clone3, the parent ends", by_clone3, ends, 0, 1, 0},
	{"fork, the parent is killed", by_fork, killed, 0, 1, 0},
	{"fork, the parent executes", by_fork, execute, 1, 1, 0},
	{"fork, the parent removes and ends", by_fork, removes, 0, 1, 1},
	{"fork in a fork, the parents end", by_two, ends, 0, 1, 0},
	{"fork, the parent detaches and ends", by_fork, detaches, 0, 0, 0},
	{"fork, the parent detaches and executes", by_fork, detaches_executes,
		1, 0, 0},
	{"fork, the parent detaches and lives", by_fork, stays, 1, 0, 0, 0},
	{"the same, as many others did", by_fork, detaches, 0, 0, 0, OTHERS},
};

/* Somebody has said this; 0: nobody is left who could. */
static int told(char what)
{
	struct pollfd p = {.fd = done[0], .events = POLLIN};
	char c = 0;

	return poll(&p, 1, 5000) == 1 && read(done[0], &c, 1) == 1 && c == what;
}

static void tell(void)
{
	t_quiet(write(go[1], "x", 1) == 1);
}

/* Until a program other than this one runs there. */
static void await_exec(pid_t pid)
{
	char path[64], name[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	while (strncmp(name, "sleep", 5)) {
		t_nap();
		fd = open(path, O_RDONLY);
		t_quiet(read(fd, name, sizeof(name)) > 0);
		close(fd);
	}
}

static pid_t parent(const struct story *s)
{
	pid_t pid = t_fork();

	if (pid)
		return pid;
	at = s_at(seg);
	strcpy(at, "mine");
	s->make();
	t_quiet(told('x'));
	s->end();
	_exit(97);
}

static pid_t another(void)
{
	pid_t pid = t_fork();
	char c;

	if (!pid) {
		at = s_at(seg);
		stays();
	}
	t_quiet(read(detached[0], &c, 1) == 1);
	return pid;
}

static void story(const struct story *s)
{
	pid_t others[OTHERS];
	int other, i;
	pid_t pid;
	char *p, c;

	t_story(s->name);
	if (pipe(go) || pipe(done) || pipe(detached))
		exit(90);
	seg = s_seg(PAGE);
	for (i = 0; i < s->others; i++)
		others[i] = another();
	pid = parent(s);
	if (s->end == stays)
		t_true(read(detached[0], &c, 1) == 1);
	else if (s->lives)
		await_exec(pid);
	else
		t_join(pid);
	close(done[1]);
	if (s->counted)
		s_nattch(seg, 1);
	if (!s->removed)
		s_rm(seg);
	s_nattch(seg, 1);
	p = s_fresh(&other, "the other's");
	tell();
	t_true(told('y'));
	t_true(!strcmp(p, "the other's"));
	s_nattch(seg, 1);
	tell();
	t_true(told('z'));
	if (s->lives) {
		kill(pid, SIGKILL);
		t_join(pid);
	}
	for (i = 0; i < s->others; i++) {
		kill(others[i], SIGKILL);
		t_quiet(t_join(others[i]) == 1000 + SIGKILL);
	}
	/* Its memory went before its descriptors. */
	t_true(!told(0));
	t_err(shmctl(seg, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
	t_eq(shmdt(p), 0);
	s_rm(other);
	close(go[0]);
	close(go[1]);
	close(done[0]);
	close(detached[0]);
	close(detached[1]);
}

int main(void)
{
	t_begin();
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
		story(&stories[i]);
	return s_end();
}
