// SPDX-License-Identifier: MIT
/*
 * shm_clone: children made by clone(2), clone3(2) and fork(2), by name, by
 * number and by an instruction of the program's own, have what their parent has
 * attached: it is counted, it stays theirs when the parent removes and detaches
 * it, and what they write reaches no other process.
 *
 * The bug: such children were not counted, and after IPC_RMID and shmdt in the
 * parent they wrote into the next new segment.
 */
#include "shm.h"
#include <poll.h>
#include <stdint.h>

struct args3 {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack,
		stack_size, tls;
};
#define STACK (64 * 1024)
#define NR_CLONE3 435

static char *at;
static int go[2], done[2];

static int child(void *arg)
{
	(void)arg;
	return s_inheritor(at, go[0], done[1]);
}

/* The child has said something; a dead one never does. */
static int told(void)
{
	struct pollfd p = {.fd = done[0], .events = POLLIN};
	char c;

	return poll(&p, 1, 5000) == 1 && read(done[0], &c, 1) == 1;
}

static char *stack(void)
{
	return t_pages(STACK / 4096, PROT_READ | PROT_WRITE) + STACK;
}

static pid_t by_fork(void)
{
	pid_t pid = fork();

	return pid ? pid : child(NULL);
}

static pid_t by_clone(void)
{
	return clone(child, stack(), SIGCHLD, NULL);
}

static pid_t by_clone_files(void)
{
	return clone(child, stack(), CLONE_FILES | CLONE_FS | SIGCHLD, NULL);
}

static pid_t by_clone_space(void)
{
	return clone(child, stack(), CLONE_NEWPID | SIGCHLD, NULL);
}

static pid_t by_fork_number(void)
{
	pid_t pid = (pid_t)syscall(SYS_fork);

	return pid ? pid : child(NULL);
}

static pid_t by_clone_number(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	return pid ? pid : child(NULL);
}

static pid_t by_clone3_number(void)
{
	struct args3 a = {.exit_signal = SIGCHLD};
	pid_t pid = (pid_t)syscall(NR_CLONE3, &a, sizeof(a));

	return pid ? pid : child(NULL);
}

#ifdef __GLIBC__
/* syscall() returns on the new stack: to what lies there. (musl's is no leaf.)
 */
__attribute__((noreturn, used)) static void landed(void)
{
	__asm__ volatile("andq $-16, %rsp");
	_exit(child(NULL));
}

static uint64_t landing(void)
{
	uint64_t *p = (uint64_t *)stack() - 16;

	p[0] = (uintptr_t)landed;
	return (uintptr_t)p;
}

static pid_t by_clone_number_stack(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, landing(), 0, 0, 0);
}

static pid_t by_clone3_number_stack(void)
{
	struct args3 a = {.exit_signal = SIGCHLD};
	uint64_t top = landing();

	a.stack = top & ~4095UL;
	a.stack_size = top - a.stack;
	return (pid_t)syscall(NR_CLONE3, &a, sizeof(a));
}

#endif

static pid_t by_instruction(void)
{
	long ret = SYS_fork;

	__asm__ volatile("syscall" : "+a"(ret)::"rcx", "r11", "memory");
	return ret ? (pid_t)ret : child(NULL);
}

static const struct way {
	const char *name;
	pid_t (*make)(void);
	int unseen;
} ways[] = {
	{"fork", by_fork, 0},
	{"clone", by_clone, 0},
	{"clone with files", by_clone_files, 0},
	{"clone into a namespace", by_clone_space, 0},
	{"fork by number", by_fork_number, 0},
	{"clone by number", by_clone_number, 0},
	{"clone3 by number", by_clone3_number, 0},
#ifdef __GLIBC__
	{"clone by number on a stack", by_clone_number_stack, 0},
	{"clone3 by number on a stack", by_clone3_number_stack, 0},
#endif
	{"fork by instruction", by_instruction, 1},
};

static void story(const struct way *way)
{
	int seg = s_seg(PAGE), other;
	pid_t pid;
	char *p;

	t_story(way->name);
	if (pipe(go) || pipe(done))
		exit(90);
	at = s_at(seg);
	strcpy(at, "mine");
	pid = way->make();
	t_true(told());
	if (!way->unseen)
		s_nattch(seg, 2);
	s_rm(seg);
	t_eq(shmdt(at), 0);
	if (!way->unseen)
		s_nattch(seg, 1);
	p = s_fresh(&other, "the other's");
	t_eq(write(go[1], "x", 1), 1);
	t_true(told());
	t_true(!strcmp(p, "the other's"));
	t_eq(write(go[1], "x", 1), 1);
	t_eq(t_join(pid), 0);
	t_err(shmctl(seg, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
	t_true(!strcmp(p, "the other's"));
	t_eq(shmdt(p), 0);
	s_rm(other);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(done[i]);
	}
}

/* A child that executes something does not have it any more. */
static void executes(void)
{
	int seg = s_seg(PAGE), out[2];
	char *argv[] = {"sleep", "1000", NULL}, c;
	pid_t pid;

	t_story("exec in such a child");
	at = s_at(seg);
	if (pipe(out))
		exit(90);
	fcntl(out[1], F_SETFD, FD_CLOEXEC);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		execvp("sleep", argv);
		_exit(96);
	}
	close(out[1]);
	t_eq(read(out[0], &c, 1), 0);
	s_nattch(seg, 1);
	kill(pid, SIGKILL);
	t_eq(t_join(pid), 1000 + SIGKILL);
	t_eq(shmdt(at), 0);
	s_rm(seg);
}

int main(void)
{
	t_begin();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		story(&ways[i]);
	executes();
	return s_end();
}
