// SPDX-License-Identifier: MIT
/*
 * mq_environment_gone: a program overwrites the strings of its environment, as one
 * does that shows its state by ps, or that frees them.
 *
 * The bug: the registry's name was read from there, later too, and files of queues
 * were made beside whatever stood there then.
 */
#include "mq.h"

extern char **environ;

int main(void)
{
	char dir[] = "/tmp/t-environment-XXXXXX", **e;
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 8};

	t_true(mkdtemp(dir) && !chdir(dir));
	t_true(mq_open("/t-before", O_RDWR | O_CREAT, 0600, &attr) >= 0);
	for (e = environ; *e; e++)
		memset(*e, 'Z', strlen(*e));
	t_true(mq_open("/t-after", O_RDWR | O_CREAT, 0600, &attr) >= 0);
	t_eq(mq_unlink("/t-before"), 0);
	t_eq(mq_unlink("/t-after"), 0);
	t_true(!chdir("/"));
	/* Nothing was made there. */
	t_eq(rmdir(dir), 0);
	return t_end();
}
