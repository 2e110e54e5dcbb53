// SPDX-License-Identifier: MIT
/*
 * shm_storm: processes that attach, detach, create, remove and fork are killed
 * by SIGKILL at random, thousands of times.
 *
 * shm_storm [--kills N] [--seed S]        (5000, 1)
 *
 * Workers share SHARED segments, by key, which they also remove and create
 * anew; and each makes private ones, which must be zero at first and hold
 * nothing but its own pattern afterwards: a page given to two segments would
 * show. Some fork children that attach, and die or are left behind.
 *
 * At the end all are dead: every segment's nattch is 0, the removed ones are
 * gone, and once the rest is removed none is left; the registry's file has no
 * more pages of segments than each worker may have been about to free. Prints
 * one line; 1 on a failure.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>

#define WORKERS 6
#define SHARED 4
#define KEY 0x57000000
#define PAGE 4096
/* Where the registry's file keeps the segments' pages, and how much of it those
 * may leave who were killed last, while they gave pages back. */
#define WINDOW (32l << 30)
#define LEFT (WORKERS * 16l * PAGE)

struct arena {
	volatile uint64_t progress;
	volatile int bad; /* a page that was not the segment's own */
	volatile long bad_at;
	volatile int bad_value;
};

static struct arena *arena;
static struct storm_rng rng;

static void report(const char *p, long i)
{
	arena->bad_at = i;
	arena->bad_value = p[i];
	arena->bad = 1;
}

static void private_segment(void)
{
	long pages = 1 + storm_random(&rng, 40), i;
	int id = shmget(IPC_PRIVATE, pages * PAGE - 7, 0600);
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	int mark = 1 + (int)storm_random(&rng, 100);

	if (p == (void *)-1)
		return;
	/* Removed at once, mostly: whoever is killed leaves nothing. */
	if (storm_random(&rng, 8))
		shmctl(id, IPC_RMID, NULL);
	for (i = 0; i < pages * PAGE; i += 512)
		if (p[i])
			report(p, i);
	for (i = 0; i < pages * PAGE; i += 512)
		p[i] = (char)mark;
	for (i = 0; i < pages * PAGE; i += 512)
		if (p[i] != mark)
			report(p, i);
	if (storm_random(&rng, 16)) {
		shmctl(id, IPC_RMID, NULL);
		shmdt(p);
	}
}

static void shared_segment(void)
{
	key_t key = KEY + (key_t)storm_random(&rng, SHARED);
	int id = shmget(key, 8 * PAGE, IPC_CREAT | 0600), flg;
	char *p[4];
	int n = 1 + (int)storm_random(&rng, 4), i;

	if (id < 0)
		return;
	for (i = 0; i < n; i++) {
		flg = storm_random(&rng, 3) ? 0 : SHM_RDONLY;
		p[i] = shmat(id, NULL, flg);
		if (p[i] != (void *)-1 && !flg)
			p[i][storm_random(&rng, 8) * PAGE]++;
	}
	if (!storm_random(&rng, 10))
		shmctl(id, IPC_RMID, NULL);
	for (i = 0; i < n; i++)
		if (p[i] != (void *)-1)
			shmdt(p[i]);
}

static void with_child(void)
{
	int id = shmget(KEY, 8 * PAGE, IPC_CREAT | 0600), status;
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	pid_t pid = fork();

	if (!pid) {
		if (p != (void *)-1)
			p[0]++;
		shmat(id, NULL, 0);
		if (storm_random(&rng, 2) && p != (void *)-1)
			shmdt(p);
		_exit(0);
	}
	/* Killed before it has begun, sometimes. */
	if (pid > 0 && storm_random(&rng, 2))
		kill(pid, SIGKILL);
	if (p != (void *)-1)
		shmdt(p);
	if (pid > 0)
		waitpid(pid, &status, 0);
}

static _Noreturn void worker(uint64_t seed, uint64_t who)
{
	storm_seed(&rng, seed, who);
	for (;;) {
		switch (storm_random(&rng, 12)) {
		case 0:
			with_child();
			break;
		case 1:
		case 2:
		case 3:
		case 4:
			shared_segment();
			break;
		default:
			private_segment();
		}
		arena->progress++;
	}
}

static pid_t spawn(uint64_t seed, uint64_t who)
{
	pid_t pid = storm_fork();

	if (!pid)
		worker(seed, who);
	return pid;
}

/* Every worker and every child of one has the end of this pipe that is written
 * to, which nobody does. */
static int alive[2];

/* Children of killed workers end by themselves: the last of them closes the
 * pipe, and has left its segments by then. */
static void wait_for_orphans(void)
{
	char none;

	close(alive[1]);
	if (read(alive[0], &none, 1))
		storm_die("pipe");
}

/* Bytes that the file holds from WINDOW on. */
static long in_window(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t at = WINDOW, hole;
	long sum = 0;

	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		hole = lseek(fd, at, SEEK_HOLE);
		sum += hole - at;
		at = hole;
	}
	close(fd);
	return sum;
}

static int look(const char *path)
{
	struct shmid_ds ds;
	struct shm_info info;
	struct stat st;
	int bad = 0, attached = 0, left = 0, highest, i;

	highest = shmctl(0, SHM_INFO, (struct shmid_ds *)&info);
	for (i = 0; i <= highest; i++) {
		int id = shmctl(i, SHM_STAT, &ds);

		if (id < 0)
			continue;
		attached += ds.shm_nattch != 0;
		left += (ds.shm_perm.mode & SHM_DEST) != 0;
		shmctl(id, IPC_RMID, NULL);
	}
	shmctl(0, SHM_INFO, (struct shmid_ds *)&info);
	if (attached || left || info.used_ids || info.shm_tot) {
		printf("FAIL attached %d, removed but there %d, in use %d, "
		       "pages %lu\n",
			attached, left, info.used_ids, info.shm_tot);
		bad = 1;
	}
	if (path && !stat(path, &st)) {
		long window = in_window(path);

		printf("# file: %ld KiB, of which pages of no segment: %ld\n",
			(long)st.st_blocks / 2, window / 1024);
		if (window > LEFT) {
			printf("FAIL leaked pages\n");
			bad = 1;
		}
	}
	return bad;
}

int main(int argc, char **argv)
{
	long kills = 5000, seed = 1, n;
	const struct option_of options[] = {
		{"kills", .number = &kills},
		{"seed", .number = &seed},
		{0},
	};
	struct storm_rng own;
	pid_t pid[WORKERS];
	double start = now_ms();
	int status, i, bad;
	uint64_t seen = 0, stale = 0;

	options_only(argc, argv, options);
	arena = storm_share(sizeof(*arena));
	if (pipe(alive))
		storm_die("pipe");
	storm_seed(&own, (uint64_t)seed, 999);
	for (i = 0; i < WORKERS; i++)
		pid[i] = spawn((uint64_t)seed, (uint64_t)i);
	for (n = 0; n < kills && !arena->bad; n++) {
		storm_pause(&own);
		i = (int)storm_random(&own, WORKERS);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
		pid[i] = spawn((uint64_t)seed, (uint64_t)(n + WORKERS));
		stale = arena->progress == seen ? stale + 1 : 0;
		seen = arena->progress;
		if (stale > 2000) {
			printf("FAIL no progress\n");
			break;
		}
	}
	for (i = 0; i < WORKERS; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
	}
	wait_for_orphans();
	bad = look(getenv("IPCLIFT_REGISTRY")) | arena->bad | (stale > 2000);
	if (arena->bad)
		printf("FAIL foreign contents: %d at %ld\n", arena->bad_value,
			arena->bad_at);
	printf("%s shm_storm: %ld kills, %llu rounds, seed %ld, %.1f s\n",
		bad ? "FAIL" : "ok", n, (unsigned long long)arena->progress,
		seed, (now_ms() - start) / 1e3);
	return bad;
}
