#!/bin/bash
# SPDX-License-Identifier: MIT
#
# pair.sh - run one test program on the kernel, then under the shim.
#
#   pair.sh [--kernel-only] PROGRAM [ARGS]
#
# IPCLIFT_SHIM names libipclift.so, PAIR_LIMIT how many seconds a run may take
# (60). Each run has an IPC namespace of its own; the second also a registry of
# its own. Both must exit alike and print the same bytes, and the first must
# exit 0. One line tells: "ok NAME", or "FAIL NAME" and what differs.
#
# That the second run left the kernel alone is seen in two ways: its
# /proc/sysvipc/{sem,msg} are empty afterwards, and a set and a queue made there
# then get id 0, which only the first of a namespace ever does.

set -u

kernel_only=
if [ "${1-}" = --kernel-only ]; then
	kernel_only=1
	shift
fi
if [ $# -lt 1 ]; then
	echo "usage: pair.sh [--kernel-only] PROGRAM [ARGS]" >&2
	exit 2
fi
program=$1
shift
case $program in
*/*) ;;
*) program=./$program ;;
esac
name=$(basename "$program")${*:+ $*}

# A registry belongs in memory; anywhere else will do.
dir=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" pair.XXXXXX 2>/dev/null ||
	mktemp -d) || exit 2
# A program that gives up its privileges must still find the registry there.
chmod 0711 "$dir"
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP

fail() {
	echo "FAIL $name: $1"
	[ $# -lt 2 ] || cat "${@:2}"
	exit 1
}

limit=${PAIR_LIMIT:-60}

env -u LD_PRELOAD timeout $limit unshare --ipc --mount \
	"$program" "$@" >"$dir/kernel.out" 2>"$dir/kernel.err" </dev/null
status=$?
[ $status = 0 ] || fail "exit status $status on the kernel" \
	"$dir/kernel.out" "$dir/kernel.err"
if [ -n "$kernel_only" ]; then
	echo "ok $name"
	exit 0
fi

: "${IPCLIFT_SHIM:?names no libipclift.so}"
[ -r "$IPCLIFT_SHIM" ] || fail "cannot read $IPCLIFT_SHIM"
shim=$(realpath "$IPCLIFT_SHIM")

# The shell within the namespace is not preloaded; only the program is.
# shellcheck disable=SC2016
env -u LD_PRELOAD unshare --ipc --mount bash -c '
	dir=$1 limit=$2 shim=$3
	shift 3
	timeout $limit env LD_PRELOAD="$shim" \
		IPCLIFT_REGISTRY="$dir/registry" IPCLIFT_LIMITS=kernel "$@" \
		>"$dir/shim.out" 2>"$dir/shim.err" </dev/null
	status=$?
	tail -q -n +2 /proc/sysvipc/sem /proc/sysvipc/msg /proc/sysvipc/shm \
		>"$dir/left"
	ipcmk -S 1 >/dev/null
	tail -n +2 /proc/sysvipc/sem | tail -n 1 >"$dir/probe"
	ipcmk -Q >/dev/null
	tail -n +2 /proc/sysvipc/msg | tail -n 1 >"$dir/probe_msg"
	exit $status
' pair "$dir" $limit "$shim" "$program" "$@"
status=$?

if ! cmp -s "$dir/kernel.out" "$dir/shim.out"; then
	diff -u --label kernel --label shim "$dir/kernel.out" \
		"$dir/shim.out" >"$dir/diff"
	fail "other output, exit status $status" "$dir/diff" "$dir/shim.err"
fi
[ $status = 0 ] || fail "exit status $status under the shim" "$dir/shim.err"
[ ! -s "$dir/left" ] || fail "left in the kernel:" "$dir/left"
read -r _ id _ <"$dir/probe"
[ "${id-}" = 0 ] || fail "some set was made in the kernel (next id ${id-none})"
read -r _ id _ <"$dir/probe_msg"
[ "${id-}" = 0 ] || fail "some queue was made in the kernel (next id ${id-none})"
echo "ok $name"
