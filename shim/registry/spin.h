// SPDX-License-Identifier: MIT
/*
 * Spinning before sleeping: one rule for all kinds of waiting.
 *
 * A partner that runs on another CPU is often just about to do what we wait
 * for. A wake-up costs tens of microseconds if the sleeper's CPU has gone idle,
 * so two partners that both sleep stay that slow: a short spin by one is over
 * before the other is awake. With a spin as long as a wake-up both soon
 * alternate without sleeping.
 *
 * Whether spinning pays depends on the object, not on the thread: it pays only
 * if the answer comes soon. So the object (a System V queue: each type modulo 4
 * that is waited for) has a hint of 16 bits
 *
 *   score    0..15  spins that succeeded lately, less those that failed; while it
 *                   is not 0 every wait spins first
 *   backoff  0..15  at score 0: how rare spins are
 *   count    0..255 at score 0: waits without a spin until the next one
 *
 * A successful spin adds two, a failed one subtracts one: so spinning stops if
 * less than a third of the spins succeed. At score 0 one wait in 4, 8, 16 ...
 * 256 spins. A spin that lost its CPU to another thread ends at once and counts
 * as four failed ones: there are more threads to run than CPUs.
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
	SPIN_FAILED,
	SPIN_PREEMPTED,
};

/* One spin, over any number of tries. */
struct spin {
	u64 end, last; /* in cycles */
	enum spin_result result;
	int spinning;
};

/* Have nearly all spins succeeded lately? */
int spin_pays(u16 hint);

/* Begin to spin if the hint says so: 1; or note that we do not: 0. Once it is
 * over (result is set) it is not begun again. */
int spin_begin(struct spin *s, u16 hint);
/* Go on after something else was done. */
void spin_resume(struct spin *s);
/* Pause once; 0 when the spin is over, without success. */
int spin_on(struct spin *s);
/* What was waited for came. */
void spin_found(struct spin *s);

/* Write down what the spin gave; object's lock held. */
void spin_note(u16 *hint, enum spin_result result);

#endif
