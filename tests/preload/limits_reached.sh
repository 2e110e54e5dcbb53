#!/bin/bash
# SPDX-License-Identifier: MIT
#
# limits_reached.sh - limits that the system sets, reached: address space,
# descriptors, a memory cgroup, a quota, a small ext4, a btrfs, an overlay; a
# crowd of processes that dies at once; and what copies a file of tebibytes with
# little in it. Each time: the error of doc/limits.md, nothing lost, check finds
# nothing, and it works again when there is room.

set -u
shim=${IPCLIFT_SHIM:?names no libipclift.so}
tool=${IPCLIFT_TOOL:?names no ipclift}
if [[ ${1-} != inside ]]; then
    ((EUID == 0)) || {
        echo "needs root, to mount file systems"
        exit 77
    }
    exec unshare --ipc --mount bash "$0" inside
fi
work=$(mktemp -d) || exit 1
group=/sys/fs/cgroup/memory/ipclift-test.$$
# shellcheck disable=SC2329 # called by trap
clean_up() {
    cd /
    umount "$work/ext4" "$work/btrfs" "$work/merged" 2>/dev/null
    umount "$work"
    rmdir "$work" "$group" 2>/dev/null
}
trap clean_up EXIT
mount -t tmpfs -o size=600m,mode=711 tmpfs "$work" || exit 1
cd "$work" || exit 1
# shellcheck source=tests/preload/checks.sh
. "$OLDPWD/$(dirname "$0")/checks.sh"

served() { # PERL [REGISTRY]
    IPCLIFT_REGISTRY=${2:-$work/registry} LD_PRELOAD=$shim perl -e "$1" 2>&1
}
whole() { # REGISTRY
    is "whole" "$("$tool" check --registry "$1" 2>&1)" "all invariants hold"
}
skip() {
    echo "skip: $*"
}
# shellcheck disable=SC2016 # perl's, here and below
make='print defined semget(0, 1, 0600) ? "ok" : "$!"'
# 2,000 messages of 8,000 bytes: how many were sent, and "all" or the error
# shellcheck disable=SC2016
fill='my $q = msgget(7, 01600) // die "msgget: $!";
    for (0 .. 1999) { msgsnd($q, pack("l! a*", 1, "x" x 8000), 04000) or
        do { print "$_ ", $! + 0 == 11 ? "full queue" : "$!"; exit } }
    print "2000 all"'
# How many there are, and the error behind the last
# shellcheck disable=SC2016
empty='my $q = msgget(7, 0600) // die "msgget: $!"; my $n = 0;
    $n++ while msgrcv($q, my $m, 8000, 0, 04000); print "$n $!"'
# messages FILE-SYSTEM: until there is no room, and again when they are gone
messages() {
    served "$make" "$1/registry" >/dev/null
    "$tool" set --registry "$1/registry" msgmnb=1000000000
    sent=$(served "$fill" "$1/registry")
    is "$2: messages" "${sent#* }" "$3"
    whole "$1/registry"
    is "$2: they are all there" "$(served "$empty" "$1/registry")" \
        "${sent%% *} No message of desired type"
    is "$2: again" "$(served "$make" "$1/registry")" ok
    whole "$1/registry"
}

# ---- the process's own limits
is "address space" "$(ulimit -v 1000000 && served "$make" | tail -n 1)" \
    "Cannot allocate memory"
is "with more" "$(served "$make")" ok
# The registry was mapped when the program began; a POSIX queue is a descriptor.
# shellcheck disable=SC2016
is "descriptors" "$(served 'my ($low, $high, $name) = (pack("QQ", 3, 4096),
    pack("QQ", 100, 4096), "full");
    sub make { print syscall(240, $name, 0302, 0600, 0) < 0 ? "$! " : "ok " }
    syscall(160, 7, $low); make(); print defined semget(0, 1, 0600) ? "ok " : $!;
    syscall(160, 7, $high); make()')" "Too many open files ok ok "
whole "$work/registry"

# ---- a memory cgroup: whoever goes beyond it is killed, as with the kernel's
if mkdir "$group" 2>/dev/null && echo 64M >"$group/memory.limit_in_bytes"; then
    mkdir "$work/group"
    # shellcheck disable=SC2016
    big='my $s = shmget(9, 200 << 20, 01600);
        shmwrite($s, "x" x (1 << 20), $_ << 20, 1 << 20) for 0 .. 199'
    (
        echo $BASHPID >"$group/cgroup.procs"
        served "$big" "$work/group/registry"
    ) >/dev/null 2>&1
    is "beyond the cgroup's memory" $? 137
    whole "$work/group/registry"
    is "it is removed" "$("$tool" rm --registry "$work/group/registry" --all \
        >/dev/null && du -m "$work/group/registry" | cut -f1)" 1
    is "again" "$(served "$make" "$work/group/registry")" ok
else
    skip "no cgroup of version 1 for memory can be made here"
fi

# ---- file systems
mkdir ext4 lower upper under merged
truncate -s 16M image
ext4() { # OPTION...
    mkfs.ext4 -q -F "$@" image && mount -o loop image ext4
}
if ext4 -O quota 2>/dev/null || ext4 2>/dev/null; then
    messages "$work/ext4" ext4 "Cannot allocate memory"
    rm -rf ext4/*
    chmod 1777 ext4
    device=$(findmnt -n -o SOURCE ext4)
    # Q_SETQUOTA of 4 MiB for a user
    # shellcheck disable=SC2016
    if perl -e 'my ($device, $limits) = ($ARGV[0],
        pack("QQQQQQQQLL", 4096, 4096, 0, 0, 0, 0, 0, 0, 5, 0));
        exit(syscall(179, 0x80000800, $device, 40001, $limits) != 0)' \
        "$device"; then
        chmod 755 "$work"
        cat >user.sh <<END
export IPCLIFT_REGISTRY=$work/ext4/registry LD_PRELOAD=$shim
perl -e '$make' >/dev/null
LD_PRELOAD= $tool set msgmnb=1000000000
perl -e '$fill'
LD_PRELOAD= $tool check
perl -e '$empty'
perl -e '$make'
END
        if setpriv --reuid 40001 --clear-groups test -r "$shim"; then
            is "a quota" "$(setpriv --reuid 40001 --clear-groups bash user.sh \
                2>&1 | sed 's/^[1-9][0-9]* //')" \
                "Cannot allocate memoryall invariants hold
No message of desired typeok"
        else
            skip "quota: other users cannot read $shim"
        fi
    else
        skip "no quota can be set here"
    fi
    umount ext4
else
    skip "no ext4 image can be mounted here"
fi
# What writes elsewhere needs space again for a page that was there already: but
# not in a registry that was made there. A file fills what is left but 3 MB.
truncate -s 150M btrfs.image
if mkfs.btrfs -q btrfs.image >/dev/null 2>&1 && mkdir btrfs &&
    mount -o loop btrfs.image btrfs 2>/dev/null; then
    head -c 3000000 /dev/urandom >btrfs/space
    cat /dev/urandom >btrfs/rest 2>/dev/null
    sync -f btrfs
    rm btrfs/space
    sync -f btrfs
    messages "$work/btrfs" btrfs "Cannot allocate memory"
    is "doctor warns of btrfs" "$("$tool" doctor --registry \
        "$work/btrfs/registry" 2>&1 | grep -c "is in a btrfs")" 1
    umount btrfs
else
    skip "no btrfs image can be mounted here"
fi
rm btrfs.image
if mount -t overlay overlay \
    -o "lowerdir=$work/lower,upperdir=$work/upper,workdir=$work/under" \
    merged 2>/dev/null; then
    is "an overlay" "$(served "$make" "$work/merged/registry")" ok
    is "the same for the next" \
        "$("$tool" ls --registry "$work/merged/registry" | wc -l)" 2
    whole "$work/merged/registry"
    umount merged
else
    skip "no overlay can be mounted here"
fi

# ---- tebibytes of nothing
used=$(du -k registry | cut -f1)
is "du tells what there is" "$((used < 4096))" 1
is "cp" "$(status timeout 20 cp registry copy)" 0
whole "$work/copy"
is "tar -S" "$(status timeout 20 tar -cSf copies.tar registry)" 0
mkdir back
is "and back" "$(status tar -xSf copies.tar -C back)" 0
whole "$work/back/registry"
timeout 2 tar -cf - registry | cat >/dev/null
is "a plain tar reads the holes" "${PIPESTATUS[0]}" 124
if [[ -x $(command -v rsync) ]]; then
    is "rsync reads them, too" \
        "$(status timeout 2 rsync -S registry copy2)" 124
else
    skip "no rsync"
fi

# ---- a crowd
cat >crowd.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]), id = semget(IPC_PRIVATE, 2, 0600), i;
	struct sembuf up = {0, 1, SEM_UNDO}, wait_for = {1, -1, SEM_UNDO};
	pid_t *pids = calloc(n, sizeof(*pids));

	for (i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return puts("fork"), 1;
		if (!pids[i]) {
			semop(id, &up, 1);
			_exit(semop(id, &wait_for, 1));
		}
	}
	while (semctl(id, 1, GETNCNT) < n)
		usleep(10000);
	printf("%d ", semctl(id, 0, GETVAL) == n);
	for (i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	printf("%d %d\n", semctl(id, 0, GETVAL), semctl(id, 1, GETNCNT));
	return semctl(id, 0, IPC_RMID);
}
C
gcc -O1 -o crowd crowd.c || exit 1
n=$( ((${FULL:-0})) && echo 5000 || echo 1000)
# semvmx is 32,767: the crowd is smaller.
is "$n asleep with SEM_UNDO, killed" \
    "$(IPCLIFT_REGISTRY=$work/registry LD_PRELOAD=$shim ./crowd "$n")" "1 0 0"
whole "$work/registry"
exit $bad
