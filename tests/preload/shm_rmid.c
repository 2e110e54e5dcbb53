// SPDX-License-Identifier: MIT
/*
 * shm_rmid: removing a segment that is attached (H3), and what is left of it.
 */
#include "shm.h"

#define KEY 0x5eed0002

static void attached(void)
{
	struct shmid_ds ds;
	int id = shmget(KEY, 3 * PAGE, IPC_CREAT | 0640), next;
	char *p = s_at(id), *q;

	t_story("removed while attached");
	p[0] = 'a';
	s_rm(id);
	ds = s_stat(id);
	t_eq(ds.shm_perm.mode, 01640);
	t_eq(ds.shm_perm.__key, 0);
	t_eq(ds.shm_nattch, 1);
	t_err(shmget(KEY, 0, 0), ENOENT);
	q = s_at(id);
	t_eq(q[0], 'a');
	s_nattch(id, 2);
	s_rm(id);
	t_story("the key is free at once");
	next = shmget(KEY, PAGE, IPC_CREAT | IPC_EXCL | 0600);
	t_true(next >= 0 && next != id);
	t_true(shmget(KEY, 0, 0) == next);
	ds.shm_perm.mode = 0604;
	t_eq(shmctl(id, IPC_SET, &ds), 0);
	t_eq(s_stat(id).shm_perm.mode, 01604);
	t_eq(shmctl(id, SHM_LOCK, NULL), 0);
	t_eq(s_stat(id).shm_perm.mode, 03604);
	t_eq(shmctl(id, SHM_UNLOCK, NULL), 0);
	t_eq(s_stat(id).shm_perm.mode, 01604);
	t_eq(shmdt(p), 0);
	t_eq(q[0], 'a');
	t_eq(shmdt(q), 0);
	t_err(shmctl(id, IPC_STAT, &ds), EINVAL);
	t_err(shmctl(id, IPC_RMID, NULL), EINVAL);
	t_err(shmat(id, NULL, 0), EINVAL);
	s_rm(next);
}

static void by_death(void)
{
	struct shm_info info;
	int id = s_seg(PAGE);
	pid_t pid;

	t_story("the last attachment ends by death");
	pid = t_fork();
	if (!pid) {
		s_at(id);
		shmctl(id, IPC_RMID, NULL);
		kill(getpid(), SIGKILL);
	}
	t_eq(t_join(pid), 1000 + SIGKILL);
	t_err(shmat(id, NULL, 0), EINVAL);
	id = s_seg(PAGE);
	pid = t_fork();
	if (!pid) {
		s_at(id);
		shmctl(id, IPC_RMID, NULL);
		_exit(0);
	}
	t_eq(t_join(pid), 0);
	t_eq(shmctl(0, SHM_INFO, (void *)&info), 0);
	t_eq(info.used_ids, 0);
	t_eq(info.shm_tot, 0);
}

static void by_child(void)
{
	int id = s_seg(PAGE);
	char *p = s_at(id);
	pid_t pid;

	t_story("a child keeps it");
	pid = t_fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(p[0] == 'k' ? 0 : 1);
	}
	waitpid(pid, &(int){0}, WUNTRACED);
	p[0] = 'k';
	s_rm(id);
	t_eq(shmdt(p), 0);
	s_nattch(id, 1);
	kill(pid, SIGCONT);
	t_eq(t_join(pid), 0);
	t_err(shmat(id, NULL, 0), EINVAL);
}

static void other_users(void)
{
	int id = s_seg(PAGE);

	t_story("who may");
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		struct shmid_ds ds;

		t_err(shmctl(id, IPC_RMID, NULL), EPERM);
		t_err(shmctl(id, IPC_STAT, &ds), EACCES);
		memset(&ds, 0, sizeof(ds));
		t_err(shmctl(id, IPC_SET, &ds), EPERM);
		t_err(shmctl(id, IPC_SET, NULL), EFAULT);
		t_err(shmctl(id, SHM_LOCK, NULL), EPERM);
		t_err(shmctl(id, SHM_UNLOCK, NULL), EPERM);
	}
	s_rm(id);
}

int main(void)
{
	t_begin();
	attached();
	by_death();
	by_child();
	other_users();
	return s_end();
}
