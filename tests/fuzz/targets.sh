#!/bin/bash
# SPDX-License-Identifier: MIT
#
# targets.sh BUILD SECONDS - run the libFuzzer targets of tests/fuzz/target, so
# many seconds each, from the inputs in tests/fuzz/corpus/TARGET: those are run
# first, and found faults stay there as regression inputs.
#
# BUILD is a build directory of clang with -Dfuzzers=true. Each run tries the same
# inputs, as far as the time goes, so that a fault is seen by who made it; with
# FULL=1 others, of a seed that is printed, and IPCLIFT_FUZZ_SEED=N tries those
# again. Prints a table and, of each crash, hang and growth, the report's head and
# the input in base64; with IPCLIFT_FUZZ_KEEP=DIR its file is left there. Exit
# status 1 if there is one.

set -u
build=${1:?the build directory} seconds=${2:?how many seconds each}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" targets.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
export IPCLIFT_TEST_DIR=$work
# What a command leaves to its end is no leak; what was freed is no growth.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=4
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# An input that takes so long hangs: the slowest take tenths of a second.
# Arbitrary, for a machine that has other things to do.
patience=25
seed=${IPCLIFT_FUZZ_SEED:-$( ((${FULL:-0})) && echo $((SRANDOM | 1)) || echo 1)}
bad=0

# run TARGET: until its time is over, again after each fault
run() {
    local target=$1 end=$((SECONDS + seconds)) log=$work/log kind n next=$seed
    local inputs=("$here/corpus/$target"/*)
    mkdir -p "$work/$target" "$work/found"
    executions=0 crashes=0 hangs=0 growths=0
    # By name: libFuzzer takes a directory's files in the directory's order.
    while ((SECONDS < end)); do
        "$build/tests/fuzz/fuzz-$target" -close_fd_mask=1 -max_len=8192 \
            -max_total_time=$((end - SECONDS)) -timeout=$patience \
            -rss_limit_mb=3000 -print_final_stats=1 -seed="$next" -reload=0 \
            -seed_inputs="$(IFS=, && echo "${inputs[*]}")" \
            -artifact_prefix="$work/found/$target-" "$work/$target" \
            >"$log" 2>&1
        status=$?
        n=$(awk '/number_of_executed_units/ { print $2 }' "$log")
        executions=$((executions + ${n:-0}))
        ((status)) || break
        kind=$(find "$work/found" -name "$target-*" -printf '%f\n' | head -n 1)
        case $kind in
        *-timeout-* | *-slow-*) hangs=$((hangs + 1)) ;;
        *-oom-*) growths=$((growths + 1)) ;;
        *) if grep -q '^growth:' "$log"; then
            growths=$((growths + 1))
        else
            crashes=$((crashes + 1))
        fi ;;
        esac
        grep -E -A 8 'ERROR:|runtime error:|invariant|is not set|^growth:' \
            "$log" | head -n 12
        grep '^Base64' "$log"
        [[ -z ${IPCLIFT_FUZZ_KEEP-} ]] ||
            mv "$work/found/"* "$IPCLIFT_FUZZ_KEEP"
        rm -f "$work/found/"*
        # Of the corpus itself: it would be the same again.
        ((${n:-0} > ${#inputs[@]})) || break
        # Nor shall the next one try the same.
        next=$((next + 1))
    done
    bad=$((bad + crashes + hangs + growths))
    table+=$(printf '%-10s %12d %8d %8d %8d' "$target" $executions $crashes \
        $hangs $growths)
    table+=$'\n'
}

table=
# One name a target: each that was built.
for target in "$build"/tests/fuzz/fuzz-*; do
    [[ ! -f $target || ! -x $target ]] || run "${target##*/fuzz-}"
done
echo "seed $seed"
printf '%-10s %12s %8s %8s %8s\n%s' target executions crashes hangs growth \
    "$table"
((!bad))
