// SPDX-License-Identifier: MIT
/*
 * What the instrumented core calls at each access to memory, where the compiler
 * has put it in for -fsanitize=thread (hook.h).
 *
 * Stores go through an actor's store buffer where a scenario asks for it
 * (actor.tso): the atomic stores are made late, in order, as x86 may make them;
 * whatever would drain the buffer does (a locked instruction, a system call,
 * another's membarrier, a plain access, which cannot be kept back here).
 */
#include "point.h"

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
	if (self && self->n_buffer &&
		overlaps(self, (char *)p - point_base, size))
		buffer_flush(self);
	point_read(p, size, pc);
}

static void plain_write(void *p, u32 size, void *pc)
{
	u64 off;

	if (self && self->n_buffer && point_shared(p, &off))
		buffer_flush(self);
	point_write(p, size, pc);
}

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

	point_changed(off, point_value(p, size),
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

	if (!self || !self->tso || !point_shared(p, &off))
		return 0;
	if (self->n_buffer == MAX_BUFFER)
		buffer_flush(self);
	self->buffer[self->n_buffer].off = off;
	self->buffer[self->n_buffer].value = value;
	self->buffer[self->n_buffer++].size = size;
	point_pending.size = 0;
	return 1;
}

/* The own store that memory does not show yet. */
static int forwarded(const void *p, u32 size, u64 *ret)
{
	u64 i, off = (const char *)p - point_base;

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
		point_fold();
		buffer_flush(self);
		if (point_shared(p, &off)) {
			point_record(POINT_RMW, off, size, pc);
			point_touch(off, size, 0, self_idx);
			point_touch(off, size, 1, self_idx);
			point_pending.off = off;
			point_pending.size = size > 8 ? 8 : size;
			point_pending.old = point_value(p, size);
			point_learn(off, point_pending.old);
		}
	} else if (point_probing) {
		point_probe(p, size, 0);
		point_probe(p, size, 1);
	}
}

#define ATOMIC(bits, type)                                                     \
	type __tsan_atomic##bits##_load(const volatile void *p, int mo)        \
	{                                                                      \
		u64 v;                                                         \
		(void)mo;                                                      \
		if (forwarded((const void *)p, sizeof(type), &v))              \
			return (type)v;                                        \
		point_read((const void *)p, sizeof(type), PC);                 \
		return __atomic_load_n(                                        \
			(const volatile type *)p, __ATOMIC_SEQ_CST);           \
	}                                                                      \
	void __tsan_atomic##bits##_store(volatile void *p, type v, int mo)     \
	{                                                                      \
		(void)mo;                                                      \
		point_write((void *)p, sizeof(type), PC);                      \
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
	point_pending.size = 0;
	if (!self || !point_shared(p, &off))
		return arch_cas16(p, lo, hi, new_lo, new_hi);
	old_lo = ((u64 *)p)[0];
	old_hi = ((u64 *)p)[1];
	point_learn(old_lo, old_hi);
	ok = arch_cas16(p, lo, hi, new_lo, new_hi);
	point_changed(off, old_lo, ((u64 *)p)[0]);
	point_changed(off + 8, old_hi, ((u64 *)p)[1]);
	return ok;
}

unsigned long explore_cycles(void)
{
	/* Who sleeps as somebody is stopped has slept for long then. */
	return ctl->cycles + (point_cycles += 500);
}

void explore_pause(void)
{
	point_last.paused = 1;
	point_last.times++;
}
