// SPDX-License-Identifier: MIT
/*
 * The file of ipclift save.
 *
 *   struct save_head
 *   records, each struct save_record and `size` bytes, padded to 8
 *   the last record, SAVE_END: a u64, the checksum of every byte before it,
 *   its own struct save_record included
 *
 * Numbers are of this machine (save_head.order tells). A reader refuses another
 * version; it skips records whose type it does not know. The order is: limits,
 * ids, objects, each segment followed by its data.
 *
 *   SAVE_LIMIT   struct save_limit
 *   SAVE_IDS     struct save_ids: where ids continue
 *   SAVE_OBJECT  struct save_object, then
 *                sem   `n` struct dump_sem
 *                msg   struct dump_msgqueue, messages
 *                shm   struct dump_segment
 *                mq    struct dump_mqueue, its name (256 bytes, padded with
 *                      zeros), messages
 *                messages: struct dump_message and its bytes, padded to 8,
 *                oldest (mq: next to be received) first
 *   SAVE_DATA    struct save_data, bytes: what is not zero of a segment
 *
 * The checksum is FNV-1a of 64 bits, over words of 8 bytes.
 */
#ifndef IPCLIFT_TOOL_SAVEFILE_H
#define IPCLIFT_TOOL_SAVEFILE_H

#include "inspect/dump.h"

#define SAVE_MAGIC "ipclift\1"
#define SAVE_VERSION 1u
#define SAVE_ORDER 0x01020304u
#define SAVE_NAME 256u
#define SAVE_SUM_START 0xcbf29ce484222325ULL
/* Bytes of a segment in one record; arbitrary. */
#define SAVE_SLICE (64u << 10)

struct save_head {
	char magic[8];
	u32 version;
	u32 order;
	u32 idx_bits;
	u32 profile; /* LIMITS_* */
	s64 time;    /* seconds since 1970 */
};

enum save_type {
	SAVE_END,
	SAVE_LIMIT,
	SAVE_IDS,
	SAVE_OBJECT,
	SAVE_DATA,
};

struct save_record {
	u32 type;
	u32 pad;
	u64 size;
};

struct save_limit {
	char name[24]; /* as ipclift get has it, or "mq_rlimit" */
	u64 value;
};

struct save_ids {
	u32 kind; /* 0 sem, 1 msg, 2 shm, 3 mq */
	u32 pad;
	struct dump_ids ids;
};

struct save_object {
	u32 kind;
	s32 id;
	s32 key;
	u32 n;	  /* semaphores; messages a POSIX queue may hold */
	u64 size; /* bytes of the segment; of the largest message */
	struct dump_perm perm;
};

struct save_data {
	s32 id;
	u32 pad;
	u64 off; /* bytes, from the segment's beginning */
};

/* n is a multiple of 8. */
static inline u64 save_sum(u64 sum, const void *bytes, u64 n)
{
	const u64 *word = bytes;
	u64 i;

	for (i = 0; i < n / 8; i++)
		sum = (sum ^ word[i]) * 0x100000001b3ULL;
	return sum;
}

#endif
