// SPDX-License-Identifier: MIT
/*
 * What a set of one semaphore costs in the registry: at most 384 bytes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "unit.h"

Test(size, a_keyed_set_of_one_semaphore_is_at_most_384_bytes, .timeout = 60)
{
	const int n = 10000;
	struct region_options opt = {
		.idx_bits = IDX_BITS_NORMAL, .profile = LIMITS_ROOMY};
	char path[64], why[256];
	struct stat before, after;
	double each;
	int fd, i;

	snprintf(path, sizeof(path), "/dev/shm/unit-size-%d", getpid());
	limits_init(&opt.limits, opt.profile, opt.idx_bits);
	me = (struct caller){.cred = &me_cred};
	cr_assert_eq(region_map(&me.region, path, &opt, why, sizeof(why)), 0);
	fd = open(path, O_RDONLY);
	unlink(path);
	caller_refresh(&me);
	cr_assert_eq(caller_enroll(&me), 0);
	cr_assert_eq(fstat(fd, &before), 0);
	for (i = 0; i < n; i++)
		cr_assert_geq(
			sem_get(&me, 1000 + i, 1, 0600 | SEM_IPC_CREAT), 0);
	cr_assert_eq(fstat(fd, &after), 0);
	close(fd);
	each = (after.st_blocks - before.st_blocks) * 512.0 / n;
	cr_log_info("%.1f bytes a set", each);
	printf("a set of one semaphore: %.1f bytes of registry\n", each);
	cr_assert_leq(each, 384);
}
