// SPDX-License-Identifier: MIT
/*
 * The command; --help says how it is used. It needs a pid namespace of its own,
 * in which it is the first process and chooses the others' numbers: root, or a
 * user namespace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "explore.h"

static const char help[] =
	"usage: explore [OPTION...] [SCENARIO...]\n"
	"\n"
	"Runs each scenario (all, or those whose name contains one of the "
	"arguments) under\n"
	"all schedules within the bounds, cheapest first, and prints a line "
	"for "
	"each.\n"
	"\n"
	"  --list            names and actors, no run\n"
	"  --preemptions N   bound; 2\n"
	"  --kills N         bound; 2\n"
	"  --stops N         of a process (SIGSTOP), in the midst of a stretch "
	"a preemption,\n"
	"                    too; 1 where the scenario is about that, else 0\n"
	"  --seconds N       for each scenario; 0 = until all is done; 3\n"
	"  --total N         in all: --seconds is so chosen\n"
	"  --random SEED     no bounds: random schedules for --seconds\n"
	"  --jobs N          scenarios at a time; as many as there are CPUs\n"
	"  --keep-going      do not end a scenario at its first fault\n"
	"  --scenario NAME   exactly this one\n"
	"  --replay TEXT     with --scenario: this schedule alone, told step "
	"by "
	"step\n"
	"\n"
	"A schedule's text, e.g. A12.kA.B3.A: A passes 12 points, kA: is "
	"killed; sX: a\n"
	"signal comes to X; tX: X is stopped, tXn: for n timeouts at least, "
	"cX: is\n"
	"continued and goes on; all of it in explore.h. The exit status is 0 "
	"if nothing\n"
	"was found, 1 if something was, 2 if it could not run, 77 if it may "
	"not.\n";

static const struct scenario *const all[] = {
	sem_scenarios,
	msg_scenarios,
	mq_scenarios,
	shm_scenarios,
	key_scenarios,
	lease_scenarios,
	notify_scenarios,
	both_scenarios,
};
static const struct scenario *scenarios[512];
static u32 n_scenarios;

static struct bounds bounds = {2, 2, 0, 3, 0, 0, 0};
static char dir[64];

struct result {
	int done;
	struct found found;
};
static struct shared {
	u32 next;
	struct result results[512];
} * shared;

static int wanted(const char *name, const char *exact, char **names)
{
	if (exact)
		return !strcmp(name, exact);
	if (!*names)
		return 1;
	for (; *names; names++)
		if (strstr(name, *names))
			return 1;
	return 0;
}

static void choose_scenarios(const char *exact, char **names)
{
	u32 i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct scenario *s;

		for (s = all[i]; s->name; s++)
			if (wanted(s->name, exact, names))
				scenarios[n_scenarios++] = s;
	}
}

/* ---- namespaces ---- */

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static int own_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (!unshare(CLONE_NEWPID | CLONE_NEWNS))
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS))
		return -1;
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
	return 0;
}

/* On the n-th of the CPUs that we may use: the actors of one run take turns,
 * and a change of the CPU would only cost time. */
static void stay_on_one_cpu(u32 n)
{
	cpu_set_t may, one;
	int i;

	if (sched_getaffinity(0, sizeof(may), &may) || !CPU_COUNT(&may))
		return;
	n %= (u32)CPU_COUNT(&may);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may) && n-- == 0)
			break;
	CPU_ZERO(&one);
	CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* ---- reports ---- */

static void print_header(void)
{
	printf("%-28s %9s %8s %8s %8s %7s %5s  %s\n", "scenario", "schedules",
		"kills", "stops", "pruned", "seconds", "bound", "found");
}

static void print_result(const struct scenario *s, const struct found *f)
{
	char bound[16];
	u32 i, any = 0;

	if (bounds.seed)
		snprintf(bound, sizeof(bound), "rnd");
	else if (f->exhausted)
		snprintf(bound, sizeof(bound), "all");
	else
		snprintf(bound, sizeof(bound), "%u+", f->complete);
	printf("%-28s %9lu %8lu %8lu %8lu %7.1f %5s ", s->name,
		(unsigned long)f->runs, (unsigned long)f->deaths,
		(unsigned long)f->stops, (unsigned long)f->pruned, f->seconds,
		bound);
	for (i = ASLEEP; i < N_VERDICTS; i++)
		if (f->by_verdict[i]) {
			printf(" %u %s", f->by_verdict[i], verdict_names[i]);
			any = 1;
		}
	printf("%s", any ? "" : " -");
	if (f->diverged)
		printf("  (%lu not reproducible)", (unsigned long)f->diverged);
	printf("\n");
	if (f->first_text[0])
		printf("    explore --scenario %s --replay '%s'\n    %s\n",
			s->name, f->first, f->first_text);
	fflush(stdout);
}

static const char *const kind_names[] = {"read ", "write", "swap ", "list ",
	"sleep", "wake ", "barrier", "call ", "begin", "kernel"};

static void where(u64 off, char *buf, u32 cap)
{
	const struct region *r = &driver.region;

	if (off >= TASKS_OFF && off < THREADS_OFF)
		snprintf(buf, cap, "task %lu +%lu",
			(unsigned long)((off - TASKS_OFF) /
					sizeof(struct task)),
			(unsigned long)((off - TASKS_OFF) %
					sizeof(struct task)));
	else if (off >= THREADS_OFF && off < EVENTS_OFF) {
		u64 n = (off - THREADS_OFF) / THREAD_STRIDE;
		u64 in = (off - THREADS_OFF) % THREAD_STRIDE;
		struct thread *th = region_thread(r, (u32)n);
		const char *what = "";
		u64 w = offsetof(struct thread, waiter);
		u64 j = offsetof(struct thread, journal);

		if (in == w)
			what = " waiter.word";
		else if (in == w + offsetof(struct waiter, state))
			what = " waiter.state";
		else if (in == w + offsetof(struct waiter, alive))
			what = " waiter.alive";
		else if (in >= w && in < w + sizeof(struct waiter))
			what = " waiter";
		else if (in == j)
			what = " journal.n";
		else if (in == j + offsetof(struct journal, n_locks))
			what = " journal.n_locks";
		else if (in >= j && in < j + sizeof(struct journal))
			what = " journal";
		snprintf(buf, cap, "thread %lu (%c)%s +%lu", (unsigned long)n,
			th->tid >= 200 ? 'A' + (int)(th->tid - 200) : '-', what,
			(unsigned long)in);
	} else if (off >= SETS_OFF && off < HEAP_OFF) {
		u32 f;
		for (f = 0; f + 1 < N_FAC && off >= SLOTS_OFF((u64)f + 1); f++)
			;
		u64 in = (off - SLOTS_OFF((u64)f)) % SLOT_STRIDE(f);
		snprintf(buf, cap, "slot %lu of %u%s +%lu",
			(unsigned long)((off - SLOTS_OFF((u64)f)) /
					SLOT_STRIDE(f)),
			f,
			in == 0				     ? " lock.word"
			: in == 4			     ? " lock.journal"
			: in == offsetof(struct slot, bias)  ? " bias"
			: in == offsetof(struct slot, ident) ? " ident"
							     : "",
			(unsigned long)in);
	} else if (off >= HEAP_OFF)
		snprintf(
			buf, cap, "heap +%lx", (unsigned long)(off - HEAP_OFF));
	else
		snprintf(buf, cap, "header +%lu", (unsigned long)off);
}

static const char *what_it_does(const struct segment *g)
{
	if (g->killed)
		return g->stops ? "is stopped" : "dies";
	return g->resumed ? "is continued" : "goes on";
}

/* file:line of an address, by addr2line; the executable is not relocated. */
static void print_points(void)
{
	char name[4096], command[256];
	char **lines = calloc(MAX_POINTS, sizeof(*lines));
	u32 i, g = 0;
	FILE *in, *to;

	snprintf(name, sizeof(name), "%s/points", dir);
	to = fopen(name, "w");
	for (i = 0; to && i < ctl->n_points; i++)
		fprintf(to, "%lx\n", (long)ctl->points[i].pc - 1);
	if (to)
		fclose(to);
	snprintf(command, sizeof(command),
		"addr2line -s -f -e /proc/%d/exe <%s/points 2>/dev/null",
		getpid(), dir);
	in = popen(command, "r");
	for (i = 0; in && i < ctl->n_points; i++) {
		char fn[512] = "", line[512] = "";

		if (!fgets(fn, sizeof(fn), in) ||
			!fgets(line, sizeof(line), in))
			break;
		fn[strcspn(fn, "\n")] = 0;
		line[strcspn(line, "\n")] = 0;
		if (asprintf(&lines[i], "%s %s", fn, line) < 0)
			lines[i] = NULL;
	}
	if (in)
		pclose(in);
	unlink(name);
	for (i = 0; i <= ctl->n_points; i++) {
		const struct point *p = &ctl->points[i];
		char at[96] = "";
		static u32 count[MAX_ACTORS];

		while (g < run.n_segments && run.segments[g].from == i) {
			printf("-- %c %s%s\n", 'A' + run.segments[g].actor,
				what_it_does(&run.segments[g]),
				run.segments[g].by_default ? "" : " (asked)");
			memset(count, 0, sizeof(count));
			g++;
		}
		if (i == ctl->n_points)
			break;
		if (p->kind == POINT_CALL || p->kind == POINT_BEGIN)
			snprintf(at, sizeof(at), "%lu", (unsigned long)p->off);
		else if (p->kind == POINT_ROBUST)
			snprintf(at, sizeof(at), "%s",
				p->off == 16 ? "pending" : "head");
		else
			where(p->off, at, sizeof(at));
		printf("   %c %4u %s%u %-40s %s%s\n", 'A' + p->actor,
			count[p->actor]++, kind_names[p->kind], p->size, at,
			lines[i] ? lines[i] : "",
			p->buffered ? "  [stores kept back]" : "");
	}
}

static int replay(const char *text)
{
	struct schedule s;
	char done[512];

	if (n_scenarios != 1 || schedule_parse(text, &s)) {
		fprintf(stderr, "explore: --replay needs one --scenario and a "
				"schedule's text\n");
		return 2;
	}
	run_setup(scenarios[0]);
	run_schedule(&s, NULL);
	print_points();
	schedule_text(&run.done, done, sizeof(done));
	printf("%s: %s %s\n  whole: %s\n", scenarios[0]->name,
		verdict_names[run.verdict], run.text, done);
	return run.verdict > VOID;
}

/* ---- workers ---- */

static int work(u32 n, const char *text)
{
	u32 i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on_one_cpu(n);
	if (!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		mount("proc", "/proc", "proc", 0, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	explore_dir = dir;
	run_init();
	if (text) {
		int ret = replay(text);

		run_deinit();
		fflush(stdout);
		return ret;
	}
	while ((i = __atomic_fetch_add(&shared->next, 1, __ATOMIC_SEQ_CST)) <
		n_scenarios) {
		search(scenarios[i], &bounds, &shared->results[i].found);
		shared->results[i].done = 1;
		print_result(scenarios[i], &shared->results[i].found);
	}
	run_deinit();
	return 0;
}

/* However we are ended, the worker ends and its files go. */
static pid_t worker;
static void end_worker(int sig)
{
	(void)sig;
	if (worker > 0)
		kill(worker, SIGKILL);
}

static int remove_one(
	const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st, (void)what, (void)at;
	return remove(path) && 0;
}

static pid_t start_worker(u32 n, const char *text)
{
	int status = 0;
	pid_t pid;

	snprintf(dir, sizeof(dir), "/dev/shm/explore-%d-%u", getpid(), n);
	pid = fork();
	if (pid)
		return pid;
	signal(SIGTERM, end_worker);
	signal(SIGINT, end_worker);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (own_namespace()) {
		printf("no pid namespace: %s\n", strerror(errno));
		exit(77);
	}
	mkdir(dir, 0700);
	worker = fork();
	if (worker == 0)
		exit(work(n, text));
	while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
		;
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

static int workers(u32 jobs, const char *text)
{
	u32 i, bad = 0, found = 0;
	u64 runs = 0, deaths = 0, stops = 0;
	int status, ret = 0;
	double began = seconds_now();

	if (!text)
		print_header();
	fflush(stdout);
	for (i = 0; i < jobs; i++)
		start_worker(i, text);
	for (i = 0; i < jobs; i++) {
		wait(&status);
		if (WIFEXITED(status) && WEXITSTATUS(status) > ret)
			ret = WEXITSTATUS(status);
		if (!WIFEXITED(status))
			ret = 2;
	}
	if (text)
		return ret;
	for (i = 0; i < n_scenarios; i++) {
		const struct found *f = &shared->results[i].found;

		bad += !shared->results[i].done;
		found += f->first_text[0] != 0;
		runs += f->runs;
		deaths += f->deaths;
		stops += f->stops;
	}
	printf("%u scenarios, %lu schedules, %lu kills, %lu stops, %u with "
	       "faults, %.0f s\n",
		n_scenarios, (unsigned long)runs, (unsigned long)deaths,
		(unsigned long)stops, found, seconds_now() - began);
	if (ret)
		return ret;
	return bad ? 2 : found != 0;
}

static void list(void)
{
	u32 i, k;

	for (i = 0; i < n_scenarios; i++) {
		for (k = 0; scenarios[i]->actors[k].calls[0].op; k++)
			;
		printf("%-28s %u actors  %s\n", scenarios[i]->name, k,
			scenarios[i]->about ? scenarios[i]->about : "");
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"help", 0, NULL, 'h'},
		{"list", 0, NULL, 'l'}, {"preemptions", 1, NULL, 'p'},
		{"kills", 1, NULL, 'k'}, {"stops", 1, NULL, 'S'},
		{"seconds", 1, NULL, 's'}, {"random", 1, NULL, 'r'},
		{"jobs", 1, NULL, 'j'}, {"keep-going", 0, NULL, 'g'},
		{"scenario", 1, NULL, 'o'}, {"replay", 1, NULL, 'y'},
		{"total", 1, NULL, 't'}, {0}};
	const char *exact = NULL, *text = NULL;
	u32 jobs = (u32)sysconf(_SC_NPROCESSORS_ONLN);
	int opt, listing = 0;
	double total = 0;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'h':
			fputs(help, stdout);
			return 0;
		case 'l':
			listing = 1;
			break;
		case 'p':
			bounds.preemptions = (u32)atoi(optarg);
			break;
		case 'k':
			bounds.kills = (u32)atoi(optarg);
			break;
		case 'S':
			bounds.stops = (u32)atoi(optarg);
			break;
		case 's':
			bounds.seconds = atof(optarg);
			break;
		case 'r':
			bounds.seed = strtoull(optarg, NULL, 0);
			break;
		case 'j':
			jobs = (u32)atoi(optarg);
			break;
		case 'g':
			bounds.keep_going = 1;
			break;
		case 'o':
			exact = optarg;
			break;
		case 't':
			total = atof(optarg);
			break;
		case 'y':
			text = optarg;
			break;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	choose_scenarios(exact, argv + optind);
	if (!n_scenarios) {
		fprintf(stderr, "explore: no such scenario (see --list)\n");
		return 2;
	}
	if (listing) {
		list();
		return 0;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (jobs > n_scenarios || !jobs)
		jobs = n_scenarios;
	if (total > 0)
		bounds.seconds = total * jobs / n_scenarios;
	return workers(text ? 1 : jobs, text);
}
