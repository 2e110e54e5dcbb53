// SPDX-License-Identifier: MIT
/*
 * sem_perm: which of the three classes a caller falls into, and what that
 * gives it.
 *
 * Owner if the effective uid is the set's uid or its maker's; else group if
 * the gid or a supplementary group is the set's gid or its maker's; else
 * other. Only that class counts. CAP_IPC_OWNER, not uid 0, is above all.
 * Ids used: the set belongs to 1000:1001, was made by 2000:2001.
 */
#include "t.h"

static int set;

static void set_mode(int mode)
{
	struct semid_ds ds = t_stat(set);

	ds.sem_perm.uid = 1000;
	ds.sem_perm.gid = 1001;
	ds.sem_perm.mode = (unsigned short)mode;
	t_eq(semctl(set, 0, IPC_SET, &ds), 0);
}

/* What the caller may do, as "rw", "r-", "-w", "--". */
static void can(const char *who, const char *want)
{
	char got[3] = "--";

	if (semop(set, OPS({0, 0, NW})) == 0)
		got[0] = 'r';
	else if (errno != EACCES)
		got[0] = '?';
	if (semop(set, OPS({0, 1, 0}, {0, -1, 0})) == 0)
		got[1] = 'w';
	else if (errno != EACCES)
		got[1] = '?';
	/* semctl must agree */
	if ((semctl(set, 0, GETVAL) == 0) != (got[0] == 'r') ||
		(semctl(set, 0, SETVAL, 0) == 0) != (got[1] == 'w'))
		got[0] = got[1] = '!';
	/* and semget, asked for just that */
	if ((semget(0x7b01, 1, 0400) == set) != (got[0] == 'r') ||
		(semget(0x7b01, 1, 0002) == set) != (got[1] == 'w'))
		got[0] = got[1] = '#';
	t_cond(__FILE__, __LINE__, who, strcmp(got, want) == 0);
	if (strcmp(got, want) != 0)
		t_say("     %s: %s, want %s", who, got, want);
}

static void in_groups(uid_t uid, gid_t gid, gid_t extra)
{
	if (setgroups(1, &extra) || setresgid(gid, gid, gid) ||
		setresuid(uid, uid, uid))
		_exit(98);
}

/* Run the check in a child of that identity; extra is a supplementary group */
static void as(
	uid_t uid, gid_t gid, gid_t extra, const char *who, const char *want)
{
	int child = t_fork();

	if (child == 0) {
		in_groups(uid, gid, extra);
		can(who, want);
		_exit(t_failed);
	}
	if (t_join(child) != 0)
		t_failed = 1;
}

static void classes(void)
{
	static const struct {
		int mode;
		const char *owner, *group, *other;
	} cases[] = {
		{0600, "rw", "--", "--"},
		{0060, "--", "rw", "--"},
		{0006, "--", "--", "rw"},
		{0066, "--", "rw", "rw"},
		{0606, "rw", "--", "rw"},
		{0420, "r-", "-w", "--"},
		{0246, "-w", "r-", "rw"},
		{0111, "--", "--", "--"},
		{0777, "rw", "rw", "rw"},
		{0000, "--", "--", "--"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *owner = cases[i].owner, *group = cases[i].group;

		t_say("-- mode %04o", (unsigned)cases[i].mode);
		set_mode(cases[i].mode);
		as(1000, 9, 9, "owner", owner);
		as(2000, 9, 9, "maker", owner);
		as(1000, 1001, 9, "owner, in the group as well", owner);
		as(3000, 1001, 9, "group", group);
		as(3000, 2001, 9, "maker's group", group);
		as(3000, 9, 1001, "supplementary group", group);
		as(3000, 9, 2001, "maker's group, supplementary", group);
		as(3000, 9, 9, "other", cases[i].other);
	}
	can("we, with CAP_IPC_OWNER", "rw");
}

/* capset(2) by number: there is no libc function for it. */
static int drop_capability(int number)
{
	struct {
		unsigned int version;
		int pid;
	} head = {0x20080522, 0};
	struct {
		unsigned int effective, permitted, inheritable;
	} data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	data[number / 32].effective &= ~(1u << (number % 32));
	return (int)syscall(SYS_capset, &head, data);
}

static void capabilities(void)
{
	enum { CAP_IPC_OWNER_NR = 15, CAP_SYS_ADMIN_NR = 21 };
	struct semid_ds ds;
	int child, own;

	t_story("uid 0 without CAP_IPC_OWNER is one of the others");
	set_mode(0604);
	child = t_fork();
	if (child == 0) {
		can("with it", "rw");
		t_eq(drop_capability(CAP_IPC_OWNER_NR), 0);
		can("without it", "r-");
		t_story("even on a set of its own");
		own = semget(IPC_PRIVATE, 1, 0066);
		t_err(semctl(own, 0, GETVAL), EACCES);
		t_err(semop(own, OPS({0, 1, 0})), EACCES);
		t_eq(semctl(own, 0, IPC_RMID), 0);
		t_story("IPC_SET of another's set needs CAP_SYS_ADMIN");
		ds = t_stat(set);
		t_eq(semctl(set, 0, IPC_SET, &ds), 0);
		t_eq(drop_capability(CAP_SYS_ADMIN_NR), 0);
		t_err(semctl(set, 0, IPC_SET, &ds), EPERM);
		t_err(semctl(set, 0, IPC_RMID), EPERM);
		_exit(t_failed);
	}
	if (t_join(child) != 0)
		t_failed = 1;
	t_story("CAP_IPC_OWNER alone does not allow IPC_SET");
	set_mode(0000);
	child = t_fork();
	if (child == 0) {
		t_eq(drop_capability(CAP_SYS_ADMIN_NR), 0);
		can("with CAP_IPC_OWNER", "rw");
		ds = t_stat(set);
		t_err(semctl(set, 0, IPC_SET, &ds), EPERM);
		_exit(t_failed);
	}
	if (t_join(child) != 0)
		t_failed = 1;
}

static void effective_ids(void)
{
	struct semid_ds ds;
	int child;

	t_story("seteuid back and forth takes effect at once");
	set_mode(0600);
	child = t_fork();
	if (child == 0) {
		if (setgroups(0, NULL) != 0)
			_exit(98);
		for (int i = 0; i < 2; i++) {
			can("root", "rw");
			t_eq(seteuid(3000), 0);
			can("other user", "--");
			memset(&ds, 0, sizeof(ds));
			t_err(semop(set, OPS({0, 1, 0})), EACCES);
			t_err(semctl(set, 0, IPC_SET, &ds), EPERM);
			t_eq(seteuid(0), 0);
			can("root again", "rw");
			t_eq(seteuid(1000), 0);
			can("owner", "rw");
			t_eq(seteuid(0), 0);
		}
		_exit(t_failed);
	}
	if (t_join(child) != 0)
		t_failed = 1;
	t_story("setegid, setgroups too");
	set_mode(0060);
	child = t_fork();
	if (child == 0) {
		gid_t group = 1001;

		if (setgroups(0, NULL) || seteuid(3000) || seteuid(0))
			_exit(98);
		t_eq(setegid(1001), 0);
		t_eq(seteuid(3000), 0);
		can("in the group", "rw");
		t_eq(seteuid(0), 0);
		t_eq(setegid(9), 0);
		t_eq(seteuid(3000), 0);
		can("no longer", "--");
		t_eq(seteuid(0), 0);
		t_eq(setgroups(1, &group), 0);
		t_eq(seteuid(3000), 0);
		can("by a supplementary group", "rw");
		t_eq(seteuid(0), 0);
		t_eq(setgroups(0, NULL), 0);
		t_eq(seteuid(3000), 0);
		can("no longer", "--");
		_exit(t_failed);
	}
	if (t_join(child) != 0)
		t_failed = 1;
	t_story("the real uid does not count");
	set_mode(0600);
	child = t_fork();
	if (child == 0) {
		if (setgroups(0, NULL) || setresgid(9, 9, 9) ||
			setresuid(1000, 3000, 0))
			_exit(98);
		can("real uid owns", "--");
		t_err(semctl(set, 0, IPC_RMID), EPERM);
		_exit(t_failed);
	}
	if (t_join(child) != 0)
		t_failed = 1;
}

static void owners_rights(void)
{
	struct semid_ds ds;
	int child;

	t_story("the maker keeps its rights after the owner is another");
	set_mode(0600);
	child = t_fork();
	if (child == 0) {
		t_become(2000, 9);
		can("maker", "rw");
		ds = t_stat(set);
		t_eq(ds.sem_perm.uid, 1000);
		t_eq(ds.sem_perm.cuid, 2000);
		ds.sem_perm.uid = 4000;
		t_eq(semctl(set, 0, IPC_SET, &ds), 0);
		ds.sem_perm.mode = 0;
		t_eq(semctl(set, 0, IPC_SET, &ds), 0);
		can("maker, on mode 0", "--");
		t_story("which do not include reading it back");
		t_err(semctl(set, 0, IPC_STAT, &ds), EACCES);
		t_eq(semctl(set, 0, IPC_SET, &ds), 0);
		_exit(t_failed);
	}
	if (t_join(child) != 0)
		t_failed = 1;
	as(1000, 9, 9, "the former owner", "--");
	t_story("the maker may remove it");
	child = t_fork();
	if (child == 0) {
		t_become(2000, 9);
		t_eq(semctl(set, 0, IPC_RMID), 0);
		_exit(t_failed);
	}
	if (t_join(child) != 0)
		t_failed = 1;
	t_err(semctl(set, 0, GETVAL), EINVAL);
}

int main(void)
{
	int child, first;

	t_begin();
	/* whoever serves semaphores is met as root first */
	first = t_set(1, NULL);
	child = t_fork();
	if (child == 0) {
		t_become(2000, 2001);
		_exit(semget(0x7b01, 1, IPC_CREAT | 0600) < 0);
	}
	t_eq(t_join(child), 0);
	set = semget(0x7b01, 1, 0);
	t_rm(first);
	classes();
	capabilities();
	effective_ids();
	owners_rights();
	return t_end();
}
