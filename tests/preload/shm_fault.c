// SPDX-License-Identifier: MIT
/*
 * shm_fault: the si_code of a SIGSEGV where nothing is attached is SEGV_MAPERR:
 * after shmdt, beyond a segment's end, in unmapped pages; where something is
 * attached without the right (SHM_RDONLY, mprotect) it is SEGV_ACCERR. Garbage
 * collectors and checking allocators tell the two apart.
 */
#include "shm.h"
#include <stdint.h>

#define PAGES 4

static sigjmp_buf back;
static volatile int code;
static char *volatile told;

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	code = info->si_code;
	told = info->si_addr;
	siglongjmp(back, 1);
}

/* By the shape without siginfo, which gets it all the same. */
static void on_fault_plain(int sig)
{
	(void)sig;
	code = -1;
	siglongjmp(back, 1);
}

static int reads(const char *at)
{
	code = 0;
	if (!sigsetjmp(back, 1))
		*(const volatile char *)at;
	return code;
}

static int writes(char *at)
{
	code = 0;
	if (!sigsetjmp(back, 1))
		*(volatile char *)at = 1;
	return code;
}

static int runs(char *at)
{
	code = 0;
	if (!sigsetjmp(back, 1))
		((void (*)(void))(uintptr_t)at)();
	return code;
}

static void handle(int flags)
{
	struct sigaction act = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags};

	sigaction(SIGSEGV, &act, NULL);
}

static void detached(const char *how, int flags, void *at)
{
	int seg = s_seg(PAGES * PAGE);
	char *p = shmat(seg, at, flags);

	t_story(how);
	t_true(p != BAD);
	t_eq(reads(p), 0);
	t_eq(writes(p + PAGE), flags & SHM_RDONLY ? SEGV_ACCERR : 0);
	t_eq(runs(p), SEGV_ACCERR);
	if (at)
		t_eq(reads(p + PAGES * PAGE), SEGV_MAPERR);
	t_eq(shmdt(p), 0);
	t_eq(reads(p), SEGV_MAPERR);
	t_true(told == p);
	t_eq(writes(p + PAGES * PAGE - 1), SEGV_MAPERR);
	t_true(told == p + PAGES * PAGE - 1);
	t_eq(runs(p), SEGV_MAPERR);
	s_rm(seg);
	t_eq(reads(p), SEGV_MAPERR);
}

static void parts(void)
{
	int seg = s_seg(PAGES * PAGE);
	char *p = s_at(seg), *q;

	t_story("in parts");
	t_eq(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	t_eq(munmap(p + 2 * PAGE, PAGE), 0);
	t_eq(reads(p), 0);
	t_eq(reads(p + PAGE), SEGV_ACCERR);
	t_eq(reads(p + 2 * PAGE), SEGV_MAPERR);
	t_eq(reads(p + 3 * PAGE), 0);
	t_story("something else there");
	q = mmap(p + 2 * PAGE, PAGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	t_true(q == p + 2 * PAGE);
	t_eq(reads(q), SEGV_ACCERR);
	t_eq(shmdt(p), 0);
	t_eq(reads(p), SEGV_MAPERR);
	t_eq(reads(p + PAGE), SEGV_MAPERR);
	t_eq(reads(q), SEGV_ACCERR);
	t_eq(munmap(q, PAGE), 0);
	t_eq(reads(q), SEGV_MAPERR);
	s_rm(seg);
}

static void removed(void)
{
	int seg = s_seg(PAGES * PAGE), other = s_seg(PAGES * PAGE);
	char *p = s_at(seg), *q;

	t_story("removed while attached, twice, another over it");
	q = s_at(seg);
	s_rm(seg);
	t_eq(writes(p), 0);
	t_eq(shmdt(p), 0);
	t_eq(reads(p), SEGV_MAPERR);
	t_eq(reads(q), 0);
	t_true(shmat(other, q, SHM_REMAP | SHM_RDONLY) == q);
	t_eq(writes(q), SEGV_ACCERR);
	t_eq(reads(q), 0);
	t_eq(shmdt(q), 0);
	t_eq(writes(q), SEGV_MAPERR);
	s_rm(other);
}

static void child(char *gone, char *left)
{
	t_eq(reads(gone), SEGV_MAPERR);
	t_eq(writes(left), 0);
	t_eq(shmdt(left), 0);
	t_eq(reads(left), SEGV_MAPERR);
}

static void forked(void)
{
	int seg = s_seg(PAGES * PAGE);
	char *gone = s_at(seg), *left = s_at(seg);
	pid_t pid;
	int status;

	t_story("in a child");
	t_eq(shmdt(gone), 0);
	pid = fork();
	if (!pid) {
		child(gone, left);
		_exit(t_failed);
	}
	t_true(waitpid(pid, &status, 0) == pid && !status);
	t_eq(reads(left), 0);
	t_eq(shmdt(left), 0);
	s_rm(seg);
}

static void *in_thread(void *at)
{
	return (void *)(intptr_t)reads(at);
}

/* While another thread attaches and detaches, and on a stack of its own. */
static volatile int stop;

static void *churns(void *arg)
{
	int seg = *(int *)arg, i;
	char *p[64];

	while (!stop) {
		for (i = 0; i < 64; i++)
			p[i] = shmat(seg, NULL, 0);
		for (i = 0; i < 64; i++)
			shmdt(p[i]);
	}
	return NULL;
}

static void threads(void)
{
	int seg = s_seg(PAGES * PAGE), i, wrong = 0;
	char *gone = s_at(seg), *left = s_at(seg), *many[400];
	static char space[65536];
	stack_t stack = {.ss_sp = space, .ss_size = sizeof(space)};
	pthread_t t;
	void *ret;

	t_story("in a thread that has made no call, beside one that makes "
		"many");
	t_eq(mprotect(left + PAGE, PAGE, PROT_NONE), 0);
	t_eq(munmap(left + 2 * PAGE, PAGE), 0);
	t_eq(shmdt(gone), 0);
	pthread_create(&t, NULL, in_thread, gone);
	pthread_join(t, &ret);
	t_eq((intptr_t)ret, SEGV_MAPERR);
	t_eq(sigaltstack(&stack, NULL), 0);
	handle(SA_ONSTACK);
	pthread_create(&t, NULL, churns, &seg);
	for (i = 0; i < 2000; i++) {
		wrong += reads(left + 2 * PAGE) != SEGV_MAPERR;
		wrong += reads(left + PAGE) != SEGV_ACCERR;
	}
	stop = 1;
	pthread_join(t, NULL);
	t_eq(wrong, 0);
	for (i = 0; i < 400; i++)
		many[i] = shmat(seg, NULL, 0);
	t_eq(reads(left + PAGE), SEGV_ACCERR);
	for (i = 0; i < 400; i++)
		wrong += shmdt(many[i]) != 0;
	t_eq(wrong, 0);
	t_eq(shmdt(left), 0);
	t_eq(reads(left + PAGE), SEGV_MAPERR);
	s_rm(seg);
}

int main(void)
{
	void *at;

	t_begin();
	t_story("a handler before the first call");
	handle(0);
	at = mmap(NULL, 2 * PAGES * PAGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t_eq(reads(at), SEGV_ACCERR);
	t_eq(reads(NULL), SEGV_MAPERR);
	detached("detached", 0, NULL);
	detached("read only", SHM_RDONLY, NULL);
	munmap(at, 2 * PAGES * PAGE);
	detached("at an address", 0, at);
	parts();
	removed();
	forked();
	signal(SIGSEGV, on_fault_plain);
	t_eq(reads(NULL), -1);
	handle(0);
	threads();
	return t_end();
}
