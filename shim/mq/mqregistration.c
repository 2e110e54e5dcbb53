// SPDX-License-Identifier: MIT
/*
 * See mqregistration.h.
 */
#include "mq/mqregistration.h"
#include "base/sys.h"

enum { FREE, CLAIMED, SET };

static struct registration {
	u32 state, pid;
	u32 how, signo;
	u32 sock, pad;
	u64 stamp, value, sock_ino;
	u64 cookie[4];
} table[MQREGISTRATION_MOST] SYS_FAR_BSS;
_Static_assert(
	sizeof(table[0].cookie) == sizeof(((struct mq_notify *)0)->cookie),
	"the cookie");

static int claim(struct registration *r, u32 state)
{
	return atom_cas(&r->state, &state, CLAIMED);
}

/* Free, else a parent's before fork, else the oldest. */
static struct registration *claim_any(u32 pid)
{
	struct registration *r, *oldest = NULL;
	u32 i;

	for (i = 0; i < MQREGISTRATION_MOST; i++) {
		r = &table[i];
		if (atom_load_acquire(&r->state) == FREE && claim(r, FREE))
			return r;
		if (!oldest || (r->pid != pid && oldest->pid == pid) ||
			((r->pid == pid) == (oldest->pid == pid) &&
				r->stamp < oldest->stamp))
			oldest = r;
	}
	return claim(oldest, SET) ? oldest : NULL;
}

void mqregistration_put(const struct mq_notify *n)
{
	struct registration *r = claim_any(n->pid);

	/* Another thread has claimed the oldest: both are beyond the
	 * capacity. */
	if (!r)
		return;
	r->pid = n->pid;
	r->how = n->how;
	r->signo = n->signo;
	r->sock = n->sock;
	r->stamp = n->stamp;
	r->value = n->value;
	r->sock_ino = n->sock_ino;
	__builtin_memcpy(r->cookie, n->cookie, sizeof(r->cookie));
	atom_store_release(&r->state, SET);
}

static struct registration *find(u32 pid, u64 stamp)
{
	u32 i;

	for (i = 0; i < MQREGISTRATION_MOST; i++)
		if (atom_load_acquire(&table[i].state) == SET &&
			table[i].pid == pid && table[i].stamp == stamp)
			return &table[i];
	return NULL;
}

int mqregistration_take(u32 pid, u64 stamp, struct mq_notify *ret)
{
	struct registration *r = find(pid, stamp);
	int is_it;

	if (!r || !claim(r, SET))
		return 0;
	is_it = r->pid == pid && r->stamp == stamp;
	if (is_it) {
		ret->how = r->how;
		ret->signo = r->signo;
		ret->sock = r->sock;
		ret->value = r->value;
		ret->sock_ino = r->sock_ino;
		__builtin_memcpy(ret->cookie, r->cookie, sizeof(r->cookie));
	}
	atom_store_release(&r->state, is_it ? FREE : SET);
	return is_it;
}

static struct {
	u32 next;
	struct mq_notify at[MQREGISTRATION_TOLD]; /* pid 0: none */
} told SYS_FAR_BSS;

int mqregistration_tell(u32 pid, u64 stamp, struct mq_notify *ret)
{
	struct mq_notify *n;
	u32 i;

	if (mqregistration_take(pid, stamp, ret)) {
		n = &told.at[told.next++ % MQREGISTRATION_TOLD];
		*n = *ret;
		n->pid = pid;
		n->stamp = stamp;
		return 1;
	}
	for (i = 0; i < MQREGISTRATION_TOLD; i++) {
		n = &told.at[i];
		if (n->pid != pid || n->stamp != stamp)
			continue;
		*ret = *n;
		n->pid = 0;
		return 1;
	}
	return 0;
}
