#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fork_room.sh - the registry's file system is full: a fork whose child's
# attachments there is no space to count fails with ENOMEM, by its name and by
# number; every child that is made has its parent's segments; and where there is
# space again, forks succeed.

set -u
# shellcheck source=tests/preload/room.sh
. "$(dirname "$0")/room.sh" 1m "$@"

cat >"$work/fork.pl" <<'PERL'
my ($full, $by_number) = @ARGV;
my $id = shmget(1, 4096, 01600) // die "shmget: $!";
shmwrite($id, "text", 0, 4) or die "shmwrite: $!";
my $at = pack("Q", syscall(30, $id, 0, 0));	# shmat
my @children;

# 1, or why not. A child lives until it is told to end, and says at once what
# it finds in the segment.
sub child {
    pipe(my $told, my $tell) or die "pipe: $!";
    my $pid = $by_number ? syscall(57) : fork;
    return "$!" if !defined $pid || $pid < 0;
    if (!$pid) {
        shmctl($id, 2, my $ds);
        syswrite $tell, unpack("P4", $at);
        sleep 60;
        exit;
    }
    close $tell;
    push @children, $pid;
    sysread($told, my $found, 4) or return "a child has no segment";
    $found eq "text" || "a child found $found";
}
sub end {
    kill "TERM", @children;
    waitpid($_, 0) for @children;
    @children = ();
}
my ($said, $n) = (child(), 0);
print "with space: $said\n";
open(my $fill, ">", $full) or die "$full: $!";
1 while syswrite $fill, "\0" x 4096;
$n++ while $n < 1000 && ($said = child()) eq 1;
print "full: $said", $n ? "" : " at once", "\n";
end();
print "they are gone: ", child(), "\n";
end();
truncate($fill, 0);
$n = grep { child() eq 1 } 1 .. 200;
print "$n with space\n";
end();
my $attached = unpack("x88 Q", do { shmctl($id, 2, my $ds); $ds });
print "attached: $attached\n";
shmctl($id, 0, 0);
PERL
for number in 0 1; do
    is "fork $number" "$(LD_PRELOAD=$shim timeout 60 perl \
        "$work/fork.pl" "$small/fill" "$number" 2>&1)" "with space: 1
full: Cannot allocate memory
they are gone: 1
200 with space
attached: 1"
    rm -f "$small/fill"
    is "whole" "$("$tool" check 2>&1)" "all invariants hold"
done
exit $bad
