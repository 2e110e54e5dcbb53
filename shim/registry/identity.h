// SPDX-License-Identifier: MIT
/*
 * Who somebody is: a process or a thread, told from whoever had its number
 * before and from whoever will have it after.
 *
 * part    what it is               who can ask for it   if it is unknown (0)
 * number  pid or tid               everybody            -
 * birth   inode of its pidfd       everybody            the next row is taken
 *         (Linux 6.9; unique,
 *         the same over exec)
 *         else its start, in       who sees it in       any process with the
 *         1/100 s (two within      /proc, in the same   number is taken for it
 *         one tick are the same)   time namespace
 * image   a lock that ends with    who can open the     the next row
 *         it (image.h), of whoever registry
 *         has attached a segment
 *         else where its stack     its own user, root   see task_changed_image
 *         starts: of a process;
 *         another after exec, but
 *         see identity_stack_tells
 *
 * Neither is to be had without a free descriptor; the kind of a birth is part
 * of it, so what one asker recorded by an inode another one who knows ticks
 * only cannot compare: then, too, the number decides. Whoever cannot be told
 * from the one who was meant is taken for that one, which at worst keeps what
 * could be given back: nothing is taken from the living.
 *
 * A process or thread whose end has begun (a zombie, PF_EXITING) is gone: it
 * will not run in user mode again. One exception: /proc does not tell that of
 * it (hidepid, none mounted); then it is gone when it has been waited for.
 */
#ifndef IPCLIFT_REGISTRY_IDENTITY_H
#define IPCLIFT_REGISTRY_IDENTITY_H

#include "base/sys.h"
#include "base/types.h"

/* A birth: an inode number with this bit, or ticks; 0 = unknown. */
#define BIRTH_INODE (1ULL << 63)

/* The birth of the process or thread that has this number now; 0 if there is
 * none or it cannot be told. Three system calls. */
u64 identity_birth(u32 number);

/*
 * The inode of this process's pid namespace, asked by a pidfd (Linux 6.11), or
 * 0: half of what the name in /proc takes. The process's birth is remembered,
 * for its next caller of identity_birth; identity_forget in a fork child.
 */
u64 identity_namespace(void);
void identity_forget(void);
/* The birth of this process, pid, as another one has asked for it: remembered
 * in the same way. */
void identity_learned(u32 pid, u64 birth);

/* Can the two be of one process? 1 where it cannot be told. */
static inline int identity_same(u64 a, u64 b)
{
	return a == b || !a || !b || ((a ^ b) & BIRTH_INODE);
}

/*
 * 1 if the process (thread) with that number and birth is gone. Of a process:
 * all its threads. `hint`: something else says so already (a lifeline that has
 * fired); without one a start in ticks that differs proves nothing, for the
 * two may be in different time namespaces.
 */
int identity_process_gone(u32 pid, u64 birth, int hint);
int identity_thread_gone(u32 tid, u64 birth);

/* Does the start of a stack tell one program image from the next? Not without
 * address space layout randomization, where it is near the top. */
static inline int identity_stack_tells(u64 stack)
{
	return stack > 1 && stack < ARCH_USER_TOP - (8UL << 20);
}

#endif
