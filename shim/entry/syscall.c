// SPDX-License-Identifier: MIT
/*
 * syscall(): the numbers of served calls go to the same functions as the named
 * ones, by the table at the end of this file; everything else is passed to the
 * kernel (arch/CPU/entry.S). To serve one more number takes a row there, and a
 * case in the function of its way: without a case, a call with a path or
 * descriptor is passed to the kernel after all, and an IPC call fails with
 * ENOSYS.
 */
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include <linux/sched.h>
#include "entry/lease.h"
#include "entry/notify_thread.h"
#include "entry/process.h"
#include "entry/file/fdarrive.h"
#include "entry/file/fdpoll.h"
#include "entry/file/fdcall.h"
#include "entry/file/mqdir.h"
#include "entry/file/procfile.h"
#include "entry/file/procfs.h"
#include "entry/syscall_way.h"
#include "entry/sysv.h"
#include "entry/world.h"
#include "registry/guard.h"

__attribute__((visibility("hidden"), used)) long syscall_served(
	long nr, long a, long b, long c, long d)
{
	enum facility f = nr == __NR_shmget || nr == __NR_shmat ||
					  nr == __NR_shmctl || nr == __NR_shmdt
				  ? FAC_SHM
				  : FAC_SEM;
	long ret;

	if (!process_routes(f))
		return process_return(sys_call(nr, a, b, c, d));
	switch (nr) {
	case __NR_semget:
		ret = entry_semget((int)a, (int)b, (int)c);
		break;
	case __NR_semop:
		ret = entry_semop((int)a, (void *)b, (unsigned)c, NULL);
		break;
	case __NR_semtimedop:
		ret = entry_semop((int)a, (void *)b, (unsigned)c, (void *)d);
		break;
	case __NR_semctl:
		ret = entry_semctl((int)a, (int)b, (int)c, d);
		break;
	case __NR_shmget:
		ret = entry_shmget((int)a, (size_t)b, (int)c);
		break;
	case __NR_shmat:
		ret = entry_shmat((int)a, (void *)b, (int)c);
		break;
	case __NR_shmctl:
		ret = entry_shmctl((int)a, (int)b, (void *)c);
		break;
	case __NR_shmdt:
		ret = entry_shmdt((void *)a);
		break;
	default:
		ret = -ENOSYS;
	}
	return process_return(ret);
}

/* The same for message queues. By number they are no cancellation points. */
__attribute__((visibility("hidden"), used)) long syscall_served_msg(
	long nr, long a, long b, long c, long d, long e)
{
	if (!process_routes(FAC_MSG))
		return process_return(sys_call(nr, a, b, c, d, e));
	switch (nr) {
	case __NR_msgget:
		return process_return(entry_msgget((int)a, (int)b));
	case __NR_msgsnd:
		return process_return(
			entry_msgsnd((int)a, (void *)b, (size_t)c, (int)d, 0));
	case __NR_msgrcv:
		return process_return(entry_msgrcv(
			(int)a, (void *)b, (size_t)c, d, (int)e, 0));
	case __NR_msgctl:
		return process_return(entry_msgctl((int)a, (int)b, (void *)c));
	default:
		return process_return(-ENOSYS);
	}
}

/* By number it changes one thread's; libc's functions change all threads'. */
static int changes_credentials(long nr)
{
	switch (nr) {
	case __NR_setuid:
	case __NR_setgid:
	case __NR_setreuid:
	case __NR_setregid:
	case __NR_setgroups:
	case __NR_setresuid:
	case __NR_setresgid:
	case __NR_setfsuid:
	case __NR_setfsgid:
	case __NR_capset:
		return 1;
	default:
		return 0;
	}
}

/* set*id and capset, of which process.c serves the names: the cached
 * credentials are stale afterwards, for this thread only; unshare and setns;
 * chroot and pivot_root; exit of the last thread; rt_sigaction: the
 * application's handler gets its trampoline. */
__attribute__((visibility("hidden"), used)) long syscall_watched(
	long nr, long a, long b, long c, long d, long e)
{
	long ret;
	int paused;

	if (nr == __NR_rt_sigaction)
		return process_return(signal_raw(a, (void *)b, (void *)c, d));
	if (nr == __NR_exit_group) {
		lease_process_ends();
		return sys_call(nr, a);
	}
	if (nr == __NR_exit) {
		notify_thread_ends();
		return sys_call(nr, a);
	}
	if (nr == __NR_unshare || nr == __NR_setns) {
		ret = entry_moving(nr, a, b);
		process_credentials_apart();
		return process_return(ret);
	}
	process_before_raw(nr, (u32)a, (u32)b, (u32)c);
	paused = notify_thread_pause();
	ret = sys_call(nr, a, b, c, d, e);
	notify_thread_resume(paused);
	if (nr == __NR_setfsuid || nr == __NR_setfsgid)
		process_files_apart();
	else if (changes_credentials(nr))
		process_credentials_apart();
	return process_return(ret);
}

/* The calls of POSIX message queues. */
__attribute__((visibility("hidden"), used)) long syscall_mq(
	long nr, long a, long b, long c, long d, long e)
{
	long ret;

	if (!process_routes(FAC_MQ))
		return process_return(sys_call(nr, a, b, c, d, e));
	switch (nr) {
	case __NR_mq_open:
		ret = entry_mq_open((char *)a, (int)b, (unsigned)c, (void *)d);
		break;
	case __NR_mq_unlink:
		ret = entry_mq_unlink((char *)a);
		break;
	case __NR_mq_timedsend:
		ret = entry_mq_send(
			(int)a, (char *)b, c, (unsigned)d, (void *)e);
		break;
	case __NR_mq_timedreceive:
		ret = entry_mq_receive(
			(int)a, (char *)b, c, (unsigned *)d, (void *)e);
		break;
	case __NR_mq_notify:
		ret = entry_mq_notify((int)a, (void *)b, 0);
		break;
	case __NR_mq_getsetattr:
		ret = entry_mq_setattr((int)a, (void *)b, (void *)c);
		break;
	default:
		ret = -ENOSYS;
	}
	return process_return(ret);
}

#define CREAT (O_CREAT | O_WRONLY | O_TRUNC)

/* The descriptor to return in place of the kernel's fd, or -errno. */
static long reopened(const struct mqdir_at *at, int flags, long mode, long fd)
{
	if (fd >= 0)
		sys_call(__NR_close, fd);
	return mqdir_open(at, flags, (u32)mode);
}

/* Of linux/openat2.h, which old headers lack. */
#define RESOLVE_ONE_MOUNT 1
#define RESOLVE_WITHIN 0x18
struct how {
	u64 flags, mode, resolve;
};

/* A path that must stay below its directory, or has that as its root, is not
 * served; nor is one that the kernel refuses. */
static long syscall_openat2(
	int dir, const char *path, const struct how *how, size_t len)
{
	struct mqdir_at at;
	struct how h = {.resolve = RESOLVE_WITHIN};
	long ret;

	if (len >= sizeof(h) && (uintptr_t)how >= GUARD_LOWEST &&
		sys_readable(how, sizeof(h)))
		h = *how;
	if ((h.flags & (O_CREAT | O_TRUNC)) &&
		!(h.resolve & (RESOLVE_WITHIN | RESOLVE_ONE_MOUNT)) &&
		mqdir_is_before(dir, path, &at))
		return mqdir_open(&at, (int)h.flags, (u32)h.mode);
	ret = sys_call(__NR_openat2, dir, path, how, len);
	if ((h.resolve & RESOLVE_WITHIN) || ret == -EXDEV || ret == -ELOOP ||
		ret == -E2BIG)
		return ret;
	if (unlikely(mqdir_is(dir, path, ret, &at)))
		return reopened(&at, (int)h.flags, (long)h.mode, ret);
	return procfs_open(path, (int)h.flags, ret);
}

/* Calls on paths that may be the kernel's files about IPC. */
__attribute__((visibility("hidden"), used)) long syscall_path(
	long nr, long a, long b, long c, long d)
{
	struct mqdir_at at;
	long ret;

	if (unlikely(nr == __NR_openat2))
		return process_return(syscall_openat2(
			(int)a, (char *)b, (struct how *)c, (size_t)d));
	if (unlikely(nr == __NR_creat ||
		     (nr == __NR_open && (b & (O_CREAT | O_TRUNC)))) &&
		mqdir_is_before(AT_FDCWD, (char *)a, &at))
		return process_return(
			nr == __NR_creat ? mqdir_open(&at, CREAT, (u32)b)
					 : mqdir_open(&at, (int)b, (u32)c));
	if (unlikely(nr == __NR_openat && (c & (O_CREAT | O_TRUNC))) &&
		mqdir_is_before((int)a, (char *)b, &at))
		return process_return(mqdir_open(&at, (int)c, (u32)d));
	ret = sys_call(nr, a, b, c, d);
	switch (nr) {
	case __NR_open:
		if (unlikely(mqdir_is(AT_FDCWD, (char *)a, ret, &at)))
			return process_return(reopened(&at, (int)b, c, ret));
		return process_return(procfs_open((char *)a, (int)b, ret));
	case __NR_creat:
		return process_return(procfs_open((char *)a, CREAT, ret));
	case __NR_openat:
		if (unlikely(mqdir_is((int)a, (char *)b, ret, &at)))
			return process_return(reopened(&at, (int)c, d, ret));
		return process_return(procfs_open((char *)b, (int)c, ret));
	case __NR_access:
		if (unlikely(mqdir_is(AT_FDCWD, (char *)a, ret, &at)))
			return process_return(mqdir_access(&at, (int)b));
		return process_return(procfs_access((char *)a, (int)b, ret));
	case __NR_faccessat:
	case __NR_faccessat2:
		if (unlikely(mqdir_is((int)a, (char *)b, ret, &at)))
			return process_return(mqdir_access(&at, (int)c));
		return process_return(procfs_access((char *)b, (int)c, ret));
	default:
		return process_return(ret);
	}
}

/* Calls on descriptors that may be queues or files of procfs.h. */
__attribute__((visibility("hidden"), used)) long syscall_fd(
	long nr, long a, long b, long c, long d, long e, long f)
{
	long ret = fdcall(nr, a, b, c, d, e, f);

	if (unlikely(ret != FD_PASS))
		return process_return(ret);
	switch (nr) {
	case __NR_close:
		return process_return(entry_close((int)a));
	case __NR_dup:
	case __NR_dup2:
	case __NR_dup3:
		return process_return(entry_dup3(nr, (int)a, (int)b, (int)c));
	case __NR_close_range:
		return process_return(
			entry_close_range((unsigned)a, (unsigned)b, (int)c));
	case __NR_fcntl:
		return fcntl((int)a, (int)b, c);
	case __NR_poll:
	case __NR_ppoll:
		entry_watch_poll((void *)a, b);
		break;
	case __NR_select:
	case __NR_pselect6:
		entry_watch_select((int)a, (void *)b, (void *)c);
		break;
	case __NR_sendmsg:
		entry_sending((void *)b);
		break;
	case __NR_recvmsg:
		ret = sys_call(nr, a, b, c);
		if (ret >= 0)
			entry_received((void *)b);
		return process_return(ret);
	case __NR_pidfd_getfd:
		return process_return(entry_got(sys_call(nr, a, b, c)));
	case __NR_epoll_ctl:
		entry_watch_epoll((int)b, (int)c, (void *)d);
		break;
	default:
		break;
	}
	return process_return(sys_call(nr, a, b, c, d, e, f));
}

static unsigned long clone_flags(long nr, long a, long b)
{
	const struct clone_args *args = (void *)a;

	if (nr == __NR_clone3)
		return (size_t)b >= CLONE_ARGS_SIZE_VER0 &&
				       sys_readable(args, CLONE_ARGS_SIZE_VER0)
			       ? args->flags
			       : 0;
	return nr == __NR_clone ? (unsigned long)a : 0;
}

/* CLONE_PASS etc. */
__attribute__((visibility("hidden"), used)) int syscall_clone_kind(
	long nr, long a, long b)
{
	const struct clone_args *args = (void *)a;
	unsigned long flags = (unsigned long)a, stack = (unsigned long)b;

	if (nr == __NR_clone3) {
		if ((size_t)b < CLONE_ARGS_SIZE_VER0 ||
			!sys_readable(args, CLONE_ARGS_SIZE_VER0))
			return CLONE_PASS;
		flags = args->flags;
		stack = args->stack;
	}
	if (flags & CLONE_VM)
		return CLONE_PASS;
	return stack ? CLONE_ON_STACK : CLONE_AS_FORK;
}

/* Calls that map, unmap or change mappings; fork and clones like it. */
__attribute__((visibility("hidden"), used)) long syscall_mapping(
	long nr, long a, long b, long c, long d, long e, long f)
{
	if (nr == __NR_fork || nr == __NR_clone || nr == __NR_clone3)
		return process_return(entry_fork(nr, a, b, c, d, e,
			!!(clone_flags(nr, a, b) & CLONE_NEWIPC)));
	return process_return(entry_mapping(nr, a, b, c, d, e, f));
}

/* Numbers without a row are WAY_KERNEL. */
__attribute__((visibility("hidden"), used))
const unsigned char syscall_ways[SYSCALL_NUMBERS] = {
	[__NR_semget] = WAY_SYSV,
	[__NR_semop] = WAY_SYSV,
	[__NR_semtimedop] = WAY_SYSV,
	[__NR_semctl] = WAY_SYSV,
	[__NR_shmget] = WAY_SYSV,
	[__NR_shmat] = WAY_SYSV,
	[__NR_shmdt] = WAY_SYSV,
	[__NR_shmctl] = WAY_SYSV,
	[__NR_msgget] = WAY_MSG,
	[__NR_msgsnd] = WAY_MSG,
	[__NR_msgrcv] = WAY_MSG,
	[__NR_msgctl] = WAY_MSG,
	[__NR_mq_open] = WAY_MQ,
	[__NR_mq_unlink] = WAY_MQ,
	[__NR_mq_timedsend] = WAY_MQ,
	[__NR_mq_timedreceive] = WAY_MQ,
	[__NR_mq_notify] = WAY_MQ,
	[__NR_mq_getsetattr] = WAY_MQ,
	/* may name a file of procfs.h, or of /dev/mqueue */
	[__NR_open] = WAY_PATH,
	[__NR_openat] = WAY_PATH,
	[__NR_creat] = WAY_PATH,
	[__NR_openat2] = WAY_PATH,
	[__NR_access] = WAY_PATH,
	[__NR_faccessat] = WAY_PATH,
	[__NR_faccessat2] = WAY_PATH,
	/* may be of a queue, or of such a file */
	[__NR_read] = WAY_FD,
	[__NR_readv] = WAY_FD,
	[__NR_pread64] = WAY_FD,
	[__NR_write] = WAY_FD,
	[__NR_writev] = WAY_FD,
	[__NR_pwrite64] = WAY_FD,
	[__NR_lseek] = WAY_FD,
	[__NR_close] = WAY_FD,
	[__NR_close_range] = WAY_FD,
	[__NR_dup] = WAY_FD,
	[__NR_dup2] = WAY_FD,
	[__NR_dup3] = WAY_FD,
	[__NR_fcntl] = WAY_FD,
	[__NR_ioctl] = WAY_FD,
	[__NR_fstat] = WAY_FD,
	[__NR_newfstatat] = WAY_FD,
	[__NR_statx] = WAY_FD,
	[__NR_ftruncate] = WAY_FD,
	[__NR_fchmod] = WAY_FD,
	[__NR_fchown] = WAY_FD,
	[__NR_sendfile] = WAY_FD,
	[__NR_copy_file_range] = WAY_FD,
	[__NR_readlink] = WAY_FD,
	[__NR_readlinkat] = WAY_FD,
	[__NR_poll] = WAY_FD,
	[__NR_ppoll] = WAY_FD,
	[__NR_select] = WAY_FD,
	[__NR_pselect6] = WAY_FD,
	[__NR_epoll_ctl] = WAY_FD,
	[__NR_sendmsg] = WAY_FD,
	[__NR_recvmsg] = WAY_FD,
	[__NR_pidfd_getfd] = WAY_FD,
	[__NR_setuid] = WAY_WATCHED,
	[__NR_setgid] = WAY_WATCHED,
	[__NR_setreuid] = WAY_WATCHED,
	[__NR_setregid] = WAY_WATCHED,
	[__NR_setgroups] = WAY_WATCHED,
	[__NR_setresuid] = WAY_WATCHED,
	[__NR_setresgid] = WAY_WATCHED,
	[__NR_setfsuid] = WAY_WATCHED,
	[__NR_setfsgid] = WAY_WATCHED,
	[__NR_capset] = WAY_WATCHED,
	[__NR_unshare] = WAY_WATCHED,
	[__NR_setns] = WAY_WATCHED,
	[__NR_chroot] = WAY_WATCHED,
	[__NR_pivot_root] = WAY_WATCHED,
	[__NR_rt_sigaction] = WAY_WATCHED,
	[__NR_exit] = WAY_WATCHED,
	[__NR_exit_group] = WAY_WATCHED,
	[__NR_fork] = WAY_MAPPING,
	[__NR_mmap] = WAY_MAPPING,
	[__NR_munmap] = WAY_MAPPING,
	[__NR_mremap] = WAY_MAPPING,
	[__NR_mprotect] = WAY_MAPPING,
	[__NR_madvise] = WAY_MAPPING,
	[__NR_mlock] = WAY_MAPPING,
	[__NR_mlock2] = WAY_MAPPING,
	[__NR_munlock] = WAY_MAPPING,
	[__NR_mlockall] = WAY_MAPPING,
	[__NR_remap_file_pages] = WAY_MAPPING,
	[__NR_clone] = WAY_CLONE,
	[__NR_clone3] = WAY_CLONE,
	[__NR_vfork] = WAY_VFORK,
};
