// SPDX-License-Identifier: MIT
/*
 * prefork_storm: a server of several processes, whose groups are killed.
 *
 *	prefork_storm [--kills N] [--seed S]
 *
 * As Apache's workers: semaphore 0 is the accept mutex, taken and released with
 * SEM_UNDO; its holder sleeps for a job, semaphore 1, takes that with SEM_UNDO,
 * releases the mutex, and does the job, after which it drops the adjustment.
 * Groups of three workers are killed, one or two at once, also while they are
 * stopped with the mutex, or are stopped and continued. Of the kernel and of
 * the shim:
 *
 * - At most one living process has the mutex.
 * - After the last kill all jobs are done, without any other call; then a
 *   worker sleeps for a job, the others for the mutex, and once all are dead
 *   both have their first values: a job is done or released, never lost, and
 *   done twice only if its worker died in between.
 * - semop fails with EINTR at most once each time its caller is stopped.
 * - All find out about the removal.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "herd.h"

#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#define MUTEX 0
#define JOBS 1
#define ROUND_KILLS 300
#define AHEAD 20

static struct shared {
	struct herd_report report;
	volatile int removed;
	volatile pid_t holder; /* of the mutex */
	_Atomic long begun, done, accepted;
} * sh;
static struct herd herd;
static long n_kills = 2000, seed = 1, posted;
static int set;

static void operate(struct sembuf *ops, size_t n)
{
	if (!herd_semop(&sh->report, set, ops, n))
		return;
	if (sh->removed && (errno == EIDRM || errno == EINVAL))
		_exit(0);
	violation(&sh->report, "semop", errno, (long)n);
	_exit(3);
}

static void change(unsigned short num, short by, short flags)
{
	struct sembuf op = {num, by, flags};

	operate(&op, 1);
}

static bool runs(pid_t pid)
{
	char path[64], line[512] = "";
	const char *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	p = strrchr(line, ')');
	return p && p[2] != 'Z' && p[2] != 'X';
}

/* The mutex is ours; who had it before may have been killed with it. */
static void take_over(void)
{
	pid_t was = sh->holder;
	int i;

	/* It is on its way out of the kernel. */
	for (i = 0; was && runs(was); i++) {
		if (i == 5000) {
			violation(&sh->report, "two have the mutex", was,
				getpid());
			break;
		}
		sleep_us(1000);
	}
	sh->holder = getpid();
}

static void run(int place)
{
	struct sembuf end[] = {{JOBS, 1, SEM_UNDO}, {JOBS, -1, 0}};
	struct storm_rng r;

	storm_seed(&r, (uint64_t)seed, (uint64_t)getpid());
	(void)place;
	for (;;) {
		change(MUTEX, -1, SEM_UNDO);
		take_over();
		change(JOBS, -1, SEM_UNDO);
		sh->accepted++;
		if (storm_random(&r, 8) == 0)
			spin_us(storm_random(&r, 40));
		if (sh->holder != getpid())
			violation(&sh->report, "another one has the mutex",
				sh->holder, getpid());
		sh->holder = 0;
		change(MUTEX, 1, SEM_UNDO);
		sh->begun++;
		operate(end, 2);
		sh->done++;
	}
}

/* ---- rounds ---- */

static void post(long n)
{
	struct sembuf op = {JOBS, (short)n, 0};

	if (n <= 0)
		return;
	if (semop(set, &op, 1))
		violation(&sh->report, "post", errno, n);
	posted += n;
}

static long
	uncounted; /* that were killed between the job's end and its count */

static bool done_but_uncounted(void)
{
	return sh->done + uncounted >= posted;
}

static void expect(const char *what, int num, int command, long value)
{
	double until = now_ms() + 3000;
	long is;

	do {
		is = semctl(set, num, command);
		if (is == value)
			return;
		sleep_us(1000);
	} while (now_ms() < until);
	herd_complain(&herd, what, num, is, value);
}

static void settle(void)
{
	/* Killed between a job's end and its count: at most so many. */
	uncounted = sh->begun - sh->done;
	herd_wait(done_but_uncounted, 4000);
	if (sh->done + uncounted < posted)
		herd_complain(&herd, "jobs are not done", posted, sh->begun,
			sh->done);
	expect("jobs left", JOBS, GETVAL, 0);
	expect("the mutex", MUTEX, GETVAL, 0);
	expect("sleep for a job", JOBS, GETNCNT, 1);
	expect("sleep for the mutex", MUTEX, GETNCNT, HERD_PLACES - 1);
	if (sh->begun < posted || sh->done > posted)
		herd_complain(&herd, "jobs: posted, begun to be ended, done",
			posted, sh->begun, sh->done);
}

static void finish(long round)
{
	int i, status;

	if (round % 2) {
		/* All at once: what the dead owe comes back by itself. */
		herd_end(&herd);
		expect("the mutex, all dead", MUTEX, GETVAL, 1);
		expect("jobs, all dead", JOBS, GETVAL, 0);
		expect("sleepers, all dead", MUTEX, GETNCNT, 0);
		semctl(set, 0, IPC_RMID);
		return;
	}
	sh->removed = 1;
	if (semctl(set, 0, IPC_RMID))
		herd_complain(&herd, "IPC_RMID", errno, 0, 0);
	for (i = 0; i < HERD_PLACES; i++)
		if (!storm_reap(herd.pid[i], 5000, &status) || status)
			herd_complain(
				&herd, "did not see the removal", i, status, 0);
}

static void round_of(long round)
{
	unsigned short values[2] = {1, 0};
	long before = herd.kills, stops = herd.stops;

	alarm(HERD_HANG_S);
	memset(sh, 0, sizeof(*sh));
	posted = 0;
	set = semget(IPC_PRIVATE, 2, 0600);
	if (set < 0 || semctl(set, 0, SETALL, values))
		storm_die("semget");
	herd_start_all(&herd);
	while (herd.kills - before < ROUND_KILLS && !sh->report.wrong) {
		herd_hit(&herd);
		post(sh->accepted + AHEAD - posted);
		if (storm_random(&herd.rng, 8) == 0)
			sleep_us(2000);
	}
	settle();
	herd_judge(&herd, &sh->report, herd.stops - stops);
	finish(round);
}

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"seed", .number = &seed},
	{0},
};

int main(int argc, char **argv)
{
	long round = 0, jobs = 0, interrupted = 0;

	options_only(argc, argv, options);
	sh = storm_share(sizeof(*sh));
	storm_seed(&herd.rng, (uint64_t)seed, 0);
	herd.run = run;
	while (herd.kills < n_kills && !herd.wrong) {
		round_of(round++);
		jobs += posted;
		interrupted += sh->report.interrupted;
	}
	printf("%ld kills, %ld stops, %ld jobs, EINTR %ld times, %ld wrong\n",
		herd.kills, herd.stops, jobs, interrupted, herd.wrong);
	return herd.wrong != 0;
}
