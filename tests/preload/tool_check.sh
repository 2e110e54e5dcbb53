#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_check.sh - `ipclift check` on a registry whose processes are killed meanwhile:
# nothing that is under way is ever reported as a fault; and damage done meanwhile is
# found.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
shim=${IPCLIFT_SHIM:?names no libipclift.so}
race=${IPCLIFT_TESTS:?names no tests}/race
storm=
# shellcheck disable=SC2329 # called by trap
at_end() {
    [[ -z $storm ]] || kill -KILL "$storm" 2>/dev/null
}
bad=0
[[ -x $race/msg_storm ]] || { echo "no storms are built" && exit 77; }

# look_at NAME PROGRAM ARGS: checks until the storm ends
look_at() {
    local name=$1 looks=0
    shift
    export IPCLIFT_REGISTRY=$work/$name
    LD_PRELOAD=$shim "$race/$name" "$@" >"$work/storm" 2>&1 &
    storm=$!
    while [[ ! -s $IPCLIFT_REGISTRY ]] && kill -0 $storm 2>/dev/null; do
        sleep 0.01
    done
    while kill -0 $storm 2>/dev/null; do
        if ! "$ipclift" check >"$work/out" 2>"$work/err" &&
            ! grep -q 'is being made' "$work/err"; then
            echo "FAIL $name: look $looks"
            head -n 12 "$work/out" "$work/err"
            bad=1
            kill -KILL $storm
        fi
        looks=$((looks + 1))
    done
    wait $storm
    storm=
    if ((looks < 1)); then
        echo "FAIL $name: ended before it was looked at"
        bad=1
    fi
    if [[ $("$ipclift" check) != "all invariants hold" ]]; then
        echo "FAIL $name: not whole at the end"
        bad=1
    fi
    echo "ok   $name: $looks looks"
}

look_at msg_storm --kills 300
look_at mq_storm --kills 1000
look_at shm_storm --kills 1500
look_at sem_lock_storm --kills 150

# ---- damage: the ident of the first segment's slot (layout.h) is wiped
LD_PRELOAD=$shim perl -e 'shmget(5, 100, 01600) // die;
    $SIG{TERM} = sub { exit }; my $q = msgget(7, 01600);
    while (1) { msgsnd($q, pack("l! a9", 1, ""), 0); msgrcv($q, my $m, 9, 0, 0) }' &
storm=$!
while ! "$ipclift" ls shm 2>/dev/null | grep -q 0x00000005; do
    sleep 0.01
done
"$ipclift" check >"$work/out" || { echo "FAIL sound" && bad=1; }
slot=$(((1 << 30) + (16 << 20) * (192 + 128) + 64))
dd if=/dev/zero of="$IPCLIFT_REGISTRY" bs=1 seek=$slot count=8 conv=notrunc \
    status=none
if "$ipclift" check >"$work/out"; then
    echo "FAIL damage beside a busy program is not found"
    bad=1
fi
kill -TERM $storm
wait $storm
storm=
grep -q "^ *2  *0 .*idx, bit" "$work/out" || {
    echo "FAIL the bitmap is not named" && cat "$work/out"
    bad=1
}
exit $bad
