#!/bin/bash
# SPDX-License-Identifier: MIT
#
# openmpi.sh - OpenMPI whose ranks share segments of System V (--mca shmem sysv):
# two ranks of a program compiled by mpicc sum up and send, on the kernel and
# under the shim, as root and as another user, with the options of
# examples/openmpi.txt; while they run their segments are in the registry, and
# none is left.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
for need in mpicc mpirun; do
	command -v $need >/dev/null || skip "no $need"
done
own_ipc_namespace "$@"

mpi=$(helper mpi mpicc) || exit 1
cp "${IPCLIFT_TOOL:?}" "$dir/ipclift"
root_and_nobody
nobody+=(env "HOME=$dir/other/nobody")
# Without a network, and with more ranks than there may be cores.
ranks() {
	local user=$1

	shift
	as "$user" env "TMPDIR=$dir/other/$user" timeout 60 "$@" mpirun --allow-run-as-root --oversubscribe \
		--mca shmem sysv --mca btl self,vader \
		--mca btl_vader_single_copy_mechanism none -np 2 "$mpi" \
		>"$dir/out" 2>&1
}

for user in "${users[@]}"; do
	registry=$dir/other/$user.registry
	as "$user" mkdir "$dir/other/$user"
	ranks "$user"
	check "$user: on the kernel" grep -q '^good, [1-9].* segments' "$dir/out"
	[ $failed = 0 ] || { cat "$dir/out"; break; }
	grep '^good' "$dir/out" >"$dir/kernel"
	ranks "$user" env "LD_PRELOAD=$shim" "IPCLIFT_REGISTRY=$registry"
	grep '^good' "$dir/out" >"$dir/shim"
	check "$user: the same under the shim" diff "$dir/kernel" "$dir/shim"
	[ $failed = 0 ] || { cat "$dir/out"; break; }
	check "$user: nothing is left" left_clean "$user" "$registry"
done
check "nor in the kernel" [ "$(kernel_objects)" = 0 ]
finish
