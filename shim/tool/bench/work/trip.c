// SPDX-License-Identifier: MIT
/*
 * Request and reply between clients and one server, each round trip timed by
 * its client: what a program that waits for its answers sees.
 *
 *	one-queue   msgsnd of type 1, msgrcv of the client's type, one queue
 *	two-queues  the same with a queue for each direction
 *	sem         semop +1 and -1 on two semaphores, one client
 *	undo        the same with SEM_UNDO
 *	mq          the server's POSIX queue, and one of its own for each client
 *	table       no server: a semaphore around a table, taken and given back
 *
 * and those of peers.c. Arguments: clients=N, trips=N of each; a client thinks
 * (spins) for think=NS before each trip, the server for work=NS (for a table:
 * while it has it). apart=1 pins the server to one CPU and the clients to
 * another, together=1 all to one; else the scheduler places them. busy=N
 * processes only spin, wherever they are put.
 *
 * Figures: rate, trips of all clients in a second; median and p99, ns of a trip
 * as the middle client saw it; worst, of all; slow, the share of trips of more
 * than SLOW_NS, in percent; cpu, ns of CPU time of all clients and the server a
 * trip, without what they were asked to think.
 */
#include "tool/bench/work/trip.h"

#include "tool/bench/work/frame.h"
#include "tool/bench/work/worker.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>

#define SLOW_NS 10000 /* a sleep and its wake-up take longer than that */
#define REQUEST 1     /* type; replies have 2 + the client's number */

static long n_clients, n_trips, think_ns, work_ns, n_busy, apart, together;

/* What a client found, in shared memory. */
struct found {
	double median, p99, worst, end;
	long n_slow;
};

/* All begin at once, when everybody has made a first trip. */
static struct gate {
	int ready, go;
} * gate;
static struct found *found; /* by client */
static int requests = -1, replies = -1, set = -1;
static mqd_t mq_request = -1, mq_reply[CLIENTS_MAX];

struct message {
	long type;
	char text[TRIP_BODY];
};

static void spin(long ns)
{
	double end = now_ns() + (double)ns;

	while (ns > 0 && now_ns() < end)
		;
}

/* --- messages --------------------------------------------------------- */

static void queues_make(int clients)
{
	(void)clients;
	requests = msgget(IPC_PRIVATE, 0600);
	replies = strcmp(case_name, "two-queues") ? requests
						  : msgget(IPC_PRIVATE, 0600);
	must(requests >= 0 && replies >= 0, "msgget");
}

static void queue_serve(void)
{
	struct message m;

	while (msgrcv(requests, &m, TRIP_BODY, REQUEST, 0) == TRIP_BODY) {
		spin(work_ns);
		m.type = 2 + m.text[0];
		if (msgsnd(replies, &m, TRIP_BODY, 0))
			break;
	}
}

static void queue_trip(int client)
{
	struct message m = {REQUEST, {(char)client}};

	must(!msgsnd(requests, &m, TRIP_BODY, 0), "msgsnd");
	must(msgrcv(replies, &m, TRIP_BODY, 2 + client, 0) == TRIP_BODY,
		"msgrcv");
}

/* --- semaphores ------------------------------------------------------- */

static void sems_make(int clients)
{
	(void)clients;
	set = semget(IPC_PRIVATE, 2, 0600);
	must(set >= 0, "semget");
	if (!strcmp(case_name, "table"))
		must(!semctl(set, 0, SETVAL, 1), "semctl");
}

static int change(int num, int by)
{
	struct sembuf op = {(unsigned short)num, (short)by,
		!strcmp(case_name, "undo") ? SEM_UNDO : 0};

	return semop(set, &op, 1);
}

static void sem_serve(void)
{
	while (!change(0, -1)) {
		spin(work_ns);
		if (change(1, 1))
			break;
	}
}

static void sem_trip(int client)
{
	(void)client;
	must(!change(0, 1) && !change(1, -1), "semop");
}

static void table_trip(int client)
{
	(void)client;
	must(!change(0, -1), "semop");
	spin(work_ns);
	must(!change(0, 1), "semop");
}

/* --- POSIX queues ----------------------------------------------------- */

static mqd_t mq_make(const char *what, int nth)
{
	struct mq_attr attr = {.mq_maxmsg = 8, .mq_msgsize = TRIP_BODY};
	char name[64];
	mqd_t q;

	snprintf(name, sizeof(name), "/trip-%d-%s-%d", getpid(), what, nth);
	q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
	must(q != -1, "mq_open");
	mq_unlink(name);
	return q;
}

static void mqs_make(int clients)
{
	mq_request = mq_make("requests", 0);
	for (int i = 0; i < clients; i++)
		mq_reply[i] = mq_make("replies", i);
}

static void mq_serve(void)
{
	char text[TRIP_BODY];

	while (mq_receive(mq_request, text, TRIP_BODY, NULL) == TRIP_BODY) {
		spin(work_ns);
		if (mq_send(mq_reply[(int)text[0]], text, TRIP_BODY, 0))
			break;
	}
}

static void mq_trip(int client)
{
	char text[TRIP_BODY] = {(char)client};

	must(!mq_send(mq_request, text, TRIP_BODY, 0), "mq_send");
	must(mq_receive(mq_reply[client], text, TRIP_BODY, NULL) == TRIP_BODY,
		"mq_receive");
}

/* --- one case --------------------------------------------------------- */

static void place(int nth)
{
	if (apart || together)
		cpu_pin(cpu_pick(apart ? nth : 0), cpu_pick(apart ? nth : 0));
}

/* Nothing is timed yet. */
static void gate_pass(void)
{
	__atomic_fetch_add(&gate->ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&gate->go, __ATOMIC_ACQUIRE))
		sleep_ms(1);
}

/* Nobody ends before the gate is open, but who has failed. */
static int has_ended(void)
{
	siginfo_t info = {0};

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid;
}

/* The time at which they were let go. */
static double gate_open(void)
{
	while (__atomic_load_n(&gate->ready, __ATOMIC_ACQUIRE) < n_clients) {
		errno = ECHILD;
		must(!has_ended(), "a client or the server failed");
		sleep_ms(1);
	}
	__atomic_store_n(&gate->go, 1, __ATOMIC_RELEASE);
	return now_ns();
}

static void client_run(int client, void (*trip)(int client))
{
	double *ns = malloc((size_t)n_trips * sizeof(*ns));
	struct found *f = &found[client];

	must(ns != NULL, "malloc");
	place(1);
	trip(client);
	gate_pass();
	for (long i = 0; i < n_trips; i++) {
		double t;

		spin(think_ns);
		t = now_ns();
		trip(client);
		ns[i] = now_ns() - t;
		f->n_slow += ns[i] > SLOW_NS;
	}
	f->end = now_ns();
	qsort(ns, (size_t)n_trips, sizeof(*ns), by_size);
	f->median = ns[n_trips / 2];
	f->p99 = ns[n_trips * 99 / 100];
	f->worst = ns[n_trips - 1];
}

/* CPU time of the children that have ended, in ns. */
static double cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}

static void print_found(double begun)
{
	double median[CLIENTS_MAX], p99[CLIENTS_MAX], worst = 0, cpu = cpu_ns();
	double x = (double)n_clients, all = x * (double)n_trips, end = begun;
	long n_slow = 0;

	for (int i = 0; i < n_clients; i++) {
		median[i] = found[i].median;
		p99[i] = found[i].p99;
		worst = found[i].worst > worst ? found[i].worst : worst;
		end = found[i].end > end ? found[i].end : end;
		n_slow += found[i].n_slow;
	}
	qsort(median, (size_t)n_clients, sizeof(*median), by_size);
	qsort(p99, (size_t)n_clients, sizeof(*p99), by_size);
	figure("rate", x, all * 1e9 / (end - begun));
	figure("median", x, median[n_clients / 2]);
	figure("p99", x, p99[n_clients / 2]);
	figure("worst", x, worst);
	figure("slow", x, 100.0 * (double)n_slow / all);
	figure("cpu", x, cpu / all - (double)(think_ns + work_ns));
}

static void busy_start(void)
{
	for (long i = 0; i < n_busy; i++)
		if (!partner_fork())
			for (;;)
				;
}

static void arguments(void)
{
	n_clients = work_arg("clients", 1);
	n_trips = work_arg("trips", 20000);
	think_ns = work_arg("think", 0);
	work_ns = work_arg("work", 0);
	n_busy = work_arg("busy", 0);
	apart = work_arg("apart", 0);
	together = work_arg("together", 0);
	errno = EINVAL;
	must(n_clients >= 1 && n_clients <= CLIENTS_MAX && n_trips >= 1,
		"clients or trips");
}

/* The clients, each waited for; the time at which they began. */
static double clients_run(void (*trip)(int client))
{
	pid_t client[CLIENTS_MAX];
	int status, failed = 0;
	double begun;

	for (int i = 0; i < n_clients; i++)
		if (!(client[i] = partner_fork())) {
			client_run(i, trip);
			_exit(0);
		}
	begun = gate_open();
	for (int i = 0; i < n_clients; i++) {
		waitpid(client[i], &status, 0);
		failed |= status;
	}
	errno = ECHILD;
	must(!failed, "a client failed");
	return begun;
}

void trip_run(const struct trip_kind *kind)
{
	pid_t server = 0;
	double begun;

	arguments();
	if (n_clients > 1 && kind->one_client) {
		fprintf(stderr, "# %s has one client\n", case_name);
		exit(CANNOT_BE_TIMED);
	}
	found = share(CLIENTS_MAX * sizeof(*found));
	gate = share(sizeof(*gate));
	kind->make((int)n_clients);
	busy_start();
	if (kind->serve && !(server = partner_fork())) {
		place(0);
		kind->serve();
		partner_exit();
	}
	begun = clients_run(kind->trip);
	if (server) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
	n_partners = (int)n_busy; /* the first ones; the others are reaped */
	print_found(begun);
}

static const struct trip_kind kinds[] = {
	{"one-queue", queues_make, queue_serve, queue_trip, 0},
	{"two-queues", queues_make, queue_serve, queue_trip, 0},
	{"sem", sems_make, sem_serve, sem_trip, 1},
	{"undo", sems_make, sem_serve, sem_trip, 1},
	{"mq", mqs_make, mq_serve, mq_trip, 0},
	{"table", sems_make, NULL, table_trip, 0},
	{0},
};

const struct trip_kind *trip_kind_of(
	const struct trip_kind *of, const char *name)
{
	while (strcmp(of->name, name) != 0)
		of++;
	return of;
}

int trip_has_one_client(const char *name)
{
	return trip_kind_of(kinds, name)->one_client;
}

static void bench_trip(void)
{
	trip_run(trip_kind_of(kinds, case_name));
}

const struct work trip_works[] = {
	{"one-queue", bench_trip},
	{"two-queues", bench_trip},
	{"sem", bench_trip},
	{"undo", bench_trip},
	{"mq", bench_trip},
	{"table", bench_trip},
	{0},
};
