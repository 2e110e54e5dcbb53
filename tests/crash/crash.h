// SPDX-License-Identifier: MIT
/*
 * Crash points: one operation is stopped for good at each of its stores to
 * shared memory in turn, and somebody else goes on.
 *
 * Roles, each a process of its own:
 *   driver    prepares a registry, keeps an image of it, puts it back before
 *             each run; is the last survivor, and the judge
 *   victim    does the operation, and kills itself at its K-th point
 *   repairer  (nested runs) goes on after the victim, and kills itself at its
 *             J-th point
 *   cast      sleepers, holders of undo, dead ones: whoever a scenario needs
 *
 * Verdict of a run: the survivor is not stuck, all invariants hold
 * (inspect/check.h), and what can be seen is what it would be had the victim
 * died just before the operation, or just after it. Where the second is the
 * case, the run is repeated without any survivor: sleepers that were let
 * through must be awake within AWAKE_MS all the same.
 */
#ifndef TESTS_CRASH_CRASH_H
#define TESTS_CRASH_CRASH_H

#include <sys/types.h>
#include "sem/sem.h"
#include "sem/undo.h"

#define AWAKE_MS 100
#define STUCK_S 2
#define MAX_CAST 24

struct scenario {
	const char *name;
	void (*setup)(struct caller *c);  /* driver; kept in the image */
	void (*cast)(void);		  /* before each run */
	void (*before)(struct caller *c); /* victim, not yet numbered */
	void (*op)(struct caller *c);	  /* victim, numbered */
	/* Driver, while the victim runs: it may sleep. After that, the victim
	 * is waited for. */
	void (*meanwhile)(pid_t victim);
	/* In place of op, for a third picture that is right too: an undo record
	 * is made before the operation that needs it. */
	void (*halfway)(struct caller *c);
	int not_enrolled; /* the victim's first call is part of the op */
	int no_nested;
};

/* ---- for scenarios ---- */

/* Start a sleeper: runs op in a process of its own and waits until it sleeps.
 * Its result becomes part of what can be seen. */
void cast_sleeper(int (*op)(struct caller *c));
/* A process that does op and is killed, or stays, holding what it has. */
void cast_dead(void (*op)(struct caller *c));
void cast_alive(void (*op)(struct caller *c));
/* Wait until the process sleeps in a queue (1) or has died (0). */
int wait_asleep(pid_t pid);
extern struct caller driver;

extern const struct scenario scenarios[];
extern const unsigned n_scenarios;

#endif
