// SPDX-License-Identifier: MIT
/*
 * What the instrumented core calls; see actor.h. Compiled without
 * instrumentation.
 *
 * Stores go through an actor's store buffer where a scenario asks for it
 * (actor.tso): the atomic stores are made late, in order, as x86 may make them;
 * whatever would drain the buffer does (a locked instruction, a system call,
 * another's membarrier, a plain access, which cannot be kept back here).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "actor.h"

#define NR_PIDFD_OPEN 434
#define FUTEX_LOCK_PI 6
#define SPINNING_AFTER 3000u
#define PROBE_MOST 3000000u
#define PROBE_SLEEPS 300u

struct control *ctl;
char *explore_base;
sigjmp_buf probe_end;
char probe_text[128];

static __thread struct actor *self; /* NULL: not armed */
static __thread u32 self_idx;
static char *base;
static __thread u64 robust;

static __thread struct {
	u64 off, old;
	u32 size;
} pending; /* a plain store about to happen */
static __thread struct {
	u64 off, value;
	u32 paused, times;
} last;

static __thread unsigned long cycles;
static int probing;
static u32 probe_steps, probe_sleeps;

long raw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	return arch_syscall6(nr, a, b, c, d, e, f);
}

static u64 value_at(const void *p, u32 size)
{
	switch (size) {
	case 1:
		return *(const volatile unsigned char *)p;
	case 2:
		return *(const volatile u16 *)p;
	case 4:
		return *(const volatile u32 *)p;
	default:
		return *(const volatile u64 *)p;
	}
}

struct touched *touched_at(u64 off)
{
	u64 at = off / 8 + 1;
	u32 i, h = (u32)(mix(at, 1) >> 20);

	for (i = 0; i < 64; i++) {
		struct touched *t =
			&ctl->touched[(h + i) & ((1u << TOUCHED_BITS) - 1)];

		if (!t->at)
			t->at = at;
		if (t->at == at)
			return t;
	}
	return NULL;
}

static void touch(u64 off, u32 size, int write, u32 who)
{
	u64 at;

	for (at = off & ~7ULL; at < off + size; at += 8) {
		struct touched *t = touched_at(at);
		u32 *mask;

		if (!t)
			continue;
		mask = write ? &t->writers : &t->readers;
		if (*mask & 1u << who)
			continue;
		*mask |= 1u << who;
		ctl->n_touched_new++;
	}
}

/* ---- what several see ---- */

extern char __data_start[], _end[];

static char *address_of(u64 off)
{
	return off < REGION_SIZE ? base + off
				 : __data_start + (off & 0xffffffff);
}

/* 1 if it lies in the registry, or in what threads of this process share. */
static int is_shared(const void *p, u64 *ret_off)
{
	*ret_off = (const char *)p - base;
	if (*ret_off < REGION_SIZE)
		return !(*ret_off >= EVENTS_OFF && *ret_off < FAC_OFF);
	if (!self || !self->threaded || (const char *)p < __data_start ||
		(const char *)p >= _end)
		return 0;
	*ret_off = PRIVATE_OFF(self->leader) +
		   (u64)((const char *)p - __data_start);
	return 1;
}

/* ---- the state's hash ---- */

static void changed(u64 off, u64 old, u64 new)
{
	if (old != new)
		ctl->memory ^= mix(mix(off, old), 7) ^ mix(mix(off, new), 7);
}

static void fold(void)
{
	if (!pending.size)
		return;
	changed(pending.off, pending.old,
		value_at(address_of(pending.off), pending.size));
	pending.size = 0;
}

static u64 state_hash(void)
{
	return mix(ctl->memory, ctl->others + mix(self->local, self_idx + 1));
}

static void learn(u64 a, u64 b)
{
	self->local = mix(mix(self->local, a), b);
}

/* ---- the baton ---- */

static void pass_baton(void)
{
	__atomic_store_n(&ctl->baton, 1, __ATOMIC_SEQ_CST);
	raw_futex(&ctl->baton, 1, 1, NULL);
}

static void wait_for_baton(void)
{
	while (!__atomic_load_n(&self->go, __ATOMIC_SEQ_CST))
		raw_futex(&self->go, 0, 0, NULL);
	self->go = 0;
	self->state = ACTOR_RUNNING;
}

void actor_park(u32 state)
{
	self->state = state;
	pass_baton();
	wait_for_baton();
}

void actor_born(void)
{
	wait_for_baton();
}

void actor_leave(void)
{
	long how = self->threaded ? __NR_exit : __NR_exit_group;

	self->state = ACTOR_LEAVING;
	pass_baton();
	for (;;)
		raw_syscall(how, 0, 0, 0, 0, 0, 0);
}

void actor_arm(u32 me)
{
	self = &ctl->actors[me];
	self_idx = me;
	base = explore_base;
	robust = self->robust;
	pending.size = 0;
	last.paused = 0;
	cycles = 0;
}

void actor_disarm(void)
{
	fold();
	buffer_flush(self);
	self = NULL;
}

static void stop_if_asked(void)
{
	if (self->steps < self->stop_at)
		return;
	if (!self->keep)
		buffer_flush(self);
	self->keep = 0;
	self->stop_at = ~0u;
	actor_park(ACTOR_READY);
}

/* ---- points ---- */

static void record(u32 kind, u64 off, u32 size, void *pc)
{
	struct point *p;

	stop_if_asked();
	if (ctl->n_points < MAX_POINTS) {
		p = &ctl->points[ctl->n_points];
		p->off = off;
		p->hash = state_hash();
		p->pc = pc;
		p->buffered = (u16)self->n_buffer;
		p->kind = (unsigned char)kind;
		p->actor = (unsigned char)self_idx;
		p->size = (unsigned char)size;
		p->woke = 0;
		ctl->n_points++;
	}
	if (++self->steps > MAX_STEPS) {
		self->endless = 1;
		fold();
		actor_park(ACTOR_DONE);
		for (;;)
			pause();
	}
}

static void probe_point(const void *p, u32 size, int write)
{
	u64 off;

	if (!is_shared(p, &off))
		return;
	touch(off, size, write, PROBE);
	if (++probe_steps > PROBE_MOST)
		siglongjmp(probe_end, PROBE_ENDLESS);
}

/* A read whose value is looked at now and again spares a step, if a pause was
 * all that came between. */
static int seen_before(u64 off, u64 value)
{
	int same = last.paused && last.off == off && last.value == value;

	if (!same) {
		last.times = 0;
	} else if (last.times > SPINNING_AFTER) {
		last.times = 0;
		fold();
		buffer_flush(self);
		actor_park(ACTOR_SPINNING);
		same = 0;
	}
	last.paused = 0;
	last.off = off;
	last.value = value;
	return same;
}

static void read_point(const void *p, u32 size, void *pc)
{
	u64 off;

	if (!self) {
		if (probing)
			probe_point(p, size, 0);
		return;
	}
	fold();
	if (!is_shared(p, &off))
		return;
	if (last.paused && seen_before(off, value_at(p, size)))
		return;
	record(POINT_READ, off, size, pc);
	touch(off, size, 0, self_idx);
	last.off = off;
	last.value = value_at(p, size);
	learn(off, last.value);
}

static void write_point(void *p, u32 size, void *pc)
{
	u64 off;

	if (!self) {
		if (probing)
			probe_point(p, size, 1);
		return;
	}
	fold();
	if (!is_shared(p, &off)) {
		if ((u64)(uintptr_t)p - robust < sizeof(struct sys_robust_head))
			record(POINT_ROBUST, (uintptr_t)p - robust, 8, pc);
		return;
	}
	record(POINT_WRITE, off, size, pc);
	touch(off, size, 1, self_idx);
	learn(off, 3);
	if (size > 8)
		size = 8;
	pending.off = off;
	pending.size = size;
	pending.old = value_at(p, size);
}

/* ---- plain accesses ---- */

static int overlaps(const struct actor *a, u64 off, u32 size)
{
	u64 i;

	for (i = 0; i < a->n_buffer; i++)
		if (a->buffer[i].off < off + size &&
			off < a->buffer[i].off + a->buffer[i].size)
			return 1;
	return 0;
}

static void plain_read(void *p, u32 size, void *pc)
{
	if (self && self->n_buffer && overlaps(self, (char *)p - base, size))
		buffer_flush(self);
	read_point(p, size, pc);
}

static void plain_write(void *p, u32 size, void *pc)
{
	u64 off;

	if (self && self->n_buffer && is_shared(p, &off))
		buffer_flush(self);
	write_point(p, size, pc);
}

#define PC __builtin_return_address(0)
void __tsan_init(void)
{
}
#define PLAIN(n)                                \
	void __tsan_read##n(void *p)            \
	{                                       \
		plain_read(p, n, PC);           \
	}                                       \
	void __tsan_write##n(void *p)           \
	{                                       \
		plain_write(p, n, PC);          \
	}                                       \
	void __tsan_unaligned_read##n(void *p)  \
	{                                       \
		plain_read(p, n, PC);           \
	}                                       \
	void __tsan_unaligned_write##n(void *p) \
	{                                       \
		plain_write(p, n, PC);          \
	}
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_read_range(void *p, unsigned long n)
{
	plain_read(p, n > 128 ? 128 : (u32)n, PC);
}
void __tsan_write_range(void *p, unsigned long n)
{
	plain_write(p, n > 128 ? 128 : (u32)n, PC);
}

/* ---- atomics ---- */

static void store_now(u64 off, u64 value, u32 size)
{
	char *p = explore_base + off;

	changed(off, value_at(p, size),
		size == 8 ? value : value & ((1ULL << 8 * size) - 1));
	switch (size) {
	case 1:
		*(volatile unsigned char *)p = (unsigned char)value;
		break;
	case 2:
		*(volatile u16 *)p = (u16)value;
		break;
	case 4:
		*(volatile u32 *)p = (u32)value;
		break;
	default:
		*(volatile u64 *)p = value;
	}
}

void buffer_flush(struct actor *a)
{
	u64 i;

	for (i = 0; i < a->n_buffer; i++)
		store_now(a->buffer[i].off, a->buffer[i].value,
			a->buffer[i].size);
	a->n_buffer = 0;
}

/* 1 if the store is kept back. */
static int buffered(void *p, u64 value, u32 size)
{
	u64 off;

	if (!self || !self->tso || !is_shared(p, &off))
		return 0;
	if (self->n_buffer == MAX_BUFFER)
		buffer_flush(self);
	self->buffer[self->n_buffer].off = off;
	self->buffer[self->n_buffer].value = value;
	self->buffer[self->n_buffer++].size = size;
	pending.size = 0;
	return 1;
}

/* The own store that memory does not show yet. */
static int forwarded(const void *p, u32 size, u64 *ret)
{
	u64 i, off = (const char *)p - base;

	if (!self || !self->n_buffer)
		return 0;
	for (i = self->n_buffer; i-- > 0;) {
		if (self->buffer[i].off == off &&
			self->buffer[i].size == size) {
			*ret = self->buffer[i].value;
			return 1;
		}
	}
	if (overlaps(self, off, size))
		buffer_flush(self);
	return 0;
}

static void rmw_point(void *p, u32 size, void *pc)
{
	u64 off;

	if (self) {
		fold();
		buffer_flush(self);
		if (is_shared(p, &off)) {
			record(POINT_RMW, off, size, pc);
			touch(off, size, 0, self_idx);
			touch(off, size, 1, self_idx);
			pending.off = off;
			pending.size = size > 8 ? 8 : size;
			pending.old = value_at(p, size);
			learn(off, pending.old);
		}
	} else if (probing) {
		probe_point(p, size, 0);
		probe_point(p, size, 1);
	}
}

#define ATOMIC(bits, type)                                                     \
	type __tsan_atomic##bits##_load(const volatile void *p, int mo)        \
	{                                                                      \
		u64 v;                                                         \
		(void)mo;                                                      \
		if (forwarded((const void *)p, sizeof(type), &v))              \
			return (type)v;                                        \
		read_point((const void *)p, sizeof(type), PC);                 \
		return __atomic_load_n(                                        \
			(const volatile type *)p, __ATOMIC_SEQ_CST);           \
	}                                                                      \
	void __tsan_atomic##bits##_store(volatile void *p, type v, int mo)     \
	{                                                                      \
		(void)mo;                                                      \
		write_point((void *)p, sizeof(type), PC);                      \
		if (buffered((void *)p, v, sizeof(type)))                      \
			return;                                                \
		__atomic_store_n((volatile type *)p, v, __ATOMIC_RELEASE);     \
	}                                                                      \
	type __tsan_atomic##bits##_exchange(volatile void *p, type v, int mo)  \
	{                                                                      \
		(void)mo;                                                      \
		rmw_point((void *)p, sizeof(type), PC);                        \
		return __atomic_exchange_n(                                    \
			(volatile type *)p, v, __ATOMIC_SEQ_CST);              \
	}                                                                      \
	int __tsan_atomic##bits##_compare_exchange_strong(                     \
		volatile void *p, type *expect, type v, int mo, int fail)      \
	{                                                                      \
		(void)mo, (void)fail;                                          \
		rmw_point((void *)p, sizeof(type), PC);                        \
		return __atomic_compare_exchange_n((volatile type *)p, expect, \
			v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
	}                                                                      \
	int __tsan_atomic##bits##_compare_exchange_weak(                       \
		volatile void *p, type *expect, type v, int mo, int fail)      \
	{                                                                      \
		return __tsan_atomic##bits##_compare_exchange_strong(          \
			p, expect, v, mo, fail);                               \
	}                                                                      \
	FETCH(bits, type, add)                                                 \
	FETCH(bits, type, sub)                                                 \
	FETCH(bits, type, and)                                                 \
	FETCH(bits, type, or)                                                  \
	FETCH(bits, type, xor)
#define FETCH(bits, type, what)                                   \
	type __tsan_atomic##bits##_fetch_##what(                  \
		volatile void *p, type v, int mo)                 \
	{                                                         \
		(void)mo;                                         \
		rmw_point((void *)p, sizeof(type), PC);           \
		return __atomic_fetch_##what(                     \
			(volatile type *)p, v, __ATOMIC_SEQ_CST); \
	}
ATOMIC(8, unsigned char)
ATOMIC(16, u16)
ATOMIC(32, u32)
ATOMIC(64, u64)
void __tsan_atomic_thread_fence(int mo)
{
	if (self && mo == __ATOMIC_SEQ_CST)
		buffer_flush(self);
}
void __tsan_atomic_signal_fence(int mo)
{
	(void)mo;
}

int explore_cas16(
	void *p, uint64_t *lo, uint64_t *hi, uint64_t new_lo, uint64_t new_hi)
{
	u64 old_lo, old_hi, off;
	int ok;

	rmw_point(p, 16, PC);
	pending.size = 0;
	if (!self || !is_shared(p, &off))
		return arch_cas16(p, lo, hi, new_lo, new_hi);
	old_lo = ((u64 *)p)[0];
	old_hi = ((u64 *)p)[1];
	learn(old_lo, old_hi);
	ok = arch_cas16(p, lo, hi, new_lo, new_hi);
	changed(off, old_lo, ((u64 *)p)[0]);
	changed(off + 8, old_hi, ((u64 *)p)[1]);
	return ok;
}

unsigned long explore_cycles(void)
{
	return cycles += 500;
}

void explore_pause(void)
{
	last.paused = 1;
	last.times++;
}

/* ---- system calls ---- */

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

	self->deadline = deadline;
	self->fired = 0;
	fold();
	self->state = ACTOR_BLOCKED;
	pass_baton();
	ret = arch_syscall6(nr, a, b, c, 0, e, 0);
	self->state = ACTOR_READY;
	__atomic_fetch_add(&ctl->announce, 1, __ATOMIC_SEQ_CST);
	raw_futex(&ctl->announce, 1, 1, NULL);
	wait_for_baton();
	if (self->fired && ret == -EINTR)
		ret = -ETIMEDOUT;
	self->fired = 0;
	learn(1, ret);
	last.paused = 0;
	return ret;
}

static long futex_wait(
	u32 *word, u32 val, const struct sys_timespec *ts, void *pc)
{
	u64 off = ~0ULL;

	if (!is_shared(word, &off))
		off = ~0ULL;
	record(POINT_WAIT, off, 4, pc);
	touch(off, 4, 0, self_idx);
	learn(off, *word);
	if (*word != val)
		return -EAGAIN;
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

	off = (char *)v[0].uaddr - base;
	record(POINT_WAIT, off, 4, pc);
	self->n_words = n < 10 ? n : 10;
	for (i = 0; i < n; i++) {
		u32 *word = (u32 *)v[i].uaddr;

		off = (char *)word - base;
		self->words[i] = off;
		touch(off, 4, 0, self_idx);
		learn(off, *word);
		if (*word != v[i].val)
			return -EAGAIN;
	}
	return sleep_for(to_deadline(ts, 1, realtime), SYS_NR_FUTEX_WAITV,
		(long)v, n, 0, 1);
}

static long futex_wake(u32 *word, u32 n, void *pc)
{
	u64 off;
	long ret;

	if (!is_shared(word, &off))
		off = ~0ULL;
	record(POINT_WAKE, off, 4, pc);
	touch(off, 4, 1, self_idx);
	ret = arch_syscall6(__NR_futex, (long)word, SYS_FUTEX_WAKE, n, 0, 0, 0);
	learn(off, ret);
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
	u64 was = (char *)from - base, now = (char *)to - base;
	u32 i, k;
	long ret;

	record(POINT_WAKE, was, 4, pc);
	touch(was, 4, 1, self_idx);
	touch(now, 4, 1, self_idx);
	ret = arch_syscall6(__NR_futex, (long)from, SYS_FUTEX_CMP_REQUEUE, 0,
		0x7fffffff, (long)to, val);
	learn(was, ret);
	for (i = 0; ret > 0 && i < ctl->n_actors; i++)
		for (k = 0; k < ctl->actors[i].n_words; k++)
			if (ctl->actors[i].words[k] == was)
				ctl->actors[i].words[k] = now;
	return ret;
}

static long barrier(void *pc)
{
	u32 i;

	record(POINT_BARRIER, 0, 0, pc);
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
	fold();
	actor_park(ACTOR_NAPPING);
	learn(2, 0);
	return 0;
}

static long probe_call(long nr, long a, long b, long c, long d, long e, long f)
{
	if ((nr == __NR_futex && (b & 127) == SYS_FUTEX_WAIT) ||
		nr == SYS_NR_FUTEX_WAITV) {
		u32 *word = nr == __NR_futex
				    ? (u32 *)a
				    : (u32 *)((struct sys_waitv *)a)->uaddr;
		u64 timed = nr == __NR_futex ? (u64)d : (u64)d;

		snprintf(probe_text, sizeof(probe_text),
			"waits on a word at %lx = %x",
			(long)((char *)word - base), *word);
		if (++probe_sleeps > PROBE_SLEEPS || !timed)
			siglongjmp(probe_end, PROBE_WAITS);
		ctl->now += 60000000;
		return -ETIMEDOUT;
	}
	if (nr == __NR_nanosleep) {
		if (++probe_sleeps > PROBE_SLEEPS)
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

long explore_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;

	/* A pidfd's inode is another one in each run; the "start time" tells as
	 * well who is who, here. */
	if (nr == NR_PIDFD_OPEN)
		return -ENOSYS;
	/* To lend priority is a way to sleep that the controller does not know:
	 * as where the kernel has none, the word itself is slept on. */
	if (nr == __NR_futex && (b & 127) == FUTEX_LOCK_PI)
		return -ENOSYS;
	if (!self)
		return probing ? probe_call(nr, a, b, c, d, e, f)
			       : arch_syscall6(nr, a, b, c, d, e, f);
	fold();
	buffer_flush(self);
	switch (nr) {
	case __NR_futex:
		if ((b & 127) == SYS_FUTEX_WAIT)
			return futex_wait((u32 *)a, (u32)c,
				(const struct sys_timespec *)d, PC);
		if ((b & 127) == SYS_FUTEX_WAKE)
			return futex_wake((u32 *)a, (u32)c, PC);
		if ((b & 127) == SYS_FUTEX_CMP_REQUEUE)
			return futex_requeue((u32 *)a, (u32)f, (u32 *)e, PC);
		break;
	case SYS_NR_FUTEX_WAITV:
		return futex_waitv((struct sys_waitv *)a, (u32)b,
			(const struct sys_timespec *)d, e == 0, PC);
	case __NR_membarrier:
		return barrier(PC);
	case __NR_nanosleep:
		return nap((const struct sys_timespec *)a);
	case __NR_sched_yield:
		return 0;
	default:
		break;
	}
	if (is_visible(nr))
		record(POINT_CALL, nr, 0, PC);
	ret = arch_syscall6(nr, a, b, c, d, e, f);
	if (is_visible(nr))
		learn(nr, ret);
	return ret;
}

void actor_begin(u32 which)
{
	fold();
	record(POINT_BEGIN, which, 0, NULL);
}

void probe_arm(const struct region *region)
{
	probing = region != NULL;
	probe_steps = probe_sleeps = 0;
	probe_text[0] = 0;
	if (region)
		base = region->base;
}

/* ---- time, CPU and /proc: linked in place of sys.c's (--wrap) ---- */

int64_t __wrap_sys_realtime_sec(void)
{
	return REALTIME_START + (int64_t)(ctl->now / 1000000000);
}
int64_t __wrap_sys_realtime_ns(void)
{
	return REALTIME_START * 1000000000 + (int64_t)ctl->now;
}
int64_t __wrap_sys_realtime_coarse_ns(void)
{
	return __wrap_sys_realtime_ns();
}
uint64_t __wrap_sys_monotonic_ns(void)
{
	return ctl->now;
}
uint64_t __wrap_sys_boottime_ns(void)
{
	return ctl->now;
}
unsigned __wrap_sys_cpu(void)
{
	/* Another one in each call. */
	return self ? (self_idx + self->n_calls) % 2 : 0;
}

/* Threads of its process that have not been waited for: a first thread that
 * has ended is a zombie as long as there are others. */
static u32 count_threads(const struct actor *a)
{
	u32 i, n = 0;

	for (i = 0; i < ctl->n_actors; i++)
		n += ctl->actors[i].leader == a->leader &&
		     ctl->actors[i].state &&
		     ctl->actors[i].state != ACTOR_DEAD;
	return n;
}

/* Is somebody in /proc by its number? A zombie is; or who has the number now.
 */
static int is_listed(const struct actor *a)
{
	if (!a->state)
		return 0;
	if (a->state != ACTOR_DEAD || a->succeeded)
		return 1;
	return &ctl->actors[a->leader] == a && count_threads(a);
}

int __wrap_sys_process_read(uint32_t pid, uint32_t tid, struct sys_process *ret)
{
	u32 i, number = tid ? tid : pid;

	*ret = (struct sys_process){.stack = STACK_START, .n_threads = 1};
	if (number == (u32)raw_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0) &&
		!self) {
		for (i = 0; i < ctl->n_actors; i++)
			if (ctl->actors[i].pid == number)
				ret->start = ctl->actors[i].start;
		if (!ret->start)
			ret->start = 50;
		return 1;
	}
	for (i = 0; i < ctl->n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		if (a->pid != number || !is_listed(a))
			continue;
		if (tid && pid != tid && ctl->actors[a->leader].pid != pid)
			return 0;
		ret->start = a->start;
		ret->stack = a->stack;
		ret->n_threads = count_threads(a);
		ret->n_threads += a->state == ACTOR_DEAD;
		ret->ending = a->state == ACTOR_DEAD && !a->succeeded;
		return 1;
	}
	ret->start = 50;
	return number == 1;
}

int __wrap_sys_process_read_self(struct sys_process *ret)
{
	u32 pid = (u32)raw_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);

	return __wrap_sys_process_read(pid, 0, ret) && (ret->pid = pid);
}

uint64_t __wrap_sys_start_time(uint32_t pid, int *ret_exiting)
{
	struct sys_process p;

	if (!__wrap_sys_process_read(pid, 0, &p))
		return 0;
	if (ret_exiting)
		*ret_exiting = p.ending;
	return p.start;
}
