#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_objects.sh - ls, show, waits, tasks, locks, gc and rm on objects of all
# four kinds, while a program uses them and after. What ls --proc says of queues
# and segments is compared with the kernel's own files.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
user=
# shellcheck disable=SC2329 # called by trap
at_end() {
    [[ -z $user ]] || kill -KILL "$user" 2>/dev/null
    umount "$work/mq" 2>/dev/null
}
export IPCLIFT_LIMITS=kernel

# json EXPRESSION: of $j, which is read from standard input
json() {
    perl -MJSON::PP -e 'local $/; my $j = decode_json(<STDIN>); print '"$1"
}
# wait_for COMMAND...: until it succeeds
wait_for() {
    local i

    for ((i = 0; i < 500; i++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.02
    done
    echo "FAIL no end of waiting for: $*"
    bad=1
}

gcc -O1 -o "$work/objects" "$here/app_objects.c" || exit 1
mount -t mqueue none /dev/mqueue 2>/dev/null ||
    { mkdir -p "$work/mq" && mount -t mqueue none "$work/mq"; } || exit 1
"$work/objects" make || exit 1
"$ipclift" run -- "$work/objects" make || exit 1

# ---- ls
for kind in sem msg shm; do
    "$ipclift" ls --proc $kind |
        awk 'NR > 1 { print $1, $2, $3, $4, $5 }' >"$work/ours"
    awk 'NR > 1 { print $1, $2, $3, $4, $5 }' /proc/sysvipc/$kind \
        >"$work/kernels"
    # The creator's pid of a segment is another's.
    [[ $kind == shm ]] && sed -i 's/ [0-9]*$//' "$work/ours" "$work/kernels"
    is "ls --proc $kind is the kernel's" \
        "$(diff "$work/kernels" "$work/ours")" ""
    is "and has a row" "$(wc -l <"$work/ours")" 1
done
is "ls: all kinds" "$("$ipclift" ls | awk '{ printf "%s ", $1 }')" \
    "KIND sem msg shm mq "
is "ls: some kinds" "$("$ipclift" ls mq shm | awk '{ printf "%s ", $1 }')" \
    "KIND shm mq "
is "ls fits 80 columns" "$("$ipclift" ls | awk 'length > 80')" ""
is "ls: sizes for people" "$("$ipclift" ls msg | grep -c \
    '3 msg, 7.9 KiB of 16.0 KiB')" 1
is "ls --json: raw" "$("$ipclift" ls --json | json 'join ",", map {
    $_->{bytes} // $_->{size} // $_->{nsems} } @$j')" "3,8100,3000000,4010"
is "no colour in a pipe" "$("$ipclift" ls | grep -c "$(printf '\033')")" 0
if command -v script >/dev/null; then
    is "colour on a terminal" "$(TERM=xterm script -qec "$ipclift ls" /dev/null |
        grep -q "$(printf '\033')" && echo yes)" yes
    is "but for NO_COLOR" "$(TERM=xterm NO_COLOR=1 script -qec "$ipclift ls" /dev/null |
        grep -c "$(printf '\033')")" 0
fi

# ---- in use
"$ipclift" run -- "$work/objects" use &
user=$!
wait_for bash -c "[[ \$($ipclift waits --json | grep -c tid) == 2 ]]"
"$ipclift" show --json sem 0 >"$work/sem"
"$ipclift" show --json msg 0 >"$work/msg"
"$ipclift" show --json shm 0 >"$work/shm"
"$ipclift" show --json mq /jobs >"$work/jobs"
"$ipclift" show --json mq empty >"$work/empty"
is "show sem" "$(json 'join(" ", map { $_->{value} } @{$j->{values}}),
    " $j->{holders}[0]{pid} $j->{holders}[0]{undo}"' <"$work/sem")" \
    "0 21 300 $user +1"
is "show msg" "$(json 'join(" ", map { "$_->{mtype}:$_->{size}" } @{$j->{list}})
    . " $j->{waiters}[0]{call} $j->{waiters}[0]{for} $j->{waiters}[0]{size}"' \
    <"$work/msg")" "5:100 3:8000 5:0 msgrcv type 77 64"
is "show shm: three processes, twice each" "$(json '
    scalar(grep { $_->{access} eq "read" } @{$j->{attachments}}), " ",
    scalar(grep { $_->{access} eq "read, write" } @{$j->{attachments}}), " ",
    scalar(grep { $_->{pid} == '$user' } @{$j->{attachments}}), " ",
    scalar(grep { $_->{since} =~ /^\d{4}-/ } @{$j->{attachments}})' \
    <"$work/shm")" \
    "3 3 2 6"
is "show mq" "$(json 'join(" ", map { "$_->{priority}:$_->{size}" }
    @{$j->{list}}), $j->{open} ? " open" : " closed"' <"$work/jobs")" \
    "7:4000 2:10 2:0 closed"
is "show mq: who waits" "$(json '"$j->{waiters}[0]{call} ", $j->{open}' \
    <"$work/empty")" "mq_receive 1"
for what in "sem 0" "msg 0" "shm 0" "mq jobs" "mq empty"; do
    # shellcheck disable=SC2086 # words
    is "show $what fits" "$("$ipclift" show $what | awk 'length > 80')" ""
done
is "show what is not there" "$(status "$ipclift" show msg 7)" 1
is "says so" "$(<"$work/err")" "ipclift show: msg 7: no such queue"
is "waits" "$("$ipclift" waits --json | json 'join " ", sort map {
    "$_->{on} $_->{for}" } @$j')" "mq 1 message msg 0 message"
is "waits --dot is a graph" "$("$ipclift" waits --dot | tr -d '\n' |
    grep -cE '^digraph waits \{.*"p[0-9]+" -> "msg 0" \[label="for a message.*\}$')" 1
is "tasks" "$("$ipclift" tasks --json | json 'join " ", map {
    "$_->{undo} $_->{attached} $_->{lifeline} $_->{state}" }
    grep { $_->{pid} == '$user' } @$j')" "1 2 linked alive"
is "gc takes nothing that is used" "$("$ipclift" gc -n | sort)" \
    "would remove mq /jobs"

# ---- locks
"$ipclift" locks --on
"$ipclift" show sem 0 >/dev/null
is "locks: counted and timed" "$("$ipclift" locks --json | json 'join " ", map {
    my $l = $_; $l->{count} && $l->{max} && $l->{max} <= $l->{total} &&
    $l->{avg} <= $l->{max} ? "timed" : "not" } grep { $_->{name} eq "sem 0" }
    @$j')" "timed"
"$ipclift" locks --reset
is "locks: reset" "$("$ipclift" locks --json | json 'scalar grep {
    $_->{name} eq "sem 0" } @$j')" 0
is "locks: Kennaway's columns" "$("$ipclift" locks | head -n 1 | xargs)" \
    "max total count avg cnt_hold cnt_lock name"
"$ipclift" locks --off
"$ipclift" locks --reset
is "locks: times off" "$("$ipclift" locks | tail -n 1)" \
    "times are not taken: ipclift locks --on"

# ---- a dead user
is "check in use" "$(status "$ipclift" check)" 0
kill -KILL "$user"
wait "$user" 2>/dev/null
user=
wait_for bash -c "[[ \$($ipclift gc --dry-run | wc -l) == 5 ]]"
is "gc of one kind" "$("$ipclift" gc shm)" "removed shm 0, key 0x00000051"
is "gc of the others" "$("$ipclift" gc | sort | sed 's/,.*//')" \
    "$(printf 'removed mq /empty\nremoved mq /jobs\nremoved msg 0\nremoved sem 0')"
is "nothing is left" "$("$ipclift" ls | wc -l)" 1
is "events tell of the death" "$("$ipclift" events | grep -c 'SEM_UNDO.*of dead')" 1

# ---- rm
"$ipclift" run -- "$work/objects" make || exit 1
is "rm by key, one kind" "$(status "$ipclift" rm --key 0x51 msg)" 0
is "the others stay" "$("$ipclift" ls | awk '{ printf "%s ", $1 }')" \
    "KIND sem shm mq "
is "rm by key, none there" "$(status "$ipclift" rm --key 0x51 msg)" 1
is "rm mq" "$(status "$ipclift" rm mq /jobs)" 0
is "rm of two, one there" "$(status "$ipclift" rm sem 99 1)" 1
is "rm --all" "$(status "$ipclift" rm --all sem shm)" 0
is "all are gone" "$("$ipclift" ls --json | json 'scalar @$j')" 0
is "and no byte is lost" "$("$ipclift" check)" "all invariants hold"
exit $bad
