// SPDX-License-Identifier: MIT
/*
 * See mqasked.h.
 */
#include "mq/mqasked.h"
#include "base/sys.h"

enum { FREE, WORKED_ON, SET };

static struct asked {
	u32 state, pid;
	u32 how, signo;
	u32 sock, pad;
	u64 stamp, value, sock_ino;
	u64 cookie[4];
} table[MQASKED_MOST] SYS_FAR_BSS;
_Static_assert(
	sizeof(table[0].cookie) == sizeof(((struct mq_notify *)0)->cookie),
	"the cookie");

static int claim(struct asked *a, u32 state)
{
	return atom_cas(&a->state, &state, WORKED_ON);
}

/* Free, else a parent's before fork, else the oldest. */
static struct asked *claim_any(u32 pid)
{
	struct asked *a, *oldest = NULL;
	u32 i;

	for (i = 0; i < MQASKED_MOST; i++) {
		a = &table[i];
		if (atom_load_acquire(&a->state) == FREE && claim(a, FREE))
			return a;
		if (!oldest || (a->pid != pid && oldest->pid == pid) ||
			((a->pid == pid) == (oldest->pid == pid) &&
				a->stamp < oldest->stamp))
			oldest = a;
	}
	return claim(oldest, SET) ? oldest : NULL;
}

void mqasked_put(const struct mq_notify *n)
{
	struct asked *a = claim_any(n->pid);

	/* Somebody works on the oldest: two of more than there is space for. */
	if (!a)
		return;
	a->pid = n->pid;
	a->how = n->how;
	a->signo = n->signo;
	a->sock = n->sock;
	a->stamp = n->stamp;
	a->value = n->value;
	a->sock_ino = n->sock_ino;
	__builtin_memcpy(a->cookie, n->cookie, sizeof(a->cookie));
	atom_store_release(&a->state, SET);
}

static struct asked *find(u32 pid, u64 stamp)
{
	u32 i;

	for (i = 0; i < MQASKED_MOST; i++)
		if (atom_load_acquire(&table[i].state) == SET &&
			table[i].pid == pid && table[i].stamp == stamp)
			return &table[i];
	return NULL;
}

int mqasked_take(u32 pid, u64 stamp, struct mq_notify *ret)
{
	struct asked *a = find(pid, stamp);
	int is_it;

	if (!a || !claim(a, SET))
		return 0;
	is_it = a->pid == pid && a->stamp == stamp;
	if (is_it) {
		ret->how = a->how;
		ret->signo = a->signo;
		ret->sock = a->sock;
		ret->value = a->value;
		ret->sock_ino = a->sock_ino;
		__builtin_memcpy(ret->cookie, a->cookie, sizeof(a->cookie));
	}
	atom_store_release(&a->state, is_it ? FREE : SET);
	return is_it;
}
