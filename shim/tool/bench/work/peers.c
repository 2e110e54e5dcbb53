// SPDX-License-Identifier: MIT
/*
 * The floor, and what a program would use instead of System V IPC: a semaphore
 * and a robust mutex of libc in shared memory, pipes, datagrams between AF_UNIX
 * sockets, and one cache line that goes to and fro. None of it is served by the
 * shim. Boost's are in tests/bench/boost.cc.
 *
 * sem_t-op, mutex-op
 *	op: one call of a pair that belong together, as semop's +1 and -1
 * pipe-pair, unix-pair
 *	send, receive: of 64 bytes, few of them on the way
 * pipe, unix, sem_t, mutex, line
 *	as trip.c's kinds; a line has one client, and needs two CPUs
 */
#include "tool/bench/work/worker.h"

#include "tool/bench/work/frame.h"
#include "tool/bench/work/trip.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>

#define PAIR_X 16 /* as of the empty queue */
/* The kernel lets ten datagrams wait (net.unix.max_dgram_qlen). */
#define PAIR_BATCH 8
#define PAIR_BYTES 64

/* The shared memory of all cases. */
static struct shared {
	sem_t sem;
	pthread_mutex_t mutex;
	_Alignas(64) int line;
} * shared;

static void shared_make(int clients)
{
	pthread_mutexattr_t attr;

	(void)clients;
	shared = share(sizeof(*shared));
	must(!sem_init(&shared->sem, 1, 1), "sem_init");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	errno = pthread_mutex_init(&shared->mutex, &attr);
	must(!errno, "pthread_mutex_init");
}

static void spin_ns(long ns)
{
	double end = now_ns() + (double)ns;

	while (ns > 0 && now_ns() < end)
		;
}

/* --- one process ------------------------------------------------------ */

static void run_sem_t(long n)
{
	while (n-- > 0)
		must(!sem_post(&shared->sem) && !sem_wait(&shared->sem),
			"sem_wait");
}

static void run_mutex(long n)
{
	while (n-- > 0)
		must(!pthread_mutex_lock(&shared->mutex) &&
				!pthread_mutex_unlock(&shared->mutex),
			"pthread_mutex_lock");
}

static void bench_sem_t(void)
{
	shared_make(1);
	figure("op", 2, best_of(run_sem_t) / 2);
}

static void bench_mutex(void)
{
	shared_make(1);
	figure("op", 2, best_of(run_mutex) / 2);
}

static int way[2]; /* out, in */

/* ns of each of n calls, a write or a read of way. */
static double batch(int n, int is_read)
{
	char text[PAIR_BYTES] = "";
	double t = now_ns();

	for (int i = 0; i < n; i++)
		must((is_read ? read(way[1], text, PAIR_BYTES)
			      : write(way[0], text, PAIR_BYTES)) == PAIR_BYTES,
			"read or write");
	return (now_ns() - t) / n;
}

static void bench_pair(void)
{
	double send = NEVER, receive = NEVER;
	int fds[2];

	if (!strcmp(case_name, "pipe-pair"))
		must(!pipe(fds), "pipe");
	else
		must(!socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), "socketpair");
	way[0] = fds[1];
	way[1] = fds[0];
	for (int i = 0; i < 20000; i++) {
		keep_min(&send, batch(PAIR_BATCH, 0));
		keep_min(&receive, batch(PAIR_BATCH, 1));
	}
	figure("send", PAIR_X, send);
	figure("receive", PAIR_X, receive);
}

/* --- request and reply ------------------------------------------------ */

static int request[2], reply[CLIENTS_MAX][2]; /* [0] is read */

static void channel_make(int *fds)
{
	if (!strcmp(case_name, "pipe"))
		must(!pipe(fds), "pipe");
	else
		must(!socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), "socketpair");
}

static void channels_make(int clients)
{
	channel_make(request);
	for (int i = 0; i < clients; i++)
		channel_make(reply[i]);
}

static void channel_serve(void)
{
	char text[TRIP_BODY];

	while (read(request[0], text, TRIP_BODY) == TRIP_BODY) {
		spin_ns(work_arg("work", 0));
		if (write(reply[(int)text[0]][1], text, TRIP_BODY) != TRIP_BODY)
			break;
	}
}

static void channel_trip(int client)
{
	char text[TRIP_BODY] = {(char)client};

	must(write(request[1], text, TRIP_BODY) == TRIP_BODY, "write");
	must(read(reply[client][0], text, TRIP_BODY) == TRIP_BODY, "read");
}

static void sem_t_trip(int client)
{
	(void)client;
	must(!sem_wait(&shared->sem), "sem_wait");
	spin_ns(work_arg("work", 0));
	must(!sem_post(&shared->sem), "sem_post");
}

static void mutex_trip(int client)
{
	(void)client;
	must(!pthread_mutex_lock(&shared->mutex), "pthread_mutex_lock");
	spin_ns(work_arg("work", 0));
	must(!pthread_mutex_unlock(&shared->mutex), "pthread_mutex_unlock");
}

/* Odd: a request is there. */
static void line_serve(void)
{
	for (;;)
		if (__atomic_load_n(&shared->line, __ATOMIC_ACQUIRE) & 1)
			__atomic_fetch_add(&shared->line, 1, __ATOMIC_RELEASE);
}

static void line_trip(int client)
{
	(void)client;
	__atomic_fetch_add(&shared->line, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&shared->line, __ATOMIC_ACQUIRE) & 1)
		;
}

static const struct trip_kind kinds[] = {
	{"pipe", channels_make, channel_serve, channel_trip, 0},
	{"unix", channels_make, channel_serve, channel_trip, 0},
	{"sem_t", shared_make, NULL, sem_t_trip, 0},
	{"mutex", shared_make, NULL, mutex_trip, 0},
	{"line", shared_make, line_serve, line_trip, 1},
	{0},
};

static void bench_trip(void)
{
	const struct trip_kind *k = trip_kind_of(kinds, case_name);

	/* On one CPU neither side lets the other have it. */
	if (k->serve == line_serve)
		cpu_pick(1);
	trip_run(k);
}

const struct work peer_works[] = {
	{"sem_t-op", bench_sem_t},
	{"mutex-op", bench_mutex},
	{"pipe-pair", bench_pair},
	{"unix-pair", bench_pair},
	{"pipe", bench_trip},
	{"unix", bench_trip},
	{"sem_t", bench_trip},
	{"mutex", bench_trip},
	{"line", bench_trip},
	{0},
};
