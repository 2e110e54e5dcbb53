// SPDX-License-Identifier: MIT
/*
 * msg_call.h: one message queue call as a value: made up by one process, run
 * by another, its result sent back and written down as a line of text. What
 * cannot be the same in two runs is made so: times are 0 or 1, pids are roles,
 * a payload is a hash. Plain system headers only.
 */
#ifndef MSG_CALL_H
#define MSG_CALL_H

#include "sem_call.h"

#include <sys/msg.h>

#ifndef MSG_STAT_ANY
#define MSG_STAT_ANY 13
#endif

#define TEXT_MAX 65536

enum msg_kind { MSG_GET, MSG_SND, MSG_RCV, MSG_CTL };

struct msg_call {
	enum msg_kind kind;
	bool fault; /* the buffer argument points nowhere */
	int id;
	key_t key; /* MSG_GET */
	int flg;
	long type;
	unsigned long size;
	unsigned seed; /* MSG_SND: of the payload */
	int cmd;       /* MSG_CTL */
	int uid, gid, mode;
	unsigned long qbytes;
};

struct msg_result {
	long ret;
	int err;
	long type;
	uint64_t hash;
	struct msqid_ds ds;
	struct msginfo info;
};

static struct {
	long type;
	unsigned char text[TEXT_MAX];
} msg_buf;

static inline const char *msg_cmd_name(int cmd)
{
	static char text[16];

	switch (cmd) {
	case IPC_RMID:
		return "IPC_RMID";
	case IPC_SET:
		return "IPC_SET";
	case IPC_STAT:
		return "IPC_STAT";
	case IPC_INFO:
		return "IPC_INFO";
	case MSG_STAT:
		return "MSG_STAT";
	case MSG_INFO:
		return "MSG_INFO";
	case MSG_STAT_ANY:
		return "MSG_STAT_ANY";
	}
	snprintf(text, sizeof(text), "%#x", (unsigned)cmd);
	return text;
}

static inline const char *msg_errno_name(int err)
{
	return err == ENOMSG ? "ENOMSG" : errno_name(err);
}

static inline long msg_ctl_run(const struct msg_call *c, struct msg_result *r)
{
	struct msqid_ds ds;

	memset(&ds, 0, sizeof(ds));
	ds.msg_perm.uid = (uid_t)c->uid;
	ds.msg_perm.gid = (gid_t)c->gid;
	ds.msg_perm.mode = (unsigned short)c->mode;
	ds.msg_qbytes = c->qbytes;
	if (c->fault)
		return msgctl(c->id, c->cmd, nowhere());
	if (c->cmd == IPC_SET)
		return msgctl(c->id, c->cmd, &ds);
	if (c->cmd == IPC_INFO || c->cmd == MSG_INFO)
		return msgctl(c->id, c->cmd, (struct msqid_ds *)&r->info);
	return msgctl(c->id, c->cmd, &r->ds);
}

static inline void msg_call_run(const struct msg_call *c, struct msg_result *r)
{
	void *buf = c->fault ? nowhere() : (void *)&msg_buf;

	memset(r, 0, sizeof(*r));
	errno = 0;
	switch (c->kind) {
	case MSG_GET:
		r->ret = msgget(c->key, c->flg);
		break;
	case MSG_SND:
		msg_buf.type = c->type;
		for (unsigned long i = 0; i < c->size && i < TEXT_MAX; i++)
			msg_buf.text[i] =
				(unsigned char)((c->seed + i) * 2654435761u >>
						13);
		r->ret = msgsnd(c->id, buf, c->size, c->flg);
		break;
	case MSG_RCV:
		msg_buf.type = -77;
		memset(msg_buf.text, 0xee, 16384);
		r->ret = msgrcv(c->id, buf, c->size, c->type, c->flg);
		r->type = msg_buf.type;
		/* beyond the end too: nothing may be written there */
		if (!c->fault)
			r->hash = fnv1a(0, msg_buf.text, 16384);
		break;
	case MSG_CTL:
		r->ret = msg_ctl_run(c, r);
		break;
	}
	r->err = r->ret == -1 ? errno : 0;
}

static inline void msg_flags_say(int flg)
{
	say(", %s%s%s%s%#x", flg & IPC_NOWAIT ? "N " : "",
		flg & MSG_NOERROR ? "cut " : "",
		flg & MSG_EXCEPT ? "except " : "",
		flg & MSG_COPY ? "copy " : "", (unsigned)flg);
}

static inline void msg_call_say(const struct msg_call *c)
{
	switch (c->kind) {
	case MSG_GET:
		say("msgget(%#x, %#o)", (unsigned)c->key, (unsigned)c->flg);
		return;
	case MSG_SND:
		say("msgsnd(%d, type %ld, size %lu", c->id, c->type, c->size);
		msg_flags_say(c->flg);
		break;
	case MSG_RCV:
		say("msgrcv(%d, size %lu, type %ld", c->id, c->size, c->type);
		msg_flags_say(c->flg);
		break;
	case MSG_CTL:
		say("msgctl(%d, %s", c->id, msg_cmd_name(c->cmd));
		if (c->cmd == IPC_SET)
			say(", %d:%d %#o qbytes %lu", c->uid, c->gid,
				(unsigned)c->mode, c->qbytes);
		break;
	}
	say("%s)", c->fault ? ", nowhere" : "");
}

static inline void msg_ds_say(
	const struct msqid_ds *ds, const char *(*role_name)(int pid))
{
	const struct ipc_perm *p = &ds->msg_perm;

	say(" key %#x seq %d mode %#o uid %d gid %d cuid %d cgid %d bytes %lu"
	    " num %lu qbytes %lu",
		(unsigned)p->__key, (int)p->__seq, (unsigned)p->mode,
		(int)p->uid, (int)p->gid, (int)p->cuid, (int)p->cgid,
		(unsigned long)ds->__msg_cbytes, (unsigned long)ds->msg_qnum,
		(unsigned long)ds->msg_qbytes);
	say(" ls %s", role_name(ds->msg_lspid));
	say(" lr %s", role_name(ds->msg_lrpid));
	say(" s%d r%d c%d", ds->msg_stime != 0, ds->msg_rtime != 0,
		ds->msg_ctime != 0);
}

static inline void msg_result_say(const struct msg_call *c,
	const struct msg_result *r, const char *(*role_name)(int pid))
{
	if (r->ret == -1) {
		say(" = %s\n", msg_errno_name(r->err));
		return;
	}
	say(" = %ld", r->ret);
	if (c->kind == MSG_RCV)
		say(" type %ld hash %016llx", r->type,
			(unsigned long long)r->hash);
	if (c->kind == MSG_CTL) {
		switch (c->cmd) {
		case IPC_STAT:
		case MSG_STAT:
		case MSG_STAT_ANY:
			msg_ds_say(&r->ds, role_name);
			break;
		case IPC_INFO:
		case MSG_INFO:
			say(" pool %d map %d max %d mnb %d mni %d ssz %d tql %d"
			    " seg %d",
				r->info.msgpool, r->info.msgmap, r->info.msgmax,
				r->info.msgmnb, r->info.msgmni, r->info.msgssz,
				r->info.msgtql, r->info.msgseg);
			break;
		}
	}
	say("\n");
}

#endif
