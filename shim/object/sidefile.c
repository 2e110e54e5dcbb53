// SPDX-License-Identifier: MIT
/*
 * Names and the directory; see sidefile.h.
 */
#include "object/sidefile.h"

#define DIR_MODE 01733

void sidefile_name(const struct caller *c, u64 token[2])
{
	if (sys_call(__NR_getrandom, token, 16, 0) != 16 || !token[0])
		token[0] = sys_monotonic_ns() | 1, token[1] = c->tid;
}

static size_t dir_path(const struct caller *c, char *path)
{
	size_t n = str_add(path, SIDEFILE_PATH_CAP, 0, c->region.path);

	return str_add(path, SIDEFILE_PATH_CAP, n, ".mq");
}

void sidefile_path(const struct caller *c, const u64 token[2], char *path)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = dir_path(c, path);
	int i;

	n = str_add(path, SIDEFILE_PATH_CAP, n, "/");
	if (n + 33 > SIDEFILE_PATH_CAP)
		return;
	for (i = 0; i < 32; i++)
		path[n++] = digits[token[i / 16] >> (i % 16 * 4) & 15];
	path[n] = 0;
}

int sidefile_make_dir(const struct caller *c)
{
	char dir[SIDEFILE_PATH_CAP];
	int err;

	dir_path(c, dir);
	err = sys_call(__NR_mkdir, dir, DIR_MODE);
	if (!err)
		return sys_call(__NR_chmod, dir, DIR_MODE);
	return err == -EEXIST ? 0 : err;
}

void sidefile_unlink(const struct caller *c, const u64 token[2])
{
	char path[SIDEFILE_PATH_CAP];

	if (!c->region.path[0] || !token[0])
		return;
	sidefile_path(c, token, path);
	sys_call(__NR_unlink, path);
}
