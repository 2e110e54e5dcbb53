// SPDX-License-Identifier: MIT
/*
 * The views that the command and the mount are made of: what they tell is what
 * the calls did.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "render/eventtext.h"
#include "inspect/glance.h"
#include "inspect/lockview.h"
#include "inspect/mqview.h"
#include "inspect/msgview.h"
#include "inspect/semview.h"
#include "shm/shmattach.h"
#include "shm/shmmap.h"
#include "shm/shmrun.h"
#include "inspect/shmview.h"
#include "inspect/taskview.h"
#include "inspect/graph.h"
#include "inspect/waitview.h"
#include "registry/event.h"
#include "unit.h"

TestSuite(views, .init = unit_init, .fini = unit_fini, .timeout = 60);

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(views, walking_over_objects_leaves_holes_out)
{
	struct header *h = caller_header(&me);
	s32 a = sem_get(&me, 0, 1, 0600), b;
	u32 at = 0, seen[4], n = 0;

	atom_store_release(&h->ids[FAC_SEM].next_id, 20000);
	b = sem_get(&me, 0, 1, 0600);
	cr_assert_eq(b, 20000);
	while ((at = ids_next(&me, FAC_SEM, at)) < IDX_MAX && n < 4)
		seen[n++] = at++;
	cr_assert_eq(n, 2);
	cr_expect_eq(seen[0], (u32)a);
	cr_expect_eq(seen[1], 20000);
	cr_expect_eq(ids_next(&me, FAC_MSG, 0), IDX_MAX);
	sem_remove(&me, b);
	cr_expect_eq(ids_next(&me, FAC_SEM, 1), IDX_MAX);
}

/* Bytes that the registry has in its file system. */
static long long in_file(void)
{
	struct stat st;

	fstat(unit_file(), &st);
	return st.st_blocks * 512LL;
}

/* More slots than there are, said by the header and by the bitmap: on a mapping
 * each hole that is read takes a page of a tmpfs. */
Test(views, who_looks_takes_no_space_whatever_the_header_says)
{
	struct id_table *t = &caller_header(&me)->ids[FAC_SEM];
	u64 *bits = region_at(&me.region, BITMAP_OFF((u64)FAC_SEM));
	struct id_table was;
	struct glance_locks sum;
	struct lock_view v;
	struct lock_cursor at = {0};
	struct holes holes = {.fd = unit_file()};
	struct glance g;
	long long before;
	u64 first;
	u32 i;

	me.region.holes = &holes;
	sem_get(&me, 0, 1, 0600);
	lock_acquire(&me, &region_slot(&me.region, FAC_SEM, 0)->lock);
	lock_release(&me, &region_slot(&me.region, FAC_SEM, 0)->lock);
	was = *t;
	first = bits[0];
	t->slots_ready = t->max_idx = 1u << 20;
	before = in_file();
	glance_count_locks(&me, LOCK_OBJECT, FAC_SEM, &sum);
	cr_expect_gt(sum.taken, 0);
	cr_expect_leq(in_file(), before + (64 << 10), "counting locks");
	while (lock_view_next(&me, &at, &v))
		;
	cr_expect_leq(in_file(), before + (64 << 10), "locks");
	t->slots_ready = was.slots_ready;
	for (i = 0; i < IDX_PER_PAGE / 64; i++)
		bits[i] = ~0ULL;
	cr_expect_eq(glance_take(&me, &g), 0);
	cr_expect_eq(g.n_objects, 1);
	cr_expect_leq(in_file(), before + (64 << 10), "a glance");
	glance_deinit(&g);
	for (i = 0; i < IDX_PER_PAGE / 64; i++)
		bits[i] = i ? 0 : first;
	*t = was;
	me.region.holes = NULL;
}

static void send(s32 id, s64 type, u64 size)
{
	static char buf[8192 + 8];

	*(s64 *)buf = type;
	cr_assert_eq(msg_send(&me, id, buf, size, 0, 0), 0);
}

Test(views, messages_of_a_queue_in_their_order)
{
	s32 id = msg_get(&me, 0, 0600);
	struct msg_entry e[4];

	cr_expect_eq(msg_entries(&me, id, e, 4), 0);
	send(id, 7, 100);
	send(id, 3, 5000);
	send(id, 7, 0);
	cr_assert_eq(msg_entries(&me, id, e, 2), 3);
	cr_expect_eq(e[1].type, 3);
	cr_assert_eq(msg_entries(&me, id, e, 4), 3);
	cr_expect_eq(e[0].type, 7);
	cr_expect_eq(e[0].size, 100);
	cr_expect_eq(e[1].size, 5000);
	cr_expect_eq(e[2].type, 7);
	cr_expect_eq(e[2].size, 0);
	cr_expect_eq(msg_entries(&me, id + 1, e, 4), -EINVAL);
	msg_remove(&me, id);
}

static void receive_up_to_5(s32 id)
{
	char buf[72];

	msg_receive(&me, id, buf, 64, -5, 0, 0);
}

static void send_much(s32 id)
{
	static char buf[8192 + 8];

	*(s64 *)buf = 9;
	msg_send(&me, id, buf, 8000, 0, 0);
	msg_send(&me, id, buf, 8001, 0, 0);
	msg_send(&me, id, buf, 8002, 0, 0);
}

Test(views, who_sleeps_on_a_message_queue_and_what_for)
{
	s32 id = msg_get(&me, 0, 0600);
	struct msg_sleeper s[4];
	struct wait_edge w[4];
	pid_t in = unit_sleeper(receive_up_to_5, id, 1), out;

	out = unit_sleeper(send_much, id, 2);
	cr_assert_eq(msg_sleepers(&me, id, s, 4), 2);
	cr_expect_eq(s[0].pid, (u32)in);
	cr_expect_eq(s[0].tid, (u32)in);
	cr_expect_eq(s[0].want, MSG_WANT_UP_TO);
	cr_expect_eq(s[0].type, 5);
	cr_expect_eq(s[0].size, 64);
	cr_expect_leq(s[0].since, sys_realtime_sec());
	cr_expect_geq(s[0].since, sys_realtime_sec() - 50);
	cr_expect_eq(s[1].pid, (u32)out);
	cr_expect_eq(s[1].want, MSG_WANT_SPACE);
	cr_expect_eq(s[1].type, 9);
	cr_expect_eq(s[1].size, 8002);
	cr_assert_eq(wait_edges(&me, w, 4), 2);
	cr_expect_eq(w[0].facility, FAC_MSG);
	cr_expect_eq(w[0].what, WAIT_FOR_MESSAGE);
	cr_expect_eq(w[0].id, id);
	cr_expect_eq(w[0].holder, 0);
	cr_expect_eq(w[1].what, WAIT_FOR_SPACE);
	cr_expect_eq(wait_circles(w, 2), 0);
	end(in);
	cr_expect_eq(
		msg_sleepers(&me, id, s, 4), 1, "exited ones are left out");
	end(out);
	msg_remove(&me, id);
}

static void take_of_third(s32 id)
{
	struct sop op = {2, -4, 0};

	sem_op(&me, id, &op, 1, NULL);
}

Test(views, who_sleeps_on_a_set)
{
	s32 id = sem_get(&me, 0, 3, 0600);
	struct sem_sleeper s[2];
	struct sem_value v[3];
	pid_t in = unit_sleeper(take_of_third, id, 1);

	cr_assert_eq(sem_sleepers(&me, id, s, 2), 1);
	cr_expect_eq(s[0].pid, (u32)in);
	cr_expect_eq(s[0].op.num, 2);
	cr_expect_eq(s[0].op.op, -4);
	cr_assert_eq(sem_values(&me, id, v, 2), 3, "asks for room for all");
	cr_assert_eq(sem_values(&me, id, v, 3), 3);
	cr_expect_eq(v[2].num, 2);
	cr_expect_eq(v[2].ncnt, 1);
	end(in);
	cr_expect_eq(
		sem_sleepers(&me, id, s, 2), 0, "exited ones are left out");
	sem_remove(&me, id);
}

Test(views, attachments_of_a_segment)
{
	s32 id = shm_get(&me, 0, 3 * SYS_PAGE, 0600);
	struct shm_attachment a[4];
	u64 at, ro;

	cr_expect_eq(shm_attachments(&me, id, a, 4), 0);
	cr_assert_eq(shm_at(&me, id, 0, 0, &at), 0);
	cr_assert_eq(shm_at(&me, id, 0, SHM_RDONLY_FLAG, &ro), 0);
	cr_assert_eq(shm_attachments(&me, id, a, 4), 2);
	/* The latest is first. */
	cr_expect_eq(a[0].pid, (u32)getpid());
	cr_expect_eq(a[0].count, 1);
	cr_expect_eq(a[0].addr, ro);
	cr_expect_eq(a[0].read_only, 1);
	cr_expect_eq(a[1].addr, at);
	cr_expect_eq(a[1].read_only, 0);
	cr_assert_eq(shm_dt(&me, ro), 0);
	cr_expect_eq(shm_attachments(&me, id, a, 4), 1);
	shm_dt(&me, at);
	shm_remove(&me, id);
}

Test(views, bytes_of_a_segment_without_attaching_it)
{
	s32 id = shm_get(&me, 0, 2 * SYS_PAGE + 10, 0600);
	char buf[2 * SYS_PAGE], *p;
	int fd = unit_file();
	struct shm_stat st;
	u64 at;

	cr_assert_eq(shm_copy(&me, id, fd, 0, buf, 16, 0), 16);
	cr_expect_eq(buf[3], 0);
	cr_assert_eq(shm_at(&me, id, 0, 0, &at), 0);
	p = (char *)at;
	p[SYS_PAGE] = 'x';
	p[2 * SYS_PAGE + 9] = 'y';
	cr_assert_eq(shm_copy(&me, id, fd, SYS_PAGE, buf, 4, 0), 4);
	cr_expect_eq(buf[0], 'x');
	cr_expect_eq(shm_copy(&me, id, fd, 2 * SYS_PAGE + 5, buf, 100, 0), 5);
	cr_expect_eq(buf[4], 'y');
	cr_expect_eq(shm_copy(&me, id, fd, 3 * SYS_PAGE, buf, 100, 0), 0);
	cr_expect_eq(shm_copy(&me, id, fd, 1, "z", 1, 1), 1);
	cr_expect_eq(p[1], 'z');
	shm_dt(&me, at);
	shm_remove(&me, id);
	/* Its pages are another's now: nothing shows through. */
	id = shm_get(&me, 0, 2 * SYS_PAGE + 10, 0600);
	cr_expect_eq(shm_copy(&me, id, fd, SYS_PAGE, buf, 4, 0), 4);
	cr_expect_eq(buf[0], 0);
	cr_expect_eq(shm_copy(&me, id, fd, 0, "w", 1, 1), 1);
	cr_expect_eq(shm_copy(&me, id, fd, 0, buf, 4, 0), 4);
	cr_expect_eq(buf[0], 'w');
	cr_expect_eq(buf[1], 0);
	cr_assert_eq(shm_stat(&me, id, OBJECT_BY_ID, &st), 0);
	cr_expect_eq(st.atime, 0, "written, but not attached");
	shm_remove(&me, id);
	id = shm_get(&me, 0, 2 * SYS_PAGE + 10, 0600);
	cr_assert_eq(shm_at(&me, id, 0, 0, &at), 0);
	cr_expect_eq(*(char *)at, 0, "what was written is not seen again");
	shm_dt(&me, at);
	shm_remove(&me, id);
}

static void receive_posix(s32 unused)
{
	struct mq_view v;
	char buf[64];

	(void)unused;
	cr_assert_eq(mq_view_find(&me, "two", 3, &v), 1);
	v.desc.fd = open("/dev/null", O_RDWR);
	mqueue_receive(&me, &v.desc, buf, sizeof(buf), NULL, NULL);
}

Test(views, posix_queues_by_walk_and_by_name)
{
	static const u32 prios[] = {3, 9, 3, 0, 9};
	const struct mq_limits_attr attr = {5, 64};
	struct mq_desc one, two;
	struct mq_sleeper s[2];
	struct mq_entry e[8];
	struct mq_view v;
	u32 at = 0, i;
	pid_t pid;

	cr_assert_geq(mqueue_open(&me, "one", 3, MQ_O_RDWR | MQ_O_CREAT, 0640,
			      &attr, &one),
		0);
	cr_assert_geq(mqueue_open(&me, "two", 3, MQ_O_RDWR | MQ_O_CREAT, 0600,
			      &attr, &two),
		0);
	for (i = 0; i < 5; i++)
		cr_assert_eq(mqueue_send(&me, &one, "abcdefgh", i + 1, prios[i],
				     NULL),
			0);
	cr_assert_eq(mq_view_next(&me, &at, &v), 1);
	cr_expect_str_eq(v.name, "one");
	cr_expect_eq(v.curmsgs, 5);
	cr_expect_eq(v.qsize, 15);
	cr_expect_eq(v.maxmsg, 5);
	cr_expect_eq(v.mode & 0700, 0600);
	cr_expect_eq(v.notify_how, MQ_VIEW_NOBODY);
	cr_assert_eq(mq_entries(&me, &v.desc, e, 8), 5);
	/* Priorities 9 9 3 3 0; lengths tell the order of sending. */
	cr_expect(e[0].prio == 9 && e[0].len == 2);
	cr_expect(e[1].prio == 9 && e[1].len == 5);
	cr_expect(e[2].prio == 3 && e[2].len == 1);
	cr_expect(e[3].prio == 3 && e[3].len == 3);
	cr_expect(e[4].prio == 0 && e[4].len == 4);
	cr_assert_eq(mq_view_next(&me, &at, &v), 1);
	cr_expect_str_eq(v.name, "two");
	cr_expect_eq(mq_view_next(&me, &at, &v), 0);
	pid = unit_sleeper(receive_posix, 0, 1);
	cr_assert_eq(mq_view_find(&me, "two", 3, &v), 1);
	cr_expect_eq(v.n_receivers, 1);
	cr_expect_eq(v.n_senders, 0);
	cr_assert_eq(mq_sleepers(&me, &v.desc, s, 2), 1);
	cr_expect_eq(s[0].pid, (u32)pid);
	cr_expect_eq(s[0].sending, 0);
	end(pid);
	cr_expect_eq(mq_view_find(&me, "none", 4, &v), 0);
	cr_expect_eq(mq_in_use(&me, &one), 1);
	mqueue_unlink(&me, "one", 3);
	at = 0;
	cr_assert_eq(mq_view_next(&me, &at, &v), 1);
	cr_expect_eq(v.unlinked, 1);
	close(one.fd);
	mq_closed(&me, &one);
	cr_expect_eq(mq_entries(&me, &one, e, 8), -EBADF);
	close(two.fd);
	mqueue_unlink(&me, "two", 3);
	at = 0;
	cr_expect_eq(mq_view_next(&me, &at, &v), 0);
}

Test(views, priorities_in_a_large_random_queue)
{
	const struct mq_limits_attr attr = {10, 8};
	struct mq_entry e[512];
	struct mq_desc d;
	u32 i;

	caller_header(&me)->limits.mq_msg_max = 512;
	cr_assert_geq(mqueue_open(&me, "q", 1, MQ_O_RDWR | MQ_O_CREAT, 0600,
			      &(struct mq_limits_attr){512, attr.msgsize}, &d),
		0);
	for (i = 0; i < 512; i++)
		cr_assert_eq(mqueue_send(&me, &d, "12345678", 1 + i % 8,
				     unit_random() % 300, NULL),
			0);
	cr_assert_eq(mq_entries(&me, &d, e, 512), 512);
	for (i = 0; i < 512; i++) {
		char buf[8];
		u32 prio;
		long n = mqueue_receive(&me, &d, buf, 8, &prio, NULL);

		cr_assert(n == (long)e[i].len && prio == e[i].prio,
			"message %u: %ld of %u, not %u of %u", i, n, prio,
			e[i].len, e[i].prio);
	}
	close(d.fd);
	mqueue_unlink(&me, "q", 1);
}

Test(views, tasks_and_what_hangs_on_them)
{
	s32 set = sem_get(&me, 0, 1, 0600), seg = shm_get(&me, 0, 1, 0600);
	struct sop up = {0, 1, SEM_FLG_UNDO};
	struct task_view v;
	struct task_walk at = {0};
	u64 addr;
	pid_t pid;

	cr_assert_eq(task_view_next(&me, &at, &v), 1);
	cr_expect_eq(v.pid, (u32)getpid());
	cr_expect_eq(v.state, TASK_LIVE);
	cr_expect_eq(v.n_threads, 1);
	cr_expect_eq(v.n_undo, 0);
	cr_expect_eq(v.life, TASK_LIFE_NONE);
	cr_expect_eq(task_view_next(&me, &at, &v), 0);
	sem_op(&me, set, &up, 1, NULL);
	shm_at(&me, seg, 0, 0, &addr);
	at = (struct task_walk){0};
	cr_assert_eq(task_view_next(&me, &at, &v), 1);
	cr_expect_eq(v.n_undo, 1);
	cr_expect_eq(v.n_attach, 1);
	cr_expect_eq(v.life, TASK_LIFE_LINKED);
	cr_expect_eq(v.life_tid, (u32)getpid());
	cr_expect_eq(v.gone, 0);
	pid = fork();
	if (!pid) {
		unit_forked();
		sem_op(&me, set, &up, 1, NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	at = (struct task_walk){0};
	do
		cr_assert_eq(task_view_next(&me, &at, &v), 1);
	while (v.pid != (u32)pid);
	cr_expect_eq(v.gone, 1);
	cr_expect_eq(v.n_undo, 1);
	cr_expect_eq(v.life, TASK_LIFE_FIRED);
	shm_dt(&me, addr);
	shm_remove(&me, seg);
	sem_remove(&me, set);
}

/* Eight, of which nearly all is a hole. */
Test(views, resident_pages_of_a_segment_of_terabytes)
{
	s32 id = shm_get(&me, 0, SYS_PAGE, 0600), i;
	struct slot *s = region_slot(&me.region, FAC_SHM, (u32)id & 0x7fff);
	struct shm_segment *seg = shm_body(&me, s), was = *seg;
	struct shm_run *run = shm_run_at(&me, seg->run);
	u32 class = run->class;
	const struct timespec pause = {0, 200000000};
	struct shm_totals sum;
	clock_t begun = clock();
	u64 addr;

	run->class = SHM_CLASSES - 1;
	while (shm_run_pages(run) > 1ULL << 31)
		run->class --;
	seg->pages = shm_run_pages(run);
	seg->touched = 1;
	for (i = 0; i < 3; i++)
		cr_expect_geq(shm_info(&me, 1, &sum), 0);
	cr_expect_lt((double)(clock() - begun) / CLOCKS_PER_SEC, 5);
	*seg = was;
	run->class = class;
	/* Who asks again after a pause, as a monitor does, is told all. */
	cr_assert_eq(shm_at(&me, id, 0, 0, &addr), 0);
	*(volatile char *)addr = 1;
	nanosleep(&pause, NULL);
	cr_expect_geq(shm_info(&me, 1, &sum), 0);
	cr_expect_eq(sum.resident, 1);
	shm_dt(&me, addr);
	shm_remove(&me, id);
}

static int find_lock(const char *name, struct lock_view *ret)
{
	struct lock_cursor at = {0};

	while (lock_view_next(&me, &at, ret))
		if (str_equal(ret->name, name))
			return 1;
	return 0;
}

Test(views, locks_are_counted_timed_and_reset)
{
	s32 id = msg_get(&me, 0, 0600), i;
	struct lock_view before, v;

	cr_assert(find_lock("msg", &v));
	cr_expect_eq(v.class, LOCK_FACILITY);
	cr_assert(find_lock("heap", &v));
	send(id, 1, 1);
	cr_assert(find_lock("msg 0", &before));
	cr_expect_eq(before.class, LOCK_OBJECT);
	cr_expect_eq(before.total_ns, 0, "profiling is off");
	for (i = 0; i < 10; i++)
		send(id, 1, 1);
	cr_assert(find_lock("msg 0", &v));
	cr_expect_eq(v.count, before.count + 10);
	cr_assert_eq(lock_view_profile(&me, 1), 0);
	cr_expect_not(find_lock("msg 0", &v), "reset");
	cr_expect_not(find_lock("heap", &v));
	for (i = 0; i < 10; i++)
		send(id, 1, 1);
	cr_assert(find_lock("msg 0", &v));
	cr_expect_eq(v.count, 10);
	cr_expect_gt(v.total_ns, 0);
	cr_expect_leq(v.max_ns, v.total_ns);
	cr_expect_geq(v.max_ns, v.total_ns / 10);
	cr_assert_eq(lock_view_profile(&me, 0), 0);
	send(id, 1, 1);
	cr_assert(find_lock("msg 0", &before));
	cr_expect_eq(before.total_ns, v.total_ns);
	msg_remove(&me, id);
	cr_assert(find_lock("msg #0", &v));
}

Test(views, a_circle_of_waiting_is_told_from_a_chain)
{
	struct wait_edge e[] = {
		{.pid = 1, .holder = 2},
		{.pid = 2, .holder = 3},
		{.pid = 3, .holder = 1},
		{.pid = 4, .holder = 1},
		{.pid = 5, .holder = 0},
		{.pid = 6, .holder = 6},
		{.pid = 7, .holder = 8},
		{.pid = 8, .holder = 9},
	};
	u32 i;

	cr_expect_eq(wait_circles(e, 8), 4);
	for (i = 0; i < 8; i++)
		cr_expect_eq(e[i].in_circle, i < 3 || i == 5, "edge %u", i);
	cr_expect_eq(wait_circles(e, 2), 0);
}

/* Whoever writes a registry can make so many: chains that come to nothing, in an
 * order in which one pass over the edges takes off few, and one circle of all.
 * Each pass compared all pairs. */
#define MANY 20000u
static struct wait_edge many[MANY + 3], looked_at[MANY + 3];

static void chain(u32 n)
{
	u32 i, at;

	/* From either end each is behind the one that has to go first. */
	memset(many, 0, sizeof(many));
	for (i = 0; i < n; i++) {
		at = i < n / 2 ? n / 2 - 1 - i : i;
		many[at].pid = many[at].tid = i + 1;
		many[at].holder = i + 2;
		many[at].since = 1;
	}
}

/* The last one of the chain waits for the first. */
static void close_chain(u32 n)
{
	many[n - 1].holder = 1;
}

Test(views, a_chain_of_thousands_takes_no_time, .timeout = 10)
{
	u32 i;

	chain(MANY);
	cr_expect_eq(wait_circles(many, MANY), 0);
	for (i = 0; i < MANY; i++)
		cr_assert_eq(many[i].in_circle, 0);
	/* A circle, with a chain that leads to it and one that leads away. */
	chain(MANY);
	close_chain(MANY);
	many[MANY] = (struct wait_edge){.pid = MANY + 1, .holder = 1};
	many[MANY + 1] = (struct wait_edge){.pid = 5, .holder = MANY + 2};
	many[MANY + 2] =
		(struct wait_edge){.pid = MANY + 2, .holder = MANY + 3};
	cr_expect_eq(wait_circles(many, MANY + 3), (s32)MANY);
	cr_expect_eq(many[MANY].in_circle, 0);
	cr_expect_eq(many[MANY + 1].in_circle, 0);
	cr_expect_eq(many[MANY + 2].in_circle, 0);
}

Test(views, a_circle_of_thousands_is_told_in_no_time, .timeout = 10)
{
	struct graph g = {.edges = many, .n = MANY};
	struct text t = {0}, names = {0};
	u32 i, lines = 0;

	chain(MANY);
	close_chain(MANY);
	cr_assert_eq(wait_circles(many, MANY), (s32)MANY);
	memcpy(looked_at, many, sizeof(many));
	looked_at[7].since = 2;
	cr_expect_eq(wait_circles_confirm(many, MANY, looked_at, MANY),
		(s32)MANY - 1);
	cr_expect_eq(many[7].in_circle, WAIT_CIRCLE);
	cr_expect_eq(many[8].in_circle, WAIT_CIRCLE_AGAIN);
	graph_circles(&g, &t);
	graph_print(&g, &names);
	cr_assert_not(t.failed);
	cr_assert_not(names.failed);
	for (i = 0; i < t.len; i++)
		lines += t.buf[i] == '\n';
	cr_expect_eq(lines, 1);
	cr_expect_eq(strncmp(t.buf, "10000 -(sem 0.0)-> 10001 -", 26), 0);
	text_deinit(&t);
	text_deinit(&names);
}

/* What top asks of each row of its sheets, at each of twenty looks: rows times
 * edges would take a minute. */
Test(views, a_deadlock_of_thousands_is_found_by_row_in_no_time, .timeout = 10)
{
	struct glance g = {.edges = many, .n_edges = MANY + 3};
	struct glance before = {.edges = looked_at, .n_edges = MANY + 3};
	const struct glance_edges *e;
	u32 i, round;

	chain(MANY);
	close_chain(MANY);
	for (i = 0; i < MANY; i++)
		many[i].id = (s32)i % 1000;
	/* Two sleepers more of one process, and one of nobody's deadlock. */
	many[MANY] = (struct wait_edge){.pid = 7, .holder = MANY + 9, .id = 7};
	many[MANY + 1] = many[MANY];
	many[MANY + 2] = (struct wait_edge){
		.pid = MANY + 5, .facility = FAC_MSG, .id = 3};
	cr_assert_eq(wait_circles(many, MANY + 3), (s32)MANY);
	memcpy(looked_at, many, sizeof(many));
	for (round = 0; round < 20; round++) {
		memcpy(many, looked_at, sizeof(many));
		glance_confirm(&g, &before);
		cr_assert_eq(g.n_circle, MANY);
		for (i = 1; i <= MANY; i++) {
			e = glance_edges_of_process(&g, i);
			cr_assert(e && e->deadlock && many[e->first].pid == i);
			e = glance_edges_of_object(&g, FAC_SEM, (s32)i);
			cr_assert(i < 1000 ? e && e->deadlock &&
						     many[e->first].id == (s32)i
					   : !e);
		}
	}
	e = glance_edges_of_process(&g, MANY + 5);
	cr_assert(e && !e->deadlock && e->first == MANY + 2);
	e = glance_edges_of_object(&g, FAC_MSG, 3);
	cr_assert(e && !e->deadlock);
	cr_expect_null(glance_edges_of_process(&g, MANY + 6));
	g.edges = NULL;
	glance_deinit(&g);
}

static s32 pair_of_locks[2];

static void take_second_first(s32 unused)
{
	struct sop down = {0, -1, SEM_FLG_UNDO};

	(void)unused;
	sem_op(&me, pair_of_locks[1], &down, 1, NULL);
	sem_op(&me, pair_of_locks[0], &down, 1, NULL);
}

Test(views, who_waits_for_whom)
{
	struct sop down = {0, -1, SEM_FLG_UNDO};
	struct wait_edge e[4];
	pid_t pid;
	int i;

	for (i = 0; i < 2; i++) {
		pair_of_locks[i] = sem_get(&me, 0, 1, 0600);
		sem_setval(&me, pair_of_locks[i], 0, 1);
	}
	sem_op(&me, pair_of_locks[0], &down, 1, NULL);
	pid = unit_sleeper(take_second_first, 0, 1);
	cr_assert_eq(wait_edges(&me, e, 4), 1);
	cr_expect_eq(e[0].pid, (u32)pid);
	cr_expect_eq(e[0].facility, FAC_SEM);
	cr_expect_eq(e[0].what, WAIT_FOR_UNITS);
	cr_expect_eq(e[0].op, -1);
	cr_expect_eq(e[0].id, pair_of_locks[0]);
	cr_expect_eq(e[0].holder, (u32)getpid());
	end(pid);
	for (i = 0; i < 2; i++)
		sem_remove(&me, pair_of_locks[i]);
}

Test(views, an_event_is_read_whole_or_not)
{
	struct event e;
	u64 seq;

	limit_hit(&me, LIMIT_SEMMNI, 5, 0, -ENOSPC);
	seq = caller_header(&me)->event_seq;
	cr_assert_eq(event_get(&me.region, seq, &e), 1);
	cr_expect_eq(e.code, EVENT_LIMIT);
	cr_expect_eq(e.pid, (u32)getpid());
	cr_expect_str_eq(limit_name(e.arg[0]), "semmni");
	cr_expect_eq(event_get(&me.region, seq + N_EVENTS, &e), 0);
	cr_expect_str_eq(limit_name(1000), "?");
}

Test(views, a_limit_is_told_of_after_any_number_of_others)
{
	struct event e;
	u64 seq, at = 0;
	u32 i, n = 0;

	limit_hit(&me, LIMIT_SEMMNS, 5, 0, -ENOSPC);
	seq = caller_header(&me)->event_seq;
	for (i = 0; i < N_EVENTS + 5; i++)
		event_add(&me, EVENT_REAPED, i, 0);
	cr_assert_eq(event_get(&me.region, seq, &e), 1);
	cr_expect_eq(e.code, EVENT_LIMIT);
	while ((at = event_next(&me.region, at))) {
		if (!event_get(&me.region, at, &e))
			continue;
		n += at == seq;
		cr_assert(e.code != EVENT_LIMIT || at <= seq);
	}
	cr_expect_eq(n, 1);
	cr_expect_eq(event_get(&me.region, seq + 1, &e), 0);
	/* Its place is taken by limits alone, in the end. */
	for (i = 0; i < N_LIMIT_EVENTS; i++)
		event_add(&me, EVENT_LIMIT, LIMIT_SEMMNS, i);
	for (i = 0; i < N_EVENTS; i++)
		event_add(&me, EVENT_REAPED, i, 0);
	cr_expect_eq(event_get(&me.region, seq, &e), 0);
}

static u64 n_events(void)
{
	return caller_header(&me)->event_seq;
}

Test(views, a_limit_is_told_of_once_for_each_cause)
{
	u64 before = n_events();
	int i;

	for (i = 0; i < 100; i++)
		cr_expect_eq(
			limit_hit(&me, LIMIT_MSGMNI, 7, 0, -ENOSPC), -ENOSPC);
	cr_expect_eq(n_events(), before + 1);
	limit_hit(&me, LIMIT_SHMMNI, 7, 0, -ENOSPC);
	cr_expect_eq(n_events(), before + 2);
	limit_hit(&me, LIMIT_MSGMNI, 8, 0, -ENOSPC);
	cr_expect_eq(n_events(), before + 3);
	limit_hit(&me, LIMIT_MSGMNI, 8, 0, -ENOSPC);
	cr_expect_eq(n_events(), before + 3);
}

static const char *remedy(enum limit which, u64 value, u64 asked)
{
	struct event e = {.code = EVENT_LIMIT,
		.arg = {which | (u64)ENOSPC << 32, value},
		.asked = asked};
	static char text[EVENT_TEXT_MAX];

	limit_remedy(caller_header(&me), &e, text, sizeof(text));
	return text;
}

Test(views, the_remedy_is_a_command_that_helps)
{
	cr_expect_str_eq(
		remedy(LIMIT_SEMMNI, 100, 0), "ipclift set semmni=200");
	cr_expect_str_eq(remedy(LIMIT_SEMMNI, 0, 0), "ipclift set semmni=1");
	cr_expect_str_eq(
		remedy(LIMIT_SEMMNI, 32000, 0), "ipclift set semmni=32768");
	cr_expect_str_eq(remedy(LIMIT_SEMMNI, 32768, 0),
		"IPCLIFT_IDS=extended for a new registry");
	cr_expect_str_eq(
		remedy(LIMIT_SEMMSL, 3, 500), "ipclift set semmsl=500");
	cr_expect_str_eq(
		remedy(LIMIT_MSG_MAX, 10, 11), "ipclift set msg_max=11");
	cr_expect_str_eq(remedy(LIMIT_MSG_MAX, 65536, 65537),
		"nothing: no queue can be larger");
	cr_expect_str_eq(remedy(LIMIT_RLIMIT_MSGQUEUE, 819200, 900000),
		"ulimit -q unlimited");
	cr_expect_str_eq(remedy(LIMIT_SHMMAX, 1, 1ULL << 40),
		"ipclift set shmmax=1099511627776");
}
