#!/bin/bash
# SPDX-License-Identifier: MIT
#
# queue_points.sh - build the shim with a crash point before each store to
# shared memory, and run msg_points and mq_points under it, each with a registry
# of its own, which must be whole afterwards; and both on queues with leases.
#
#	CC=gcc queue_points.sh [-q]		-q: fewer runs with two deaths

set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=${CC-cc}
tool=${IPCLIFT_TOOL-$root/build/shim/tool/ipclift}
arch=$root/shim/arch/$(uname -m)
dir=$(mktemp -d -p /dev/shm queue_points.XXXXXX)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/point.c" <<'END'
#include "base/sys.h"
static volatile long armed;
void crash_point(void)
{
	if (armed && --armed == 0)
		for (;;)
			sys_call(__NR_kill, sys_getpid(), 9);
}
__attribute__((visibility("default"))) void crash_arm(long n)
{
	armed = n;
}
END
sed 's/^\tmsgget;/\tcrash_arm;\n&/' "$root/shim/entry/exports.map" >"$dir/map"
"$cc" -O1 -g -std=gnu11 -D_GNU_SOURCE -DIPCLIFT_CRASH -I"$root/shim" \
	-I"$arch" \
	-ffreestanding -fno-stack-protector -fno-builtin -fvisibility=hidden \
	-fPIC -mcx16 -ftls-model=initial-exec -fasynchronous-unwind-tables \
	-shared -nostdlib -nodefaultlibs -Wl,--version-script="$dir/map" \
	-o "$dir/shim.so" "$dir/point.c" \
	"$root"/shim/{base,registry,registry/journal,registry/heap,registry/region,index,object,sem,msg,mq,shm,render,entry,entry/file}/*.c \
	"$arch/entry.S"
for program in msg_points mq_points; do
	"$cc" -O1 -Wall -Wextra -Wno-missing-field-initializers -o "$dir/$program" \
		"$root/tests/crash/$program.c" -lrt
done
# All at a time: they mostly wait for sleepers. What ends this script by its group
# ends them, too.
points() { # points PROGRAM WAY LEASES ARGS...
	local program=$1 registry=$dir/$1$2.registry leases=$3
	shift 3
	LD_PRELOAD=$dir/shim.so IPCLIFT_REGISTRY=$registry \
		IPCLIFT_LEASE=$leases timeout --foreground 600 \
		"$dir/$program" "$@" &&
		"$tool" check --registry "$registry"
}
declare -A said
for program in msg_points mq_points; do
	points $program "" "" "$@" >"$dir/$program.out" 2>&1 &
	said[$!]=$program.out
	points $program -leases msg,mq "$@" --leases \
		>"$dir/$program-leases.out" 2>&1 &
	said[$!]=$program-leases.out
done
status=0
for pid in "${!said[@]}"; do
	wait "$pid" || status=1
	cat "$dir/${said[$pid]}"
done
exit $status
