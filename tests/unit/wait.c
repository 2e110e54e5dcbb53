// SPDX-License-Identifier: MIT
/*
 * Queues of sleepers in a damaged registry: walks of them end, whatever their
 * links say, and nobody sleeps for ever on what was removed.
 */
#include <sys/wait.h>
#include <unistd.h>
#include "msg/msg.h"
#include "msg/msgqueue.h"
#include "sem/sem.h"
#include "sem/semop.h"
#include "unit.h"

TestSuite(wait, .init = unit_init, .fini = unit_fini, .timeout = 20);

static void decrement(s32 id)
{
	struct sop op = {0, -1, 0};

	_exit(sem_op(&me, id, &op, 1, NULL) == -EIDRM ? 0 : 1);
}

static void decrement_of_damage(s32 id)
{
	struct sop op = {0, -1, 0};

	_exit(sem_op(&me, id, &op, 1, NULL) == -EIO ? 0 : 1);
}

static void decrement_both_of_damage(s32 id)
{
	struct sop ops[2] = {{0, -1, 0}, {1, -1, 0}};

	_exit(sem_op(&me, id, ops, 2, NULL) == -EIO ? 0 : 1);
}

static void receive(s32 id)
{
	char buf[16];

	_exit(msg_receive(&me, id, buf, 8, 0, 0, 0) == -EIDRM ? 0 : 1);
}

/* Two that do so, on a new set of one semaphore. */
static s32 two_sleep(void (*run)(s32), pid_t ret[2])
{
	s32 id = sem_get(&me, 0, 1, 0600);

	ret[0] = unit_sleeper(run, id, 1);
	ret[1] = unit_sleeper(run, id, 2);
	return id;
}

static void ends_well(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

static struct wait_queue *alter_queue(s32 id)
{
	u64 ident;
	struct semset *set = sem_body(&me, ids_find(&me, FAC_SEM, id, &ident));

	return &sem_array(set)[0].alter;
}

Test(wait, a_circle_of_sleepers_is_walked_once)
{
	pid_t pids[2];
	s32 id = two_sleep(decrement, pids);
	struct wait_queue *q = alter_queue(id);
	struct sop op = {0, 0, 0};

	wait_at(&me, q->tail)->next = q->head;
	/* Some number; what counts is that it comes. */
	cr_assert_geq(sem_getncnt(&me, id, 0), 0);
	op.op = 1;
	wait_at(&me, q->head)->sops[0].op = -2;
	wait_at(&me, q->tail)->sops[0].op = -2;
	cr_assert_eq(sem_op(&me, id, &op, 1, NULL), 0);
	cr_assert_eq(sem_remove(&me, id), 0);
	ends_well(pids[0]);
	ends_well(pids[1]);
}

Test(wait, an_array_that_wants_undo_and_has_no_record)
{
	pid_t pids[2];
	s32 id = two_sleep(decrement_of_damage, pids);
	struct wait_queue *q = alter_queue(id);
	struct sop op = {0, 2, 0};

	wait_at(&me, q->head)->sops[0].flg |= SEM_FLG_UNDO;
	wait_at(&me, q->tail)->sops[0].flg |= SEM_FLG_UNDO;
	cr_assert_eq(sem_op(&me, id, &op, 1, NULL), 0);
	ends_well(pids[0]);
	ends_well(pids[1]);
	cr_assert_eq(sem_getval(&me, id, 0), 2);
	cr_assert_eq(sem_remove(&me, id), 0);
}

/* Two sets: what stands behind the first one's semaphore is the other's. */
Test(wait, a_sleepers_number_that_the_set_does_not_have)
{
	struct sop op = {1, 2, 0};
	s32 id = sem_get(&me, 0, 3, 0600), i;
	struct semset *set;
	struct waiter *w[2];
	pid_t pids[2];
	u64 ident;

	set = sem_body(&me, ids_find(&me, FAC_SEM, id, &ident));
	pids[0] = unit_sleeper(decrement_of_damage, id, 1);
	pids[1] = unit_sleeper(decrement_both_of_damage, id, 2);
	w[0] = wait_at(&me, sem_array(set)[0].alter.head);
	w[1] = wait_at(&me, set->complex.head);
	/* In the heap, behind the set. */
	memset(&sem_array(set)[3], 0x11, 65530 * sizeof(struct sem));
	/* The second one of the array: it is tried when the first changes. */
	for (i = 0; i < 2; i++)
		w[i]->sops[i].num = 60000;
	w[0]->queue_num = 50000;
	for (i = 0; i < 3; i++) {
		op.num = i;
		cr_assert_eq(sem_op(&me, id, &op, 1, NULL), 0);
	}
	ends_well(pids[0]);
	ends_well(pids[1]);
	for (i = 3; i < 65530; i++)
		cr_assert_eq(0,
			memcmp(&sem_array(set)[i], &sem_array(set)[3],
				sizeof(struct sem)),
			"semaphore %d", i);
	cr_assert_eq(sem_array(set)[3].lo, 0x1111111111111111);
	cr_assert_eq(sem_remove(&me, id), 0);
}

Test(wait, behind_a_broken_link_the_removal_is_seen_too)
{
	pid_t pids[2];
	s32 id = two_sleep(decrement, pids);
	struct wait_queue *q = alter_queue(id);

	wait_at(&me, q->head)->next = 0x7fffffff;
	cr_assert_eq(sem_remove(&me, id), 0);
	ends_well(pids[0]);
	ends_well(pids[1]);
}

/* A queue on which two receivers sleep. */
static struct msgqueue *two_receive(s32 *ret_id, pid_t ret[2])
{
	u64 ident;

	*ret_id = msg_get(&me, 0, 0600);
	ret[0] = unit_sleeper(receive, *ret_id, 1);
	ret[1] = unit_sleeper(receive, *ret_id, 2);
	return msg_body(&me, ids_find(&me, FAC_MSG, *ret_id, &ident));
}

Test(wait, a_broken_queue_of_receivers)
{
	s32 id;
	pid_t pids[2];
	struct msgqueue *q = two_receive(&id, pids);

	wait_at(&me, q->receivers.head)->next = 0x7fffffff;
	cr_assert_eq(msg_remove(&me, id), 0);
	ends_well(pids[0]);
	ends_well(pids[1]);
}

Test(wait, a_circle_of_receivers)
{
	s32 id;
	pid_t pids[2];
	struct msgqueue *q = two_receive(&id, pids);

	wait_at(&me, q->receivers.tail)->next = q->receivers.head;
	cr_assert_eq(msg_remove(&me, id), 0);
	ends_well(pids[0]);
	ends_well(pids[1]);
}

static void decrement_once(s32 id)
{
	struct sop op = {0, -1, 0};

	_exit(sem_op(&me, id, &op, 1, NULL) == 0 ? 0 : 1);
}

/* A waker died unmarked before its grant, and its number is ours now, who live:
 * the sleeper does not take the name for our promise. */
Test(wait, a_dead_wakers_name_that_a_living_thread_has)
{
	struct sop op = {0, 1, 0};
	s32 id = sem_get(&me, 0, 1, 0600);
	pid_t pid = unit_sleeper(decrement_once, id, 1);
	struct waiter *w = wait_at(&me, alter_queue(id)->head);
	int i;

	atom_store_release(&w->word, me.tid | SYS_WAITERS);
	sys_futex_wake(&w->word, 1);
	for (i = 0; i < 8000 && (atom_load_acquire(&w->word) & SYS_TID_MASK);
		i++)
		usleep(1000);
	cr_assert_eq(atom_load_acquire(&w->word) & SYS_TID_MASK, 0);
	cr_assert_eq(sem_op(&me, id, &op, 1, NULL), 0);
	ends_well(pid);
	cr_assert_eq(sem_remove(&me, id), 0);
}
