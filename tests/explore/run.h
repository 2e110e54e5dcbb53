// SPDX-License-Identifier: MIT
/*
 * For the files that make a run: run.c, turn.c, process.c, walk.c.
 */
#ifndef EXPLORE_RUN_H
#define EXPLORE_RUN_H

#include <sys/types.h>
#include "explore.h"

/* run.c: the run's verdict, unless there is one. */
void run_fail(enum verdict v, const char *format, ...);
u32 run_letter(u32 i);
/* The controller's robust list: the actors have theirs at its address. */
extern struct sys_robust_head *run_robust;

/* turn.c */
/* Until everybody who is said to sleep is in the kernel's queues, and everybody
 * who was woken has said so. */
void turn_settle(void);
/* Give the baton to an actor and wait until it comes back. */
void turn_give(u32 i);
/* Its time is up. */
void turn_fire(u32 i);
/* A signal comes to it: before the turn in which it runs its handler. */
void turn_signal(u32 i);

/* process.c: actor i's */
void process_begin(u32 i); /* as it is before a run */
void process_start(u32 i);
void process_kill(u32 i);
void process_end_all(void);
pid_t process_of(const struct actor *a);
void process_signal(const struct actor *a, int sig);
void process_wait(pid_t pid);
/* Its process is gone, with all that are threads of it. */
void process_died(u32 i);
/* It is about to end by itself, with its process or before the others. */
void process_ends(u32 i);
/* Its process is stopped, with all that are threads of it; goes on. */
void process_stop(u32 i);
void process_continue(u32 i);
/* What /proc says that a thread is doing; 0: it is not there any more. */
char process_state(const struct actor *a);

/* walk.c: actors whose death goes on in steps. */
extern u32 walk_done;
/* n entries of its list, from the first; or all that is left, and the end. */
void walk_begin(u32 i, u32 n);
void walk_on(u32 i, u32 n);

#endif
