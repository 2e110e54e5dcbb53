// SPDX-License-Identifier: MIT
/*
 * syscall(): the numbers of served calls go to the same functions as the named
 * ones; everything else is passed to the kernel exactly as libc does it, from
 * a leaf without a frame, since some calls (vfork, clone) return twice or on
 * another stack.
 */
#include "entry/process.h"
#include "entry/sysv.h"

__attribute__((visibility("hidden"), used)) long syscall_served(
	long nr, long a, long b, long c, long d)
{
	enum facility f = nr == __NR_shmget || nr == __NR_shmat ||
			nr == __NR_shmctl || nr == __NR_shmdt ?
		FAC_SHM :
		FAC_SEM;
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
		return process_return(entry_msgsnd(
			(int)a, (void *)b, (size_t)c, (int)d, 0));
	case __NR_msgrcv:
		return process_return(entry_msgrcv(
			(int)a, (void *)b, (size_t)c, d, (int)e, 0));
	default:
		return process_return(
			entry_msgctl((int)a, (int)b, (void *)c));
	}
}

/* set*id and capset (105..126 with others among them): the cached credentials
 * are stale afterwards. rt_sigaction (13): the host's handler gets its
 * trampoline. */
__attribute__((visibility("hidden"), used)) long syscall_watched(
	long nr, long a, long b, long c, long d, long e)
{
	long ret;

	if (nr == __NR_rt_sigaction)
		return process_return(signal_raw(a, (void *)b, (void *)c, d));
	ret = sys_call(nr, a, b, c, d, e);
	process_forget_credentials();
	return process_return(ret);
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
	"	leaq -105(%rdi), %rax\n"
	"	cmpq $21, %rax\n"
	"	jbe syscall_watched\n"
	"	cmpq $13, %rdi\n"
	"	je syscall_watched\n"
	"	cmpq $58, %rdi\n"
	"	je process_vfork\n"
	"	movq %rdi, %rax\n"
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
	".size syscall, . - syscall\n");
