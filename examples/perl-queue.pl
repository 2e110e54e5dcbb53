#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Perl's own IPC::Msg, unchanged. What you will see, on the kernel and under the
# shim (LD_PRELOAD=libipclift.so):
#
#	3 low, 1 left
#	5 hello, 0 left
use strict;
use warnings;
use IPC::SysV qw(IPC_PRIVATE S_IRUSR S_IWUSR);
use IPC::Msg;

my $queue = IPC::Msg->new(IPC_PRIVATE, S_IRUSR | S_IWUSR) or die "msgget: $!";
$queue->snd(5, "hello") or die "msgsnd: $!";
$queue->snd(3, "low") or die "msgsnd: $!";
for my $type (-9, 5) {
	my $text;
	my $got = $queue->rcv($text, 100, $type) or die "msgrcv: $!";
	printf "%d %s, %d left\n", $got, $text, $queue->stat->qnum;
}
$queue->remove;
