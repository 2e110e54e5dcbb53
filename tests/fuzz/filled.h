// SPDX-License-Identifier: MIT
/*
 * A registry with one of everything (fill.c), copied while it is quiet; those
 * who used it are gone.
 */
#ifndef IPCLIFT_TESTS_FUZZ_FILLED_H
#define IPCLIFT_TESTS_FUZZ_FILLED_H

/* Semaphores of the set, and qbytes of the queue (fill.c), of which
 * filled_make makes states that only a death in mid-call leaves: a SETALL that is
 * committed and stored by half, with the lock of an owner that died; and the body
 * of a removed queue that is still to be emptied. */
#define HALF_SETALL 504
#define REMAINS_QBYTES 15432

/* Make it: a file at path. shim: the library; tests: the directory with
 * fuzz/fill. Ends the program where that fails. */
void filled_make(const char *path, const char *shim, const char *tests);
/* Another file of it. */
void filled_put(const char *path);
/* REGION_SIZE bytes, shared with the file. */
char *filled_map(const char *path);

#endif
