#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sysctl.sh - the control files of the mount are the kernel's: one program on
# /proc/sys of a fresh IPC namespace and on the mount of a fresh registry with
# the kernel's limits, same output. Then what the values do, one-shot ids, and
# the right to write those.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"
m=$work/view
mount_view "$m" create,limits=kernel,allow_other

unshare --ipc "$programs/sysctl_files" /proc/sys >"$work/kernel" || exit 1
"$programs/sysctl_files" "$m/sys" >"$work/view.out" || exit 1
same "all files, all reads and writes" "$work/kernel" "$work/view.out"
is "and there were many" "$(($(wc -l <"$work/kernel") > 600))" 1

# ---- the same by shell, in a new registry
fusermount3 -u "$m"
rm -f "$IPCLIFT_REGISTRY"
wait_for 5 eval '[[ -z $(mounter_of "$m") ]]'
mount_view "$m" create,limits=kernel,allow_other
make='use IPC::SysV qw(:all); $SIG{__WARN__} = sub {};
    my @r; for (0 .. 2) { my $id = semget(IPC_PRIVATE, 1, 0600);
        push @r, defined $id ? $id : $!{ENOSPC} ? "ENOSPC" : $!;
        $id = msgget(IPC_PRIVATE, 0600); push @r, $id // $!;
        $id = shmget(IPC_PRIVATE, 1, 0600); push @r, $id // $!; }
    print "@r\n"'
both() { # both WHAT COMMAND: with $sys and $run for each side
    local kernel view
    # shellcheck disable=SC2034 # for eval
    kernel=$(sys=/proc/sys run='' eval "$2" 2>&1)
    view=$(sys=$m/sys run=shim eval "$2" 2>&1)
    is "$1 ($kernel)" "${view//$m\/sys//proc/sys}" "$kernel"
}
# shellcheck disable=SC2016 # all of these are for eval
{
    both "requested ids" 'echo 500 >$sys/kernel/sem_next_id
        echo 98804 >$sys/kernel/msg_next_id
        echo 7 >$sys/kernel/shm_next_id; $run perl -e "$make"
        cat $sys/kernel/{sem,msg,shm}_next_id'
    both "semmni 0" 'echo "32000 1024000000 500 0" >$sys/kernel/sem
        $run perl -MIPC::SysV=:all \
            -e "print defined semget(IPC_PRIVATE, 1, 0600) ? 1 : \$! + 0"
        echo "32000 1024000000 500 32000" >$sys/kernel/sem'
    both "root without capabilities may not wish" 'setpriv --bounding-set=-all \
        --inh-caps=-all bash -c "echo 1 >$sys/kernel/sem_next_id; id -u"'
    both "nor another user" 'other_user bash -c "echo 1 >$sys/kernel/sem_next_id"'
    both "another user may read" 'other_user cat $sys/kernel/sem'
    both "root without capabilities may set" 'setpriv --bounding-set=-all \
        --inh-caps=-all bash -c "echo 99 >$sys/kernel/msgmnb"
        cat $sys/kernel/msgmnb'
    both "the other files of that folder" \
        'cd $sys/fs/mqueue; ls -ln | cut -d" " -f1-5,9-; cat *'
    both "ipcs-like reading" 'cat $sys/kernel/{sem,msgmax,msgmnb,msgmni,shmmax}'
}
exit $bad
