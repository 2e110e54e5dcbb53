// SPDX-License-Identifier: MIT
/*
 * Finds and runs the case that was asked for; see worker.h.
 */
#include "tool/bench/work/worker.h"

#include "tool/bench/work/frame.h"

static const struct {
	const char *name;
	const struct work *works;
} groups[] = {{"calls", call_works}, {"keys", key_works},
	{"depth", depth_works}, {"trip", trip_works}, {"peers", peer_works}};
#define N_GROUPS (sizeof(groups) / sizeof(groups[0]))

static int list(const char *group)
{
	for (size_t i = 0; i < N_GROUPS; i++)
		for (const struct work *w = groups[i].works; w->name; w++)
			if (!group || !strcmp(group, groups[i].name))
				puts(w->name);
	return 0;
}

static const struct work *find(const char *name)
{
	for (size_t i = 0; i < N_GROUPS; i++)
		for (const struct work *w = groups[i].works; w->name; w++)
			if (!strcmp(name, w->name))
				return w;
	return NULL;
}

int worker_main(int argc, char **argv)
{
	const struct work *w;

	if (argc && !strcmp(argv[0], "--list"))
		return list(argv[1]);
	w = argc ? find(argv[0]) : NULL;
	if (!w) {
		fprintf(stderr, "no such case: %s\n", argc ? argv[0] : "none");
		return 2;
	}
	work_run(w, argv + 1);
	return 0;
}
