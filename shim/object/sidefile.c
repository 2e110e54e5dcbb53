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

#define NAME_LENGTH 32

size_t sidefile_path_size(const struct caller *c)
{
	size_t n = 0;

	while (c->region.path[n])
		n++;
	return n + sizeof(".mq/") + NAME_LENGTH;
}

static size_t dir_path(const struct caller *c, char *path)
{
	size_t size = sidefile_path_size(c);

	return str_add(
		path, size, str_add(path, size, 0, c->region.path), ".mq");
}

void sidefile_path(const struct caller *c, const u64 token[2], char *path)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = dir_path(c, path);
	int i;

	path[n++] = '/';
	for (i = 0; i < NAME_LENGTH; i++)
		path[n++] = digits[token[i / 16] >> (i % 16 * 4) & 15];
	path[n] = 0;
}

int sidefile_make_dir(const struct caller *c)
{
	char dir[sidefile_path_size(c)];
	int err;

	dir_path(c, dir);
	err = sys_call(__NR_mkdir, dir, DIR_MODE);
	if (!err)
		return sys_call(__NR_chmod, dir, DIR_MODE);
	return err == -EEXIST ? 0 : err;
}

void sidefile_unlink(const struct caller *c, const u64 token[2])
{
	char path[sidefile_path_size(c)];

	if (!c->region.path[0] || !token[0])
		return;
	sidefile_path(c, token, path);
	sys_call(__NR_unlink, path);
}
