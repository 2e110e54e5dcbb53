// SPDX-License-Identifier: MIT
/*
 * A registry with one of everything (fill.c), copied while it is quiet; those
 * who used it are gone.
 */
#ifndef IPCLIFT_TESTS_FUZZ_FILLED_H
#define IPCLIFT_TESTS_FUZZ_FILLED_H

/* Make it: a file at path. shim: the library; tests: the directory with
 * fuzz/fill. Ends the program where that fails. */
void filled_make(const char *path, const char *shim, const char *tests);
/* Another file of it. */
void filled_put(const char *path);
/* REGION_SIZE bytes, shared with the file. */
char *filled_map(const char *path);

#endif
