// SPDX-License-Identifier: MIT
/*
 * recover: somebody died with a lock and a journal that says anything; whoever
 * comes next rolls back, uses every object, reaps exited tasks and removes all.
 *
 * Input: struct death, entries of the journal, and steps behind them.
 */
#include <string.h>

#include "inspect/taskview.h"
#include "object/reap.h"
#include "sem/sem.h"
#include "target.h"
#include "tool/registry.h"
#include "tool/view/objects.h"

struct death {
	uint16_t thread, slot;
	uint8_t facility, n_locks, n_entries, cap;
	uint64_t publish_off, publish_val, ext;
};

/* ---- who comes next ---- */

static int use_one(struct caller *c, const struct object *o, void *arg)
{
	static char text[70000];
	const struct sop up[2] = {{0, 1, 04000}, {1, 0, 04000 | 010000}};
	static const struct sys_timespec past = {0, 0};

	(void)arg;
	switch (o->kind) {
	case FAC_SEM:
		sem_op(c, o->id, up, 1, NULL);
		sem_op(c, o->id, up, 2, NULL);
		break;
	case FAC_MSG:
		*(long *)(void *)text = 5;
		msg_send(c, o->id, text, 900, 04000, 0);
		msg_receive(c, o->id, text, 60000, 0, 04000 | 010000, 0);
		msg_receive(c, o->id, text, 60000, -4, 04000 | 010000, 0);
		break;
	case FAC_MQ:
		mqueue_send(c, &o->mq.desc, text, 20, 7, &past);
		mqueue_receive(c, &o->mq.desc, text, sizeof(text), NULL, &past);
		break;
	default:
		break;
	}
	return 0;
}

static int remove_one(struct caller *c, const struct object *o, void *arg)
{
	(void)arg;
	object_destroy(c, o);
	return 0;
}

static void use(void *arg)
{
	struct task_walk at = {0};
	struct task_view t;

	(void)arg;
	object_each(&target, 15, use_one, NULL);
	while (task_view_next(&target, &at, &t) > 0)
		reap_task(&target, t.idx);
	object_each(&target, 15, use_one, NULL);
	reap_records(&target, 0, 0);
	object_each(&target, 15, remove_one, NULL);
}

/* ---- what exited tasks left ---- */

static void leave(const struct death *d, const uint8_t *entries)
{
	const struct region *r = &target.region;
	struct thread *th = region_thread(r, 1 + d->thread % 30);
	struct slot *s = region_slot(
		r, (enum facility)(d->facility % N_FAC), d->slot % 16);
	u32 n = d->n_entries % (JOURNAL_INLINE + 1);

	s->lock.word = SYS_OWNER_DIED;
	s->lock.journal = 1 + d->thread % 30;
	memcpy(th->journal.entries, entries, n * sizeof(struct journal_entry));
	th->journal.locks[0] = region_off(r, &s->lock);
	th->journal.n_locks = d->n_locks;
	th->journal.publish_off = d->publish_off;
	th->journal.publish_val = d->publish_val;
	th->journal.n = d->n_entries;
	if (d->ext) {
		th->journal.ext.off = d->ext;
		th->journal.cap = d->cap * 16u;
	}
}

/* Bytes of it that are not steps. */
static size_t head_size(const uint8_t *data, size_t size)
{
	struct death d;
	size_t n;

	if (size < sizeof(d))
		return 0;
	memcpy(&d, data, sizeof(d));
	n = d.n_entries % (JOURNAL_INLINE + 1) * sizeof(struct journal_entry);
	return size < sizeof(d) + n ? 0 : sizeof(d) + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head = head_size(data, size);
	struct death d;

	target_damage(data + head, size - head);
	if (head) {
		memcpy(&d, data, sizeof(d));
		leave(&d, data + sizeof(d));
	}
	target_run(use, NULL);
	return 0;
}

/* An entry of the journal that leads to a field, of one of its sizes. */
static size_t add_entry(
	uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct rng r = {seed * 0x9e3779b97f4a7c15ULL | 1};
	const struct place *at =
		&target_places.at[rng_below(&r, target_places.n)];
	struct journal_entry e = {
		.off = at->off | (uint64_t)at->field->size << 56};
	size_t head = head_size(data, size);
	struct death d;

	if (!head || head + sizeof(e) > max_size - (size - head))
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(&d, data, sizeof(d));
	if (d.n_entries >= JOURNAL_INLINE)
		return LLVMFuzzerMutate(data, size, max_size);
	e.old = damage_value(&target_places, target.region.base, &r, at);
	d.n_entries++;
	memmove(data + head + sizeof(e), data + head, size - head);
	memcpy(data + head, &e, sizeof(e));
	memcpy(data, &d, sizeof(d));
	return size + sizeof(e);
}

size_t LLVMFuzzerCustomMutator(
	uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	size_t head = head_size(data, size);

	if (seed % 4 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	if (seed % 4 == 1)
		return add_entry(data, size, max_size, seed);
	return head +
	       target_add_step(data + head, size - head, max_size - head, seed);
}
