// SPDX-License-Identifier: MIT
/*
 * System V message queues: doc/kernel-semantics.md §5. All functions return a
 * count, an id or 0, or -errno.
 *
 * msg.c       finding, creating, removing, msgctl's commands
 * msgsend.c, msgrecv.c  msgsnd and msgrcv
 * msgqueue.c  the order of messages, hand-over, waking
 * msglease.c  messages received and not yet acknowledged
 * msgmem.c    cells, chunks and payload blocks; msgslab.c the slabs of those
 */
#ifndef IPCLIFT_MSG_MSG_H
#define IPCLIFT_MSG_MSG_H

#include "object/object.h"
#include "index/ids.h"
#include "registry/lock.h"

#define MSG_IPC_NOWAIT 04000
#define MSG_FLG_NOERROR 010000
#define MSG_FLG_EXCEPT 020000
#define MSG_FLG_COPY 040000

/* msgget(2): the id. -ENOENT -EEXIST -EACCES -ENOSPC -ENOMEM. */
int msg_get(struct caller *c, s32 key, s32 flg);

/*
 * msgsnd(2) and msgrcv(2). user is the caller's struct msgbuf, unchecked; size
 * in bytes, of the text. 0, or the bytes stored. Errors in the order of §5.2
 * (-EFAULT -EINVAL -ENOMEM -EACCES -EIDRM -EAGAIN -EINTR) and §5.3 (-EINVAL
 * -EFAULT -ENOMEM -EACCES -EIDRM -E2BIG -ENOMSG -EINTR). A cancellable call may
 * not return: see registry/cancel.h. A call that does not wait makes no system
 * call, and copies at most MSG_INLINE bytes in one hold of the queue's lock, or
 * by its bias.
 */
int msg_send(struct caller *c, s32 id, const void *user, u64 size, s32 flg,
	int cancellable);
s64 msg_receive(struct caller *c, s32 id, void *user, u64 size, s64 type,
	s32 flg, int cancellable);

struct msg_info {
	s32 msgpool, msgmap, msgmax, msgmnb, msgmni, msgssz, msgtql;
	u16 msgseg, pad; /* pad: the application gets it, too */
};
struct msg_stat {
	OBJECT_STAT;
	s64 stime, rtime;
	u64 cbytes, qnum, qbytes;
	u32 lspid, lrpid;
};

/* The commands of msgctl(2), §5.5; id < 0 is -EINVAL in each. No lock may be held.
 * IPC_STAT and its kin: 0, or the id if it was named by index; -EINVAL, -EACCES,
 * -EIDRM, -ENOMEM. */
int msg_stat(struct caller *c, s32 id, enum object_by by, struct msg_stat *ret);
/* IPC_SET, qbytes in bytes; and IPC_RMID: 0, -EINVAL, -EPERM, -EIDRM, -ENOMEM. */
int msg_set(struct caller *c, s32 id, u32 uid, u32 gid, u32 mode, u64 qbytes);
int msg_remove(struct caller *c, s32 id);
/* totals: MSG_INFO instead of IPC_INFO. Returns the highest index in use. */
int msg_info(struct caller *c, int totals, struct msg_info *ret);

#endif
