#!/bin/bash
# SPDX-License-Identifier: MIT
#
# netdata.sh - examples/netdata.txt: netdata's plugin for System V IPC reads a
# mount of the registry; started by ipclift it counts its semaphores, too.

set -u
netdata=$(command -v netdata || command -v /usr/sbin/netdata) || {
    echo "no netdata (netdata-core)"
    exit 77
}
[[ -e /dev/fuse ]] || {
    echo "no /dev/fuse"
    exit 77
}
server=
# shellcheck disable=SC2317,SC2329 # tool.sh calls it
at_end() {
    [[ -z $server ]] || kill "$server" 2>/dev/null
    wait
    ! mountpoint -q "$work/mnt" || umount "$work/mnt"
}
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
PATH=$(dirname "${IPCLIFT_FUSE:?the mount}"):$PATH
# Below those that the kernel gives to clients.
port=$((20000 + RANDOM % 12000))
mkdir "$work"/{mnt,cache,lib,log,etc}
"$ipclift" run perl -e '$q = msgget(1, 01600);
    msgsnd($q, pack("l! a*", 1, "x" x 10), 0) for 1 .. 3;
    shmget(2, 8192, 01600); semget(3, 17, 01600)'
"$ipclift" mount "$work/mnt" || exit 1
{
    cat <<END
[global]
    run as user = $(id -un)
[directories]
    cache = $work/cache
    lib = $work/lib
    log = $work/log
    config = $work/etc
[db]
    mode = ram
[web]
    bind to = 127.0.0.1:$port
[ml]
    enabled = no
[health]
    enabled = no
[plugins]
    enable running new plugins = no
    cgroups = no
    tc = no
    idlejitter = no
    timex = no
    checks = no
    diskspace = no
    statsd = no
    go.d = no
    apps = no
END
    # The recipe's own lines.
    sed -n '/^    \[plugin:proc:ipc\]/,/^$/s/^    //p' "$here/../../examples/netdata.txt" |
        sed "s,/run/ipclift/work,$work/mnt,"
} >"$work/netdata.conf"
last() { # last CHART: the number of its last second
    python3 - "http://127.0.0.1:$port/api/v1/data?chart=$1&after=-1&format=csv" <<'END'
import sys, urllib.request
try:
    rows = urllib.request.urlopen(sys.argv[1], timeout=5).read().decode().split()
    print(float(rows[-1].split(",")[-1]))
except Exception:
    print("nothing")
END
}
comes() { # comes CHART NUMBER
    for ((i = 0; i < 300; i++)); do
        [[ $(last "$1") == "$2" ]] && break
        sleep 0.05
    done
    is "$1" "$(last "$1")" "$2"
}
"$ipclift" run "$netdata" -D -c "$work/netdata.conf" >"$work/said" 2>&1 &
server=$!
comes system.message_queue_messages 3.0
comes system.message_queue_bytes 30.0
comes system.shared_memory_segments 1.0
comes system.shared_memory_bytes 8192.0
comes system.ipc_semaphores 17.0
exit $bad
