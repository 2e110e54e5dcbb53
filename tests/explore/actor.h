// SPDX-License-Identifier: MIT
/*
 * What the controller and the actors share: the control page, outside the
 * registry. Exactly one of them runs at a time: an actor runs until the
 * controller's stop_at, until it sleeps in the kernel or ends, and then passes
 * the baton to the controller.
 *
 * A point is an access to the registry (or to the thread's robust list), or a
 * system call that others can see; each is written into the trace before its
 * effect. The n-th point of an actor is the same in every run with the same
 * decisions before it: pids, times and the CPU are virtual or fixed.
 */
#ifndef EXPLORE_ACTOR_H
#define EXPLORE_ACTOR_H

#include "registry/caller.h"

#define MAX_ACTORS 8u
#define PROBE 15u /* the controller, looking at the end: in masks only */
#define MAX_POINTS 32768u
#define MAX_CALLS 6u
#define MAX_BUFFER 64u
#define CALL_OUT 6u
#define HANDLER MAX_CALLS /* its call's place among an actor's */
/* Its parent's, into which it returned from that one's handler. */
#define INHERITED (MAX_CALLS + 1)
/* Steps of one actor in one run beyond which it is taken for endless. */
#define MAX_STEPS 12000u
#define STACK_START 0x7ffff000u
#define CLOCK_START 1000000000000ULL /* virtual nanoseconds */
#define REALTIME_START 1700000000LL  /* seconds at virtual time 0 */

enum point_kind {
	POINT_READ,
	POINT_WRITE, /* plain, or an atomic store */
	POINT_RMW,
	POINT_ROBUST, /* head of the own robust list */
	POINT_WAIT,   /* about to sleep in a futex */
	POINT_WAKE,
	POINT_BARRIER, /* membarrier */
	POINT_CALL,    /* another system call; off is its number */
	POINT_BEGIN,   /* a call of the script begins; off is its number */
	POINT_KERNEL,  /* a step of the kernel's walk of the robust list */
};

/* Offsets from here on are of private memory that the threads of one process
 * share: the data segment of the process that actor n leads. */
#define PRIVATE_OFF(n) (REGION_SIZE + ((u64)(n) << 32))

struct point {
	u64 off;  /* in the registry, or as above */
	u64 hash; /* of the state before it */
	void *pc;
	u32 section;  /* number of the section that it is in; 0 = in none */
	u16 buffered; /* stores in the actor's buffer */
	unsigned char kind, actor, size, woke, deep;
};

enum actor_state {
	ACTOR_NONE,	/* not made yet */
	ACTOR_READY,	/* waits for the baton */
	ACTOR_RUNNING,	/* has it */
	ACTOR_BLOCKED,	/* asleep in a futex, or on the way there */
	ACTOR_NAPPING,	/* nanosleep: until virtual time has passed */
	ACTOR_SPINNING, /* looked at the same word for very long */
	ACTOR_DONE,
	ACTOR_LEAVING, /* is about to end by itself */
	ACTOR_DEAD,
};

struct actor {
	u32 go; /* futex: the baton comes */
	u32 state;
	u32 pid;      /* its own number: of a thread, its tid */
	u32 leader;   /* the actor that is its process's first thread */
	u32 threaded; /* its process has more threads than one */
	u32 ends_all; /* its end is that of all of them */
	u32 steps;
	u32 stop_at;	/* steps before which it stops */
	u32 keep;	/* and then keeps its store buffer */
	u32 fired;	/* its timeout was made to pass */
	u32 n_words;	/* it sleeps on: */
	u64 words[10];	/* offsets in the registry; or ~0 */
	u64 deadline;	/* virtual; 0 = none */
	u32 signal;	/* one is to come as soon as it has the baton */
	u32 handled;	/* its signal came, or is to */
	u32 woken;	/* it came in its sleep in a queue */
	u32 no_barrier; /* membarrier is refused */
	u32 no_list;	/* robust lists are refused */
	u32 tso;	/* has a store buffer */
	u32 endless;
	u32 stopped;	   /* by SIGSTOP */
	u32 interruptible; /* a stop ends the sleep that it is in */
	u32 deep;	   /* in a section, or in a queue */
	u32 signals;	   /* SIGUSR2 that it has got */
	u32 answers;
	u64 local;     /* hash of all that it has read */
	u64 start;     /* "start time" */
	u64 stack;     /* where its stack "starts" */
	u32 succeeded; /* dead, and its number, start and stack are another's */
	u64 robust;    /* address of its robust list's head */
	u64 n_buffer;
	struct {
		u64 off, value;
		u32 size;
	} buffer[MAX_BUFFER];
	u32 n_calls;	/* begun */
	u32 calls_then; /* as many as the handler ran */
	struct {
		u64 begun,
			ended; /* twice the points so far, and 1 or 2; 0 = not yet */
		s64 result;
		u32 must; /* has had its effect, ended or not */
		/* It was stopped in it; in a sleep that this ends, and for the
		 * last time; where it was continued, and whether it slept again
		 * (stop.c). As ended. */
		u64 stopped, stopped_asleep, stopped_last, continued;
		u32 slept_on, given;
		s64 out[CALL_OUT];
	} calls[MAX_CALLS + 2];	 /* HANDLER, INHERITED */
	u32 parent, parent_call; /* of INHERITED */
	u64 died;		 /* as ended */
};

/* Who reads and writes which eight bytes, over all runs of a scenario: bits of
 * actors. */
#define TOUCHED_BITS 15
struct touched {
	u64 at; /* offset / 8 + 1; 0 = free */
	u32 readers, writers;
};

struct control {
	u32 baton;    /* futex: 1 = the controller's */
	u32 announce; /* futex: counts returns from sleeps */
	u32 woke;     /* a futex_wake found somebody */
	u32 n_points;
	u64 memory; /* hash of the registry's changes */
	u64 others; /* hash of all but the running actor */
	u64 now;    /* virtual time, ns */
	u64 cycles; /* of the CPU, beside what each counts */
	u32 n_actors;
	u32 n_touched_new;
	char failure[256]; /* an actor found something wrong */
	struct actor actors[MAX_ACTORS];
	struct point points[MAX_POINTS];
	struct touched touched[1u << TOUCHED_BITS];
};

extern struct control *ctl;
extern char *explore_base; /* of the registry as the actors see it */

static inline u64 mix(u64 a, u64 b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15ULL;
	return a ^ a >> 29;
}

static inline int actor_within(const struct actor *a, u32 call)
{
	return a->calls[call].begun && !a->calls[call].ended;
}

/* The call that it is in, or was last: its handler's, its parent's, or one of
 * the script. */
static inline u32 actor_call(const struct actor *a)
{
	return actor_within(a, HANDLER)	    ? HANDLER
	       : actor_within(a, INHERITED) ? INHERITED
					    : a->n_calls - 1;
}

/* In an actor: from now on it is explored. */
void actor_arm(u32 me);
void actor_disarm(void);
/* Pass the baton, in the given state; returns when it comes back. */
void actor_park(u32 state);
/* Pass the baton and end: the process, or one thread of several. */
void actor_leave(void) __attribute__((noreturn));
/* In one that another actor has made: until the baton comes. */
void actor_born(void);
/* The running thread, between two steps of its own: a point. */
void actor_point(void);
/* A call of the script begins. */
void actor_begin(u32 which);

/*
 * The program's signal handler (handler.c): set it, where a sleep that it
 * interrupts is restarted or not; have it run in the running thread, or in
 * another one, which sleeps in the kernel.
 */
void handler_install(void (*handler)(int), int restarts);
void handler_raise(void);
void handler_send(const struct actor *a);

/* In an actor: it is about to sleep on a word, at off, as long as it is val; on
 * its own until it is granted something, or a signal or a stop ends that. */
void stops_sleep(struct actor *a, u64 off, u32 val);

/* In the controller: record what a look at region touches, bounded; 0 ends
 * that. A look that never ends leaves by siglongjmp(probe_end, PROBE_*). */
#include <setjmp.h>
enum {
	PROBE_ENDLESS = 1,
	PROBE_WAITS,
};
void probe_arm(const struct region *region);
extern sigjmp_buf probe_end;
extern char probe_text[128];
/* Perform the stores that actor a has in its buffer. */
void buffer_flush(struct actor *a);

struct touched *touched_at(u64 off);

long raw_syscall(long nr, long a, long b, long c, long d, long e, long f);
#define raw_futex(p, op, val, ts) \
	raw_syscall(202, (long)(p), op, val, (long)(ts), 0, 0)

#endif
