#!/bin/bash
# SPDX-License-Identifier: MIT
#
# stress_ng.sh - stress-ng with --verify: each of its stressors of System V and
# POSIX IPC ends well on the kernel and under the shim, as root and as another
# user, and leaves nothing behind. sem, of POSIX, is libc's own and runs for its second.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
command -v stress-ng >/dev/null || skip "no stress-ng"
own_ipc_namespace "$@"

cp "${IPCLIFT_TOOL:?}" "$dir/ipclift"
root_and_nobody
stressors() {
	local user=$1 name

	shift
	for name in sem sem-sysv msg mq shm-sysv shm; do
		as "$user" timeout 60 "$@" stress-ng --verify --quiet \
			--temp-path "$dir/other" --timeout $(limit $name) \
			--"$name" 2 --"$name"-ops "$(ops $name)" \
			>"$dir/out" 2>&1 && echo "$name good" ||
			{ echo "$name $?"; cat "$dir/out"; }
	done
}
limit() {
	case $1 in
	sem) echo 1s ;;
	*) echo 20s ;;
	esac
}
ops() {
	case $1 in
	shm*) echo 6 ;;
	*) echo 5000 ;;
	esac
}

for user in "${users[@]}"; do
	stressors "$user" >"$dir/kernel"
	stressors "$user" env "LD_PRELOAD=$shim" \
		"IPCLIFT_REGISTRY=$dir/other/$user" >"$dir/shim"
	check "$user: the kernel's are good" \
		[ "$(grep -c ' good$' "$dir/kernel")" = 6 ]
	check "$user: the same under the shim" diff "$dir/kernel" "$dir/shim"
	check "$user: nothing is left" left_clean "$user" "$dir/other/$user"
done
check "nor in the kernel" [ "$(kernel_objects)" = 0 ]
finish
