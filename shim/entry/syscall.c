// SPDX-License-Identifier: MIT
/*
 * syscall(): the numbers of served calls go to the same functions as the named
 * ones; everything else is passed to the kernel exactly as libc does it, from
 * a leaf without a frame, since some calls (vfork, clone) return twice or on
 * another stack.
 */
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include "entry/notify_thread.h"
#include "entry/process.h"
#include "entry/fdarrive.h"
#include "entry/fdpoll.h"
#include "entry/mqcall.h"
#include "entry/mqdir.h"
#include "entry/procfile.h"
#include "entry/procfs.h"
#include "entry/sysv.h"

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
	default:
		return process_return(entry_msgctl((int)a, (int)b, (void *)c));
	}
}

/* Of one thread: libc's own calls make them in all. */
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
	case __NR_unshare:
	case __NR_setns:
		return 1;
	default:
		return 0;
	}
}

/* set*id and capset (105..126 with others among them), unshare and setns, as
 * process.c serves the names: the cached credentials are stale afterwards, and
 * there is one thread only meanwhile; chroot and pivot_root. exit: of the last thread. rt_sigaction
 * (13): the host's handler gets its trampoline. */
__attribute__((visibility("hidden"), used)) long syscall_watched(
	long nr, long a, long b, long c, long d, long e)
{
	long ret;
	int paused;

	if (nr == __NR_rt_sigaction)
		return process_return(signal_raw(a, (void *)b, (void *)c, d));
	if (nr == __NR_exit) {
		notify_thread_ends();
		return sys_call(nr, a);
	}
	process_before_raw(nr, (u32)a, (u32)b, (u32)c);
	paused = notify_thread_pause();
	ret = sys_call(nr, a, b, c, d, e);
	notify_thread_resume(paused);
	if (changes_credentials(nr))
		process_credentials_apart();
	return process_return(ret);
}

/* 240..245: the calls of message queues. */
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
	default:
		ret = entry_mq_setattr((int)a, (void *)b, (void *)c);
	}
	return process_return(ret);
}

#define CREAT (O_CREAT | O_WRONLY | O_TRUNC)

/* In place of what the kernel has opened, fd or -errno. */
static long reopened(const struct mqdir_at *at, int flags, long mode, long fd)
{
	if (fd >= 0)
		sys_call(__NR_close, fd);
	return mqdir_open(at, flags, (u32)mode);
}

/* Calls on paths that may be the kernel's files about IPC. */
__attribute__((visibility("hidden"), used)) long syscall_path(
	long nr, long a, long b, long c, long d)
{
	struct mqdir_at at;
	long ret;

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
	default: /* faccessat */
		if (unlikely(mqdir_is((int)a, (char *)b, ret, &at)))
			return process_return(mqdir_access(&at, (int)c));
		return process_return(procfs_access((char *)b, (int)c, ret));
	}
}

/* Calls on such a file's descriptor. */
static long on_procfs(long nr, int fd, long b, long c, long d)
{
	switch (nr) {
	case __NR_read:
		return procfs_read(fd, (void *)b, c);
	case __NR_write:
		return procfs_write(fd, (void *)b, c);
	case __NR_writev:
		return procfs_writev(fd, (void *)b, (int)c);
	case __NR_readv:
		return procfs_readv(fd, (void *)b, (int)c);
	case __NR_lseek:
		return procfs_lseek(fd, b, (int)c);
	case __NR_pread64:
		return procfs_pread(fd, (void *)b, c, d);
	case __NR_pwrite64:
		return procfs_pwrite(fd, (void *)b, c, d);
	default:
		return PROCFS_PASS;
	}
}

/* Calls on descriptors that may be queues or files of procfs.h. */
__attribute__((visibility("hidden"), used)) long syscall_fd(
	long nr, long a, long b, long c, long d, long e, long f)
{
	long ret = PROCFS_PASS;

	if (unlikely(fd_is_proc((int)a)))
		ret = on_procfs(nr, (int)a, b, c, d);
	if (unlikely(ret != PROCFS_PASS))
		return process_return(ret);
	ret = MQCALL_PASS;
	if (unlikely(fd_used))
		ret = mqcall(nr, a, b, c, d, e, f);
	if (unlikely(ret != MQCALL_PASS))
		return process_return(ret);
	switch (nr) {
	case __NR_close:
		return process_return(entry_close((int)a));
	case __NR_dup:
	case __NR_dup2:
	case __NR_dup3:
		return process_return(entry_dup3(nr, (int)a, (int)b, (int)c));
	case 436 /* close_range */:
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
	case 438 /* pidfd_getfd */:
		return process_return(entry_got(sys_call(nr, a, b, c)));
	case __NR_epoll_ctl:
		entry_watch_epoll((int)b, (int)c, (void *)d);
		break;
	default:
		break;
	}
	return process_return(sys_call(nr, a, b, c, d, e, f));
}

/* More of syscall_fd's numbers: those of mqcall.c. Bit nr % 64 of word nr / 64.
 * sendfile ftruncate readlink fchmod fchown fstatfs readahead, 190.. f*xattr,
 * fadvise64 fchownat newfstatat readlinkat, 275.. splice tee sync_file_range
 * vmsplice, utimensat fallocate preadv pwritev, 326.. copy_file_range preadv2
 * pwritev2, statx */
__attribute__((visibility("hidden"), used))
const unsigned long syscall_fd_numbers[6] = {0x10000000000, 0x2a002000,
	0x4800000000000400, 0x20000092, 0x18021780850, 0x11c0};

#define NR_CLONE3 435
#define CLONE_VM 0x100

/* As clone3(2) has it, up to what is asked for. */
struct clone_args {
	unsigned long flags, pidfd, child_tid, parent_tid, exit_signal, stack;
};

/*
 * What a clone makes. With CLONE_VM it has no mappings of its own to be
 * counted; on a stack of its own it returns there, with no frame of ours.
 */
enum {
	CLONE_PASS,
	CLONE_AS_FORK,
	CLONE_ON_STACK,
};
__attribute__((visibility("hidden"), used)) int syscall_clone_kind(
	long nr, long a, long b)
{
	const struct clone_args *args = (void *)a;
	unsigned long flags = (unsigned long)a, stack = (unsigned long)b;

	if (nr == NR_CLONE3) {
		if ((size_t)b < sizeof(*args) ||
			!sys_readable(args, sizeof(*args)))
			return CLONE_PASS;
		flags = args->flags;
		stack = args->stack;
	}
	if (flags & CLONE_VM)
		return CLONE_PASS;
	return stack ? CLONE_ON_STACK : CLONE_AS_FORK;
}

/* Calls that map, unmap or change mappings; fork and a clone like it. */
__attribute__((visibility("hidden"), used)) long syscall_mapping(
	long nr, long a, long b, long c, long d, long e, long f)
{
	if (nr == __NR_fork || nr == __NR_clone || nr == NR_CLONE3)
		return process_return(entry_fork(nr, a, b, c, d, e));
	return process_return(entry_mapping(nr, a, b, c, d, e, f));
}

/* 64..66 semget, semop, semctl; 220 semtimedop; 68..71 msgget, msgsnd, msgrcv,
 * msgctl; 29..31 shmget, shmat, shmctl; 67 shmdt; 58 vfork. */
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	leaq -64(%rdi), %rax\n"
	"	cmpq $3, %rax\n"
	"	jbe syscall_served\n"
	"	leaq -29(%rdi), %rax\n"
	"	cmpq $2, %rax\n"
	"	jbe syscall_served\n"
	"	cmpq $220, %rdi\n"
	"	je syscall_served\n"
	"	leaq -68(%rdi), %rax\n"
	"	cmpq $3, %rax\n"
	"	jbe syscall_served_msg\n"
	"	leaq -240(%rdi), %rax\n"
	"	cmpq $5, %rax\n"
	"	jbe syscall_mq\n"
	/* open access creat openat faccessat */
	"	cmpq $2, %rdi\n"
	"	je syscall_path\n"
	"	cmpq $21, %rdi\n"
	"	je syscall_path\n"
	"	cmpq $85, %rdi\n"
	"	je syscall_path\n"
	"	cmpq $257, %rdi\n"
	"	je syscall_path\n"
	"	cmpq $269, %rdi\n"
	"	je syscall_path\n"
	/* read write close fstat poll lseek ioctl pread64 pwrite64 readv
	 * writev select dup dup2 */
	"	cmpq $33, %rdi\n"
	"	ja 2f\n"
	"	movabsq $0x3009f01ab, %rax\n"
	"	btq %rdi, %rax\n"
	"	jc syscall_fd\n"
	/* mmap mprotect munmap mremap madvise */
	"	movq $0x12000e00, %rax\n"
	"	btq %rdi, %rax\n"
	"	jc syscall_mapping\n"
	"2:	cmpq $72, %rdi\n"
	"	je syscall_fd\n"
	"	leaq -46(%rdi), %rax\n" /* sendmsg recvmsg */
	"	cmpq $1, %rax\n"
	"	jbe syscall_fd\n"
	"	cmpq $438, %rdi\n" /* pidfd_getfd */
	"	je syscall_fd\n"
	"	cmpq $233, %rdi\n"
	"	je syscall_fd\n"
	/* pselect6 ppoll; dup3; close_range */
	"	leaq -270(%rdi), %rax\n"
	"	cmpq $1, %rax\n"
	"	jbe syscall_fd\n"
	"	cmpq $292, %rdi\n"
	"	je syscall_fd\n"
	"	cmpq $436, %rdi\n"
	"	je syscall_fd\n"
	"	leaq -105(%rdi), %rax\n"
	"	cmpq $21, %rax\n"
	"	jbe syscall_watched\n"
	"	cmpq $13, %rdi\n"
	"	je syscall_watched\n"
	"	cmpq $60, %rdi\n"
	"	je syscall_watched\n"
	"	cmpq $272, %rdi\n"
	"	je syscall_watched\n"
	"	cmpq $308, %rdi\n"
	"	je syscall_watched\n"
	"	cmpq $155, %rdi\n" /* pivot_root */
	"	je syscall_watched\n"
	"	cmpq $161, %rdi\n" /* chroot */
	"	je syscall_watched\n"
	"	cmpq $58, %rdi\n"
	"	je process_vfork\n"
	"	cmpq $57, %rdi\n"
	"	je syscall_mapping\n"
	/* clone, clone3: syscall_clone_kind */
	"	cmpq $56, %rdi\n"
	"	je 6f\n"
	"	cmpq $435, %rdi\n"
	"	je 6f\n"
	/* mlock munlock mlockall; remap_file_pages; mlock2 */
	"3:	cmpq $383, %rdi\n"
	"	ja 4f\n"
	"	btq %rdi, syscall_fd_numbers(%rip)\n"
	"	jc syscall_fd\n"
	"4:	leaq -149(%rdi), %rax\n"
	"	cmpq $2, %rax\n"
	"	jbe syscall_mapping\n"
	"	cmpq $216, %rdi\n"
	"	je syscall_mapping\n"
	"	cmpq $325, %rdi\n"
	"	je syscall_mapping\n"
	"5:	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %rcx, %rdx\n"
	"	movq %r8, %r10\n"
	"	movq %r9, %r8\n"
	"	movq 8(%rsp), %r9\n"
	"	syscall\n"
	"	cmpq $-4095, %rax\n"
	"	jae 1f\n"
	"	ret\n"
	"1:	movq %rax, %rdi\n"
	"	jmp process_return_error\n"
	"6:	pushq %rdi\n"
	"	pushq %rsi\n"
	"	pushq %rdx\n"
	"	pushq %rcx\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	subq $8, %rsp\n"
	"	call syscall_clone_kind\n"
	"	movl %eax, (%rsp)\n"
	"	cmpl $2, %eax\n"
	"	jne 7f\n"
	"	call entry_clone_begin\n"
	"	movq %rax, %r11\n"
	"7:	popq %rax\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rcx\n"
	"	popq %rdx\n"
	"	popq %rsi\n"
	"	popq %rdi\n"
	"	cmpl $1, %eax\n"
	"	jb 5b\n"
	"	je syscall_mapping\n"
	/* On its own stack the child returns to what lies there. */
	"	pushq %r11\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %rcx, %rdx\n"
	"	movq %r8, %r10\n"
	"	movq %r9, %r8\n"
	"	syscall\n"
	"	testq %rax, %rax\n"
	"	jz 8f\n"
	"	popq %rsi\n"
	"	pushq %rax\n"
	"	movq %rax, %rdi\n"
	"	call entry_clone_end\n"
	"	popq %rax\n"
	"	cmpq $-4095, %rax\n"
	"	jae 1b\n"
	"8:	ret\n"
	".size syscall, . - syscall\n");
