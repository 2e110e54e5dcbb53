#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_rows.sh - what the rows of ls, waits, show and tasks tell besides ids and
# names: who made an object, who used it last, who waits, values; for how long;
# a deadlock in one line; arguments of processes and the second they started in;
# no queue that nobody can reach any more.

set -u
load=
# shellcheck disable=SC2329 # tool.sh calls it
at_end() {
    [[ -z $load ]] || kill "$load" 2>/dev/null
    wait
}
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
column() { # column NAMES KIND
    "$ipclift" ls --raw --noheadings -o "$1" "$2"
}

# ---- objects: three operations by three processes, the last of them waits
"$ipclift" run perl -e 'use IPC::SysV qw(IPC_CREAT);
    $set = semget(1, 20, 0666 | IPC_CREAT); $queue = msgget(2, 0666 | IPC_CREAT);
    shmget(3, 4096, 0666 | IPC_CREAT); semctl($set, $_, 16, $_) for 0 .. 19;
    $) = "65534 65534"; $> = 65534; msgget(4, 0600 | IPC_CREAT);
    $> = 0; chown 0, 0; msgsnd($queue, pack("l! a", 1, ""), 0); print $$' \
    >"$work/first"
"$ipclift" run perl -e 'semop(0, pack("s3", 3, 2, 0)) or die; print $$' \
    >"$work/second"
is "who changed a set last" "$(column lastpid sem)" "$(<"$work/second")"
is "who used a queue last" "$(column lastpid msg | head -n 1)" "$(<"$work/first")"
"$ipclift" run perl -e 'msgrcv(0, $_, 9, 0, 0); print $$' >"$work/third"
is "or took from it" "$(column lastpid msg | head -n 1)" "$(<"$work/third")"
is "who made them" "$(column creator msg | tr '\n' ' ')" "root nobody "
is "values" "$(column semvals sem)" \
    '0\x201\x202\x205\x204\x205\x206\x207\x208\x209\x2010\x2011\x2012\x2013\x2014\x2015\x20...'
is "the first of them, unasked" "$("$ipclift" ls sem | tail -n 1 |
    grep -o '20 semaphores.*')" "20 semaphores: 0 1 2 5 ..."
is "when it was changed" "$(column changed sem | grep -c '^20..-..-..\\x20..:..:..$')" 1
is "nobody waits" "$(column waiting sem)" 0
is "on 140 columns" "$(script -qec "stty cols 140; NO_COLOR=1 $ipclift ls" \
    /dev/null | grep -c 'CHANGED .*LAST PID  CREATOR')" 1
is "on 80 not" "$(script -qec "stty cols 80; NO_COLOR=1 $ipclift ls" /dev/null |
    grep -c 'CHANGED\|LAST PID')" 0
before=$("$ipclift" locks --all -nr -o name,count)
"$ipclift" ls >/dev/null
is "a look at sets takes no more locks" "$(diff <(echo "$before") \
    <("$ipclift" locks --all -nr -o name,count) | grep -c 'sem.x200 ')" 0

# ---- a circle of three, and their arguments
# shellcheck disable=SC2016 # perl's
"$ipclift" run perl -e 'use IPC::SysV qw(SEM_UNDO IPC_CREAT);
    my $s = semget(99, 3, 0600 | IPC_CREAT); my $n = 0; alarm 60;
    semctl($s, $_, 16, 1) for 0 .. 2;
    for (1, 2) { next if fork; $n = $_; last }
    semop($s, pack("s3", $n, -1, SEM_UNDO));
    select undef, undef, undef, 0.01
        while grep { semctl($s, $_, 12, 0) != 0 } 0 .. 2;
    semop($s, pack("s3", ($n + 1) % 3, -1, SEM_UNDO));' 'two words' x &
load=$!
for ((i = 0; i < 500; i++)); do
    "$ipclift" waits >"$work/waits"
    (($? == 1)) && break
    sleep 0.02
done
is "the circle in a line" "$(grep -E '^[0-9]+ -\(sem ' "$work/waits" | python3 -c '
import re, sys
line, = sys.stdin.read().splitlines()
pids = re.findall(r"(?:^|-> )(\d+)", line)
at = re.findall(r"-\(sem \d+\.(\d)\)->", line)
print(len(set(pids)), pids[0] == pids[3], sorted(at))')" \
    "3 True ['0', '1', '2']"
is "how many wait" "$(column waiting sem | tail -n 1)" 3
is "in words" "$("$ipclift" ls sem | grep -c '3 semaphores: 0 0 0, 3 wait$')" 1
is "arguments" "$("$ipclift" tasks -o args -nr |
    grep -c 'two\\x20words\\x20x$')" 3
is "not of one that is gone" "$("$ipclift" tasks --all --json | python3 -c '
import json, sys
print({r["args"] for r in json.load(sys.stdin) if r["state"] == "dead"})')" "{None}"

# ---- for how long
sleep 1.1
is "seconds" "$("$ipclift" waits --json | python3 -c '
import json, sys
print({1 <= r["age"] <= 60 for r in json.load(sys.stdin)})')" "{True}"
is "in the table" "$("$ipclift" waits -o age -n | grep -cE '^ *[0-9]+ s$')" 3
is "and of a holder" "$("$ipclift" show sem 1 -o undo,age -n |
    grep -cE '^ *\+1 +[0-9]+ s$')" 3

# ---- started: the same at each look, and the second it was
kill "$load"
wait "$load" 2>/dev/null
started=$(date +%s)
"$ipclift" run perl -e 'semget(5, 1, 01600); sleep 60' started &
load=$!
for ((i = 0; i < 500; i++)); do
    "$ipclift" tasks -o args,started -nr | grep -q started && break
    sleep 0.01
done
ended=$(date +%s)
for ((i = 0; i < 12; i++)); do
    "$ipclift" tasks -o args,started -nr | sed -n 's/.*started //p'
    sleep 0.09
done | sort -u >"$work/started"
is "one second" "$(wc -l <"$work/started")" 1
at=$(date -d "$(sed 's/.x20/ /' "$work/started")" +%s)
# A start is counted in ticks of 10 ms, so it may be a little early.
is "that it was" $((at >= started - 1 && at <= ended)) 1
kill "$load"
wait "$load" 2>/dev/null
load=

# ---- a queue without name: listed while somebody has it open
mkfifo "$work/go"
"$ipclift" run perl -e '$name = "nameless"; syscall(240, $name, 0102, 0600, 0);
    syscall(241, $name) == 0 or die; open $go, "<", shift; <$go>;
    kill 9, $$' "$work/go" & # mq_open, mq_unlink
load=$!
exec 3<>"$work/go"
for ((i = 0; i < 500; i++)); do
    [[ $(column unlinked mq) == true ]] && break
    sleep 0.02
done
is "somebody has it" "$(column unlinked mq)" true
echo >&3
wait "$load" 2>/dev/null
load=
exec 3>&-
is "he is dead" "$(column name mq)" ""
is "nor in JSON" "$("$ipclift" ls --json mq | tr -d ' \n')" "[]"
exit $bad
