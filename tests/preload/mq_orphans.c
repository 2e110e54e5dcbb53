// SPDX-License-Identifier: MIT
/*
 * mq_orphans: queues that were unlinked while they are open. When a limit is
 * reached, mq_open checks whether one of them can be freed, and fails. (It
 * walked along them 2^32 times, holding the facility's lock.) Those that have
 * been closed meanwhile make space.
 */
#include "mq.h"

#define N_OPEN 3

static mqd_t open_n(const char *fmt, int i, long maxmsg, long size)
{
	struct mq_attr attr = {.mq_maxmsg = maxmsg, .mq_msgsize = size};
	char name[32];

	snprintf(name, sizeof(name), fmt, i);
	return mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
}

static void unlink_n(const char *fmt, int i)
{
	char name[32];

	snprintf(name, sizeof(name), fmt, i);
	mq_unlink(name);
}

/* New queues until there is a limit; they are gone afterwards. */
static void fill(long maxmsg, long size)
{
	mqd_t q;
	int n = 0;

	errno = 0;
	while (n < 400 && (q = open_n("/f%d", n, maxmsg, size)) >= 0) {
		mq_close(q);
		n++;
	}
	t_say("     %d, then %s", n, t_errname(errno));
	while (n-- > 0)
		unlink_n("/f%d", n);
}

static void beside_orphans(long maxmsg, long size)
{
	mqd_t q[N_OPEN];
	char buf[8192];

	for (int i = 0; i < N_OPEN; i++) {
		q[i] = open_n("/o%d", i, maxmsg, size);
		t_true(q[i] >= 0);
		unlink_n("/o%d", i);
	}
	fill(maxmsg, size);
	/* They are as they were. */
	for (int i = 0; i < N_OPEN; i++) {
		t_eq(mq_send(q[i], "x", 1, 0), 0);
		t_eq(mq_receive(q[i], buf, sizeof(buf), NULL), 1);
	}
	t_eq(mq_close(q[1]), 0);
	fill(maxmsg, size);
	t_eq(mq_close(q[0]), 0);
	t_eq(mq_close(q[2]), 0);
	fill(maxmsg, size);
}

int main(void)
{
	struct rlimit few = {819200, 819200};
	mqd_t q;

	t_begin();
	setrlimit(RLIMIT_MSGQUEUE, &few);
	q = q_open(NAME, RW, 1, 16);
	t_story("queues_max");
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		beside_orphans(1, 16);
	}
	t_story("RLIMIT_MSGQUEUE");
	beside_orphans(10, 8192);
	q_done(q);
	return t_end();
}
