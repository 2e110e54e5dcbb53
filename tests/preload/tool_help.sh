#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_help.sh - what the command says of itself agrees: every command that
# --help lists has a --help of its own, a place in the manual page and in the
# completion, and so has every option of it.

set -u
ipclift=${IPCLIFT_TOOL:?the command}
here=$(cd "$(dirname "$0")/../../shim/tool" && pwd)
bad=0

fail() {
    echo "FAIL $*"
    bad=1
}

# complete WORD...: what the completion offers for the last word
complete_words() {
    # shellcheck disable=SC1091,SC2034 # bash reads them
    (
        PATH=$(dirname "$ipclift"):$PATH
        source "$here/ipclift.bash"
        COMP_WORDS=(ipclift "$@") COMP_CWORD=$#
        _ipclift
        printf '%s\n' "${COMPREPLY[@]}"
    )
}

commands=$("$ipclift" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 }
    on { print $1 }')
n=0
for command in $commands; do
    n=$((n + 1))
    "$ipclift" "$command" --help >/dev/null || fail "$command --help"
    "$ipclift" "$command" -h | cmp -s - <("$ipclift" "$command" --help) ||
        fail "$command -h"
    "$ipclift" help "$command" | cmp -s - <("$ipclift" "$command" --help) ||
        fail "help $command"
    grep -q "^\.\(SS\|BR\|BI\) \"\{0,1\}ipclift $command" "$here/ipclift.1" ||
        fail "$command is not in the manual page"
    complete_words "" | grep -qx -- "$command" || fail "$command is not completed"
    for option in $("$ipclift" "$command" --help |
        grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        complete_words "$command" "$option" | grep -qx -- "$option" ||
            fail "$command $option is not completed"
        case $option in
        --help | --registry | --name | --foreground | --options) continue ;;
        esac
        # The page writes a dash as \-.
        grep -qF -- "${option//-/\\-}" "$here/ipclift.1" ||
            fail "$command $option is not in the manual page"
    done
done
((n > 10)) || fail "only $n commands"
[[ $bad == 0 ]] && echo "ok   $n commands"
exit $bad
