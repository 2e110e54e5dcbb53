#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mqueue.sh - mqueue/ of the mount beside a mount of the kernel's mqueue file
# system, with the same queues made on both: names and their order, attributes,
# status lines, who may read, remove, change, and what cannot be done.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"
m=$work/view
mount_view "$m" create,limits=kernel,allow_other
mkdir "$work/mq"
mount -t mqueue none "$work/mq"
mounts+=("$work/mq")

# What a user sees of the queues below the present directory.
cat >"$work/look.sh" <<'SH'
as() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@" 2>&1; }
echo "names: $(ls) order: $(ls -U)"
stat -c '%n %A %h %u %g %s' . *
for f in a b b.none b.signal b.thread c; do
    sed "s/PID:$1 */PID:pid /" "$f"
done
for f in *; do
    [ $(stat -c %X $f) -gt 1600000000 ] && [ $(stat -c %Y $f) -gt 1600000000 ]
    echo "$f: times $?"
done
echo "-- as 65534"
as cat a b c c2
as sh -c ': >b; : >c && echo may write c; echo x >c2; rm -f a; rm -f c2; ls'
as chmod 600 a
as chmod 600 c
stat -c '%n %A' a c
echo "-- as root"
chmod 0751 c; chown 1:2 c; stat -c '%n %A %u %g' c
as chmod 600 c
chown 65534:65534 c
as chown 0:0 c
as chgrp 65534 c
echo x >a; mkdir d; ln -s a d; ln a d; mv a d; rmdir a; rm nothing; rmdir none
truncate -s 0 b && grep -c QSIZE b
touch c && echo touched
dd if=b bs=9 count=2 status=none | xxd -p
dd if=b bs=1 skip=70 status=none | wc -c
rm a c && ls
[ -e a ] || echo "a is gone"
SH
look() { # look NAME DIR COMMAND...: make queues by COMMAND, look at DIR
    local name=$1 dir=$2 pid
    shift 2
    coproc side { "$@" "$programs/queues" make; }
    # shellcheck disable=SC2154
    read -r pid <&"${side[0]}"
    (cd "$dir" && bash "$work/look.sh" "$pid") >"$work/seen.$name" 2>&1
    echo >&"${side[1]}"
    # shellcheck disable=SC2154
    wait "$side_PID"
}
look kernel "$work/mq" env
look view "$m/mqueue" env LD_PRELOAD="$IPCLIFT_SHIM"
same "the same queues, looked at" "$work/seen.kernel" "$work/seen.view"
is "and there was much to see" "$(($(wc -l <"$work/seen.view") > 60))" 1

# ---- what was removed is removed
is "the removed cannot be opened" "$(shim "$programs/queues" unlink /a; echo $?)
$(shim "$programs/queues" unlink /b; echo $?)" "1
0"
is "what a program removes is gone here" "$(ls "$m/mqueue" | tr '\n' ' ')" \
    "b.none b.signal b.thread c2 "
exec 5<"$m/mqueue/c2"
rm "$m/mqueue/c2"
is "an open file of a removed queue" "$(head -c 8 <&5)" "QSIZE:0 "
exec 5<&-
rm "$m"/mqueue/*

# ---- everything else that files can be asked for
mkdir "$work/mq2"
mounts+=("$work/mq2")
unshare --ipc bash -c "mount -t mqueue none $work/mq2
    $programs/queue_files $work/mq2" >"$work/kernel"
"$programs/queue_files" "$m/mqueue" >"$work/view.out"
same "made by open, creat, mknod; read, sought, changed, removed" \
    "$work/kernel" "$work/view.out"
is "that was much" "$(($(wc -l <"$work/kernel") > 170))" 1
is "nothing is left open" "$(awk '$1 == "mq.objects" { print $2 }' "$m/stats")" 0

# ---- a queue made by the shell is one for programs, and wakes who polls it
poll_it() { # poll_it DIR COMMAND...: who polls DIR/q while COMMAND sends
    local dir=$1
    shift
    : >"$dir/q"
    "$programs/queue_files" wait "$dir/q" >"$work/polled" &
    local poller=$!
    children+=($poller)
    wait_for 10 grep -q events "$work/polled"
    "$@" "$programs/queues" send /q || echo "cannot send"
    wait $poller
    cat "$work/polled"
    cat "$dir/q"
    rm "$dir/q"
}
poll_it "$work/mq" env >"$work/kernel"
poll_it "$m/mqueue" env LD_PRELOAD="$IPCLIFT_SHIM" >"$work/view.out"
same "poll wakes" "$work/kernel" "$work/view.out"
is "the registry is sound" "$("$ipclift" check)" "all invariants hold"
exit $bad
