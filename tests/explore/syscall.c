// SPDX-License-Identifier: MIT
/*
 * The system calls of the instrumented core. A sleep is the kernel's; timeouts
 * and membarrier are simulated by the controller.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include "point.h"

#define NR_PIDFD_OPEN 434
#define FUTEX_LOCK_PI 6
#define FUTEX_REQUEUE 3
#define PROBE_SLEEPS 300u

/* Of the sleep that the running thread is about to begin; NULL: a stop does not
 * end it. */
static __thread volatile u64 *intr_cs;

static u64 to_deadline(
	const struct sys_timespec *ts, int absolute, int realtime)
{
	u64 ns;

	if (!ts)
		return 0;
	ns = (u64)ts->sec * 1000000000 + ts->nsec;
	if (!absolute)
		return ctl->now + ns + 1;
	if (realtime) {
		u64 zero = (u64)REALTIME_START * 1000000000;

		return ns > zero ? ns - zero : 1;
	}
	return ns ? ns : 1;
}

/* The sleep itself is the kernel's; a limit in time is the controller's, which
 * interrupts it. */
static long sleep_for(u64 deadline, long nr, long a, long b, long c, long e)
{
	long ret;

	volatile u64 *cs = intr_cs;

	intr_cs = NULL;
	self->deadline = deadline;
	self->fired = 0;
	point_fold();
	self->state = ACTOR_BLOCKED;
	baton_pass();
	ret = cs ? arch_syscall6_intr(cs, nr, a, b, c, 0, e)
		 : arch_syscall6(nr, a, b, c, 0, e, 0);
	/* Its handler has run, and had the baton for that. */
	if (self->state != ACTOR_RUNNING) {
		self->state = ACTOR_READY;
		__atomic_fetch_add(&ctl->announce, 1, __ATOMIC_SEQ_CST);
		raw_futex(&ctl->announce, 1, 1, NULL);
		baton_wait();
	}
	if (self->fired && ret == -EINTR)
		ret = -ETIMEDOUT;
	self->fired = 0;
	point_learn(1, ret);
	point_last.paused = 0;
	return ret;
}

static long futex_wait(
	u32 *word, u32 val, const struct sys_timespec *ts, void *pc)
{
	u64 off = ~0ULL;

	if (!point_shared(word, &off))
		off = ~0ULL;
	point_record(POINT_WAIT, off, 4, pc);
	point_touch(off, 4, 0, self_idx);
	point_learn(off, *word);
	if (*word != val)
		return -EAGAIN;
	stops_sleep(self, off, val);
	self->n_words = 1;
	self->words[0] = off;
	return sleep_for(to_deadline(ts, 0, 0), __NR_futex, (long)word,
		SYS_FUTEX_WAIT, val, 0);
}

static long futex_waitv(struct sys_waitv *v, u32 n,
	const struct sys_timespec *ts, int realtime, void *pc)
{
	u32 i;
	u64 off;

	off = (char *)v[0].uaddr - point_base;
	point_record(POINT_WAIT, off, 4, pc);
	self->n_words = n < 10 ? n : 10;
	for (i = 0; i < n; i++) {
		u32 *word = (u32 *)v[i].uaddr;

		off = (char *)word - point_base;
		self->words[i] = off;
		point_touch(off, 4, 0, self_idx);
		point_learn(off, *word);
		if (*word != v[i].val)
			return -EAGAIN;
	}
	stops_sleep(self, self->words[0], (u32)v[0].val);
	return sleep_for(to_deadline(ts, 1, realtime), __NR_futex_waitv,
		(long)v, n, 0, 1);
}

static long futex_wake(u32 *word, u32 n, void *pc)
{
	u64 off;
	long ret;

	if (!point_shared(word, &off))
		off = ~0ULL;
	point_record(POINT_WAKE, off, 4, pc);
	point_touch(off, 4, 1, self_idx);
	ret = arch_syscall6(__NR_futex, (long)word, SYS_FUTEX_WAKE, n, 0, 0, 0);
	point_learn(off, ret);
	if (ret > 0) {
		ctl->woke = 1;
		if (ctl->n_points)
			ctl->points[ctl->n_points - 1].woke = 1;
	}
	return ret;
}

/* The sleepers of `from` sleep on `to` now. */
static long futex_requeue(u32 *from, u32 val, u32 *to, void *pc)
{
	u64 was = (char *)from - point_base, now = (char *)to - point_base;
	u32 i, k;
	long ret;

	point_record(POINT_WAKE, was, 4, pc);
	point_touch(was, 4, 1, self_idx);
	point_touch(now, 4, 1, self_idx);
	ret = arch_syscall6(__NR_futex, (long)from, SYS_FUTEX_CMP_REQUEUE, 0,
		0x7fffffff, (long)to, val);
	point_learn(was, ret);
	for (i = 0; ret > 0 && i < ctl->n_actors; i++)
		for (k = 0;
			!ctl->actors[i].stopped && k < ctl->actors[i].n_words;
			k++)
			if (ctl->actors[i].words[k] == was)
				ctl->actors[i].words[k] = now;
	return ret;
}

/* Whether somebody sleeps there: who is stopped does not. */
static long futex_asleep(
	u32 *word, long nr, long a, long b, long c, long d, long e, void *pc)
{
	u64 off = (char *)word - point_base;
	long ret;

	point_record(POINT_WAIT, off, 4, pc);
	ret = arch_syscall6(nr, a, b, c, d, e, 0);
	point_learn(off, ret);
	return ret;
}

static long barrier(void *pc)
{
	u32 i;

	point_record(POINT_BARRIER, 0, 0, pc);
	if (self->no_barrier)
		return -EPERM;
	for (i = 0; i < ctl->n_actors; i++)
		buffer_flush(&ctl->actors[i]);
	return 0;
}

static long nap(const struct sys_timespec *ts)
{
	self->deadline = to_deadline(ts, 0, 0);
	self->n_words = 0;
	point_fold();
	actor_park(ACTOR_NAPPING);
	point_learn(2, 0);
	return 0;
}

static long probe_call(long nr, long a, long b, long c, long d, long e, long f)
{
	if ((nr == __NR_futex && (b & 127) == SYS_FUTEX_WAIT) ||
		nr == __NR_futex_waitv) {
		u32 *word = nr == __NR_futex
				    ? (u32 *)a
				    : (u32 *)((struct sys_waitv *)a)->uaddr;
		u64 timed = nr == __NR_futex ? (u64)d : (u64)d;

		snprintf(probe_text, sizeof(probe_text),
			"waits on a word at %lx = %x",
			(long)((char *)word - point_base), *word);
		if (++point_probe_sleeps > PROBE_SLEEPS || !timed)
			siglongjmp(probe_end, PROBE_WAITS);
		ctl->now += 60000000;
		return -ETIMEDOUT;
	}
	if (nr == __NR_nanosleep) {
		if (++point_probe_sleeps > PROBE_SLEEPS)
			siglongjmp(probe_end, PROBE_WAITS);
		ctl->now += 60000000;
		return 0;
	}
	return arch_syscall6(nr, a, b, c, d, e, f);
}

/* Calls that change or show something that others can see. */
static int is_visible(long nr)
{
	switch (nr) {
	case __NR_mmap: /* a fork child of another thread's */
		return self->threaded != 0;
	case __NR_kill:
	case __NR_tgkill:
	case __NR_rt_sigqueueinfo:
	case __NR_rt_tgsigqueueinfo:
	case __NR_read:
	case __NR_write:
	case __NR_vmsplice:
	case __NR_pwrite64:
	case __NR_open:
	case __NR_openat:
	case __NR_close:
	case __NR_unlink:
	case __NR_mremap:
	case __NR_munmap:
	case __NR_mprotect:
		return 1;
	default:
		return 0;
	}
}

static long make(
	long nr, long a, long b, long c, long d, long e, long f, void *pc)
{
	long ret;

	/* A pidfd's inode is another one in each run; the "start time" tells as
	 * well who is who, here. */
	if (nr == NR_PIDFD_OPEN)
		return -ENOSYS;
	/* To sleep in FUTEX_LOCK_PI is a way that the controller does not know:
	 * as where the kernel has none, the word itself is slept on. */
	if (nr == __NR_futex && (b & 127) == FUTEX_LOCK_PI)
		return -ENOSYS;
	if (!self)
		return point_probing ? probe_call(nr, a, b, c, d, e, f)
				     : arch_syscall6(nr, a, b, c, d, e, f);
	point_fold();
	buffer_flush(self);
	switch (nr) {
	case __NR_futex:
		if ((b & 127) == SYS_FUTEX_WAIT)
			return futex_wait((u32 *)a, (u32)c,
				(const struct sys_timespec *)d, pc);
		if ((b & 127) == SYS_FUTEX_WAKE)
			return futex_wake((u32 *)a, (u32)c, pc);
		if ((b & 127) == SYS_FUTEX_CMP_REQUEUE)
			return futex_requeue((u32 *)a, (u32)f, (u32 *)e, pc);
		if ((b & 127) == FUTEX_REQUEUE)
			return futex_asleep((u32 *)a, nr, a, b, c, d, e, pc);
		break;
	case __NR_futex_waitv:
		return futex_waitv((struct sys_waitv *)a, (u32)b,
			(const struct sys_timespec *)d, e == 0, pc);
	case __NR_membarrier:
		return barrier(pc);
	case __NR_nanosleep:
		return nap((const struct sys_timespec *)a);
	case __NR_sched_yield:
		return 0;
	default:
		break;
	}
	if (is_visible(nr))
		point_record(POINT_CALL, nr, 0, pc);
	ret = arch_syscall6(nr, a, b, c, d, e, f);
	if (is_visible(nr))
		point_learn(nr, ret);
	return ret;
}

long explore_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	return make(nr, a, b, c, d, e, f, PC);
}

long explore_syscall6_intr(volatile uint64_t *rseq_cs, long nr, long a, long b,
	long c, long d, long e)
{
	long ret;

	intr_cs = rseq_cs;
	ret = make(nr, a, b, c, d, e, 0, PC);
	intr_cs = NULL;
	return ret;
}
