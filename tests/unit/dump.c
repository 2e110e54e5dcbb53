// SPDX-License-Identifier: MIT
/*
 * Dumps and loads: what is taken out of one object and put into another makes
 * the two equal; and what does not fit is refused.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "inspect/dump.h"
#include "shm/shmmap.h"
#include "unit.h"

TestSuite(dump, .init = unit_init, .fini = unit_fini, .timeout = 60);

Test(dump, semaphores)
{
	struct dump_sem in[3] = {{1, 100, 1000}, {32767, 200, 0}, {0, 0, 3000}},
			out[3];
	s32 id = sem_get(&me, 0, 3, 0600);
	struct sem_stat st;

	cr_assert_eq(load_sems(&me, id, in, 3), 0);
	memset(out, 0x55, sizeof(out));
	cr_assert_eq(dump_sems(&me, id, out, 2), 3, "tells how many there are");
	cr_expect_eq(out[2].value, 0x55555555u, "no more than there is room");
	cr_assert_eq(dump_sems(&me, id, out, 3), 3);
	cr_expect_eq(memcmp(in, out, sizeof(in)), 0);
	cr_expect_eq(sem_getval(&me, id, 1), 32767);
	cr_expect_eq(sem_getpid(&me, id, 0), 100);
	cr_assert_eq(sem_stat(&me, id, OBJECT_BY_ID, &st), 0);
	cr_expect_eq(st.otime, 3000);
	cr_expect_eq(load_sems(&me, id, in, 2), -EINVAL);
	cr_expect_eq(load_sems(&me, id + 1, in, 3), -EINVAL);
	/* The words are as good as before. */
	cr_expect_eq(sem_op(&me, id, &(struct sop){0, -1, 0}, 1, NULL), 0);
	sem_remove(&me, id);
	cr_expect_eq(dump_sems(&me, id, out, 3), -EINVAL);
}

static void send(s32 id, s64 type, u64 size, int byte)
{
	static char buf[8192 + 8];

	*(s64 *)buf = type;
	memset(buf + 8, byte, size);
	cr_assert_eq(msg_send(&me, id, buf, size, 0, 0), 0);
}

Test(dump, messages_small_and_large)
{
	const struct dump_msgqueue in = {1 << 20, 5, 6, 77, 88};
	static char room[32768];
	const struct dump_message *m = (void *)room;
	struct dump_msgqueue out;
	s32 id = msg_get(&me, 0, 0600);
	struct msg_stat st;
	s64 n;

	send(id, 9, 3, 'a');
	send(id, 2, 8000, 'b');
	send(id, 9, 0, 'c');
	cr_assert_eq(load_msgqueue(&me, id, &in), 0);
	n = dump_messages(&me, id, &out, room, 0);
	cr_assert_eq(n, (s64)(dump_message_space(3) + dump_message_space(8000) +
				dump_message_space(0)));
	cr_assert_eq(dump_messages(&me, id, &out, room, sizeof(room)), n);
	cr_expect_eq(memcmp(&in, &out, sizeof(in)), 0);
	cr_expect(m->type == 9 && m->size == 3);
	cr_expect_eq(memcmp(m + 1, "aaa\0\0\0\0", 8), 0, "padded with zeros");
	m = (void *)((char *)m + dump_message_space(3));
	cr_expect(m->type == 2 && m->size == 8000);
	cr_expect_eq(((char *)(m + 1))[7999], 'b');
	cr_assert_eq(msg_stat(&me, id, OBJECT_BY_ID, &st), 0);
	cr_expect(st.lspid == 77 && st.lrpid == 88 && st.qbytes == 1 << 20);
	msg_remove(&me, id);
}

Test(dump, posix_messages_in_the_order_of_receiving)
{
	const struct mq_limits_attr small = {8, 16}, large = {8, 5000};
	static const u32 prios[] = {5, 900, 5, 31000, 0};
	static char room[65536], bytes[5000];
	const struct dump_message *m;
	struct dump_mqueue times;
	struct mq_desc d[2];
	int k, i;
	s64 n;
	u64 at;

	mqueue_open(&me, "s", 1, MQ_O_RDWR | MQ_O_CREAT, 0600, &small, &d[0]);
	mqueue_open(&me, "l", 1, MQ_O_RDWR | MQ_O_CREAT, 0600, &large, &d[1]);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < 5; i++) {
			bytes[0] = (char)('0' + i);
			mqueue_send(&me, &d[k], bytes, k ? 1000 * i + 1 : i + 1,
				prios[i], NULL);
		}
		n = dump_mq_messages(&me, &d[k], &times, room, sizeof(room));
		cr_assert_gt(n, 0);
		for (i = 0, at = 0; at < (u64)n; i++) {
			static const int order[] = {3, 1, 0, 2, 4};

			m = (void *)(room + at);
			cr_assert_lt(i, 5);
			cr_expect_eq(m->type, prios[order[i]]);
			cr_expect_eq(*(char *)(m + 1), '0' + order[i]);
			at += dump_message_space(m->size);
		}
		cr_expect_eq(i, 5);
		close(d[k].fd);
		mqueue_unlink(&me, k ? "l" : "s", 1);
	}
	cr_expect_eq(dump_mq_messages(&me, &d[0], &times, room, 0), -EBADF);
}

Test(dump, permissions_and_times)
{
	const struct dump_perm in = {1, 2, 3, 4, 0640, 0, 12345};
	const struct dump_segment seg = {111, 222, 33, 44, 0, 0};
	s32 id = shm_get(&me, 0, 1, 0600);
	struct dump_segment seg_out;
	struct dump_perm out;

	cr_assert_eq(load_segment(&me, id, &seg), 0);
	cr_assert_eq(dump_segment(&me, id, &seg_out), 0);
	cr_expect_eq(memcmp(&seg, &seg_out, sizeof(seg)), 0);
	cr_assert_eq(load_perm(&me, FAC_SHM, id, &in), 0);
	cr_assert_eq(dump_perm(&me, FAC_SHM, id, &out), 0);
	cr_expect_eq(memcmp(&in, &out, sizeof(in)), 0);
	cr_expect_eq(dump_perm(&me, FAC_SEM, id, &out), -EINVAL);
	shm_remove(&me, id);
}

Test(dump, ids_go_on_where_they_stopped)
{
	struct dump_ids ids, bad;
	s32 first, i;

	for (i = 0; i < 100; i++)
		sem_remove(&me, sem_get(&me, 0, 1, 0600));
	cr_assert_eq(dump_list(&me, FAC_SEM, NULL, 0, &ids), 0);
	first = sem_get(&me, 0, 1, 0600);
	sem_remove(&me, first);
	cr_assert_eq(load_ids(&me, FAC_SEM, &ids), 0);
	cr_expect_eq(sem_get(&me, 0, 1, 0600), first);
	sem_remove(&me, first);
	bad = ids;
	bad.seq = 65536;
	cr_expect_eq(load_ids(&me, FAC_SEM, &bad), -EINVAL);
	bad = ids;
	bad.cursor = 32769;
	cr_expect_eq(load_ids(&me, FAC_SEM, &bad), -EINVAL);
	bad = ids;
	bad.last_idx = 32768;
	cr_expect_eq(load_ids(&me, FAC_SEM, &bad), -EINVAL);
}

Test(dump, list_is_of_one_moment)
{
	struct dump_name names[3];
	struct dump_ids ids;
	s32 id[3], i;

	for (i = 0; i < 3; i++)
		id[i] = sem_get(&me, 77 + i, 1, 01600);
	cr_assert_eq(dump_list(&me, FAC_SEM, names, 2, &ids), 3);
	cr_assert_eq(dump_list(&me, FAC_SEM, names, 3, &ids), 3);
	for (i = 0; i < 3; i++) {
		cr_expect_eq(IDENT_ID(names[i].ident), id[i]);
		cr_expect_eq(names[i].key, 77 + i);
		cr_expect(dump_is_there(&me, FAC_SEM, &names[i]));
	}
	/* Another with the same key and even the same id is another one. */
	sem_remove(&me, id[1]);
	cr_expect(!dump_is_there(&me, FAC_SEM, &names[1]));
	caller_header(&me)->ids[FAC_SEM].next_id = id[1];
	cr_assert_eq(sem_get(&me, 78, 1, 01600), id[1]);
	cr_expect(!dump_is_there(&me, FAC_SEM, &names[1]));
	for (i = 0; i < 3; i++)
		sem_remove(&me, id[i]);
}
