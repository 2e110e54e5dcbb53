// SPDX-License-Identifier: MIT
/*
 * mq_foreign: what another user may do to a queue by its descriptor and path.
 *
 * The bugs: fchown to the owner it has, or to nobody, which takes set-user-ID
 * away; open with O_TRUNC of what may not be written. And what msgctl tells of
 * limits ended in bytes of the library's stack.
 */
#include "t.h"
#include "procfs.h"
#include <fcntl.h>
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/stat.h>

#define NAME "/t-foreign"

static unsigned mode_of(int q)
{
	struct stat st;

	return fstat(q, &st) ? 0 : st.st_mode & 07777;
}

static void give(int q, unsigned mode, uid_t uid, gid_t gid)
{
	pid_t pid;

	fchmod(q, mode);
	pid = t_fork();
	if (!pid) {
		int ret;

		if (setresgid(T_OTHER_UID, T_OTHER_UID, T_OTHER_UID) ||
			setresuid(T_OTHER_UID, T_OTHER_UID, T_OTHER_UID))
			_exit(1);
		ret = fchown(q, uid, gid);
		t_say("%04o to %d, %d: %d %s", mode, (int)uid, (int)gid, ret,
			ret ? t_errname(errno) : "");
		_exit(0);
	}
	t_eq(t_join(pid), 0);
	t_say("mode %04o", mode_of(q));
}

static void open_as_other(int flags)
{
	pid_t pid = t_fork();

	if (!pid) {
		int fd;

		if (setresuid(T_OTHER_UID, T_OTHER_UID, T_OTHER_UID))
			_exit(1);
		fd = open("/dev/mqueue" NAME, flags);
		t_say("open %o: %s", flags, fd < 0 ? t_errname(errno) : "ok");
		_exit(0);
	}
	t_eq(t_join(pid), 0);
}

int main(void)
{
	static const unsigned modes[] = {0644, 04755, 02755, 02745};
	unsigned char info[64];
	int q, i;

	t_story("fchown by another user");
	mq_unlink(NAME);
	q = mq_open(NAME, O_RDWR | O_CREAT | O_EXCL, 0644, NULL);
	t_true(p_has_mqueue("/dev/mqueue" NAME));
	for (i = 0; i < 4; i++) {
		give(q, modes[i], (uid_t)-1, (gid_t)-1);
		give(q, modes[i], 0, (gid_t)-1);
		give(q, modes[i], (uid_t)-1, 0);
		give(q, modes[i], T_OTHER_UID, T_OTHER_UID);
	}
	t_story("open by another user");
	fchmod(q, 0444);
	open_as_other(O_RDONLY);
	open_as_other(O_RDONLY | O_TRUNC);
	open_as_other(O_WRONLY | O_TRUNC);
	fchmod(q, 0646);
	open_as_other(O_RDONLY | O_TRUNC);
	t_story("lseek");
	t_say("%ld %s", (long)lseek(q, -1, SEEK_DATA), t_errname(errno));
	t_say("%d", (int)(lseek(q, -1, SEEK_HOLE) > 0));
	mq_close(q);
	mq_unlink(NAME);
	t_story("the end of struct msginfo");
	memset(info, 0xff, sizeof(info));
	t_true(msgctl(0, IPC_INFO, (struct msqid_ds *)info) >= 0);
	t_say("%d %d", info[30], info[31]);
	return t_end();
}
