// SPDX-License-Identifier: MIT
/*
 * Boost.Interprocess, as a worker of `ipclift bench --peer`: its message_queue
 * and named_semaphore do what mq and semop do, without a registry that survives
 * a process killed inside.
 *
 *	boost-op	op: a post or a wait of a pair
 *	boost-constant, boost-random  as depth.c's depth-PATTERN
 *	boost-trip	as trip.c's mq
 *
 * The cases' names are removed at once; who has them open goes on.
 */
#define _Noreturn [[noreturn]]
extern "C" {
#include "tool/bench/work/frame.h"
#include "tool/bench/work/trip.h"
#include "tool/bench/work/worker.h"
}

#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/interprocess/sync/named_semaphore.hpp>

using namespace boost::interprocess;

static const size_t batch = 16, size_bytes = 64;

/* --- one operation ---------------------------------------------------- */

static named_semaphore *sem;

static void run_op(long n)
{
	while (n-- > 0) {
		sem->post();
		sem->wait();
	}
}

static void bench_op()
{
	const char *name = "ipclift-bench";

	named_semaphore::remove(name);
	sem = new named_semaphore(create_only, name, 0);
	named_semaphore::remove(name);
	figure("op", 2, best_of(run_op) / 2);
}

/* --- depth ------------------------------------------------------------ */

static message_queue *queue_make(size_t depth, size_t bytes)
{
	const char *name = "ipclift-bench";
	message_queue *q;

	message_queue::remove(name);
	q = new message_queue(create_only, name, depth, bytes);
	message_queue::remove(name);
	return q;
}

static unsigned priority()
{
	return strcmp(case_name, "boost-random") ? 5 : rng_next() >> 40 & 32767;
}

/* ns each of n */
static double send_some(message_queue *q, size_t n)
{
	char text[size_bytes] = "";
	double t = now_ns();

	for (size_t i = 0; i < n; i++)
		q->send(text, size_bytes, priority());
	return (now_ns() - t) / (double)n;
}

static double receive_some(message_queue *q, size_t n)
{
	char text[size_bytes];
	message_queue::size_type got;
	unsigned prio;
	double t = now_ns();

	for (size_t i = 0; i < n; i++)
		q->receive(text, size_bytes, got, prio);
	return (now_ns() - t) / (double)n;
}

static void bench_depth()
{
	size_t depth = (size_t)work_arg("depth", 1000);
	message_queue *q = queue_make(depth, size_bytes);
	double fill = NEVER, drain = NEVER, send = NEVER, receive = NEVER;

	for (long r = 0; r < n_rounds; r++) {
		double s = 0, g = 0;
		long turns = round_ms * 10;

		keep_min(&fill, send_some(q, depth));
		for (long i = 0; i < turns; i++) {
			g += receive_some(q, batch);
			s += send_some(q, batch);
		}
		keep_min(&receive, g / (double)turns);
		keep_min(&send, s / (double)turns);
		keep_min(&drain, receive_some(q, depth));
	}
	figure("send", (double)depth, send);
	figure("receive", (double)depth, receive);
	if (depth > batch) {
		figure("fill", (double)depth, fill);
		figure("drain", (double)depth, drain);
	}
}

/* --- request and reply ------------------------------------------------ */

static message_queue *request, *reply[CLIENTS_MAX];

static void queues_make(int clients)
{
	request = queue_make(8, TRIP_BODY);
	for (int i = 0; i < clients; i++)
		reply[i] = queue_make(8, TRIP_BODY);
}

static void serve()
{
	char text[TRIP_BODY];
	message_queue::size_type got;
	unsigned prio;

	for (;;) {
		request->receive(text, TRIP_BODY, got, prio);
		reply[(int)text[0]]->send(text, TRIP_BODY, 0);
	}
}

static void trip(int client)
{
	char text[TRIP_BODY] = {(char)client};
	message_queue::size_type got;
	unsigned prio;

	request->send(text, TRIP_BODY, 0);
	reply[client]->receive(text, TRIP_BODY, got, prio);
}

static void bench_trip()
{
	const struct trip_kind kind = {
		"boost-trip", queues_make, serve, trip, 0};

	trip_run(&kind);
}

static const struct work works[] = {
	{"boost-op", bench_op},
	{"boost-constant", bench_depth},
	{"boost-random", bench_depth},
	{"boost-trip", bench_trip},
};

int main(int argc, char **argv)
{
	for (const struct work &w : works)
		if (argc > 1 && !strcmp(argv[1], w.name)) {
			work_run(&w, argv + 2);
			return 0;
		}
	fprintf(stderr, "boost: which case?\n");
	return 2;
}
