#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_strict.sh - ipclift run --strict: no program of the tree reaches the
# kernel's objects, whatever it is and however it calls; those that are served are
# served as without.

set -u
ipclift=${IPCLIFT_TOOL:?the command}
here=$(cd "$(dirname "$0")" && pwd)
if [[ -z ${STRICT_INSIDE-} ]]; then
    unshare --ipc --mount true 2>/dev/null || {
        echo "unshare needs root"
        exit 77
    }
    STRICT_INSIDE=1 exec unshare --ipc --mount "$BASH" "$0"
fi
# For other users, too.
work=$(mktemp -d /tmp/strict.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
export IPCLIFT_REGISTRY=$work/registry
# shellcheck source=tests/preload/checks.sh
. "$here/checks.sh"

gcc -O1 -static -D_GNU_SOURCE -o "$work/kernel" "$here/app_kernel.c" || exit 1
strict() {
    "$ipclift" run --strict "$@"
}
# A program that is served starts the one that is not.
child() {
    strict -- sh -c "exec $work/kernel $1"
}
# The answers, once each, of the facilities whose names match
answers() {
    grep -E "$1" "$work/out" | awk '{ print $2 }' | sort -u | paste -sd ' '
}

for how in native i386; do
    "$work/kernel" $how >"$work/out"
    if [[ $how == i386 && $(answers .) == ENOSYS ]]; then
        echo "skip: this kernel has no i386 calls"
        continue
    fi
    is "$how: the kernel serves them" "$(grep -c ENOSYS "$work/out")" 0
    child $how >"$work/out"
    is "$how: none with --strict" "$(answers .)" ENOSYS
    is "$how: of how many" "$(wc -l <"$work/out")" \
        "$([[ $how == native ]] && echo 18 || echo 22)"
done
child x32 >"$work/out"
is "x32: none" "$(answers .)" ENOSYS
strict --private -- sh -c "exec $work/kernel native" >"$work/out"
is "nor with --private" "$(answers .)" ENOSYS
strict --route=-shm -- sh -c "exec $work/kernel native" >"$work/out"
is "but what is left to it" "$(answers ^shm | grep -c ENOSYS) $(answers \
    '^(sem|msg|mq)')" "0 ENOSYS"
strict --route sem -- sh -c "exec $work/kernel native" >"$work/out"
is "or all but one" "$(answers ^sem) $(grep -c ENOSYS "$work/out")" "ENOSYS 4"

# ---- the served
is "makes in the registry" "$(strict -- sh -c \
    'ipcmk -S 1; ipcmk -M 8; ipcmk -Q; ipcs -sqm' | grep -cE '^(Sem|Sha|Mes|0x)')" 6
is "and removes" "$(strict -- ipcrm -a; strict -- ipcs -sqm | grep -c ^0x)" 0
is "bare calls of a program with a libc" "$(strict -- perl -e '
    print syscall(64, 5, 1, 01600) >= 0 ? "served" : "$!"')" served
for f in mq_notify_socket mq_notify mq_calls shm_get; do
    for how in "" --strict; do
        rm -rf "$work"/r "$work"/r.mq
        # shellcheck disable=SC2086 # a word or none
        IPCLIFT_REGISTRY=$work/r "$ipclift" run $how -- \
            "$IPCLIFT_TESTS/preload/$f" >"$work/out$how" 2>&1
    done
    is "$f says the same with and without" \
        "$(diff "$work/out" "$work/out--strict" | head -n 5)" ""
done

# ---- rights
setpriv --reuid 65534 --regid 65534 --clear-groups env \
    IPCLIFT_REGISTRY= "$ipclift" run --private --strict -- \
    sh -c "$work/kernel native; grep NoNewPrivs /proc/self/status" >"$work/out" \
    2>&1
is "a user without rights" "$(grep -c ENOSYS "$work/out") $(awk '/NoNew/ {
    print $2 }' "$work/out")" "18 1"
is "root keeps set-user-ID programs" \
    "$(strict -- awk '/NoNew/ { print $2 }' /proc/self/status)" 0
rmdir /dev/shm/ipclift-65534 2>/dev/null
# No check: how much is the machine's.
echo "a getppid: $("$work/kernel" ns) ns, with --strict $(child ns) ns, again" \
    "$("$work/kernel" ns) and $(child ns)"
exit $bad
