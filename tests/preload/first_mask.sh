#!/bin/bash
# SPDX-License-Identifier: MIT
#
# first_mask.sh - the registry's file under odd conditions: made by a user whose umask
# takes away the owner's rights, who must be able to use it again; and on a file system
# mounted noexec, where all works but code in a segment, which is refused with EACCES
# and not with a fault.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"

cat >"$dir/all.c" <<'END'
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

static void say(const char *what, long ret)
{
	printf("%s %s\n", what, ret < 0 ? strerror(errno) : "ok");
}

int main(int argc, char **argv)
{
	const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
	struct sembuf up = {0, 1, 0};
	struct { long type; char text[1]; } m = {1, "x"};
	int id;
	char *at;

	(void)argv;
	say("semget", id = semget(5, 1, IPC_CREAT | 0600));
	say("semop", semop(id, &up, 1));
	printf("value %d\n", semctl(id, 0, GETVAL));
	say("msgget", id = msgget(5, IPC_CREAT | 0600));
	say("msgsnd", msgsnd(id, &m, 1, 0));
	say("shmget", id = shmget(5, 4096, IPC_CREAT | 0700));
	at = shmat(id, NULL, 0);
	say("shmat", (long)at);
	printf("last %d\n", (*at)++);
	say("mq_open", mq_open("/t", O_CREAT | O_RDWR, 0600, &attr));
	say("control", open("/proc/sys/kernel/msgmax", O_RDONLY));
	if (argc > 1) {
		memcpy(at + 64, code, sizeof(code));
		say("to run", mprotect(at, 4096, 7));
		at = shmat(id, NULL, SHM_EXEC);
		say("SHM_EXEC", (long)at);
		if (at != (char *)-1)
			printf("code %d\n", ((int (*)(void))(at + 64))());
		at = shmat(id, NULL, 0);
		printf("still %d\n", *at);
	}
	return 0;
}
END
gcc -O1 -w -o "$dir/all" "$dir/all.c" -lrt || skip "no compiler"
chmod 0755 "$dir"
mkdir "$dir/his"
chmod 0777 "$dir/his"

# twice WAY...: two processes, one after the other
twice() {
	"$@" "$dir/all" && "$@" "$dir/all"
}
as_user() {
	local mask=$1

	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		bash -c "umask $mask; exec \"\$@\"" - "$@"
}

for mask in 0277 0777; do
	LD_PRELOAD=$shim IPCLIFT_REGISTRY=$dir/his/$mask \
		twice as_user $mask >"$dir/out.$mask" 2>&1
	check "umask $mask: the registry is its user's" \
		[ "$(stat -c %a "$dir/his/$mask")" = 600 ]
	unshare --ipc setpriv --reuid 65534 --regid 65534 --clear-groups \
		bash -c "umask $mask; '$dir/all' && '$dir/all'" \
		>"$dir/kernel.$mask" 2>&1
	check "umask $mask: as on the kernel" diff "$dir/kernel.$mask" \
		"$dir/out.$mask"
done

place=$dir/place
mkdir "$place"
mount -t tmpfs -o noexec none "$place" || skip "may not mount"
trap 'umount "$place"; scenario_cleanup' EXIT
unshare --ipc "$dir/all" exec >"$dir/kernel" 2>&1
check "code runs in the kernel's segment" grep -qx "code 42" "$dir/kernel"
LD_PRELOAD=$shim IPCLIFT_REGISTRY=$dir/his/exec "$dir/all" exec \
	>"$dir/exec" 2>&1
check "and in the registry's" diff "$dir/kernel" "$dir/exec"
LD_PRELOAD=$shim IPCLIFT_REGISTRY=$place/r "$dir/all" exec \
	>"$dir/noexec" 2>&1
sed -e 's/^\(to run\|SHM_EXEC\) ok/\1 Permission denied/' -e '/^code/d' \
	"$dir/kernel" >"$dir/wanted"
check "noexec: refused, and nothing else" diff "$dir/wanted" "$dir/noexec"
finish
