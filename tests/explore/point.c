// SPDX-License-Identifier: MIT
/*
 * A point: an access or a call is written into the trace before its effect, and
 * the state's hash after it. Compiled without instrumentation.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>
#include "point.h"
#include "entry/process.h"
#include "registry/wait.h"

#define SPINNING_AFTER 3000u
#define PROBE_MOST 3000000u

sigjmp_buf probe_end;
char probe_text[128];
char *point_base;
__thread struct point_store point_pending;
__thread struct point_look point_last;
__thread unsigned long point_cycles;
__thread u32 point_sections;
int point_probing;
u32 point_probe_sleeps;
static u32 probe_steps;
static __thread u64 robust;

u64 point_value(const void *p, u32 size)
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

void point_touch(u64 off, u32 size, int write, u32 who)
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
	return off < REGION_SIZE ? point_base + off
				 : __data_start + (off & 0xffffffff);
}

/* 1 if it lies in the registry, or in what threads of this process share. */
int point_shared(const void *p, u64 *ret_off)
{
	*ret_off = (const char *)p - point_base;
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

void point_changed(u64 off, u64 old, u64 new)
{
	if (old != new)
		ctl->memory ^= mix(mix(off, old), 7) ^ mix(mix(off, new), 7);
}

void point_fold(void)
{
	if (!point_pending.size)
		return;
	point_changed(point_pending.off, point_pending.old,
		point_value(address_of(point_pending.off), point_pending.size));
	point_pending.size = 0;
}

static u64 state_hash(void)
{
	return mix(ctl->memory, ctl->others + mix(self->local, self_idx + 1));
}

void point_learn(u64 a, u64 b)
{
	self->local = mix(mix(self->local, a), b);
}

void point_begin(void)
{
	point_base = explore_base;
	robust = self->robust;
	point_pending.size = 0;
	point_last.paused = 0;
	point_cycles = point_sections = 0;
}

/* ---- points ---- */

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

/* May it matter whether it is stopped here, or only not preferred? */
static unsigned char is_deep(void)
{
	const struct caller *c = &process_caller;

	return c->in_section ||
	       (c->thread &&
		       region_thread(&c->region, c->thread)->waiter.state ==
			       WAIT_QUEUED);
}

void point_record(u32 kind, u64 off, u32 size, void *pc)
{
	struct point *p;

	stop_if_asked();
	if (ctl->n_points < MAX_POINTS) {
		p = &ctl->points[ctl->n_points];
		p->off = off;
		p->hash = state_hash();
		p->pc = pc;
		p->section = process_caller.in_section ? point_sections : 0;
		p->buffered = (u16)self->n_buffer;
		p->kind = (unsigned char)kind;
		p->actor = (unsigned char)self_idx;
		p->size = (unsigned char)size;
		p->woke = 0;
		p->deep = self->deep = is_deep();
		ctl->n_points++;
	}
	if (++self->steps > MAX_STEPS) {
		self->endless = 1;
		point_fold();
		actor_park(ACTOR_DONE);
		for (;;)
			pause();
	}
}

void point_probe(const void *p, u32 size, int write)
{
	u64 off;

	if (!point_shared(p, &off))
		return;
	point_touch(off, size, write, PROBE);
	if (++probe_steps > PROBE_MOST)
		siglongjmp(probe_end, PROBE_ENDLESS);
}

/* A read whose value is looked at now and again spares a step, if a pause was
 * all that came between. */
static int seen_before(u64 off, u64 value)
{
	int same = point_last.paused && point_last.off == off &&
		   point_last.value == value;

	if (!same) {
		point_last.times = 0;
	} else if (point_last.times > SPINNING_AFTER) {
		point_last.times = 0;
		point_fold();
		buffer_flush(self);
		actor_park(ACTOR_SPINNING);
		same = 0;
	}
	point_last.paused = 0;
	point_last.off = off;
	point_last.value = value;
	return same;
}

void point_read(const void *p, u32 size, void *pc)
{
	u64 off;

	if (!self) {
		if (point_probing)
			point_probe(p, size, 0);
		return;
	}
	point_fold();
	if (!point_shared(p, &off))
		return;
	if (point_last.paused && seen_before(off, point_value(p, size)))
		return;
	point_record(POINT_READ, off, size, pc);
	point_touch(off, size, 0, self_idx);
	point_last.off = off;
	point_last.value = point_value(p, size);
	point_learn(off, point_last.value);
}

void point_write(void *p, u32 size, void *pc)
{
	u64 off;

	if (!self) {
		if (point_probing)
			point_probe(p, size, 1);
		return;
	}
	point_fold();
	if (!point_shared(p, &off)) {
		if (p == &process_caller.in_section)
			point_sections++;
		if ((u64)(uintptr_t)p - robust < sizeof(struct sys_robust_head))
			point_record(
				POINT_ROBUST, (uintptr_t)p - robust, 8, pc);
		return;
	}
	point_record(POINT_WRITE, off, size, pc);
	point_touch(off, size, 1, self_idx);
	point_learn(off, 3);
	if (size > 8)
		size = 8;
	point_pending.off = off;
	point_pending.size = size;
	point_pending.old = point_value(p, size);
}
void probe_arm(const struct region *region)
{
	point_probing = region != NULL;
	probe_steps = point_probe_sleeps = 0;
	probe_text[0] = 0;
	if (region)
		point_base = region->base;
}
