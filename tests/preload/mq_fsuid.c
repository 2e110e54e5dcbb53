// SPDX-License-Identifier: MIT
/*
 * mq_fsuid: a thread of root's that has another user for files only
 * (setfsuid(2), setfsgid(2), as file servers do). A queue is a file: that
 * user's rights are checked, it owns new queues, and may or may not remove
 * them. For System V objects the effective user counts, but the group for
 * files.
 */
#include "mq.h"
#include <sys/fsuid.h>
#include <sys/msg.h>

#define USER 1000
#define GROUP 1001

static int can(const char *name, int flags)
{
	mqd_t q = mq_open(name, flags);

	return q >= 0 && !mq_close(q);
}

static void opens(const char *name)
{
	int r = can(name, O_RDONLY), w = can(name, O_WRONLY);

	t_say("     %s: r %d w %d rw %d", name, r, w, can(name, O_RDWR));
}

static void all(int queue)
{
	struct stat st;
	mqd_t q;

	opens("/root");
	opens("/shared");
	opens("/theirs");
	t_err(mq_unlink("/root"), EACCES);
	q = q_open("/made", O_RDWR, 1, 1);
	t_true(q >= 0);
	t_eq(fstat(q, &st), 0);
	t_say("     made: uid %d gid %d", (int)st.st_uid, (int)st.st_gid);
	t_eq(mq_close(q), 0);
	t_eq(mq_unlink("/made"), 0);
	t_say("     msgget for group: %d", msgget(queue, 0060) >= 0);
}

static void by_name(int key)
{
	setfsgid(GROUP);
	setfsuid(USER);
	all(key);
	setfsuid(0);
	setfsgid(0);
	opens("/root");
}

static void by_number(int key)
{
	syscall(SYS_setfsgid, GROUP);
	syscall(SYS_setfsuid, USER);
	all(key);
	syscall(SYS_setfsuid, 0);
	opens("/root");
}

static void *in_thread(void *key)
{
	setfsuid(USER);
	opens("/root");
	opens("/theirs");
	(void)key;
	return NULL;
}

static void with_mode(const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	mqd_t q = q_open(name, O_RDWR, 1, 1);

	t_eq(fchmod(q, mode), 0);
	t_eq(fchown(q, uid, gid), 0);
	mq_close(q);
}

int main(void)
{
	const int key = 0x7361;
	pthread_t t;
	int id;

	t_begin();
	if (geteuid()) {
		t_say("skipped: not root");
		return 0;
	}
	setgroups(0, NULL);
	with_mode("/root", 0640, 0, 0);
	with_mode("/shared", 0660, 0, GROUP);
	with_mode("/theirs", 0600, USER, 0);
	id = msgget(key, IPC_CREAT | 0060);
	t_story("by name");
	by_name(key);
	t_story("by number");
	by_number(key);
	t_story("one thread");
	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	opens("/root");
	t_story("seteuid sets both");
	setfsuid(USER);
	t_eq(seteuid(0), 0);
	opens("/root");
	t_eq(msgctl(id, IPC_RMID, NULL), 0);
	mq_unlink("/root");
	mq_unlink("/shared");
	mq_unlink("/theirs");
	return t_end();
}
