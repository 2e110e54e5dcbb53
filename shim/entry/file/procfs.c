// SPDX-License-Identifier: MIT
/*
 * The paths of /proc that show and steer IPC, opened by a program.
 *
 * The three of /proc/sysvipc and those of object/sysctl.h in /proc/sys/kernel
 * and /proc/sys/fs/mqueue, as long as the facility is routed here. By their
 * path; or by a relative one, or a link, whose last component is the same, if
 * the kernel says that it is this file which it has opened. libc's own call is
 * always made, and unless its path is one of these that is all: no pointer is
 * looked at that the kernel has not found good, and nothing of the registry is
 * touched. (Opening the kernel's own of these files changes nothing.)
 *
 * What the program gets is a descriptor of its own; we keep none:
 *   - for reading, a memfd with the text of the moment. It reads, seeks and
 *     stats in every libc function and every program that inherits it. read(2)
 *     through the shim is finer: of a control file it gives what the kernel
 *     gives at each offset, at the time of the read; a sysvipc file that is
 *     read again from the start is made anew.
 *   - for writing, an empty file beside the registry. write(2) through the shim
 *     goes to the control at once, with the kernel's count or error, and leaves
 *     nothing in the file; a stream of fopen or fdopen does the same
 *     (stream.c). What libc writes by itself (another stream, dprintf) or what
 *     a program without the shim writes appears there and is taken over as
 *     object/controlfile.h tells: by this process at fflush, fclose, close and
 *     dup2 at the latest, where an error is reported too.
 *
 * Seen different from the kernel: a sysvipc file gives as much as is asked for,
 * not a page at most, and one moment until the reader comes to its end;
 * /proc/self/fd tells of a memfd or a file; a rewind after freopen gives the
 * old text; a program that inherits the descriptor for writing does not learn
 * of errors, and reads nothing through one opened for both.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include "entry/file/mqdir.h"
#include "entry/file/procfs.h"
#include "entry/file/proctext.h"
#include "object/controlfile.h"
#include "object/perm.h"

int procfs_used;

/* ---- names ---- */

/* The number of a path that is to be answered here, or -1. */
static int file_of(const char *path)
{
	int which = proc_find(path);

	return which >= 0 && process_routes(proc_facility(which)) ? which : -1;
}

/* The last component of a path: what is behind its last slash, or all. Byte by
 * byte, for the memory is the application's, and valgrind reports what is read
 * there beyond the end; to the end and back, which is three instructions for
 * most bytes. */
static const char *last_of(const char *path)
{
	const char *at = path;

	while (*at)
		at++;
	while (at > path && at[-1] != '/')
		at--;
	return at;
}

/* /proc/self/fd/7: what is open there by O_PATH is the kernel's. */
static int is_descriptor(const char *path, const char *name)
{
	return name - path > 3 && name[-2] == 'd' && name[-3] == 'f' &&
	       name[-4] == '/';
}

int procfs_named(const char *path)
{
	const char *name = last_of(path);
	u32 i;

	if (unlikely(*name >= '0' && *name <= '9'))
		return is_descriptor(path, name);
	if (likely(*name != 's' && *name != 'm' && *name != 'a' &&
		    *name != 'q'))
		return 0;
	for (i = 0; i < PROC_SYSVIPC; i++)
		if (str_equal(name, proc_sysvipc_names[i]))
			return 1;
	for (i = 0; i < n_sysctl_files; i++)
		if (str_equal(name, last_of(sysctl_files[i].path)))
			return 1;
	return 0;
}

/* By a relative path or a link: the kernel tells what it has opened. */
int procfs_find(const char *path, int fd)
{
	char link[32], name[PROC_PATH_CAP];
	int which = file_of(path);
	long n;

	if (which >= 0 || fd < 0)
		return which;
	str_add_u64(link, sizeof(link),
		str_add(link, sizeof(link), 0, "/proc/self/fd/"), (u64)fd);
	n = sys_call(__NR_readlink, link, name, sizeof(name) - 1);
	if (n <= 0)
		return -1;
	name[n] = 0;
	return file_of(name);
}

/* ---- opening ---- */

static u32 wanted(int flags)
{
	static const u32 want[] = {
		PERM_R, PERM_W, PERM_R | PERM_W, PERM_R | PERM_W};

	return want[flags & O_ACCMODE];
}

static int may_open(struct caller *c, int which, u32 want)
{
	if (which >= PROC_SYSVIPC)
		return sysctl_access(c, proc_sysctl(which), want);
	return (want & PERM_W) && !perm_capable(c, CRED_DAC_OVERRIDE) ? -EACCES
								      : 0;
}

/* What the kernel refuses of such a file by the flags alone. */
static int flags_refused(int flags)
{
	if ((flags & (O_TMPFILE & ~O_DIRECTORY)) || (flags & O_DIRECT))
		return -EINVAL;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	return flags & O_DIRECTORY ? -ENOTDIR : 0;
}

static int open_text(struct caller *c, int which, int flags)
{
	const char *name = which < PROC_SYSVIPC ? proc_sysvipc_names[which]
						: proc_sysctl(which)->path;
	int fd = (int)sys_call(
		    __NR_memfd_create, name, flags & O_CLOEXEC ? 1 : 0),
	    err;

	if (fd < 0)
		return fd;
	err = proc_snapshot(c, fd, which);
	if (err) {
		sys_call(__NR_close, fd);
		return err;
	}
	if (flags & O_NONBLOCK)
		sys_call(__NR_fcntl, fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static long open_file(struct caller *c, int which, int flags, u32 *ret_at)
{
	u32 access = (u32)flags & O_ACCMODE;

	if (which >= PROC_SYSVIPC && (access == O_WRONLY || access == O_RDWR))
		return controlfile_open(
			c, (u32)(which - PROC_SYSVIPC), (u32)flags, ret_at);
	return open_text(c, which, flags);
}

/* Note a descriptor that was just opened. */
static void enter(struct caller *c, int fd, int which, u32 at, u32 access)
{
	struct stat st;

	if (!sys_call(__NR_fstat, fd, &st))
		fd_enter_proc(c, fd, proc_ident(st.st_ino, which, at), access);
}

long procfs_open_file(int which, int flags)
{
	u32 at = PROC_NO_FILE;
	int err = 0;
	struct caller *c = process_get(&err);
	long fd;

	if (!c)
		return -err;
	controlfile_drain(c);
	err = flags_refused(flags);
	if (!err)
		err = may_open(c, which, wanted(flags));
	if (err)
		return err;
	fd = open_file(c, which, flags, &at);
	if (fd >= 0) {
		procfs_used = 1;
		enter(c, (int)fd, which, at, (u32)flags & O_ACCMODE);
	}
	return fd;
}

long procfs_open_slow(const char *path, int flags, long fd)
{
	int which = procfs_find(path, (int)fd);

	if (which < 0 || (flags & O_PATH))
		return fd;
	if (fd >= 0)
		sys_call(__NR_close, fd);
	return procfs_open_file(which, flags);
}

int procfs_opened_slow(const char *path, int flags, int fd, int before)
{
	long ret = procfs_open_slow(path, flags, fd);

	if (ret == fd)
		return fd;
	*__errno_location() = before;
	return (int)process_return(ret);
}

long procfs_access(const char *path, int mode, long ret)
{
	int which, err = 0;
	struct caller *c;

	if (likely(!procfs_readable(ret) || !procfs_prefix(path)))
		return ret;
	which = file_of(path);
	if (which < 0)
		return ret;
	if (mode & X_OK)
		return -EACCES;
	if (!(mode & W_OK))
		return 0;
	c = process_get(&err);
	return c ? may_open(c, which, PERM_W) : -err;
}

/* ---- the names ---- */

#undef open
#undef open64
#undef openat
#undef openat64
#undef creat
#undef creat64

/* The mode is passed on whether or not it was given, as libc does. */
#define MODE_ARGUMENT(last, mode)    \
	va_list ap;                  \
	unsigned mode;               \
                                     \
	va_start(ap, last);          \
	mode = va_arg(ap, unsigned); \
	va_end(ap)

typedef int (*open_fn)(const char *, int, ...);
typedef int (*openat_fn)(int, const char *, int, ...);
typedef int (*creat_fn)(const char *, mode_t);
typedef int (*access_fn)(const char *, int);
typedef int (*faccessat_fn)(int, const char *, int, int);

static __attribute__((noinline)) int maybe_served(
	int dir, const char *path, int flags, unsigned mode, int fd, int before)
{
	int got = mqdir_opened(dir, path, flags, mode, fd, before);

	return got == fd ? procfs_opened(path, flags, fd, before) : got;
}

/* Most files that a program opens have an absolute path, of which some compares
 * tell that it is nobody's business here. */
static inline int opened(
	int dir, const char *path, int flags, unsigned mode, int fd, int before)
{
	if (likely(fd >= 0 && path[0] == '/' && !mqdir_prefix(path) &&
		    !mqpath_maybe(path) && !procfs_maybe(path)))
		return fd;
	return maybe_served(dir, path, flags, mode, fd, before);
}

/* libc's own, of openat's kind or of open's, or the plain call where it has no
 * such name. In each of the names by itself: every file that a program opens
 * comes by here. */
static inline __attribute__((always_inline)) int open_on(void **next,
	const char *name, int has_dir, int dir, const char *path, int flags,
	unsigned mode)
{
	int before = *__errno_location(), fd;
	void *real = process_next(next, name);
	struct mqdir_at at;

	if (unlikely(flags & (O_CREAT | O_TRUNC)) &&
		mqdir_is_before(dir, path, &at))
		return (int)process_return(mqdir_open(&at, flags, mode));
	if (unlikely(!real))
		fd = (int)process_return(
			sys_call(__NR_openat, dir, path, flags, mode));
	else if (has_dir)
		fd = ((openat_fn)real)(dir, path, flags, mode);
	else
		fd = ((open_fn)real)(path, flags, mode);
	return opened(dir, path, flags, mode, fd, before);
}

static int creat_on(
	void **next, const char *name, const char *path, mode_t mode)
{
	int before = *__errno_location(), fd;
	creat_fn real = (creat_fn)process_next(next, name);
	const int flags = O_CREAT | O_WRONLY | O_TRUNC;
	struct mqdir_at at;

	if (unlikely(mqdir_is_before(AT_FDCWD, path, &at)))
		return (int)process_return(mqdir_open(&at, flags, mode));
	if (likely(real != NULL))
		fd = real(path, mode);
	else
		fd = (int)process_return(sys_call(__NR_creat, path, mode));
	return procfs_opened(path, flags, fd, before);
}

/* The answer of libc or the kernel was ret; errno was before. */
static int access_answer(
	int dir, const char *path, int mode, int ret, int before)
{
	long was = ret ? -*__errno_location() : 0;
	struct mqdir_at at;
	long is = unlikely(mqdir_is(dir, path, was, &at))
			  ? mqdir_access(&at, mode)
			  : procfs_access(path, mode, was);

	if (likely(is == was))
		return ret;
	*__errno_location() = before;
	return (int)process_return(is);
}

static int access_on(void **next, const char *name, const char *path, int mode)
{
	int before = *__errno_location(), ret;
	access_fn real = (access_fn)process_next(next, name);

	if (likely(real != NULL))
		ret = real(path, mode);
	else
		ret = (int)process_return(sys_call(__NR_access, path, mode));
	return access_answer(AT_FDCWD, path, mode, ret, before);
}

#define OPEN_LIKE(name)                                                       \
	EXPORT int name(const char *path, int flags, ...)                     \
	{                                                                     \
		static void *next;                                            \
		MODE_ARGUMENT(flags, mode);                                   \
                                                                              \
		return open_on(&next, #name, 0, AT_FDCWD, path, flags, mode); \
	}

#define OPENAT_LIKE(name)                                                \
	EXPORT int name(int dir, const char *path, int flags, ...)       \
	{                                                                \
		static void *next;                                       \
		MODE_ARGUMENT(flags, mode);                              \
                                                                         \
		return open_on(&next, #name, 1, dir, path, flags, mode); \
	}

/* glibc's checked forms have no mode: they are called without O_CREAT. */
#define OPEN_2_LIKE(name)                                                  \
	EXPORT int name(const char *path, int flags)                       \
	{                                                                  \
		static void *next;                                         \
                                                                           \
		return open_on(&next, #name, 0, AT_FDCWD, path, flags, 0); \
	}

#define OPENAT_2_LIKE(name)                                           \
	EXPORT int name(int dir, const char *path, int flags)         \
	{                                                             \
		static void *next;                                    \
                                                                      \
		return open_on(&next, #name, 1, dir, path, flags, 0); \
	}

#define CREAT_LIKE(name)                                   \
	EXPORT int name(const char *path, mode_t mode)     \
	{                                                  \
		static void *next;                         \
                                                           \
		return creat_on(&next, #name, path, mode); \
	}

#define ACCESS_LIKE(name)                                   \
	EXPORT int name(const char *path, int mode)         \
	{                                                   \
		static void *next;                          \
                                                            \
		return access_on(&next, #name, path, mode); \
	}

OPEN_LIKE(open)
OPEN_LIKE(open64)
OPENAT_LIKE(openat)
OPENAT_LIKE(openat64)
OPEN_2_LIKE(__open_2)
OPEN_2_LIKE(__open64_2)
OPENAT_2_LIKE(__openat_2)
OPENAT_2_LIKE(__openat64_2)
CREAT_LIKE(creat)
CREAT_LIKE(creat64)
ACCESS_LIKE(access)
ACCESS_LIKE(eaccess)
ACCESS_LIKE(euidaccess)

EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
	static void *next;
	int before = *__errno_location(), ret;
	faccessat_fn real = (faccessat_fn)process_next(&next, "faccessat");

	if (likely(real != NULL))
		ret = real(dir, path, mode, flags);
	else
		ret = (int)process_return(
			sys_call(__NR_faccessat, dir, path, mode));
	return access_answer(dir, path, mode, ret, before);
}
