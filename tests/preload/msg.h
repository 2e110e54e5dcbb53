// SPDX-License-Identifier: MIT
/*
 * msg.h - what the message queue programs of tests/preload share, beside t.h.
 *
 * msgctl does not count sleepers: whether a process sleeps in a call is read
 * from /proc (m_asleep). Under the shim it sleeps in a futex.
 */
#ifndef MSG_H
#define MSG_H

#include "t.h"
#include "../proc.h"
#include <sys/msg.h>

#ifndef MSG_COPY
#define MSG_COPY 040000
#endif
#ifndef MSG_STAT_ANY
#define MSG_STAT_ANY 13
#endif

struct m_buf {
	long type;
	char text[8192];
};

static struct m_buf m_buf;

/* msgsnd of a string without its end; msgrcv into m_buf, returned as text. */
static inline int m_send(int id, long type, const char *text, int flg)
{
	struct m_buf b;

	b.type = type;
	memcpy(b.text, text, strlen(text));
	return msgsnd(id, &b, strlen(text), flg);
}

static inline long m_recv(int id, size_t size, long type, int flg)
{
	memset(&m_buf, 0, sizeof(m_buf));
	return msgrcv(id, &m_buf, size, type, flg);
}

/* What msgrcv takes now, as "TYPE:TEXT" or the name of its errno. */
static inline void m_takes_at(
	int line, int id, size_t size, long type, int flg, const char *want)
{
	char got[300];
	long ret = m_recv(id, size, type, flg | IPC_NOWAIT);

	if (ret < 0)
		snprintf(got, sizeof(got), "%s",
			errno == ENOMSG ? "ENOMSG" : t_errname(errno));
	else
		snprintf(got, sizeof(got), "%ld:%.*s", m_buf.type,
			ret > 200 ? 200 : (int)ret, m_buf.text);
	if (strcmp(got, want)) {
		t_failed = 1;
		t_say("FAIL line %d: msgrcv type %ld flags %#o: %s, want %s",
			line, type, (unsigned)flg, got, want);
	} else {
		t_say("ok   msgrcv type %ld flags %#o: %s", type, (unsigned)flg,
			got);
	}
}

#define m_takes(id, size, type, flg, want) \
	m_takes_at(__LINE__, id, size, type, flg, want)

static inline int m_queue(void)
{
	int id = msgget(IPC_PRIVATE, 0600);

	if (id < 0) {
		t_say("FAIL queue: errno %d", errno);
		exit(99);
	}
	return id;
}

static inline void m_rm(int id)
{
	if (msgctl(id, IPC_RMID, NULL)) {
		t_failed = 1;
		t_say("FAIL IPC_RMID: errno %d", errno);
	}
}

static inline struct msqid_ds m_stat(int id)
{
	struct msqid_ds ds;

	memset(&ds, 0xaa, sizeof(ds));
	if (msgctl(id, IPC_STAT, &ds)) {
		t_failed = 1;
		t_say("FAIL IPC_STAT: errno %d", errno);
	}
	return ds;
}

static inline int m_set(int id, int uid, int mode, unsigned long qbytes)
{
	struct msqid_ds ds = m_stat(id);

	ds.msg_perm.uid = (uid_t)uid;
	ds.msg_perm.mode = (unsigned short)mode;
	ds.msg_qbytes = qbytes;
	return msgctl(id, IPC_SET, &ds);
}

/* One line: messages and bytes. */
static inline void m_holds_at(int line, int id, int num, int bytes)
{
	struct msqid_ds ds = m_stat(id);

	if ((int)ds.msg_qnum == num && (int)ds.__msg_cbytes == bytes) {
		t_say("ok   %d messages, %d bytes", num, bytes);
		return;
	}
	t_failed = 1;
	t_say("FAIL line %d: %d messages, %d bytes, want %d, %d", line,
		(int)ds.msg_qnum, (int)ds.__msg_cbytes, num, bytes);
}

#define m_holds(id, num, bytes) m_holds_at(__LINE__, id, num, bytes)

/* Wait until the thread sleeps in msgsnd, msgrcv or futex. */
static inline void m_asleep(pid_t tid)
{
	char text[512], *state;
	int seen = 0, nr;

	for (int i = 0; i < 20000 && seen < 3; i++) {
		nr = -1;
		if (proc_read(tid, "syscall", text, sizeof(text)))
			sscanf(text, "%d", &nr);
		state = proc_read(tid, "stat", text, sizeof(text))
				? strrchr(text, ')')
				: NULL;
		if (state && state[2] == 'S' &&
			(nr == 69 || nr == 70 || nr == 202 || nr == 449))
			seen++;
		else
			seen = 0;
		if (!seen)
			t_nap();
	}
	t_cond(__FILE__, __LINE__, "asleep", seen == 3);
	errno = 0;
}

/* Processes that make one call and exit with 0 or its errno; a receiver's
 * message is compared with `want`. */
static inline pid_t m_sender(int id, long type, const char *text)
{
	pid_t pid = t_fork();

	if (pid == 0)
		_exit(t_code(m_send(id, type, text, 0)));
	m_asleep(pid);
	return pid;
}

static inline pid_t m_receiver(
	int id, size_t size, long type, int flg, const char *want)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		long ret = m_recv(id, size, type, flg);

		if (ret < 0)
			_exit(errno);
		_exit(ret == (long)strlen(want) &&
					!memcmp(m_buf.text, want, (size_t)ret)
				? 0
				: 97);
	}
	m_asleep(pid);
	return pid;
}

static inline int m_end(void)
{
	struct msginfo info;

	memset(&info, 0, sizeof(info));
	t_cond(__FILE__, __LINE__, "no queue is left behind",
		msgctl(0, MSG_INFO, (struct msqid_ds *)&info) == 0 &&
			info.msgpool == 0 && info.msgmap == 0 &&
			info.msgtql == 0);
	return t_failed ? 1 : 0;
}

#endif
