// SPDX-License-Identifier: MIT
/*
 * The variables that configure the library, as they were when it was loaded.
 *
 * A program may clear or overwrite its environment before its first IPC call
 * (clearenv, setproctitle), and it may hand an invented one to the programs that
 * it executes. So the variables are copied when the library is loaded, before
 * the program's own code runs; and exec.c passes the copies on.
 */
#ifndef IPCLIFT_ENTRY_ENVIRONMENT_H
#define IPCLIFT_ENTRY_ENVIRONMENT_H

#include <stddef.h>

/* Copy them, when the library is loaded. */
void environment_at_load(void);

/* The value of IPCLIFT_name, or NULL if it is not set or the program runs with
 * raised privileges (AT_SECURE). Valid for the life of the process. */
const char *environment_get(const char *name);

/*
 * Copies as "NAME=VALUE" for a new environment: those of IPCLIFT_*, and last of
 * all LD_PRELOAD with the word that names this library. NULL behind the last.
 * IPCLIFT_EXEC=keep: none.
 */
const char *const *environment_handed_on(void);

/* The key in FAKEROOTKEY where fakeroot's library is preloaded, too; else 0. */
int environment_fakeroot(void);

#endif
