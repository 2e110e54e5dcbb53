# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# checks.sh - the checks of the scripts of tests/preload and tests/fuse; to be sourced,
# with $work the script's own directory. bad is 1 once a check failed.

# shellcheck disable=SC2034 # the script's exit status
bad=0

is() { # is WHAT GOT WANTED
    if [[ $2 == "$3" ]]; then
        echo "ok   $1"
    else
        echo "FAIL $1: '$2' instead of '$3'"
        bad=1
    fi
}

# The exit status of a command, whose output is then in $work/out and /err
status() {
    "$@" >"$work/out" 2>"$work/err"
    echo $?
}
