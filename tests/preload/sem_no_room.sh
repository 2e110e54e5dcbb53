#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sem_no_room.sh - a thread sleeps for an array of 60 operations, and the file
# system is full when another makes it possible: the sleeper goes on.
#
# The bug: to perform the array on the sleeper's behalf takes a larger journal than each
# thread has. Without space for it the sleeper was left asleep, for ever if it was the
# only one.

set -u
# shellcheck source=tests/preload/room.sh
. "$(dirname "$0")/room.sh" 8m "$@"

LD_PRELOAD=$shim perl -e 'semget(1, 1, 0600)'
"$tool" set msgmnb=1000000000
# shellcheck disable=SC2016 # perl's
# A thread's journal grows at its first call that needs it, and whoever takes
# over the record of a dead one has its journal: the last of many who never did
# more than increment has neither.
got=$(LD_PRELOAD=$shim perl -e '
    my $set = semget(0, 8, 0600) // die "semget: $!";
    my $queue = msgget(0, 0600) // die "msgget: $!";
    semctl($set, $_, 16, 100) // die "SETVAL: $!" for 1 .. 7;
    my $sleeper = fork;
    if (!$sleeper) {
        semop($set, pack "s!*", map { ($_ % 8, -1, 0) } 0 .. 59) or exit 1;
        exit 0;
    }
    select undef, undef, undef, 0.01 until semctl($set, 0, 14, 0) > 0;
    pipe my $ready, my $say or die;
    pipe my $wait, my $go or die;
    my @idle;
    for my $n (1 .. 30) {
        my $pid = fork;
        if (!$pid) {
            close $go;
            # In the set the sleeper waits in: under the lock.
            semop($set, pack "s!3", 1, 1, 0) or die "semop: $!";
            syswrite $say, "x";
            my $byte;
            sysread $wait, $byte, 1;
            semop($set, pack "s!3", 0, 8, 0) if $n == 30 and $byte;
            sleep;
        }
        push @idle, $pid;
        sysread $ready, my $byte, 1;
    }
    my $fuller = fork;
    if (!$fuller) {
        for my $n (4000, 800, 200, 1) {
            1 while msgsnd($queue, pack("l!a$n", 1, "x"), 04000);
        }
        open my $fill, ">", "$ARGV[0]/fill" or die;
        1 while syswrite $fill, "x" x 4096;
        exit 0;
    }
    waitpid $fuller, 0;
    my $last = pop @idle;
    kill 9, @idle;
    waitpid $_, 0 for @idle;
    syswrite $go, "x";
    local $SIG{ALRM} = sub { kill 9, $sleeper };
    alarm 20;
    waitpid $sleeper, 0;
    print "status $?, value ", semctl($set, 0, 12, 0) + 0;
    kill 9, $last;
    ' "$small" 2>&1)
is "the sleeper goes on" "$got" "status 0, value 0"
rm -f "$small/fill"
is "the registry is whole" "$(status "$tool" check)" 0
exit $bad
