/* SPDX-License-Identifier: MIT */
/*
 * Exported functions that must not have a frame of their own, or must leave the
 * caller's return address as it is: syscall, vfork, dlopen, dlsym, dlvsym.
 */
#include "entry/syscall_way.h"

	.text

/*
 * long syscall(long nr, ...)
 *
 * What syscall_ways says of the number decides. All but the served ones go to the
 * kernel exactly as libc passes them, from a leaf without a frame, since some
 * calls (vfork, clone) return twice or on another stack. Each handler gets the
 * arguments as they came: nr, then six of them.
 */
	.globl	syscall
	.type	syscall, @function
syscall:
	cmpq	$SYSCALL_NUMBERS, %rdi
	jae	kernel
	leaq	syscall_ways(%rip), %rax
	movzbl	(%rax,%rdi), %eax
	testl	%eax, %eax
	jz	kernel
	leaq	handlers(%rip), %r10
	movslq	(%r10,%rax,4), %rax
	addq	%r10, %rax
	jmp	*%rax
kernel:
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	failed
	ret
failed:
	movq	%rax, %rdi
	jmp	process_return_error

/* clone, clone3: syscall_clone_kind says how. */
cloning:
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	subq	$8, %rsp
	call	syscall_clone_kind
	movl	%eax, (%rsp)
	cmpl	$CLONE_ON_STACK, %eax
	jne	1f
	call	entry_clone_begin
	movq	%rax, %r11
1:	popq	%rax
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	cmpl	$CLONE_AS_FORK, %eax
	jb	kernel
	je	syscall_mapping
	/* On its own stack the child returns to what lies there. */
	pushq	%r11
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	syscall
	testq	%rax, %rax
	jz	2f
	popq	%rsi
	pushq	%rax
	movq	%rax, %rdi
	call	entry_clone_end
	popq	%rax
	cmpq	$-4095, %rax
	jae	failed
2:	ret
	.size	syscall, . - syscall

/* In the order of the numbers in syscall_way.h. */
	.section .rodata
	.balign	4
handlers:
	.long	kernel - handlers
	.long	syscall_served - handlers
	.long	syscall_served_msg - handlers
	.long	syscall_mq - handlers
	.long	syscall_path - handlers
	.long	syscall_fd - handlers
	.long	syscall_watched - handlers
	.long	syscall_mapping - handlers
	.long	cloning - handlers
	.long	process_vfork - handlers
	.text

/*
 * The return address must survive in a register: the child runs on the same
 * stack and overwrites the slot it was in. The kernel keeps %rdx (and %rsi, the
 * depth) for both.
 */
	.globl	vfork
	.hidden	process_vfork
	.globl	process_vfork
	.type	vfork, @function
process_vfork:
vfork:
	subq	$8, %rsp
	call	process_vfork_before
	addq	$8, %rsp
	movl	%eax, %esi
	popq	%rdx
	movl	$58, %eax
	syscall
	pushq	%rdx
	pushq	%rax
	movq	%rax, %rdi
	call	process_vfork_after
	popq	%rax
	cmpq	$-4095, %rax
	jb	1f
	movq	%rax, %rdi
	jmp	process_return_error
1:	ret
	.size	vfork, . - vfork

/* RTLD_DEEPBIND is dropped (process.c). */
	.globl	dlopen
	.type	dlopen, @function
dlopen:
	pushq	%rdi
	pushq	%rsi
	subq	$8, %rsp
	call	process_dlopen_next
	addq	$8, %rsp
	popq	%rsi
	popq	%rdi
	andl	$-9, %esi
	testq	%rax, %rax
	jz	1f
	jmp	*%rax
1:	ret
	.size	dlopen, . - dlopen

/*
 * RTLD_DEFAULT (0) and RTLD_NEXT (-1) are answered by who calls: these end in a
 * jump, so that the loader sees the application's return address. Any other
 * handle goes to a function that gets that address as its last argument, in
 * `from`. dlsym has two arguments and dlvsym three: %rdx is kept for both.
 */
	.macro	look_up name, by_handle, next, from
	.globl	\name
	.type	\name, @function
\name:
	leaq	1(%rdi), %rax
	cmpq	$1, %rax
	jbe	1f
	movq	(%rsp), \from
	jmp	\by_handle
1:	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	call	\next
	popq	%rdx
	popq	%rsi
	popq	%rdi
	testq	%rax, %rax
	jz	2f
	jmp	*%rax
2:	ret
	.size	\name, . - \name
	.endm

	look_up	dlsym, next_by_handle, next_dlsym, %rdx
	look_up	dlvsym, next_by_version, next_dlvsym, %rcx

	.section .note.GNU-stack, "", @progbits
