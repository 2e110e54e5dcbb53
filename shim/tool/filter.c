// SPDX-License-Identifier: MIT
/*
 * The filter of system calls of run --strict; see filter.h.
 *
 * The kernel keeps a bitmap of the numbers for which a filter can only say yes,
 * so that a call that is no IPC call costs a look at that (10 ns measured). It
 * finds that out by itself, as long as the way of such a number through the
 * filter looks at number and architecture alone.
 */
#include "tool/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"

#define X32_BIT 0x40000000u
#define I386_IPC 117
#define CODE_MAX 128 /* instructions; all there is takes half of them */

struct range {
	enum facility facility;
	u32 first, last;
};

/* <asm/unistd_64.h>; the last is x32's alone. */
static const struct range native[] = {
	{FAC_SHM, 29, 31},   /* shmget, shmat, shmctl */
	{FAC_SEM, 64, 66},   /* semget, semop, semctl */
	{FAC_SHM, 67, 67},   /* shmdt */
	{FAC_MSG, 68, 71},   /* msgget, msgsnd, msgrcv, msgctl */
	{FAC_SEM, 220, 220}, /* semtimedop */
	{FAC_MQ, 240, 245},  /* mq_open to mq_getsetattr */
	{FAC_MQ, 527, 527},  /* mq_notify */
};

/* <asm/unistd_32.h> */
static const struct range i386[] = {
	{FAC_MQ, 277, 282},  /* mq_open to mq_getsetattr */
	{FAC_SEM, 393, 394}, /* semget, semctl */
	{FAC_SHM, 395, 398}, /* shmget, shmctl, shmat, shmdt */
	{FAC_MSG, 399, 402}, /* msgget, msgsnd, msgrcv, msgctl */
	{FAC_MQ, 418, 419},  /* mq_timedsend, mq_timedreceive, time64 */
	{FAC_SEM, 420, 420}, /* semtimedop_time64 */
};

/* The first argument of ipc(2), without the version in its upper half. */
static const struct range i386_ipc[] = {
	{FAC_SEM, 1, 4},
	{FAC_MSG, 11, 14},
	{FAC_SHM, 21, 24},
};

struct code {
	struct sock_filter at[CODE_MAX];
	unsigned short n;
};

static unsigned put(
	struct code *c, unsigned op, u32 k, unsigned jt, unsigned jf)
{
	c->at[c->n] =
		(struct sock_filter){(unsigned short)op, (__u8)jt, (__u8)jf, k};
	return c->n++;
}

static void put_load(struct code *c, size_t off)
{
	put(c, BPF_LD | BPF_W | BPF_ABS, (u32)off, 0, 0);
}

/* The calls of these ranges are answered: by ENOSYS, but for the library's. */
static void put_ranges(
	struct code *c, const struct range *r, size_t n, u32 routes)
{
	for (; n--; r++) {
		if (!(routes >> r->facility & 1))
			continue;
		put(c, BPF_JMP | BPF_JGE | BPF_K, r->first, 0, 5);
		put(c, BPF_JMP | BPF_JGT | BPF_K, r->last, 4, 0);
		put_load(c, offsetof(struct seccomp_data, args[5]));
		put(c, BPF_JMP | BPF_JEQ | BPF_K, SYS_OF_LIBRARY, 0, 1);
		put(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		put(c, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
	}
}

#define N_OF(a) (sizeof(a) / sizeof(*(a)))

static void put_i386(struct code *c, u32 routes)
{
	unsigned jump;

	put_load(c, offsetof(struct seccomp_data, nr));
	put_ranges(c, i386, N_OF(i386), routes);
	jump = put(c, BPF_JMP | BPF_JEQ | BPF_K, I386_IPC, 0, 0);
	put_load(c, offsetof(struct seccomp_data, args[0]));
	put(c, BPF_ALU | BPF_AND | BPF_K, 0xffff, 0, 0);
	put_ranges(c, i386_ipc, N_OF(i386_ipc), routes);
	c->at[jump].jf = (__u8)(c->n - jump - 1);
	put(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void put_all(struct code *c, u32 routes)
{
	unsigned jump;

	put_load(c, offsetof(struct seccomp_data, arch));
	put(c, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	jump = put(c, BPF_JMP | BPF_JA, 0, 0, 0);
	put_load(c, offsetof(struct seccomp_data, nr));
	put(c, BPF_ALU | BPF_AND | BPF_K, ~X32_BIT, 0, 0);
	put_ranges(c, native, N_OF(native), routes);
	put(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	c->at[jump].k = c->n - jump - 1;
	put_i386(c, routes);
}

/* Without the mitigation of speculative stores, which kernels before 5.16 turn
 * on for who has a filter: this one keeps nobody from anything. */
static int install(const struct sock_fprog *program)
{
	static const unsigned flags[] = {SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0};
	size_t i;

	for (i = 0; i < 2; i++) {
		if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i],
			    program))
			return 0;
		if (errno != EINVAL)
			break;
	}
	return -errno;
}

int filter_kernel_ipc(u32 routes)
{
	struct code code = {.n = 0};
	struct sock_fprog program;
	int err;

	put_all(&code, routes);
	program = (struct sock_fprog){code.n, code.at};
	/* Root's set-user-ID programs keep their rights that way. */
	err = install(&program);
	if (err != -EACCES)
		return err;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return install(&program);
}
