// SPDX-License-Identifier: MIT
/*
 * The holders of a set with many; see holders.h.
 */
#include "sem/holders.h"
#include "registry/task.h"

/* Sets noted at a time, and holders of one: 64 KiB of address space each.
 * Arbitrary. */
#define SETS 4u
#define MOST (16384u - 16)

struct holders {
	u32 taken; /* caller.generation of the process whose thread has it, 0 =
		    * free. A fork child has another: what was taken in its
		    * parent is free there */
	u32 n;
	u64 stamp; /* 0: nothing is noted */
	const char *base;
	u64 dev, ino; /* the registry */
	u64 alive_ns; /* the oldest of theirs, without the caller's own */
	u32 own;
	u32 pad[3];
	u32 task[MOST];
};
_Static_assert(sizeof(struct holders) == 65536, "holders size");

static struct holders *noted; /* SETS of them, once there was need */

static struct holders *make(void)
{
	struct holders *none = NULL, *at;

	at = sys_mmap_private(SETS * sizeof(*at));
	if ((unsigned long)at > -4096UL)
		return NULL;
	if (__atomic_compare_exchange_n(
		    &noted, &none, at, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return at;
	sys_call(__NR_munmap, at, SETS * sizeof(*at));
	return none;
}

struct holders *holders_take(struct caller *c, const struct semset *set)
{
	struct holders *at = __atomic_load_n(&noted, __ATOMIC_ACQUIRE);
	u32 taken;

	/* 0 in a vfork child, whose memory is its parent's. */
	if (!c->generation)
		return NULL;
	if (unlikely(!at)) {
		at = make();
		if (!at)
			return NULL;
	}
	at += region_off(&c->region, set) / SLOT_STRIDE(FAC_SEM) % SETS;
	taken = __atomic_load_n(&at->taken, __ATOMIC_RELAXED);
	if (taken == c->generation ||
		!__atomic_compare_exchange_n(&at->taken, &taken, c->generation,
			0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return NULL;
	return at;
}

void holders_give(struct holders *h)
{
	__atomic_store_n(&h->taken, 0, __ATOMIC_RELEASE);
}

/* 1 if none has fired. */
static int look_along(const struct caller *c, const struct holders *h)
{
	u32 i, n = h->n, may = 0;

	for (i = 0; i < n; i++)
		may |= task_may_be_suspect(region_task(&c->region, h->task[i]));
	/* Lifelines of threads that are not the leader are rare. */
	for (i = 0; unlikely(may != 0) && i < n; i++)
		if (task_suspect(region_task(&c->region, h->task[i])))
			return 0;
	return 1;
}

/* 1 if all were found alive lately. A task's alive_ns only grows, so the oldest
 * of them can be used as long as it is recent. */
static int looked_lately(struct caller *c, struct holders *h, u64 now)
{
	u64 asked, least = now;
	u32 i;

	if (likely(h->own == c->task && now - h->alive_ns < TASK_LOOK_NS))
		return 1;
	for (i = 0; i < h->n; i++) {
		asked = atom_load_relaxed(
			&region_task(&c->region, h->task[i])->alive_ns);
		if (h->task[i] != c->task && asked < least)
			least = asked;
	}
	h->alive_ns = least;
	h->own = c->task;
	return now - least < TASK_LOOK_NS;
}

int holders_none_suspect(
	struct caller *c, struct holders *h, u64 stamp, u64 now)
{
	if (!stamp || h->stamp != stamp || h->base != c->region.base ||
		h->ino != c->region.ino || h->dev != c->region.dev)
		return 0;
	return look_along(c, h) && (!now || looked_lately(c, h, now));
}

void holders_begin(struct holders *h)
{
	h->stamp = 0;
	h->n = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void holders_add(struct holders *h, u32 task)
{
	if (h->n < MOST)
		h->task[h->n] = task;
	h->n++;
}

/* n, base and the numbers are stored before the stamp: a fork child may be made
 * in the middle. */
void holders_end(const struct caller *c, struct holders *h, u64 stamp)
{
	if (h->n > MOST)
		return;
	h->base = c->region.base;
	h->dev = c->region.dev;
	h->ino = c->region.ino;
	h->alive_ns = 0;
	__atomic_store_n(&h->stamp, stamp, __ATOMIC_RELEASE);
}
