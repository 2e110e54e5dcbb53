// SPDX-License-Identifier: MIT
/*
 * Trampolines around the application's signal handlers.
 *
 * A handler may call semop while its own thread is inside a served call. In the
 * kernel this works; a library that holds a lock would deadlock
 * (doc/measurements.md §2: after 24 signals). Blocking signals around every
 * locked section costs 286 ns. So, from the first served call on, the kernel
 * has the trampoline in place of the application's handler:
 *   - outside our code it just calls the handler;
 *   - inside a section (caller.in_section) it queues the signal again with its
 *     siginfo, blocks all signals in the interrupted context, and returns;
 *     section_end unblocks them. A section lasts well below a microsecond.
 *     Faults (and SIGSYS of a seccomp filter) are not deferred;
 *   - in a sleeping semop it first takes the sleeper out of its queue, as the
 *     kernel does before it runs a handler: a handler that leaves by
 *     siglongjmp, or that posts the very semaphore, then finds what it would
 *     find in the kernel.
 * The cost without signals is the in_section counter: two additions.
 *
 * A fault at the place of a detached segment is reported as the kernel would
 * (name_fault).
 *
 * sigaction and the like are interposed so that the application reads back what
 * it set, and new handlers get a trampoline, too. There are two trampolines:
 * which one the kernel has tells whether the application set SA_SIGINFO, so
 * what is read back never depends on two words that change one after the other.
 * All other flags are left to the kernel; a one-shot handler (SA_RESETHAND) is
 * restored when a signal is deferred, since that passes through the trampoline
 * twice. Handlers of programs that never make a served call are left alone.
 *
 * The table and the kernel's handler are changed together, under a lock of the
 * process: otherwise two threads could leave one thread's handler with the
 * other's flags.
 *
 * signal() and the like are passed to libc, which knows their flags; between
 * libc's system call and ours another thread may briefly run such a handler
 * without a trampoline.
 */
#include <signal.h>
#include "entry/process.h"
#include "registry/journal/reserve.h"
#include "registry/wait.h"

#define N_SIGNALS 65
/* What any call reserves but one with a long array of operations, which
 * reserves again: the child may have been forked after it checked the journal's
 * capacity. */
#define ADOPT_RESERVE 192u

/* The kernel's struct sigaction. */
struct ksigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	u64 mask;
};

/* What the application set. Never cleared by SIG_DFL: a vfork child that resets
 * its own handlers must not disturb the parent's. */
static void *app_handler[N_SIGNALS];
/* After the kernel has reset a one-shot handler it shows SIG_DFL with the flags
 * of the handler. 1 = SA_SIGINFO among them is ours. */
static unsigned char added_info[N_SIGNALS];
static int wrapped;

static long ksigaction(
	int sig, const struct ksigaction *set, struct ksigaction *ret_old)
{
	return sys_call(__NR_rt_sigaction, sig, set, ret_old, 8);
}

/* The interrupted instruction cannot continue: its handler runs now. */
static int is_fault(int sig, const siginfo_t *info)
{
	return (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
		       sig == SIGILL || sig == SIGTRAP || sig == SIGSYS) &&
	       info->si_code > 0;
}

/* This delivery has reset the handler, but the signal is to be delivered
 * again. */
static void undo_reset(int sig, void (*mine)(int, siginfo_t *, void *))
{
	struct ksigaction act;

	if (ksigaction(sig, NULL, &act) || act.handler != (void *)SIG_DFL ||
		!(act.flags & SA_RESETHAND))
		return;
	act.handler = (void *)mine;
	ksigaction(sig, &act, NULL);
}

/*
 * Queue the signal again, for this thread, and block all signals in the
 * interrupted context: it stays pending until section_end restores the mask.
 * Where the kernel cannot queue it (RLIMIT_SIGPENDING, in a storm of them) it
 * is kept in a slot.
 *
 * A signal may arrive while the trampoline of another one runs, at any
 * instruction, and then finds that one blocked as well. A signal was open in
 * the section if any of them finds it open: one instruction adds these, so that
 * their order does not matter.
 */
static void defer(struct caller *c, int sig, const siginfo_t *info, void *uc)
{
	u64 *mask = (u64 *)((char *)uc + ARCH_UCONTEXT_SIGMASK);

	section_requeue(c, sig, info);
	__atomic_fetch_or(&c->deferred.open, ~*mask, __ATOMIC_RELAXED);
	__atomic_fetch_or(
		&c->deferred.pending, DEFERRED_MASK, __ATOMIC_RELAXED);
	*mask = ~0ULL;
}

/* Whether calls are restarted after it; used only in a sleep. */
static unsigned long flags_of(int sig)
{
	struct ksigaction act;

	return ksigaction(sig, NULL, &act) ? 0 : act.flags;
}

/* The handler forked and returns in the child, perhaps into a call of ours
 * outside a section: it continues as the child's, which needs the records and
 * the journal that the call has relied on. */
static __attribute__((noinline)) void adopt_call(
	u32 reserve, u32 in_section, int slept, void *uc)
{
	int err = 0;
	struct caller *c = process_get(&err);

	/* It was a fault in a section: the section continues and will be
	 * ended. */
	if (c)
		c->in_section = in_section;

	if (c && reserve && !caller_enroll(c))
		journal_reserve(
			c, reserve > ADOPT_RESERVE ? reserve : ADOPT_RESERVE);
	/* Not to sleep on the parent's word. */
	if (slept) {
		arch_skip_syscall(uc, __NR_futex, -EINTR);
		arch_skip_syscall(uc, __NR_futex_waitv, -EINTR);
	}
}

/* Unattached parts of a home mapping exist without access, where the kernel has
 * no mapping. The handler gets the si_code that it would get from the
 * kernel. */
static __attribute__((noinline)) void name_fault(siginfo_t *info)
{
	const struct shm_process *p;
	u32 at = 0;

	while ((p = process_each_shm(&at)))
		if (shm_address_is_free(p, (u64)info->si_addr))
			info->si_code = SEGV_MAPERR;
}

static __attribute__((noinline)) void deliver(int sig, siginfo_t *info,
	void *uc, void (*mine)(int, siginfo_t *, void *))
{
	struct caller *c = &process_caller;
	u32 generation, reserve, in_section;
	void *handler;
	int slept = 0;

	if (c->in_section && !is_fault(sig, info)) {
		undo_reset(sig, mine);
		defer(c, sig, info, uc);
		return;
	}
	if (c->interrupt && !is_fault(sig, info)) {
		/* Another signal may come before this one has done it. */
		section_begin(c);
		if (c->interrupt) {
			slept = 1;
			wait_interrupted();
			c->signal_flags = flags_of(sig);
			c->interrupt(c);
		}
		section_end(c);
	}
	if (unlikely(sig == SIGSEGV && info->si_code == SEGV_ACCERR))
		name_fault(info);
	handler = __atomic_load_n(&app_handler[sig], __ATOMIC_ACQUIRE);
	if (!handler)
		return;
	generation = c->generation;
	in_section = c->in_section;
	reserve = c->thread && generation ? (u32)(c->entries_end - c->entries)
					  : 0;
	((void (*)(int, siginfo_t *, void *))handler)(sig, info, uc);
	if (unlikely(generation &&
		     (generation != atom_load_relaxed(
					    &process_page.generation) ||
			     generation != c->generation)))
		adopt_call(reserve, in_section, slept, uc);
}

/* For handlers without and with SA_SIGINFO. */
static void plain(int sig, siginfo_t *info, void *uc)
{
	deliver(sig, info, uc, plain);
}

static void with_info(int sig, siginfo_t *info, void *uc)
{
	deliver(sig, info, uc, with_info);
}

static int is_trampoline(const void *h)
{
	return h == (void *)plain || h == (void *)with_info;
}

/* section_direct: as the kernel would call it, but with an empty context. */
static void run_directly(int sig, void *info, u64 mask)
{
	unsigned char uc[1024] __attribute__((aligned(16)));
	struct ksigaction act;
	u64 blocked, was;

	__builtin_memset(uc, 0, sizeof(uc));
	*(u64 *)(uc + ARCH_UCONTEXT_SIGMASK) = mask;
	if (ksigaction(sig, NULL, &act))
		return;
	blocked = mask | act.mask |
		  (act.flags & SA_NODEFER ? 0 : 1ULL << (sig - 1));
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &blocked, &was, 8);
	deliver(sig, info, uc, act.flags & SA_SIGINFO ? with_info : plain);
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &was, NULL, 8);
}

static int wrappable(long sig)
{
	/* 32 and 33 are libc's own (cancellation, setxid). */
	return sig > 0 && sig < N_SIGNALS && sig != 32 && sig != 33 &&
	       sig != SIGKILL && sig != SIGSTOP;
}

static int is_handler(const void *h)
{
	return h != (void *)SIG_DFL && h != (void *)SIG_IGN &&
	       h != (void *)SIG_ERR && !is_trampoline(h);
}

/* Replace what the application sets by what the kernel gets, storing its
 * handler in the table. The table is changed first: a trampoline without a
 * handler would lose the signal. */
static void hide(int sig, void **handler, unsigned long *flags)
{
	if (!is_handler(*handler))
		return;
	__atomic_store_n(&app_handler[sig], *handler, __ATOMIC_RELEASE);
	added_info[sig] = !(*flags & SA_SIGINFO);
	*handler = (void *)(*flags & SA_SIGINFO ? with_info : plain);
	*flags |= SA_SIGINFO;
}

/* Replace what the kernel returns by what the application had set, whose
 * handler was `before`. */
static void unhide(
	void **handler, unsigned long *flags, void *before, int added)
{
	int reset = *handler == (void *)SIG_DFL && (*flags & SA_RESETHAND);

	if (*handler == (void *)plain || (reset && added))
		*flags &= ~(unsigned long)SA_SIGINFO;
	if (is_trampoline(*handler))
		*handler = before;
}

/* If the kernel has a handler of the application's, replace it by a
 * trampoline. */
static void wrap(int sig)
{
	struct ksigaction act;

	if (!wrappable(sig) || ksigaction(sig, NULL, &act) ||
		!is_handler(act.handler))
		return;
	hide(sig, &act.handler, &act.flags);
	ksigaction(sig, &act, NULL);
}

/*
 * The lock: 0, or the pid of the process one of whose threads changes the table
 * and the kernel, with CHANGING_WANTED if another sleeps for it. In a fork
 * child it may be the parent's, which counts as 0. A vfork child takes no lock,
 * which only its parent could release: the table is not its own.
 */
static u32 changing, changing_tid;
#define CHANGING_WANTED SYS_WAITERS

/* Functions of other libraries called in between may call us. */
static int changing_mine(u32 pid)
{
	return (__atomic_load_n(&changing, __ATOMIC_RELAXED) &
		       ~CHANGING_WANTED) == pid &&
	       __atomic_load_n(&changing_tid, __ATOMIC_RELAXED) == sys_gettid();
}

static void changing_take(u32 pid)
{
	u32 seen = 0, slept = 0;

	while (!atom_cas(&changing, &seen, pid | slept)) {
		if ((seen & ~CHANGING_WANTED) != pid)
			continue;
		slept = CHANGING_WANTED;
		if ((seen & CHANGING_WANTED) ||
			atom_cas(&changing, &seen, seen | CHANGING_WANTED))
			sys_futex_wait(&changing, pid | CHANGING_WANTED, NULL);
		seen = 0;
	}
	__atomic_store_n(&changing_tid, sys_gettid(), __ATOMIC_RELAXED);
}

static void changing_give(void)
{
	__atomic_store_n(&changing_tid, 0, __ATOMIC_RELAXED);
	if (atom_xchg(&changing, 0) & CHANGING_WANTED)
		sys_futex_wake(&changing, 1);
}

/* In a vfork child the table is the parent's: it sets handlers without a
 * trampoline, and only reads what it inherited. */
static int own_table(void)
{
	return !process_page.pid || process_page.pid == sys_getpid();
}

#define CHANGE_OWN 1
#define CHANGE_LOCKED 2

/* Begin to change table and kernel together: no handler, which may set another,
 * and no other thread interferes. Not 0 if the table is ours to change. */
static int change_begin(u64 *ret_mask)
{
	const u64 all = ~0ULL;
	u32 pid = sys_getpid();
	int own = own_table() ? CHANGE_OWN : 0;

	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &all, ret_mask, 8);
	if (own && !changing_mine(pid)) {
		changing_take(pid);
		own |= CHANGE_LOCKED;
	}
	return own;
}

static void change_end(const u64 *mask, int own)
{
	if (own & CHANGE_LOCKED)
		changing_give();
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
}

/* 62 system calls of 0.13 us: to read from /proc which signals have handlers
 * takes longer, 20 us in a new process (doc/measurements.md §12). */
void signal_wrap_all(void)
{
	u64 mask;
	int sig, own;

	section_direct = run_directly;
	own = change_begin(&mask);
	for (sig = 1; sig < N_SIGNALS; sig++)
		wrap(sig);
	__atomic_store_n(&wrapped, 1, __ATOMIC_RELEASE);
	change_end(&mask, own);
}

int signal_wrapped(void)
{
	return __atomic_load_n(&wrapped, __ATOMIC_ACQUIRE);
}

long signal_raw(long sig, const void *set, void *old, long size)
{
	struct ksigaction mine, *was = old;
	void *before;
	int added, own;
	long ret;
	u64 mask;

	if (!signal_wrapped() || !wrappable(sig) || size != 8)
		return sys_call(__NR_rt_sigaction, sig, set, old, size);
	if (set && !sys_readable(set, sizeof(mine)))
		return -EFAULT;
	if (set)
		__builtin_memcpy(&mine, set, sizeof(mine));
	own = change_begin(&mask);
	before = __atomic_load_n(&app_handler[sig], __ATOMIC_ACQUIRE);
	added = added_info[sig];
	if (set && own)
		hide((int)sig, &mine.handler, &mine.flags);
	ret = sys_call(__NR_rt_sigaction, sig, set ? &mine : NULL, old, size);
	change_end(&mask, own);
	if (!ret && was)
		unhide(&was->handler, &was->flags, before, added);
	return ret;
}

typedef int (*sigaction_fn)(int, const struct sigaction *, struct sigaction *);

static void hide_in(int sig, struct sigaction *act)
{
	void *handler = (void *)act->sa_sigaction;
	unsigned long flags = (unsigned)act->sa_flags;

	hide(sig, &handler, &flags);
	act->sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
	act->sa_flags = (int)flags;
}

static void unhide_in(struct sigaction *act, void *before, int added)
{
	void *handler = (void *)act->sa_sigaction;
	unsigned long flags = (unsigned)act->sa_flags;

	unhide(&handler, &flags, before, added);
	act->sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
	act->sa_flags = (int)flags;
}

static int sigaction_by(sigaction_fn real, int sig, const struct sigaction *set,
	struct sigaction *old)
{
	struct sigaction mine, was;
	void *before;
	int ret, added, own;
	u64 mask;

	if (!signal_wrapped() || !wrappable(sig))
		return real(sig, set, old);
	/* The caller's memory is accessed outside the lock: it may fault. */
	if (set)
		mine = *set;
	own = change_begin(&mask);
	before = __atomic_load_n(&app_handler[sig], __ATOMIC_ACQUIRE);
	added = added_info[sig];
	if (set && own)
		hide_in(sig, &mine);
	ret = real(sig, set ? &mine : NULL, old ? &was : NULL);
	change_end(&mask, own);
	if (ret || !old)
		return ret;
	unhide_in(&was, before, added);
	*old = was;
	return 0;
}

EXPORT int sigaction(
	int sig, const struct sigaction *set, struct sigaction *old)
{
	static void *next;

	return sigaction_by(
		(sigaction_fn)process_next(&next, "sigaction"), sig, set, old);
}

EXPORT int __sigaction(
	int sig, const struct sigaction *set, struct sigaction *old)
{
	static void *next;

	return sigaction_by(
		(sigaction_fn)process_next(&next, "sigaction"), sig, set, old);
}

typedef void (*handler_fn)(int);

static handler_fn signal_by(void *real, int sig, handler_fn handler)
{
	void *before = NULL;
	handler_fn old;
	u64 mask;
	int own;

	if (!real)
		return SIG_ERR;
	if (wrappable(sig))
		before = __atomic_load_n(&app_handler[sig], __ATOMIC_ACQUIRE);
	/* Outside change_begin: sigset changes the mask. */
	old = ((handler_fn(*)(int, handler_fn))real)(sig, handler);
	if (!signal_wrapped() || old == SIG_ERR)
		return old;
	own = change_begin(&mask);
	if (own)
		wrap(sig);
	change_end(&mask, own);
	return is_trampoline((void *)old) ? (handler_fn)before : old;
}

#define SIGNAL_LIKE(name)                                                   \
	EXPORT handler_fn name(int sig, handler_fn handler)                 \
	{                                                                   \
		static void *next;                                          \
                                                                            \
		return signal_by(process_next(&next, #name), sig, handler); \
	}

SIGNAL_LIKE(signal)
SIGNAL_LIKE(bsd_signal)
SIGNAL_LIKE(ssignal)
SIGNAL_LIKE(sysv_signal)
SIGNAL_LIKE(__sysv_signal)
SIGNAL_LIKE(sigset)
