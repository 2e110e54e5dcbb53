// SPDX-License-Identifier: MIT
/*
 * An actor makes one call of its script.
 */
#include <stdlib.h>
#include "explore.h"
#include "mq/mqlease.h"
#include "msg/msg.h"
#include "msg/msglease.h"
#include "object/reap.h"
#include "registry/thread.h"

/* A message says who sent it, and in which call. */
struct message {
	long type;
	u64 name;
	char rest[MESSAGE_MOST];
};
static __thread struct message messages[2];

__thread u32 call_depth;

/* Other threads of the process in whose call a message is on lease that has not
 * been delivered by the library's own word (object/lease.c). */
static s64 siblings_named(const struct caller *c)
{
	u32 i = 1;
	s64 n = 0;

	for (; (i = thread_next(&c->region, i)) < N_THREADS; i++) {
		const struct thread *th = region_thread(&c->region, i);
		const struct waiter *w = &th->waiter;

		if (i != c->thread && th->task == c->task)
			n += w->facility == FAC_MSG  ? w->msg.lease.off != 0
			     : w->facility == FAC_MQ ? w->lease_mq.off != 0
						     : 0;
	}
	return n;
}

/* As shim/tool/remove.c has it. */
static s64 collect_dead(struct caller *c)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].leader == i)
			reap_task(c, ctl->actors[i].pid);
	msg_leases_reclaim(c);
	mq_leases_reclaim(c);
	reap_records(c, 0, 0);
	return 0;
}

static s64 make(struct caller *c, const struct call *k, s64 *out)
{
	s32 id = object_id[k->obj];
	struct sop sops[3];
	u16 values[16];
	s64 ret;
	u32 i;

	switch (k->op) {
	case CALL_SEMOP:
		for (i = 0; i < k->n; i++)
			sops[i] = k->sops[i];
		return sem_op(c, id, sops, k->n, NULL);
	case CALL_SETVAL:
		return sem_setval(c, id, (s32)k->arg[0], (s32)k->arg[1]);
	case CALL_SETALL:
		for (i = 0; i < 3; i++)
			values[i] = (u16)k->arg[i];
		return sem_setall(c, id, values, 3);
	case CALL_GETVAL:
		return sem_getval(c, id, (s32)k->arg[0]);
	case CALL_GETALL:
		ret = sem_getall(c, id, values, 3);
		for (i = 0; i < 3; i++)
			out[i] = values[i];
		return ret < 0 ? ret : 0;
	case CALL_SEMRM:
		return sem_remove(c, id);
	case CALL_SEMSET:
		return sem_set_perm(c, id, 0, 0, (u32)k->arg[0]);
	case CALL_SEMGET:
		return sem_get(c, k->obj, (s32)k->arg[0], (s32)k->arg[1]);
	case CALL_NCNT:
		return sem_getncnt(c, id, (s32)k->arg[0]);
	case CALL_MSGSND: {
		struct message *m = &messages[call_depth & 1];

		m->type = k->arg[0];
		m->name = (u64)k->arg[2];
		for (i = 8; i < (u32)k->arg[1]; i++)
			m->rest[i - 8] = (char)(m->name + i);
		return msg_send(c, id, m, (u64)k->arg[1], (s32)k->n, 0);
	}
	case CALL_MSGRCV: {
		struct message *m = &messages[call_depth & 1];

		m->name = 0;
		ret = msg_receive(c, id, m,
			k->arg[1] ? (u64)k->arg[1] : sizeof(*m) - 8, k->arg[0],
			(s32)k->n, 0);
		out[0] = (s64)m->name;
		out[1] = m->type;
		for (i = 8; ret > 0 && i < ret; i++)
			if (m->rest[i - 8] != (char)(m->name + i))
				return -EIO;
		return ret;
	}
	case CALL_MSGRM:
		return msg_remove(c, id);
	case CALL_MSGGET:
		return msg_get(c, k->obj, (s32)k->arg[0]);
	case CALL_MSGSTAT: {
		struct msg_stat st;

		ret = msg_stat(c, id, OBJECT_BY_ID, &st);
		out[0] = ret < 0 ? 0 : (s64)st.qnum;
		out[1] = ret < 0 ? 0 : (s64)st.cbytes;
		return ret < 0 ? ret : 0;
	}
	case CALL_MSGSET:
		return msg_set(c, id, 0, 0, 0600, (u64)k->arg[0]);
	case CALL_MSGACK:
		return msg_acknowledge(c, id);
	case CALL_MSGBACK:
		return msg_give_back(c, id);
	case CALL_BATCH:
		c->lease_batch = 1;
		return 0;
	case CALL_LEASES_END:
		msg_acknowledge_all(c);
		mq_acknowledge_all(c);
		out[0] = siblings_named(c);
		return 0;
	case CALL_MQACK:
	case CALL_MQBACK:
	case CALL_MQSEND:
	case CALL_MQRECV:
	case CALL_MQNOTIFY:
	case CALL_MQUNLINK:
	case CALL_MQATTR:
	case CALL_MQPOLL:
		return mq_call_make(c, k, out);
	case CALL_NOTIFY:
	case CALL_NOTIFY_WAIT:
	case CALL_NOTIFY_EXEC:
	case CALL_NUMBER_SEND:
	case CALL_NUMBER_RECEIVE:
	case CALL_MQOPEN:
	case CALL_MQCLOSE:
		return notify_call_make(c, k);
	case CALL_SHMGET:
	case CALL_SHMAT:
	case CALL_SHMDT:
	case CALL_SHMRM:
	case CALL_SHMSET:
	case CALL_SHMLOCK:
	case CALL_SHMSTAT:
	case CALL_SHMFORK:
	case CALL_SHMUNMAP:
	case CALL_SHMAGAIN:
	case CALL_SHMSEEN:
		return shm_call_make(c, k, out);
	case CALL_GC:
		return collect_dead(c);
	case CALL_FORK:
		return run_fork(c, (u32)k->arg[0], (int)k->arg[1]);
	default:
		return -ENOSYS;
	}
}

s64 call_make(struct caller *c, const struct call *k, s64 *out)
{
	s64 ret;

	call_depth++;
	ret = make(c, k, out);
	call_depth--;
	return ret;
}

void other_make(struct caller *c)
{
	object_id[OTHER] = sem_get(c, 0 /* IPC_PRIVATE */, 1, 0600);
	if (object_id[OTHER] < 0)
		abort();
}

void other_visit(struct caller *c)
{
	struct slot *s = region_slot(
		&c->region, FAC_SEM, (u32)object_id[OTHER] & ids_mask(c));

	sem_lock_any(c, s);
	sem_unlock(c, s);
}

s64 other_value(struct caller *c)
{
	return sem_getval(c, object_id[OTHER], 0);
}
