// SPDX-License-Identifier: MIT
/*
 * msgget, msgsnd, msgrcv, msgctl as programs call them, and the same by number
 * for syscall().
 *
 * They may be called before any constructor and after any destructor, in
 * signal handlers, after fork, in a vfork child. msgsnd and msgrcv are
 * cancellation points, those by number are not. errno is written only on
 * failure.
 *
 * libc's structures are filled here and nowhere below: the x86-64 layouts of
 * glibc and musl are the same (doc/kernel-semantics.md §10.1).
 */
#include <sys/msg.h>
#include "entry/process.h"
#include "entry/sysv.h"
#include "msg/msg.h"
#include "registry/cancel.h"
#include "registry/guard.h"

_Static_assert(sizeof(struct msqid_ds) == 120, "msqid_ds");
_Static_assert(sizeof(struct msg_info) == 32, "msginfo");

long entry_msgget(key_t key, int flg)
{
	int err = 0;
	struct caller *c = process_get(&err);

	return c ? msg_get(c, key, flg) : -err;
}

long entry_msgsnd(
	int id, const void *msg, size_t size, int flg, int cancellable)
{
	int err = 0;
	struct caller *c = process_get(&err);

	return likely(c) ? msg_send(c, id, msg, size, flg, cancellable) : -err;
}

long entry_msgrcv(
	int id, void *msg, size_t size, long type, int flg, int cancellable)
{
	int err = 0;
	struct caller *c = process_get(&err);

	return likely(c) ? msg_receive(c, id, msg, size, type, flg, cancellable)
			 : -err;
}

static int ctl_stat(
	struct caller *c, int id, enum object_by by, struct msqid_ds *to)
{
	struct msqid_ds ds;
	struct msg_stat st;
	int ret = msg_stat(c, id, by, &st);

	if (ret < 0)
		return ret;
	__builtin_memset(&ds, 0, sizeof(ds));
	sysv_perm(&ds.msg_perm, &st.object);
	ds.msg_stime = st.stime;
	ds.msg_rtime = st.rtime;
	ds.msg_ctime = st.ctime;
	ds.__msg_cbytes = st.cbytes;
	ds.msg_qnum = st.qnum;
	ds.msg_qbytes = st.qbytes;
	ds.msg_lspid = (pid_t)st.lspid;
	ds.msg_lrpid = (pid_t)st.lrpid;
	return guard_write(c, to, &ds, sizeof(ds)) ? -EFAULT : ret;
}

static int ctl_set(struct caller *c, int id, const struct msqid_ds *from)
{
	struct msqid_ds ds;

	if (guard_read(c, &ds, from, sizeof(ds)))
		return -EFAULT;
	return msg_set(c, id, ds.msg_perm.uid, ds.msg_perm.gid,
		ds.msg_perm.mode, ds.msg_qbytes);
}

static int ctl_info(struct caller *c, int totals, void *to)
{
	struct msg_info info;
	int ret = msg_info(c, totals, &info);

	if (ret < 0)
		return ret;
	return guard_write(c, to, &info, sizeof(info)) ? -EFAULT : ret;
}

long entry_msgctl(int id, int cmd, void *buf)
{
	int err = 0;
	struct caller *c = process_get(&err);

	if (unlikely(!c))
		return -err;
	if (id < 0 || cmd < 0)
		return -EINVAL;
	switch (cmd) {
	case IPC_STAT:
		return ctl_stat(c, id, OBJECT_BY_ID, buf);
	case MSG_STAT:
		return ctl_stat(c, id, OBJECT_BY_IDX, buf);
	case MSG_STAT_ANY:
		return ctl_stat(c, id, OBJECT_BY_IDX_ANY, buf);
	case IPC_SET:
		return ctl_set(c, id, buf);
	case IPC_RMID:
		return msg_remove(c, id);
	case IPC_INFO:
		return ctl_info(c, 0, buf);
	case MSG_INFO:
		return ctl_info(c, 1, buf);
	default:
		return -EINVAL;
	}
}

EXPORT int msgget(key_t key, int flg)
{
	if (unlikely(!process_routes(FAC_MSG)))
		return process_return(sys_call(__NR_msgget, key, flg));
	return process_return(entry_msgget(key, flg));
}

/* Not served: libc's own, which are cancellation points. */
static __attribute__((noinline)) int msgsnd_passed(
	int id, const void *msg, size_t size, int flg)
{
	static void *next;
	int (*real)(int, const void *, size_t, int) =
		process_next(&next, "msgsnd");

	return real ? real(id, msg, size, flg)
		    : process_return(sys_call(__NR_msgsnd, id, msg, size, flg));
}

static __attribute__((noinline)) ssize_t msgrcv_passed(
	int id, void *msg, size_t size, long type, int flg)
{
	static void *next;
	ssize_t (*real)(int, void *, size_t, long, int) =
		process_next(&next, "msgrcv");

	return real ? real(id, msg, size, type, flg)
		    : process_return(
			      sys_call(__NR_msgrcv, id, msg, size, type, flg));
}

EXPORT int msgsnd(int id, const void *msg, size_t size, int flg)
{
	if (unlikely(!process_routes(FAC_MSG)))
		return msgsnd_passed(id, msg, size, flg);
	cancel_test();
	return process_return(entry_msgsnd(id, msg, size, flg, 1));
}

EXPORT ssize_t msgrcv(int id, void *msg, size_t size, long type, int flg)
{
	if (unlikely(!process_routes(FAC_MSG)))
		return msgrcv_passed(id, msg, size, type, flg);
	cancel_test();
	return process_return(entry_msgrcv(id, msg, size, type, flg, 1));
}

EXPORT int msgctl(int id, int cmd, struct msqid_ds *buf)
{
	if (unlikely(!process_routes(FAC_MSG)))
		return process_return(sys_call(__NR_msgctl, id, cmd, buf));
	return process_return(entry_msgctl(id, cmd, buf));
}
