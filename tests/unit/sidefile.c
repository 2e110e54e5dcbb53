// SPDX-License-Identifier: MIT
/*
 * Names of files beside the registry.
 */
#include <string.h>
#include "object/sidefile.h"
#include "unit.h"

Test(sidefile, a_side_files_name_is_its_token_in_hexadecimal)
{
	const u64 token[2] = {0x0123456789abcdef, 0xfedcba9876543210};
	struct caller c = {.region.path = "/dev/shm/some"};
	char path[96];

	cr_assert_leq(sidefile_path_size(&c), sizeof(path));
	cr_assert_eq(
		sidefile_path_size(&c), strlen("/dev/shm/some.mq/") + 32 + 1);
	sidefile_path(&c, token, path);
	cr_assert_str_eq(
		path, "/dev/shm/some.mq/fedcba98765432100123456789abcdef");
	/* Two that differ in one digit have names that do. */
	sidefile_path(
		&c, (const u64[2]){token[0], token[1] ^ 1ull << 60}, path);
	cr_assert_str_eq(
		path, "/dev/shm/some.mq/fedcba98765432100123456789abcdee");
}
