// SPDX-License-Identifier: MIT
/*
 * The registry of a command. The command is a caller like any program: it
 * enrolls, takes the same locks, and is subject to the same permission checks.
 */
#ifndef IPCLIFT_TOOL_REGISTRY_H
#define IPCLIFT_TOOL_REGISTRY_H

#include <setjmp.h>

#include "registry/caller.h"
#include "tool/command.h"

/* --registry and --name, of every command that is COMMAND_ON_REGISTRY. */
extern const struct option_spec registry_options[];

/* Its file's name, or NULL after a usage error. */
const char *registry_path(void);
/* The option that selects it, with its value in *ret; NULL: none does. */
const char *registry_option(const char **ret);
/* 1 if an option selects it, 0 if the environment does or it is the default. */
int registry_is_named(void);
/* 1 if it is one of a user's directory: by --name, or the default. */
int registry_is_home(void);

/* Map the file, which must exist; errors and why as of region_map. */
struct region;
int registry_map(
	struct region *region, const char *path, char *why, size_t cap);
/* Map it, to change something in it; it must exist. NULL after a message: *ret
 * is then the exit status. As root it is done with the rights of the registry's
 * owner, unless --as-root is given. */
struct caller *registry_open(int *ret);
/* The check that registry_open makes first of the file at path, which need not
 * exist: 0 after a message if it is in a directory that not only its owner can
 * change, or cannot be changed with its owner's rights; else 1. */
int registry_may_change(const char *path);
/* If root is to change another user's registry, take on that user's rights, for
 * good: the registry's content is that user's. 0, or EXIT_FAILED after a
 * message. */
struct stat;
int registry_become(const struct stat *st);
extern int registry_as_root; /* 1: --as-root was given, so with root's rights */
/* 1 if this file is the registry that is mapped: its name may be another file's
 * by now. */
int registry_is_file(const struct stat *st);
/* As registry_open, for a command that only reads: another user's registry is
 * read in a copy (region_copy; caller.detached is 1). */
struct caller *registry_open_read_only(int *ret);
/* Copy it again, as it is now. EXIT_OK, or EXIT_FAILED after a message. */
int registry_copy_again(void);
/* The file itself, whoever owns it, in a read-only mapping: only for
 * inspect/glance.h. NULL as registry_open. */
struct caller *registry_glance(int *ret);
/* 1 if it is still the file at its path, and unchanged. */
int registry_glance_still(void);
/* If it is not, map the one that is there now. EXIT_OK, or EXIT_FAILED after a
 * message: then the old one is still mapped. */
int registry_glance_again(void);
/* Called before the message of a damaged or truncated registry ends the
 * command; may be NULL. */
extern void (*registry_on_fault)(void);
/* For a command that continues: where the thread continues in that case, by
 * siglongjmp. */
extern __thread sigjmp_buf *registry_fault_to;
/* The same for any file, made with these limits if it does not exist and
 * options is not NULL. */
struct region_options;
struct caller *registry_open_path(
	const char *path, const struct region_options *options);

/* Print region_map's message, and which registries there are if this one has to
 * exist and does not. */
void registry_tell_refused(int err, const char *why, int must_exist);

/* 0, or EXIT_USAGE after a message: the values of --limits and --ids, or NULL.
 */
int registry_new_fault(const char *limits, const char *ids);
/* The same for each, from the option or variable whence. */
int registry_limits_fault(const char *whence, const char *limits);
int registry_ids_fault(const char *whence, const char *ids);

/* "90", "90s", "10m", "1h", "2d" in seconds: 0, or EXIT_USAGE after a message
 * that names the option. */
int parse_age(const char *option, const char *text, long long *ret);

/* "7", "0x10", "010", from min to max. 0 or -1. */
int parse_number(const char *text, long long min, unsigned long long max,
	unsigned long long *ret);

/* The name of a process, or "?" if it has exited. One buffer. */
const char *process_name(unsigned pid);
int process_alive(unsigned pid);

#endif
