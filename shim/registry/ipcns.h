// SPDX-License-Identifier: MIT
/*
 * IPC namespaces: which registry is a thread's.
 *
 * The kernel makes, keeps and ends the namespaces; here they have registries.
 * PATH is the registry of every namespace without one of its own, so containers
 * that an engine has put into several namespaces share it. A namespace made by a
 * served program (unshare, clone) has PATH.ns/N, where N is its number, if that
 * file exists: whoever has made the namespace makes the file, empty, before the
 * call returns to the program, and it becomes a registry at the first call of
 * anybody in there (region.h).
 *
 * number   from Linux 6.18 the kernel's id (NS_GET_ID), which no two namespaces of
 *          a boot share; before 6.18 the inode's, which is reused soon after
 *          the namespace has ended. Whoever has just made one knows that a file
 *          of that number is an ended one's, and replaces it.
 * mark     for namespaces made by others, where numbers are reused: the maker sets
 *          the kernel's own kernel.shmall of the namespace to a value made from
 *          the file's inode, a little below its default and equally
 *          unreachable, and the file's sticky bit to say so. (Served programs see
 *          the registry's shmall.) A namespace of the file's number with the
 *          default or another mark is a different one: it shares PATH, and the
 *          file is removed as an ended one's. A maker that may not set it (an
 *          older kernel requires root; /proc/sys may be read-only) leaves no
 *          sticky bit; and if somebody has set the value since, nothing is known:
 *          the number decides then.
 * ended    no process of its task table lives, nobody has the file mapped,
 *          no thread in /proc is in a namespace of that number, no mount that we
 *          see keeps one (ipclift registries, gc). Who cannot be asked and may
 *          open the file counts as being in it. Not the kernel's proof: one
 *          that only a descriptor keeps looks ended.
 * trusted  PATH.ns/N counts only if it is root's, the owner's of PATH, or our
 *          own, or if PATH is shared for writing: see is_trusted.
 *
 * Whoever dies between the kernel's call and the file leaves an empty namespace
 * or, if others have come into it meanwhile, one that shares PATH.
 */
#ifndef IPCLIFT_REGISTRY_IPCNS_H
#define IPCLIFT_REGISTRY_IPCNS_H

#include <stddef.h>
#include "base/str.h"
#include "base/types.h"

/* As this thread's is named; of others /proc/PID/ns/ipc. */
#define IPCNS_OWN "/proc/thread-self/ns/ipc"

/* The number of the namespace that a file of nsfs is, into ret: 0 or the
 * error of open(2). Four system calls. */
int ipcns_number(const char *link, u64 *ret);

/* PATH.ns (number 0), and PATH.ns/N of number N, into to: space for what
 * IPCNS_PATH_SIZE says. */
#define IPCNS_PATH_SIZE(path) (str_len(path) + sizeof(".ns/") + 20)
void ipcns_path(const char *path, u64 number, char *to);

/*
 * Has this thread's namespace a registry of its own beside path? Into ret its
 * number, or 0; into ret_number the namespace's in any case, or 0 if there is none
 * beside path, or it cannot be told. One system call where path has none. 0;
 * -EACCES: there are some beside path, or may be, and this user may not see which
 * (as one who was root when they were made); -EMFILE, -ENFILE.
 */
int ipcns_of_thread(const char *path, u64 *ret, u64 *ret_number);

/* The namespace was just made, and this thread is in it: give it one. 0 or
 * -errno. */
int ipcns_make(const char *path, u64 number);

/* name: PATH.ns/N. 1 if this thread's namespace, whose number is N, is surely
 * not the file's. One system call for a file without a mark, else four. */
int ipcns_is_another(const char *name);

/* The kernel's kernel.shmall without the mark. */
u64 ipcns_unmarked(u64 shmall);

#endif
