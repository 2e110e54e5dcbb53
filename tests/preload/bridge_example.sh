#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bridge_example.sh - examples/two_machines.sh: answers come from the other
# machine, nothing is left when it has ended, nor when it is ended; a wrong answer
# is noticed.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
tool=${IPCLIFT_TOOL:?names no ipclift}
example=$here/../../examples/two_machines.sh

# left: what the example makes, of everybody's, and Redis
left() {
	ls -d /dev/shm/ipclift-machines.* 2>/dev/null
	grep -lsa "ipclift-machines\." /proc/[0-9]*/cmdline
	ip -o link 2>/dev/null | grep -E "(north|south)[@:]"
}
nothing_left() {
	local i

	for ((i = 0; i < 100; i++)); do
		[ "$(left)" != "$before" ] || return 0
		sleep 0.05
	done
	diff <(echo "$before") <(left)
}
before=$(left)

"$example" "$tool" >"$dir/said" 2>&1
status=$?
[ $status != 77 ] || skip "$(tail -n 1 "$dir/said")"
[ $status = 0 ] || fail "exit status $status" "$dir/said"
for n in 7 11 100 1000 13; do
	check "the answer to $n" grep -q "$n squared is $((n * n))\b" "$dir/said"
done
if grep -q "cable" "$dir/said"; then
	check "the answer after the cable" grep -q "12 squared is 144" "$dir/said"
else
	echo "skip: no veth: the cable is not pulled"
fi
check "nothing wrong is told" bash -c "! grep -qE 'WRONG|rror' '$dir/said'"
check "it leaves nothing" nothing_left

# Ended in the middle.
"$example" "$tool" >"$dir/ended" 2>&1 &
ended=$!
for ((i = 0; i < 500; i++)); do
	! grep -q "^== 2" "$dir/ended" || break
	sleep 0.01
done
check "it runs again" grep -q "^== 2" "$dir/ended"
kill -TERM "$ended"
wait "$ended"
check "it can be ended" [ $? = 130 ]
check "then it leaves nothing, too" nothing_left

# A server that cannot reckon.
mkdir -p "$dir/examples"
sed 's/\$number \* \$number)/$number * $number + 1)/' "$example" \
	>"$dir/examples/two_machines.sh"
check "a wrong answer is noticed" [ "$(bash "$dir/examples/two_machines.sh" \
	"$(realpath "$tool")" >"$dir/wrong" 2>&1; echo $?)" = 1 ]
check "and told" grep -q "WRONG: not '13 squared is 169'" "$dir/wrong"
finish
