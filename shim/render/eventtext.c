// SPDX-License-Identifier: MIT
/*
 * Events in words; see eventtext.h.
 */
#include "render/eventtext.h"
#include "index/ids.h"
#include "object/limits.h"
#include "object/sysctl.h"

struct line {
	char *buf;
	size_t cap, len;
};

static void put(struct line *l, const char *s)
{
	l->len = str_add(l->buf, l->cap, l->len, s);
}

static void put_number(struct line *l, u64 v)
{
	l->len = str_add_u64(l->buf, l->cap, l->len, v);
}

/* -1: "any", as a value of queues_max and the like. */
static void put_signed(struct line *l, s64 v)
{
	if (v < 0)
		put(l, "-");
	put_number(l, v < 0 ? -(u64)v : (u64)v);
}

static void put_hex(struct line *l, u32 v)
{
	char text[11] = "0x";
	int i;

	for (i = 0; i < 8; i++)
		text[2 + i] = "0123456789abcdef"[v >> (28 - 4 * i) & 15];
	text[10] = 0;
	put(l, text);
}

static const char *error_name(u64 error)
{
	switch (error) {
	case EINVAL:
		return "EINVAL";
	case ENOSPC:
		return "ENOSPC";
	case EMFILE:
		return "EMFILE";
	case E2BIG:
		return "E2BIG";
	case EPERM:
		return "EPERM";
	case ERANGE:
		return "ERANGE";
	default:
		return "an error";
	}
}

/* "limit msgmni=32000: ENOSPC; ipclift set msgmni=64000" */
static void put_limit(
	struct line *l, const struct header *h, const struct event *e)
{
	u64 which = e->arg[0] & 0xffffffff;

	put(l, "limit ");
	put(l, limit_name(which));
	put(l, "=");
	if (which == LIMIT_SHMMAX || which == LIMIT_SHMALL)
		put_number(l, e->arg[1]);
	else
		put_signed(l, (s64)e->arg[1]);
	put(l, ": ");
	put(l, error_name(e->arg[0] >> 32));
	if (e->asked) {
		put(l, ", asked for ");
		put_number(l, e->asked);
	}
	put(l, "; ");
	l->len += limit_remedy(h, e, l->buf + l->len, l->cap - l->len);
}

static void put_dead(
	struct line *l, const char *what, u64 pid, const char *then)
{
	put(l, what);
	put_number(l, pid);
	put(l, then);
}

size_t event_text(
	const struct header *h, const struct event *e, char *buf, size_t cap)
{
	struct line l = {buf, cap, 0};
	u64 a = e->arg[0], b = e->arg[1];

	buf[0] = 0;
	switch (e->code) {
	case EVENT_RECOVERED:
		put_dead(&l, "thread ", a, " died in a call; undone");
		break;
	case EVENT_LIMIT:
		put_limit(&l, h, e);
		break;
	case EVENT_REAPED:
		put_dead(&l, "SEM_UNDO of dead process ", a, " applied");
		break;
	case EVENT_KERNEL_KEY:
		put(&l, "the kernel too has a ");
		put(&l, a < N_FAC ? facility_names[a] : "?");
		put(&l, " of key ");
		put_hex(&l, (u32)b);
		break;
	case EVENT_DETACHED:
		put_dead(&l, "attachments of dead process ", a, " dropped");
		break;
	case EVENT_NO_SPACE:
		put(&l, "no room for ");
		put_number(&l, a);
		put(&l, " pages, ");
		put_number(&l, b);
		put(&l, " left in the file system; ipclift doctor");
		break;
	case EVENT_REFUSED:
		put(&l, "text refused that was written to ");
		put(&l, a < n_sysctl_files ? sysctl_files[a].path : "?");
		put(&l, ": ");
		put(&l, error_name(b));
		break;
	case EVENT_NO_LIFELINE:
		put_dead(&l, "process ", a,
			" is refused robust lists; its death is noticed late");
		break;
	case EVENT_NO_BARRIER:
		put(&l, "membarrier(2) is refused: ");
		put(&l, error_name(a));
		put(&l, "; no lock of this registry is biased any more");
		break;
	case EVENT_NOT_NOTIFIED:
		put(&l, "notifications that stopped processes left take all "
			"room: none for process ");
		put_number(&l, a);
		break;
	default:
		put_dead(&l, "event ", e->code, "");
	}
	return l.len;
}

const char *const event_kinds[] = {"limit", "death", "room", "other"};

u32 event_kind(const struct event *e)
{
	switch (e->code) {
	case EVENT_LIMIT:
		return 0;
	case EVENT_RECOVERED:
	case EVENT_REAPED:
	case EVENT_DETACHED:
		return 1;
	case EVENT_NO_SPACE:
		return 2;
	default:
		return 3;
	}
}
