# SPDX-License-Identifier: MIT
# look_lease.pl - what the tests of top and metrics look at: three messages in a
# queue, of which this process has received one and a child two, the first of
# which is acknowledged thereby. With IPCLIFT_LEASE=msg. Its child ends before it.
use strict;
my $child;
$SIG{TERM} = sub { kill 9, $child; waitpid $child, 0; exit };
my $q = msgget(1, 01600);
msgsnd($q, pack("l! a*", 1, "hello"), 0) for 1 .. 6;
sub take { my $m; msgrcv($q, $m, 100, 0, 0) for 1 .. $_[0] }
pipe my $from, my $to;
$child = fork;
if (!$child) {
    $SIG{TERM} = 'DEFAULT';
    take(2);
    syswrite $to, "x";
    sleep 1000;
    exit;
}
take(1);
sysread $from, my $taken, 1;
$| = 1;
print "ready $$ $child\n";
sleep 1000;
