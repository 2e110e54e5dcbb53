// SPDX-License-Identifier: MIT
/*
 * layout.h's part about messages: the bodies of POSIX and System V queues, and
 * what they stand on. Included by it; the rules of its head hold here too.
 */
#ifndef IPCLIFT_REGISTRY_LAYOUT_QUEUE_H
#define IPCLIFT_REGISTRY_LAYOUT_QUEUE_H

#include "registry/layout_base.h"

/*
 * struct users: hints about who uses a queue, plain stores under its lock, read
 * without it; any value is right (object/users.h). By kind: 0 those who send, 1
 * those who receive.
 */
struct queue_user {
	u32 thread; /* 0 = none yet */
	u32 cpu;    /* where it ran */
};
#define USERS_SPINS 4u /* hints: users_spin (object/users.h) */
struct users {
	u32 thread[2]; /* the last one of each kind, 0 = none yet */
	u32 backoff;   /* times the lock was taken back for another thread */
	u32 streaming; /* the sender is at it without pause */
	/* The last one; and the last before it that was another: its partner. */
	struct queue_user recent, other;
	u16 spin[USERS_SPINS]; /* registry/spin.h */
};

/*
 * struct lease: a message that somebody has received and that stays in the
 * registry until it is acknowledged (object/lease.h); or a record for one.
 * Queue's lock, journaled; of a record in leases.free only next means anything.
 */
enum lease_state {
	LEASE_FREE,
	LEASE_READY, /* the holder's, without a message: it is about to receive */
	LEASE_HELD, /* the holder's, with a message */
	LEASE_DONE, /* acknowledged; its memory is being given back */
	LEASE_BACK, /* POSIX: the message is in the queue again, as `item` */
};
struct lease {
	struct ref next;
	u32 state;
	u32 task, pid, tid; /* the holder: its task, that process, its thread */
	u32 thread;	    /* index of that thread's record */
	u64 start;	    /* birth of the process (identity.h) */
	u64 stamp;	    /* System V: of sending; POSIX: of receiving */
	s64 since;
	u32 msg; /* System V: link of its cell */
	u32 item;
	u32 prio, len; /* POSIX, and its bytes: */
	u32 pad;
	struct ref data; /* a block of cap bytes, which stays with the record */
	u64 cap;
};

/*
 * struct leases: the records of one queue. Queue's lock, journaled; but stamp
 * (gaps do no harm), and spare: heap.h. Beside it each body has `leasing`,
 * journaled, also read without the lock.
 */
struct leases {
	struct ref used, free;
	struct ref spare; /* a record that is being made */
	u64 stamp;	  /* POSIX: the last lease's */
};
#define LEASES_ON 1u   /* whoever receives is given a lease */
#define LEASES_MADE 2u /* there are records, perhaps of exited processes */

/*
 * struct prio_item: a message of a prioq. What a free one holds, and next of
 * the last one of a FIFO, mean nothing and are written plainly; else journaled.
 */
struct prio_item {
	u32 next; /* of the FIFO */
	u32 len;
};
_Static_assert(sizeof(struct prio_item) == 8, "prio_item size");

/* Bytes that an item has elsewhere. Journaled, except a first allocation. */
struct prio_block {
	struct ref data;
	u64 cap;
};

/*
 * struct prioq: head of the queue. Items stand in chunks of 1 << shift, made
 * when they are needed: their struct prio_item, then stride bytes for each. The
 * table of chunks lies table_off bytes after this struct, and behind it the
 * stack of free items, u32 each. Owner's lock, journaled; above n_free the
 * stack means nothing.
 */
struct prioq {
	u64 count; /* bytes << 20 | items in the queue */
	u64 ends;  /* FIFO of the highest priority: last << 32 | first */
	u32 first; /* the highest priority; of an empty queue, the last used */
	u32 n_free;
	u32 made, cap; /* items that exist, that may exist */
	u32 shift;
	u32 stride;
	u32 inline_data; /* bytes an item has space for; 0: a prio_block */
	u32 table_off;
	u32 free_off; /* the stack, as table_off */
	u16 n_leaves, hand;
	struct ref levels; /* struct prio_levels; 0 until it is needed */
};
_Static_assert(sizeof(struct prioq) == 64, "prioq size");

#define PRIO_LEAVES 512u

/*
 * struct prio_levels: all priorities but the highest. A leaf holds the FIFOs
 * (as prioq.ends) of 64 priorities; what it says of one that is not live means
 * nothing. Bits: live, of 64 priorities each; top, of those words that are not
 * 0; any, of those words of top. Journaled.
 */
struct prio_levels {
	u64 any;
	u64 top[PRIO_LEAVES / 64];
	u64 live[PRIO_LEAVES];
	struct ref leaf[PRIO_LEAVES]; /* u64[64]; 0 = none */
};

#define MQ_NAME_MAX 255
/* mqueue.polled: the FIFO is kept in step unless it is 0. For good, since who
 * polls is not known (epoll, a descriptor handed on): */
#define MQ_POLLED_IN 1u
#define MQ_POLLED_OUT 2u
#define MQ_POLLED_EDGE 4u
#define MQ_POLLED_NAMELESS 8u /* and used by one who cannot reach the FIFO */
/* And added for each that is in poll(2) or select(2) now (mq_poll_begin). One
 * that was killed there, or has left by a jump, stays counted. */
#define MQ_POLLER 0x100u
#define MQ_POLLERS_MOST 0xffffff00u
#define MQ_LEVEL_UNKNOWN 3u
/* mqueue.notify.state */
enum mq_notify_state {
	MQ_NOTIFY_NONE,
	MQ_NOTIFY_ARMED,
};

/* Who is told of the next message. Slot lock, journaled. */
struct mq_notify {
	u32 state;
	u32 how; /* sigev_notify */
	u32 signo;
	u32 task; /* registrant: index, pid and start time of its task */
	u32 pid;
	u32 thread; /* SIGEV_THREAD: whose waiter is to be granted */
	u64 start;
	u64 value;
	u32 image; /* its task's epoch: tells its program from one after exec */
	u32 sender_pid, sender_uid; /* while it is fired; plain */
	u32 notify_thread; /* 1: the registrant has one, for what we may not send */
	u32 sock;	   /* SIGEV_THREAD by number: the netlink socket, */
	u32 closes; /* exec closes one of the registrant's descriptors; plain */
	u64 sock_ino;
	u64 cookie[4]; /* and what it is to be told */
	u64 stamp;     /* tells registrations apart */
};

/*
 * struct mq_pending: a notification that its sender may not, or cannot, send
 * itself, on its way to the registrant's notification thread
 * (entry/notify_thread.c), which does. state: free -> tid of the sender that
 * fills it -> MQ_PENDING_SENT -> MQ_PENDING_DELIVERING, by the notification
 * thread before it sends the signal -> free, each by one compare-and-swap or
 * store. All else: the sender, before SENT. A sender that dies leaves its tid,
 * and whoever needs the place takes it. exec may leave DELIVERING.
 */
struct mq_pending {
	u32 state;
	u32 task, pid; /* of the registrant */
	s32 signo;
	u64 start;
	u64 stamp;
	u64 value;
	u32 sender_pid, sender_uid;
	u32 how, sock;
	u64 sock_ino;
	u64 cookie[4];
};
#define MQ_PENDING_SENT 0x80000000u
#define MQ_PENDING_DELIVERING 0x80000001u
/* signo of what goes to a socket: the kernel's last byte of a cookie. */
#define MQ_COOKIE_WOKEN 1
#define MQ_COOKIE_REMOVED 2
/* Arbitrary; only what a stopped process has not fetched stays, a standard
 * signal once. With none free a notification is lost, which is an event. */
#define MQ_PENDINGS 256u
/* task.notifier: the notification thread is asleep, or about to be. No other
 * value but 0: while a sender is at it the word is the pending entry of its
 * robust list, and for one without an owner the kernel wakes a sleeper at its
 * death. */
#define MQ_NOTIFIER_ASLEEP 0x80000000u

/*
 * struct mqueue: the body of a POSIX message queue; the table of chunks
 * follows. Slot lock and journaled, but for:
 *   level     slot lock, plain: UNKNOWN while the FIFO is being changed
 *   polled    slot lock, plain: bits are only added; pollers come and go
 *   *time     slot lock, plain: each is one store
 *   users     hints
 *   unlinked, orphan_*      facility's lock
 *   name..table_off         written before the queue can be found
 * What every call looks at is in the first two lines.
 */
struct mqueue {
	struct prioq msgs;
	u32 maxmsg;
	u32 msgsize;
	struct wait_queue receivers, senders;
	u32 polled;
	u32 level; /* packets in the FIFO: 0 empty, 1 some, 2 full */
	s64 mtime;
	struct mq_notify notify; /* its state still in the second line */
	s64 atime, ctime;	 /* ns; st_atime is max(atime, mtime).. */
	s64 set_mtime; /* .. unless mtime is this: utimensat(2) said so */
	s64 file_size; /* st_size: what ftruncate(2) said; of no effect */
	struct users users;
	u32 unlinked;
	u32 orphan_next; /* a ring: slot idx + 1 */
	u32 ruid;	 /* who is charged */
	u32 name_len;
	u64 charge;
	u64 dev, ino; /* of the FIFO */
	u64 token[2]; /* its name */
	u64 body_size;
	struct leases leases;
	u32 leasing; /* LEASES_* */
	u32 orphan_prev;
	char name[MQ_NAME_MAX + 1];
};
_Static_assert(__builtin_offsetof(struct mqueue, notify) < 128, "mqueue lines");

/*
 * struct rbtree_node: see index/rbtree.h. up carries the colour in its top
 * bit; user is the owner's, as is key while the node is outside.
 */
struct rbtree_node {
	s64 key;
	u32 up;
	u32 left;
	u32 right;
	u32 user;
};
_Static_assert(sizeof(struct rbtree_node) == 24, "rbtree node size");

/* Cell sizes of the messages that fit their cell, in units of 64 bytes. */
#define MSG_CLASSES 8u

/*
 * struct msg: one message, in a cell of a chunk of its queue; its payload
 * follows, or the reference of a block (struct msg_block) if it is larger than
 * MSG_INLINE. Links are offsets by 64. Written by the sender before it is
 * linked; then links and tree node journaled under the slot's lock. A receiver
 * always takes the oldest of a type, so the list of a type is a plain FIFO. The
 * youngest of a type is the last message of the queue if that is of the type,
 * else what the oldest says in node.user: a run of one type is appended without
 * looking for its beginning.
 */
struct msg {
	/* Key: the type. The oldest of a type stands in the tree. */
	struct rbtree_node node;
	u32 next, prev; /* FIFO over all */
	u32 type_next;
	u32 size;
	u32 chunk;
	u32 free_next; /* while the cell is free; never written otherwise */
	u64 stamp;     /* order of sending within the queue */
	char text[];
};
_Static_assert(sizeof(struct msg) == 56, "msg size");

/* In a cell of two units, in place of the text: written as that. */
struct msg_block {
	struct ref ref;
	u64 cap;
};

/*
 * struct msg_chunk: cells of one size, after this head. state = free cells'
 * list (link) << 32 | cells in use << 16 | cells ever used, so that a cell is
 * taken or given back by one journaled word. Links journaled, slot's lock.
 */
struct msg_chunk {
	u64 state;
	u32 next, prev; /* in its class: with space, or full */
	u32 class;
	u32 n_cells;
	u64 size;
	u64 pad[4];
};
_Static_assert(sizeof(struct msg_chunk) == 64, "msg chunk size");

/* Chunks of one size. Slot lock, journaled. */
struct msg_class {
	u32 partial; /* chunks with a free cell: links */
	u32 full;
	u32 n_chunks;
	u32 idle; /* hint: a chunk without messages, to be checked */
};

/*
 * struct msgqueue: the body of a message queue. All under the slot's lock and
 * journaled, except stamp (gaps do no harm), class[].idle and users (hints),
 * the clearing of pending (sleepers may be looked at twice). count, the times
 * and pids are also read without the lock.
 *
 * Of a removed queue that takes long to empty (header.msg_remains) all is under
 * the facility's lock: stamp is the next one, lrpid the thread that does it.
 */
struct msgqueue {
	u64 count;   /* messages << 35 | bytes */
	u64 ends;    /* last message << 32 | first */
	u32 types;   /* root of the tree of types */
	u32 pending; /* MSG_PEND_*: sleepers still to be looked at */
	u64 stamp;
	u64 qbytes;
	u32 lspid, lrpid;
	s64 stime, rtime;
	struct wait_queue receivers, senders;
	struct ref new_chunk; /* between heap_alloc and its use */
	struct users users;
	u32 n_large; /* chunks beyond the smallest size */
	u32 leasing; /* LEASES_* */
	struct msg_class class[MSG_CLASSES];
	struct ref warm[MSG_TIERS]; /* free payload blocks, linked */
	u32 n_warm[MSG_TIERS];
	u32 pad1;
	struct leases leases;
};
#define MSG_BYTES(count) ((count) & ((1ULL << 35) - 1))
#define MSG_NUM(count) ((count) >> 35)

/*
 * struct msg_slab: payload blocks of one size (msg/msgslab.h); heap's lock,
 * journaled.
 */
struct msg_slab {
	u64 used; /* bits */
	u32 next, prev;
	u64 pad[6];
};
_Static_assert(sizeof(struct msg_slab) == 64, "msg slab size");
/* The lists of slabs. Heap's lock, journaled. */
struct msg_slabs {
	u32 partial[MSG_TIERS]; /* slabs with a free block: offset by 64 */
	u32 full[MSG_TIERS];
	u32 idle[MSG_TIERS]; /* the one of them that is empty, or 0 */
	struct ref moving;   /* between the heap and its use */
};

#endif
