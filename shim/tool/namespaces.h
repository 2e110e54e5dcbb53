// SPDX-License-Identifier: MIT
/*
 * The registries of IPC namespaces beside a registry: PATH.ns/N
 * (registry/ipcns.h). One whose namespace has ended is removed.
 */
#ifndef IPCLIFT_TOOL_NAMESPACES_H
#define IPCLIFT_TOOL_NAMESPACES_H

/* Call fn with each one's file and number. */
void namespaces_each(const char *path,
	void (*fn)(const char *file, unsigned long long number, void *arg),
	void *arg);

/* 1 if nobody is in the namespace whose registry file is, beside path: "ended"
 * of registry/ipcns.h. 0 also where /proc does not tell of the processes that
 * path serves. */
int namespace_ended(
	const char *path, const char *file, unsigned long long number);

/* Remove those that have ended; returns how many. dry_run: only count them. */
unsigned namespaces_sweep(const char *path, int dry_run);

/* The same of the registries in our own directory (home.h). */
void namespaces_sweep_home(void);

#endif
