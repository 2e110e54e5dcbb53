// SPDX-License-Identifier: MIT
/*
 * Spinning before sleeping (a "look"): one rule for all kinds of waiting.
 *
 * A partner that runs on another CPU is often just about to do what we wait
 * for. A wake-up costs tens of microseconds if the sleeper's CPU has gone idle, so
 * two partners that both sleep stay that slow: a short look by one is over before
 * the other is awake. A look as long as a wake-up is not; then both alternate
 * without sleeping.
 *
 * Whether a look pays depends on the object, not on the thread: it pays only if
 * the answer comes soon. So the object has a hint of 16 bits
 *
 *   score    0..15  looks that found something lately, less those without
 *                   success; while it is not 0 every wait looks first
 *   backoff  0..15  at score 0: how rare looks are
 *   count    0..255 at score 0: waits without a look until the next one
 *
 * A successful look adds two, one without success subtracts one: so looking stops if
 * less than a third of the looks succeed. At score 0 one wait in 4, 8, 16 ... 256
 * looks. A look that lost its CPU to another thread ends at once and counts
 * as four looks without success: there are more threads to run than CPUs.
 *
 * The hint is read at any time; any value is safe. It is written under the
 * object's lock, by spin_note.
 */
#ifndef IPCLIFT_REGISTRY_SPIN_H
#define IPCLIFT_REGISTRY_SPIN_H

#include "base/atom.h"
#include "base/types.h"

enum spin_result {
	SPIN_NONE, /* nothing to note */
	SPIN_DECLINED,
	SPIN_FOUND,
	SPIN_VAIN,
	SPIN_PREEMPTED,
};

/* One look, over any number of tries. */
struct spin {
	u64 end, last; /* in cycles */
	enum spin_result result;
	int looking;
};

/* Have nearly all looks found something lately? */
int spin_pays(u16 hint);

/* Begin to look if the hint says so: 1; or note that we do not: 0. Once it is
 * over (result is set) it is not begun again. */
int spin_begin(struct spin *s, u16 hint);
/* Go on after something else was done. */
void spin_resume(struct spin *s);
/* Pause once; 0 when the look is over, without success. */
int spin_on(struct spin *s);
/* What was looked for came. */
void spin_found(struct spin *s);

/* Write down what the look gave; object's lock held. */
void spin_note(u16 *hint, enum spin_result result);

#endif
