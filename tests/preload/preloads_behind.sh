#!/bin/bash
# SPDX-License-Identifier: MIT
#
# preloads_behind.sh - another preload library that stands behind the shim sees
# the calls that the shim has a name for and nothing to say of: one that counts
# them, and fakeroot by TCP, which must not lose who owns what.

. "$(dirname "$0")/scenario.sh"

cat >"$dir/count.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/syscall.h>

extern long syscall(long, ...);

#define EACH(X) X(close) X(dup) X(dup2) X(dup3) X(fstat) X(fchmod) X(fchown) \
	X(lseek) X(ftruncate) X(ioctl) X(mmap) X(munmap) X(mprotect) X(madvise) \
	X(mlock) X(munlock) X(epoll_ctl) X(stat) X(lstat) X(fstatat) X(statx) \
	X(chmod) X(fchmodat) X(chown) X(lchown) X(fchownat) X(unlink) \
	X(unlinkat) X(rmdir) X(remove) X(readlink) X(readlinkat) X(chdir) \
	X(fchdir) X(getxattr) X(lgetxattr) X(opendir) X(readdir) X(closedir) \
	X(futimens) X(open) X(read) X(write) X(poll) X(recvmsg) X(sendmsg) \
	X(access) X(fcntl)
enum {
#define NUMBER(name) N_##name,
	EACH(NUMBER) N
};
static const char *const names[] = {
#define NAME(name) #name,
	EACH(NAME)
};
static int counts[N];
static void *next[N];

/* Six arguments in registers are enough for all of them. */
#define COUNT(name)                                                            \
	long as_##name(long, long, long, long, long, long) __asm__(#name);     \
	long as_##name(long a, long b, long c, long d, long e, long f)         \
	{                                                                      \
		if (!next[N_##name])                                           \
			next[N_##name] = dlsym(RTLD_NEXT, #name);              \
		__atomic_add_fetch(&counts[N_##name], 1, __ATOMIC_RELAXED);    \
		return ((long (*)(long, long, long, long, long, long))         \
			next[N_##name])(a, b, c, d, e, f);                     \
	}
EACH(COUNT)

void count_reset(void)
{
	for (int i = 0; i < N; i++)
		counts[i] = 0;
}

void count_say(void)
{
	char text[4096];
	int n = 0;

	for (int i = 0; i < N; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s %d\n",
			names[i], counts[i]);
	syscall(SYS_write, 1, text, n);
}
END
cat >"$dir/calls.c" <<'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <mqueue.h>

extern void count_reset(void), count_say(void);

int main(int argc, char **argv)
{
	char b[64] = "x";
	struct iovec iov = {b, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct epoll_event ev = {EPOLLIN, {0}};
	struct stat st;
	struct statx sx;
	struct pollfd p;
	int fd, pair[2], ep, n;
	void *at;
	DIR *d;

	chdir(argv[1]);
	/* Also in a process that has a queue. */
	if (argc > 2) {
		struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = 8};

		mq_close(mq_open("/t", O_CREAT | O_RDWR, 0600, &a));
		mq_unlink("/t");
	}
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	ep = epoll_create1(0);
	count_reset();
	fd = open("f", O_CREAT | O_RDWR, 0600);
	write(fd, b, 1);
	lseek(fd, 0, SEEK_SET);
	read(fd, b, 1);
	fstat(fd, &st);
	fchmod(fd, 0644);
	fchown(fd, -1, -1);
	ftruncate(fd, 8192);
	futimens(fd, NULL);
	ioctl(fd, FIONREAD, &n);
	fcntl(fd, F_GETFL);
	close(dup(fd));
	dup2(fd, 100);
	dup3(fd, 101, 0);
	at = mmap(NULL, 8192, 3, MAP_SHARED, fd, 0);
	mprotect(at, 4096, 1);
	madvise(at, 4096, MADV_NORMAL);
	mlock(at, 4096);
	munlock(at, 4096);
	munmap(at, 8192);
	stat("f", &st);
	lstat("f", &st);
	fstatat(AT_FDCWD, "f", &st, 0);
	statx(AT_FDCWD, "f", 0, STATX_BASIC_STATS, &sx);
	access("f", R_OK);
	chmod("f", 0600);
	fchmodat(AT_FDCWD, "f", 0600, 0);
	chown("f", -1, -1);
	lchown("f", -1, -1);
	fchownat(AT_FDCWD, "f", -1, -1, 0);
	getxattr("f", "user.a", b, 9);
	lgetxattr("f", "user.a", b, 9);
	readlink("f", b, 9);
	readlinkat(AT_FDCWD, "f", b, 9);
	epoll_ctl(ep, EPOLL_CTL_ADD, pair[0], &ev);
	p = (struct pollfd){pair[0], POLLIN, 0};
	poll(&p, 1, 0);
	sendmsg(pair[0], &m, 0);
	recvmsg(pair[1], &m, 0);
	d = opendir(".");
	readdir(d);
	closedir(d);
	chdir(".");
	fchdir(fd);
	unlink("f");
	unlinkat(AT_FDCWD, "f", 0);
	rmdir("f");
	remove("f");
	count_say();
	return 0;
}
END
gcc -O2 -w -shared -fPIC -fno-builtin -o "$dir/libcount.so" "$dir/count.c" -ldl ||
	skip "no compiler"
gcc -O2 -w -o "$dir/calls" "$dir/calls.c" -L"$dir" -lcount -Wl,-rpath,"$dir" \
	-lrt || skip "no compiler"
mkdir "$dir/d"

LD_PRELOAD=$dir/libcount.so "$dir/calls" "$dir/d" >"$dir/alone"
check "each is counted alone" [ "$(grep -vc ' 0$' "$dir/alone")" = "$(wc -l <"$dir/alone")" ]
LD_PRELOAD=$shim:$dir/libcount.so "$dir/calls" "$dir/d" >"$dir/behind"
check "and behind the shim" diff "$dir/alone" "$dir/behind"
LD_PRELOAD=$shim:$dir/libcount.so "$dir/calls" "$dir/d" queue >"$dir/behind"
check "and in a process with a queue" diff "$dir/alone" "$dir/behind"
LD_PRELOAD=$dir/libcount.so:$shim "$dir/calls" "$dir/d" >"$dir/before"
check "and before it" diff "$dir/alone" "$dir/before"

# Who owns a file stands in fakeroot's daemon alone.
if command -v fakeroot-tcp >/dev/null && command -v python3 >/dev/null &&
	[ "$(id -u)" = 0 ]; then
	cat >"$dir/own.py" <<-'END'
	import os, sys
	fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
	os.fchown(fd, 56, 78)
	os.fchmod(fd, 0o640)
	s = os.fstat(fd)
	print(s.st_uid, s.st_gid, oct(s.st_mode))
	os.chown(sys.argv[1], 57, 79)
	for s in os.fstat(fd), os.stat(sys.argv[1]), os.lstat(sys.argv[1]):
	    print(s.st_uid, s.st_gid)
	os.unlink(sys.argv[1])
	END
	chmod -R a+rX "$dir"
	chmod 0777 "$dir/d"
	cat >"$dir/under" <<-'END'
	for fake in ${LD_PRELOAD//:/ }; do
		case $fake in *fakeroot*) break ;; esac
	done
	case $1 in
	alone) list=$fake ;;
	behind) list=$2:$fake ;;
	esac
	IPCLIFT_REGISTRY=$3/d/registry LD_PRELOAD=$list python3 "$3/own.py" "$3/d/owned"
	END
	for order in alone behind; do
		setpriv --reuid 65534 --regid 65534 --clear-groups timeout 20 \
			fakeroot-tcp bash "$dir/under" $order "$shim" "$dir" \
			>"$dir/own.$order" 2>&1
	done
	check "fakeroot-tcp knows the owner" grep -qx '56 78 0o100640' \
		"$dir/own.alone"
	check "and behind the shim" diff "$dir/own.alone" "$dir/own.behind"
else
	echo "skip: no fakeroot-tcp, or not root"
fi
finish
