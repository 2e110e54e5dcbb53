// SPDX-License-Identifier: MIT
/*
 * See notify_thread.h. The thread shares everything with its process but
 * signals, and sleeps on task.notifier in the registry.
 */
#include <linux/prctl.h>
#include <linux/sched.h>
#include <signal.h>
#include "base/file.h"
#include "entry/cookie.h"
#include "entry/notify_thread.h"
#include "mq/mqregistration.h"
#include "mq/mqpending.h"

#define CLONE_NOTIFY_THREAD                                                 \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
		CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
/* It calls little and takes no signals. Arbitrary. */
#define STACK_WORDS 1024

static struct {
	u32 lock; /* pid of the process one of whose threads is inside */
	u32 pid; /* whose notification thread it is or was; not ours in a fork child */
	u32 tid; /* 0 = none; the kernel clears it at the thread's end */
	u32 stop;
	u32 image_began; /* notifications of the program before exec is thrown
 * away */
	struct region region;
	u32 task;
	u64 start; /* of the task */
	void *stack[STACK_WORDS] __attribute__((aligned(16)));
} notify_thread SYS_FAR_BSS;

/* ---- its work ---- */

struct sys_siginfo {
	s32 signo, error, code, pad0;
	u32 pid, uid;
	u64 value;
	u64 rest[12];
};

/* What this process has asked for: whoever may write the registry can have
 * written anything there. */
static void deliver(const struct mq_pending *m)
{
	struct mq_notify n;
	struct sys_siginfo info = {
		.code = SI_MESGQ, .pid = m->sender_pid, .uid = m->sender_uid};

	if (!mqregistration_tell(notify_thread.pid, m->stamp, &n))
		return;
	if (n.how == SIGEV_THREAD) {
		cookie_send((int)n.sock, n.sock_ino, n.cookie,
			m->signo == MQ_COOKIE_WOKEN);
		return;
	}
	info.signo = (s32)n.signo;
	info.value = n.value;
	sys_call(__NR_rt_sigqueueinfo, notify_thread.pid, n.signo, &info);
}

static void run(void *arg)
{
	struct task *t = region_task(&notify_thread.region, notify_thread.task);
	struct mq_pending pending;
	u32 n;

	(void)arg;
	sys_call(__NR_prctl, PR_SET_NAME, "mq_notify");
	for (;;) {
		/* A barrier: whoever has a notification after this look wakes
		 * us. */
		atom_xchg(&t->notifier, MQ_NOTIFIER_ASLEEP);
		if (__atomic_load_n(&notify_thread.stop, __ATOMIC_ACQUIRE))
			return;
		n = mqpending_next(&notify_thread.region, notify_thread.task,
			notify_thread.pid, notify_thread.start, &pending);
		if (n) {
			mqpending_begin(&notify_thread.region, n);
			deliver(&pending);
			mqpending_done(&notify_thread.region, n);
		} else {
			sys_futex_wait(&t->notifier, MQ_NOTIFIER_ASLEEP, NULL);
		}
	}
}

/* ---- its coming and going ---- */

/* Signals are blocked meanwhile. A fork child finds the lock free, or its
 * parent's. */
static void lock_state(u32 pid, u64 *ret_mask)
{
	const u64 all = ~0ULL;
	u32 seen = 0;

	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &all, ret_mask, 8);
	while (!__atomic_compare_exchange_n(&notify_thread.lock, &seen, pid, 0,
		__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (seen == pid) {
			sys_call(__NR_sched_yield);
			seen = 0;
		}
	}
}

static void unlock_state(const u64 *mask)
{
	__atomic_store_n(&notify_thread.lock, 0, __ATOMIC_RELEASE);
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
}

static int is_there(u32 pid)
{
	return notify_thread.pid == pid &&
	       __atomic_load_n(&notify_thread.tid, __ATOMIC_ACQUIRE);
}

/* The registrations before exec are worth nothing. */
static void begin_image(u32 pid)
{
	struct mq_pending m;
	u32 n;

	if (notify_thread.image_began == pid)
		return;
	notify_thread.image_began = pid;
	while ((n = mqpending_next(&notify_thread.region, notify_thread.task,
			pid, notify_thread.start, &m)))
		mqpending_done(&notify_thread.region, n);
}

/* Signals are blocked, and so they are in the thread for good. */
static int make(u32 pid)
{
	long tid;

	notify_thread.pid = pid;
	notify_thread.stop = 0;
	begin_image(pid);
	tid = arch_thread(CLONE_NOTIFY_THREAD,
		notify_thread.stack + STACK_WORDS, &notify_thread.tid, run,
		NULL);
	return tid < 0 ? (int)tid : 0;
}

int notify_thread_start(struct caller *c)
{
	u64 mask;
	int err = 0;

	if (is_there(c->pid))
		return 0;
	lock_state(c->pid, &mask);
	if (!is_there(c->pid)) {
		notify_thread.tid = 0;
		notify_thread.region = c->region;
		notify_thread.task = c->task;
		notify_thread.start = region_task(&c->region, c->task)->start;
		err = make(c->pid);
	}
	unlock_state(&mask);
	return err;
}

static void wait_gone(void)
{
	struct task *t = region_task(&notify_thread.region, notify_thread.task);
	u32 tid;

	__atomic_store_n(&notify_thread.stop, 1, __ATOMIC_RELEASE);
	atom_store_release(&t->notifier, 0);
	sys_futex_wake(&t->notifier, 1);
	while ((tid = __atomic_load_n(&notify_thread.tid, __ATOMIC_ACQUIRE)))
		sys_futex_wait(&notify_thread.tid, tid, NULL);
}

int notify_thread_pause(void)
{
	u32 pid;
	u64 mask;
	int was;

	if (likely(!__atomic_load_n(&notify_thread.tid, __ATOMIC_RELAXED)))
		return 0;
	pid = sys_getpid();
	if (notify_thread.pid != pid)
		return 0;
	lock_state(pid, &mask);
	was = is_there(pid);
	if (was)
		wait_gone();
	unlock_state(&mask);
	return was;
}

void notify_thread_resume(int was)
{
	u32 pid;
	u64 mask;

	if (likely(!was))
		return;
	pid = sys_getpid();
	lock_state(pid, &mask);
	if (notify_thread.pid == pid && !is_there(pid))
		make(pid);
	unlock_state(&mask);
}

/* Threads of the process that run, but the calling one. The leader's number
 * stays until all have gone. */
static u64 n_others(u32 pid)
{
	struct sys_process p, leader;

	if (!sys_process_read(pid, 0, &p) || p.n_threads < 2)
		return 0;
	p.n_threads--;
	if (sys_gettid() != pid && sys_process_read(pid, pid, &leader) &&
		leader.ending)
		p.n_threads--;
	return p.n_threads;
}

void notify_thread_ends(void)
{
	int was = notify_thread_pause();

	if (was && n_others(sys_getpid()))
		notify_thread_resume(was);
}

int notify_thread_needed(struct caller *c)
{
	u32 r = 0, e = 0, s = 0, owner = c->region.owner;
	struct file_stat st;

	sys_call(__NR_getresuid, &r, &e, &s);
	if (!e || r != owner || e != owner || s != owner)
		return 1;
	if (!c->region.path[0] || sys_call(__NR_stat, c->region.path, &st))
		return 1;
	return (st.mode & 022) != 0;
}
