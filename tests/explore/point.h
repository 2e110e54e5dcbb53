// SPDX-License-Identifier: MIT
/*
 * For the files that replace the machine below the instrumented core, and no
 * others: actor.c, point.c, memory.c, syscall.c, machine.c.
 */
#ifndef EXPLORE_POINT_H
#define EXPLORE_POINT_H

#include "actor.h"

#define PC __builtin_return_address(0)

/* actor.c: the running thread's; NULL while it is not explored. */
extern __thread struct actor *self;
extern __thread u32 self_idx;
void baton_pass(void);
void baton_wait(void);

struct point_store {
	u64 off, old;
	u32 size;
};
struct point_look {
	u64 off, value;
	u32 paused, times;
};

extern char *point_base; /* of the registry that is looked at */
/* A plain store about to happen; size 0: none. */
extern __thread struct point_store point_pending;
extern __thread struct point_look point_last; /* what was read last */
extern __thread unsigned long point_cycles;
extern __thread u32 point_sections; /* how often one began or ended */
extern int point_probing;	    /* probe_arm */
extern u32 point_probe_sleeps;

void point_begin(void);
u64 point_value(const void *p, u32 size);
/* 1 if it lies in the registry, or in what threads of this process share. */
int point_shared(const void *p, u64 *ret_off);
void point_touch(u64 off, u32 size, int write, u32 who);
/* The state's hash: memory has changed; the actor has read something; the
 * pending store has happened. */
void point_changed(u64 off, u64 old, u64 new);
void point_learn(u64 a, u64 b);
void point_fold(void);
/* The actor comes to a point: stops there if it is asked to. */
void point_record(u32 kind, u64 off, u32 size, void *pc);
void point_read(const void *p, u32 size, void *pc);
void point_write(void *p, u32 size, void *pc);
/* The controller, looking. */
void point_probe(const void *p, u32 size, int write);

#endif
