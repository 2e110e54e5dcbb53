#!/bin/bash
# SPDX-License-Identifier: MIT
#
# shm_room.sh - what segments cost, in blocks of the registry's file: only the
# pages that were touched, and nothing once they are gone; and what is promised:
# no more than the file system has, unless the program renounces the promise.

set -u
shim=${IPCLIFT_SHIM:?names no libipclift.so}
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" room.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
export IPCLIFT_REGISTRY=$work/registry
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"

free=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
((free > 100 * 1024)) || {
    echo "less than 100 MiB free in $work"
    exit 77
}

# Prints KiB of the file: with one small segment made and gone, with 10 MiB of
# 10 GiB touched, after that one is gone, after a hundred like it.
cat >"$work/room.pl" <<'PERL'
use IPC::SysV qw(IPC_PRIVATE IPC_RMID);
my ($file, $free_kib) = @ARGV;
my $mib = 1 << 20;
# The kernel's own name for what is not in IPC::SysV
my $noreserve = 010000;
# A small /dev/shm cannot promise 10 GiB.
my $promise = $free_kib > 11 * $mib ? 0 : $noreserve;
sub kib { int((stat $file)[12] / 2) }
sub touched {
    my $size = shift;
    my $id = shmget(IPC_PRIVATE, $size, 0600 | $promise) // die "shmget: $!";
    shmwrite($id, "x" x $mib, $_ * 200 * $mib, $mib) or die "shmwrite: $!"
        for 0 .. 9;
    my $kib = kib();
    shmctl($id, IPC_RMID, 0) or die "shmctl: $!";
    $kib;
}
my $id = shmget(IPC_PRIVATE, 4096, 0600) // die "shmget: $!";
shmctl($id, IPC_RMID, 0);
my $base = kib();
my $used = touched(10 << 30) - $base;
printf "10 MiB of 10 GiB: %s\n",
    $used >= 10240 && $used < 10240 + 1024 ? "10 MiB" : "$used KiB";
my $left = kib() - $base;
printf "gone: %s\n", $left < 1024 ? "given back" : "$left KiB left";
touched(10 << 30) for 1 .. 100;
$left = kib() - $base;
printf "a hundred gone: %s\n", $left < 2048 ? "given back" : "$left KiB left";

my $too_much = ($free_kib + 1024) << 10;
my $half = int($free_kib * 0.6) << 10;
$id = shmget(IPC_PRIVATE, $too_much, 0600);
printf "more than there is: %s\n", defined $id ? "made" : $!{ENOMEM} ? "ENOMEM" : $!;
my $a = shmget(IPC_PRIVATE, $half, 0600) // die "shmget: $!";
$id = shmget(IPC_PRIVATE, $half, 0600);
printf "twice the larger half: %s\n",
    defined $id ? "made" : $!{ENOMEM} ? "ENOMEM" : $!;
$id = shmget(IPC_PRIVATE, $too_much, 0600 | $noreserve);
printf "without a promise: %s\n", defined $id ? "made" : $!;
shmctl($id, IPC_RMID, 0) if defined $id;
shmctl($a, IPC_RMID, 0);
$id = shmget(IPC_PRIVATE, $half, 0600);
printf "the promise came back: %s\n", defined $id ? "made" : $!;
shmctl($id, IPC_RMID, 0);
PERL
LD_PRELOAD=$shim perl -MErrno "$work/room.pl" "$IPCLIFT_REGISTRY" "$free" \
    >"$work/said" 2>&1
while IFS='|' read -r what want; do
    is "$what" "$(sed -n "s/^$what: //p" "$work/said")" "$want"
done <<'END'
10 MiB of 10 GiB|10 MiB
gone|given back
a hundred gone|given back
more than there is|ENOMEM
twice the larger half|ENOMEM
without a promise|made
the promise came back|made
END
((bad)) && cat "$work/said"
exit $bad
