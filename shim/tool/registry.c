// SPDX-License-Identifier: MIT
/*
 * Finding and mapping the registry of a command; see registry.h.
 */
#include "tool/registry.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/shmmap.h"
#include "tool/home.h"

int view_options(int argc, char **argv, const char *allowed, struct view *ret)
{
	static const struct option known[] = {
		{"registry", required_argument, NULL, 'r'},
		{"name", required_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{"json", no_argument, NULL, 'j'},
		{"all", no_argument, NULL, 'a'},
		{"dry-run", no_argument, NULL, 'd'},
		{"key", required_argument, NULL, 'k'},
		{"proc", no_argument, NULL, 'p'},
	};
	struct option options[9] = {0};
	size_t i, n = 0;
	int c;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (i < 3 || strchr(allowed, known[i].val))
			options[n++] = known[i];
	*ret = (struct view){0};
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (c) {
		case 'r':
			ret->registry = optarg;
			break;
		case 'n':
			ret->name = optarg;
			break;
		case 'k':
			ret->key = optarg;
			break;
		case 'j':
			ret->json = 1;
			break;
		case 'a':
			ret->all = 1;
			break;
		case 'p':
			ret->proc = 1;
			break;
		case 'd':
			ret->dry_run = 1;
			break;
		case 'h':
			print_help();
			return -1;
		default:
			return option_error(c, argv);
		}
	}
	ret->argc = argc - optind;
	ret->argv = argv + optind;
	return 0;
}

int view_no_arguments(const struct view *v)
{
	return v->argc ? usage_error("'%s' is one word too many", v->argv[0])
		       : 0;
}

int view_path(struct view *v)
{
	const char *env = getenv("IPCLIFT_REGISTRY"), *fault;
	char home[HOME_PATH_MAX];

	if (v->registry && v->name)
		return usage_error("--registry and --name exclude each other");
	fault = v->name ? home_name_fault(v->name) : NULL;
	if (fault)
		return usage_error("--name: '%.80s' %s", v->name, fault);
	if (v->registry || (!v->name && env && *env)) {
		snprintf(v->path, sizeof(v->path), "%s",
			v->registry ? v->registry : env);
		return 0;
	}
	snprintf(
		home, sizeof(home), "/dev/shm/ipclift-%u", (unsigned)geteuid());
	snprintf(v->path, sizeof(v->path), "%s/%s", home,
		v->name ? v->name : "default");
	return 0;
}

struct caller *view_open(struct view *v)
{
	static struct caller caller;
	static struct cred cred = {.euid = ~0u};
	/* Removing a segment needs a mapping of its pages for a moment. */
	static struct shm_process shm;
	const struct region_options options = {
		.idx_bits = IDX_BITS_NORMAL, .must_exist = 1};
	char why[512];

	if (region_map(&caller.region, v->path, &options, why, sizeof(why))) {
		failure("%s", why);
		return NULL;
	}
	caller.cred = &cred;
	caller.shm = &shm;
	caller.generation = 1;
	caller_refresh(&caller);
	return &caller;
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
	static char name[32];
	char path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, sizeof(name), f))
		strcpy(name, "?");
	if (f)
		fclose(f);
	name[strcspn(name, "\n")] = 0;
	return name;
}
