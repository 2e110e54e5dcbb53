#!/bin/bash
# SPDX-License-Identifier: MIT
#
# shm_kernel_key.sh - keys that the kernel has, and the route past the shim.
#
# A key whose segment, set or queue a program without the shim has made is
# EEXIST with IPC_EXCL under the shim (two PostgreSQL on one data directory);
# without IPC_EXCL, and once the kernel's object is gone, it is made. With
# IPCLIFT_ROUTE=-shm segments are the kernel's. IPCLIFT_SHIM names
# libipclift.so.
set -u
: "${IPCLIFT_SHIM:?names no libipclift.so}"
[ -n "${T_INSIDE-}" ] || T_INSIDE=1 exec unshare --ipc -- "$0"
shim=$(realpath "$IPCLIFT_SHIM")
dir=$(mktemp -d /dev/shm/ipclift-key-XXXXXX)
trap 'rm -rf "$dir"' EXIT

# get NAME KEY FLAGS: errno of the call, 0 if it was made
get() {
	env LD_PRELOAD="$shim" IPCLIFT_REGISTRY="$dir/r" \
		IPCLIFT_ROUTE="${route-}" python3 -c '
import ctypes, sys
lib = ctypes.CDLL(None, use_errno=True)
name, key, flags = sys.argv[1], int(sys.argv[2], 0), int(sys.argv[3], 8)
args = {"shmget": (key, ctypes.c_size_t(4096), flags), "semget": (key, 1, flags)}
ret = getattr(lib, name)(*args[name])
print(0 if ret >= 0 else ctypes.get_errno())' "$@"
}

bad=0
expect() {
	if [ "$2" = "$3" ]; then echo "ok   $1"; else
		echo "FAIL $1: $2, want $3"
		bad=1
	fi
}

key=0x1234567
kernel_id=$(python3 -c "
import ctypes
print(ctypes.CDLL(None).shmget($key, ctypes.c_size_t(4096), 0o1600))")
expect "the kernel's key, IPC_EXCL" "$(get shmget $key 03600)" 17
expect "another key, IPC_EXCL" "$(get shmget $((key + 1)) 03600)" 0
expect "a set of the same key" "$(get semget $key 03600)" 0
expect "the kernel's key without IPC_EXCL" "$(get shmget $key 01600)" 0
ipcrm -m "$kernel_id"
sleep 0.1
route=-shm
expect "past the shim" "$(get shmget $((key + 2)) 03600)" 0
expect "it is the kernel's" "$(tail -n +2 /proc/sysvipc/shm | wc -l)" 1
route=
expect "its key, IPC_EXCL" "$(get shmget $((key + 2)) 03600)" 17
exit $bad
