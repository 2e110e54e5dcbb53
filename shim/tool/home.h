// SPDX-License-Identifier: MIT
/*
 * The user's directory of registries, /dev/shm/ipclift-<uid>: "default", the
 * named ones, and the private ones ("private.XXXXXX").
 *
 * A private registry belongs to a keeper (keeper.h), which holds an open file
 * description lock on the file for as long as the file is to stay. A private
 * registry without that lock has lost its keeper; home_sweep removes it once no
 * process uses it. Making and sweeping exclude each other by a flock on the
 * directory.
 *
 * Processes that map the registry file flock it (region.c): a lock of another
 * kind, which does not conflict with ours.
 */
#ifndef IPCLIFT_TOOL_HOME_H
#define IPCLIFT_TOOL_HOME_H

#include <dirent.h>
#include <stddef.h>

#define HOME_PATH_MAX 256

/* The user whose directory it is: our effective uid, as the kernel has it
 * (fakeroot shows another). */
unsigned home_uid(void);

/*
 * Open the directory, making it if make is set (mode 0700). Returns a
 * descriptor, or -errno: -ENOENT, -EACCES if it is another user's, writable by
 * others, or no directory. path (HOME_PATH_MAX bytes) receives its name in any
 * case.
 */
int home_open(int make, char *path);

/*
 * The path of a registry's NAME, or of OWNER/NAME, another user's (a name or a
 * number), into path (HOME_PATH_MAX). NULL, or what is wrong with it as a name.
 */
const char *home_name_path(const char *name, char *path);

/* The name of a path, for an option --name, into name (HOME_PATH_MAX): 1, or 0
 * if it is in no user's home. */
int home_name_of(const char *path, char *name);

/* Let others reach the registries in our directory that are shared. 0 or
 * -errno. */
int home_share(void);

/* A fresh private registry: its name into path (HOME_PATH_MAX bytes), and the
 * descriptor whose lock keeps it. Or -errno; path is then the directory's. */
int home_make_private(char *path);

/* How many processes use it: the living ones in the file's task table, and
 * those that have it mapped, as far as we may read that. */
unsigned home_count_users(const char *path);

/* Only those that have it mapped: for a registry of another version, whose task
 * table is elsewhere. */
unsigned home_count_mapped(const char *path);

/* From now on both use one reading of the processes: for commands on many
 * registries, which any user can make. */
void home_scan_once(void);

/* 1 if a process is in the file's task table or has it mapped; with
 * or_may also if one was started with its name in the environment. */
int home_in_use(const char *path, int or_may);

/* Remove a registry's file, the directory PATH.mq with the FIFOs of its message
 * queues, and PATH.ns with the registries of IPC namespaces. 0, or -errno of
 * the file. */
int home_remove(const char *path);

/* A directory beside a registry, named from the descriptor at; NULL also if it
 * is a link: in a directory that all users may write it could lead anywhere. */
DIR *home_open_beside(int at, const char *dir);

/* Call fn with the path of each regular file in dir, in the order of the names:
 * what could be a registry. */
void home_each_in(
	const char *dir, void (*fn)(const char *path, void *arg), void *arg);

/* The text after "no such registry", cap bytes into text: which ones are in our
 * own directory, or how to make one. Begins with "; ". */
void home_hint(char *text, size_t cap);

/* Remove private registries that their keepers have left behind. */
void home_sweep(void);

#endif
