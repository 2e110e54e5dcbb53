#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - prove the protocols' models with Spin, and that each known fault
# breaks them.
#
#	tests/model/spin/run.sh [MODEL...]
#
# A model is a file NAME.pml of this directory; all of them by default. Lines of
# its head comment say how it is run:
#
#	Variants: ONE TWO	must hold as it stands, and with -DONE, and -DTWO
#	Faults: FAULT_1 FAULT_2	with each of these alone it must fail
#
# A variant of a fault is written FAULT_1+ONE. A line "ok" or "FAIL" for each;
# the exit status is 1 if one failed, 77 if Spin is not there.

set -u
cd "$(dirname "$0")" || exit 2

for p in spin gcc; do
    command -v $p >/dev/null || {
        echo "no $p here"
        exit 77
    }
done

models=()
for arg; do
    case $arg in
    -h | --help)
        sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) models+=("${arg%.pml}.pml") ;;
    esac
done
((${#models[@]})) || models=(*.pml)

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0

# head MODEL WORD: what stands behind "WORD:" in the head comment
head_words() {
    sed -n "s/^ \* $2://p; /\*\//q" "$1"
}

# prove MODEL SWITCHES: 0 it holds, 1 Spin found an error, 2 it could not be run
prove() {
    local model=$1 s flags=()
    for s in ${2//+/ }; do
        flags+=("-D$s")
    done
    rm -f "$work"/*
    cp "$model" "$work" && cd "$work" || return 2
    # -o3: no merging of statements, which a kill may come between
    spin -a -o3 "${flags[@]}" "$model" >log 2>&1 &&
        gcc -O1 -w -o pan -DMEMLIM=1024 -DSAFETY -DVECTORSZ=2048 pan.c \
            >>log 2>&1 || return 2
    timeout 300 ./pan -m1000000 -w22 >log 2>&1 || return 2
    # A search that was cut short proves nothing.
    ! grep -qE 'max search depth too small|out of memory|MEMLIM' log || return 2
    grep -q 'errors: 0$' log && return 0
    grep -qE 'errors: [0-9]+$' log && return 1
    return 2
}

# try MODEL SWITCHES EXPECTED
try() {
    local model=$1 name=${1%.pml}${2:+ $2} status states
    (prove "$model" "$2")
    status=$?
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$work/log")
    if ((status == $3)); then
        echo "ok $name: $( ((status)) && echo an error, as it must be, in ||
            echo holds in) ${states:-0} states"
        return
    fi
    case $status in
    0) echo "FAIL $name: the fault is not found" ;;
    1) echo "FAIL $name: $(grep -m 1 '^pan:' "$work/log")" ;;
    *) echo "FAIL $name: could not be run" && tail -n 20 "$work/log" ;;
    esac
    failed=1
}

for model in "${models[@]}"; do
    [[ -r $model ]] || {
        echo "run.sh: no model $model" >&2
        exit 2
    }
    [[ -n $(head_words "$model" Faults) ]] || {
        echo "FAIL ${model%.pml}: its head names no faults"
        failed=1
    }
    try "$model" "" 0
    for s in $(head_words "$model" Variants); do
        try "$model" "$s" 0
    done
    for s in $(head_words "$model" Faults); do
        try "$model" "$s" 1
    done
done
exit $failed
