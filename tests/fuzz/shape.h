// SPDX-License-Identifier: MIT
/*
 * A registry that says of itself that everything in it is in use, though most
 * of it is a hole of the file: whoever looks there fills it, with pages that
 * are charged to him. A few MiB of the maker's ask for GiB of the reader's.
 */
#ifndef IPCLIFT_TESTS_FUZZ_SHAPE_H
#define IPCLIFT_TESTS_FUZZ_SHAPE_H

enum shape {
	SHAPE_BITMAP,  /* each idx is in use */
	SHAPE_READY,   /* each slot was prepared, none is in use */
	SHAPE_BUCKETS, /* the key tables are as large as they can be */
	SHAPE_THREADS, /* each thread record was used */
	SHAPE_HEAP,    /* all of the heap is in use */
	SHAPE_ALL,     /* the five above */
	SHAPE_LIVING,  /* tasks, and many threads, of a process that there is */
	N_SHAPES,
};
extern const char *const shape_names[N_SHAPES];

/* Of the registry that is mapped at base. */
void shape_make(char *base, enum shape shape);

#endif
