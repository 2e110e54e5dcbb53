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
static const char suffix[] = ".mq/";

size_t sidefile_path_size(const struct caller *c)
{
	return str_len(c->region.path) + sizeof(suffix) + NAME_LENGTH;
}

/* The path with its last slash, not terminated; returns its length. */
static size_t dir_path(const struct caller *c, char *path)
{
	const char *from = c->region.path;
	size_t n;

	for (n = 0; from[n]; n++)
		path[n] = from[n];
	__builtin_memcpy(path + n, suffix, sizeof(suffix) - 1);
	return n + sizeof(suffix) - 1;
}

/* Sixteen digits of a token's half, the lowest first: eight at a time, one in
 * each byte of a word. A loop over the digits of a path took 450 instructions,
 * of which a queue's life needs four. */
static void add_digits(char *to, u64 half)
{
	const u64 ones = 0x0101010101010101;
	u64 eight, letter;
	int i;

	for (i = 0; i < 2; i++) {
		eight = half >> (32 * i) & 0xffffffff;
		eight = (eight | eight << 16) & 0x0000ffff0000ffff;
		eight = (eight | eight << 8) & 0x00ff00ff00ff00ff;
		eight = (eight | eight << 4) & 0x0f0f0f0f0f0f0f0f;
		letter = (eight + 6 * ones) >> 4 & ones;
		eight += '0' * ones + letter * ('a' - '0' - 10);
		__builtin_memcpy(to + 8 * i, &eight, 8);
	}
}

void sidefile_path(const struct caller *c, const u64 token[2], char *path)
{
	size_t n = dir_path(c, path);

	add_digits(path + n, token[0]);
	add_digits(path + n + NAME_LENGTH / 2, token[1]);
	path[n + NAME_LENGTH] = 0;
}

int sidefile_make_dir(const struct caller *c)
{
	char dir[sidefile_path_size(c)];
	int err;

	dir[dir_path(c, dir) - 1] = 0;
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
