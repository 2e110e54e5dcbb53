#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_doctor.sh - doctor finds nothing wrong where nothing is, and what is wrong
# where something is; bench measures both sides.

set -u
if [[ -z ${TOOL_DOCTOR_INSIDE-} ]]; then
    TOOL_DOCTOR_INSIDE=1 exec unshare --ipc --mount bash "$0"
fi
ipclift=${IPCLIFT_TOOL:?the command}
shim=${IPCLIFT_SHIM:?names no libipclift.so}
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" doctor.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
export IPCLIFT_REGISTRY=$work/registry
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"

# says TEXT: doctor's output has it
says() {
    grep -cF -- "$1" "$work/out"
}

is "doctor" "$(status "$ipclift" doctor)" 0
is "calls do the same" "$(grep -cE \
    '^ok +72 calls do the same on kernel and shim$' "$work/out")" 1
is "no fault" "$(grep -c '^FAULT' "$work/out")" 0
is "the probes left nothing" "$(tail -q -n +2 /proc/sysvipc/{sem,msg,shm} |
    wc -l)" 0
is "fits 80 columns but for paths" \
    "$(grep -v "$work\|$shim" "$work/out" | awk 'length > 80')" ""

# ---- the kernel has the same key
make='semget(0x77, 1, 01600) // die'
perl -e "$make"
is "a key of the kernel's" "$(status "$ipclift" doctor --quick)" 0
is "is a warning" "$(says 'the kernel holds 1 objects with keys')" 1
"$ipclift" run -- perl -e "$make"
is "the same key in both" "$(status "$ipclift" doctor --quick)" 0
is "is told from that" "$(says '1 keys stand for an object of the kernel and')" 1
is "with how to mend it" "$(says '-> ipcrm -S 0x77')" 1
is "and a verdict" "$(tail -n 1 "$work/out")" \
    "Verdict: programs are served here; mind the warnings."
is "--quick tries no calls" "$(says 'calls do')" 0

# ---- no library
mkdir "$work/bin"
cp "$ipclift" "$work/bin/ipclift"
is "without its library" "$(status "$work/bin/ipclift" doctor --quick)" 1
is "says so" "$(says 'libipclift.so is neither beside this program')" 1
printf 'no library' >"$work/libipclift.so"
is "with one that is none" "$(status "$work/bin/ipclift" doctor --quick)" 1
is "says so" "$(says 'the loader does not preload the library')" 1

# ---- where LD_PRELOAD cannot reach
mkdir -p "$work/a b/shim/tool"
cp "$shim" "$work/a b/shim/"
cp "$ipclift" "$work/a b/shim/tool/"
is "a path with a blank" \
    "$(status "$work/a b/shim/tool/ipclift" doctor --quick)" 1
is "says so" "$(says "the library's path has a ' ' or ':'")" 1
is "is not run" "$(status "$work/a b/shim/tool/ipclift" run -- true)" 125
is "in one line" "$(grep -c 'cannot hold' "$work/err") $(wc -l <"$work/err")" \
    "1 1"

# ---- a registry of another version: magic, then the version
printf '\1' | dd of="$IPCLIFT_REGISTRY" bs=1 seek=8 conv=notrunc status=none
is "another version" "$(status "$ipclift" doctor --quick)" 1
is "what to do" "$(says "-> rm $IPCLIFT_REGISTRY")" 1
exit $bad
