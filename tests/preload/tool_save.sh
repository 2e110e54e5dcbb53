#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_save.sh - save and restore: what a program finds in a restored registry is
# what it would have found in the first, ids and times and all; the next ids
# are those that would have come; damaged files and full registries are refused.

set -u
ipclift=${IPCLIFT_TOOL:?the command}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" save.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
export IPCLIFT_REGISTRY=$work/first IPCLIFT_LIMITS=kernel
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"

second() {
    IPCLIFT_REGISTRY=$work/second "$@"
}

gcc -O1 -o "$work/objects" "$here/app_objects.c" || exit 1
# Ids that did not begin with 0, sequence numbers that did not stay 0.
churn='use IPC::SysV qw(IPC_PRIVATE IPC_RMID); for (1 .. 70) {
    my $i = semget(IPC_PRIVATE, 1, 0600); semctl($i, 0, IPC_RMID, 0);
    $i = msgget(IPC_PRIVATE, 0600); msgctl($i, IPC_RMID, 0); }'
"$ipclift" run -- perl -e "$churn"
"$ipclift" set sem_next_id=500000 shm_next_id=98305 msgmnb=30000
"$ipclift" run -- "$work/objects" make || exit 1
"$ipclift" set msgmax=100
# One in use and removed belongs to its user.
"$ipclift" run -- perl -e 'use IPC::SysV qw(IPC_PRIVATE); my $s =
    shmget(IPC_PRIVATE, 5, 0600); shmread($s, my $x, 0, 1);' || exit 1
next_ids='use IPC::SysV qw(IPC_PRIVATE); print join " ", semget(IPC_PRIVATE, 1, 0),
    semget(IPC_PRIVATE, 1, 0), msgget(IPC_PRIVATE, 0), shmget(IPC_PRIVATE, 1, 0)'

is "save" "$(status "$ipclift" save "$work/file")" 0
is "tells how much" "$(cut -d, -f1 <"$work/out")" "5 objects"
is "and only its user may read it" "$(stat -c %a "$work/file")" 600
is "restore" "$(status second "$ipclift" restore "$work/file")" 0
is "the same limits" "$(second "$ipclift" get)" "$("$ipclift" get)"
is "the same list" "$(second "$ipclift" ls --json)" "$("$ipclift" ls --json)"
is "sound" "$(second "$ipclift" check)" "all invariants hold"
second "$ipclift" save "$work/again" >/dev/null
# The head has the time of the save, the end a sum over it.
is "saved again it is the same file" "$(cmp -s \
    <(tail -c +33 "$work/file" | head -c -8) \
    <(tail -c +33 "$work/again" | head -c -8); echo $?)" 0
"$ipclift" run -- "$work/objects" print >"$work/print.first" || bad=1
second "$ipclift" run -- "$work/objects" print >"$work/print.second" || bad=1
is "a program finds the same" \
    "$(diff "$work/print.first" "$work/print.second")" ""
is "which is something" "$(grep -cE 'first, 0, far|message 3 of 8000 d' \
    "$work/print.second")" 2
is "the next ids are the same" "$(second "$ipclift" run -- perl -e "$next_ids")" \
    "$("$ipclift" run -- perl -e "$next_ids")"
is "no byte is lost" "$(second "$ipclift" check)" "all invariants hold"

# ---- refused
before=$(second "$ipclift" ls --json)
is "restore over objects" "$(status second "$ipclift" restore "$work/file")" 1
is "says how many" "$(<"$work/err")" \
    "ipclift restore: the registry holds 9 objects: --force removes them first"
for at in 0 9 40 400 2000; do
    cp "$work/file" "$work/damaged"
    printf '\x5a' | dd of="$work/damaged" bs=1 seek=$at conv=notrunc status=none
    is "damage at $at" "$(status second "$ipclift" restore --force \
        "$work/damaged")" 1
done
head -c -100 "$work/file" >"$work/short"
is "cut off" "$(status second "$ipclift" restore --force "$work/short")" 1
is "empty" "$(status second "$ipclift" restore --force /dev/null)" 1
is "not there" "$(status second "$ipclift" restore "$work/none")" 1
is "nothing was changed" "$(second "$ipclift" ls --json)" "$before"
is "--force" "$(status second "$ipclift" restore --force "$work/file")" 0
is "has the saved ones alone" "$(second "$ipclift" ls | wc -l)" 6
is "sound again" "$(second "$ipclift" check)" "all invariants hold"
"$ipclift" run --registry "$work/wide" --ids extended -- true
IPCLIFT_REGISTRY=$work/wide "$ipclift" run --ids extended -- \
    perl -e 'semget(5, 1, 01600)'
is "ids of another size" "$(IPCLIFT_REGISTRY=$work/wide status "$ipclift" \
    restore --force "$work/file")" 1
# Somebody cuts the file off as soon as its size is known.
cat >"$work/cut.c" <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstat(int fd, struct stat *st)
{
	int err = (int)syscall(SYS_fstat, fd, st);
	const char *path = getenv("CUT");
	struct stat file;

	if (!err && path && !stat(path, &file) && file.st_ino == st->st_ino)
		err = truncate(path, st->st_size / 2);
	return err;
}
END
gcc -O1 -w -D_FILE_OFFSET_BITS=64 -shared -fPIC -o "$work/cut.so" "$work/cut.c" ||
    exit 1
before=$(second "$ipclift" ls --json)
IPCLIFT_REGISTRY=$work/third "$ipclift" run -- perl -e 'my $s = shmget(5, 70000,
    01600); shmwrite($s, "x" x 70000, 0, 70000);'
IPCLIFT_REGISTRY=$work/third "$ipclift" save "$work/large"
cp "$work/large" "$work/cut"
is "cut off while it is read" "$(CUT=$work/cut LD_PRELOAD=$work/cut.so second \
    status "$ipclift" restore --force "$work/cut")" 1
is "is what it says" "$(grep -c 'was cut off while it was read' "$work/err")" 1
is "and nothing was changed" "$(second "$ipclift" ls --json)" "$before"
is "a place that cannot be written" \
    "$(status "$ipclift" save /proc/none/file)" 1
if [[ -x $(command -v strace) ]]; then
    strace -o /dev/null -e trace=rename -e inject=rename:signal=KILL:when=1 \
        "$ipclift" save "$work/file" >/dev/null 2>&1
    is "killed where it replaces a file" \
        "$(find "$work" -name 'file.ipclift-save-*' | wc -l)" 1
    is "the next one goes" "$(status "$ipclift" save "$work/file")" 0
fi
is "no half file is left" "$(find "$work" -name 'file.*' -o -name 'again.*')" ""
exit $bad
