#!/bin/bash
# SPDX-License-Identifier: MIT
#
# exports.sh - the built library exports what exports.map lists, nothing else,
# and needs nothing of a libc but what it looks up lazily (DESIGN §10).

set -u
lib=${IPCLIFT_SHIM:?names libipclift.so}
map=$(dirname "$0")/../../shim/entry/exports.map
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

sed 's|/\*.*\*/||; s|#.*||' "$map" | sed -n '/global:/,/local:/p' |
    tr -d ' \t' | tr ';' '\n' | sed 's/^global://; /local:/d; /^$/d' |
    sort >"$work/listed"
nm -D --defined-only "$lib" | awk '$2 != "A" { print $3 }' |
    sed 's/@.*//' | sort >"$work/exported"
[[ -s $work/listed ]] || {
    echo "FAIL nothing read from $map"
    exit 1
}
if ! diff "$work/listed" "$work/exported"; then
    echo "FAIL exports.map (<) and the library (>) differ"
    bad=1
fi

# Weak imports may be missing; of the strong ones every libc has this.
nm -D --undefined-only "$lib" | awk '$1 == "U" { print $2 }' |
    sed 's/@.*//' | grep -vx __errno_location >"$work/strong"
if [[ -s $work/strong ]]; then
    echo "FAIL strong imports:"
    cat "$work/strong"
    bad=1
fi
if readelf -d "$lib" | grep NEEDED; then
    echo "FAIL it needs a library"
    bad=1
fi
exit $bad
