#!/bin/bash
# SPDX-License-Identifier: MIT
#
# core_files.sh - core files contain attached segments if bit 3 of
# /proc/PID/coredump_filter is set (README), as the kernel's do by default, and no more
# of the registry than that: they stay small. doctor reports it if core files would be
# written without them.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
read -r pattern </proc/sys/kernel/core_pattern
[[ $pattern = core* ]] || skip "core files are not written here: $pattern"
[ "$(ulimit -H -c)" = unlimited ] || ulimit -c unlimited 2>/dev/null ||
	skip "no core files: limit $(ulimit -H -c)"
program=$(helper core) || exit 1
cd "$dir" || exit 1

# cores FILTER: how many core files have it, under $preload; and one that does
# not fit 16 MB
cores() {
	# The shell says that it was aborted.
	(LD_PRELOAD=$preload "$program" "$1") 2>/dev/null
	find . -maxdepth 1 -name 'core*' ! -name '*.gcc' >found
	[ "$(wc -l <found)" = 1 ] || echo "$(wc -l <found) core files"
	xargs grep -ac 'in the segment in the segment' <found
	xargs -I{} find {} -size +16M <found
	xargs rm -f <found
}
preload=
check "kernel: by default they have it" [ "$(cores 0x33)" = 1 ]
preload=$shim
check "shim: by default they do not" [ "$(cores 0x33)" = 0 ]
check "shim: with bit 3 they have it" [ "$(cores 0x3b)" = 1 ]

# doctor LIMIT FILTER: how often it says so
doctor() {
	(
		ulimit -c "$1"
		echo "$2" >/proc/self/coredump_filter
		exec "${IPCLIFT_TOOL:?}" doctor --quick
	) >said 2>&1
	grep -c 'core files will have no attached segments' said
}
check "doctor says so" [ "$(doctor unlimited 0x33)" = 1 ]
check "not with the bit" [ "$(doctor unlimited 0x3b)" = 0 ]
check "not where none are written" [ "$(doctor 0 0x33)" = 0 ]
finish
