#!/bin/bash
# SPDX-License-Identifier: MIT
#
# leases.sh - messages on lease go back to their old place when the receiver is killed,
# and not when it acknowledges or exits in order (app_lease.c); by IPCLIFT_LEASE, and by
# `ipclift set`; and how show, save and gc treat them. The kernel has no leases to
# compare with.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
tool=${IPCLIFT_TOOL:?}
at() {
	"$tool" "$1" --registry "$IPCLIFT_REGISTRY" "${@:2}"
}

# all KIND PROGRAM CHECKS
all() {
	new_registry
	"$tool" create "$IPCLIFT_REGISTRY" >/dev/null &&
		at set msgmax=100000 msgmnb=1000000 &&
		LD_PRELOAD=$shim IPCLIFT_LEASE=$1 "$2" "$1" >"$dir/said" ||
		fail "$1, $(basename "$2")" "$dir/said"
	grep "^FAIL" "$dir/said"
	check "$1, $(basename "$2"): $(grep -c ^ok "$dir/said") checks" \
		[ "$(grep -c ^ok "$dir/said")" = "$3" ]
	check "the registry is whole" at check
}
program=$(helper lease gcc -D_GNU_SOURCE) || exit 1
all msg "$program" 55
all mq "$program" 59
if command -v musl-gcc >/dev/null; then
	program=$(helper lease musl-gcc -D_GNU_SOURCE) || exit 1
	all msg "$program" 55
	all mq "$program" 59
fi

# By queue: whoever receives leases it.
cat >"$dir/hold.pl" <<'END'
my ($id, $then) = @ARGV;
my $m;
msgrcv($id, $m, 100, 0, 0) or die "$!";
syswrite STDOUT, "has\n";
exit 0 if $then eq "exit";
sleep 100;
END
# hold THEN: $holder has received one
hold() {
	rm -f "$dir/has"
	LD_PRELOAD=$shim perl "$dir/hold.pl" "$id" "$1" >"$dir/has" &
	holder=$!
	until [ -s "$dir/has" ]; do sleep 0.01; done
}
put() {
	LD_PRELOAD=$shim perl -e 'msgsnd($ARGV[0], pack("l! a*", 5, "x" x 20), 0)
		or die' "$id"
}
messages() {
	at show msg "$id" --json | sed -n 's/.*"messages": \([0-9]*\).*/\1/p'
}
new_registry
id=$(LD_PRELOAD=$shim perl -e 'print msgget(77, 01600)')
check "no leases without being asked" \
	[ "$(at get "lease:msg/$id" | awk '{ print $2 }')" = off ]
put
hold sleep
kill -9 "$holder"
wait "$holder" 2>/dev/null
check "a message is lost with its receiver, as in the kernel" [ "$(messages)" = 0 ]
check "set lease" at set "lease:msg/$id=on"
check "get lease" [ "$(at get "lease:msg/$id" | awk '{ print $2 }')" = on ]
put
hold sleep
at show msg "$id" >"$dir/shown"
check "show: who has it" grep -q "^ *$holder  *$holder  *5  20 B .*perl" "$dir/shown"
check "it is no message of the queue" [ "$(messages)" = 0 ]
at save "$dir/saved" >/dev/null
kill -9 "$holder"
wait "$holder" 2>/dev/null
at gc sem >/dev/null
check "gc: it is again" [ "$(messages)" = 1 ]
hold exit
wait "$holder"
at gc sem >/dev/null
check "who ends in order has acknowledged it" [ "$(messages)" = 0 ]
IPCLIFT_REGISTRY=$dir/restored
at restore "$dir/saved" >/dev/null
check "save has what is on lease" [ "$(messages)" = 1 ]
IPCLIFT_REGISTRY=$dir/registry
check "off again" at set "lease:msg/$id=off"
put
hold sleep
kill -9 "$holder"
wait "$holder" 2>/dev/null
at gc sem >/dev/null
check "then a message is lost with its receiver" [ "$(messages)" = 0 ]

refused() {
	! at set "$1" 2>"$dir/why" && grep -q "$2" "$dir/why"
}
check "a set has none" refused lease:sem/0=on "only msg and mq"
check "a queue that is not there" refused lease:msg/4711=on "no such"
check "neither on nor off" refused "lease:msg/$id=yes" "on or =off"
check "the registry is whole" at check
finish
