#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_doctor.sh - doctor finds no fault if there is none, and each one that there is;
# bench measures both sides.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
shim=${IPCLIFT_SHIM:?names no libipclift.so}

# says TEXT: doctor's output has it
says() {
    grep -cF -- "$1" "$work/out"
}

is "doctor" "$(status "$ipclift" doctor)" 0
is "calls do the same" "$(grep -cE \
    '^ok +72 calls have the same results on kernel and shim$' "$work/out")" 1
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

# ---- gcc's AddressSanitizer wants to be first
echo 'int main(void) { return 0; }' >"$work/asan.c"
if gcc -fsanitize=address -o "$work/asan" "$work/asan.c" 2>/dev/null; then
    is "a program with it does not start" "$(status "$ipclift" run -- \
        "$work/asan")" 1
    is "doctor says why" "$(status "$ipclift" doctor --quick "$work/asan")" 1
    is "and what to do" \
        "$(says '-> ASAN_OPTIONS=verify_asan_link_order=0 in')" 1
    export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
    is "then it starts" "$(status "$ipclift" run -- "$work/asan")" 0
    is "and doctor knows" "$(status "$ipclift" doctor --quick "$work/asan")" 0
    unset ASAN_OPTIONS
else
    echo "skip: no libasan"
fi

# ---- a registry of another version: magic, then the version
printf '\1' | dd of="$IPCLIFT_REGISTRY" bs=1 seek=8 conv=notrunc status=none
is "another version" "$(status "$ipclift" doctor --quick)" 1
is "what to do" "$(says "-> rm $IPCLIFT_REGISTRY")" 1
exit $bad
