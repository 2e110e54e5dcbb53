#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mq_directory.sh - /dev/mqueue, looked at and changed by the system's own tools
# on the kernel's mount and under the shim: ls, stat, cat, find, rm, test,
# chmod, chown, touch, cp, stat -f, bash's patterns, python and perl, by absolute path, from
# within the directory and by its descriptor. What they print is the same,
# messages included; and under the shim the real directory stays empty.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
command -v python3 >/dev/null || skip "no python3"
export LC_ALL=C TZ=UTC0 COLUMNS=200

# A /dev with that directory, for this script alone.
dev=$(mktemp -d /tmp/app.XXXXXX) || exit 1
trap 'umount -l /dev "$dev"; rmdir "$dev"; scenario_cleanup' EXIT
mount -t tmpfs none "$dev" 2>/dev/null || skip "may not mount"
mkdir "$dev/mqueue" "$dev/shm"
for n in null zero full random urandom tty; do
	[ -e /dev/$n ] || continue
	touch "$dev/$n"
	mount --bind /dev/$n "$dev/$n" || skip "may not mount"
done
ln -s /proc/self/fd "$dev/fd"
mount --rbind /dev/shm "$dev/shm"
mount --rbind "$dev" /dev || skip "may not mount"

chmod 0755 "$dir"
world() {
	if [ "$pass" = shim ]; then
		IPCLIFT_LIMITS=kernel LD_PRELOAD=$shim "$@"
	else
		"$@"
	fi
}

cat >"$dir/make.py" <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
class Attr(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_long), ("maxmsg", ctypes.c_long),
                ("msgsize", ctypes.c_long), ("cur", ctypes.c_long),
                ("r", ctypes.c_long * 4)]
for name, mode in ((b"/first", 0o600), (b"/second", 0o644), (b"/third", 0o666),
                   (b"/last one", 0o620)):
    a = Attr(0, 4, 64, 0)
    q = libc.mq_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode,
                     ctypes.byref(a))
    assert q >= 0, ctypes.get_errno()
    libc.mq_send(q, b"hello", 5, 0)
    libc.mq_close(q)
END
cat >"$dir/look.py" <<'END'
import os, stat, errno
D = "/dev/mqueue"
def t(what, f):
    try:
        r = f()
    except OSError as e:
        r = errno.errorcode[e.errno]
    print(what, r)
t("listdir", lambda: os.listdir(D))
t("scandir", lambda: [(e.name, e.is_file(), oct(e.stat().st_mode),
    e.inode() == e.stat().st_ino) for e in os.scandir(D)])
fd = os.open(D, os.O_RDONLY | os.O_DIRECTORY)
t("by descriptor", lambda: os.listdir(fd))
t("stat at", lambda: os.stat("first", dir_fd=fd).st_size)
t("open at", lambda: os.read(os.open("first", os.O_RDONLY, dir_fd=fd), 16))
t("read it", lambda: os.read(fd, 10))
s = os.stat(D)
t("the directory", lambda: (oct(s.st_mode), s.st_uid, s.st_size,
    os.fstat(fd).st_ino == s.st_ino, os.fstat(fd).st_dev == s.st_dev,
    os.stat(D + "/second").st_dev == s.st_dev))
q = os.open(D + "/second", os.O_RDWR)
t("same file", lambda: os.path.samestat(os.fstat(q), os.stat(D + "/second")))
t("write", lambda: os.write(q, b"x"))
t("missing", lambda: os.stat(D + "/none"))
t("open missing", lambda: os.open(D + "/none", os.O_RDONLY))
t("as directory", lambda: os.stat(D + "/first/"))
t("beneath", lambda: os.open(D + "/first", os.O_RDONLY | os.O_DIRECTORY))
t("list a queue", lambda: os.listdir(D + "/first"))
t("exclusive", lambda: os.open(D + "/first", os.O_CREAT | os.O_EXCL))
t("for writing", lambda: os.open(D, os.O_RDWR))
t("rmdir", lambda: os.rmdir(D))
t("unlink it", lambda: os.unlink(D))
t("rmdir a queue", lambda: os.rmdir(D + "/first"))
t("access", lambda: [os.access(D + "/first", m) for m in (0, 4, 2, 1)])
t("access at", lambda: os.access("first", os.F_OK, dir_fd=fd))
t("long", lambda: os.stat(D + "/" + "x" * 256))
t("dots", lambda: (os.path.exists(D + "/./first"), os.path.exists(D + "//first"),
    os.path.exists(D + "/../null")))
def times(p, *a, **k):
    os.utime(p, *a, **k)
    s = os.stat(p)
    return s.st_atime, s.st_mtime
t("times", lambda: times(D + "/third", (7, 8)))
t("times at", lambda: os.utime("third", (9.5, -2.5), dir_fd=fd))
t("were", lambda: times(D + "/third", ns=(3, 2**61)))
t("times of a descriptor", lambda: times(q, (11, 12)))
t("times, missing", lambda: times(D + "/none", (7, 8)))
t("made as directory", lambda: os.open(D + "/first/", os.O_CREAT | os.O_RDWR))
t("missing as directory", lambda: os.open(D + "/no/", os.O_CREAT | os.O_RDWR))
t("now", lambda: len(times(D + "/third")))
t("chown at", lambda: (os.chown("third", 5, -1, dir_fd=fd),
    os.stat(D + "/third").st_uid, os.chown(D + "/third", 0, 0)))
n = os.open(D + "/made", os.O_RDWR | os.O_CREAT, 0o640)
t("made", lambda: (oct(os.stat(D + "/made").st_mode), os.fstat(n).st_size,
    os.get_inheritable(n)))
t("chmod", lambda: (os.chmod(D + "/made", 0o604),
    oct(os.stat(D + "/made").st_mode)))
t("chown", lambda: (os.chown(D + "/made", 3, 4), os.stat(D + "/made").st_uid,
    os.stat(D + "/made").st_gid))
t("file", lambda: open(D + "/first").read())
t("file missing", lambda: open(D + "/none").read())
t("unlink at", lambda: os.unlink("made", dir_fd=fd))
t("unlinked", lambda: (os.fstat(n).st_nlink, os.path.exists(D + "/made")))
os.chdir(D)
t("here", lambda: (os.listdir("."), os.stat("first").st_size,
    os.path.exists("null")))
t("relative", lambda: os.read(os.open("first", os.O_RDONLY), 10))
t("relative made", lambda: os.close(os.open("rel", os.O_CREAT | os.O_RDWR)))
t("relative unlink", lambda: (os.unlink("rel"), os.path.exists(D + "/rel")))
t("relative with a dot", lambda: os.read(os.open("./first", os.O_RDONLY), 10))
os.chdir("/dev")
t("elsewhere", lambda: (os.path.exists("first"), os.path.exists("null")))
END

# What lsipc -Q, ipcrm -Q of util-linux 2.41 do, which Debian 12 does not have.
cat >"$dir/lsipc.c" <<'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char path[300], line[100];
	struct mq_attr a;
	struct dirent *e;
	struct stat st;
	DIR *d;
	FILE *f;
	mqd_t q;
	int n;

	if (access("/dev/mqueue", F_OK))
		return 1;
	d = opendir("/dev/mqueue");
	while ((e = readdir(d))) {
		if (fstatat(dirfd(d), e->d_name, &st, 0) ||
			!S_ISREG(st.st_mode) || e->d_ino != st.st_ino)
			continue;
		snprintf(path, sizeof(path), "/%s", e->d_name);
		q = mq_open(path, O_RDONLY);
		mq_getattr(q, &a);
		mq_close(q);
		printf("%s %o %d %ld/%ld of %ld\n", path, st.st_mode, st.st_uid,
			a.mq_curmsgs, a.mq_maxmsg, a.mq_msgsize);
		snprintf(path, sizeof(path), "/dev/mqueue/%s", e->d_name);
		f = fopen(path, "r");
		fgets(line, sizeof(line), f);
		fputs(line, stdout);
		fclose(f);
	}
	rewinddir(d);
	for (n = 0; (e = readdir(d)); n++)
		if (n == 2)
			printf("at 2 %s\n", e->d_name);
	closedir(d);
	printf("%d entries\n", n);
	f = fopen("/dev/mqueue/by fopen", "w");
	fprintf(f, "text");
	errno = 0;
	n = fflush(f);
	printf("written %d %s\n", n, strerror(errno));
	fclose(f);
	printf("%d %d\n", lstat("/dev/mqueue/by fopen", &st),
		unlink("/dev/mqueue/by fopen"));
	n = open("/dev/mqueue/bad", O_CREAT | O_RDWR, 0600);
	printf("fd %d %s\n", n >= 0, mq_send(n, "x", 1, 0) ? "no" : "sent");
	printf("%d\n", remove("/dev/mqueue/bad"));
	errno = 0;
	n = open((char *)-1, O_CREAT | O_RDWR, 0600);
	printf("%d %s\n", n, strerror(errno));
	errno = 0;
	n = unlink((char *)8);
	printf("%d %s\n", n, strerror(errno));
	return 0;
}
END
gcc -w -o "$dir/lsipc" "$dir/lsipc.c" -lrt || skip "no compiler"
cp "$dir/lsipc" "$dir/lsipc.musl"
if command -v musl-gcc >/dev/null; then
	musl-gcc -w -o "$dir/lsipc.musl" "$dir/lsipc.c" || skip "no musl-gcc"
fi

# steps: what is run, in order, in both worlds
steps() {
	say() {
		echo "-- $*"
	}
	world python3 "$dir/make.py" || echo "make: $?"
	[ "$pass" = kernel ] || chmod 0666 "$IPCLIFT_REGISTRY"
	say ls
	world ls /dev/mqueue
	world ls -U /dev/mqueue
	world ls -l /dev/mqueue | sed 's/[A-Z][a-z][a-z] .[0-9] [0-9][0-9]:[0-9][0-9]/WHEN/'
	world ls -ld /dev/mqueue | sed 's/[A-Z][a-z][a-z] .[0-9] [0-9][0-9]:[0-9][0-9]/WHEN/'
	world ls /dev
	world ls /dev/mqueue/first /dev/mqueue/none 2>&1
	say stat
	world bash -c "stat -c '%n %A %a %u %g %s %h %F %b %o' /dev/mqueue /dev/mqueue/*" 2>&1
	world bash -c 'stat -c "%n %A" /dev/mqueue/*; echo /dev/mqueue/*; [ -e /dev/mqueue/first ] && echo there; [ -x /dev/mqueue/first ] || echo not to run; [ -d /dev/mqueue ] && echo a directory'
	say cat
	world cat /dev/mqueue/first /dev/mqueue/none 2>&1
	world head -c 10 "/dev/mqueue/last one"
	world bash -c 'read -r line </dev/mqueue/second; echo "$line"'
	world cp /dev/mqueue/first "$dir/copy" && od -c "$dir/copy" | head -3
	world grep -c QSIZE /dev/mqueue/first
	world python3 -c 'print(open("/dev/mqueue/third").read())'
	say find
	world find /dev/mqueue 2>&1
	world find /dev/mqueue -name 'f*' -type f -printf '%f %m %s\n' 2>&1
	world du -a /dev/mqueue 2>&1
	say within
	world bash -c 'cd /dev/mqueue && ls && ls -l | wc -l && cat first && echo * && touch new && ls && rm new' 2>&1
	say python
	world python3 "$dir/look.py" 2>&1
	say lsipc
	world "$dir/lsipc"
	world "$dir/lsipc.musl"
	say perl
	world perl -e 'opendir(D, "/dev/mqueue"); print join(" ", readdir D), "\n"; rewinddir D; print scalar(readdir D), "\n"; closedir D; print -s "/dev/mqueue/first", "\n"; open(F, "<", "/dev/mqueue/first"); print <F>; print unlink("/dev/mqueue/first", "/dev/mqueue/none"), "\n"; print -e "/dev/mqueue/first" ? "there" : "gone", "\n"'
	say change
	world chmod 600 /dev/mqueue/third
	world touch /dev/mqueue/touched
	world stat -c '%n %a %s' /dev/mqueue/third /dev/mqueue/touched
	world touch -d @1000 /dev/mqueue/touched
	world touch -a -d @-5 /dev/mqueue/touched
	world touch -c /dev/mqueue/none
	world stat -c '%X %Y' /dev/mqueue/touched /dev/mqueue/none 2>&1
	world cp -p /dev/mqueue/touched "$dir/copy" && stat -c %Y "$dir/copy"
	world chown 1:2 /dev/mqueue/touched
	world chgrp 3 /dev/mqueue/touched /dev/mqueue/none 2>&1
	world stat -c '%u %g' /dev/mqueue/touched
	world chmod 1777 /dev/mqueue && world stat -c %a /dev/mqueue
	world setpriv --reuid 65534 --regid 65534 --clear-groups touch -d @5 /dev/mqueue/third 2>&1
	world setpriv --reuid 65534 --regid 65534 --clear-groups chmod 1777 /dev/mqueue 2>&1
	world stat -f -c '%T %t %s %l %b %c' /dev/mqueue /dev/mqueue/third /dev/mqueue/none 2>&1
	world tail -n 1 /dev/mqueue/third
	world bash -c 'cd /dev/mqueue && cat ./third && touch -d @9 ./third && stat -c %Y third && find . -name third -exec cat {} \;'
	world setpriv --reuid 65534 --regid 65534 --clear-groups cat /dev/mqueue/third 2>&1
	world setpriv --reuid 65534 --regid 65534 --clear-groups rm -f /dev/mqueue/third 2>&1
	world rm /dev/mqueue/none 2>&1
	world rm /dev/mqueue/touched && world ls /dev/mqueue
	world rmdir /dev/mqueue 2>&1
	world find /dev/mqueue -name second -delete 2>&1
	world dd if=/dev/null of=/dev/mqueue/second status=none
	world bash -c 'rm -f /dev/mqueue/*'
	world ls -a /dev/mqueue
	world ls -ld /dev/mqueue | cut -d' ' -f1-5
}

pass=shim
steps >"$dir/shim.out"
check "the real directory stayed as it was" [ -z "$(ls -A /dev/mqueue)" ]
mount -t mqueue none /dev/mqueue || skip "no mqueue mount"
pass=kernel
steps >"$dir/kernel.out"
check "the same on both" diff -u "$dir/kernel.out" "$dir/shim.out"
finish
