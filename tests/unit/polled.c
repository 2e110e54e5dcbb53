// SPDX-License-Identifier: MIT
/*
 * A queue that somebody polls needs its lock in each call, which keeps the FIFO
 * in step: it is not biased, since the bias would end again with each call.
 */
#include <unistd.h>
#include "mq/mqueue.h"
#include "unit.h"

TestSuite(polled, .init = unit_init, .fini = unit_fini, .timeout = 60);

/* How often the queue was found biased between two of many calls. */
static int times_biased(const struct mq_desc *d)
{
	char text[64];
	int i, n = 0;

	for (i = 0; i < 1000; i++) {
		cr_assert_eq(mqueue_send(&me, d, "x", 1, 0, NULL), 0);
		n += atom_load_relaxed(&d->s->bias) != 0;
		cr_assert_eq(mqueue_receive(&me, d, text, 64, NULL, NULL), 1);
		n += atom_load_relaxed(&d->s->bias) != 0;
	}
	return n;
}

Test(polled, a_queue_is_biased_only_while_nobody_polls_it)
{
	const struct mq_limits_attr attr = {5, 64};
	struct mq_desc d;

	cr_assert_geq(mqueue_open(&me, "n", 1, MQ_O_RDWR | MQ_O_CREAT, 0600,
			      &attr, &d),
		0);
	cr_expect_gt(times_biased(&d), 1000, "nobody polls it");
	cr_assert_eq(mq_poll_begin(&me, &d, MQ_POLLED_IN), 1);
	cr_expect_eq(times_biased(&d), 0, "somebody is in poll");
	mq_poll_end(&me, &d);
	cr_expect_gt(times_biased(&d), 1000, "nobody again");
	mq_watch(&me, &d, MQ_POLLED_IN);
	cr_expect_eq(times_biased(&d), 0, "it is in an epoll set");
	mqueue_unlink(&me, "n", 1);
	close(d.fd);
	mq_closed(&me, &d);
}
