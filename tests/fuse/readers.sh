#!/bin/bash
# SPDX-License-Identifier: MIT
#
# readers.sh - a hundred readers of sysvipc/* while four processes create and
# remove at full speed: every line whole, nothing missing, the workers not held
# up.
#
# How long a worker was held up is measured without the time that it ran or
# waited for a CPU (churn.c). What the workers do to each other, one of them
# being preempted with a lock, shows in the same load on a registry of its own,
# printed beside it. What the mount does to them is asserted in a second part: a
# mount that kept locks while it reads, or stood in the queue for one, would hold
# a worker up whenever it does not run; so it is stopped for a while, again and
# again, in the middle of its reading, and a worker that is alone with it must
# not notice.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"
m=$work/view
other=$work/other.view
kept=5000 seconds=4
(("${FULL:-0}")) && seconds=30
mount_view "$m"
IPCLIFT_REGISTRY=$work/other mount_view "$other"
LD_PRELOAD=$IPCLIFT_SHIM IPCLIFT_REGISTRY=$work/other "$programs/churn" 0 0 \
    $kept >/dev/null || exit 1

churn() { # churn SECONDS: its last line, with a verdict
    env LD_PRELOAD="$IPCLIFT_SHIM" "$programs/churn" "$1" 4 $kept ||
        echo "a worker failed"
}
echo "#    alone: $(churn $seconds)"
for view in "$other" "$m"; do
    "$programs/readers" $((seconds + 2)) 100 "$view/sysvipc" $kept \
        >"$work/readings" 2>"$work/faults" &
    readers=$!
    children+=($readers)
    wait_for 5 eval 'pgrep -P $readers >/dev/null'
    result=$(churn $seconds)
    wait $readers
    is "100 readers of ${view##*/}: no torn line" \
        "$?$(head -n 3 "$work/faults")" 0
    echo "#    $(<"$work/readings"); workers: $result"
    is "the workers had no error" "$(grep -c 'errors 0' <<<"$result")" 1
done

# ---- the mount stops in the middle of reading
# A stop of 100 ms in a locked section, or in a queue for one, shows as a worker
# asleep for that long, or for the 50 ms after which a sleeper looks again. Noise
# does not.
daemon=$(mounter_of "$m")
"$programs/readers" $((seconds + 9)) 100 "$m/sysvipc" $kept >"$work/readings" \
    2>"$work/faults" &
readers=$!
children+=($readers)
env LD_PRELOAD="$IPCLIFT_SHIM" "$programs/churn" $((seconds + 9)) 1 $kept \
    >"$work/result" &
worker=$!
children+=($worker)
for ((stops = 0; stops < 60; stops++)); do
    kill -STOP "$daemon"
    sleep 0.1
    kill -CONT "$daemon"
    sleep 0.01$((RANDOM % 9))
done
is "60 stops while the worker ran" "$(kill -0 $worker && echo yes)" yes
wait $worker
wait $readers
is "stopped in mid-reading: no torn line" "$?$(head -n 3 "$work/faults")" 0
echo "#    $stops stops of 100 ms; $(<"$work/readings"); a worker: $(
    <"$work/result")"
is "nobody waited for it" \
    "$(awk -F'asleep at most ' '{ print ($2 + 0 < 40000) }' "$work/result")" 1

# ---- watch cat, under load
env LD_PRELOAD="$IPCLIFT_SHIM" "$programs/churn" 3 4 $kept >"$work/result" &
worker=$!
children+=($worker)
: >"$work/watched"
for ((i = 0; i < 40; i++)); do
    cat "$m/sysvipc/sem" "$m/sysvipc/msg" "$m/locks" "$m/tasks" \
        "$m/stats" "$m/waits" "$m/events" >>"$work/watched" || bad=1
    cat "$m"/sem/[1-9]/stat 2>/dev/null | grep -vE \
        '^(key|id|perms|uid|gid|cuid|cgid|nsems|otime|ctime) +[^ ]' |
        head -n 3
    sleep 0.03
done >"$work/odd"
wait $worker
is "watch cat: every line as it must be" "$(<"$work/odd")" ""
is "and all was read" "$(grep -c '^       key      semid' "$work/watched")" 40
is "the registry is sound" "$("$ipclift" check)" "all invariants hold"
exit $bad
