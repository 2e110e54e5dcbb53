#!/bin/bash
# SPDX-License-Identifier: MIT
#
# two_machines.sh - a client and a server that speak through queues of System V,
# each on a machine of its own: `ipclift bridge` carries the messages.
#
#	examples/two_machines.sh [IPCLIFT]
#
# IPCLIFT is the command (build/shim/tool/ipclift, else the one in PATH). Client
# and server are perl programs that know nothing of ipclift, Redis or a network.
#
#	north				south
#	client -> queue 0x4001 - - - - > queue 0x4001 -> server
#	client <- queue 0x4002 < - - - - queue 0x4002 <- server
#
# A machine is a namespace of processes and one of the network, with a registry
# of its own; a cable (veth) joins them, and Redis runs in the south. Where veth
# is not permitted Redis listens on a unix socket that both can see.
#
# You will see:
#
#	1  the machines and their queues, which nothing but the keys connects
#	2  three clients in the north ask, the server in the south answers
#	3  the cable is pulled while a client asks; its answer comes all the same
#	   once it is back (left out without a cable)
#	4  both bridges are killed (SIGKILL) while a client asks; it has its
#	   answer from those that are started next
#
# As root, or as a user who may make namespaces. Leaves nothing. Exits 0 if all
# answers were right, 1 if not, 77 with a reason where it cannot run.

set -eu
self=$(realpath "$0")
cd "$(dirname "$self")/.."

skip() {
    echo "two_machines: $*"
    exit 77
}
stop() {
    echo "two_machines: $*" >&2
    [ -z "${work-}" ] || tail -qn 5 "$work"/log.* >&2 2>/dev/null || true
    exit 1
}

# ---- the outer half: a world that vanishes as a whole -----------------------

# All processes, the cable and both machines are inside of namespaces, whose end
# is that of their first process.
if [ -z "${TWO_MACHINES_WORK-}" ]; then
    ipclift=${1:-build/shim/tool/ipclift}
    [ -x "$ipclift" ] || [ $# -gt 0 ] || ipclift=$(command -v ipclift) ||
        stop "no ipclift: build it, or name the command"
    ipclift=$(realpath "$ipclift")
    for program in redis-server redis-cli perl unshare nsenter; do
        command -v "$program" >/dev/null || skip "no $program here"
    done
    "$ipclift" bridge --help >/dev/null 2>&1 ||
        skip "$ipclift was built without the bridge"
    spaces="--net --pid --ipc --mount --fork --kill-child --mount-proc"
    [ "$(id -u)" = 0 ] || spaces="--user --map-root-user $spaces"
    # shellcheck disable=SC2086 # words
    unshare $spaces true 2>/dev/null || skip "no namespaces are permitted here"
    end_world() {
        # shellcheck disable=SC2046 # one number
        kill -9 $(cat "/proc/$world/task/$world/children")
    }
    work=$(mktemp -d /dev/shm/ipclift-machines.XXXXXX)
    world=
    # unshare ends when all that is in the world has ended; if it was killed
    # itself, that may take a moment.
    trap 'trap "" INT TERM HUP
        [ -z "$world" ] || end_world 2>/dev/null || true
        wait
        rm -rf "$work" || { sleep 1 && rm -rf "$work"; }' EXIT
    trap 'exit 130' INT TERM HUP
    # LD_PRELOAD cannot hold a path with a blank or a ':'.
    case $ipclift in
    *[[:space:]:]*)
        mkdir -p "$work/copy/shim/tool"
        cp "$ipclift" "$work/copy/shim/tool"
        cp "$(dirname "$ipclift")/../libipclift.so" "$work/copy/shim"
        ipclift=$work/copy/shim/tool/ipclift
        ;;
    esac
    unset LD_PRELOAD "${!IPCLIFT_@}"
    # shellcheck disable=SC2086
    TWO_MACHINES_WORK=$work TWO_MACHINES_IPCLIFT=$ipclift \
        unshare $spaces "$BASH" "$self" &
    world=$!
    status=0
    wait "$world" || status=$?
    world=
    exit "$status"
fi
work=$TWO_MACHINES_WORK ipclift=$TWO_MACHINES_IPCLIFT

# ---- the programs, as they have been for thirty years -----------------------

# A request has type 1 and says who asks; the answer's type is who asked.
cat >"$work/server.pl" <<'PERL'
use IPC::SysV qw(IPC_CREAT);
my $in = msgget(0x4001, IPC_CREAT | 0600) // die "msgget: $!\n";
my $out = msgget(0x4002, IPC_CREAT | 0600) // die "msgget: $!\n";
my ($m, $type);
while (msgrcv($in, $m, 100, 1, 0)) {
    ($type, my $client, my $number) = unpack "l! l l", $m;
    msgsnd($out, pack("l! l", $client, $number * $number), 0) or last;
}
die "server: $!\n";
PERL
cat >"$work/client.pl" <<'PERL'
my $out = msgget(0x4001, 0) // die "msgget: $!\n";
my $in = msgget(0x4002, 0) // die "msgget: $!\n";
for my $number (@ARGV) {
    msgsnd($out, pack("l! l l", 1, $$, $number), 0) or die "msgsnd: $!\n";
    msgrcv($in, my $m, 100, $$, 0) or die "msgrcv: $!\n";
    printf "%d squared is %d\n", $number, (unpack "l! l", $m)[1];
}
PERL

# ---- the machines -----------------------------------------------------------

# machine NAME: its first process sleeps; $NAME is that, as we see it
machine() {
    mkdir "$work/$1"
    # shellcheck disable=SC2016 # for the inner shell
    unshare --net --pid --fork --kill-child --mount-proc sh -c '
        ip link set lo up 2>/dev/null
        : >"$1/up"
        exec sleep infinity' sh "$work/$1" 2>"$work/log.$1" &
    within "machine $1" [ -e "$work/$1/up" ]
    # unshare's child; the file has no end of line
    read -r "${1?}" <"/proc/$!/task/$!/children" || [ "${!1}" ]
}
# at NAME COMMAND...: on that machine, with its registry
at() {
    local first=${!1} registry=$work/$1/registry

    shift
    IPCLIFT_REGISTRY=$registry nsenter -t "$first" --net --pid --mount -- "$@"
}
# within WHAT COMMAND...: it succeeds sooner or later
within() {
    local tries=1000 what=$1

    shift
    until "$@" >/dev/null 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || stop "$what did not come up"
        sleep 0.02
    done
}

# shellcheck disable=SC2034 # by machine and at
north='' south=''
machine north
machine south
wire=
if command -v ip >/dev/null && ip link add north type veth peer name south \
    2>/dev/null; then
    wire=1
    n=1
    for name in north south; do
        ip link set "$name" netns "${!name}"
        at "$name" ip address add 10.77.0.$n/24 dev "$name"
        at "$name" ip link set "$name" up
        n=$((n + 1))
    done
    url=redis://10.77.0.2
    # Nobody but the two machines can reach this address.
    listen="--bind 10.77.0.2 --protected-mode no"
else
    url=unix://$work/redis.sock
    listen="--port 0 --unixsocket $work/redis.sock"
fi
# shellcheck disable=SC2086 # words
at south redis-server $listen --dir "$work" --save '' >"$work/log.redis" 2>&1 &
# redis_answers: as seen from the north
redis_answers() {
    if [ "$wire" ]; then
        [ "$(at north redis-cli -h 10.77.0.2 ping)" = PONG ]
    else
        [ "$(at north redis-cli -s "$work/redis.sock" ping)" = PONG ]
    fi
}
within redis-server redis_answers

# What stands in /etc/ipclift on each. A request that was sent again because the
# answer of Redis was lost comes twice, with one id, and is dropped.
cat >"$work/north/bridge" <<END
out msg key:0x4001 requests
--create --dedup 1000 in msg key:0x4002 answers
END
cat >"$work/south/bridge" <<END
--create --dedup 1000 in msg key:0x4001 requests
out msg key:0x4002 answers
END

echo "== 1. Two machines, $([ "$wire" ] && echo "joined by a cable" ||
    echo "with one Redis on a unix socket")"
# In the north somebody makes the queues at boot, in the south the server does.
# shellcheck disable=SC2016 # perl's
at north "$ipclift" run -- perl -e 'msgget($_, 01600) for 0x4001, 0x4002'
at south "$ipclift" run -- perl "$work/server.pl" 2>"$work/log.server" &
queues() {
    [ "$(at "$1" "$ipclift" ls msg --json | grep -c '"key"')" = 2 ]
}
within "the server" queues south
for name in north south; do
    echo "  $name:${wire:+ $(at "$name" ip -o -4 address show dev "$name" |
        awk '{ print $4 }'),} queues $(at "$name" "$ipclift" ls msg --json |
        sed -n 's/.*"key": "0x0*\([^",]*\).*/0x\1/p' | paste -sd ' ')"
done

# A bridge is a process for each line and one that looks after them: a group.
bridges=
start_bridges() {
    for name in north south; do
        # shellcheck disable=SC2016 # for the inner shell
        at "$name" setsid sh -c 'echo $$ >"$1/pid"
            exec "$2" bridge --redis "$3" --quiet --file "$1/bridge"' sh \
            "$work/$name" "$ipclift" "$url" 2>>"$work/log.$name" &
        bridges="$bridges $!"
    done
}
start_bridges

# ---- they talk --------------------------------------------------------------

bad=0
# client NUMBER...: in the north
client() {
    at north timeout 60 "$ipclift" run -- perl "$work/client.pl" "$@"
}
# right GOT WANTED: shown; and is it so?
right() {
    sed 's/^/  /' <<<"$1"
    [ "$1" = "$2" ] || {
        echo "  WRONG: not '$2'"
        bad=1
    }
}

echo "== 2. Three clients in the north at once, 7 to 11, 100 and 1000"
for numbers in "7 8 9 10 11" 100 1000; do
    # shellcheck disable=SC2086 # words
    client $numbers >"$work/said.${numbers%% *}" 2>&1 &
    eval "client_${numbers%% *}=$!"
done
# shellcheck disable=SC2154 # by eval
wait "$client_7" "$client_100" "$client_1000" || true
right "$(paste -sd ',' "$work/said.7" | sed 's/,/, /g')" \
    "7 squared is 49, 8 squared is 64, 9 squared is 81, 10 squared is 100, \
11 squared is 121"
right "$(cat "$work/said.100")" "100 squared is 10000"
right "$(cat "$work/said.1000")" "1000 squared is 1000000"

if [ "$wire" ]; then
    echo "== 3. The cable is pulled, a client asks; a second later it is back"
    at south ip link set south down
    client 12 >"$work/said.12" 2>&1 &
    asked=$!
    sleep 1
    [ ! -s "$work/said.12" ] || right "$(cat "$work/said.12")" "nothing yet"
    at south ip link set south up
    wait "$asked" || true
    right "$(cat "$work/said.12")" "12 squared is 144"
fi

echo "== 4. Both bridges are killed, a client asks, and they are started again"
for name in north south; do
    at "$name" sh -c "kill -9 -$(cat "$work/$name/pid")"
done
for b in $bridges; do
    wait "$b" 2>/dev/null || true
done
client 13 >"$work/said.13" 2>&1 &
asked=$!
sleep 0.5
[ ! -s "$work/said.13" ] || right "$(cat "$work/said.13")" "nothing yet"
start_bridges
wait "$asked" || true
right "$(cat "$work/said.13")" "13 squared is 169"

echo "== What is left in the queues: $(for name in north south; do
    at "$name" "$ipclift" ls msg --json
done | awk '/"messages"/ { n += $2 } END { print n + 0 }') messages"
[ $bad = 0 ] || stop "not all answers were right"
