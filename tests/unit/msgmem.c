// SPDX-License-Identifier: MIT
/*
 * The removal of a queue whose bytes somebody has damaged ends.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include "msg/msg.h"
#include "msg/msglease.h"
#include "msg/msgqueue.h"
#include "object/reap.h"
#include "unit.h"

TestSuite(msgmem, .init = unit_init, .fini = unit_fini, .timeout = 30);

/* The last message leads to the first again, and the count is the largest that
 * there is: 2^29, of which each takes 30 ns. */
Test(msgmem, a_circle_of_messages_is_removed)
{
	s32 id = msg_get(&me, 0, 0600);
	struct slot *s = region_slot(&me.region, FAC_MSG, (u32)id & 0x7fff);
	const struct {
		s64 type;
		char text[200];
	} m = {1, "text"};
	struct msgqueue *q;
	struct msg *first, *at;
	int i;

	for (i = 0; i < 3; i++)
		cr_assert_eq(msg_send(&me, id, &m, sizeof(m.text), 0, 0), 0);
	q = msg_body(&me, s);
	first = msg_at(&me, (u32)q->ends);
	for (at = first; at->next; at = msg_at(&me, at->next))
		;
	at->next = (u32)q->ends;
	q->count = ~0ULL;
	cr_expect_eq(msg_remove(&me, id), 0);
}

/* A receiver on lease takes its own block first, and again until it has one. */
Test(msgmem, a_receivers_block_that_leads_nowhere_is_lost)
{
	s32 id = msg_get(&me, 0, 0600);
	struct {
		s64 type;
		char text[2000];
	} m = {1, "text"};
	struct msg_blocks *own;

	cr_assert_eq(msg_set_leasing(&me, id, 1), 0);
	cr_assert_eq(msg_send(&me, id, &m, sizeof(m.text), 0, 0), 0);
	own = msg_own_blocks(&me);
	own->tier[msgmem_where(sizeof(m.text))].off = 0x11;
	cr_expect_eq(msg_receive(&me, id, &m, sizeof(m.text), 0, 0, 0), -EIO);
	cr_expect_eq(msg_receive(&me, id, &m, sizeof(m.text), 0, 0, 0),
		sizeof(m.text));
	cr_expect_eq(msg_remove(&me, id), 0);
}

/* Each by somebody who lives, and whose record is the last of all. */
Test(msgmem, removed_queues_that_are_made_up_do_not_hold_up_a_removal)
{
	struct header *h = caller_header(&me);
	u64 at = h->heap.bump + (1 << 20), size = sizeof(struct msgqueue);
	s32 id = msg_get(&me, 0, 0600);
	u32 i, high = h->thread_high;
	struct msgqueue *q;
	clock_t begun;

	size = (size + 63) & ~63ULL;
	for (i = 0; i < 20000; i++, at += size) {
		q = region_at(&me.region, at);
		q->lrpid = (u32)getppid();
		q->stamp = h->msg_remains.off;
		h->msg_remains.off = at;
	}
	h->thread_high = N_THREADS;
	for (i = 2; i < N_THREADS; i++)
		region_thread(&me.region, i)->claims = 1;
	region_thread(&me.region, N_THREADS - 1)->tid = (u32)getppid();
	begun = clock();
	cr_expect_eq(msg_remove(&me, id), 0);
	cr_expect_lt((double)(clock() - begun) / CLOCKS_PER_SEC, 1);
	h->msg_remains.off = 0;
	region_thread(&me.region, N_THREADS - 1)->tid = 0;
	for (i = 2; i < N_THREADS; i++)
		region_thread(&me.region, i)->claims = 0;
	h->thread_high = high;
}

/* As its remover leaves it who is killed, but that it leads to itself. */
Test(msgmem, a_removed_queue_that_leads_to_itself_is_emptied_once)
{
	struct header *h = caller_header(&me);
	s32 id = msg_get(&me, 0, 0600);
	u32 idx = (u32)id & 0x7fff;
	struct slot *s = region_slot(&me.region, FAC_MSG, idx);
	u64 *bits = region_at(&me.region, BITMAP_OFF((u64)FAC_MSG));
	struct msgqueue *q = msg_body(&me, s);

	h->msg_remains = s->body;
	q->stamp = s->body.off;
	q->lrpid = 0x3f000000u;
	s->ident = s->body.off = 0;
	bits[idx / 64] &= ~(1ULL << idx % 64);
	h->ids[FAC_MSG].in_use--;
	cr_expect_eq(msg_remove(&me, msg_get(&me, 0, 0600)), 0);
	cr_expect_eq(h->msg_remains.off, 0);
}

/* A thread whose first call met a full file system: it is not enrolled. */
static void *first_call_without_memory(void *arg)
{
	struct caller c = {.cred = &me_cred};

	(void)arg;
	c.shm = me.shm;
	c.region = me.region;
	caller_refresh(&c);
	return (void *)(long)msg_spare(&c);
}

Test(msgmem, who_is_not_enrolled_gives_spare_memory_back)
{
	s32 id = msg_get(&me, 0, 0600);
	struct slot *s = region_slot(&me.region, FAC_MSG, (u32)id & 0x7fff);
	struct {
		s64 type;
		char text[2000];
	} m = {1, "text"};
	pthread_t t;
	void *gave;

	cr_assert_eq(msg_send(&me, id, &m, sizeof(m.text), 0, 0), 0);
	cr_assert_eq(msg_receive(&me, id, &m, sizeof(m.text), 0, 0, 0),
		sizeof(m.text));
	cr_assert(msgmem_has_spare(msg_body(&me, s)));
	pthread_create(&t, NULL, first_call_without_memory, NULL);
	pthread_join(t, &gave);
	cr_expect_eq((long)gave, 1);
	cr_expect(!msgmem_has_spare(msg_body(&me, s)));
	cr_expect_eq(msg_remove(&me, id), 0);
}
