// SPDX-License-Identifier: MIT
/*
 * registries: what the command, the mount and a program under the shim do with
 * damaged registries and save files.
 *
 *	registries [--seed S] [--seconds N | --count N] [--jobs N] [--only WHAT]
 *	           [--keep DIR]
 *
 * A registry with one of everything (fill.c) is copied while it is quiet. Each
 * round changes one to four fields of a copy (mutate.h) and lets every target
 * meet it: the read commands, check, those that change or remove something, for
 * root of its own and of another user, the mount, of which all files are read,
 * and a program that makes every call (client.c). Registries that say that
 * all of them is in use (shape.h) come first. WHAT: shape, command, mount,
 * client, save. None may be ended by a signal, run for longer than the
 * deadline, or make the file grow or itself large.
 *
 * The numbers are printed as a table, and for each fault the seed of its round
 * and what was changed. --seed with --count 1 does that round again, --keep
 * leaves its registry. IPCLIFT_SHIM, _TOOL, _FUSE and _TESTS say what is
 * tested.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
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

#include "filled.h"
#include "mutate.h"
#include "savedamage.h"
#include "shape.h"

/* Seconds in which it runs or sleeps; arbitrary: a command takes some
 * milliseconds, or one or two seconds where it waits for locks. */
#define DEADLINE 15
/* What a file may grow by: what a program makes in it. Arbitrary. */
#define GROWTH (16 << 20)
/* And what may be in memory of a process beside the file. Arbitrary. */
#define MEMORY (256 << 20)
#define FAULTS_SHOWN 40
#define NOBODY 65534
#define NAME_CAP 1024

enum target {
	T_LS,
	T_LS_PROC,
	T_SHOW_SEM,
	T_SHOW_MSG,
	T_SHOW_SHM,
	T_SHOW_MQ,
	T_WAITS,
	T_TASKS,
	T_LOCKS,
	T_EVENTS,
	T_GET,
	T_METRICS,
	T_TOP,
	T_REGISTRIES,
	T_SAVE,
	T_CHECK,
	T_GC,
	T_SET,
	T_LEASE_MSG,
	T_LEASE_MQ,
	T_LOCKS_ON,
	T_GC_FORCE,
	T_RM,
	T_RESTORE_OVER,
	T_DESTROY,
	N_COMMANDS,
	T_MOUNT = N_COMMANDS,
	T_CLIENT,
	T_RESTORE,
	N_TARGETS,
};
static const char *const target_names[] = {"ls", "ls --proc", "show sem",
	"show msg", "show shm", "show mq", "waits", "tasks", "locks", "events",
	"get", "metrics", "top", "registries", "save", "check", "gc -n", "set",
	"lease msg", "lease mq", "locks --on", "gc", "rm --all", "over",
	"destroy", "mount", "client", "restore"};

enum outcome {
	O_FINE,
	O_ERROR,
	O_CAUGHT, /* an error, but of the last resort: a handler of SIGSEGV */
	O_CRASH,
	O_RUNS,
	O_WAITS,
	O_GROWS,
	N_OUTCOMES,
};
static const char *const outcome_names[] = {
	"fine", "error", "caught", "crash", "runs", "waits", "grows"};

static struct shared {
	unsigned long n[N_TARGETS][N_OUTCOMES];
	unsigned long rounds, shown, next;
} * shared;

static const char *shim, *tool, *mounter, *tests;
static char work[NAME_CAP / 2];
static const char *keep, *only = "";
static uint64_t seed = 1, count;
static double end_ms;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "registries: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- the clean registry ---- */

static struct places places;
static char *save_bytes, clean_save[NAME_CAP];
static size_t save_len;

static void clean_make(void)
{
	char path[NAME_CAP];
	char *base;

	snprintf(path, sizeof(path), "%s/clean", work);
	filled_make(path, shim, tests);
	base = filled_map(path);
	places_scan(&places, base);
	munmap(base, REGION_SIZE);
}

/* ---- running ---- */

/* Time that a process has run, in ticks, or -1. */
static long cpu_ticks(pid_t pid)
{
	char path[64], buf[1024], *p;
	long u = -1, s = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	buf[n] = 0;
	p = strrchr(buf, ')');
	if (!p || sscanf(p,
			  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld "
			  "%ld",
			  &u, &s) != 2)
		return -1;
	return u + s;
}

/* What the last process that was waited for had in memory, bytes at most. */
static long long memory_most;

/* How long a process has stood ready to run while others ran, ms; 0 where the
 * kernel does not count that. */
static double queued_ms(pid_t pid)
{
	unsigned long long delay = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%*u %llu", &delay) != 1)
		delay = 0;
	fclose(f);
	return delay / 1e6;
}

/* Of a child of ours: its status, or -1 after so many seconds in which it ran or
 * slept. What it, and server, 0 or the process that it asks, stood in the queue
 * of a busy machine does not count. */
static int wait_until(pid_t pid, pid_t server, double seconds)
{
	double start = now_ms(), before = server ? queued_ms(server) : 0;
	long nap = 200000;
	struct rusage used;
	int status;

	for (;;) {
		double queued = queued_ms(pid);

		if (server)
			queued += queued_ms(server) - before;
		if (wait4(pid, &status, WNOHANG, &used) == pid) {
			memory_most = used.ru_maxrss * 1024LL;
			return status;
		}
		if (now_ms() - start - queued > seconds * 1e3)
			return -1;
		nanosleep(&(struct timespec){0, nap}, NULL);
		if (nap < 20000000)
			nap += nap / 4;
	}
}

static enum outcome judge_late(pid_t pid)
{
	long before = cpu_ticks(pid);

	usleep(300000);
	return cpu_ticks(pid) - before > 5 ? O_RUNS : O_WAITS;
}

static long long blocks_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_blocks * 512LL;
}

static enum outcome judge(int status, const char *err)
{
	struct stat st;
	char text[4096];
	ssize_t n = 0;
	int fd;

	if (WIFSIGNALED(status))
		return O_CRASH;
	if (!WEXITSTATUS(status))
		return O_FINE;
	fd = stat(err, &st) || !st.st_size ? -1
					   : open(err, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	if (strstr(text, "AddressSanitizer") || strstr(text, "runtime error:"))
		return O_CRASH;
	return strstr(text, "(address ") ? O_CAUGHT : O_ERROR;
}

/* argv[0] is a path; registry and preload may be NULL. */
static enum outcome run(char *const *argv, const char *registry,
	const char *preload, const char *err)
{
	enum outcome o;
	int status;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR);
		int fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		dup2(null, 0);
		dup2(null, 1);
		dup2(fd, 2);
		if (registry)
			setenv("IPCLIFT_REGISTRY", registry, 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execv(argv[0], argv);
		_exit(127);
	}
	status = wait_until(pid, 0, DEADLINE);
	if (status < 0) {
		o = judge_late(pid);
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return o;
	}
	/* Children that it left. */
	kill(-pid, SIGKILL);
	return judge(status, err);
}

/* ---- damage ---- */

static struct damage damages[4];
static int n_damages;
static int shape = N_SHAPES; /* none; else in place of damages */
static char save_damage[160];

/* A copy with the damage of this round's seed. */
static void damaged_copy(const char *path, uint64_t round)
{
	struct rng r = {(seed + round) * 0x9e3779b97f4a7c15ULL | 1};
	char *base;
	int i;

	for (i = 0; i < 8; i++)
		rng_next(&r);
	filled_put(path);
	base = filled_map(path);
	if (shape < N_SHAPES) {
		shape_make(base, (enum shape)shape);
		munmap(base, REGION_SIZE);
		return;
	}
	n_damages = rng_below(&r, 2) ? 1 : 1 + (int)rng_below(&r, 4);
	for (i = 0; i < n_damages; i++)
		damage_one(&places, base, &r, &damages[i]);
	munmap(base, REGION_SIZE);
}

/* Has the file grown by more than it may, or the process that looked? */
static int has_grown(const char *path, long long before, long long by)
{
	return blocks_of(path) - before > by ||
	       memory_most > 2 * before + by + MEMORY;
}

static void note(enum target t, enum outcome o, uint64_t round)
{
	int i;

	__atomic_add_fetch(&shared->n[t][o], 1, __ATOMIC_RELAXED);
	if (o < O_CAUGHT || __atomic_add_fetch(&shared->shown, 1,
				    __ATOMIC_RELAXED) > FAULTS_SHOWN)
		return;
	printf("seed %llu: %s %s:", (unsigned long long)(seed + round),
		target_names[t], outcome_names[o]);
	if (shape < N_SHAPES)
		printf(" all in use: %s", shape_names[shape]);
	else if (t == T_RESTORE)
		printf(" %s", save_damage);
	for (i = 0; t != T_RESTORE && i < n_damages; i++)
		printf(" %s at %#llx %#llx -> %#llx", damages[i].field->name,
			(unsigned long long)damages[i].off,
			(unsigned long long)damages[i].old,
			(unsigned long long)damages[i].new);
	putchar('\n');
	fflush(stdout);
}

/* ---- targets ---- */

/* Of every third the owner is another user: root then looks at a copy, and
 * changes it with that user's ids. */
static void give_away(const char *path, uint64_t round)
{
	if (round % 3 == 2 && !geteuid() && chown(path, NOBODY, NOBODY))
		die(path);
}

/* `registries` looks in /dev/shm itself only. */
static void show_registries(const char *path, char *link_name)
{
	snprintf(link_name, NAME_CAP, "/dev/shm/fuzz-%d", (int)getpid());
	if (link(path, link_name))
		*link_name = 0;
}

static void run_commands(const char *path, uint64_t round)
{
	char link_name[NAME_CAP];
	char saved[NAME_CAP], err[NAME_CAP];
	char *const words[N_COMMANDS][8] = {
		[T_LS] = {"ls", "--json"},
		[T_LS_PROC] = {"ls", "--proc", "sem"},
		[T_SHOW_SEM] = {"show", "sem", round % 2 ? "1" : "2"},
		[T_SHOW_MSG] = {"show", "--json", "msg", round % 2 ? "0" : "2"},
		[T_SHOW_SHM] = {"show", "shm", round % 2 ? "0" : "1"},
		[T_SHOW_MQ] = {"show", "mq", round % 2 ? "/many" : "/large"},
		[T_WAITS] = {"waits"},
		[T_TASKS] = {"tasks", "--json"},
		[T_LOCKS] = {"locks"},
		[T_EVENTS] = {"events"},
		[T_GET] = {"get"},
		[T_METRICS] = {"metrics"},
		[T_TOP] = {"top", "--once", "--interval", "0.1"},
		[T_REGISTRIES] = {"registries", "--json"},
		[T_SAVE] = {"save", saved},
		[T_CHECK] = {"check"},
		[T_GC] = {"gc", "-n"},
		[T_SET] = {"set", "msgmax=9000"},
		[T_LEASE_MSG] = {"set", "lease:msg/0=on"},
		[T_LEASE_MQ] = {"set", "lease:mq/leased=off"},
		[T_LOCKS_ON] = {"locks", "--on"},
		[T_GC_FORCE] = {"gc", "--force"},
		[T_RM] = {"rm", "--all"},
		[T_RESTORE_OVER] = {"restore", "--force", clean_save},
		[T_DESTROY] = {"destroy", "--force", (char *)path},
	};
	char *argv[12];
	long long before;
	enum outcome o;
	int t, i;

	snprintf(saved, sizeof(saved), "%s.save", path);
	snprintf(err, sizeof(err), "%s.err", path);
	give_away(path, round);
	for (t = 0; t < N_COMMANDS; t++) {
		argv[0] = (char *)tool;
		for (i = 0; words[t][i]; i++)
			argv[i + 1] = words[t][i];
		argv[i + 1] = NULL;
		before = blocks_of(path);
		if (t == T_REGISTRIES)
			show_registries(path, link_name);
		o = run(argv, path, NULL, err);
		if (t == T_REGISTRIES)
			unlink(link_name);
		if (o < O_CAUGHT && has_grown(path, before, GROWTH))
			o = O_GROWS;
		note((enum target)t, o, round);
		/* A hang or growth once is enough. */
		if (o >= O_RUNS) {
			damaged_copy(path, round);
			give_away(path, round);
		}
	}
	unlink(saved);
	unlink(err);
}

static void run_client(const char *path, uint64_t round)
{
	char program[NAME_CAP], err[NAME_CAP];
	char *argv[] = {program, NULL};
	long long before = blocks_of(path);
	enum outcome o;

	snprintf(program, sizeof(program), "%s/fuzz/client", tests);
	snprintf(err, sizeof(err), "%s.err", path);
	/* Every other one leases what it receives. */
	if (round % 2)
		setenv("IPCLIFT_LEASE", "msg,mq", 1);
	o = run(argv, path, shim, err);
	unsetenv("IPCLIFT_LEASE");
	if (o < O_CAUGHT && has_grown(path, before, 2 * GROWTH))
		o = O_GROWS;
	note(T_CLIENT, o, round);
	unlink(err);
}

/* Every file below a directory, whatever is said. */
static void read_all(const char *dir, int depth)
{
	static char buf[1 << 16];
	char path[NAME_CAP];
	struct dirent *e;
	DIR *d = opendir(dir);
	ssize_t n;
	int fd, i;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (e->d_type == DT_DIR && depth < 5) {
			read_all(path, depth + 1);
			continue;
		}
		fd = open(path, O_RDONLY | O_NONBLOCK);
		for (i = 0; fd >= 0 && i < 64; i++) {
			n = read(fd, buf, sizeof(buf));
			/* A queue tells the same again and again. */
			if (n <= 0 || n < 128)
				break;
		}
		close(fd);
	}
	if (d)
		closedir(d);
}

static void run_mount(const char *path, uint64_t round)
{
	char dir[NAME_CAP], err[NAME_CAP];
	char *argv[] = {(char *)mounter, (char *)path, dir, "-f", NULL};
	enum outcome o = O_FINE;
	struct stat before, st;
	pid_t daemon, reader;
	double deadline;
	int status = 0;
	long long grown = blocks_of(path);

	snprintf(dir, sizeof(dir), "%s.mnt", path);
	snprintf(err, sizeof(err), "%s.err", path);
	if (mkdir(dir, 0700) || stat(dir, &before))
		die(dir);
	daemon = fork();
	if (!daemon) {
		int fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(fd, 2);
		execv(argv[0], argv);
		_exit(127);
	}
	deadline = now_ms() + DEADLINE * 1e3;
	while (waitpid(daemon, &status, WNOHANG) == 0 &&
		(stat(dir, &st) || st.st_dev == before.st_dev)) {
		if (now_ms() - queued_ms(daemon) > deadline)
			break;
		usleep(2000);
	}
	if (kill(daemon, 0)) {
		/* Refused, or dead already. */
		note(T_MOUNT, judge(status, err), round);
		rmdir(dir);
		unlink(err);
		return;
	}
	reader = fork();
	if (!reader) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		read_all(dir, 0);
		_exit(0);
	}
	/* Several seconds, where many files wait for a lock. */
	if (wait_until(reader, daemon, 4 * DEADLINE) < 0)
		o = judge_late(daemon);
	if (waitpid(daemon, &status, WNOHANG) == daemon) {
		o = judge(status, err);
	} else {
		kill(daemon, o >= O_RUNS ? SIGKILL : SIGTERM);
		kill(reader, SIGKILL);
		status = wait_until(daemon, 0, DEADLINE);
		if (status < 0) {
			o = o ? o : O_WAITS;
			kill(daemon, SIGKILL);
			waitpid(daemon, NULL, 0);
		} else if (!o) {
			o = judge(status, err);
		}
	}
	umount2(dir, MNT_DETACH);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	if (o < O_CAUGHT && has_grown(path, grown, 2 * GROWTH))
		o = O_GROWS;
	note(T_MOUNT, o, round);
	rmdir(dir);
	unlink(err);
}

/* ---- save files ---- */

static void save_make(void)
{
	char *path = clean_save, err[NAME_CAP], clean[NAME_CAP];
	char *argv[] = {(char *)tool, "save", path, NULL};
	struct stat st;
	int fd;

	snprintf(path, NAME_CAP, "%s/clean.save", work);
	snprintf(err, sizeof(err), "%s/clean.err", work);
	snprintf(clean, sizeof(clean), "%s/clean", work);
	if (run(argv, clean, NULL, err) != O_FINE)
		die("save of the clean registry");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		die(path);
	save_len = (size_t)st.st_size;
	save_bytes = malloc(save_len);
	if (read(fd, save_bytes, save_len) != (ssize_t)save_len)
		die(path);
	close(fd);
	unlink(err);
	unlink(clean);
}

static void run_restore(const char *path, uint64_t round)
{
	struct rng r = {(seed + round) * 0xd1342543de82ef95ULL | 1};
	char file[NAME_CAP], err[NAME_CAP];
	char *argv[] = {(char *)tool, "restore", file, NULL};
	char *bytes = malloc(save_len);
	size_t len = save_len, at = 0;
	enum outcome o;
	int fd, i;

	for (i = 0; i < 8; i++)
		rng_next(&r);
	memcpy(bytes, save_bytes, len);
	for (i = (int)rng_below(&r, 3); i >= 0; i--)
		at = savefile_damage(&r, bytes, len);
	if (!rng_below(&r, 10))
		len = rng_below(&r, len) & ~7ULL;
	if (rng_below(&r, 20))
		savefile_sum(bytes, len);
	snprintf(save_damage, sizeof(save_damage), "last change at %zu", at);
	snprintf(file, sizeof(file), "%s.save", path);
	snprintf(err, sizeof(err), "%s.err", path);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		die(file);
	close(fd);
	free(bytes);
	unlink(path);
	o = run(argv, path, NULL, err);
	if (o < O_CAUGHT && blocks_of(path) > GROWTH)
		o = O_GROWS;
	note(T_RESTORE, o, round);
	unlink(file);
	unlink(err);
}

/* ---- all ---- */

static int wanted(const char *what)
{
	return !*only || !strcmp(only, what);
}

static void remove_registry(const char *path)
{
	char dir[NAME_CAP], name[NAME_CAP + 300];
	struct dirent *e;
	DIR *d;

	unlink(path);
	snprintf(dir, sizeof(dir), "%s.mq", path);
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		snprintf(name, sizeof(name), "%s/%s", dir, e->d_name);
		unlink(name);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

static void one_round(uint64_t round, int job)
{
	char path[NAME_CAP];

	snprintf(path, sizeof(path), "%s/job-%d", work, job);
	if (wanted("command")) {
		damaged_copy(path, round);
		run_commands(path, round);
		remove_registry(path);
	}
	if (wanted("client")) {
		damaged_copy(path, round);
		run_client(path, round);
		remove_registry(path);
	}
	if (wanted("mount") && mounter && (*only || round % 4 == 0)) {
		damaged_copy(path, round);
		run_mount(path, round);
		remove_registry(path);
	}
	if (wanted("save")) {
		run_restore(path, round);
		remove_registry(path);
	}
	if (keep) {
		snprintf(path, sizeof(path), "%s/damaged", keep);
		damaged_copy(path, round);
	}
}

/* Root's own, and another user's (give_away). */
static void all_shapes(int job, int jobs)
{
	char path[NAME_CAP];
	uint64_t whose;

	snprintf(path, sizeof(path), "%s/job-%d", work, job);
	for (shape = job; shape < N_SHAPES; shape += jobs) {
		for (whose = 0; whose < 3; whose += 2) {
			damaged_copy(path, whose);
			run_commands(path, whose);
			remove_registry(path);
		}
		damaged_copy(path, 0);
		run_client(path, 0);
		remove_registry(path);
		damaged_copy(path, 0);
		if (mounter)
			run_mount(path, 0);
		remove_registry(path);
	}
	shape = N_SHAPES;
}

static void worker(int job, int jobs)
{
	uint64_t round;

	if (wanted("shape"))
		all_shapes(job, jobs);
	while (strcmp(only, "shape") != 0) {
		round = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
		if (count ? round >= count : now_ms() > end_ms)
			return;
		one_round(round, job);
		__atomic_add_fetch(&shared->rounds, 1, __ATOMIC_RELAXED);
	}
}

static int print_table(void)
{
	unsigned long faults = 0, sum;
	int t, o;

	printf("%lu registries from seed %llu\n%-10s %8s", shared->rounds,
		(unsigned long long)seed, "target", "runs");
	for (o = 0; o < N_OUTCOMES; o++)
		printf(" %7s", outcome_names[o]);
	putchar('\n');
	for (t = 0; t < N_TARGETS; t++) {
		for (o = 0, sum = 0; o < N_OUTCOMES; o++)
			sum += shared->n[t][o];
		if (!sum)
			continue;
		printf("%-10s %8lu", target_names[t], sum);
		for (o = 0; o < N_OUTCOMES; o++)
			printf(" %7lu", shared->n[t][o]);
		putchar('\n');
		for (o = O_CAUGHT; o < N_OUTCOMES; o++)
			faults += shared->n[t][o];
	}
	printf("%lu faults\n", faults);
	return faults != 0;
}

static int remove_one(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static const char *need(const char *name)
{
	const char *v = getenv(name);

	if (!v || !*v) {
		fprintf(stderr, "registries: %s is not set\n", name);
		exit(2);
	}
	return v;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("IPCLIFT_TEST_DIR");
	int jobs = 2, seconds = 20, i, status, bad;

	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seconds"))
			seconds = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--count"))
			count = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--jobs"))
			jobs = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--only"))
			only = argv[i + 1];
		else if (!strcmp(argv[i], "--keep"))
			keep = argv[i + 1];
	}
	shim = need("IPCLIFT_SHIM");
	tool = need("IPCLIFT_TOOL");
	tests = need("IPCLIFT_TESTS");
	mounter = access("/dev/fuse", R_OK) ? NULL : getenv("IPCLIFT_FUSE");
	unsetenv("LD_PRELOAD");
	setlinebuf(stdout);
	snprintf(work, sizeof(work), "%s/registries.XXXXXX",
		dir ? dir : "/dev/shm");
	if (!mkdtemp(work) || chmod(work, 01777))
		die(work);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	clean_make();
	save_make();
	end_ms = now_ms() + seconds * 1e3;
	for (i = 0; i < jobs; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			worker(i, jobs);
			exit(0);
		}
	while (wait(&status) > 0)
		if (status)
			fprintf(stderr, "registries: a worker ended early\n");
	bad = print_table();
	nftw(work, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return bad;
}
