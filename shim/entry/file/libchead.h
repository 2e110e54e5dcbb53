// SPDX-License-Identifier: MIT
/*
 * Where libc's headers differ, so that the library can be built with glibc's and
 * with musl's: it serves programs of both in either case. Included after them.
 *
 * musl has the names of large files as macros for the plain ones; here both are
 * defined.
 */
#ifndef IPCLIFT_ENTRY_FILE_LIBCHEAD_H
#define IPCLIFT_ENTRY_FILE_LIBCHEAD_H

#include <features.h>
#include <sys/stat.h>

/* musl before 1.2.4 */
#ifndef STATX_BASIC_STATS
#include <linux/stat.h>
#endif

#ifdef __GLIBC__
#define MMSG_FLAGS int /* of sendmmsg(2) and recvmmsg(2) */
#else
#define MMSG_FLAGS unsigned
#undef stat64
#undef lstat64
#undef fstat64
#undef fstatat64
#undef dirent64
#undef statfs64
#undef fstatfs64
#undef readdir64
struct stat64;
struct dirent64;
struct statfs64;
#endif

#endif
