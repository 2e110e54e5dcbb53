// SPDX-License-Identifier: MIT
/*
 * The table of limits; see control.h.
 */
#include "object/control.h"
#include "registry/journal/journal.h"

#define INT_TOP 2147483647
#define LIMIT(field)                                      \
	(u16)(__builtin_offsetof(struct header, limits) + \
		__builtin_offsetof(struct limits, field))
#define NEXT_ID(f)                                     \
	(u16)(__builtin_offsetof(struct header, ids) + \
		(f) * sizeof(struct id_table) +        \
		__builtin_offsetof(struct id_table, next_id))

const struct control controls[] = {
	{"semmsl", "semaphores in a set", LIMIT(semmsl), 4, 0, -INT_TOP - 1,
		INT_TOP},
	{"semmns", "semaphores in all sets", LIMIT(semmns), 4, 0, -INT_TOP - 1,
		INT_TOP},
	{"semopm", "operations in one semop", LIMIT(semopm), 4, 0, -INT_TOP - 1,
		INT_TOP},
	{"semmni", "semaphore sets", LIMIT(semmni), 4, 1, 0, 0},
	{"msgmax", "bytes in a message", LIMIT(msgmax), 4, 0, 0, INT_TOP},
	{"msgmnb", "bytes in a new message queue", LIMIT(msgmnb), 4, 0, 0,
		INT_TOP},
	{"msgmni", "message queues", LIMIT(msgmni), 4, 1, 0, 0},
	{"shmmax", "bytes in a segment", LIMIT(shmmax), 8, 0, 0, 0},
	{"shmall", "pages in all segments", LIMIT(shmall), 8, 0, 0, 0},
	{"shmmni", "segments", LIMIT(shmmni), 4, 1, 0, 0},
	{"shm_rmid_forced", "destroy segments nobody attaches",
		LIMIT(shm_rmid_forced), 4, 0, 0, 1},
	{"queues_max", "POSIX message queues", LIMIT(mq_queues_max), 4, 0,
		-INT_TOP - 1, INT_TOP},
	{"msg_max", "messages in a POSIX queue, at most", LIMIT(mq_msg_max), 4,
		0, 1, 65536},
	{"msgsize_max", "bytes in a POSIX message, at most",
		LIMIT(mq_msgsize_max), 4, 0, 128, 16777216},
	{"msg_default", "messages in a POSIX queue by default",
		LIMIT(mq_msg_default), 4, 0, 1, 65536},
	{"msgsize_default", "bytes in a POSIX message by default",
		LIMIT(mq_msgsize_default), 4, 0, 128, 16777216},
	{"sem_next_id", "id requested for the next set, once", NEXT_ID(FAC_SEM),
		4, 0, 0, INT_TOP},
	{"msg_next_id", "the same for a message queue", NEXT_ID(FAC_MSG), 4, 0,
		0, INT_TOP},
	{"shm_next_id", "the same for a segment", NEXT_ID(FAC_SHM), 4, 0, 0,
		INT_TOP},
};
const u32 n_controls = sizeof(controls) / sizeof(controls[0]);

const struct control *control_find(const char *name)
{
	u32 i;

	for (i = 0; i < n_controls; i++)
		if (str_equal(controls[i].name, name))
			return &controls[i];
	return NULL;
}

static void *control_at(const struct caller *c, const struct control *k)
{
	return (char *)caller_header(c) + k->offset;
}

u64 control_get(const struct caller *c, const struct control *k)
{
	if (k->size == 8)
		return atom_load_relaxed((u64 *)control_at(c, k));
	return (u64)(s64)atom_load_relaxed((s32 *)control_at(c, k));
}

int control_check(const struct caller *c, const struct control *k, u64 value)
{
	s64 max = k->by_ids ? 1LL << header_idx_bits(caller_header(c)) : k->max;
	s64 v = (s64)value;

	return k->size == 4 && (v < k->min || v > max) ? -EINVAL : 0;
}

int control_set(struct caller *c, const struct control *k, u64 value)
{
	int err = control_check(c, k, value);

	if (err)
		return err;
	if (k->size == 8)
		atom_store_release((u64 *)control_at(c, k), value);
	else
		atom_store_release((u32 *)control_at(c, k), (u32)value);
	return 0;
}

void control_set_journaled(struct caller *c, const struct control *k, u64 value)
{
	if (k->size == 8)
		journal_set64(c, control_at(c, k), value);
	else
		journal_set32(c, control_at(c, k), (u32)value);
}
