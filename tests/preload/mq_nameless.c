// SPDX-License-Identifier: MIT
/*
 * mq_nameless: one of two processes that use a queue does so out of a mount
 * namespace of its own, where nothing of /dev/shm, /tmp and so on can be
 * reached. The other one polls the queue. Whatever the descriptors are based
 * on, each gets the other's messages, none hangs, and poll is right in both.
 */
#include "mq.h"
#include <sys/mount.h>

static int ready(mqd_t q)
{
	struct pollfd p = {q, POLLIN | POLLOUT, 0};

	poll(&p, 1, 0);
	return p.revents & (POLLIN | POLLOUT);
}

static void hide(const char *path)
{
	mount("none", path, "tmpfs", 0, NULL);
}

/* The registry's directory is wherever the tests have been told to work. */
static void hide_all(void)
{
	const char *registry = getenv("IPCLIFT_REGISTRY");
	char dir[4096];

	if (unshare(CLONE_NEWNS) ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		t_say("FAIL unshare");
		_exit(99);
	}
	hide("/dev/shm");
	if (registry) {
		snprintf(dir, sizeof(dir), "%s", registry);
		*strrchr(dir, '/') = 0;
		hide(dir);
	}
}

static void step(int fd, int on)
{
	char c;

	if (on)
		write(fd, "x", 1);
	else if (read(fd, &c, 1) != 1)
		_exit(98);
}

int main(void)
{
	int to[2], from[2];
	struct timespec until;
	char buf[32];
	mqd_t q, other;
	pid_t pid;

	t_begin();
	pipe(to);
	pipe(from);
	q = q_open(NAME, RW, 2, 32);
	t_eq(ready(q), POLLOUT);
	pid = t_fork();
	if (pid == 0) {
		hide_all();
		other = mq_open(NAME, RW);
		t_true(other >= 0);
		t_eq(q_put(other, "one", 0), 0);
		step(from[1], 1);
		step(to[0], 0);
		t_story("the other has taken it and put two in");
		t_eq(ready(other), POLLIN);
		_exit(q_put(other, "four", 0) ? errno : t_failed);
	}
	step(from[0], 0);
	t_eq(ready(q), POLLIN | POLLOUT);
	until = t_in(5000);
	t_eq(mq_timedreceive(q, buf, sizeof(buf), NULL, &until), 3);
	t_eq(q_put(q, "two", 0), 0);
	t_eq(q_put(q, "three", 0), 0);
	t_eq(ready(q), POLLIN);
	step(to[1], 1);
	t_asleep(pid);
	t_eq(ready(q), POLLIN);
	t_story("its sleeping sender is let in");
	q_say(q);
	t_eq(t_join(pid), 0);
	t_eq(ready(q), POLLIN);
	q_say(q);
	t_eq(ready(q), POLLIN | POLLOUT);
	q_say(q);
	t_eq(ready(q), POLLOUT);
	q_done(q);
	return t_end();
}
