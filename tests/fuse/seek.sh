#!/bin/bash
# SPDX-License-Identifier: MIT
#
# seek.sh - the files of the mount sought, read in pieces and read on, and
# written in pieces: the program that tests/preload runs on /proc, with the same
# output on /proc of a fresh IPC namespace and on the mount.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"
m=$work/view
mount_view "$m" create,limits=kernel
mkdir "$work/as-proc"
ln -s "$m/sysvipc" "$m/sys" "$work/as-proc"

seek=$IPCLIFT_TESTS/preload/procfs_seek
unshare --ipc "$seek" /proc >"$work/kernel" || exit 1
shim "$seek" "$work/as-proc" >"$work/view.out" || exit 1
same "the same of both" "$work/kernel" "$work/view.out"
is "and that was much" "$(($(wc -l <"$work/kernel") > 1500))" 1

# ---- what SEEK_END must not have spoilt
exec 5<"$m/sysvipc/sem"
is "fstat of an open file" "$(stat -L -c %s /dev/fd/5)" 0
exec 5<&-
shim perl -e 'use IPC::SysV qw(:all); semget($_, 1, 0600 | IPC_CREAT)
    for 1 .. 100'
cat "$m/sysvipc/sem" >"$work/whole"
is "tail" "$(tail -n 1 "$m/sysvipc/sem")" "$(tail -n 1 "$work/whole")"
is "tail -c" "$(tail -c 86 "$m/sysvipc/sem" | wc -c)" 86
is "bash reads line by line" "$(while read -r line; do
    last=$line
done <"$m/sysvipc/sem"; echo "$last")" "$(tail -n 1 "$work/whole" |
    sed 's/^ *//')"
exit $bad
