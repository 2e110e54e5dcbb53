// SPDX-License-Identifier: MIT
/*
 * trip.c: request and reply between clients and one server, each round trip
 * timed by its client: what a program that waits for its answers sees.
 *
 *	trip [--clients N] [--trips N] [--think NS] [--work NS] [--busy N]
 *	     [--apart | --together] CASE | --list
 *
 *	one-queue   msgsnd of type 1, msgrcv of the client's type, one queue
 *	two-queues  the same with a queue for each direction
 *	sem         semop +1 and -1 on two semaphores, one client
 *	undo        the same with SEM_UNDO
 *	mq          the server's POSIX queue, and one of its own for each client
 *	table       no server: a semaphore around a table, taken and given back
 *
 * A client thinks (spins) for --think ns before each trip, the server for
 * --work ns (for table: under the semaphore). --apart pins the server to one CPU
 * and the clients to another, --together all to one; else the scheduler places
 * them. --busy processes only spin, wherever they are put.
 *
 * Prints one line: `CASE median p99 worst slow cpu`: ns of a trip as the middle
 * client saw it (the worst: of all), the share of trips of more than SLOW_NS,
 * in percent, and ns of CPU time of all clients and the server a trip, without
 * what they were asked to think.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>

#define CLIENTS_MAX 64
#define SLOW_NS 10000 /* a sleep and its wake-up take longer than that */
#define BODY 32
#define REQUEST 1 /* type; replies have 2 + the client's number */

static long n_clients = 1, n_trips = 20000, think_ns, work_ns, n_busy;
static int apart, together;

static const struct option_of options[] = {
	{"clients", .number = &n_clients},
	{"trips", .number = &n_trips},
	{"think", .number = &think_ns},
	{"work", .number = &work_ns},
	{"busy", .number = &n_busy},
	{"apart", .flag = &apart},
	{"together", .flag = &together},
	{0},
};

/* What a client found, in shared memory. */
struct found {
	double median, p99, worst;
	long n_slow;
};

static struct found *found; /* by client */
static int requests = -1, replies = -1, set = -1;
static mqd_t mq_request = -1, mq_reply[CLIENTS_MAX];

struct message {
	long type;
	char text[BODY];
};

static void spin(long ns)
{
	double end = now_ns() + ns;

	while (ns > 0 && now_ns() < end)
		;
}

static void must(int ok, const char *what)
{
	if (!ok)
		die(what);
}

/* --- messages --------------------------------------------------------- */

static void queues_make(void)
{
	requests = msgget(IPC_PRIVATE, 0600);
	replies = strcmp(case_name, "two-queues") ? requests
						  : msgget(IPC_PRIVATE, 0600);
	must(requests >= 0 && replies >= 0, "msgget");
}

static void queue_serve(void)
{
	struct message m;

	while (msgrcv(requests, &m, BODY, REQUEST, 0) == BODY) {
		spin(work_ns);
		m.type = 2 + m.text[0];
		if (msgsnd(replies, &m, BODY, 0))
			break;
	}
}

static void queue_trip(int client)
{
	struct message m = {REQUEST, {(char)client}};

	must(!msgsnd(requests, &m, BODY, 0), "msgsnd");
	must(msgrcv(replies, &m, BODY, 2 + client, 0) == BODY, "msgrcv");
}

/* --- semaphores ------------------------------------------------------- */

static void sems_make(void)
{
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
	struct mq_attr attr = {.mq_maxmsg = 8, .mq_msgsize = BODY};
	char name[64];
	mqd_t q;

	snprintf(name, sizeof(name), "/trip-%d-%s-%d", getpid(), what, nth);
	q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
	must(q != -1, "mq_open");
	mq_unlink(name);
	return q;
}

static void mqs_make(void)
{
	mq_request = mq_make("requests", 0);
	for (int i = 0; i < n_clients; i++)
		mq_reply[i] = mq_make("replies", i);
}

static void mq_serve(void)
{
	char text[BODY];

	while (mq_receive(mq_request, text, BODY, NULL) == BODY) {
		spin(work_ns);
		if (mq_send(mq_reply[(int)text[0]], text, BODY, 0))
			break;
	}
}

static void mq_trip(int client)
{
	char text[BODY] = {(char)client};

	must(!mq_send(mq_request, text, BODY, 0), "mq_send");
	must(mq_receive(mq_reply[client], text, BODY, NULL) == BODY,
		"mq_receive");
}

/* --- one case --------------------------------------------------------- */

static void place(int nth)
{
	if (apart || together)
		cpu_pin(cpu_pick(apart ? nth : 0), cpu_pick(apart ? nth : 0));
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void client_run(int client, void (*trip)(int client))
{
	double *ns = malloc((size_t)n_trips * sizeof(*ns));
	struct found *f = &found[client];

	must(ns != NULL, "malloc");
	place(1);
	trip(client);
	for (long i = 0; i < n_trips; i++) {
		double t;

		spin(think_ns);
		t = now_ns();
		trip(client);
		ns[i] = now_ns() - t;
		f->n_slow += ns[i] > SLOW_NS;
	}
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
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}

static void print_found(void)
{
	double median[CLIENTS_MAX], p99[CLIENTS_MAX], worst = 0, cpu = cpu_ns();
	long n_slow = 0, thought = think_ns + work_ns;

	for (int i = 0; i < n_clients; i++) {
		median[i] = found[i].median;
		p99[i] = found[i].p99;
		worst = found[i].worst > worst ? found[i].worst : worst;
		n_slow += found[i].n_slow;
	}
	qsort(median, (size_t)n_clients, sizeof(*median), by_size);
	qsort(p99, (size_t)n_clients, sizeof(*p99), by_size);
	printf("%s %.0f %.0f %.0f %.2f %.0f\n", case_name,
		median[n_clients / 2], p99[n_clients / 2], worst,
		100.0 * n_slow / n_trips / n_clients,
		cpu / n_trips / n_clients - thought);
}

static void busy_start(void)
{
	for (long i = 0; i < n_busy; i++)
		if (!partner_fork())
			for (;;)
				;
}

static void run_case(
	void (*make)(void), void (*serve)(void), void (*trip)(int client))
{
	pid_t server = 0, client[CLIENTS_MAX];
	int status, failed = 0;

	if (n_clients < 1 || n_clients > CLIENTS_MAX || n_trips < 1) {
		errno = EINVAL;
		die("--clients or --trips");
	}
	found = mmap(NULL, CLIENTS_MAX * sizeof(*found), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(found != MAP_FAILED, "mmap");
	make();
	busy_start();
	if (serve && !(server = partner_fork())) {
		place(0);
		serve();
		partner_exit();
	}
	for (int i = 0; i < n_clients; i++)
		if (!(client[i] = partner_fork())) {
			client_run(i, trip);
			_exit(0);
		}
	for (int i = 0; i < n_clients; i++) {
		waitpid(client[i], &status, 0);
		failed |= status;
	}
	if (server) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
	n_partners = (int)n_busy; /* the first ones; the others are reaped */
	errno = ECHILD;
	must(!failed, "a client failed");
	print_found();
}

static void bench_queue(void)
{
	run_case(queues_make, queue_serve, queue_trip);
}

static void bench_sem(void)
{
	if (n_clients != 1) {
		fprintf(stderr, "# %s has one client\n", case_name);
		exit(77);
	}
	run_case(sems_make, sem_serve, sem_trip);
}

static void bench_mq(void)
{
	run_case(mqs_make, mq_serve, mq_trip);
}

static void bench_table(void)
{
	run_case(sems_make, NULL, table_trip);
}

static void clean(void)
{
	if (requests >= 0)
		msgctl(requests, IPC_RMID, NULL);
	if (replies >= 0 && replies != requests)
		msgctl(replies, IPC_RMID, NULL);
	if (set >= 0)
		semctl(set, 0, IPC_RMID);
}

static const struct bench benches[] = {
	{"one-queue", bench_queue},
	{"two-queues", bench_queue},
	{"sem", bench_sem},
	{"undo", bench_sem},
	{"mq", bench_mq},
	{"table", bench_table},
	{0},
};

int main(int argc, char **argv)
{
	bench_main(argc, argv, options, benches, clean);
	return 0;
}
