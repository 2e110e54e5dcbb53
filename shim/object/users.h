// SPDX-License-Identifier: MIT
/*
 * Which threads use a queue, and its bias to a thread that has been the only
 * user for long (registry/bias.h).
 *
 * On a biased queue no thread sleeps. A call enters by the bias; if it needs
 * more than the queue's own memory (the heap, a sleep, a check of exited tasks)
 * it leaves with nothing done and takes the lock, which ends the bias. A thread
 * that is alone gets it back at the end of that call.
 *
 * Users and their CPUs are stored only when they change. A client and a server
 * may both send and receive on one queue, so the partner of a thread is the
 * last other user, of either kind.
 */
#ifndef IPCLIFT_OBJECT_USERS_H
#define IPCLIFT_OBJECT_USERS_H

#include "registry/bias.h"

/* Calls in a row by one thread before the lock is biased to it; sixteen times
 * more after each revocation. Arbitrary: a revocation costs as much as some
 * hundred calls gain. */
#define USERS_BIAS_STREAK 64u
#define USERS_BIAS_BACKOFF_MAX 6u

enum {
	USER_SENDER,
	USER_RECEIVER,
};

/* Enter the queue of ident, if it is biased to this thread: 1, in a section,
 * with the journal ready; or 0. */
static inline int users_bias_enter(struct caller *c, struct slot *s, u64 ident)
{
	if (!bias_enter(c, s))
		return 0;
	if (likely(atom_load_relaxed(&s->ident) == ident)) {
		bias_journal_begin(c, s);
		return 1;
	}
	bias_leave(c);
	return 0;
}
static inline void users_bias_leave(struct caller *c)
{
	bias_journal_end(c);
	bias_leave(c);
}

/* The lock was just acquired: the bias, if there is one, is over. users may be
 * NULL. Must come before the queue is read. */
void users_bias_end(struct caller *c, struct slot *s, struct users *users);

/*
 * The hint (registry/spin.h) of those who wait for a message of type want: clients
 * and server may share a System V queue, the server waiting for requests and each
 * client for answers of its own type, and whether the one kind of wait pays says
 * nothing about the other. Those who wait for space, and all of a POSIX queue,
 * have the hint of type 0.
 */
static inline u16 *users_spin(struct users *users, s64 want)
{
	return &users->spin[(u64)want % USERS_SPINS];
}

/* With the lock held: this call sends or receives. */
void users_changed(
	struct caller *c, struct slot *s, struct users *users, u32 kind);
void users_moved(struct caller *c, struct users *users);
static inline void users_note(
	struct caller *c, struct slot *s, struct users *users, u32 kind)
{
	if (unlikely(users->thread[kind] != c->thread))
		users_changed(c, s, users, kind);
	if (users->recent.thread != c->thread || users->recent.cpu != sys_cpu())
		users_moved(c, users);
}
/* 1 if the last other user ran on another CPU. */
int users_elsewhere(const struct caller *c, const struct users *users);

/* With the lock held, at the end of a call that found no sleeper: bias the
 * queue to this thread if it has been the only user for long. */
static inline void users_bias_consider(
	struct caller *c, struct slot *s, const struct users *users)
{
	u32 sender = users->thread[USER_SENDER];
	u32 receiver = users->thread[USER_RECEIVER], backoff = users->backoff;
	struct in_row *row;

	if ((sender && sender != c->thread) ||
		(receiver && receiver != c->thread))
		return;
	row = in_row_at(c->alone, s->ident);
	if (backoff > USERS_BIAS_BACKOFF_MAX)
		backoff = USERS_BIAS_BACKOFF_MAX;
	if (likely(row->n < USERS_BIAS_STREAK << (4 * backoff)))
		row->n++;
	else
		bias_grant(c, s);
}

#endif
