#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_watch.sh - the user's choice of columns, order and repetition of ls, show, waits,
# locks, tasks, events and registries; and the width of a
# table on a terminal and off one.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
"$ipclift" run perl -e '$q = msgget(1, 01600);
    msgsnd($q, pack("l! a*", 1, "x" x 10), 0) for 1 .. 3; msgget(2, 01600);
    shmget(3, 8192, 01600); shmget(4, 4096, 01600); semget(5, 17, 01600)'

# ---- columns
is "two columns" "$("$ipclift" ls -o kind,KEY msg | sed 's/ *$//')" \
    $'KIND  KEY\nmsg   0x00000001\nmsg   0x00000002'
is "one that only JSON has" "$("$ipclift" ls --columns messages,key msg |
    awk '{ print $1, $2 }' | head -n 2)" $'MESSAGES KEY\n3 0x00000001'
is "in the order of the list" "$("$ipclift" ls -o size,kind shm | awk '{ print $2 }' |
    sort -u | tr '\n' ' ')" "KIND shm "
is "none of another kind" "$("$ipclift" ls -o nsems,kind | awk '$1 == "-"' | wc -l)" 4

is "besides the others" "$("$ipclift" ls msg -o +messages,nsems | head -n 1)" \
    "$("$ipclift" ls msg | head -n 1)$(printf '%*s  MESSAGES  NSEMS' \
        $(($("$ipclift" ls msg | sed -n 's/.*0x00000001.*/&/p' | wc -c) -
            $("$ipclift" ls msg | head -n 1 | wc -c))) '')"
is "no headings" "$("$ipclift" ls --noheadings -o kind,key msg)" \
    $'msg   0x00000001\nmsg   0x00000002'
is "raw" "$("$ipclift" ls --raw -o kind,holds,size shm)" \
    $'KIND HOLDS SIZE\nshm 8.0\\x20KiB,\\x200\\x20attached 8192\nshm 4.0\\x20KiB,\\x200\\x20attached 4096'
is "show: of the table that has it" "$("$ipclift" show msg 0 -no mtype,size --raw)" \
    $'1 10\n1 10\n1 10'
is "show: order" "$("$ipclift" show sem 0 -nro num --sort num:desc | head -n 1)" 16
is "show -o tea" "$(status "$ipclift" show sem 0 -o tea)" 2
is "registries" "$(IPCLIFT_REGISTRY='' "$ipclift" registries -o state,name |
    head -n 1)" "STATE  NAME"
is "registries -o tea" "$(status "$ipclift" registries -o tea)" 2
is "no rows: headings" "$("$ipclift" waits -o pid,on)" "PID  ON"
is "no rows, no headings" "$("$ipclift" waits --noheadings)" ""

# ---- order
is "numbers" "$("$ipclift" ls --sort size shm -o size | tr -d ' ')" $'SIZE\n4096\n8192'
is "the other way" "$("$ipclift" ls --sort size:desc shm -o size | tr -d ' ')" \
    $'SIZE\n8192\n4096'
is "none last" "$("$ipclift" ls --sort messages:desc -o messages | tr -d ' ' |
    tr '\n' ' ')" "MESSAGES 3 0 - - - "
is "words" "$("$ipclift" ls --sort kind:desc -o kind | tr -d ' ' | tr '\n' ' ')" \
    "KIND shm shm sem msg msg "
is "JSON, too" "$("$ipclift" ls --json --sort key:desc | grep -o '0x0000000.' |
    tr '\n' ' ')" "0x00000005 0x00000004 0x00000003 0x00000002 0x00000001 "
is "locks by name" "$("$ipclift" locks --sort name -o name | head -n 2 | tr -d ' ')" \
    $'name\nheap'
for command in ls waits locks tasks events registries; do
    is "$command -o tea" "$(status "$ipclift" $command -o tea)" 2
    is "$command: says which there are" "$(grep -c "no column 'tea', but" \
        "$work/err")" 1
    is "$command --sort tea" "$(status "$ipclift" $command --sort tea)" 2
    is "$command --watch 0" "$(status "$ipclift" $command --watch 0)" 2
done
is "--sort size:up" "$(status "$ipclift" ls --sort size:up)" 2
is "an empty name" "$(status "$ipclift" ls -o kind,,key)" 2
is "--follow --watch 1" "$(status "$ipclift" events --follow --watch 1)" 2

# ---- width: cut on a terminal only, by letters and not by bytes
long=$(printf 'q%.0s' {1..120})
"$ipclift" run perl -e 'syscall(240, $_, 0102, 0600, 0) >= 0 or die $! for @ARGV' \
    "$long" äö # mq_open
on_terminal() { # on_terminal COLUMNS COMMAND...
    script -qec "stty cols $1; $(printf '%q ' "${@:2}")" /dev/null | tr -d '\r'
}
is "whole in a file" "$("$ipclift" ls mq | grep -c " /$long ")" 1
for width in 70 100; do
    is "$width columns" "$(LC_ALL=C NO_COLOR=1 on_terminal $width "$ipclift" ls mq |
        awk '{ print length }' | sort -n | tail -n 1)" $width
done
is "colours" "$(on_terminal 80 "$ipclift" ls mq | grep -c $'^\033\\[1mKIND')" 1
is "none if so said" "$(NO_COLOR=1 on_terminal 80 "$ipclift" ls | grep -c $'\033')" 0
is "none in a file" "$("$ipclift" ls | grep -c $'\033')" 0
is "letters of two bytes" "$(LC_ALL=C.UTF-8 "$ipclift" ls mq -o name,kind |
    sed -n 's/^.äö *mq$/&/p' | wc -c)" $((${#long} + 1 + 2 + 2 + 1 + 2))
is "the library does without" "$(readelf -d "$IPCLIFT_SHIM" | grep -c smartcols)" 0

# ---- again and again
"$ipclift" ls -o key --watch 0.1 msg >"$work/watched" &
watcher=$!
has() {
    for ((i = 0; i < 500; i++)); do
        grep -q "$1" "$work/watched" && return
        sleep 0.02
    done
    echo "nothing: $1"
}
is "once" "$(has 0x00000001)" ""
"$ipclift" run perl -e 'msgget(6, 01600)'
is "and again" "$(has 0x00000006)" ""
kill $watcher
wait $watcher 2>/dev/null
is "blank lines divide" "$(($(grep -c '^$' "$work/watched") >= 1))" 1
is "no colours in a file" "$(grep -c $'\033' "$work/watched")" 0
exit $bad
