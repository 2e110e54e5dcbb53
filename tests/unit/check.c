// SPDX-License-Identifier: MIT
/*
 * The checker: damage done to one field is reported under the field's
 * invariant, and mended it is not. And the same under locks, by somebody who
 * works meanwhile.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mq/mqueue.h"
#include "msg/msg.h"
#include "msg/msgqueue.h"
#include "shm/shm.h"
#include "shm/shmattach.h"
#include "shm/shmrun.h"
#include "sem/undo.h"
#include "unit.h"

TestSuite(check, .init = unit_init, .fini = unit_fini, .timeout = 60);

static unsigned char seen[128];

static void note(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	(void)arg, (void)what, (void)a, (void)b;
	seen[which] = 1;
}

static void look_for(enum invariant which, const char *field)
{
	__builtin_memset(seen, 0, sizeof(seen));
	check_region(&me.region, note, NULL);
	cr_expect(seen[which], "%s: invariant %d is not reported", field,
		(int)which);
}

/* The field gets another value, and its own back. */
#define DAMAGE(field, value, which)                                         \
	do {                                                                \
		__typeof__(field) was_ = (field);                           \
		(field) = (__typeof__(field))(value);                       \
		cr_expect(was_ != (field), "%s: no damage", #field);        \
		look_for(which, #field);                                    \
		(field) = was_;                                             \
		cr_assert_eq(check_region(&me.region, note, NULL), 0, "%s", \
			#field);                                            \
	} while (0)

static void send(s32 id, s64 type, u64 size)
{
	static char buf[65536 + 8];

	*(s64 *)buf = type;
	cr_assert_eq(msg_send(&me, id, buf, size, 0, 0), 0);
}

static void receive(s32 id, s64 type)
{
	static char buf[65536 + 8];

	cr_assert_geq(msg_receive(&me, id, buf, 65536, type, 0, 0), 0);
}

static struct msg *message(const struct msgqueue *q, u32 n)
{
	struct msg *m = msg_at(&me, (u32)q->ends);

	while (n--)
		m = msg_at(&me, m->next);
	return m;
}

Test(check, message_queues)
{
	struct limits *l = &caller_header(&me)->limits;
	struct msg_slabs *all = &caller_header(&me)->msg_slabs;
	struct msg_slab *slab;
	struct msgqueue *q;
	struct msg_chunk *ch;
	struct msg *m;
	u64 ident;
	s32 id;

	l->msgmax = 65536;
	l->msgmnb = 1 << 20;
	id = msg_get(&me, 77, 0600 | 01000);
	q = msg_body(&me, ids_find(&me, FAC_MSG, id, &ident));
	/* Types 5 5 1 9 5 3 5, then three large ones of type 2. */
	send(id, 5, 10);
	send(id, 5, 10);
	send(id, 1, 10);
	send(id, 9, 10);
	send(id, 5, 10);
	send(id, 3, 10);
	send(id, 5, 10);
	send(id, 2, 5000);
	send(id, 2, 60000);
	send(id, 2, 2000);
	/* One block stays with us, the other is the queue's. */
	send(id, 8, 5000);
	send(id, 8, 5000);
	receive(id, 8);
	receive(id, 8);
	cr_assert_eq(check_region(&me.region, note, NULL), 0);

	DAMAGE(q->count, q->count + 1, INV_MSG_COUNT);
	DAMAGE(q->count, q->count + (1ULL << 35), INV_MSG_COUNT);
	DAMAGE(q->ends, q->ends & 0xffffffff, INV_MSG_FIFO);
	DAMAGE(q->stamp, 0, INV_MSG_FIFO);
	DAMAGE(q->types, 0, INV_MSG_TREE);
	DAMAGE(q->pending, MSG_PEND_SENDERS, INV_MSG_PENDING);
	DAMAGE(q->n_large, 1, INV_MSG_CHUNK);
	DAMAGE(q->n_warm[1], 7, INV_MSG_BLOCK);
	DAMAGE(q->warm[2].off, 0, INV_MSG_BLOCK);
	DAMAGE(q->receivers.head, 1, INV_QUEUE);
	DAMAGE(q->senders.tail, 1, INV_QUEUE);
	m = message(q, 3);
	DAMAGE(m->prev, m->next, INV_MSG_FIFO);
	DAMAGE(m->stamp, 1, INV_MSG_FIFO);
	DAMAGE(m->size, 11, INV_MSG_COUNT);
	DAMAGE(m->size, 100, INV_MSG_CELL);
	DAMAGE(m->chunk, 0, INV_MSG_CELL);
	DAMAGE(m->node.key, 0, INV_MSG_FIFO);
	m = message(q, 0);
	DAMAGE(m->type_next, 0, INV_MSG_TREE);
	DAMAGE(m->node.user, 0, INV_MSG_TYPE);
	DAMAGE(message(q, 1)->node.key, 4, INV_MSG_TYPE);
	m = message(q, 7);
	DAMAGE(msg_block_of(m)->ref.off, 0, INV_BLOCK);
	DAMAGE(msg_block_of(m)->cap, 4096, INV_MSG_BLOCK);
	DAMAGE(msg_block_of(m)->ref.off, msg_block_of(message(q, 9))->ref.off,
		INV_BLOCK);
	m = msg_at(&me, q->types);
	DAMAGE(m->node.left, 0, INV_MSG_TREE);
	DAMAGE(m->node.up, m->node.up ^ 0x80000000u, INV_MSG_TREE);
	ch = (struct msg_chunk *)msg_at(&me, q->class[1].partial);
	DAMAGE(ch->state, ch->state + (1 << 16), INV_MSG_CELL);
	DAMAGE(ch->class, 2, INV_MSG_CHUNK);
	DAMAGE(ch->prev, 5, INV_MSG_CHUNK);
	DAMAGE(q->class[1].n_chunks, 2, INV_MSG_CHUNK);
	DAMAGE(q->class[1].partial, 0, INV_LEAK);
	slab = (struct msg_slab *)msg_at(&me, all->partial[2]);
	DAMAGE(all->partial[2], 0, INV_LEAK);
	DAMAGE(all->idle[2], all->partial[2], INV_MSG_SLAB);
	DAMAGE(all->moving.off, 64, INV_MSG_SLAB);
	DAMAGE(slab->used, slab->used | 1 << 10, INV_LEAK);
	DAMAGE(slab->used, slab->used & ~1ULL, INV_BLOCK);
	DAMAGE(slab->used, slab->used | 1ULL << 40, INV_MSG_SLAB);
	DAMAGE(slab->prev, 5, INV_MSG_SLAB);
	DAMAGE(*(u32 *)(slab + 1), 5, INV_MSG_SLAB);
	/* The next to last received stands in the free list. */
	receive(id, 3);
	DAMAGE(ch->state, ch->state & 0xffffffff, INV_MSG_CELL);
	msg_remove(&me, id);
}

static void receiver(s32 id)
{
	char buf[16];

	msg_receive(&me, id, buf, 8, 0, 0, 0);
}

Test(check, sleepers)
{
	s32 id = msg_get(&me, 0, 0600);
	pid_t pid = unit_sleeper(receiver, id, 1);
	struct msgqueue *q;
	struct waiter *w;
	u64 ident;

	q = msg_body(&me, ids_find(&me, FAC_MSG, id, &ident));
	w = wait_at(&me, q->receivers.head);
	DAMAGE(w->kind, MSG_Q_SENDER, INV_QUEUE);
	DAMAGE(w->ident, 5, INV_QUEUE);
	DAMAGE(w->state, WAIT_DONE, INV_QUEUE);
	DAMAGE(w->next, wait_index(&me, w), INV_QUEUE);
	/* In no queue at all. */
	q->receivers = (struct wait_queue){0};
	look_for(INV_N_WAITERS, "receivers");
	q->receivers =
		(struct wait_queue){wait_index(&me, w), wait_index(&me, w)};
	cr_assert_eq(check_region(&me.region, note, NULL), 0);
	/* A message beside a sleeper who would take it. */
	w->state = WAIT_IDLE;
	q->receivers = (struct wait_queue){0};
	send(id, 1, 4);
	q->receivers =
		(struct wait_queue){wait_index(&me, w), wait_index(&me, w)};
	w->state = WAIT_QUEUED;
	look_for(INV_MSG_PENDING, "asleep");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	msg_remove(&me, id);
}

Test(check, segments)
{
	struct shm_state *st = &caller_header(&me)->shm;
	s32 id = shm_get(&me, 0, 3 * SYS_PAGE, 0600), gone;
	struct shm_segment *seg, *dest;
	struct shm_attach *rec;
	struct shm_run *run;
	struct slot *s;
	u64 ident, at, at2, at3;

	/* Pages in the pool, a bare run, a segment pending destruction. */
	gone = shm_get(&me, 0, 40 * SYS_PAGE, 0600);
	shm_at(&me, gone, 0, 0, &at);
	*(char *)at = 1;
	shm_dt(&me, at);
	shm_remove(&me, gone);
	gone = shm_get(&me, 0, 7 * SYS_PAGE, 0600);
	shm_remove(&me, gone);
	gone = shm_get(&me, 5, SYS_PAGE, 0600 | 01000);
	shm_at(&me, gone, 0, 0, &at3);
	dest = shm_body(&me, ids_find(&me, FAC_SHM, gone, &ident));
	shm_remove(&me, gone);
	shm_at(&me, id, 0, 0, &at);
	shm_at(&me, id, 0, 0, &at2);
	s = ids_find(&me, FAC_SHM, id, &ident);
	seg = shm_body(&me, s);
	cr_assert_eq(check_region(&me.region, note, NULL), 0);

	DAMAGE(seg->size, 5 * SYS_PAGE, INV_SHM_SEGMENT);
	DAMAGE(seg->pages, 4, INV_SHM_SEGMENT);
	DAMAGE(seg->off, seg->off + SYS_PAGE, INV_SHM_SEGMENT);
	DAMAGE(seg->run.off, 0, INV_SHM_RUN);
	DAMAGE(seg->nattch, 3, INV_SHM_NATTCH);
	DAMAGE(seg->flags, 0, INV_SHM_TOTAL);
	DAMAGE(seg->flags, seg->flags | SHM_SEG_NORESERVE, INV_SHM_TOTAL);
	DAMAGE(seg->attach_all.off, 0, INV_SHM_NATTCH);
	DAMAGE(s->mode, s->mode | SHM_MODE_DEST, INV_SHM_DEST);
	DAMAGE(dest->flags, SHM_SEG_COUNTED, INV_SHM_DEST);
	DAMAGE(dest->dest_prev, 3, INV_SHM_DEST);
	rec = shm_attach_at(&me, seg->attach_all);
	DAMAGE(rec->ident, 0, INV_SHM_ATTACH);
	DAMAGE(rec->seg_prev.off, rec->seg_next.off, INV_SHM_ATTACH);
	DAMAGE(rec->count, 2, INV_SHM_NATTCH);
	DAMAGE(rec->task, rec->task + 1, INV_SHM_RECORD);
	shm_dt(&me, at2);
	DAMAGE(task_own(&me)->shm_free.off, 0, INV_SHM_RECORD);
	DAMAGE(task_own(&me)->shm_free.off, seg->attach_all.off,
		INV_SHM_RECORD);
	DAMAGE(task_own(&me)->shm_head.off, 0, INV_LEAK);
	DAMAGE(st->reserved, st->reserved + 1, INV_SHM_TOTAL);
	DAMAGE(st->overcommitted, 1, INV_SHM_TOTAL);
	DAMAGE(st->pool, st->pool + 1, INV_SHM_POOL);
	DAMAGE(st->n_kept, st->n_kept + 1, INV_SHM_POOL);
	DAMAGE(st->near, st->near + SYS_PAGE, INV_SHM_RUN);
	DAMAGE(st->far, st->far + SYS_PAGE, INV_SHM_RUN);
	DAMAGE(st->dest, 0, INV_SHM_DEST);
	DAMAGE(caller_header(&me)->ids[FAC_SHM].total, 0, INV_SHM_TOTAL);
	run = shm_run_at(&me, seg->run);
	DAMAGE(run->class, run->class + 1, INV_SHM_RUN);
	DAMAGE(run->class, SHM_CLASSES, INV_SHM_RUN);
	DAMAGE(run->off, run->off + 1, INV_SHM_RUN);
	DAMAGE(run->off, caller_header(&me)->file_size, INV_SHM_RUN);
	shm_dt(&me, at3);
	shm_dt(&me, at);
	shm_remove(&me, id);
}

Test(check, posix_queues)
{
	const struct mq_limits_attr small = {8, 64}, large = {4, 4096};
	static char bytes[4096];
	struct mq_desc a, b, c;
	struct prio_levels *lv;
	struct prio_block *block;
	struct prio_item *item;
	struct mqueue *q, *big, *gone;
	u32 i;

	mqueue_open(&me, "a", 1, MQ_O_RDWR | MQ_O_CREAT, 0600, &small, &a);
	mqueue_open(&me, "b", 1, MQ_O_RDWR | MQ_O_CREAT, 0600, &large, &b);
	mqueue_open(&me, "c", 1, MQ_O_RDWR | MQ_O_CREAT, 0600, &large, &c);
	mqueue_unlink(&me, "c", 1);
	q = mq_body(&me, a.s);
	big = mq_body(&me, b.s);
	gone = mq_body(&me, c.s);
	for (i = 0; i < 7; i++)
		mqueue_send(&me, &a, bytes, i, i * 3 % 5, NULL);
	mqueue_send(&me, &b, bytes, 4096, 1, NULL);
	mqueue_send(&me, &b, bytes, 10, 1, NULL);
	cr_assert_eq(check_region(&me.region, note, NULL), 0);

	DAMAGE(q->msgs.count, q->msgs.count + 1, INV_MQ_COUNT);
	DAMAGE(q->msgs.first, 2, INV_MQ_LEVELS);
	DAMAGE(q->msgs.first, 40000, INV_MQ_LEVELS);
	DAMAGE(q->msgs.ends, 0, INV_MQ_ITEM);
	DAMAGE(q->msgs.ends, q->msgs.ends + 1, INV_MQ_FIFO);
	DAMAGE(q->msgs.n_free, 0, INV_MQ_ITEM);
	DAMAGE(*prioq_free_at(&q->msgs, 0), 1, INV_MQ_ITEM);
	DAMAGE(q->msgs.made, 71, INV_MQ_ITEM);
	DAMAGE(q->msgs.n_leaves, 7, INV_MQ_LEVELS);
	DAMAGE(q->msgs.levels.off, 0, INV_LEAK);
	DAMAGE(q->msgs.cap, 7, INV_SLOT);
	DAMAGE(q->msgs.stride, 72, INV_SLOT);
	DAMAGE(q->msgs.table_off, 8, INV_SLOT);
	DAMAGE(q->msgs.free_off, 8, INV_SLOT);
	DAMAGE(q->maxmsg, 9, INV_SLOT);
	DAMAGE(q->msgsize, 1 << 25, INV_SLOT);
	DAMAGE(q->body_size, 5000, INV_SLOT);
	DAMAGE(prioq_table(&q->msgs)->off, 0, INV_MQ_ITEM);
	DAMAGE(q->name[0], 'x', INV_MQ_NAME);
	DAMAGE(q->name_len, 2, INV_MQ_NAME);
	DAMAGE(q->level, 4, INV_MQ_NAME);
	DAMAGE(q->unlinked, 1, INV_MQ_ORPHAN);
	DAMAGE(gone->unlinked, 0, INV_MQ_ORPHAN);
	DAMAGE(caller_header(&me)->mq_orphans, 0, INV_MQ_ORPHAN);
	DAMAGE(gone->orphan_prev, 0, INV_MQ_ORPHAN);
	DAMAGE(gone->orphan_next, 0, INV_MQ_ORPHAN);
	DAMAGE(caller_header(&me)->mq_fifo[0], 1, INV_REMOVING);
	DAMAGE(q->notify.state, MQ_NOTIFY_ARMED + 1, INV_MQ_NOTIFY);
	DAMAGE(q->receivers.head, 1, INV_QUEUE);
	DAMAGE(q->senders.tail, 1, INV_QUEUE);
	lv = prioq_levels(&me, &q->msgs);
	DAMAGE(lv->live[0], lv->live[0] | 1ULL << 60, INV_MQ_LEVELS);
	DAMAGE(lv->live[0], lv->live[0] & (lv->live[0] - 1), INV_MQ_ITEM);
	DAMAGE(lv->live[5], 1, INV_MQ_LEVELS);
	DAMAGE(lv->top[0], 0, INV_MQ_LEVELS);
	DAMAGE(lv->any, 0, INV_MQ_LEVELS);
	DAMAGE(lv->leaf[0].off, 0, INV_MQ_LEVELS);
	item = prioq_at(&me, &q->msgs, (u32)q->msgs.ends);
	DAMAGE(item->len, 65, INV_MQ_BLOCK);
	DAMAGE(item->len, 63, INV_MQ_COUNT);
	block = prioq_data(&me, &big->msgs, (u32)big->msgs.ends);
	DAMAGE(block->data.off, 0, INV_MQ_BLOCK);
	DAMAGE(block->cap, 512, INV_MQ_BLOCK);
	close(a.fd);
	close(b.fd);
	close(c.fd);
	mqueue_unlink(&me, "a", 1);
	mqueue_unlink(&me, "b", 1);
	mq_closed(&me, &c);
}

Test(check, sets_that_are_lent_have_counts_that_lag)
{
	s32 id = sem_get(&me, 0, 1, 0600);
	struct sop up = {0, 1, SEM_FLG_UNDO}, down = {0, -1, SEM_FLG_UNDO};
	int i;

	for (i = 0; i < 3000; i++)
		sem_op(&me, id, i % 2 ? &down : &up, 1, NULL);
	sem_op(&me, id, &up, 1, NULL);
	cr_expect_eq(check_region(&me.region, note, NULL), 0);
	sem_remove(&me, id);
}

/* All that takes memory and gives it back, as fast as it goes. */
static _Noreturn void work(void)
{
	const struct mq_limits_attr attr = {4, 2048};
	static char buf[8192 + 8];
	struct mq_desc d;
	s32 id, set, seg;
	struct sop up = {0, 1, SEM_FLG_UNDO};
	u64 at;
	u32 i;

	for (;;) {
		id = msg_get(&me, 0, 0600);
		set = sem_get(&me, 0, 30, 0600);
		seg = shm_get(&me, 0, 5 * SYS_PAGE, 0600);
		shm_at(&me, seg, 0, 0, &at);
		sem_op(&me, set, &up, 1, NULL);
		mqueue_open(
			&me, "w", 1, MQ_O_RDWR | MQ_O_CREAT, 0600, &attr, &d);
		for (i = 0; i < 20; i++) {
			*(s64 *)buf = 1 + i % 3;
			msg_send(&me, id, buf, unit_random() % 3000, 04000, 0);
			mqueue_send(&me, &d, buf, i * 100, i % 4,
				&(struct sys_timespec){0, 0});
		}
		close(d.fd);
		mqueue_unlink(&me, "w", 1);
		sem_remove(&me, set);
		shm_remove(&me, seg);
		shm_dt(&me, at);
		msg_remove(&me, id);
	}
}

Test(check, level_of_a_polled_queue_is_that_of_its_fifo)
{
	const struct mq_limits_attr attr = {2, 64};
	struct mqueue *q;
	struct mq_desc d;
	int quiet;

	cr_assert_geq(mqueue_open(&me, "polled", 6, MQ_O_RDWR | MQ_O_CREAT,
			      0600, &attr, &d),
		0);
	mq_watch(&me, &d, MQ_POLLED_IN);
	cr_assert_eq(mqueue_send(&me, &d, "x", 1, 0, NULL), 0);
	cr_expect_eq(check_live(&me, NULL, NULL, &quiet), 0);
	q = mq_body(&me, d.s);
	q->level = 2;
	cr_expect_neq(check_live(&me, NULL, NULL, &quiet), 0);
	q->level = 1;
	cr_assert_eq(write(d.fd, "m", 1), 1);
	cr_expect_neq(check_live(&me, NULL, NULL, &quiet), 0);
	close(d.fd);
	mqueue_unlink(&me, "polled", 6);
}

/* What a killed worker had of POSIX queues: one with a name, and one without,
 * which the making of another sweeps away. */
static void remove_its_queues(void)
{
	const struct mq_limits_attr attr = {1, 1};
	struct mq_desc d;

	mqueue_unlink(&me, "w", 1);
	if (mqueue_open(&me, "x", 1, MQ_O_RDWR | MQ_O_CREAT, 0600, &attr, &d) <
		0)
		return;
	close(d.fd);
	mqueue_unlink(&me, "x", 1);
}

static void say(void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	(void)arg;
	cr_log_error("invariant %d: %s %lu %lu", which, what, a, b);
}

Test(check, under_locks_nothing_is_a_fault_while_others_work)
{
	int i, quiet, faults = 0;
	pid_t pid = fork();

	if (!pid) {
		unit_forked();
		work();
	}
	for (i = 0; i < 1000; i++)
		faults += check_live(&me, say, NULL, &quiet);
	cr_expect_eq(faults, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (i = 0; i < 2; i++)
		faults += check_live(&me, say, NULL, &quiet);
	cr_expect_eq(faults, 0);
	cr_expect_eq(quiet, 1, "nobody works any more");
	/* What the killed one left is others' to free. */
	for (i = 0; (i = (int)ids_next(&me, FAC_MSG, (u32)i)) < (int)IDX_MAX;
		i++)
		msg_remove(
			&me, IDENT_ID(region_slot(&me.region, FAC_MSG, (u32)i)
					      ->ident));
	remove_its_queues();
}

Test(check, under_locks_a_fault_is_found_while_others_work)
{
	s32 id = msg_get(&me, 0, 0600);
	struct msgqueue *q;
	u64 ident;
	int quiet;
	pid_t pid;

	q = msg_body(&me, ids_find(&me, FAC_MSG, id, &ident));
	pid = fork();
	if (!pid) {
		unit_forked();
		work();
	}
	q->n_large = 3;
	cr_expect_eq(check_live(&me, note, NULL, &quiet), 1);
	q->n_large = 0;
	cr_expect_eq(check_live(&me, note, NULL, &quiet), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check_live(&me, note, NULL, &quiet);
	remove_its_queues();
}

/* A reaper died when the records were unlinked and not yet freed: they become
 * the stock of the next process in that place of the table. */
Test(check, records_of_the_dead_are_inherited)
{
	s32 id = shm_get(&me, 0, SYS_PAGE, 0600);
	struct shm_attach *rec;
	struct task *t;
	u64 at;
	u32 idx;
	pid_t pid = fork();

	if (!pid) {
		unit_forked();
		shm_at(&me, id, 0, 0, &at);
		shm_at(&me, id, 0, 0, &at);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	idx = (u32)pid & (N_TASKS - 1);
	t = region_task(&me.region, idx);
	cr_assert_eq(t->pid, (u32)pid);
	lock_acquire(&me, &t->lock);
	for (rec = shm_attach_at(&me, t->shm_head); rec;
		rec = shm_attach_at(&me, rec->task_next))
		shm_record_unlink(&me, t, rec, t->pid);
	t->shm_free.off = 0;
	lock_release(&me, &t->lock);
	look_for(INV_SHM_RECORD, "shm_free");
	/* Another process that begins to look there. */
	me.pid = (u32)pid + N_TASKS;
	me.task = me.thread = 0;
	cr_assert_eq(caller_enroll(&me), 0);
	cr_expect_eq(me.task, idx);
	cr_expect_eq(check_region(&me.region, note, NULL), 0);
	shm_remove(&me, id);
}
