// SPDX-License-Identifier: MIT
/*
 * ipclift run: create the registry, set the environment, then execute the
 * program.
 *
 * The registry is created here and not at the program's first call: a daemon
 * may have given up its user or its root by then. If it cannot be used the
 * command fails, for the program's calls would, too.
 *
 * Only --private needs a process that outlives the program, to remove the
 * registry (keeper.c). Otherwise there is no parent: the program has the pid,
 * the terminal, the signals and the exit status that it would have without us.
 */
#include "tool/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "base/sys.h"
#include "object/limits.h"
#include "object/route.h"
#include "registry/region/regionhome.h"
#include "tool/filter.h"
#include "tool/finding.h"
#include "tool/home.h"
#include "tool/keeper.h"
#include "tool/registry.h"

/* Our own failures, as of env(1) and timeout(1). */
#define EXIT_OURS 125
#define EXIT_NOT_RUN 126

static struct run_options {
	const char *registry, *name, *route, *limits, *ids;
	int private, strict;
} given;

static const struct option_spec options[] = {
	{"registry", 0, "PATH", &given.registry,
		"the file PATH, created if there is none"},
	{"name", 0, "NAME", &given.name,
		"/dev/shm/ipclift-<uid>/NAME, created if there is none;\n"
		"OWNER/NAME: another user's, by ipclift create"},
	{"private", 0, NULL, &given.private,
		"a new one, removed with every object in it\n"
		"when the last process that uses it ends"},
	{"route", 0, "LIST", &given.route,
		"the facilities served: of sem,msg,shm,mq, or\n"
		"those left to the kernel: -shm (default: all)"},
	{"limits", 0, "PROFILE", &given.limits,
		"for a registry that is created: kernel, the limits\n"
		"that the kernel has now; or roomy (default): limits\n"
		"that only make calls fail are lifted"},
	{"ids", 0, "MODE", &given.ids,
		"for a registry that is created: normal (default) or\n"
		"extended: at most 32,768 or 16,777,216 objects\n"
		"of a kind"},
	{"strict", 0, NULL, &given.strict,
		"refuse a CMD that would not be served (126); the\n"
		"kernel's own calls fail with ENOSYS, also for what\n"
		"CMD starts"},
	{0},
};

/* ---- the shim ---- */

/* Where the library is relative to the command, since the tree may have been
 * moved: in the build directory, and in an installed tree. */
static const char *const shim_places[] = {
	"../libipclift.so",
	IPCLIFT_TO_LIBDIR "/libipclift.so",
};

const char *run_find_shim(void)
{
	static const char installed[] = IPCLIFT_LIBDIR "/libipclift.so";
	static char real[PATH_MAX];
	char self[PATH_MAX], path[PATH_MAX + 128];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	self[n > 0 ? n : 0] = 0;
	if (n > 0)
		*strrchr(self, '/') = 0;
	for (i = 0; n > 0 && i < sizeof(shim_places) / sizeof(*shim_places);
		i++) {
		snprintf(path, sizeof(path), "%s/%s", self, shim_places[i]);
		if (realpath(path, real) && !access(real, R_OK))
			return real;
	}
	return access(installed, R_OK) ? NULL : installed;
}

static int names(const char *list, const char *shim)
{
	size_t n = strlen(shim);

	for (; *list; list += *list != 0) {
		if (!strncmp(list, shim, n) && strchr(": ", list[n]))
			return 1;
		list += strcspn(list, ": ");
	}
	return 0;
}

/* The shim comes after what is there already: a library that is preloaded for
 * calls of its own (fakeroot, a sanitizer) gets them first, as without us, and
 * its IPC calls reach the shim. */
static int set_preload(const char *shim)
{
	const char *old = getenv("LD_PRELOAD");
	char *value;
	int err;

	if (!old || !*old)
		return setenv("LD_PRELOAD", shim, 1);
	if (names(old, shim))
		return 0;
	if (asprintf(&value, "%s:%s", old, shim) < 0)
		return -1;
	err = setenv("LD_PRELOAD", value, 1);
	free(value);
	return err;
}

/* ---- options ---- */

/* The shim skips unknown words; here they are errors. */
static int check_route(const char *whence, const char *list)
{
	const char *p = list;
	size_t n;

	do {
		p += *p == '-';
		n = strcspn(p, ",");
		if (route_find(p, n) < 0)
			return usage_error(
				"%s: '%.*s' is none of sem, msg, shm, mq",
				whence, (int)n, p);
		p += n;
	} while (*p++);
	return 0;
}

/* NULL if an option sets it, or it is not set. */
static const char *variable_without(const char *option, const char *name)
{
	const char *value = option ? NULL : getenv(name);

	return value && *value ? value : NULL;
}

/* Check the variables that CMD gets from our environment like options. */
static int check_variables(const struct run_options *o)
{
	const char *route = variable_without(o->route, "IPCLIFT_ROUTE");
	int err;

	err = registry_limits_fault("IPCLIFT_LIMITS",
		variable_without(o->limits, "IPCLIFT_LIMITS"));
	if (!err)
		err = registry_ids_fault(
			"IPCLIFT_IDS", variable_without(o->ids, "IPCLIFT_IDS"));
	return err || !route ? err : check_route("IPCLIFT_ROUTE", route);
}

static int check_options(const struct run_options *o)
{
	char path[HOME_PATH_MAX];
	const char *fault;
	int err;

	if (!!o->registry + !!o->name + o->private > 1)
		return usage_error("--registry, --name and --private exclude "
				   "each other");
	if (o->registry && !*o->registry)
		return usage_error("--registry: the path is empty");
	fault = o->name ? home_name_path(o->name, path) : NULL;
	if (fault)
		return usage_error("--name: '%.80s' %s", o->name, fault);
	err = registry_new_fault(o->limits, o->ids);
	if (!err && o->route)
		err = check_route("--route", o->route);
	return err ? err : check_variables(o);
}

/* ---- the registry ---- */

/* The program may change its directory before its first call. */
static int set_registry_path(const char *path)
{
	char *full, *cwd;
	int err;

	if (*path == '/')
		return setenv("IPCLIFT_REGISTRY", path, 1);
	cwd = getcwd(NULL, 0);
	if (!cwd || asprintf(&full, "%s/%s", cwd, path) < 0) {
		free(cwd);
		return -1;
	}
	err = setenv("IPCLIFT_REGISTRY", full, 1);
	free(full);
	free(cwd);
	return err;
}

static int set_registry_name(const char *name)
{
	char path[HOME_PATH_MAX];

	home_name_path(name, path);
	return setenv("IPCLIFT_REGISTRY", path, 1);
}

/* Options for a new registry have no effect: report how the existing one
 * differs. */
static void tell_of_difference(const struct header *h, const char *path)
{
	const struct run_options *o = &given;
	const char *limits = h->profile == LIMITS_KERNEL ? "kernel" : "roomy";
	const char *ids =
		h->idx_bits == IDX_BITS_EXTENDED ? "extended" : "normal";

	if (o->limits && strcmp(o->limits, limits) != 0)
		failure("%s was made with --limits %s, and keeps them", path,
			limits);
	if (o->ids && strcmp(o->ids, ids) != 0)
		failure("%s was made with --ids %s, and keeps them", path, ids);
}

/* Make the directory of a path of ours, only check another user's. */
static int home_prepare(const char *path)
{
	char dir[HOME_PATH_MAX], name[HOME_PATH_MAX];
	int fd;

	if (!home_name_of(path, name))
		return 0;
	if (strchr(name, '/'))
		return regionhome_is_owners(path, dir)
			       ? 0
			       : failure("%s: is not its owner's alone", dir);
	fd = home_open(1, dir);
	if (fd >= 0)
		close(fd);
	if (fd == -EACCES)
		return failure("%s: not a directory of ours that only we may "
			       "write",
			dir);
	return fd < 0 ? failure("%s: cannot be made: %s", dir, strerror(-fd))
		      : 0;
}

/* Create the registry of IPCLIFT_REGISTRY, or the default one, if there is
 * none, with limits and ids as the program would; report differences if there
 * is one. 0, or -1 after a message: it cannot be used. */
static int run_make_registry(void)
{
	const char *env = getenv("IPCLIFT_REGISTRY");
	struct region_options options = {0};
	struct region region = {0};
	char path[PATH_MAX], name[HOME_PATH_MAX], why[512];
	int had, err;

	if (env && *env)
		snprintf(path, sizeof(path), "%s", env);
	else
		home_name_path("default", path);
	if (home_prepare(path))
		return -1;
	limits_choose(
		&options, getenv("IPCLIFT_LIMITS"), getenv("IPCLIFT_IDS"));
	/* Create nothing in another user's directory. */
	options.must_exist = home_name_of(path, name) && strchr(name, '/');
	had = !access(path, F_OK);
	err = region_map(&region, path, &options, why, sizeof(why));
	if (err) {
		registry_tell_refused(err, why, options.must_exist);
		return -1;
	}
	if (had)
		tell_of_difference(region_header(&region), path);
	/* A process that has it mapped counts as a user. */
	munmap(region.base, REGION_SIZE);
	return 0;
}

static int set_environment(const struct run_options *o)
{
	const char *shim = run_find_shim();

	if (!shim) {
		failure("libipclift.so is neither beside this program nor in "
			"%s",
			IPCLIFT_LIBDIR);
		return -1;
	}
	/* The dynamic loader splits the list at both. */
	if (strpbrk(shim, ": ")) {
		failure("%s: LD_PRELOAD cannot hold a path with ' ' or ':': "
			"install it (meson install), or rename the directory",
			shim);
		return -1;
	}
	if (set_preload(shim) ||
		(o->route && setenv("IPCLIFT_ROUTE", o->route, 1)) ||
		(o->limits && setenv("IPCLIFT_LIMITS", o->limits, 1)) ||
		(o->ids && setenv("IPCLIFT_IDS", o->ids, 1)))
		return -1;
	if (o->name)
		return set_registry_name(o->name);
	return o->registry ? set_registry_path(o->registry) : 0;
}

/* A daemon of fakeroot that was started without the shim uses the kernel's
 * queues, and its library in CMD would wait for it on the registry's, for ever.
 * (With fakeroot by TCP that variable has a port, and there is no queue.) */
static int is_cut_off_fakeroot(void)
{
	const char *key = getenv("FAKEROOTKEY");

	return key && route_parse(getenv("IPCLIFT_ROUTE")) & 1u << FAC_MSG &&
	       sys_call(__NR_msgget, atoi(key), 0) >= 0;
}

/* Execute the program argv[0]. Returns only on failure, after a line on stderr:
 * 127 if there is no such program, 126 if it cannot be started. */
static int run_exec(char **argv)
{
	int err = given.strict ? filter_kernel_ipc(
					 route_parse(getenv("IPCLIFT_ROUTE")))
			       : 0;

	if (err) {
		failure("--strict: system calls cannot be filtered here: %s",
			strerror(-err));
		return EXIT_NOT_RUN;
	}
	execvp(argv[0], argv);
	failure("%s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

static int run_main(int argc, char **argv)
{
	int err = argc ? check_options(&given) : usage_error("which program?");

	if (err)
		return err;
	if (set_environment(&given))
		return EXIT_OURS;
	if (is_cut_off_fakeroot()) {
		failure("%s would wait for fakeroot's daemon, which is on the "
			"kernel's queues: start it by fakeroot-tcp, or "
			"fakeroot itself by 'ipclift run'",
			argv[0]);
		return EXIT_OURS;
	}
	if (program_tell(argv) && given.strict)
		return EXIT_NOT_RUN;
	if (given.private)
		return keeper_run(argv, run_make_registry, run_exec, EXIT_OURS);
	return run_make_registry() ? EXIT_OURS : run_exec(argv);
}

const struct command run_command = {
	.name = "run",
	.summary = "start a program under the shim",
	.usage = "[OPTIONS] [--] CMD [ARGS]",
	.about = "Start CMD with its IPC calls served from a registry in "
		 "shared memory. All\n"
		 "programs on the same registry see the same objects. The "
		 "default registry is\n"
		 "/dev/shm/ipclift-<uid>/default, or the value of "
		 "IPCLIFT_REGISTRY.",
	.more = "The exit status is CMD's; 128+n with --private if signal n "
		"killed it;\n"
		"127 if there is no CMD, 126 if it cannot be run, or not be "
		"served with\n"
		"--strict, 125 if the registry or the shim cannot be used, 2 "
		"for a wrong\n"
		"option.",
	.options = options,
	.is = COMMAND_STOPS,
	.main = run_main,
};
