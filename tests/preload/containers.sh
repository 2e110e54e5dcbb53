#!/bin/bash
# SPDX-License-Identifier: MIT
#
# containers.sh - the recipes of doc/sandboxes.md, by unshare: two containers with
# mount, IPC and host name namespaces and a /dev/shm of their own, that share a
# process namespace and a volume in memory, are on one registry; with a process
# namespace of its own a container is refused, and doctor says so.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
tool=${IPCLIFT_TOOL:?}
unset IPCLIFT_REGISTRY
# What is started in them, whatever stands on /dev/shm.
bin=$(mktemp -d /tmp/containers.XXXXXX) || exit 1
trap 'umount "$bin/volume"; rm -rf "$bin"; scenario_cleanup' EXIT
mkdir "$bin/volume" "$bin/a" "$bin/b"
mount -t tmpfs tmpfs "$bin/volume"

# container PLACE COMMAND...: the volume is seen at PLACE
container() {
	# shellcheck disable=SC2016 # for that shell
	unshare ${own_pids:+--pid --fork} --mount --ipc --uts sh -c '
		mount --make-rprivate / && mount --bind "$0/volume" "$1" &&
			mount -t tmpfs tmpfs /dev/shm && export \
			IPCLIFT_REGISTRY="$1/registry" && shift && exec "$@"' \
		"$bin" "$@"
}
own_pids=
container "$bin/a" "$tool" run -- perl -e '$s = semget(5, 1, 01600);
	$q = msgget(5, 01600); semop($s, pack("s3", 0, -1, 0)) or die;
	msgrcv($q, $m, 9, 0, 0) or die; print unpack("l!a*", $m)' >"$dir/said" &
sleeper=$!
check "another container wakes the sleeper of the first" \
	container "$bin/b" "$tool" run -- perl -e 'for (1 .. 500) {
		$s = semget(5, 1, 0); last if defined $s and
			semctl($s, 0, 14, 0) > 0; select undef, undef, undef, 0.02 }
	semop($s, pack("s3", 0, 1, 0)) or die $!;
	msgsnd(msgget(5, 0), pack("l!a*", 1, "hello"), 0) or die $!'
wait $sleeper
if [ "$(cat "$dir/said")" = 1hello ]; then ok "who is sent a message"; else
	fail "who is sent a message" "$dir/said"; fi
own_pids=1
container "$bin/a" "$tool" run -- true 2>"$dir/why"
if [ $? = 125 ] && grep -q 'belongs to another pid namespace' "$dir/why"; then
	ok "a process namespace of its own is refused"
else
	fail "a process namespace of its own is refused" "$dir/why"
fi
container "$bin/a" "$tool" doctor --quick >"$dir/why" 2>&1
if grep -q 'another pid namespace' "$dir/why"; then ok "doctor says so"; else
	fail "doctor says so" "$dir/why"; fi
finish
