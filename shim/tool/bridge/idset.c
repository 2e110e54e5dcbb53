// SPDX-License-Identifier: MIT
/*
 * The last N ids; see idset.h. The file: struct head, then n ids, a ring; an id
 * is written before head.next counts it, so whoever is killed in between loses
 * the oldest.
 */
#include "tool/bridge/idset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/message.h"

#define MAGIC "ipclift ids 1\n"

struct head {
	char magic[16];
	uint64_t n;
	uint64_t next;
};

/* FNV-1a, from two beginnings: no adversary is asked to fail. */
static struct idset_id hash(const char *id, size_t len)
{
	struct idset_id h = {{0xcbf29ce484222325ULL, 0x9ae16a3b2f90404fULL}};
	size_t i;

	for (i = 0; i < len; i++) {
		h.v[0] = (h.v[0] ^ (unsigned char)id[i]) * 0x100000001b3ULL;
		h.v[1] = (h.v[1] ^ (unsigned char)id[i]) * 0x100000001b3ULL;
		h.v[1] ^= h.v[1] >> 29;
	}
	return h;
}

static int same(struct idset_id a, struct idset_id b)
{
	return a.v[0] == b.v[0] && a.v[1] == b.v[1];
}

/* Where the id stands in the table, or the empty place for it. */
static uint32_t *find(const struct idset *s, struct idset_id id)
{
	uint32_t at = (uint32_t)id.v[0] & s->mask;

	while (s->index[at] && !same(s->ring[s->index[at] - 1], id))
		at = (at + 1) & s->mask;
	return &s->index[at];
}

/* Out of the table: those behind it in its run move up. */
static void forget(struct idset *s, uint32_t *gone)
{
	uint32_t at = (uint32_t)(gone - s->index), next = at, home;

	for (;;) {
		next = (next + 1) & s->mask;
		if (!s->index[next])
			break;
		home = (uint32_t)s->ring[s->index[next] - 1].v[0] & s->mask;
		if (((next - home) & s->mask) < ((next - at) & s->mask))
			continue;
		s->index[at] = s->index[next];
		at = next;
	}
	s->index[at] = 0;
}

int idset_has(const struct idset *s, const char *id, size_t len)
{
	return s->n && *find(s, hash(id, len));
}

void idset_add(struct idset *s, const char *id, size_t len)
{
	struct idset_id h = hash(id, len);
	uint32_t place, *at;

	if (!s->n || *find(s, h))
		return;
	place = (uint32_t)(*s->next % s->n);
	if (*s->next >= s->n) {
		at = find(s, s->ring[place]);
		if (*at == place + 1)
			forget(s, at);
	}
	s->ring[place] = h;
	__atomic_store_n(s->next, *s->next + 1, __ATOMIC_RELEASE);
	*find(s, h) = place + 1;
}

/* ---- the file ---- */

static int bad(const char *file, const char *why)
{
	return failure("--dedup-file: %s: %s", file, why);
}

/* What an earlier one kept, oldest first, into a new one. */
static void take_over(struct idset *s, const struct head *old)
{
	const struct idset_id *ids = (const void *)(old + 1);
	uint64_t n = old->next < old->n ? old->next : old->n, i, from;

	from = n > s->n ? n - s->n : 0;
	for (i = from; i < n; i++) {
		s->ring[*s->next % s->n] = ids[(old->next - n + i) % old->n];
		++*s->next;
	}
}

static void build_index(struct idset *s)
{
	uint64_t n = *s->next < s->n ? *s->next : s->n, i;
	uint32_t *at;

	for (i = 0; i < n; i++) {
		at = find(s, s->ring[i]);
		if (!*at)
			*at = (uint32_t)i + 1;
	}
}

/* The bytes of an earlier file, which free() ends; NULL with *ret_size 0 if
 * there are none, or with EXIT_FAILED in *err. */
static struct head *read_old(const char *file, int fd, off_t size, int *err)
{
	struct head *old = NULL;

	if (!size)
		return NULL;
	old = malloc((size_t)size);
	if (!old)
		*err = bad(file, strerror(ENOMEM));
	else if (pread(fd, old, (size_t)size, 0) != size)
		*err = bad(file, "it cannot be read");
	else if ((size_t)size < sizeof(*old) ||
		 memcmp(old->magic, MAGIC, sizeof(MAGIC)) != 0 || !old->n ||
		 old->n > UINT32_MAX ||
		 (uint64_t)size !=
			 sizeof(*old) + old->n * sizeof(struct idset_id))
		*err = bad(file, "it is no file of ids; it stays as it is");
	if (*err) {
		free(old);
		old = NULL;
	}
	return old;
}

static int map_file(struct idset *s, const char *file, int fd)
{
	size_t size = sizeof(struct head) + s->n * sizeof(struct idset_id);
	struct head *head, *old = NULL;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st))
		return bad(file, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return bad(file, "it is no file");
	if (flock(fd, LOCK_EX | LOCK_NB))
		return bad(file, "another bridge uses it");
	old = read_old(file, fd, st.st_size, &err);
	if (err)
		return err;
	err = posix_fallocate(fd, 0, (off_t)size);
	head = err ? MAP_FAILED
		   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0);
	if (head == MAP_FAILED) {
		free(old);
		return bad(file, strerror(err ? err : errno));
	}
	s->next = &head->next;
	s->ring = (void *)(head + 1);
	if (!old || old->n != s->n) {
		/* Killed in here it loses ids, and no more. */
		memcpy(head->magic, MAGIC, sizeof(MAGIC));
		head->n = s->n;
		head->next = 0;
		if (old)
			take_over(s, old);
		if (ftruncate(fd, (off_t)size))
			err = bad(file, strerror(errno));
	}
	free(old);
	return err;
}

int idset_open(struct idset *s, uint32_t n, const char *file)
{
	uint32_t room = 16;
	int fd, err = 0;

	*s = (struct idset){.n = n};
	if (!n)
		return 0;
	while (room < 2 * n)
		room *= 2;
	s->mask = room - 1;
	s->index = calloc(room, sizeof(*s->index));
	if (!file) {
		s->next = calloc(1, sizeof(*s->next));
		s->ring = calloc(n, sizeof(*s->ring));
	} else {
		/* Open until the end: its lock says that it is in use. */
		fd = open(
			file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return bad(file, strerror(errno));
		err = map_file(s, file, fd);
	}
	if (!err && (!s->index || !s->next || !s->ring))
		err = failure("out of memory");
	if (!err)
		build_index(s);
	return err;
}
