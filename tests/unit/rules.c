// SPDX-License-Identifier: MIT
/*
 * Rules of semaphores with explicit callers: who may do what, the limits, the
 * order of errors. No process changes its user: the credentials are made up.
 */
#include "unit.h"

TestSuite(rules, .init = unit_init, .fini = unit_fini, .timeout = 30);

/* A set of somebody else: uid 10, gid 20, creator 11, 21. The mode is ours to
 * set. The caller is then (euid, egid, one more group), without capabilities,
 * and remembered: perm_check asks the kernel before it refuses, which knows
 * only root, hence granted() is shown through rights that suffice. */
static struct slot *set_of_others(u32 mode)
{
	static struct slot s;

	s = (struct slot){
		.uid = 10, .cuid = 11, .gid = 20, .cgid = 21, .mode = mode};
	return &s;
}

static int allowed(u32 mode, u32 euid, u32 egid, u32 group, u32 want)
{
	struct cred cred = {
		.euid = euid, .egid = egid, .n_groups = 1, .groups = {group}};
	struct caller c = me;
	int err;

	c.cred = &cred;
	err = perm_check(&c, set_of_others(mode), want);
	/* Asked anew (euid is the process's again) means: not by these. */
	return !err && cred.euid == euid;
}

Test(rules, classes_are_owner_or_creator_then_group_then_others)
{
	u32 me_real = 4000; /* anything but the process's own */

	cr_assert(allowed(0400, 10, 1, 1, PERM_R));
	cr_assert(allowed(0400, 11, 1, 1, PERM_R), "the creator too");
	cr_assert(allowed(0200, 10, 1, 1, PERM_W));
	cr_assert_not(allowed(0200, 10, 1, 1, PERM_R));
	cr_assert_not(
		allowed(0077, 10, 20, 1, PERM_R), "the first class rules");
	cr_assert(allowed(0040, me_real, 20, 1, PERM_R));
	cr_assert(allowed(0040, me_real, 21, 1, PERM_R));
	cr_assert(allowed(0040, me_real, 1, 20, PERM_R), "further groups");
	cr_assert_not(allowed(0707, me_real, 1, 21, PERM_R));
	cr_assert(allowed(0004, me_real, 1, 1, PERM_R));
	cr_assert(allowed(0006, me_real, 1, 1, PERM_R | PERM_W));
	cr_assert_not(allowed(0004, me_real, 1, 1, PERM_R | PERM_W));
}

Test(rules, capability_opens_all_and_three_digits_count_as_one)
{
	struct cred cred = {.euid = 4000, .egid = 4000, .caps = CRED_IPC_OWNER};
	struct caller c = me;

	c.cred = &cred;
	cr_assert_eq(perm_check(&c, set_of_others(0), PERM_R | PERM_W), 0);
	cr_assert(allowed(0600, 10, 1, 1, 0060));
	cr_assert_not(allowed(0400, 10, 1, 1, 0420));
}

Test(rules, only_owner_and_creator_may_set_and_remove)
{
	struct cred cred = {.euid = 10};
	struct caller c = me;

	c.cred = &cred;
	cr_assert_eq(perm_owner(&c, set_of_others(0)), 0);
	cred.euid = 11;
	cr_assert_eq(perm_owner(&c, set_of_others(0)), 0);
}

Test(rules, semget_in_the_kernels_order)
{
	int id = sem_get(&me, 5, 3, 0600 | SEM_IPC_CREAT);

	cr_assert_geq(id, 0);
	cr_assert_eq(sem_get(&me, 5, 3, 0600), id);
	cr_assert_eq(sem_get(&me, 5, 0, 0), id);
	cr_assert_eq(sem_get(&me, 5, 4, 0), -EINVAL);
	cr_assert_eq(sem_get(&me, 5, 4, SEM_IPC_CREAT | SEM_IPC_EXCL), -EEXIST);
	cr_assert_eq(sem_get(&me, 6, 1, 0), -ENOENT);
	cr_assert_eq(sem_get(&me, 6, 0, SEM_IPC_CREAT), -EINVAL);
	cr_assert_eq(sem_get(&me, 5, -1, 0), -EINVAL);
	cr_assert_eq(sem_get(&me, 6, 32001, SEM_IPC_CREAT), -EINVAL);
	cr_assert_neq(sem_get(&me, 0, 1, 0), sem_get(&me, 0, 1, 0));
}

Test(rules, limits_stop_creation)
{
	struct limits *l = &caller_header(&me)->limits;
	int id;

	l->semmni = 2;
	id = sem_get(&me, 0, 1, 0600);
	cr_assert_geq(id, 0);
	cr_assert_geq(sem_get(&me, 0, 1, 0600), 0);
	cr_assert_eq(sem_get(&me, 0, 1, 0600), -ENOSPC);
	cr_assert_eq(sem_remove(&me, id), 0);
	l->semmns = 11;
	cr_assert_eq(sem_get(&me, 0, 11, 0600), -ENOSPC);
	cr_assert_geq(sem_get(&me, 0, 10, 0600), 0);
}

Test(rules, semop_in_the_kernels_order)
{
	struct caller *c = &me;
	int id = sem_get(c, 0, 2, 0600);
	struct sop up = {0, 1, 0}, far = {2, 1, 0};
	struct sop much = {0, 32767, 0}, down = {1, -1, SEM_IPC_NOWAIT};
	struct sop many[600] = {{0}};
	struct sys_timespec bad = {0, 1000000000}, none = {0, 0};

	cr_assert_eq(sem_op(c, id, &up, 0, NULL), -EINVAL);
	cr_assert_eq(sem_op(c, id, many, 501, NULL), -E2BIG);
	cr_assert_eq(sem_op(c, id, many, 500, NULL), 0);
	cr_assert_eq(sem_op(c, -1, &up, 1, NULL), -EINVAL);
	cr_assert_eq(sem_op(c, id + 1, &up, 1, NULL), -EINVAL);
	cr_assert_eq(sem_op(c, id, &far, 1, NULL), -EFBIG);
	cr_assert_eq(sem_op(c, id, &up, 1, &bad), -EINVAL);
	cr_assert_eq(sem_op(c, id, &up, 1, NULL), 0);
	cr_assert_eq(sem_op(c, id, &much, 1, NULL), -ERANGE);
	cr_assert_eq(sem_op(c, id, &down, 1, NULL), -EAGAIN);
	down.flg = 0;
	cr_assert_eq(sem_op(c, id, &down, 1, &none), -EAGAIN);
	cr_assert_eq(sem_getval(c, id, 0), 1);
}

Test(rules, an_array_happens_wholly_or_not_at_all)
{
	int id = sem_get(&me, 0, 3, 0600);
	struct sop sops[] = {{0, 4, 0}, {1, 5, SEM_FLG_UNDO}, {0, -3, 0},
		{2, -1, SEM_IPC_NOWAIT}};

	cr_assert_eq(sem_op(&me, id, sops, 4, NULL), -EAGAIN);
	cr_assert_eq(sem_getval(&me, id, 0), 0);
	cr_assert_eq(sem_getval(&me, id, 1), 0);
	cr_assert_eq(sem_op(&me, id, sops, 3, NULL), 0);
	cr_assert_eq(sem_getval(&me, id, 0), 1);
	cr_assert_eq(sem_getval(&me, id, 1), 5);
}

Test(rules, an_undo_value_out_of_range_is_erange)
{
	int id = sem_get(&me, 0, 1, 0600);
	struct sop up = {0, 32767, SEM_FLG_UNDO};

	cr_assert_eq(sem_op(&me, id, &up, 1, NULL), 0);
	cr_assert_eq(sem_setval(&me, id, 0, 0), 0);
	cr_assert_eq(sem_op(&me, id, &up, 1, NULL), 0,
		"SETVAL cleared what was to be undone");
	up.op = -32767;
	cr_assert_eq(sem_op(&me, id, &up, 1, NULL), 0);
}

Test(rules, values_out_of_range)
{
	int id = sem_get(&me, 0, 2, 0600);
	u16 values[] = {1, 32768};

	cr_assert_eq(sem_setval(&me, id, 0, -1), -ERANGE);
	cr_assert_eq(sem_setval(&me, id, 0, 32768), -ERANGE);
	cr_assert_eq(sem_setval(&me, id, 2, 1), -EINVAL);
	cr_assert_eq(sem_setall(&me, id, values, 2), -ERANGE);
	cr_assert_eq(sem_getval(&me, id, 0), 0);
	cr_assert_eq(sem_getval(&me, id, 7), -EINVAL);
	cr_assert_eq(sem_remove(&me, id), 0);
	cr_assert_eq(sem_getval(&me, id, 0), -EINVAL);
}
