// SPDX-License-Identifier: MIT
/*
 * opendir, readdir and their kin on /dev/mqueue (mqdir.h).
 *
 * A stream is libc's own, on a descriptor of the directory (or, without one, of
 * /); what is read from it stands beside, in a page or more of memory, found by
 * the stream's address. So whatever libc does with a stream by a name that is
 * not here does no harm. The names are those of the moment when the stream was
 * opened or rewound, the newest queue first.
 */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <errno.h>
#include "base/str.h"
#include "entry/file/libchead.h"
#include "entry/file/mqdir.h"

extern int dirfd(DIR *) __attribute__((weak));

/* Streams on the directory that a process has open at once; arbitrary: one more
 * fails with EMFILE. */
#define N_STREAMS 64
/* Entries before the queues: "." and "..". */
#define N_DOTS 2

struct listing {
	size_t size; /* of the mapping */
	u32 n, at;
	struct dirent entry;
	u64 idents[];
};
#ifdef __GLIBC__
_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "dirent");
#endif

/* A place is taken by storing the stream, and found by it. Two threads may not
 * use one stream at once, as with libc's. */
static struct {
	DIR *stream;
	struct listing *l;
} places[N_STREAMS] SYS_FAR_BSS;
static u32 n_streams;

static int place_of(DIR *d)
{
	int i;

	if (likely(!__atomic_load_n(&n_streams, __ATOMIC_RELAXED)) || !d)
		return -1;
	for (i = 0; i < N_STREAMS; i++)
		if (__atomic_load_n(&places[i].stream, __ATOMIC_ACQUIRE) == d)
			return i;
	return -1;
}

/* The queues of now, or NULL. */
static struct listing *listing_make(struct caller *c)
{
	u32 most = (u32)caller_header(c)->ids[FAC_MQ].n_keys + 64;
	size_t size = sizeof(struct listing) + most * sizeof(u64);
	struct listing *l = sys_mmap_private(size);

	if ((unsigned long)l > -4096UL)
		return NULL;
	l->size = size;
	l->n = mqdir_list(c, l->idents, most);
	return l;
}

/* 0 or -errno. */
static int enter(DIR *d)
{
	int err = 0, i;
	struct caller *c = process_get(&err);
	struct listing *l = c ? listing_make(c) : NULL;
	DIR *none;

	if (!l)
		return c ? -ENOMEM : -err;
	for (i = 0; i < N_STREAMS; i++) {
		none = NULL;
		if (!__atomic_compare_exchange_n(&places[i].stream, &none, d, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		places[i].l = l;
		__atomic_add_fetch(&n_streams, 1, __ATOMIC_RELEASE);
		return 0;
	}
	sys_call(__NR_munmap, l, l->size);
	return -EMFILE;
}

static void leave(int i)
{
	struct listing *l = places[i].l;

	__atomic_sub_fetch(&n_streams, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&places[i].stream, NULL, __ATOMIC_RELEASE);
	sys_call(__NR_munmap, l, l->size);
}

static struct dirent *next_entry(struct listing *l)
{
	struct dirent *e = &l->entry;
	int err = 0;
	struct caller *c = process_get(&err);
	u64 ino = 1;

	while (c && l->at < l->n + N_DOTS) {
		e->d_type = l->at < N_DOTS ? DT_DIR : DT_REG;
		if (l->at < N_DOTS)
			str_add(e->d_name, sizeof(e->d_name), 0,
				l->at ? ".." : ".");
		l->at++;
		if (e->d_type == DT_REG &&
			mqdir_entry(c, l->idents[l->at - 1 - N_DOTS], e->d_name,
				&ino))
			continue;
		e->d_ino = ino;
		e->d_off = l->at;
		e->d_reclen = sizeof(*e);
		return e;
	}
	return NULL;
}

/* ---- the names ---- */

#define NEXT(type, name, params) \
	static void *next;       \
	type(*real) params = (type(*) params)process_next(&next, name)

static DIR *fdopendir_next(int fd)
{
	NEXT(DIR *, "fdopendir", (int));

	if (real)
		return real(fd);
	*__errno_location() = ENOSYS;
	return NULL;
}

EXPORT DIR *fdopendir(int fd)
{
	int was = mqdir_fd(fd), err;
	DIR *d = fdopendir_next(fd);

	if (likely(!was || !d))
		return d;
	err = enter(d);
	if (!err)
		return d;
	/* libc keeps the descriptor, so this one cannot be undone. */
	*__errno_location() = -err;
	return NULL;
}

EXPORT DIR *opendir(const char *path)
{
	NEXT(DIR *, "opendir", (const char *));
	int before = *__errno_location(), err, fd;
	DIR *d = real ? real(path) : NULL;
	long answer = d ? 0 : -*__errno_location();
	struct mqdir_at at;

	/* Which one "." is the kernel has not been asked yet. */
	if (unlikely(answer != -EFAULT && path[0] == '.' && !path[1])) {
		if (!mqdir_find_slow(AT_FDCWD, path, &at))
			return d;
	} else if (likely(!mqdir_is(AT_FDCWD, path, answer, &at))) {
		return d;
	}
	if (d)
		closedir(d);
	*__errno_location() = before;
	fd = (int)process_return(
		mqdir_open(&at, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
	d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d) {
		err = *__errno_location();
		entry_close(fd);
		*__errno_location() = err;
	}
	return d;
}

EXPORT struct dirent *readdir(DIR *d)
{
	NEXT(struct dirent *, "readdir", (DIR *));
	int i = place_of(d);

	if (unlikely(i >= 0))
		return next_entry(places[i].l);
	return real ? real(d) : NULL;
}

EXPORT struct dirent64 *readdir64(DIR *d)
{
	NEXT(struct dirent64 *, "readdir64", (DIR *));
	int i = place_of(d);

	if (unlikely(i >= 0))
		return (struct dirent64 *)next_entry(places[i].l);
	return real ? real(d) : NULL;
}

EXPORT int closedir(DIR *d)
{
	NEXT(int, "closedir", (DIR *));
	int i = place_of(d);

	if (unlikely(i >= 0)) {
		if (dirfd)
			fd_forget(dirfd(d));
		leave(i);
	}
	return real ? real(d) : -1;
}

EXPORT void rewinddir(DIR *d)
{
	NEXT(void, "rewinddir", (DIR *));
	int i = place_of(d), err = 0;
	struct caller *c = i >= 0 ? process_get(&err) : NULL;
	struct listing *l = c ? listing_make(c) : NULL;

	if (real)
		real(d);
	if (likely(i < 0))
		return;
	places[i].l->at = 0;
	if (!l)
		return;
	sys_call(__NR_munmap, places[i].l, places[i].l->size);
	places[i].l = l;
}

EXPORT long telldir(DIR *d)
{
	NEXT(long, "telldir", (DIR *));
	int i = place_of(d);

	return unlikely(i >= 0) ? (long)places[i].l->at : real ? real(d) : -1;
}

EXPORT void seekdir(DIR *d, long to)
{
	NEXT(void, "seekdir", (DIR *, long));
	int i = place_of(d);

	if (unlikely(i >= 0))
		places[i].l->at = (u32)to;
	else if (real)
		real(d, to);
}
