// SPDX-License-Identifier: MIT
/*
 * mq_small: rare calls on a queue's descriptor. select with a number far beyond
 * the set that it is given, in a process with a queue: the kernel reads no more
 * bits than its table has descriptors, and nothing after the set is read, which
 * is unreadable. mq_open with O_DIRECT, write hints, what is left to read at
 * large offsets.
 */
#include "mq.h"
#include <stdint.h>
#include <sys/ioctl.h>

#ifndef F_SET_RW_HINT
#define F_GET_RW_HINT 1035
#define F_SET_RW_HINT 1036
#endif

static void selects(mqd_t q)
{
	struct rlimit limit;
	struct timeval none = {0, 0};
	/* As many bits as FD_SETSIZE, and then none that may be looked at. */
	char *set = t_cliff() - FD_SETSIZE / 8;

	t_story("select");
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max < 20000 ? limit.rlim_max : 20000;
	setrlimit(RLIMIT_NOFILE, &limit);
	memset(set, 0, FD_SETSIZE / 8);
	set[q / 8] = (char)(1 << q % 8);
	t_eq(select(getdtablesize(), (fd_set *)set, NULL, NULL, &none), 0);
	set[q / 8] = (char)(1 << q % 8);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(select(getdtablesize(), (fd_set *)set, NULL, NULL, &none), 1);
	q_say(q);
}

static void opens(void)
{
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 16};
	mqd_t q;

	t_story("O_DIRECT");
	t_err(mq_open("/d", O_RDWR | O_CREAT | O_DIRECT, 0600, &attr), EINVAL);
	q = mq_open("/d", O_RDWR);
	t_true(q >= 0);
	t_err(mq_open("/d", O_RDWR | O_DIRECT), EINVAL);
	t_err(mq_open("/d", O_RDWR | O_CREAT | O_EXCL | O_DIRECT, 0600, &attr),
		EEXIST);
	t_err(mq_open("/none", O_RDWR | O_DIRECT), ENOENT);
	mq_close(q);
	t_eq(mq_unlink("/d"), 0);
}

static void hints(mqd_t q)
{
	uint64_t hint = 1;

	t_story("write hints");
	t_eq(fcntl(q, F_GET_RW_HINT, &hint), 0);
	t_eq(hint, 0);
	hint = 77;
	t_err(fcntl(q, F_SET_RW_HINT, &hint), EINVAL);
	t_err(fcntl(q, F_SET_RW_HINT, 1), EFAULT);
	hint = 2;
	t_eq(fcntl(q, F_SET_RW_HINT, &hint), 0);
	t_err(fcntl(q, 1037, &hint), EINVAL);
}

static void left(mqd_t q)
{
	static const long at[] = {0, 10, 80, 100, 1l << 31, 1l << 32,
		(1l << 32) + 5, 1l << 40, (1l << 40) - 3, 1l << 62};
	int n;

	t_story("FIONREAD");
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		n = -1000;
		t_eq(lseek(q, at[i], SEEK_SET), at[i]);
		t_eq(ioctl(q, FIONREAD, &n), 0);
		t_say("     %d", n);
	}
	t_eq(lseek(q, 0, SEEK_SET), 0);
}

int main(void)
{
	mqd_t q;

	t_begin();
	q = q_open(NAME, RW | NB, 2, 32);
	selects(q);
	opens();
	hints(q);
	left(q);
	q_done(q);
	return t_end();
}
