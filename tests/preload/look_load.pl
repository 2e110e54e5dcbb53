# SPDX-License-Identifier: MIT
# look_load.pl - what the tests of top and metrics look at: a set, a queue with
# traffic, a segment, two processes in a deadlock. Its children end before it.
use strict;
my @children;
$SIG{TERM} = sub { kill 9, @children; 1 while wait > 0; exit };
my $q = msgget(1, 01600);
my $s = semget(2, 2, 01600);
semctl($s, 0, 17, pack "s2", 1, 1);
shmget(3, 1 << 20, 01600);
sub take { semop($s, pack("s3", $_[0], -1, 0x1000)) }
sub child {
    my $work = shift;
    my $pid = fork;
    if (!$pid) { $SIG{TERM} = 'DEFAULT'; $work->(); exit }
    push @children, $pid;
}
# Each takes its second when both have their first, however late that is.
sub takes_both {
    my ($first, $second) = @_;
    take($first);
    select undef, undef, undef, .01
        while semctl($s, 0, 12, 0) + semctl($s, 1, 12, 0); # "0 but true"
    take($second);
}
child(sub { takes_both(0, 1) });
child(sub { takes_both(1, 0) });
child(sub {
    while (1) {
        msgsnd($q, pack("l! a*", 1, "hello"), 0);
        select undef, undef, undef, .001;
    }
});
child(sub { my $m; msgrcv($q, $m, 100, 0, 0) while 1 });
$| = 1;
print "ready\n";
sleep 1000;
