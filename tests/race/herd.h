// SPDX-License-Identifier: MIT
/*
 * herd.h: process groups for the storms in the shapes of servers: their
 * members are killed together, stopped and continued, alone or as a group, and
 * begun again. The parent makes no call on the objects while a
 * process is stopped, for one that is stopped in a call blocks others.
 */
#ifndef HERD_H
#define HERD_H

#include "storm.h"

#include <stdatomic.h>
#include <sys/sem.h>

#define HERD_GROUPS 3
#define HERD_MEMBERS 3
#define HERD_PLACES (HERD_GROUPS * HERD_MEMBERS)
#define HERD_HANG_S 60

/* Whoever stands in a place, one after the other; written by that one alone. */
struct herd {
	pid_t pid[HERD_PLACES];
	void (*run)(int place); /* does not return */
	struct storm_rng rng;
	long kills, stops, wrong;
};

/* What the members have to say, in memory that they share. */
struct herd_report {
	_Atomic long wrong, interrupted; /* by EINTR */
	char what[96];			 /* the first that was wrong */
};

static inline void violation(
	struct herd_report *r, const char *what, long a, long b)
{
	if (!r->wrong++)
		snprintf(r->what, sizeof(r->what), "%s (%ld, %ld, %s)", what, a,
			b, strerror(errno));
}

/* semop, again after EINTR: 0, or -1 with errno. */
static inline int herd_semop(
	struct herd_report *r, int set, struct sembuf *ops, size_t n)
{
	while (semop(set, ops, n)) {
		if (errno != EINTR)
			return -1;
		r->interrupted++;
	}
	return 0;
}

static inline void herd_complain(
	struct herd *h, const char *what, long a, long b, long c)
{
	if (h->wrong++ < 20)
		printf("wrong: %s: %ld %ld %ld\n", what, a, b, c);
	fflush(stdout);
}

static inline void herd_start(struct herd *h, int group)
{
	int i, place = group * HERD_MEMBERS;

	for (i = 0; i < HERD_MEMBERS; i++, place++) {
		h->pid[place] = storm_fork();
		if (!h->pid[place])
			h->run(place);
		setpgid(h->pid[place], h->pid[group * HERD_MEMBERS]);
	}
}

static inline void herd_start_all(struct herd *h)
{
	int g;

	for (g = 0; g < HERD_GROUPS; g++)
		herd_start(h, g);
}

/* All members at once. */
static inline void herd_signal(const struct herd *h, int group, int sig)
{
	kill(-h->pid[group * HERD_MEMBERS], sig);
}

static inline void herd_reap(struct herd *h, int group)
{
	int i, status;

	for (i = 0; i < HERD_MEMBERS; i++) {
		int place = group * HERD_MEMBERS + i;

		if (waitpid(h->pid[place], &status, 0) != h->pid[place])
			storm_die("waitpid");
		if (!WIFSIGNALED(status))
			herd_complain(h, "ended by itself", place, status, 0);
		h->kills++;
	}
}

/* One of them, or all, is stopped for a moment. */
static inline void herd_stop(struct herd *h, int group)
{
	int one = group * HERD_MEMBERS +
		  (int)storm_random(&h->rng, HERD_MEMBERS + 1);
	pid_t whom = one < (group + 1) * HERD_MEMBERS
			     ? h->pid[one]
			     : -h->pid[group * HERD_MEMBERS];

	kill(whom, SIGSTOP);
	h->stops++;
	storm_pause(&h->rng);
	if (storm_random(&h->rng, 4) == 0) {
		/* Killed as they are, with whoever still ran. */
		herd_signal(h, group, SIGKILL);
		herd_reap(h, group);
		herd_start(h, group);
		return;
	}
	kill(whom, SIGCONT);
}

/* One step of the storm: a group dies, or two do, or one is stopped. */
static inline void herd_hit(struct herd *h)
{
	int a = (int)storm_random(&h->rng, HERD_GROUPS);
	int b = (int)storm_random(&h->rng, HERD_GROUPS);

	storm_pause(&h->rng);
	switch (storm_random(&h->rng, 4)) {
	case 0:
		herd_stop(h, a);
		break;
	case 1:
		herd_signal(h, a, SIGKILL);
		herd_signal(h, b, SIGKILL);
		herd_reap(h, a);
		if (b != a)
			herd_reap(h, b);
		herd_start(h, a);
		if (b != a)
			herd_start(h, b);
		break;
	default:
		herd_signal(h, a, SIGKILL);
		herd_reap(h, a);
		herd_start(h, a);
		break;
	}
}

static inline void herd_end(struct herd *h)
{
	int g;

	for (g = 0; g < HERD_GROUPS; g++)
		herd_signal(h, g, SIGKILL);
	for (g = 0; g < HERD_GROUPS; g++)
		herd_reap(h, g);
}

/* What the members have said in a round of so many stops: only who was stopped
 * has EINTR. */
static inline void herd_judge(
	struct herd *h, const struct herd_report *r, long stops)
{
	if (r->interrupted > HERD_MEMBERS * stops)
		herd_complain(h, "EINTR, stops", r->interrupted, stops, 0);
	if (r->wrong)
		herd_complain(h, r->what, r->wrong, 0, 0);
}

/* Until `so` holds; ms at most. What is asked for costs no call on the
 * objects, for who asks also repairs. */
static inline bool herd_wait(bool (*so)(void), double ms)
{
	double until = now_ms() + ms;

	while (!so()) {
		if (now_ms() > until)
			return false;
		sleep_us(500);
	}
	return true;
}

#endif
