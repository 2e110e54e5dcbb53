#!/bin/bash
# SPDX-License-Identifier: MIT
#
# undo_no_room.sh - a process with SEM_UNDO on large sets is killed, and the file
# system is full: what it holds is given back, and all is listed and removed.
#
# The bug: to apply adjustments to a set of 17 semaphores and more took a larger journal,
# for which there was no space. Each call tried it a thousand times per set, ls took 37
# seconds, rm failed with "Identifier removed" for an existing set.

set -u
# shellcheck source=tests/preload/room.sh
. "$(dirname "$0")/room.sh" 8m "$@"

# A process holds a hundred units of each of forty sets, another fills all there
# is with messages, kills it, and stays: its journal is large already.
LD_PRELOAD=$shim perl -e 'semget(1, 1, 0600)'
"$tool" set msgmnb=1000000000
# shellcheck disable=SC2016 # perl's
coproc filler {
    LD_PRELOAD=$shim exec perl -e '
    my @ids;
    for (1 .. 40) { push @ids, semget(0, 1000, 0600) // die "semget: $!" }
    pipe my $ready, my $done;
    my $holder = fork;
    if (!$holder) {
        close $ready;
        for (@ids) {
            for my $n (0 .. 99) {
                semop($_, pack "s!3", $n, 1, 010000) or die "semop: $!";
            }
        }
        close $done;
        sleep;
    }
    close $done;
    <$ready>;
    my $queue = msgget(0, 0600) // die "msgget: $!";
    for my $n (4000, 800, 200, 1) {
        1 while msgsnd($queue, pack("l!a$n", 1, "x"), 04000);
    }
    open my $fill, ">", "$ARGV[0]/fill" or die;
    1 while syswrite $fill, "x" x 4096;
    kill 9, $holder;
    wait;
    $| = 1;
    print "full\n";
    <STDIN>' "$small"
}
read -r -u "${filler[0]}" said
is "filled" "$said" full
is "no room left" "$(df --output=avail "$small" | tail -1 | tr -d ' ')" 0

is "one set" "$(timeout 10 "$tool" show --json sem 0 2>&1 |
    tr -d ' \n' | grep -o '"nsems":1000')" '"nsems":1000'
is "has its units back" \
    "$(LD_PRELOAD=$shim perl -e 'print map { 0 + semctl 0, $_, 12, 0 } 0, 99')" \
    00
# shellcheck disable=SC2016
is "ls" "$(status timeout 10 "$tool" ls)" 0
is "lists them" "$(($(wc -l <"$work/out") > 40))" 1
is "without a word of the other kinds" "$(<"$work/err")" ""
is "rm" "$(timeout 10 "$tool" rm sem 0 2>&1)" ""
is "rm --all" "$(timeout 20 "$tool" rm --all 2>&1)" ""
is "nothing is left" "$(timeout 10 "$tool" ls 2>&1 | wc -l)" 1
is "whole" "$("$tool" check 2>&1)" "all invariants hold"
# shellcheck disable=SC2154 # coproc sets it
kill "$filler_PID"
wait 2>/dev/null
exit $bad
