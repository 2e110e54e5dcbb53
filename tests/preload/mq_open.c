// SPDX-License-Identifier: MIT
/*
 * mq_open: names, modes, access, attributes, limits, unlink, and the order in
 * which errors are found (doc/kernel-semantics.md §7.1-7.3, §7.9).
 */
#include "mq.h"
#include <sys/random.h>

static char *slashed(size_t n)
{
	static char name[5000];

	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[n + 1] = 0;
	return name;
}

static void names(void)
{
	static char many[302];
	mqd_t q;

	t_story("names");
	t_err(mq_open("/", RW | O_CREAT, 0600, NULL), ENOENT);
	t_err(mq_open("//x", RW | O_CREAT, 0600, NULL), EACCES);
	t_err(mq_open("/a/b", RW | O_CREAT, 0600, NULL), EACCES);
	t_err(mq_open("/.", RW | O_CREAT, 0600, NULL), EACCES);
	t_err(mq_open("/..", RW | O_CREAT, 0600, NULL), EACCES);
	memset(many, '/', 301);
	t_err(mq_open(many, RW | O_CREAT, 0600, NULL), EACCES);
	q = mq_open("/...", RW | O_CREAT, 0600, NULL);
	t_true(q >= 0);
	t_eq(mq_close(q), 0);
	t_eq(mq_unlink("/..."), 0);
	q = mq_open(slashed(255), RW | O_CREAT, 0600, NULL);
	t_true(q >= 0);
	t_eq(mq_close(q), 0);
	t_eq(mq_unlink(slashed(255)), 0);
	t_err(mq_open(slashed(256), RW | O_CREAT, 0600, NULL), ENAMETOOLONG);
	t_err(mq_open(slashed(4090), RW | O_CREAT, 0600, NULL), ENAMETOOLONG);
	t_err(mq_open(slashed(4500), RW | O_CREAT, 0600, NULL), ENAMETOOLONG);
	t_err(mq_unlink("/"), ENOENT);
	t_err(mq_unlink("/a/b"), EACCES);
	t_err(mq_unlink("/."), EACCES);
	t_err(mq_unlink("/nothing"), ENOENT);
	t_err(mq_unlink(slashed(256)), ENAMETOOLONG);
	t_err(syscall(SYS_mq_open, "/x", RW | O_CREAT, 0600, NULL), EACCES);
	t_err(syscall(SYS_mq_open, "", RW | O_CREAT, 0600, NULL), ENOENT);
	t_err(syscall(SYS_mq_open, (char *)8, RW | O_CREAT, 0600, NULL),
		EFAULT);
	t_err(syscall(SYS_mq_unlink, (char *)8), EFAULT);
	q = syscall(SYS_mq_open, "raw", RW | O_CREAT, 0600, NULL);
	t_true(q >= 0);
	t_eq(mq_close(q), 0);
	t_eq(syscall(SYS_mq_unlink, "raw"), 0);
}

static void flags(void)
{
	struct mq_attr attr, bad = {.mq_maxmsg = -1};
	mqd_t q, r;

	t_story("flags");
	t_err(mq_open(NAME, RW), ENOENT);
	q = mq_open(NAME, RW | O_CREAT | NB, 0600, NULL);
	t_eq(mq_getattr(q, &attr), 0);
	t_eq(attr.mq_flags, O_NONBLOCK);
	t_eq(attr.mq_maxmsg, 10);
	t_eq(attr.mq_msgsize, 8192);
	t_eq(attr.mq_curmsgs, 0);
	t_eq(fcntl(q, F_GETFD), FD_CLOEXEC);
	t_eq(fcntl(q, F_GETFL), O_RDWR | O_NONBLOCK);
	t_err(mq_open(NAME, RW | O_CREAT | O_EXCL, 0600, NULL), EEXIST);
	t_err(mq_open(NAME, 3), EINVAL);
	t_err(syscall(SYS_mq_open, "t", RW, 0, (void *)8), EFAULT);
	r = mq_open(NAME, O_RDONLY | O_CREAT, 0, &bad);
	t_true(r == q + 1);
	t_eq(fcntl(r, F_GETFL), O_RDONLY);
	t_err(q_put(r, "x", 0), EBADF);
	t_eq(mq_close(r), 0);
	r = mq_open(NAME, O_WRONLY | O_EXCL | O_TRUNC);
	t_eq(fcntl(r, F_GETFL), O_WRONLY);
	t_eq(q_put(r, "x", 0), 0);
	t_err(mq_receive(r, (char[8192]){0}, 8192, NULL), EBADF);
	t_eq(q_count(r), 1);
	t_eq(mq_close(r), 0);
	t_err(mq_close(r), EBADF);
	q_done(q);
	q = mq_open(NAME, 3 | O_CREAT, 0600, NULL);
	t_true(q >= 0);
	t_err(q_put(q, "x", 0), EBADF);
	t_err(mq_receive(q, (char[8192]){0}, 8192, NULL), EBADF);
	t_eq(q_count(q), 0);
	q_done(q);
}

static void attributes(void)
{
	struct mq_attr attr = {0}, *volatile same = &attr;
	mqd_t q;

	t_story("attributes");
	t_err(mq_open(NAME, RW | O_CREAT, 0600, &attr), EINVAL);
	attr.mq_maxmsg = 1;
	t_err(mq_open(NAME, RW | O_CREAT, 0600, &attr), EINVAL);
	attr.mq_msgsize = -1;
	t_err(mq_open(NAME, RW | O_CREAT, 0600, &attr), EINVAL);
	attr.mq_msgsize = 8193;
	t_err(mq_open(NAME, RW | O_CREAT, 0600, &attr), EINVAL);
	attr.mq_msgsize = 1;
	attr.mq_maxmsg = 11;
	t_err(mq_open(NAME, RW | O_CREAT, 0600, &attr), EINVAL);
	attr.mq_maxmsg = 10;
	attr.mq_flags = O_NONBLOCK | 12345;
	attr.mq_curmsgs = 5;
	q = mq_open(NAME, RW | O_CREAT, 0600, &attr);
	t_eq(mq_getattr(q, &attr), 0);
	t_eq(attr.mq_flags, 0);
	t_eq(attr.mq_maxmsg, 10);
	t_eq(attr.mq_msgsize, 1);
	t_eq(attr.mq_curmsgs, 0);

	t_story("mq_setattr");
	attr.mq_flags = 1;
	t_err(mq_setattr(q, &attr, NULL), EINVAL);
	t_err(mq_setattr(q, (void *)8, NULL), EFAULT);
	t_err(mq_setattr(-1, &attr, NULL), EINVAL);
	attr.mq_flags = O_NONBLOCK;
	attr.mq_maxmsg = 3;
	t_err(mq_setattr(-1, &attr, NULL), EBADF);
	t_err(mq_setattr(0, &attr, NULL), EBADF);
	/* One structure for both, out of the compiler's sight. */
	t_eq(mq_setattr(q, &attr, same), 0);
	t_eq(attr.mq_flags, 0);
	t_eq(attr.mq_maxmsg, 10);
	t_err(mq_setattr(q, NULL, (void *)8), EFAULT);
	t_eq(mq_setattr(q, NULL, &attr), 0);
	t_eq(attr.mq_flags, O_NONBLOCK);
	t_err(mq_receive(q, (char[1]){0}, 1, NULL), EAGAIN);
	attr.mq_flags = 0;
	t_err(mq_setattr(q, &attr, (void *)8), EFAULT);
	t_eq(fcntl(q, F_GETFL), O_RDWR);
	q_done(q);
}

static void modes(void)
{
	struct stat st;
	mqd_t q, r;

	t_story("modes and umask");
	umask(027);
	q = mq_open(NAME, RW | O_CREAT, 0666, NULL);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_mode, S_IFREG | 0640);
	t_true(st.st_uid == getuid() && st.st_gid == getgid());
	q_done(q);
	umask(0);
	q = mq_open(NAME, O_WRONLY | O_CREAT, 01000, NULL);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_mode, S_IFREG | 01000);
	t_eq(q_put(q, "x", 0), 0);
	q_done(q);
	umask(022);
	q = mq_open(NAME, RW | O_CREAT, 0604, NULL);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(mq_open(NAME, O_RDWR), EACCES);
		t_err(mq_open(NAME, O_WRONLY), EACCES);
		r = mq_open(NAME, O_RDONLY);
		t_true(r >= 0);
		t_eq(q_count(r), 0);
		t_err(mq_unlink(NAME), EACCES);
		/* what was inherited works */
		t_eq(q_put(q, "from the other user", 3), 0);
		q_say(r);
		t_err(fchmod(r, 0777), EPERM);
		r = mq_open("/own", RW | O_CREAT, 0600, NULL);
		t_true(r >= 0);
		t_eq(fstat(r, &st), 0);
		t_eq(st.st_uid, T_OTHER_UID);
		t_eq(q_put(r, "mine", 3), 0);
		q_say(r);
		t_eq(mq_unlink("/own"), 0);
	}
	t_eq(fchmod(q, 0666), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		r = mq_open(NAME, O_RDWR);
		t_true(r >= 0);
		t_eq(q_put(r, "again", 3), 0);
	}
	q_say(q);
	q_done(q);
}

static void room(void)
{
	struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = 8192};
	char name[20];
	mqd_t q[20], last;
	int n;

	t_story("RLIMIT_MSGQUEUE");
	for (n = 0; n < 20; n++) {
		sprintf(name, "/q%d", n);
		q[n] = mq_open(name, RW | O_CREAT, 0600, &attr);
		if (q[n] < 0)
			break;
	}
	t_eq(n, 9);
	t_err(mq_open("/more", RW | O_CREAT, 0600, &attr), EMFILE);
	t_story("it is given back with the last descriptor, not by unlink");
	t_eq(mq_unlink("/q0"), 0);
	t_err(mq_open("/more", RW | O_CREAT, 0600, &attr), EMFILE);
	last = dup(q[0]);
	t_eq(mq_close(q[0]), 0);
	t_err(mq_open("/more", RW | O_CREAT, 0600, &attr), EMFILE);
	t_eq(close(last), 0);
	last = mq_open("/more", RW | O_CREAT, 0600, &attr);
	t_true(last >= 0);
	t_eq(mq_close(last), 0);
	t_err(mq_open("/too", RW | O_CREAT, 0600, &attr), EMFILE);
	t_eq(mq_unlink("/more"), 0);
	last = mq_open("/more", RW | O_CREAT, 0600, &attr);
	t_true(last >= 0);
	mq_close(last);
	mq_unlink("/more");
	for (int i = 1; i < n; i++) {
		sprintf(name, "/q%d", i);
		mq_close(q[i]);
		mq_unlink(name);
	}
}

static void limits(void)
{
	struct rlimit few;
	uid_t uid;

	/* The kernel counts what all processes of a real uid have, in any
	 * namespace: one that nobody else has. */
	t_eq(getrandom(&uid, sizeof(uid), 0), sizeof(uid));
	uid = 1u << 30 | uid >> 2;
	AS(uid, T_OTHER_UID)
	room();

	t_story("no free descriptor");
	getrlimit(RLIMIT_NOFILE, &few);
	few.rlim_cur = dup(0);
	close((int)few.rlim_cur);
	setrlimit(RLIMIT_NOFILE, &few);
	t_err(mq_open("/missing", RW), EMFILE);
	t_err(mq_open("/a/b", RW), EMFILE);
	t_err(mq_open("/", RW), ENOENT);
	t_err(mq_open("/new", RW | O_CREAT, 0600, NULL), EMFILE);
	few.rlim_cur = 100;
	setrlimit(RLIMIT_NOFILE, &few);
	t_err(mq_unlink("/new"), ENOENT);
}

static void unlinking(void)
{
	struct stat st;
	mqd_t q, r;
	pid_t pid;

	t_story("unlink: the name goes, the queue stays until it is closed");
	q = q_open(NAME, RW, 3, 32);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_nlink, 1);
	t_eq(q_put(q, "old", 1), 0);
	t_eq(mq_unlink(NAME), 0);
	t_err(mq_unlink(NAME), ENOENT);
	t_err(mq_open(NAME, RW), ENOENT);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_nlink, 0);
	r = q_open(NAME, RW | NB, 5, 16);
	t_eq(q_count(r), 0);
	t_eq(q_count(q), 1);
	t_eq(q_put(q, "old too", 1), 0);
	t_eq(q_put(r, "new", 1), 0);
	q_say(r);
	q_say(r);
	pid = t_fork();
	if (pid == 0) {
		q_say(q);
		_exit(0);
	}
	t_eq(t_join(pid), 0);
	q_say(q);
	t_eq(mq_close(q), 0);
	t_err(q_put(q, "x", 0), EBADF);
	q_done(r);
	t_story("a queue that is not unlinked keeps its messages");
	q = q_open(NAME, RW, 3, 32);
	t_eq(q_put(q, "kept", 1), 0);
	t_eq(mq_close(q), 0);
	q = mq_open(NAME, O_RDONLY);
	q_say(q);
	q_done(q);
}

int main(void)
{
	t_begin();
	names();
	flags();
	attributes();
	modes();
	limits();
	unlinking();
	return t_end();
}
