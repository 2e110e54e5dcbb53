// SPDX-License-Identifier: MIT
/*
 * Trampolines around the host's signal handlers.
 *
 * Why: a handler may call semop while its own thread is inside a served call.
 * The kernel has no trouble with that; a library that holds a lock deadlocks
 * (SPIKES §2: after 24 signals). Blocking signals around every locked section
 * costs 286 ns. So, from the first served call on, the kernel is given the
 * trampoline instead of the host's handler:
 *   - outside our code it calls the handler, and that is all;
 *   - inside a section (caller.in_section) it keeps the signal, blocks all
 *     others in the interrupted context, and returns; section_end raises it
 *     again with its siginfo. A section lasts well below a microsecond;
 *   - in a sleeping semop it first takes the sleeper out of its queue, as the
 *     kernel does before it runs a handler: a handler that leaves by
 *     siglongjmp, or that posts the very semaphore, then finds what it would
 *     find in the kernel.
 * The cost without signals is the in_section counter: two additions.
 *
 * sigaction and its kin are interposed so that the host reads back what it
 * set, and new handlers get a trampoline too. SA_RESETHAND is done here, since
 * a deferred signal passes through the trampoline twice. Handlers of programs
 * that never make a served call are left alone.
 */
#include <signal.h>
#include "entry/process.h"

#define N_SIGNALS 65
#define HIDDEN_FLAGS (SA_SIGINFO | SA_RESETHAND)

/* The kernel's struct sigaction. */
struct ksigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	u64 mask;
};

/* What the host set. Never cleared by SIG_DFL: a vfork child that resets its
 * own handlers must not disturb the parent's. */
static struct {
	void *handler;
	unsigned long flags;
} host[N_SIGNALS];
static int wrapped;

static long ksigaction(
	int sig, const struct ksigaction *set, struct ksigaction *ret_old)
{
	return sys_call(__NR_rt_sigaction, sig, set, ret_old, 8);
}

static int is_fault(int sig, const siginfo_t *info)
{
	return (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
		       sig == SIGILL || sig == SIGTRAP) &&
		info->si_code > 0;
}

static void defer(struct caller *c, int sig, const siginfo_t *info, void *uc)
{
	struct deferred_signals *d = &c->deferred;
	u64 *mask = (u64 *)((char *)uc + ARCH_UCONTEXT_SIGMASK);
	u32 i;

	for (i = 0; i < d->n; i++)
		if (d->at[i].signo == sig && sig < 32)
			return;
	if (d->n == MAX_DEFERRED)
		return;
	d->at[d->n].signo = sig;
	__builtin_memcpy(d->at[d->n].info, info, sizeof(d->at[0].info));
	if (!d->has_mask) {
		d->has_mask = 1;
		d->mask = *mask;
	}
	*mask = ~0ULL;
	d->n++;
}

static void trampoline(int sig, siginfo_t *info, void *uc)
{
	struct caller *c = &process_caller;
	void *handler;
	struct ksigaction dfl = {SIG_DFL, 0, NULL, 0};

	if (c->in_section && !is_fault(sig, info)) {
		defer(c, sig, info, uc);
		return;
	}
	if (c->interrupt && !is_fault(sig, info)) {
		c->signal_flags = host[sig].flags;
		c->interrupt(c);
	}
	handler = __atomic_load_n(&host[sig].handler, __ATOMIC_ACQUIRE);
	if (host[sig].flags & SA_RESETHAND)
		ksigaction(sig, &dfl, NULL);
	if (handler)
		((void (*)(int, siginfo_t *, void *))handler)(sig, info, uc);
}

static int wrappable(int sig)
{
	/* 32 and 33 are libc's own (cancellation, setxid). */
	return sig > 0 && sig < N_SIGNALS && sig != 32 && sig != 33 &&
		sig != SIGKILL && sig != SIGSTOP;
}

static int is_handler(const void *h)
{
	return h != (void *)SIG_DFL && h != (void *)SIG_IGN &&
		h != (void *)SIG_ERR && h != (void *)trampoline;
}

static void remember(int sig, void *handler, unsigned long flags)
{
	host[sig].flags = flags;
	__atomic_store_n(&host[sig].handler, handler, __ATOMIC_RELEASE);
}

/* The kernel has a handler of the host's: put the trampoline before it. */
static void wrap(int sig)
{
	struct ksigaction act;

	if (!wrappable(sig) || ksigaction(sig, NULL, &act) ||
		!is_handler(act.handler))
		return;
	remember(sig, act.handler, act.flags);
	act.handler = (void *)trampoline;
	act.flags = (act.flags | SA_SIGINFO) & ~(unsigned long)SA_RESETHAND;
	ksigaction(sig, &act, NULL);
}

void signal_wrap_all(void)
{
	int sig;

	for (sig = 1; sig < N_SIGNALS; sig++)
		wrap(sig);
	__atomic_store_n(&wrapped, 1, __ATOMIC_RELEASE);
}

/* In a vfork child the table is the parent's: leave it and the handlers. */
static int active(void)
{
	return __atomic_load_n(&wrapped, __ATOMIC_ACQUIRE) &&
		(!process_page.pid || process_page.pid == sys_getpid());
}

void signal_after_raw(int sig, void *old)
{
	struct ksigaction *was = old;
	void *handler = sig > 0 && sig < N_SIGNALS ? host[sig].handler : NULL;

	if (!active() || !wrappable(sig))
		return;
	wrap(sig);
	if (was && was->handler == (void *)trampoline)
		was->handler = handler;
}

static void unhide(int sig, struct sigaction *act)
{
	if (act->sa_sigaction != trampoline)
		return;
	act->sa_flags = (act->sa_flags & ~HIDDEN_FLAGS) |
		(int)(host[sig].flags & HIDDEN_FLAGS);
	act->sa_sigaction = (void (*)(int, siginfo_t *, void *))host[sig].handler;
}

typedef int (*sigaction_fn)(
	int, const struct sigaction *, struct sigaction *);

static int sigaction_by(sigaction_fn real, int sig, const struct sigaction *set,
	struct sigaction *old)
{
	struct sigaction mine, was;
	int ret;

	if (!active() || !wrappable(sig))
		return real(sig, set, old);
	/* What the host had, before the table changes. */
	ret = real(sig, NULL, &was);
	if (ret)
		return ret;
	unhide(sig, &was);
	if (set) {
		mine = *set;
		if (is_handler((void *)mine.sa_sigaction)) {
			remember(sig, (void *)mine.sa_sigaction,
				(unsigned)mine.sa_flags);
			mine.sa_sigaction = trampoline;
			mine.sa_flags = (mine.sa_flags | SA_SIGINFO) &
				~SA_RESETHAND;
		}
		ret = real(sig, &mine, NULL);
	}
	if (!ret && old)
		*old = was;
	return ret;
}

EXPORT int sigaction(
	int sig, const struct sigaction *set, struct sigaction *old)
{
	static void *next;

	return sigaction_by((sigaction_fn)process_next(&next, "sigaction"), sig,
		set, old);
}

EXPORT int __sigaction(
	int sig, const struct sigaction *set, struct sigaction *old)
{
	static void *next;

	return sigaction_by((sigaction_fn)process_next(&next, "sigaction"), sig,
		set, old);
}

typedef void (*handler_fn)(int);

/* signal() and kin go to libc, which knows their flags; then the trampoline
 * is put before what they set. */
static handler_fn signal_by(void *real, int sig, handler_fn handler)
{
	void *before = sig > 0 && sig < N_SIGNALS ? host[sig].handler : NULL;
	handler_fn old;

	if (!real)
		return SIG_ERR;
	old = ((handler_fn(*)(int, handler_fn))real)(sig, handler);
	if (!active() || old == SIG_ERR)
		return old;
	wrap(sig);
	return (void *)old == (void *)trampoline ? (handler_fn)before : old;
}

#define SIGNAL_LIKE(name)                                                      \
	EXPORT handler_fn name(int sig, handler_fn handler)                    \
	{                                                                      \
		static void *next;                                             \
                                                                               \
		return signal_by(process_next(&next, #name), sig, handler);    \
	}

SIGNAL_LIKE(signal)
SIGNAL_LIKE(bsd_signal)
SIGNAL_LIKE(sysv_signal)
SIGNAL_LIKE(__sysv_signal)
SIGNAL_LIKE(sigset)
