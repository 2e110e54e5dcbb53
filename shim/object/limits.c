// SPDX-License-Identifier: MIT
/*
 * Limits; see limits.h. Values: doc/kernel-semantics.md §1.1 and §3.1.
 */
#include "object/limits.h"
#include "base/usdt.h"
#include "object/control.h"
#include "object/sysctltext.h"
#include "registry/event.h"
#include "registry/ipcns.h"

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

/* The number at *text, which is advanced past it. */
static u64 take_number(const char **text, int *ret_negative)
{
	const char *at = *text;
	u64 v = 0;

	while (*at == ' ' || *at == '\t')
		at++;
	*ret_negative = *at == '-';
	for (at += *at == '-'; *at >= '0' && *at <= '9'; at++)
		v = v * 10 + (u64)(*at - '0');
	*text = at;
	return v;
}

static void set_from_app(
	struct limits *l, const struct control *k, u32 idx_bits, s64 v)
{
	char *at = (char *)l + k->offset -
		   __builtin_offsetof(struct header, limits);

	if (k->size == 8)
		*(u64 *)(void *)at = (u64)v;
	else if (k->by_ids)
		*(u32 *)(void *)at =
			(u32)(v < 1LL << idx_bits ? v : 1LL << idx_bits);
	else if (v >= k->min && v <= k->max)
		*(s32 *)(void *)at = (s32)v;
}

/* A value that cannot be read, or is out of range here, is left alone. */
static void limits_from_host(struct limits *l, u32 idx_bits)
{
	const struct control *k;
	char path[64], text[128];
	const char *at;
	int negative;
	u32 i, j;
	s64 v;

	for (i = 0; i < n_sysctl_files; i++) {
		if (sysctl_files[i].mode != 0644 || !sysctl_files[i].n_values)
			continue;
		str_add(path, sizeof(path),
			str_add(path, sizeof(path), 0, "/proc/sys/"),
			sysctl_files[i].path);
		if (sys_read_file(path, text, sizeof(text)) <= 0)
			continue;
		k = control_find(sysctl_files[i].control);
		at = text;
		for (j = 0; j < sysctl_files[i].n_values; j++, k++) {
			v = (s64)take_number(&at, &negative);
			if (str_equal(k->name, "shmall"))
				v = (s64)ipcns_unmarked((u64)v);
			set_from_app(l, k, idx_bits, negative ? -v : v);
		}
	}
}

void limits_choose(
	struct region_options *ret, const char *limits, const char *ids)
{
	int kernel = limits && str_equal(limits, "kernel");

	ret->profile = kernel ? LIMITS_KERNEL : LIMITS_ROOMY;
	ret->complete = kernel ? limits_from_host : NULL;
	ret->idx_bits = ids && str_equal(ids, "extended") ? IDX_BITS_EXTENDED
							  : IDX_BITS_NORMAL;
	limits_init(&ret->limits, ret->profile, ret->idx_bits);
}

/* 1 if this hit has not been reported. Two processes that hit the limit at the
 * same moment may both be. Pid 0: an unknown process. */
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
	USDT3(limit, limit_name(which), value, asked);
	if (is_news(c, which, value))
		event_add_asked(c, EVENT_LIMIT, which | (u64)-error << 32,
			value, asked);
	return error;
}

/* The value to suggest: what was needed, or twice the limit; 0 if the limit
 * cannot be raised that far. */
static u64 suggestion(
	const struct header *h, const struct control *k, const struct event *e)
{
	u64 value = e->arg[1], most = (u64)k->max, want;

	if (k->size == 8)
		return e->asked;
	if (k->by_ids)
		most = 1ULL << header_idx_bits(h);
	want = e->asked > value ? e->asked : 2 * value;
	if (!want)
		want = 1;
	if (want <= most)
		return want;
	return value < most && !e->asked ? most : 0;
}

/* What to do if no value of the limit would be enough. */
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

/* Set before any event is printed. A longer option is left out
 * (eventtext.h). */
static char remedy_for[128] SYS_FAR_BSS;

void limit_remedy_for(const char *option, const char *value)
{
	size_t n;

	if (str_len(option) + str_len(value) + 4 > sizeof(remedy_for))
		return;
	n = str_add(remedy_for, sizeof(remedy_for), 0, option);
	n = str_add(remedy_for, sizeof(remedy_for), n, " ");
	n = str_add(remedy_for, sizeof(remedy_for), n, value);
	str_add(remedy_for, sizeof(remedy_for), n, " ");
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
	n = str_add(buf, cap, n, remedy_for);
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
