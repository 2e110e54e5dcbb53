// SPDX-License-Identifier: MIT
/*
 * Finding and mapping the registry of a command; see registry.h.
 */
#include "tool/registry.h"
#include "inspect/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "object/perm.h"
#include "shm/shmmap.h"
#include "tool/home.h"

static const char *option_registry, *option_name;

const struct option_spec registry_options[] = {
	{"registry", 0, "PATH", &option_registry, "look at this registry"},
	{"name", 0, "NAME", &option_name,
		"or at this named one (default: IPCLIFT_REGISTRY,\n"
		"else /dev/shm/ipclift-<uid>/default)"},
	{0},
};

int registry_is_named(void)
{
	return option_registry || option_name;
}

int registry_is_home(void)
{
	const char *env = getenv("IPCLIFT_REGISTRY");

	return option_name || (!option_registry && !(env && *env));
}

const char *registry_path(void)
{
	static char path[4096];
	const char *fault;

	if (option_registry && option_name) {
		usage_error("--registry and --name exclude each other");
		return NULL;
	}
	fault = option_name ? home_name_fault(option_name) : NULL;
	if (fault) {
		usage_error("--name: '%.80s' %s", option_name, fault);
		return NULL;
	}
	if (!registry_is_home())
		snprintf(path, sizeof(path), "%s",
			option_registry ? option_registry
					: getenv("IPCLIFT_REGISTRY"));
	else
		snprintf(path, sizeof(path), "/dev/shm/ipclift-%u/%s",
			(unsigned)geteuid(),
			option_name ? option_name : "default");
	return path;
}

int registry_map(struct region *region, const char *path, char *why, size_t cap)
{
	const struct region_options existing = {.must_exist = 1};

	return region_map(region, path, &existing, why, cap);
}

struct caller *registry_open_path(
	const char *path, const struct region_options *options)
{
	static struct caller caller;
	static struct cred cred = {.euid = ~0u};
	/* Removing a segment needs a mapping of its pages for a moment. */
	static struct shm_process shm;
	char why[512];
	int err =
		options ? region_map(&caller.region, path, options, why,
				  sizeof(why))
			: registry_map(&caller.region, path, why, sizeof(why));

	if (err) {
		failure("%s", why);
		return NULL;
	}
	caller.cred = &cred;
	caller.shm = &shm;
	caller.generation = 1;
	caller_refresh(&caller);
	return &caller;
}

struct caller *registry_open(int *ret)
{
	const char *path = registry_path();
	struct caller *c = path ? registry_open_path(path, NULL) : NULL;

	*ret = c ? EXIT_OK : path ? EXIT_FAILED : EXIT_USAGE;
	return c;
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
	} else if (v > max) {
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
