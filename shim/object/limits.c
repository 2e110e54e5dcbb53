// SPDX-License-Identifier: MIT
/*
 * Limits; see limits.h. Values: doc/kernel-semantics.md §1.1 and §3.1.
 */
#include "object/limits.h"
#include "object/control.h"
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

/* 1 if this hit is news. Two processes that meet it at the same moment may
 * both be told of. Pid 0 is anybody whom we do not know. */
static int is_news(struct caller *c, enum limit which, u64 value)
{
	struct limit_told *t = &caller_header(c)->told[which % LIMITS_TOLD];
	u32 now = (u32)sys_realtime_sec(), pid = event_asker(c);

	if (atom_load_relaxed(&t->value) == value &&
		((pid && atom_load_relaxed(&t->pid) == pid) ||
			atom_load_relaxed(&t->time) == now))
		return 0;
	atom_store_release(&t->value, value);
	atom_store_release(&t->pid, pid);
	atom_store_release(&t->time, now);
	return 1;
}

int limit_hit(
	struct caller *c, enum limit which, u64 value, u64 asked, int error)
{
	if (is_news(c, which, value))
		event_add_asked(c, EVENT_LIMIT, which | (u64)-error << 32,
			value, asked);
	return error;
}

/* The value to suggest: what was asked for, or twice as much; 0 if the limit
 * cannot be raised so far. */
static u64 suggestion(
	const struct header *h, const struct control *k, const struct event *e)
{
	u64 value = e->arg[1], most = (u64)k->max, want;

	if (k->size == 8)
		return e->asked;
	if (k->by_ids)
		most = 1ULL << h->idx_bits;
	want = e->asked > value ? e->asked : 2 * value;
	if (!want)
		want = 1;
	if (want <= most)
		return want;
	return value < most && !e->asked ? most : 0;
}

/* Where no value of the limit would do. */
static const char *last_resort(const struct header *h, u64 which)
{
	switch (which) {
	case LIMIT_RLIMIT_MSGQUEUE:
		return "ulimit -q unlimited";
	case LIMIT_MSG_MAX:
	case LIMIT_MSGSIZE_MAX:
		return "nothing: no queue can be larger";
	default:
		return h->idx_bits == IDX_BITS_NORMAL
			       ? "IPCLIFT_IDS=extended for a new registry"
			       : "nothing: it is at its maximum";
	}
}

size_t limit_remedy(
	const struct header *h, const struct event *e, char *buf, size_t cap)
{
	u64 which = e->arg[0] & 0xffffffff, want;
	const struct control *k = control_find(limit_name(which));
	size_t n;

	want = k ? suggestion(h, k, e) : 0;
	if (!want)
		return str_add(buf, cap, 0, last_resort(h, which));
	n = str_add(buf, cap, 0, "ipclift set ");
	n = str_add(buf, cap, n, k->name);
	n = str_add(buf, cap, n, "=");
	return str_add_u64(buf, cap, n, want);
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
		[LIMIT_MSGMAX] = "msgmax",
		[LIMIT_MSGMNB] = "msgmnb",
		[LIMIT_IDS] = "ids",
	};

	which &= 0xffffffff;
	return which < sizeof(names) / sizeof(names[0]) && names[which]
		       ? names[which]
		       : "?";
}
