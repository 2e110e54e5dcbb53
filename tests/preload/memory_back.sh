#!/bin/bash
# SPDX-License-Identifier: MIT
#
# memory_back.sh - a thread does not keep the memory of one large call, neither while it is
# idle nor when it has exited; if it is killed, the memory is freed by gc, or when
# another thread takes over its record. SEM_UNDO records of exited processes are freed
# when others start, and so is the memory of receivers that were killed asleep. A queue
# without a name is removed when the last call on it ends, its descriptor being closed.

set -u
ipclift=${IPCLIFT_TOOL:?the command}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" memory.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"
gcc -O1 -o "$work/app" "$here/app_memory.c" -pthread || exit 1

used() { # MiB
    du --block-size=1M "$IPCLIFT_REGISTRY" | cut -f1
}
few() { # a registry with the 4 MiB of free pages that the heap keeps
    [ "$1" -le 10 ] && echo few || echo "$1 MiB"
}
begin() { # WHAT N
    export IPCLIFT_REGISTRY=$work/$1
    coproc app { exec "$ipclift" run -- "$work/app" "$@"; }
    pid=$!
    read -r line <&"${app[0]}"
    is "$1: all have done it" "$line" done
}
end() {
    eval "exec ${app[1]}>&-"
    wait $pid
}

for what in "mq 10" "setall 20" "closed 3" "undo 300" "asleep 2000"; do
    # shellcheck disable=SC2086 # words
    begin $what
    is "$what: while they are idle" "$(few "$(used)")" few
    end
    is "$what: when they have ended" "$(few "$(used)")" few
    is "$what: sound" "$("$ipclift" check)" "all invariants hold"
    "$ipclift" gc >/dev/null
    is "$what: sound after gc" "$("$ipclift" check)" "all invariants hold"
done

# Each is killed asleep with its message. The queues go with them.
begin full 6
wait_for() { # COMMAND: succeeds within a minute
    local i
    for ((i = 0; i < 100; i++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
}
all_sleep() {
    [ "$("$ipclift" waits --json | grep -o '"pid"' | wc -l)" -ge 6 ]
}
wait_for all_sleep
is "asleep: they have their messages" "$(($(used) > 90))" 1
end
# They are killed as their parent ends, and nobody waits for them here.
is_over() {
    "$ipclift" gc >>"$work/gc"
    [ "$(few "$(used)")" = few ]
}
wait_for is_over
is "killed: gone after gc" "$(few "$(used)")" few
is "killed: sound" "$("$ipclift" check)" "all invariants hold"
exit $bad
