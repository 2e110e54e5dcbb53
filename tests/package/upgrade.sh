#!/bin/bash
# SPDX-License-Identifier: MIT
#
# upgrade.sh - from 0.1.0 to this version: what 0.1.0 saved is restored, ids, times
# and bytes (saved-0.1.0.gz and what a program found in it then, .txt: made by
# app_objects as tool_save.sh does); each version refuses the other's registries
# and says the way out; both run side by side on different ones.
#
# The second half builds 0.1.0 from this clone's history.
set -u
ipclift=${IPCLIFT_TOOL:?the command}
here=$(cd "$(dirname "$0")" && pwd)
release=91da297 # 0.1.0
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" upgrade.XXXXXX) || exit 1
program=
trap '[[ -z $program ]] || kill $program 2>/dev/null; rm -rf "$work"' EXIT
export IPCLIFT_LIMITS=kernel
# shellcheck source=tests/preload/checks.sh
. "$here/../preload/checks.sh"

on() { # on REGISTRY COMMAND...
    IPCLIFT_REGISTRY=$work/$1 "${@:2}"
}

# ---- a file of 0.1.0
gcc -O1 -o "$work/objects" "$here/../preload/app_objects.c" || exit 1
gunzip -c "$here/saved-0.1.0.gz" >"$work/saved"
is "restore" "$(status on kept "$ipclift" restore "$work/saved")" 0
is "the ids are listed" "$(on kept "$ipclift" ls | awk 'NR > 1 { print $1, $2 }' |
    paste -sd ' ')" "sem 500000 msg 32774 shm 98305 mq /jobs"
on kept "$ipclift" run -- "$work/objects" print >"$work/print"
is "a program finds what it found then" \
    "$(diff "$work/print" "$here/saved-0.1.0.txt")" ""
is "with the limits of then" "$(on kept "$ipclift" get msgmnb msgmax |
    awk '{ print $2 }' | paste -sd ' ')" "30000 100"
is "sound" "$(on kept "$ipclift" check)" "all invariants hold"

# ---- 0.1.0 itself
git -c safe.directory='*' clone -q "$here/../.." "$work/src" 2>/dev/null &&
    git -C "$work/src" checkout -q $release 2>/dev/null || {
    ((bad == 0)) || exit 1
    echo "the file of 0.1.0 is restored; 0.1.0 itself is not in this history"
    exit 77
}
(cd "$work/src" && meson setup --buildtype=plain -Dtests=false -Dfuse=false b &&
    ninja -C b) >"$work/log" 2>&1 || {
    tail -n 20 "$work/log"
    exit 1
}
older=$work/src/b/shim/tool/ipclift

on a "$older" run -- "$work/objects" make || bad=1
IPCLIFT_REGISTRY=$work/a "$older" run -- perl -e 'print STDERR "up\n"; semop(semget(0x51, 3, 0),
    pack("s3", 0, -1, 0)) or die; sleep 60' 2>"$work/up" &
program=$!
for ((i = 0; i < 500; i++)); do [[ -s $work/up ]] && break; sleep 0.02; done
is "this version on its registry" \
    "$(status on a "$ipclift" run -- true)" 125
is "says the way out" "$(grep -c \
    'made by another version of ipclift; .*(ipclift save of that version and' \
    "$work/err")" 1
is "and by hand: the call fails" "$(on a env \
    LD_PRELOAD="${IPCLIFT_SHIM:?}" ipcmk -S 1 2>&1 | grep -c 'another version')" 1
is "side by side on another" "$(on b "$ipclift" run -- "$work/objects" make
    on b "$ipclift" ls | wc -l)" 5
is "0.1.0 on that one" "$(status on b "$older" ls)" 1
is "who uses it is told" "$("$ipclift" destroy "$work/a" 2>&1)" \
    "ipclift destroy: $work/a: 1 process uses it; --force removes it all the same"
is "and its program goes on" "$(kill -0 $program; echo $?)" 0

# ---- the way out
is "save of 0.1.0" "$(status on a "$older" save "$work/file")" 0
list=$(on a "$older" ls)
kill $program
wait $program 2>/dev/null
program=
is "destroy" "$(status "$ipclift" destroy "$work/a")" 0
is "restore at the same place" \
    "$(status on a "$ipclift" restore "$work/file")" 0
is "the same objects" "$(on a "$ipclift" ls | awk '{ print $1, $2, $3 }')" \
    "$(awk '{ print $1, $2, $3 }' <<<"$list")"
is "which programs can use" "$(on a "$ipclift" run -- "$work/objects" print |
    grep -cE 'first, 0, far|message 3 of 8000 d')" 2
is "sound, too" "$(on a "$ipclift" check)" "all invariants hold"
exit $bad
