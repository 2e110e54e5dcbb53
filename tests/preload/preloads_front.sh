#!/bin/bash
# SPDX-License-Identifier: MIT
#
# preloads_front.sh - a preload library in front of the shim, where `ipclift run`
# leaves it, that wraps functions which the shim has, too, and finds the next ones
# by libc's own handle: so do socket_wrapper and uid_wrapper (cwrap.org). Programs
# of tests/preload say what they say without it.
#
# The bug: it was given libc's functions, so that read() of a queue's descriptor
# and calls by number passed the shim by.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
cat >"$dir/wrap.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#define EACH(X) X(close) X(dup) X(dup2) X(read) X(readv) X(write) X(writev) \
	X(fcntl) X(ioctl) X(open) X(fopen) X(sendmsg) X(recvmsg) X(setresuid) \
	X(setresgid) X(syscall)
enum {
#define NUMBER(name) N_##name,
	EACH(NUMBER) N
};
static void *next[N];
static unsigned long calls;

/* As many arguments as syscall has. */
#define WRAP(name)                                                             \
	long as_##name(long, long, long, long, long, long, long)               \
		__asm__(#name);                                                \
	long as_##name(long a, long b, long c, long d, long e, long f, long g) \
	{                                                                      \
		calls++;                                                       \
		if (!next[N_##name])                                           \
			next[N_##name] = dlsym(                                \
				dlopen("libc.so.6", RTLD_LAZY), #name);        \
		return ((long (*)(long, long, long, long, long, long, long))   \
			next[N_##name])(a, b, c, d, e, f, g);                  \
	}
EACH(WRAP)

/* Was it called at all? */
__attribute__((destructor)) static void end(void)
{
	if (!calls)
		abort();
}
END
gcc -O2 -w -shared -fPIC -fno-builtin -o "$dir/libwrap.so" "$dir/wrap.c" -ldl ||
	skip "no compiler"

# told LIST PROGRAM
told() {
	new_registry
	timeout 60 env LD_PRELOAD="$1" "$2" 2>&1
	echo "exit status $?"
}
for name in mq_file mq_arrives mq_calls sem_perm sem_syscall shm_app; do
	program=$(helper $name) || exit 1
	told "$shim" "$program" >"$dir/alone"
	told "$dir/libwrap.so:$shim" "$program" >"$dir/wrapped"
	check "$name: as without it" diff "$dir/alone" "$dir/wrapped"
	told "$shim:$dir/libwrap.so" "$program" >"$dir/wrapped"
	check "$name: nor behind" diff "$dir/alone" "$dir/wrapped"
done
finish
