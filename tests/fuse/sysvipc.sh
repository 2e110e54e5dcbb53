#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sysvipc.sh - sysvipc/{sem,msg,shm} byte for byte: after the same thousand
# operations they differ from /proc/sysvipc of a fresh IPC namespace in nothing
# but pids and times. Then how they read: in pieces, from any place, by
# unmodified programs.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"
m=$work/view
mount_view "$m" create,limits=kernel,allow_other

# Replace the pids (of those in the list) and times of a file, in their columns,
# each in the width that the kernel prints it in: a blank and five columns, or
# more if it is longer; a blank and ten. What is not so wide stays.
mask() { # mask FILE KIND PIDS
    perl -e 'my ($file, $kind, $pids) = @ARGV;
        my %pid = map { $_ => 1 } split " ", $pids;
        my %columns = (sem => [[], [8, 9]], msg => [[5, 6], [11, 12, 13]],
            shm => [[4, 5], [11, 12, 13]]);
        my %pids = map { $_ => 1 } @{$columns{$kind}[0]};
        my %times = map { $_ => 1 } @{$columns{$kind}[1]};
        open my $f, "<", $file or die;
        while (<$f>) {
            my $at = -1;
            s{( *)(\d+|-\d+)}{ my ($blanks, $n) = ($1, $2); $at++;
                my $width = $pids{$at} && $pid{$n} ? 5
                    : $times{$at} && $n > 1600000000 ? 10 : 0;
                my $pad = length($n) < $width ? $width - length($n) : 0;
                $width && length($blanks) > $pad
                    ? substr($blanks, $pad) . ($width == 5 ? "PID" : "TIME")
                    : "$blanks$n" }ge unless $. == 1;
            print }' "$1" "$2" "$3"
}
dump() { # dump NAME DIR COMMAND...: run it, then keep what DIR says meanwhile
    local name=$1 dir=$2 line f
    shift 2
    coproc side { "$@"; }
    # shellcheck disable=SC2154 # set by coproc
    read -r line <&"${side[0]}"
    for f in sem msg shm; do
        cat "$dir/$f" >"$work/$name.$f"
        mask "$work/$name.$f" $f "$line" >"$work/$name.$f.masked"
    done
    echo >&"${side[1]}"
    # shellcheck disable=SC2154
    wait "$side_PID"
}
# shellcheck disable=SC2034 # seeds
for seed in 1 2 3; do
    unshare --ipc bash -c "$(declare -f dump mask); work=$work
        dump kernel /proc/sysvipc $programs/thousand $seed"
    rm -f "$work/new"
    IPCLIFT_REGISTRY=$work/new mount_view "$work/new.view" create,limits=kernel
    IPCLIFT_REGISTRY=$work/new dump view "$work/new.view/sysvipc" \
        env LD_PRELOAD="$IPCLIFT_SHIM" "$programs/thousand" $seed
    for f in sem msg shm; do
        same "seed $seed: sysvipc/$f" "$work/kernel.$f.masked" \
            "$work/view.$f.masked"
    done
    is "seed $seed: rows enough" "$(($(wc -l <"$work/view.sem") > 20 && $(
        wc -l <"$work/view.msg") > 20 && $(wc -l <"$work/view.shm") > 20))" 1
    is "seed $seed: pids are shown" \
        "$(($(grep -c PID "$work/view.shm.masked") > 5))" 1
    fusermount3 -u "$work/new.view"
    wait_for 5 eval '[[ -z $(mounter_of "$work/new.view") ]]'
done

# ---- how they read
is "attributes" "$(stat -c '%A %h %u %g %s' "$m"/sysvipc/* "$m/sysvipc" |
    sort -u)" "$(stat -c '%A %h %u %g %s' /proc/sysvipc/sem /proc/sysvipc |
    sort -u)"
shim perl -e 'use IPC::SysV qw(:all); semget($_, 1, 0600 | IPC_CREAT)
    for 1 .. 300'
cat "$m/sysvipc/sem" >"$work/whole"
dd if="$m/sysvipc/sem" of="$work/bytes" bs=7 status=none
same "in pieces of seven bytes" "$work/whole" "$work/bytes"
is "from a place" "$(dd if="$m/sysvipc/sem" bs=1 skip=100 count=50 \
    status=none | xxd -p)" \
    "$(dd if="$work/whole" bs=1 skip=100 count=50 status=none | xxd -p)"
is "beyond the end" "$(dd if="$m/sysvipc/sem" bs=1000000 skip=1 status=none |
    wc -c)" 0
exec 5<"$m/sysvipc/sem"
head -c 1000 <&5 >/dev/null
shim perl -e 'use IPC::SysV qw(:all); semctl($_, 0, IPC_RMID, 0) for 100 .. 199'
cat <&5 >"$work/rest"
is "one snapshot for one reading" \
    "$(wc -c <"$work/rest")" "$(($(wc -c <"$work/whole") - 1000))"
exec 5<&-
is "at the beginning again: a new one" "$(perl -e 'open my $f, "<", $ARGV[0];
    my @a = <$f>; system @ARGV[1 .. $#ARGV]; seek $f, 0, 0; my @b = <$f>;
    print @a - @b' "$m/sysvipc/sem" env LD_PRELOAD="$IPCLIFT_SHIM" perl -e '
    use IPC::SysV qw(:all); semctl($_, 0, IPC_RMID, 0) for 200 .. 209')" 10
is "not to be written" "$(status tee "$m/sysvipc/sem" </dev/null) $(
    other_user bash -c ": >>$m/sysvipc/sem" 2>&1 | grep -c denied)" "0 1"
is "a write says what the kernel says" \
    "$(bash -c "echo x >$m/sysvipc/sem" 2>&1 | sed 's/.*: //')" \
    "$(bash -c "echo x >/proc/sysvipc/sem" 2>&1 | sed 's/.*: //')"
is "not to be removed" "$(rm -f "$m/sysvipc/sem" 2>&1 | sed 's/.*: //')" \
    "$(rm -f /proc/sysvipc/sem 2>&1 | sed 's/.*: //')"
exit $bad
