# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# room.sh - the head of a script that fills the registry's file system; to be
# sourced with the size that it has and the script's own arguments. In
# namespaces of their own, $small is then the file system, with
# $IPCLIFT_REGISTRY in it, and $work a directory elsewhere; both go at the end.
# 77 without root.

# shellcheck disable=SC2034 # the script's
shim=${IPCLIFT_SHIM:?names no libipclift.so}
# shellcheck disable=SC2034 # the script's
tool=${IPCLIFT_TOOL:?names no ipclift}
if [[ ${2-} != inside ]]; then
    ((EUID == 0)) || {
        echo "needs root, to mount a small file system"
        exit 77
    }
    exec unshare --ipc --mount bash "$0" inside
fi
work=$(mktemp -d) || exit 1
small=$work/small
trap 'umount "$small"; rm -rf "$work"' EXIT
mkdir "$small"
mount -t tmpfs -o size="$1" none "$small" || exit 1
export IPCLIFT_REGISTRY=$small/registry
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"
