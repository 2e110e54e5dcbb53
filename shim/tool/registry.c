// SPDX-License-Identifier: MIT
/*
 * Finding and mapping the registry of a command; see registry.h.
 */
#include "registry/ipcns.h"
#include "tool/registry.h"
#include "inspect/text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index/ids.h"
#include "object/perm.h"
#include "object/sleep.h"
#include "registry/lock.h"
#include "registry/region/regionhome.h"
#include "shm/shmmap.h"
#include "tool/home.h"

static const char *option_registry, *option_name;
int registry_as_root;

/* How long a lock is waited for, by commands that read and that change
 * something. Arbitrary: a lock is held for less than a microsecond. */
#define PATIENCE_LOOK_NS 1000000000ULL
#define PATIENCE_NS 10000000000ULL

/* Set by a command that has changed the terminal's mode. */
void (*registry_on_fault)(void);
__thread sigjmp_buf *registry_fault_to;

static struct caller caller;
static const char *open_path = "the registry";

const struct option_spec registry_options[] = {
	{"registry", 0, "PATH", &option_registry, "use this registry"},
	{"name", 0, "NAME", &option_name,
		"or at this named one, OWNER/NAME if another user's\n"
		"(default: IPCLIFT_REGISTRY, else\n"
		"/dev/shm/ipclift-<uid>/default)"},
	{"as-root", 0, NULL, &registry_as_root,
		"root: change another user's registry as root, not as\n"
		"that user"},
	{0},
};

int registry_is_named(void)
{
	return option_registry || option_name;
}

const char *registry_option(const char **ret)
{
	*ret = option_name ? option_name : option_registry;
	return option_name ? "--name" : option_registry ? "--registry" : NULL;
}

int registry_is_home(void)
{
	const char *env = getenv("IPCLIFT_REGISTRY");

	return option_name || (!option_registry && !(env && *env));
}

/* The registry of our IPC namespace, as for any program. */
static const char *of_namespace(const char *path)
{
	static char own[4096 + 32];
	u64 ns, number;
	int err = ipcns_of_thread(path, &ns, &number);

	if (err == -EACCES && !access(path, F_OK)) {
		fprintf(stderr,
			"ipclift: %s.ns: whether this IPC namespace has a "
			"registry of its own cannot be seen: %s\n",
			path, strerror(-err));
		return NULL;
	}
	if (err || !ns)
		return path;
	ipcns_path(path, ns, own);
	return own;
}

const char *registry_path(void)
{
	static char path[4096];
	const char *fault;

	if (option_registry && option_name) {
		usage_error("--registry and --name exclude each other");
		return NULL;
	}
	if (option_registry && !*option_registry) {
		usage_error("--registry: the path is empty");
		return NULL;
	}
	fault = option_name ? home_name_path(option_name, path) : NULL;
	if (fault) {
		usage_error("--name: '%.80s' %s", option_name, fault);
		return NULL;
	}
	if (!registry_is_home())
		snprintf(path, sizeof(path), "%s",
			option_registry ? option_registry
					: getenv("IPCLIFT_REGISTRY"));
	else if (!option_name)
		home_name_path("default", path);
	return of_namespace(path);
}

int registry_map(struct region *region, const char *path, char *why, size_t cap)
{
	const struct region_options existing = {
		.must_exist = 1, .any_owner = registry_as_root};

	return region_map(region, path, &existing, why, cap);
}

/* ---- what else may happen ---- */

/* The lock's name. */
static const char *lock_text(const struct region *r, const struct lock *lock)
{
	static char text[64];
	u64 off = region_off(r, lock);
	u32 f = N_FAC;

	if (off >= THREADS_OFF)
		while (f-- > 0 && off < SLOTS_OFF((u64)f))
			;
	if (off < TASKS_OFF)
		return "a lock of the registry";
	if (off < THREADS_OFF)
		snprintf(text, sizeof(text), "the lock of task %u",
			(unsigned)((off - TASKS_OFF) / sizeof(struct task)));
	else
		snprintf(text, sizeof(text), "%s #%u", facility_names[f],
			(unsigned)region_slot_idx(
				r, f, (const struct slot *)(const void *)lock));
	return text;
}

/* Locks that we hold are taken over by others, as from any program that
 * exits. */
static void stuck(struct caller *c, struct lock *lock, u32 owner)
{
	failure("%s: %s has been locked by thread %u (%s) for %u s; the "
		"command gives up",
		open_path, lock_text(&c->region, lock), owner,
		process_name(owner), (unsigned)(c->patience_ns / 1000000000));
	exit(EXIT_FAILED);
}

/* The file was truncated while mapped, or is damaged in an unforeseen way: exit
 * with a message. Other faults are our own. */
static void on_fault(int signo, siginfo_t *si, void *context)
{
	uintptr_t base = (uintptr_t)caller.region.base;
	uintptr_t at = (uintptr_t)si->si_addr;
	char line[512];
	int n;

	(void)context;
	if (!base || at - base >= REGION_SIZE) {
		signal(signo, SIG_DFL);
		return;
	}
	if (registry_fault_to)
		siglongjmp(*registry_fault_to, 1);
	if (registry_on_fault)
		registry_on_fault();
	n = snprintf(line, sizeof(line),
		"ipclift: %.300s: %s (address %#llx)\n", open_path,
		signo == SIGBUS ? "it was truncated while it was looked at, or "
				  "its file system is full"
				: "it is damaged",
		(unsigned long long)(at - base));
	if (n > 0 && write(2, line, (size_t)n) < 0)
		_exit(EXIT_FAILED);
	_exit(EXIT_FAILED);
}

/* Keep a descriptor of the mapped file, to find its holes, as long as the
 * command runs. */
static void know_holes(const char *path)
{
	static struct holes holes = {.fd = -1};
	struct stat st;

	caller.region.holes = NULL;
	if (holes.fd >= 0)
		close(holes.fd);
	holes = (struct holes){
		.fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
					 O_CLOEXEC)};
	if (holes.fd >= 0 && !fstat(holes.fd, &st) && registry_is_file(&st))
		caller.region.holes = &holes;
}

static struct caller *begin(const char *path, u64 patience_ns)
{
	static struct cred cred = {.euid = ~0u};
	/* The removal of a segment maps its pages for a moment. */
	static struct shm_process shm;
	struct sigaction sa = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	open_path = path;
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	caller.cred = &cred;
	caller.shm = &shm;
	caller.generation = 1;
	caller.stuck = stuck;
	caller.patience_ns = patience_ns;
	know_holes(path);
	/* We may wake, too, and be killed. */
	caller_unmarked = sleep_need_timers;
	caller_refresh(&caller);
	return &caller;
}

/* ---- opening ---- */

void registry_tell_refused(int err, const char *why, int must_exist)
{
	char hint[300] = "";

	if (err == -ENOENT && must_exist)
		home_hint(hint, sizeof(hint));
	failure("%s%s", why, hint);
}

struct caller *registry_open_path(
	const char *path, const struct region_options *options)
{
	struct region_options made;
	char why[512];
	int err;

	if (options) {
		made = *options;
		made.any_owner = registry_as_root;
		err = region_map(&caller.region, path, &made, why, sizeof(why));
	} else {
		err = registry_map(&caller.region, path, why, sizeof(why));
	}
	if (err) {
		registry_tell_refused(err, why, !options);
		return NULL;
	}
	return begin(path, PATIENCE_NS);
}

/* Its file, if it is one: 0 with *ret. */
static int file_of(const char *path, struct stat *ret)
{
	return lstat(path, ret) || !S_ISREG(ret->st_mode) ? -1 : 0;
}

int registry_limits_fault(const char *whence, const char *limits)
{
	if (!limits || !strcmp(limits, "kernel") || !strcmp(limits, "roomy"))
		return 0;
	return usage_error(
		"%s: '%s' is neither kernel nor roomy", whence, limits);
}

int registry_ids_fault(const char *whence, const char *ids)
{
	if (!ids || !strcmp(ids, "normal") || !strcmp(ids, "extended"))
		return 0;
	return usage_error(
		"%s: '%s' is neither normal nor extended", whence, ids);
}

int registry_new_fault(const char *limits, const char *ids)
{
	int err = registry_limits_fault("--limits", limits);

	return err ? err : registry_ids_fault("--ids", ids);
}

int registry_become(const struct stat *st)
{
	if (registry_as_root || geteuid() || !st->st_uid)
		return 0;
	if (setgroups(0, NULL) ||
		setresgid(st->st_gid, st->st_gid, st->st_gid) ||
		setresuid(st->st_uid, st->st_uid, st->st_uid))
		return failure("cannot become user %u, whose registry it is: "
			       "%s (--as-root)",
			(unsigned)st->st_uid, strerror(errno));
	return 0;
}

int registry_may_change(const char *path)
{
	char dir[REGIONHOME_CAP];
	struct stat st;

	/* With the rights of the file's owner the library would check no
	 * more. */
	if (!regionhome_is_owners(path, dir)) {
		failure("%s: %s is not its owner's alone", path, dir);
		return 0;
	}
	return file_of(path, &st) || !registry_become(&st);
}

int registry_is_file(const struct stat *st)
{
	return caller.region.dev == st->st_dev &&
	       caller.region.ino == st->st_ino;
}

struct caller *registry_open(int *ret)
{
	const char *path = registry_path();
	struct caller *c = NULL;

	*ret = path ? EXIT_FAILED : EXIT_USAGE;
	if (path && registry_may_change(path))
		c = registry_open_path(path, NULL);
	if (c)
		*ret = EXIT_OK;
	return c;
}

static void unmap(void)
{
	if (caller.region.base)
		munmap(caller.region.base, REGION_SIZE);
	caller.region.base = NULL;
}

int registry_copy_again(void)
{
	char why[512];

	unmap();
	if (!region_copy(&caller.region, open_path, why, sizeof(why))) {
		know_holes(open_path);
		caller_refresh(&caller);
		return 0;
	}
	return failure("%s", why);
}

struct caller *registry_open_read_only(int *ret)
{
	const char *path = registry_path();
	struct caller *c;
	struct stat st;
	char why[512];
	int err;

	*ret = path ? EXIT_FAILED : EXIT_USAGE;
	if (!path)
		return NULL;
	if (file_of(path, &st) || st.st_uid == geteuid()) {
		c = registry_open_path(path, NULL);
		if (c)
			c->patience_ns = PATIENCE_LOOK_NS;
	} else if ((err = region_copy(
			    &caller.region, path, why, sizeof(why)))) {
		registry_tell_refused(err, why, 1);
		c = NULL;
	} else {
		c = begin(path, PATIENCE_LOOK_NS);
		c->detached = 1;
	}
	if (c)
		*ret = EXIT_OK;
	return c;
}

/* Of the file at path itself: 0, or EXIT_FAILED after a message. */
static int map_glance(const char *path)
{
	struct region region = {0};
	char why[512];
	int err = region_map_glance(&region, path, why, sizeof(why));

	if (err) {
		registry_tell_refused(err, why, 1);
		return EXIT_FAILED;
	}
	unmap();
	caller.region = region;
	begin(path, PATIENCE_LOOK_NS);
	return EXIT_OK;
}

struct caller *registry_glance(int *ret)
{
	const char *path = registry_path();

	*ret = path ? EXIT_FAILED : EXIT_USAGE;
	if (path)
		*ret = map_glance(path);
	return *ret ? NULL : &caller;
}

int registry_glance_still(void)
{
	struct stat st;

	return !stat(open_path, &st) && st.st_ino == caller.region.ino &&
	       (u64)st.st_size >= REGION_SIZE;
}

int registry_glance_again(void)
{
	return registry_glance_still() ? EXIT_OK : map_glance(open_path);
}

int parse_age(const char *option, const char *text, long long *ret)
{
	static const struct {
		char letter;
		long long seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	unsigned long long n;
	char *end;
	size_t i;

	errno = 0;
	n = strtoull(text, &end, 10);
	for (i = 0; i < 4 && *end != units[i].letter; i++)
		;
	/* At most so much that no time is before 1970. */
	if (*text < '0' || *text > '9' || errno || n > 10000000 ||
		(*end && (i == 4 || end[1])))
		return usage_error(
			"%s: '%s' is no time such as 90s, 10m, 1h or "
			"2d",
			option, text);
	*ret = (long long)n * (*end ? units[i].seconds : 1);
	return 0;
}

int parse_number(const char *text, long long min, unsigned long long max,
	unsigned long long *ret)
{
	const char *digits = text + (*text == '-');
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(digits, &end, 0);
	if (*digits < '0' || *digits > '9' || *end || errno)
		return -1;
	if (*text == '-') {
		if (min >= 0 || v > -(unsigned long long)min)
			return -1;
		v = -v;
	} else if (v > max || (min > 0 && v < (unsigned long long)min)) {
		return -1;
	}
	*ret = v;
	return 0;
}

const char *process_name(unsigned pid)
{
	static char name[PROCESS_NAME_CAP];

	process_name_read(pid, name);
	return name;
}

int process_alive(unsigned pid)
{
	return !kill((pid_t)pid, 0) || errno != ESRCH;
}
