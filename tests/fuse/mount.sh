#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mount.sh - mounting, unmounting, and what may befall a mount: every way to
# start it, several at once, killed, its registry missing, removed, replaced.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"
m=$work/view
mkdir "$m" "$work/second" "$work/third"
mounts+=("$m" "$work/second" "$work/third")

# ---- what cannot be mounted is said on one line, and nothing is mounted
refused() { # refused WHAT STATUS WORD-IN-THE-MESSAGE ARGS...
    local what=$1 wanted=$2 word=$3
    shift 3
    is "$what" "$(status "$mounter" "$@") $(wc -l <"$work/err") $(
        grep -c -- "$word" "$work/err")" "$wanted 1 1"
    is "$what: no mount" "$(mountpoint -q "$m" && echo mounted)" ""
}
refused "no registry" 1 "no such registry" "$work/none" "$m"
refused "no directory of it" 1 "directory does not exist" "$work/a/b" "$m" \
    -o create
printf x >"$work/text"
refused "no registry at all" 1 "not an ipclift registry" "$work/text" "$m"
refused "no words" 2 "which directory"
refused "too many words" 2 "too many" a b c
refused "bad limits" 2 "kernel or roomy" "$m" -o create,limits=x
refused "unknown option" 2 "unknown" -o create,bogus "$m"
: >"$work/file"
mkfifo "$work/fifo"
for at in file fifo; do
    refused "a $at for a directory" 1 "Not a directory" -o create "$work/$at"
    is "a $at: no mount" "$(grep -cF " $work/$at " /proc/self/mountinfo)" 0
done
rm "$work/file" "$work/fifo"
refused "log that cannot be" 1 "No such file" -o create,log="$work/x/y" "$m"
is "none of them made a registry" "$(ls "$work")" "$(
    printf '%s\n' err out second text third view)"
is "no such mount point" \
    "$(status "$mounter" -o create "$IPCLIFT_REGISTRY" "$work/nowhere")" 1
rm -f "$IPCLIFT_REGISTRY"
is "help" "$(status "$mounter" --help) $(head -c 19 "$work/out")" \
    "0 usage: ipclift-fuse"
is "help fits" "$(awk 'length > 80' "$work/out")" ""
is "version" "$(status "$mounter" -V) $(cut -d' ' -f1 "$work/out")" \
    "0 ipclift-fuse"

# ---- the ways to mount
shown() { # shown DIR: as mounts show it
    findmnt -n -o FSTYPE,SOURCE "$1" | tr -s ' '
}
# By the table of mounts: for mountpoint(1) one whose daemon died is none.
gone() {
    ! grep -qF " $1 " /proc/self/mountinfo && [[ -z $(mounter_of "$1") ]]
}
unmount() { # unmount WHAT DIR
    fusermount3 -u "$2"
    is "$1: unmounted, process ended" "$(wait_for 5 gone "$2" && echo yes)" yes
}
(cd "$work" && exec "$mounter" view -o create,limits=kernel)
is "ipclift-fuse" "$(shown "$m")" "fuse.ipclift $IPCLIFT_REGISTRY"
is "made with limits=kernel" "$(<"$m/sys/fs/mqueue/queues_max")" 256
unmount "ipclift-fuse" "$m"

"$ipclift" mount "$m"
is "ipclift mount" "$(shown "$m")" "fuse.ipclift $IPCLIFT_REGISTRY"
unmount "ipclift mount" "$m"
"$ipclift" mount --registry "$IPCLIFT_REGISTRY" -o ro "$m"
is "ipclift mount -o ro" "$(status tee "$m/sys/kernel/msgmax" <<<1) $(
    <"$m/sys/kernel/msgmax")" "1 8192"
unmount "read-only" "$m"
is "ipclift mount is no usage" "$(status "$ipclift" mount)" 2
is "ipclift mount a b" "$(status "$ipclift" mount a b)" 2
is "ipclift mount --help" "$(status "$ipclift" mount --help)" 0

# mount(8) looks for the program in the installed places.
mkdir "$work/bin"
ln -s "$(realpath "$ipclift")" "$work/bin/ipclift"
mount --bind "$work/bin" /usr/local/bin
mount -t fuse.ipclift "$IPCLIFT_REGISTRY" "$m"
is "mount -t fuse.ipclift" "$(shown "$m")" "fuse.ipclift $IPCLIFT_REGISTRY"
unmount "mount -t" "$m"
# As the manual page has it, with the directory and the registry to be made.
examples=$(sed 's/\\-/-/g' "$(dirname "$0")/../../fuse/ipclift-fuse.1")
rmdir "$m"
rm "$IPCLIFT_REGISTRY"
sed -n "s|^/dev/shm/work  /run/ipclift |$IPCLIFT_REGISTRY $m|p" \
    <<<"$examples" >"$work/fstab"
is "the manual has a line of fstab" "$(wc -l <"$work/fstab")" 1
mount -T "$work/fstab" "$m"
is "by fstab" "$(shown "$m") $(other_user cat "$m/sys/kernel/msgmax")" \
    "fuse.ipclift $IPCLIFT_REGISTRY 8192"
umount "$m"
is "umount" "$(wait_for 5 gone "$m" && echo yes)" yes
mount -a -T "$work/fstab"
is "mount -a" "$(shown "$m")" "fuse.ipclift $IPCLIFT_REGISTRY"
unmount "mount -a" "$m"
# And its unit of systemd, by what systemd says of it.
ln -s "$(realpath "$mounter")" "$work/bin/ipclift-fuse"
sed -n '/^\[Unit\]/,/^WantedBy/p' <<<"$examples" >"$work/ipclift-work.service"
is "the manual has a unit" "$(grep -c '^Exec' "$work/ipclift-work.service")" 3
if command -v systemd-analyze >/dev/null; then
    is "the unit is right" \
        "$(status systemd-analyze verify "$work/ipclift-work.service")" 0
    is "and nothing is said of it" "$(grep ipclift "$work/out" "$work/err")" ""
fi
umount /usr/local/bin

# In the foreground it says nothing and ends on a signal.
"$mounter" -f "$m" >"$work/out" 2>&1 &
front=$!
wait_for 5 mountpoint -q "$m"
kill -TERM $front
wait $front
is "ended by SIGTERM" "$? $(wc -c <"$work/out")" "0 0"
is "and unmounted" "$(mountpoint -q "$m" && echo mounted)" ""

# ---- several at once
mount_view "$m"
mount_view "$work/second"
IPCLIFT_REGISTRY=$work/other mount_view "$work/third"
shim perl -e 'use IPC::SysV qw(:all); semget(7, 2, 0600 | IPC_CREAT)'
is "both show the set" "$(cat "$m/sysvipc/sem" "$work/second/sysvipc/sem" |
    grep -c '^         7')" 2
is "the other registry's does not" "$(wc -l <"$work/third/sysvipc/sem")" 1
echo 77 >"$m/sys/kernel/msgmax"
is "what one writes the other shows" "$(<"$work/second/sys/kernel/msgmax")" 77
unmount "one of three" "$work/second"
is "the others are there" "$(<"$m/sys/kernel/msgmax") $(
    <"$work/third/sys/kernel/msgmax")" "77 8192"
rmdir "$m/sem/0"

# ---- killed: nothing is left, and the workers go on
cat >"$work/worker.pl" <<'PERL'
use IPC::SysV qw(:all);
$SIG{TERM} = sub { print "$n\n"; exit };
while (1) {
    my $id = semget(IPC_PRIVATE, 1, 0600); defined $id or die "semget: $!";
    semop($id, pack("s3", 0, 1, SEM_UNDO)) or die "semop: $!";
    semctl($id, 0, IPC_RMID, 0) or die "rmid: $!";
    $n++;
}
PERL
env LD_PRELOAD="$IPCLIFT_SHIM" perl "$work/worker.pl" >"$work/count" 2>&1 &
worker=$!
children+=($worker)
readers=()
for ((i = 0; i < 10; i++)); do
    cat "$m"/sysvipc/* "$m"/sem/*/stat >/dev/null 2>&1 &
    readers+=($!)
    cat "$m/locks" "$m/tasks" "$m/waits" >/dev/null 2>&1 &
    readers+=($!)
    sleep 0.0$((RANDOM % 5))1
    kill -KILL "$(mounter_of "$m")"
    wait_for 5 gone "$m" || break
    mount_view "$m"
done
is "killed ten times in mid-reading: no mount left each time" $i 10
is "the worker goes on" "$(kill -0 $worker && echo yes)" yes
for ((i = 0; i < 20; i++)); do
    cat "$m"/sysvipc/sem "$m"/locks >/dev/null 2>&1 &
    reader=$!
    kill -KILL $reader
    wait $reader 2>/dev/null
done
is "killed readers: it answers" "$(head -c 17 "$m/sysvipc/sem")" \
    "       key      s"
kill -TERM $worker
wait $worker
is "the worker had no error" "$(grep -cv '^[0-9]*$' "$work/count")" 0
is "and the registry is sound" "$("$ipclift" check)" "all invariants hold"
# One that came late reads the mount after its own, which is then busy.
wait "${readers[@]}"
fusermount3 -u "$m"
wait_for 5 gone "$m"

mount_view "$m" create,keep_mount
kill -KILL "$(mounter_of "$m")"
# A stat under way while it dies may be EIO or ECONNABORTED: the last word counts.
is "killed with keep_mount" "$(wait_for 5 eval \
    'stat "$m" 2>&1 | grep "not connected"' && echo left)" left
fusermount3 -u "$m"
is "fusermount3 -u takes it away" "$(wait_for 5 gone "$m" && echo yes)" yes

# ---- the registry goes while it is shown
stale() { # stale WHAT WORD-IN-THE-LOG
    is "$1: reading" "$(status cat "$m/stats") $(grep -c Stale "$work/err")" \
        "1 1"
    is "$1: an open file" "$(cat <&5 2>&1 | grep -c Stale)" 1
    is "$1: listing" "$(status ls "$m") $(grep -c Stale "$work/err")" "2 1"
    is "$1: writing" "$(
        status tee "$m/sys/kernel/msgmax" <<<5) $(grep -c Stale "$work/err")" \
        "1 1"
    is "$1: said once in the log" "$(grep -c "$2" "$work/log")" 1
    is "$1: the worker goes on" "$(kill -0 $worker && echo yes)" yes
    exec 5<&-
    unmount "$1" "$m"
}
for fate in removed replaced; do
    : >"$work/log"
    mount_view "$m"
    env LD_PRELOAD="$IPCLIFT_SHIM" perl "$work/worker.pl" >"$work/count" 2>&1 &
    worker=$!
    children+=($worker)
    wait_for 5 grep -qw $worker "$m/tasks"
    exec 5<"$m/sysvipc/sem"
    mv "$IPCLIFT_REGISTRY" "$work/kept"
    if [[ $fate == replaced ]]; then
        shim perl -e 'use IPC::SysV qw(:all); semget(8, 2, 0600 | IPC_CREAT)'
    fi
    stale "$fate" "was $fate"
    kill -TERM $worker
    wait $worker
    is "$fate: the worker had no error" "$(grep -cv '^[0-9]*$' "$work/count")" 0
    rm -f "$IPCLIFT_REGISTRY" "$work/kept"
done
exit $bad
