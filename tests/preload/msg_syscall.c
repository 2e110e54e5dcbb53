// SPDX-License-Identifier: MIT
/*
 * msg_syscall: the calls by number do what the named ones do, on the same
 * queues; the structs of msgctl to the last byte; fork and many processes.
 */
#include "msg.h"

static void by_number(void)
{
	int id = (int)syscall(SYS_msgget, IPC_PRIVATE, 0600);
	struct m_buf b = {5, "by number"};
	struct msqid_ds ds;

	t_true(id >= 0);
	t_eq(syscall(SYS_msgsnd, id, &b, 9L, 0), 0);
	m_takes(id, 20, 0, MSG_COPY, "5:by number");
	t_eq(syscall(SYS_msgrcv, id, &b, 20L, -6L, MSG_NOERROR), 9);
	t_err(syscall(SYS_msgrcv, id, &b, 20L, 0L, IPC_NOWAIT), ENOMSG);
	t_err(syscall(SYS_msgsnd, id, &b, -1L, 0), EINVAL);
	t_eq(syscall(SYS_msgctl, id, IPC_STAT, &ds), 0);
	t_true(ds.msg_qnum == 0 && ds.msg_lspid == getpid());
	t_eq(syscall(SYS_msgctl, id, IPC_RMID, NULL), 0);
	t_err(syscall(SYS_msgctl, id, IPC_RMID, NULL), EINVAL);
	t_err(syscall(SYS_msgget, 0x12345, 0600), ENOENT);
}

static void structs(void)
{
	int id = m_queue();
	struct msqid_ds ds;
	struct msginfo info;
	unsigned char *p = (unsigned char *)&ds;
	int rest = 0;

	t_story("structs");
	t_eq(m_send(id, 1, "abc", 0), 0);
	ds = m_stat(id);
	for (size_t i = 104; i < sizeof(ds); i++)
		rest |= p[i];
	t_true(rest == 0);
	t_true(ds.msg_qnum == 1 && ds.__msg_cbytes == 3 &&
		ds.msg_qbytes == 16384);
	t_true(ds.msg_perm.mode == 0600 && ds.msg_perm.cuid == getuid());
	t_true(ds.msg_rtime == 0 && ds.msg_lrpid == 0 && ds.msg_stime > 0);
	memset(&info, 0xaa, sizeof(info));
	t_eq(msgctl(0, MSG_INFO, (struct msqid_ds *)&info), 1);
	t_true(info.msgpool == 1 && info.msgmap == 1 && info.msgtql == 3);
	t_eq(msgctl(0, IPC_INFO, (struct msqid_ds *)&info), 1);
	t_true(info.msgpool == 512000 && info.msgmap == 16384 &&
		info.msgmax == 8192 && info.msgmnb == 16384 &&
		info.msgmni == 32000 && info.msgssz == 16 &&
		info.msgtql == 16384 && info.msgseg == 65535);
	t_true(msgctl(1, MSG_STAT, &ds) == id);
	t_true(msgctl(1, MSG_STAT_ANY, &ds) == id);
	t_err(msgctl(0, MSG_STAT, &ds), EINVAL);
	t_err(msgctl(id, IPC_STAT, NULL), EFAULT);
	t_err(msgctl(id, IPC_SET, t_kernel_half()), EFAULT);
	t_err(msgctl(-1, IPC_INFO, (struct msqid_ds *)&info), EINVAL);
	t_err(msgctl(id, -1, &ds), EINVAL);
	t_err(m_set(id, -1, 0600, 16384), EINVAL);
	t_err(m_set(id, -1, 0600, 16385), EPERM);
	t_eq(m_set(id, 0, 0600, 0x100000064), 0);
	t_true(m_stat(id).msg_qbytes == 100);
	t_err(m_set(id, 0, 0600, 0xffffffff), EPERM);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(m_recv(id, 10, 0, IPC_NOWAIT), EACCES);
		t_err(m_send(id, 1, "x", IPC_NOWAIT), EACCES);
		t_err(msgctl(id, IPC_RMID, NULL), EPERM);
		t_err(msgctl(id, IPC_STAT, &ds), EACCES);
		t_true(msgctl(1, MSG_STAT_ANY, &ds) == id);
	}
	m_rm(id);
}

/* Bad addresses: what comes first, and what is lost. */
static void addresses(void)
{
	char *cliff = t_cliff();
	int id = m_queue();
	struct m_buf *b = (struct m_buf *)(cliff - 16);

	t_story("addresses");
	b->type = 1;
	memcpy(b->text, "12345678", 8);
	t_err(msgsnd(id, b, 9, 0), EFAULT);
	t_err(msgsnd(id, b, 8193, 0), EINVAL);
	t_err(msgsnd(-1, b, 9, 0), EINVAL);
	t_err(msgsnd(77, b, 9, 0), EFAULT);
	t_err(msgsnd(77, cliff - 4, 1, 0), EFAULT);
	t_eq(msgsnd(id, b, 8, 0), 0);
	t_eq(msgsnd(id, b, 8, 0), 0);
	b->type = 0;
	t_err(msgsnd(id, b, 9, 0), EINVAL);
	t_err(msgrcv(id, cliff - 8, 8, 0, MSG_COPY | IPC_NOWAIT), EFAULT);
	m_holds(id, 2, 16);
	t_err(msgrcv(id, cliff - 8, 8, 0, 0), EFAULT);
	m_holds(id, 1, 8);
	t_err(msgrcv(id, NULL, 7, 0, 0), E2BIG);
	t_eq(msgrcv(id, b, 8, 0, 0), 8);
	t_true(b->type == 1 && !memcmp(b->text, "12345678", 8));
	m_rm(id);
}

/* Four senders and four receivers; every message once, in order per sender. */
static void crowd(void)
{
	int id = m_queue(), bad = 0;
	int *seen = t_shared(4096);
	pid_t pids[8];

	t_story("a crowd");
	for (int i = 0; i < 4; i++) {
		pids[i] = t_fork();
		if (pids[i] == 0) {
			struct {
				long type;
				int n;
				char pad[1500];
			} m;

			for (m.n = 0; m.n < 3000; m.n++) {
				m.type = i + 1;
				if (msgsnd(id, &m, m.n % 7 ? 40 : 1500, 0))
					_exit(1);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++) {
		pids[4 + i] = t_fork();
		if (pids[4 + i] == 0) {
			struct {
				long type;
				int n;
				char pad[1500];
			} m;

			for (int k = 0; k < 3000; k++) {
				if (msgrcv(id, &m, 1504, i + 1, 0) < 40 ||
					m.n != k || m.type != i + 1)
					_exit(1);
				__atomic_add_fetch(seen, 1, __ATOMIC_SEQ_CST);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < 8; i++)
		bad += t_join(pids[i]) != 0;
	t_true(bad == 0);
	t_true(*seen == 12000);
	m_holds(id, 0, 0);
	m_rm(id);
}

int main(void)
{
	t_begin();
	by_number();
	structs();
	addresses();
	crowd();
	return m_end();
}
