// SPDX-License-Identifier: MIT
/*
 * restore: a damaged save file, mostly with its checksum made right, is made a
 * registry, of which check must find nothing wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inspect/check.h"
#include "savedamage.h"
#include "target.h"
#include "tool/command.h"
#include "tool/home.h"
#include "tool/registry.h"

static char *made_at;

/* ---- tool/registry.h, tool/home.h ---- */

/* No user's directory is looked at. */
int home_open(int make, char path[HOME_PATH_MAX])
{
	(void)make;
	*path = 0;
	return -EACCES;
}

void registry_tell_refused(int err, const char *why, int must_exist)
{
	(void)err, (void)must_exist;
	failure("%s", why);
}

int registry_may_change(const char *path)
{
	(void)path;
	return 1;
}

struct caller *registry_open_path(
	const char *path, const struct region_options *options)
{
	static char made[600];
	char why[256];

	(void)path;
	snprintf(made, sizeof(made), "%s/made", target_dir());
	unlink(made);
	if (region_map(&target.region, made, options, why, sizeof(why)))
		return NULL;
	made_at = target.region.base;
	caller_refresh(&target);
	return &target;
}

/* ---- the target ---- */

static void fault(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	(void)arg;
	fprintf(stderr, "invariant %d: %s %llu %llu\n", (int)which, what,
		(unsigned long long)a, (unsigned long long)b);
}

static void restore(void *arg)
{
	char *argv[] = {"restore", arg, NULL};

	target_command(&restore_command, 2, argv);
	if (made_at && check_region(&target.region, fault, NULL) > 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char file[600];
	int fd;

	snprintf(file, sizeof(file), "%s/file", target_dir());
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		exit(2);
	target_run(restore, file);
	close(fd);
	/* What a command leaves to its end. */
	syscall(SYS_close_range, fd, ~0U, 0);
	if (made_at)
		munmap(made_at, REGION_SIZE);
	made_at = NULL;
	return 0;
}

size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct rng r = {seed * 0x9e3779b97f4a7c15ULL | 1};
	int i;

	if (seed % 3 == 0 || size < 64)
		size = LLVMFuzzerMutate(data, size, max_size);
	else
		for (i = (int)rng_below(&r, 3); i >= 0; i--)
			savefile_damage(&r, (char *)data, size);
	if (seed % 20)
		savefile_sum((char *)data, size & ~(size_t)7);
	return size;
}
