// SPDX-License-Identifier: MIT
/*
 * Looking before sleeping: one rule for all kinds of waiting.
 *
 * A partner that runs on another CPU is often just about to do what we wait
 * for. A wake-up costs tens of microseconds where the CPU of the sleeper has
 * gone idle, so two partners that both sleep stay as slow as that: a short look
 * of either never meets the other. A look as long as a wake-up does, even
 * while the other sleeps; and then both are in step and sleep no more.
 *
 * Whether a look pays is a property of the object, not of a thread: it pays
 * only where the answer comes soon. So a hint of 16 bits in the object says
 *
 *   score    0..15  looks that found something lately, less those without
 *                   success; while it is not 0 every wait looks first
 *   backoff  0..15  at score 0: how rare looks are
 *   count    0..255 at score 0: waits that go by until the next look
 *
 * A find adds two, a look without success takes one: looking ends where less
 * than a third of the looks find something. At score 0 one wait in 4, 8, 16 ...
 * 256 looks. A look that lost its CPU to somebody else ends at once and counts
 * as four looks without success: there is more to run than there are CPUs.
 *
 * The hint is read at any time, any value is right. It is written under the
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
