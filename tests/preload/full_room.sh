#!/bin/bash
# SPDX-License-Identifier: MIT
#
# full_room.sh - the registry's file system is full: calls that need more space fail with
# an error and no program gets SIGBUS; and what dead processes left is reused, so that
# processes can start and exit, and the command can list and remove.

set -u
# shellcheck source=tests/preload/room.sh
. "$(dirname "$0")/room.sh" 1m "$@"

served() {
    LD_PRELOAD=$shim perl -e "$1" 2>&1
}
# What it needs of memory besides is there when it is gone.
id=$(served 'my $id = semget(1, 1, 01600); my $other = semget(0, 1, 0600);
    semctl($other, 0, 0, 0); semop($id, pack "s!3", 0, 1, 010000); print $id')
cat /dev/zero >"$small/fill" 2>/dev/null

# Two limits in turn, each an event in the ring, until a page of it has no room,
# and whoever comes next looks there.
# shellcheck disable=SC2016 # perl's
is "limits are hit" \
    "$(served 'for (1 .. 100) { semop(0, "\0" x 6000) and die;
        semget(0, 1 << 20, 0600) and die; } print "$!"')" "Invalid argument"

# Each wants a record of its own, with a unit to be undone.
# shellcheck disable=SC2016
for i in {1..100}; do
    served 'print semop('"$id"', pack "s!3", 0, 1, 010000) ? "." : "$!\n"'
done >"$work/served" 2>&1
is "a hundred processes come and go" "$(tr -dc . <"$work/served" | wc -c)" 100
is "undone" "$(served "print semctl($id, 0, 12, 0) + 0")" 0
is "whole" "$("$tool" check 2>&1)" "all invariants hold"
is "the command removes" "$("$tool" rm --key 1 2>&1)" ""

# Between requested ids are slots that never were: to read one would
# take a page. The 22nd begins on another page than where it is looked at.
umount "$small"
mount -t tmpfs -o size=1m none "$small" || exit 1
far=$(served 'my $one = semget(1, 1, 01600); semctl($one, 0, 0, 0);
    open my $f, ">", "/proc/sys/kernel/sem_next_id" or die; print $f "63\n";
    close $f; print semget(2, 1, 01600) & 32767')
is "a requested id" "$far" 63
cat /dev/zero >"$small/fill" 2>/dev/null
is "whole" "$("$tool" check 2>&1)" "all invariants hold"
# shellcheck disable=SC2016
for id in 5 21 22 30 62 64; do
    is "no set $id" "$(served 'print semctl('$id', 0, 12, 0) // $!')" \
        "Invalid argument"
done

# What empty queues keep for their next messages is there for other queues and
# for new objects. `fails` of N queues that are asked to take a message.
umount "$small"
mount -t tmpfs -o size=1500k none "$small" || exit 1
# shellcheck disable=SC2016
is "memory of empty queues" "$(served '
    my ($text, @q) = pack("l! a*", 1, "x" x 8000);
    sub taken { $_[0] = 0; msgrcv($_, my $m, 8000, 0, 04000) and $_[0]++ for @q }
    while (@q < 200) {
        my $q = msgget(0, 0600) // last;
        push @q, $q;
        msgsnd($q, $text, 04000) or last;
    }
    taken(my $n);
    print "of 200 queues some were filled\n" if @q > 100 && $n >= @q - 1;
    for my $size (8000, 100, 3000) {
        my @bad = grep { !msgsnd($_, pack("l! a*", 1, "y" x $size), 04000) }
            @q[0 .. 19];
        taken($n);
        print "$size: ", scalar(@bad), " failed, $n taken\n";
    }
    my @new = grep { defined semget(0, 2000, 0600) } 1, 2;
    print scalar(@new), " sets\n"')" "of 200 queues some were filled
8000: 0 failed, 20 taken
100: 0 failed, 20 taken
3000: 0 failed, 20 taken
2 sets"
is "whole" "$("$tool" check 2>&1)" "all invariants hold"

exit $bad
