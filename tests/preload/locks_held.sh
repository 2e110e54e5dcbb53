#!/bin/bash
# SPDX-License-Identifier: MIT
#
# locks_held.sh - how long others are held up: calls at large sizes, and the
# longest hold of any lock meanwhile as `ipclift locks --on` shows it. A table is
# printed: the least of some rounds, for a hold in which its owner was preempted
# says nothing.
#
#	locks_held.sh [CASE...]		(app_holds --all names them)
#
# Not asserted by default: fork and shmat hold the own process's lock, which only
# those want who ask for its attachments; in the longest of some ten thousand holds
# the machine's other work is seen, and so it is where 1,500 that were let go run
# beside who lets them go ("who leaves"; the pass under its task's lock: 2 to 14 ms).
# GETNCNT asks for each sleeper whether it is stopped, a system call each.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
: "${IPCLIFT_TOOL:?names no ipclift}"
command -v python3 >/dev/null || skip "no python3"

# What is promised are 100 us on a quiet machine of today; arbitrary: slower
# ones, and those that run something else, get four times that.
limit_us=400
rounds=8
bin=$(helper holds "${CC:-cc}" -lrt) || exit 1
export IPCLIFT_LIMITS=roomy

# round CASE: "NS LOCK" of the longest hold
round() {
	rm -rf "$dir"/registry*
	LD_PRELOAD=$shim "$bin" "$1" >"$dir/json" 2>"$dir/err" || return 1
	python3 -c 'import json, sys
rows = json.load(open(sys.argv[1]))
print(*max([(r["max"], r["name"]) for r in rows] or [(0, "none")]))' "$dir/json"
}

if (($#)); then
	cases=("$@")
else
	mapfile -t cases < <("$bin" --list)
fi
for name in "${cases[@]}"; do
	least=
	for ((i = 0; i < rounds; i++)); do
		if ! got=$(round "$name"); then
			fail "$name" "$dir/err"
			continue 2
		fi
		if [[ -z $least ]] || ((${got%% *} < ${least%% *})); then
			least=$got
		fi
		((${least%% *} > limit_us * 250)) || break
	done
	us=$((${least%% *} / 1000))
	line=$(printf '%-36s %6d us  %s' "$name" "$us" "${least#* }")
	if ((us > limit_us)); then
		fail "$line: more than $limit_us us"
	else
		ok "$line"
	fi
done
check "the registry is whole" "$IPCLIFT_TOOL" check
finish
