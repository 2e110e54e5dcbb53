// SPDX-License-Identifier: MIT
/*
 * mq_setid.c - the set-user-ID and set-group-ID bits of a queue's mode: chown
 * clears them, and chmod the latter if the caller is not in the queue's group.
 */
#include "t.h"

#include "mq.h"

#define USER 1000
#define MINE 100
#define ALSO 200
#define NOT_MINE 999

static const mode_t modes[] = {06755, 06745, 02745, 02755, 02655, 04600, 01777};

static void show(mqd_t q, const char *text)
{
	struct stat st;

	t_eq(fstat(q, &st), 0);
	t_say("%s: %o %u %u", text, st.st_mode, st.st_uid, st.st_gid);
}

static void give(mqd_t q, mode_t mode, uid_t uid, gid_t gid)
{
	t_eq(fchmod(q, mode), 0);
	t_eq(fchown(q, uid, gid), 0);
	show(q, "given");
}

static void as_root(mqd_t q, mode_t mode)
{
	t_eq(fchown(q, 0, 0), 0);
	give(q, mode, -1, -1);
	give(q, mode, USER, -1);
	give(q, mode, -1, MINE);
	give(q, mode, 0, 0);
}

/* Has the queue as its owner, of group MINE and ALSO. */
static void as_owner(mqd_t q, mode_t mode)
{
	gid_t groups[] = {MINE, ALSO};
	int status;
	pid_t pid = fork();

	if (!pid) {
		setgroups(2, groups);
		if (setresgid(MINE, MINE, MINE) || setresuid(USER, USER, USER))
			_exit(9);
		show(q, "before");
		t_eq(fchown(q, -1, -1), 0);
		show(q, "nothing given");
		t_eq(fchmod(q, mode), 0);
		show(q, "mode set");
		give(q, mode, -1, ALSO);
		give(q, mode, USER, -1);
		t_err(fchown(q, -1, NOT_MINE), EPERM);
		_exit(t_failed);
	}
	waitpid(pid, &status, 0);
	t_eq(status, 0);
}

int main(void)
{
	mqd_t q;

	t_begin();
	if (geteuid()) {
		t_say("skipped: not root");
		return 0;
	}
	q = q_open(NAME, RW, 1, 1);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		t_say("mode %o", modes[i]);
		as_root(q, modes[i]);
		t_eq(fchown(q, USER, MINE), 0);
		t_eq(fchmod(q, modes[i]), 0);
		as_owner(q, modes[i]);
		t_eq(fchown(q, USER, NOT_MINE), 0);
		t_eq(fchmod(q, modes[i]), 0);
		as_owner(q, modes[i]);
	}
	q_done(q);
	return t_end();
}
