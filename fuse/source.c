// SPDX-License-Identifier: MIT
/*
 * Finding, mapping and watching the registry; see source.h.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/limits.h"
#include "object/sleep.h"
#include "shm/shmmap.h"
#include "escape.h"
#include "log.h"
#include "requester.h"

static struct {
	struct region region;
	struct shm_process shm;
	int fd;
	struct stat st;
	int gone; /* it was said */
	int cut_short;
} source = {.fd = -1};

/* The file may be replaced between our two looks at it. */
static int open_same(const char *path)
{
	struct stat now;

	source.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (source.fd < 0 || fstat(source.fd, &source.st))
		return -1;
	return stat(path, &now) || now.st_dev != source.st.st_dev ||
			       now.st_ino != source.st.st_ino
		       ? -1
		       : 0;
}

/* Its pages are not all there any more: from now on -ESTALE. */
static void note_cut_short(void)
{
	__atomic_store_n(&source.cut_short, 1, __ATOMIC_RELAXED);
}

int source_open(const char *path, int create, const char *limits,
	const char *ids, char *why, size_t cap)
{
	struct region_options opt = {.must_exist = !create};
	struct stat before;
	int had;

	limits_choose(&opt, limits, ids);
	had = !stat(path, &before);
	if (region_map(&source.region, path, &opt, why, cap))
		return -1;
	if (open_same(source.region.path) ||
		(had && (before.st_dev != source.st.st_dev ||
				before.st_ino != source.st.st_ino))) {
		snprintf(
			why, cap, "%s: was replaced while it was opened", path);
		return -1;
	}
	escape_init(&source.region, note_cut_short);
	return 0;
}

int source_default_path(char *path, size_t cap, char *why, size_t why_cap)
{
	const char *env = getenv("IPCLIFT_REGISTRY");

	if (env && *env) {
		snprintf(path, cap, "%s", env);
		return 0;
	}
	return region_default_path(path, cap, why, why_cap) ? -1 : 0;
}

const char *source_path(void)
{
	return source.region.path;
}

int source_fd(void)
{
	return source.fd;
}

uid_t source_uid(void)
{
	return source.st.st_uid;
}

gid_t source_gid(void)
{
	return source.st.st_gid;
}

int source_check(void)
{
	struct stat now;
	int missing = stat(source.region.path, &now);

	int short_now = !missing && now.st_size < source.st.st_size;

	if (!missing && !short_now &&
		!__atomic_load_n(&source.cut_short, __ATOMIC_RELAXED) &&
		now.st_dev == source.st.st_dev &&
		now.st_ino == source.st.st_ino)
		return 0;
	if (!__atomic_exchange_n(&source.gone, 1, __ATOMIC_RELAXED))
		log_error("%s was %s under the mount; unmount it%s",
			source.region.path,
			missing	    ? "removed"
			: short_now ? "truncated"
				    : "replaced by another file",
			missing ? "" : " and mount the new one");
	return -ESTALE;
}

struct caller *source_caller(struct requester *r)
{
	static __thread struct caller caller;
	static __thread struct holes holes;

	if (!caller.generation) {
		caller.region = source.region;
		holes.fd = source.fd;
		caller.region.holes = &holes;
		caller.shm = &source.shm;
		caller.cred = &r->cred;
		caller.generation = 1;
		caller.onlooker = 1;
		escape_prepare(&caller);
		caller_unmarked = sleep_need_timers;
		caller_refresh(&caller);
	}
	caller.cred = &r->cred;
	return &caller;
}
