#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rt_tests.sh - rt-tests' pmqtest (queues, with and without a timeout that ends),
# svsematest (sets among threads and processes) and ptsematest: each makes its
# round trips on the kernel and under the shim, as root and as another user. What
# they measure is not compared: no machine of a test is quiet.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
command -v pmqtest >/dev/null || skip "no rt-tests"
own_ipc_namespace "$@"

cp "${IPCLIFT_TOOL:?}" "$dir/ipclift"
root_and_nobody
# They want to be real-time threads that lock their memory.
nobody+=(--inh-caps +sys_nice,+ipc_lock --ambient-caps +sys_nice,+ipc_lock)
# What a program said: how many round trips its fastest pair has made, which ends
# all of them (the others may not have begun), or that a timeout has.
told() {
	grep -o 'timed out' "$dir/out" ||
		sed -n 's/.*"samples": \([0-9]*\).*/\1/p' "$dir/other/json" |
		sort -n | tail -n 1
}
programs() {
	local user=$1 line

	shift
	while read -r line; do
		rm -f "$dir/other/json"
		# shellcheck disable=SC2086 # words
		as "$user" timeout 30 "$@" $line -i 500 \
			--json="$dir/other/json" >"$dir/out" 2>&1
		echo "$line: $? $(told)"
	done <<-END
	pmqtest -l 200
	pmqtest -S -l 200
	pmqtest -T 1 -l 200
	svsematest -l 200
	svsematest -S -l 200
	svsematest -f -l 200
	ptsematest -l 200
	END
}

for user in "${users[@]}"; do
	programs "$user" >"$dir/kernel"
	programs "$user" env "LD_PRELOAD=$shim" \
		"IPCLIFT_REGISTRY=$dir/other/$user" >"$dir/shim"
	check "$user: round trips are made" \
		[ "$(grep -c ': 0 200$' "$dir/kernel")" = 6 ]
	check "$user: the same under the shim" diff "$dir/kernel" "$dir/shim"
	check "$user: nothing is left" left_clean "$user" "$dir/other/$user"
done
check "nor in the kernel" [ "$(kernel_objects)" = 0 ]
finish
