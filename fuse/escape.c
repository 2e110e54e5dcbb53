// SPDX-License-Identifier: MIT
/*
 * The way out of a request; see escape.h.
 */
#include "escape.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "log.h"
#include "registry/lock.h"

/* Arbitrary: a lock is held for less than a microsecond. */
#define PATIENCE_NS 1000000000ULL

static const struct region *faulting;
static void (*on_cut_short)(void);
/* Of this thread: where it goes, and whose locks it gives back. */
static __thread sigjmp_buf outermost, *target;
static __thread struct caller *using;

sigjmp_buf *escape_here(void)
{
	target = &outermost;
	return target;
}

int escape_guard(int (*fn)(void *arg), void *arg)
{
	sigjmp_buf here, *volatile outer = target;
	int err = sigsetjmp(here, 0);

	if (!err) {
		target = &here;
		err = fn(arg);
	} else {
		err = -err;
	}
	target = outer;
	return err;
}

static void on_stuck(struct caller *c, struct lock *lock, u32 owner)
{
	log_error("a lock at %#llx has been held by thread %u for a second: "
		  "request refused",
		(unsigned long long)region_off(&c->region, lock), owner);
	lock_abandon(c);
	siglongjmp(*target, EBUSY);
}

void escape_prepare(struct caller *c)
{
	c->stuck = on_stuck;
	c->patience_ns = PATIENCE_NS;
	using = c;
}

/* The file's end: nothing of it can be trusted to be there, so what is held in
 * it is only forgotten. */
static void forget(struct caller *c)
{
	c->n_held = c->n_grants = c->in_section = c->damaged = 0;
	c->crash_guard = NULL;
	if (c->robust)
		c->robust->pending = NULL;
}

static void on_fault(int signo, siginfo_t *si, void *context)
{
	uintptr_t off = (uintptr_t)si->si_addr - (uintptr_t)faulting->base;

	(void)context;
	if (off >= REGION_SIZE || !target || !using) {
		signal(signo, SIG_DFL);
		return;
	}
	if (signo == SIGBUS) {
		on_cut_short();
		forget(using);
		siglongjmp(*target, ESTALE);
	}
	lock_abandon(using);
	siglongjmp(*target, EIO);
}

void escape_init(const struct region *region, void (*cut_short)(void))
{
	struct sigaction sa = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

	faulting = region;
	on_cut_short = cut_short;
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
}
