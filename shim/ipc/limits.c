// SPDX-License-Identifier: MIT
/*
 * Limits; see limits.h. Values: KERNEL-SEMANTICS §1.1 and §3.1.
 */
#include "ipc/limits.h"
#include "registry/event.h"

#define SHM_ALMOST_ALL (~0ULL - (1ULL << 24))

void limits_init(struct limits *l, enum limits_profile profile, u32 idx_bits)
{
	*l = (struct limits){
		.semmsl = 32000,
		.semmns = 1024000000,
		.semopm = 500,
		.semmni = 32000,
		.msgmax = 8192,
		.msgmnb = 16384,
		.msgmni = 32000,
		.shmmax = SHM_ALMOST_ALL,
		.shmall = SHM_ALMOST_ALL,
		.shmmni = 4096,
		.mq_queues_max = 256,
		.mq_msg_max = 10,
		.mq_msgsize_max = 8192,
		.mq_msg_default = 10,
		.mq_msgsize_default = 8192,
		.mq_rlimit = 1,
	};
	if (profile != LIMITS_ROOMY)
		return;
	l->semmni = l->msgmni = l->shmmni = 1 << idx_bits;
	l->mq_queues_max = -1;
	l->mq_msg_max = 65536;
	l->mq_msgsize_max = 16777216;
	l->mq_rlimit = 0;
}

int limit_hit(struct caller *c, enum limit which, u64 value, int error)
{
	/* A program that tries again and again would push all else out. */
	event_add_once(c, EVENT_LIMIT, which, value);
	return error;
}

const char *limit_name(u64 which)
{
	static const char *const names[] = {
		[LIMIT_SEMMNI] = "semmni",
		[LIMIT_SEMMNS] = "semmns",
		[LIMIT_SEMMSL] = "semmsl",
		[LIMIT_SEMOPM] = "semopm",
		[LIMIT_MSGMNI] = "msgmni",
		[LIMIT_SHMMNI] = "shmmni",
		[LIMIT_SHMALL] = "shmall",
		[LIMIT_SHMMAX] = "shmmax",
		[LIMIT_QUEUES_MAX] = "queues_max",
		[LIMIT_MSG_MAX] = "msg_max",
		[LIMIT_MSGSIZE_MAX] = "msgsize_max",
		[LIMIT_RLIMIT_MSGQUEUE] = "RLIMIT_MSGQUEUE",
	};

	return which < sizeof(names) / sizeof(names[0]) && names[which]
		       ? names[which]
		       : "?";
}
