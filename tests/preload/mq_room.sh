#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mq_room.sh - the registry's file system is full for a moment: a sleeping
# sender's message still comes to the next receiver, and what a cancelled
# receiver had been given is not lost.

set -u
# shellcheck source=tests/preload/room.sh
. "$(dirname "$0")/room.sh" 2m "$@"
cc -O1 -o "$work/app" "$(dirname "$0")/app_room.c" -lrt -pthread || exit 1
LD_PRELOAD=$shim "$work/app" "$small" >"$work/out" 2>&1
is "a sleeping sender" "$(sed -n 1,3p "$work/out")" "received 5 of 1
received 6 of 20000
sender: Success, left 0"
is "one of a queue of large ones" "$(sed -n 4,6p "$work/out")" "received 5 of 1
received 6 of 20000
sender: Success, left 0"
is "whole" "$("$tool" check 2>&1)" "all invariants hold"
rm -rf "${small:?}"/*
is "cancelled receivers" "$(LD_PRELOAD=$shim "$work/app" "$small" c 2>&1)" \
    "lost 0"
is "whole" "$("$tool" check 2>&1)" "all invariants hold"
exit $bad
