// SPDX-License-Identifier: MIT
/*
 * sem_few_fds: another process wants what a process holds with SEM_UNDO whose
 * first thread has ended, and has few descriptors free, or none.
 *
 * The bug: with exactly one free the list of that process's threads could be
 * opened, but none of them read, and it was taken for gone.
 */
#include "t.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

static void *stays(void *arg)
{
	pause();
	return arg;
}

static void try_with(int id, int n_free)
{
	int fd = open("/dev/null", O_RDONLY);
	struct rlimit l = {(rlim_t)(fd + n_free), (rlim_t)(fd + n_free)};

	close(fd);
	semctl(id, 0, GETVAL);
	setrlimit(RLIMIT_NOFILE, &l);
	t_say("%d free", n_free);
	t_true(semop(id, OPS({0, -1, NW})) == -1 && errno == EAGAIN);
	_exit(t_failed);
}

int main(void)
{
	int id, n;
	pid_t holder;

	t_story("the first thread has ended, another lives");
	id = t_set(1, VALS(1));
	holder = t_fork();
	if (!holder) {
		pthread_t t;

		semop(id, OPS({0, -1, U}));
		pthread_create(&t, NULL, stays, NULL);
		pthread_exit(NULL);
	}
	while (semctl(id, 0, GETVAL))
		usleep(1000);
	usleep(100000);
	for (n = 0; n < 6; n++) {
		pid_t pid = t_fork();

		if (!pid)
			try_with(id, n);
		t_eq(t_join(pid), 0);
	}
	t_row(id, GETVAL, "0");
	kill(holder, SIGKILL);
	t_eq(t_join(holder), 1000 + SIGKILL);
	t_row(id, GETVAL, "1");
	t_rm(id);
	return t_end();
}
