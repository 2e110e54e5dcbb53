// SPDX-License-Identifier: MIT
/*
 * A signal handler of the program, which makes a call of its own: by the real
 * trampoline, entry/signal.c, which is compiled here under other names than
 * libc's. The controller decides where the signal arrives: an actor that has
 * the baton sends it to itself; to one that sleeps in the kernel it is sent
 * from outside, and the handler then waits for the baton first.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include "entry/process.h"
#include "explore.h"
#include "point.h"

#undef EXPORT
#define EXPORT static __attribute__((unused))
#define sigaction(a, b, c) unused_sigaction(a, b, c)
#define __sigaction(a, b, c) unused_sigaction2(a, b, c)
#define signal(a, b) unused_signal(a, b)
#define bsd_signal(a, b) unused_bsd_signal(a, b)
#define ssignal(a, b) unused_ssignal(a, b)
#define sysv_signal(a, b) unused_sysv_signal(a, b)
#define __sysv_signal(a, b) unused_sysv_signal2(a, b)
#define sigset(a, b) unused_sigset(a, b)
#include "entry/signal.c"
#undef sigaction

#define SIGNAL SIGHUP

struct wiped_page process_page;
__thread struct caller process_caller;

/* The child of a handler's fork. */
struct caller *process_caller_slow(int *ret_errno)
{
	*ret_errno = 0;
	run_take_over(&process_caller);
	return &process_caller;
}

/* The handler's signal is no fault. */
struct shm_process *process_each_shm(u32 *at)
{
	(void)at;
	return NULL;
}

void *process_next(void **cache, const char *name)
{
	(void)cache, (void)name;
	abort();
}

/* What the kernel calls. */
static void arrive(int sig, siginfo_t *info, void *uc)
{
	u64 *mask = (u64 *)((char *)uc + ARCH_UCONTEXT_SIGMASK);
	struct point_look last = point_last;

	if (self->state == ACTOR_BLOCKED) {
		self->woken = !process_caller.in_section;
		self->state = ACTOR_READY;
		__atomic_fetch_add(&ctl->announce, 1, __ATOMIC_SEQ_CST);
		raw_futex(&ctl->announce, 1, 1, NULL);
		baton_wait();
	}
	with_info(sig, info, uc);
	/* The controller's own signal ends sleeps in sections, too. */
	*mask &= ~(1ULL << (SIGUSR1 - 1));
	point_last = last;
	point_last.paused = 0;
}

void handler_send(const struct actor *a)
{
	raw_syscall(SYS_tgkill, (long)ctl->actors[a->leader].pid, (long)a->pid,
		SIGNAL, 0, 0, 0);
}

void handler_raise(void)
{
	point_learn(4, self->steps);
	handler_send(self);
}

void handler_install(void (*handler)(int), int restarts)
{
	struct sigaction act = {.sa_sigaction = arrive, .sa_flags = SA_SIGINFO};

	app_handler[SIGNAL] = (void *)handler;
	section_direct = run_directly;
	if (restarts)
		act.sa_flags |= SA_RESTART;
	sigaction(SIGNAL, &act, NULL);
}
