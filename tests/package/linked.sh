#!/bin/bash
# SPDX-License-Identifier: MIT
#
# linked.sh - a program linked with what the pkg-config file says makes its objects
# in the registry, not in the kernel, without LD_PRELOAD.
#
# PKG_CONFIG is the command to ask (pkg-config ipclift), IPCLIFT_TOOL the command.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ipclift=${IPCLIFT_TOOL:-ipclift}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export IPCLIFT_REGISTRY=$dir/registry
unset LD_PRELOAD

# Behind the program's own files, as a build system does it.
flags=$(${PKG_CONFIG:-pkg-config ipclift} --libs)
# shellcheck disable=SC2086 # words
gcc -Wl,--as-needed -o "$dir/linked" "$here/linked.c" $flags
"$dir/linked"

kernel=$(cat /proc/sysvipc/{sem,msg,shm} | awk '$1 >= 4544 && $1 <= 4546')
[[ -z $kernel ]] || {
    echo "in the kernel: $kernel"
    exit 1
}
found=$("$ipclift" ls | grep -cE '0x0*11c[012]|/linked')
[[ $found == 4 ]] || {
    echo "$found of 4 objects are in the registry:"
    "$ipclift" ls
    exit 1
}
"$ipclift" check
