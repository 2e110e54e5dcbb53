#!/bin/bash
# SPDX-License-Identifier: MIT
#
# scenario.sh - what the scenario scripts of this directory share; sourced.
#
# A script is run as `SCRIPT`, with IPCLIFT_SHIM naming libipclift.so. It exits
# 0 if all its checks passed, 1 with a line "FAIL ..." for each that did not,
# 77 with a reason if it cannot run here. Everything it makes is in $dir, in
# memory, and goes when it ends.

set -u
: "${IPCLIFT_SHIM:?names no libipclift.so}"
[ -r "$IPCLIFT_SHIM" ] || { echo "FAIL cannot read $IPCLIFT_SHIM"; exit 1; }
shim=$(realpath "$IPCLIFT_SHIM")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d -p /dev/shm app.XXXXXX 2>/dev/null || mktemp -d) || exit 1
export IPCLIFT_REGISTRY=$dir/registry
unset LD_PRELOAD IPCLIFT_ROUTE IPCLIFT_LIMITS IPCLIFT_IDS
failed=0

public=
scenario_cleanup() {
	rm -rf "$dir" ${public:+"$public"}
}
trap scenario_cleanup EXIT
# Other users start programs under it too, wherever the tree stands: /root is
# closed to them, and /dev/shm may be noexec.
if [ "$(id -u)" = 0 ] && ! setpriv --reuid 65534 --regid 65534 --clear-groups \
	test -r "$shim"; then
	public=$(mktemp -d /tmp/app.XXXXXX) || exit 1
	chmod 0755 "$public"
	cp "$shim" "$public/"
	shim=$public/$(basename "$shim")
fi
trap 'exit 130' INT TERM HUP

ok() {
	echo "ok   $*"
}
# fail TEXT [FILE...]: the files say more
fail() {
	echo "FAIL $1"
	[ $# -lt 2 ] || head -n 30 "${@:2}"
	failed=1
}
skip() {
	echo "skip: $*"
	exit 77
}
finish() {
	exit $failed
}
# check TEXT COMMAND...: it must succeed; what it says is shown if not
check() {
	local text=$1

	shift
	if "$@" >"$dir/check.out" 2>&1; then
		ok "$text"
	else
		fail "$text (exit status $?)" "$dir/check.out"
	fi
}

# shimmed COMMAND...: run it under the shim
shimmed() {
	LD_PRELOAD=$shim "$@"
}
# new_registry: forget the present one
new_registry() {
	rm -f "$IPCLIFT_REGISTRY"
}

# others_command: the command and its library where every user reaches them, as
# $ipclift. Registries by name are in /dev/shm: a script that makes one mounts
# one of its own before it sources this file.
others_command() {
	if [ -z "$public" ]; then
		public=$(mktemp -d /tmp/app.XXXXXX) || exit 1
		chmod 0755 "$public"
	fi
	mkdir -p "$public/shim/tool"
	cp "$IPCLIFT_SHIM" "$public/shim/"
	cp "${IPCLIFT_TOOL:?}" "$public/shim/tool/"
	ipclift=$public/shim/tool/ipclift
}

# helper NAME [COMPILER [FLAG...]]: build app_NAME.c (or NAME.c) into
# $dir/NAME[.COMPILER] and say its path
helper() {
	local name=$1 cc=${2:-gcc} out src

	shift
	[ $# = 0 ] || shift
	out=$dir/$name.$cc
	src=$here/app_$name.c
	[ -r "$src" ] || src=$here/$name.c
	if [ ! -x "$out" ]; then
		"$cc" -O1 -g -Wall -D_GNU_SOURCE -o "$out" "$src" "$@" \
			-pthread >&2 || return 1
	fi
	echo "$out"
}

# The kernel's own sets, queues and segments, counted.
kernel_objects() {
	tail -q -n +2 /proc/sysvipc/sem /proc/sysvipc/msg /proc/sysvipc/shm |
		wc -l
}

# Whether the kernel still has no object and, in this namespace, never had one:
# the first set of a namespace gets id 0.
kernel_untouched() {
	local id

	[ "$(kernel_objects)" = 0 ] || { echo "objects in the kernel"; return 1; }
	ipcmk -S 1 >/dev/null || return 1
	id=$(tail -n +2 /proc/sysvipc/sem | awk '{ print $2 }')
	ipcrm -s "$id"
	[ "$id" = 0 ] || { echo "some set was made in the kernel"; return 1; }
}

# Begin the script again in IPC and mount namespaces of its own, so that nothing
# it sees there is somebody else's.
own_ipc_namespace() {
	[ "${SCENARIO_INSIDE-}" ] && return
	unshare --ipc --mount true 2>/dev/null || skip "unshare needs root"
	scenario_cleanup
	SCENARIO_INSIDE=1 exec unshare --ipc --mount "$BASH" "$0" "$@"
}

# For what is run as root and as another user: the array `users`, and $dir/other,
# where both may write. Not root oneself: as root only, which one then is not.
root_and_nobody() {
	mkdir -m 0777 "$dir/other"
	chmod 0755 "$dir"
	users=(root)
	[ "$(id -u)" != 0 ] || users+=(nobody)
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
}
# Whether a registry has nothing left in it that ipcs shows, and is whole.
left_clean() { # USER REGISTRY
	as "$1" env "LD_PRELOAD=$shim" "IPCLIFT_REGISTRY=$2" ipcs >"$dir/ipcs" &&
		! grep '^0x' "$dir/ipcs" &&
		as "$1" env "IPCLIFT_REGISTRY=$2" "$dir/ipclift" check
}
as() { # USER COMMAND...
	local user=$1

	shift
	if [ "$user" = root ]; then
		"$@"
	else
		"${nobody[@]}" "$@"
	fi
}
