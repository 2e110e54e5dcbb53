// SPDX-License-Identifier: MIT
/*
 * The registry that a command looks at, and the options all such commands
 * share. The command is a caller like any program: it enrolls, takes the same
 * locks, and meets the same permission checks.
 */
#ifndef IPCLIFT_TOOL_REGISTRY_H
#define IPCLIFT_TOOL_REGISTRY_H

#include "ipc/sem.h"
#include "tool/command.h"

struct view {
	const char *registry, *name; /* --registry, --name */
	const char *key;	     /* --key */
	int json, all, dry_run, proc;
	int argc; /* what is left after the options */
	char **argv;
	char path[4096];
};

/* Read the options whose letters stand in allowed (j --json, a --all, d
 * --dry-run, k --key, p --proc; --registry, --name and --help are always
 * allowed). 0, EXIT_USAGE, or -1 after --help. */
int view_options(int argc, char **argv, const char *allowed, struct view *ret);

/* The one word of a view without arguments; else a usage error. */
int view_no_arguments(const struct view *v);

/* Its file's name, in v->path. 0, or EXIT_USAGE. */
int view_path(struct view *v);

/* Map it; it must exist. NULL after a message. */
struct caller *view_open(struct view *v);

/* Set, by number ("7", "0x10", "010"). 0 or -1. */
int parse_number(const char *text, long long min, unsigned long long max,
	unsigned long long *ret);

/* The name of a process, or "?" where it is gone. One buffer. */
const char *process_name(unsigned pid);

#endif
