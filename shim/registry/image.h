// SPDX-License-Identifier: MIT
/*
 * Image locks: is anything of a program image still mapped by anybody?
 *
 * Before a process attaches its first segment it maps one page of the
 * registry's file through an open file of its own, on which it has locked one
 * byte (fcntl(2), F_OFD_SETLK), and closes the descriptor. The mapping keeps
 * the open file, and that its lock. Whoever can open the registry, of whatever
 * user, can ask for it. It ends when nobody has the mapping any more: neither
 * the process, in the program image that made it, nor a child with its memory.
 * A child that was seen to be made gives the mapping up and makes one of its
 * own. So
 *
 *   not held                  the image is gone (exit, kill, exec), and no child
 *                             that was not seen has what it had
 *   held, its process is gone a child that was not seen to be made is there, or
 *   or in another image       one that has not run yet since it was
 *   held, else                nothing
 *   cannot be asked           as held: no registry at its path (chroot), no
 *                             descriptor
 *
 * The byte lies far behind the file's end and is never used again; its number
 * names the task, so that the owner is found.
 */
#ifndef IPCLIFT_REGISTRY_IMAGE_H
#define IPCLIFT_REGISTRY_IMAGE_H

#include "registry/caller.h"

/* There is an image, and it could not be locked. */
#define IMAGE_UNKNOWN 1ULL

/* The own image's lock, IMAGE_UNKNOWN, or 0: not made yet. */
u64 image_own(const struct caller *c);
/*
 * Make it, and store it in the own task: five system calls. What the task had
 * from before exec must have been seen to. Own task's lock held, not in a vfork
 * child.
 */
void image_make(struct caller *c);
/* Give up what was inherited of the parent's, once what the child has is
 * counted; generation: the caller's, 0 in a child that has made no call. */
void image_leave_slow(u32 generation);
/* Has this process, or one whose memory it has, ever mapped a page of it? A
 * fork child of one that has not is spared the two pages that it would touch.
 */
extern u32 image_mapped;
static inline void image_leave(u32 generation)
{
	if (unlikely(image_mapped))
		image_leave_slow(generation);
}

/* 1 if the lock is held, or it cannot be told; 0 for none. Four system calls.
 */
int image_held(const struct caller *c, u64 image);
/* The task that made it. */
static inline struct task *image_task(const struct caller *c, u64 image)
{
	return region_task(&c->region, (u32)image);
}

#endif
