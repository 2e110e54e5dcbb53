#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cut_short.sh - the registry is truncated under the mount: ESTALE, not the
# daemon's end; and a lock that a stopped process keeps refuses requests after a
# second, without stopping those for other objects.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"

# ---- a lock that is kept
m=$work/view
shim perl -e 'use IPC::SysV qw(:all); msgget($_, 0600 | IPC_CREAT) for 1 .. 2'
mount_view "$m"
# Taken by somebody who is in the table and does not give it back: the slot of
# the first queue names a thread of a process that sleeps.
shim perl -e 'use IPC::SysV qw(:all); $| = 1; my $q = msgget(9, 0600 | IPC_CREAT);
    msgsnd($q, pack("l! a*", 1, "x"), 0); print "$$\n"; sleep 1000' \
    >"$work/pid" &
children+=($!)
wait_for 10 test -s "$work/pid"
pid=$(<"$work/pid")
# shellcheck disable=SC2059 # escapes are meant
printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((pid & 255)) \
    $((pid >> 8 & 255)) $((pid >> 16 & 255)) 0)" |
    dd of="$IPCLIFT_REGISTRY" bs=1 seek=$((4 << 30)) conv=notrunc status=none
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    timeout 60 cat "$m/msg/0/messages" >/dev/null 2>"$work/err.$i" &
done
is "another queue, meanwhile" "$(timeout 60 cat "$m/msg/1/stat" | wc -l | grep -c '[1-9]')" 1
for job in $(jobs -p); do
    [[ " ${children[*]} " == *" $job "* ]] || wait "$job"
done
is "its readers are told" "$(cat "$work"/err.* | grep -c 'busy')" 12
kill -KILL "$pid"

# ---- cut short
is "it is there" "$(grep -c . "$m/sysvipc/msg" | grep -c '[1-9]')" 1
daemon=$(mounter_of "$m")
truncate -s 0 "$IPCLIFT_REGISTRY"
is "then it is stale" "$(cat "$m/sysvipc/sem" 2>&1 | grep -c 'Stale')" 1
is "and every file" "$(cat "$m/tasks" 2>&1 | grep -c 'Stale')" 1
is "the daemon lives" "$(kill -0 "$daemon" && echo yes)" yes
exit $bad
