#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_check_cost.sh - `ipclift check` asks the kernel which parts of the file are
# there a page at a time, not an object at a time: where there are holes shows by
# going through all pages up to the next one, so that 30,000 objects of a kind
# took eight seconds.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
shim=${IPCLIFT_SHIM:?names no libipclift.so}
[[ -x $(command -v strace) ]] || { echo "no strace" && exit 77; }

n=3000
LD_PRELOAD=$shim perl -e '
	for (1 .. $ARGV[0]) {
		semget($_, 1, 01600) // die;
		msgsnd(msgget($_, 01600) // die, pack("l! a8", 1, "x"), 0) or die;
		shmget($_, 100, 01600) // die;
	}' $n || exit 1
strace -f -o "$work/calls" -e trace=lseek,madvise "$ipclift" check >"$work/out"
is "check" "$(cat "$work/out")" "all invariants hold"
calls=$(grep -c 'lseek\|madvise' "$work/calls")
is "fewer system calls than objects and messages ($calls)" "$((calls < 4 * n))" 1
exit $bad
