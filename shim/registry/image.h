// SPDX-License-Identifier: MIT
/*
 * Image locks: is anything of a program image still mapped by anybody?
 *
 * Before a process attaches its first segment it opens the registry's file once
 * more, locks one byte (fcntl(2), F_OFD_SETLK), maps one page by that open file
 * description and closes the descriptor. The mapping keeps the description, and
 * that keeps the lock. Anybody who can open the registry can test the lock. It
 * ends when nobody has the mapping any more: neither the process, in the program
 * image that made it, nor a child with its memory. A child whose making was seen
 * gives the mapping up and makes one of its own. So
 *
 *   not held                  the image is gone (exit, kill, exec), and no child
 *                             whose making was not seen has what it had
 *   held, its process is gone there is a child whose making was not seen, or one
 *   or in another image       that has not run yet
 *   held, else                nothing is known
 *   cannot be asked           as held: no registry at its path (chroot), no
 *                             descriptor
 *
 * The byte is far beyond the file's end and is never used again; its offset tells
 * the task, so that the owner is found.
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
