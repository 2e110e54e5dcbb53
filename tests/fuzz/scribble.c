// SPDX-License-Identifier: MIT
/*
 * scribble: somebody writes into a registry while others work with it.
 *
 *	scribble [--seed S] [--seconds N] [--rounds N]
 *
 * Each round takes a new registry, in which a few processes make every call
 * (client.c) under the shim, maps it as they do, and writes for two seconds
 * where it hurts (mutate.h) or anywhere on the pages that are in use, but for
 * the header's identity. Commands look at it meanwhile. They all may be told of
 * errors; none may be ended by a signal, SIGALRM among them, which comes where
 * a call takes ten seconds.
 *
 * No word is made to name a thread that lives and has the registry open: that
 * keeps a lock, which whoever may write the file can do (SECURITY.md).
 *
 * Nor may the registry grow: each round is in a file system of its own, which the
 * machine outlives when it is full (where we may mount), and takes a few tens of
 * MiB of it.
 *
 * Prints a table. IPCLIFT_SHIM, _TOOL and _TESTS say what is tested; with
 * IPCLIFT_CORES the directory of a round that had a fault stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mutate.h"

/* Arbitrary: a call is in a section for microseconds, so more at once meet more
 * of each other's; long enough for some thousand calls each. */
#define CLIENTS 3
#define ROUND_SECONDS 2
/* What is asked of a client beyond the end of a round. */
#define PATIENCE 15
#define NAME_CAP 512
/* Of a round's file system; and what the registry may take of it: arbitrary,
 * ten times what is met. */
#define ROOM "size=1g"
#define GROWN_MIB 256
/* Nothing is written below: magic and the identity. */
#define SPARED offsetof(struct header, control_open)

enum who {
	W_CLIENT,
	W_LS,
	W_WAITS,
	W_TASKS,
	W_CHECK,
	W_SAVE,
	N_WHO,
};
static const char *const names[] = {
	"client", "ls", "waits", "tasks", "check", "save"};

static struct {
	unsigned long runs, errors, crashes, hangs;
} table[N_WHO];
static unsigned long stores, grown;
static char dir[NAME_CAP / 2], registry[NAME_CAP];
static const char *shim, *tool, *tests;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "scribble: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- those who work ---- */

static pid_t start(enum who who)
{
	char program[NAME_CAP], seconds[16], saved[NAME_CAP + 8];
	int null;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (chdir(dir))
		_exit(126);
	setenv("IPCLIFT_REGISTRY", registry, 1);
	if (who != W_CLIENT) {
		snprintf(saved, sizeof(saved), "%s.save", registry);
		execl(tool, tool, names[who], who == W_SAVE ? saved : NULL,
			NULL);
		_exit(127);
	}
	snprintf(program, sizeof(program), "%s/fuzz/client", tests);
	snprintf(seconds, sizeof(seconds), "%d", ROUND_SECONDS);
	setenv("LD_PRELOAD", shim, 1);
	execl(program, program, seconds, NULL);
	_exit(127);
}

/* 1 if it was ended by a signal. */
static int note(enum who who, int status)
{
	table[who].runs++;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		table[who].hangs++;
	else if (WIFSIGNALED(status))
		table[who].crashes++;
	else if (status)
		table[who].errors++;
	if (WIFSIGNALED(status))
		printf("%s: %s\n", names[who], strsignal(WTERMSIG(status)));
	return WIFSIGNALED(status);
}

/* ---- the scribbling ---- */

static char *map(void)
{
	int fd = open(registry, O_RDWR | O_CLOEXEC);
	struct stat st;
	char *base = NULL;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size >= (off_t)REGION_SIZE)
		base = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	return base == MAP_FAILED ? NULL : base;
}

/* A page that is in use, of those from a chosen one on, or 0. */
static uint64_t used_page(const char *base, struct rng *r)
{
	static const uint64_t starts[] = {0, TASKS_OFF, THREADS_OFF,
		BUCKETS_OFF(0ULL), SLOTS_OFF(0ULL), SLOTS_OFF(1ULL),
		SLOTS_OFF(2ULL), SLOTS_OFF(3ULL), HEAP_OFF};
	unsigned char there[256];
	uint64_t at = starts[rng_below(r, 9)];
	uint32_t i, k;

	if (mincore((void *)(uintptr_t)(base + at), sizeof(there) * 4096,
		    there))
		return 0;
	k = (uint32_t)rng_below(r, sizeof(there));
	for (i = 0; i < sizeof(there); i++)
		if (there[(i + k) % sizeof(there)] & 1)
			return at + (i + k) % sizeof(there) * 4096;
	return 0;
}

static void write_anywhere(char *base, struct rng *r)
{
	uint64_t at = used_page(base, r) + rng_below(r, 512) * 8;

	if (at < SPARED)
		return;
	if (rng_below(r, 2))
		__atomic_store_n((uint64_t *)(void *)(base + at), rng_next(r),
			__ATOMIC_RELAXED);
	else
		__atomic_store_n((uint32_t *)(void *)(base + at),
			(uint32_t)rng_next(r) >> rng_below(r, 32) | 1u << 31,
			__ATOMIC_RELAXED);
}

static void write_field(char *base, struct rng *r, struct places *p)
{
	uint32_t t = (uint32_t)rng_below(r, p->n_tables);
	const struct place *at;

	if (!p->count[t])
		return;
	at = &p->at[p->first[t] + rng_below(r, p->count[t])];
	if (at->field->kind == K_LOCK || at->field->kind == K_PID ||
		at->off < SPARED)
		return;
	damage_at(p, base, r, at);
}

/* MiB that the registry takes. */
static long long mib_taken(void)
{
	struct stat st;

	return stat(registry, &st) ? 0 : (long long)st.st_blocks >> 11;
}

/* Until the time is over; a pause between the stores, of another length each
 * round, so that some rounds have few faults and others many at once. */
static void scribble(char *base, struct rng *r, double until)
{
	struct places p = {0};
	long pause = 1000L << rng_below(r, 12);
	double scan = 0;

	while (now_s() < until) {
		if (now_s() > scan) {
			places_scan(&p, base);
			scan = now_s() + .25;
		}
		if (rng_below(r, 3))
			write_field(base, r, &p);
		else
			write_anywhere(base, r);
		stores++;
		nanosleep(&(struct timespec){0, pause}, NULL);
	}
	places_free(&p);
}

/* ---- a round ---- */

static int remove_one(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* Waits for all; whoever does not come to an end has a hang. 1 if one had a
 * fault. */
static int reap(pid_t *pids, enum who *who, int n, double until)
{
	int left = n, status, i, bad = 0;
	pid_t pid;

	while (left) {
		pid = waitpid(-1, &status, WNOHANG);
		for (i = 0; pid > 0 && i < n; i++)
			if (pids[i] == pid) {
				bad |= note(who[i], status);
				pids[i] = 0;
				left--;
			}
		if (pid > 0)
			continue;
		for (i = 0; now_s() > until && i < n; i++)
			if (pids[i])
				kill(pids[i], SIGALRM);
		usleep(10000);
	}
	return bad;
}

/* 1 if the registry has grown beyond what is in it. */
static int note_growth(void)
{
	long long mib = mib_taken();

	if (mib < GROWN_MIB)
		return 0;
	printf("the registry takes %lld MiB\n", mib);
	grown++;
	return 1;
}

static void one_round(uint64_t seed)
{
	struct rng r = {seed * 0x9e3779b97f4a7c15ULL | 1};
	pid_t pids[CLIENTS + N_WHO];
	enum who who[CLIENTS + N_WHO];
	double begun = now_s();
	char *base = NULL;
	int n, bad, own_room;

	for (n = 0; n < 8; n++)
		rng_next(&r);
	snprintf(dir, sizeof(dir), "%s/scribble.XXXXXX",
		getenv("IPCLIFT_TEST_DIR") ? getenv("IPCLIFT_TEST_DIR")
					   : "/dev/shm");
	if (!mkdtemp(dir))
		die(dir);
	own_room = !mount("scribble", dir, "tmpfs", 0, ROOM);
	snprintf(registry, sizeof(registry), "%s/registry", dir);
	for (n = 0; n < CLIENTS; n++) {
		who[n] = W_CLIENT;
		pids[n] = start(W_CLIENT);
	}
	while (!(base = map()) && now_s() < begun + PATIENCE)
		usleep(1000);
	if (!base)
		die("no registry");
	usleep(100000 + 1000 * (useconds_t)rng_below(&r, 200));
	for (; n < CLIENTS + N_WHO - 1; n++) {
		who[n] = (enum who)(W_LS + n - CLIENTS);
		pids[n] = start(who[n]);
		scribble(base, &r,
			begun + (n - CLIENTS + 1) * (double)ROUND_SECONDS /
					N_WHO);
	}
	scribble(base, &r, begun + ROUND_SECONDS);
	bad = reap(pids, who, n, begun + ROUND_SECONDS + PATIENCE);
	bad |= note_growth();
	munmap(base, REGION_SIZE);
	if (bad)
		printf("seed %llu%s%s\n", (unsigned long long)seed,
			getenv("IPCLIFT_CORES") ? " in " : "",
			getenv("IPCLIFT_CORES") ? dir : "");
	if (bad && getenv("IPCLIFT_CORES"))
		return;
	if (own_room)
		umount2(dir, MNT_DETACH);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int print_table(unsigned long rounds)
{
	unsigned long faults = 0;
	int i;

	printf("%lu registries, %lu stores\n%-8s %8s %8s %8s %8s\n", rounds,
		stores, "who", "runs", "errors", "crashes", "hangs");
	for (i = 0; i < N_WHO; i++) {
		printf("%-8s %8lu %8lu %8lu %8lu\n", names[i], table[i].runs,
			table[i].errors, table[i].crashes, table[i].hangs);
		faults += table[i].crashes + table[i].hangs;
	}
	printf("grown    %8lu\n", grown);
	faults += grown;
	printf("%lu faults\n", faults);
	return faults != 0;
}

static const char *need(const char *name)
{
	const char *v = getenv(name);

	if (!v || !*v) {
		fprintf(stderr, "scribble: %s is not set\n", name);
		exit(2);
	}
	return v;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	unsigned long rounds = 0, most = ~0UL;
	int seconds = 20, i;
	double end;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seconds"))
			seconds = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--rounds"))
			most = strtoul(argv[i + 1], NULL, 0);
	}
	shim = need("IPCLIFT_SHIM");
	tool = need("IPCLIFT_TOOL");
	tests = need("IPCLIFT_TESTS");
	unsetenv("LD_PRELOAD");
	setlinebuf(stdout);
	if (!getenv("IPCLIFT_CORES"))
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	for (end = now_s() + seconds; rounds < most && now_s() < end; rounds++)
		one_round(seed + rounds);
	return print_table(rounds);
}
