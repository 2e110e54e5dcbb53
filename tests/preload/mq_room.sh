#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mq_room.sh - the registry's file system is full for a moment: a sleeping
# sender's message still comes to the next receiver, and what a cancelled
# receiver had been given is not lost.

set -u
shim=${IPCLIFT_SHIM:?names no libipclift.so}
tool=${IPCLIFT_TOOL:?names no ipclift}
if [[ ${1-} != inside ]]; then
    ((EUID == 0)) || {
        echo "needs root, to mount a small file system"
        exit 77
    }
    exec unshare --ipc --mount bash "$0" inside
fi
here=$(dirname "$0")
work=$(mktemp -d) || exit 1
bin=$(mktemp -d) || exit 1
trap 'umount "$work"; rm -rf "$work" "$bin"' EXIT
mount -t tmpfs -o size=2m none "$work" || exit 1
# shellcheck source=tests/preload/checks.sh
. "$here/checks.sh"
cc -O1 -o "$bin/guest" "$here/guest_room.c" -lrt -pthread || exit 1

export IPCLIFT_REGISTRY=$work/registry
LD_PRELOAD=$shim "$bin/guest" "$work" >"$bin/out" 2>&1
is "a sleeping sender" "$(sed -n 1,3p "$bin/out")" "received 5 of 1
received 6 of 20000
sender: Success, left 0"
is "one of a queue of large ones" "$(sed -n 4,6p "$bin/out")" "received 5 of 1
received 6 of 20000
sender: Success, left 0"
is "whole" "$("$tool" check 2>&1)" "all invariants hold"
rm -rf "$work"/*
is "cancelled receivers" "$(LD_PRELOAD=$shim "$bin/guest" "$work" c 2>&1)" \
    "lost 0"
is "whole" "$("$tool" check 2>&1)" "all invariants hold"
exit $bad
