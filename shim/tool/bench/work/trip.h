// SPDX-License-Identifier: MIT
/*
 * Kinds of request and reply; see trip.c.
 */
#ifndef IPCLIFT_BENCH_TRIP_H
#define IPCLIFT_BENCH_TRIP_H

#define CLIENTS_MAX 64
#define TRIP_BODY 32 /* bytes of a request, and of a reply */

struct trip_kind {
	const char *name;
	/* What all use, before anybody is started. */
	void (*make)(int clients);
	/* The server, until it is killed; NULL: there is none. */
	void (*serve)(void);
	/* One request and its reply. */
	void (*trip)(int client);
	int one_client;
};

/* The one of that name, which is there. */
const struct trip_kind *trip_kind_of(
	const struct trip_kind *kinds, const char *name);

/* One of trip.c's own, by its name. */
int trip_has_one_client(const char *name);

/* Runs it with the arguments of the command line, and prints the figures. */
void trip_run(const struct trip_kind *kind);

#endif
