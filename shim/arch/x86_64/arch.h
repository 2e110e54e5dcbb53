// SPDX-License-Identifier: MIT
/*
 * x86-64: the syscall instruction, the pause, and the 16-byte
 * compare-and-swap. Everything that another CPU would spell differently is
 * here and nowhere else.
 *
 * Memory order: x86 keeps stores in program order and a SIGKILL takes effect
 * between instructions, so what a killed thread leaves behind is a prefix of
 * its stores. The journal (registry/journal/journal.h) rests on this.
 */
#ifndef IPCLIFT_ARCH_H
#define IPCLIFT_ARCH_H

#include <stdint.h>

static inline long arch_syscall6(
	long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile(
		"syscall"
		: "=a"(ret)
		: "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return ret;
}

/*
 * A clone(2) whose child calls fn(arg) on this stack, below what is in use, and
 * ends, while the caller waits (CLONE_VM and CLONE_VFORK in flags). The child's
 * number, or -errno.
 */
static inline long arch_clone_call(long flags, void (*fn)(void *), void *arg)
{
	long ret;
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	register void (*call)(void *) __asm__("r12") = fn;
	register void *with __asm__("r13") = arg;

	__asm__ volatile("syscall\n"
			 "	testq %%rax, %%rax\n"
			 "	jnz 1f\n"
			 /* The caller's red zone stays as it is. */
			 "	subq $256, %%rsp\n"
			 "	andq $-16, %%rsp\n"
			 "	movq %%r13, %%rdi\n"
			 "	call *%%r12\n"
			 "	movl $60, %%eax\n" /* exit */
			 "	xorl %%edi, %%edi\n"
			 "	syscall\n"
			 "	hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(56), "D"(flags), "S"(0), "d"(0), "r"(r10),
			 "r"(r8), "r"(call), "r"(with)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Copy n bytes upwards: as fast as any loop on CPUs with FSRM. */
static inline void arch_copy_up(void *dst, const void *src, unsigned long n)
{
	__asm__ volatile("rep movsb"
			 : "+D"(dst), "+S"(src), "+c"(n)
			 :
			 : "memory");
}

static inline void arch_fill(void *dst, int c, unsigned long n)
{
	__asm__ volatile("rep stosb" : "+D"(dst), "+c"(n) : "a"(c) : "memory");
}

static inline void arch_pause(void)
{
	__asm__ volatile("pause");
}

/* The time stamp counter: for short spans, as a hint. */
static inline unsigned long arch_cycles(void)
{
	unsigned lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (unsigned long)hi << 32 | lo;
}

/*
 * Compare the 16 bytes at p (16-byte aligned) with {*lo, *hi} and, if they are
 * equal, store {new_lo, new_hi}. Returns 1 on success; on failure 0, with the
 * present content in *lo and *hi. Sequentially consistent.
 */
static inline int arch_cas16(
	void *p, uint64_t *lo, uint64_t *hi, uint64_t new_lo, uint64_t new_hi)
{
	unsigned char ok;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(ok), "+m"(*(unsigned __int128 *)p),
			 "+a"(*lo), "+d"(*hi)
			 : "b"(new_lo), "c"(new_hi)
			 : "memory");
	return ok;
}

/*
 * A system call that a signal always ends, even where the kernel
 * would restart it (SA_RESTART, stop and continue): the `syscall` instruction
 * is the whole of a restartable sequence, so going back to it lands in the
 * abort handler instead, which returns -ERESTART; -EINTR then always means that
 * a handler ran. rcx tells whether the call had been entered (the instruction
 * stores the return address there); if not, it is tried again.
 * rseq_cs is the field of the thread's registered struct rseq. The word before
 * the abort handler is the signature that glibc registers with.
 */
#define ARCH_RSEQ_SIGNATURE 0x53053053u
static inline long arch_syscall6_intr(volatile uint64_t *rseq_cs, long nr,
	long a, long b, long c, long d, long e)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;

	__asm__ volatile(
		".pushsection .data.rel.ro.local.rseq,\"aw\"\n"
		".balign 32\n"
		"3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n"
		".popsection\n"
		"5: leaq 3b(%%rip), %%rax\n"
		"movq %%rax, %[cs]\n"
		"xorl %%ecx, %%ecx\n"
		"movq %[nr], %%rax\n"
		"1: syscall\n"
		"2: movq $0, %[cs]\n"
		"jmp 6f\n"
		".byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n"
		"4: testq %%rcx, %%rcx\n"
		"jz 5b\n"
		"movq $-85, %%rax\n"
		"6:\n"
		: "=&a"(ret), [cs] "+m"(*rseq_cs)
		: [nr] "r"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
		: "rcx", "r11", "memory", "cc");
	return ret;
}

/*
 * clone(2) of a thread that runs fn(arg) on a stack of its own and ends; it has
 * the maker's thread pointer, so fn must not touch thread-local variables. tid:
 * stored there, and cleared by CLONE_CHILD_CLEARTID. The tid, or -errno.
 */
static inline long arch_thread(unsigned long flags, void **stack_top,
	uint32_t *tid, void (*fn)(void *), void *arg)
{
	long ret;
	register long r10 __asm__("r10") = (long)tid;
	register long r8 __asm__("r8") = 0;

	stack_top[-1] = (void *)fn;
	stack_top[-2] = arg;
	__asm__ volatile("syscall\n"
			 "testq %%rax, %%rax\n"
			 "jnz 1f\n"
			 "xorl %%ebp, %%ebp\n"
			 "popq %%rdi\n"
			 "popq %%rax\n"
			 "call *%%rax\n"
			 "movl $60, %%eax\n"
			 "xorl %%edi, %%edi\n"
			 "syscall\n"
			 "hlt\n"
			 "1:\n"
			 : "=a"(ret)
			 : "a"(56), "D"(flags), "S"(stack_top - 2), "d"(tid),
			 "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
}

/* The running thread's thread pointer. */
static inline char *arch_thread_pointer(void)
{
	char *tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

/* Where the signal mask stands in the kernel's ucontext. */
#define ARCH_UCONTEXT_SIGMASK 296
#define ARCH_UCONTEXT_RAX 144
#define ARCH_UCONTEXT_RIP 168

/* The context is about to make this system call (again): let it have returned
 * ret instead. */
static inline void arch_skip_syscall(void *uc, long nr, long ret)
{
	long *rax = (long *)((char *)uc + ARCH_UCONTEXT_RAX);
	unsigned char **rip =
		(unsigned char **)((char *)uc + ARCH_UCONTEXT_RIP);

	if (*rax != nr || (*rip)[0] != 0x0f || (*rip)[1] != 0x05)
		return;
	*rax = ret;
	*rip += 2;
}

/* An address no user mapping can have: the top of the lower canonical half. */
#define ARCH_USER_TOP 0x7ffffffff000UL

#endif
