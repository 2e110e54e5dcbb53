// SPDX-License-Identifier: MIT
/*
 * sem_robust_fork: a process holds a robust mutex while it forks, and the child
 * makes calls. The parent's list of robust mutexes stays right: the mutex can
 * be unlocked, its page unmapped, and the next owner's death is still reported.
 *
 * The bug: a child of musl's fork has its parent's list in its memory, until it
 * takes a robust mutex of its own, and the child linked its lifeline there,
 * which wrote into the parent's mutex.
 */
#include "t.h"
#include <sys/shm.h>

static int set, seg;

static pthread_mutex_t *mutex(void)
{
	pthread_mutex_t *m = t_shared(4096);
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(m, &attr);
	return m;
}

/* A child that takes the mutex, if it can, and ends. */
static int child(pthread_mutex_t *m, int undo)
{
	pid_t pid = t_fork();

	if (!pid) {
		if (undo)
			semop(set, OPS({0, 1, U}));
		if (undo == 2)
			shmat(seg, NULL, 0);
		if (!m)
			_exit(semctl(set, 0, GETVAL));
		_exit(pthread_mutex_trylock(m));
	}
	return t_join(pid);
}

static void story(int parent_undo, int undo)
{
	pthread_mutex_t *m = mutex(), *n = mutex();

	if (parent_undo)
		t_eq(semop(set, OPS({0, 1, U})), 0);
	t_eq(child(m, 0), 0);
	t_eq(pthread_mutex_lock(m), EOWNERDEAD);
	t_eq(pthread_mutex_consistent(m), 0);
	t_eq(pthread_mutex_lock(n), 0);
	t_eq(child(m, undo), EBUSY);
	t_eq(child(n, undo), EBUSY);
	t_eq(pthread_mutex_unlock(m), 0);
	t_eq(munmap(m, 4096), 0);
	t_eq(child(NULL, 0), parent_undo);
	t_eq(child(NULL, 1), parent_undo + 1);
	t_eq(pthread_mutex_unlock(n), 0);
	t_eq(child(n, undo), 0);
	t_eq(pthread_mutex_lock(n), EOWNERDEAD);
	t_eq(pthread_mutex_consistent(n), 0);
	t_eq(pthread_mutex_unlock(n), 0);
	t_eq(munmap(n, 4096), 0);
	t_eq(child(NULL, 0), parent_undo);
	if (parent_undo)
		t_eq(semop(set, OPS({0, -1, U})), 0);
}

int main(void)
{
	int undo, parent_undo;

	t_begin();
	set = t_set(1, VALS(0));
	seg = shmget(IPC_PRIVATE, 4096, 0600);
	for (parent_undo = 0; parent_undo < 2; parent_undo++)
		for (undo = 1; undo < 3; undo++)
			story(parent_undo, undo);
	t_eq(shmctl(seg, IPC_RMID, NULL), 0);
	t_rm(set);
	return t_end();
}
