#!/bin/bash
# SPDX-License-Identifier: MIT
#
# quickstart.sh - see ipclift work, in less than two minutes.
#
#	examples/quickstart.sh [--no-install | --installed]
#
# --installed: nothing is built, the command in PATH is used.
#
# You will see, each step with a word on what it shows:
#
#	1  what is needed is installed (apt) and ipclift is built into build/
#	2  Debian's own /usr/bin/perl makes a semaphore set: not in the kernel
#	3  two perl processes share a set: one sleeps, the other wakes it
#	4  a process holding a lock is killed; SEM_UNDO gives the lock back
#	5  fakeroot, whose two halves speak through message queues, builds a
#	   Debian package: its queues are in the registry, not in the kernel
#	6  one loop on the kernel and on ipclift, and how many times faster it is
#	7  the registry mounted as a directory: who holds, who waits, and a
#	   limit set by echo
#
# Runs on Debian 12 as root, or as a user whose sudo may install packages.
# Leaves build/ and nothing else.

set -eu
cd "$(dirname "$0")/.."

step() {
    printf '\n\033[1m%s\033[0m\n' "== $*"
}
[ -t 1 ] || step() { printf '\n%s\n' "== $*"; }
stop() {
    echo "quickstart: $*" >&2
    exit 1
}

# ---- 1 ----------------------------------------------------------------------

build() {
    packages="gcc libc6-dev pkg-config meson ninja-build libjson-c-dev libsmartcols-dev libfuse3-dev
        fuse3 libhiredis-dev libjemalloc-dev libssl-dev perl util-linux fakeroot dpkg"
    missing=
    for p in $packages; do
        dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null |
            grep -qx installed || missing="$missing $p"
    done
    if [ -n "$missing" ] && [ "${1-}" != --no-install ]; then
        command -v apt-get >/dev/null ||
            stop "no apt-get here; install these by hand:$missing"
        sudo=
        if [ "$(id -u)" != 0 ]; then
            command -v sudo >/dev/null && sudo true ||
                stop "installing needs root; run: apt-get install$missing"
            sudo=sudo
        fi
        echo "installing$missing"
        $sudo apt-get update -qq ||
            echo "apt-get update failed; going on with the lists that are here"
        # shellcheck disable=SC2086 # words
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
            --no-install-recommends $missing >/dev/null ||
            stop "apt-get could not install$missing"
    fi
    [ -f build/build.ninja ] || CC=gcc meson setup build >/dev/null ||
        stop "meson failed; see build/meson-logs/meson-log.txt"
    ninja -C build shim/libipclift.so shim/tool/ipclift fuse/ipclift-fuse \
        >build/quickstart.log || {
        tail -n 20 build/quickstart.log
        stop "the build failed"
    }
    ipclift=$PWD/build/shim/tool/ipclift
    echo "built: build/shim/libipclift.so, build/shim/tool/ipclift and" \
        "build/fuse/ipclift-fuse"
}

if [ "${1-}" = --installed ]; then
    step "1. What is installed"
    ipclift=$(command -v ipclift) || stop "there is no ipclift in PATH"
    dpkg-query -W -f '${Package} ${Version}\n' '*ipclift*' 2>/dev/null ||
        echo "$ipclift"
else
    step "1. Install what is missing, and build"
    build "$@"
fi

# LD_PRELOAD cannot hold a path with a blank or a ':'.
copies=
[ "${1-}" = --installed ] || case $PWD in
*[[:space:]:]*)
    copies=$(mktemp -d /tmp/ipclift-quickstart.XXXXXX)
    chmod 755 "$copies"
    mkdir -p "$copies/shim/tool" "$copies/fuse"
    cp build/shim/libipclift.so "$copies/shim"
    cp "$ipclift" "$copies/shim/tool"
    cp build/fuse/ipclift-fuse "$copies/fuse"
    ipclift=$copies/shim/tool/ipclift
    echo "LD_PRELOAD cannot hold the name of this directory: what follows runs" \
        "copies in /tmp. For more than this, rename it or 'meson install -C build'."
    ;;
esac

# A registry of this run's own, gone at the end.
work=$(mktemp -d /dev/shm/ipclift-quickstart.XXXXXX)
view=$work/view
mkdir "$view"
trap '! mountpoint -q "$view" || fusermount3 -u "$view" || true
    rm -rf --one-file-system "$work" ${copies:+"$copies"}' EXIT
run="$ipclift run --registry $work/registry --"

# What runs on the kernel does so in an IPC namespace of its own, so that it
# does not touch your objects; empty if this machine permits none.
space="unshare --ipc --mount --"
[ "$(id -u)" = 0 ] ||
    space="unshare --user --map-root-user --ipc --mount --"
$space true 2>/dev/null || space=

# ---- 2 ----------------------------------------------------------------------

step "2. /usr/bin/perl makes a set of three semaphores"
echo "The same unmodified perl, first on the kernel, then by 'ipclift run':"
cat >"$work/make.pl" <<'PERL'
use IPC::SysV qw(IPC_CREAT IPC_RMID);
use IPC::Semaphore;
my $key = 0x1bc11f7;
my $s = IPC::Semaphore->new($key, 3, 0600 | IPC_CREAT) or die "semget: $!\n";
$s->setall(7, 8, 9);
# As a program sees it that is not preloaded.
my $rows = `env -u LD_PRELOAD cat /proc/sysvipc/sem`;
my $kernel = grep { /^\s*$key\s/ } split /\n/, $rows;
printf "  values %s, in the kernel's table: %s\n", join(" ", $s->getall),
    $kernel ? "yes" : "no";
PERL
printf 'kernel: '
if [ -n "$space" ]; then
    $space perl "$work/make.pl" || echo "  (no System V IPC here)"
else
    echo "  (left out: no IPC namespace is permitted here)"
fi
printf 'ipclift:'
$run perl "$work/make.pl"
echo "Another process on that registry finds the set by its key:"
$run perl -MIPC::Semaphore -e '
    my $s = IPC::Semaphore->new(0x1bc11f7, 0, 0) or die "semget: $!\n";
    print "         values ", join(" ", $s->getall), "\n"; $s->remove'

# ---- 3 ----------------------------------------------------------------------

step "3. Two processes share a set: one sleeps until the other posts"
cat >"$work/wait.pl" <<'PERL'
use IPC::SysV qw(IPC_CREAT);
use IPC::Semaphore;
use Time::HiRes qw(time sleep);
$| = 1;
my $s = IPC::Semaphore->new(4711, 1, 0600 | IPC_CREAT) or die "semget: $!\n";
my $begin = time;
if ($ARGV[0] eq "wait") {
    print "  [$$] waits for a unit\n";
    $s->op(0, -1, 0) or die "semop: $!\n";
    printf "  [%d] has it, after %.1f s asleep\n", $$, time - $begin;
    $s->remove;
} else {
    sleep 0.01 until $s->getncnt(0) == 1;
    print "  [$$] sees one process asleep; posts in half a second\n";
    sleep 0.5;
    $s->op(0, 1, 0) or die "semop: $!\n";
}
PERL
$run perl "$work/wait.pl" wait &
$run perl "$work/wait.pl" post
wait

# ---- 4 ----------------------------------------------------------------------

step "4. A lock's holder is killed by SIGKILL; the next in line gets the lock"
cat >"$work/undo.pl" <<'PERL'
use IPC::SysV qw(IPC_CREAT SEM_UNDO);
use IPC::Semaphore;
use Time::HiRes qw(time sleep);
$| = 1;
my $s = IPC::Semaphore->new(4712, 1, 0600 | IPC_CREAT) or die "semget: $!\n";
$s->setval(0, 1);
my $holder = fork;
if (!$holder) {
    $s->op(0, -1, SEM_UNDO) or die;
    print "  [$$] holds the lock, and sleeps with it\n";
    sleep 60;
    exit;
}
sleep 0.01 until $s->getval(0) == 0;
my $next = fork;
if (!$next) {
    print "  [$$] waits for the lock\n";
    $s->op(0, -1, SEM_UNDO) or die;
    printf "  [%d] has the lock at %.6f\n", $$, time;
    exit;
}
sleep 0.01 until $s->getncnt(0) == 1;
printf "  [%d] kills the holder at  %.6f\n", $$, time;
kill KILL => $holder;
waitpid $_, 0 for $holder, $next;
print "  value at the end: ", $s->getval(0), " (free again)\n";
$s->remove;
PERL
$run perl "$work/undo.pl"

# ---- 5 ----------------------------------------------------------------------

step "5. fakeroot builds a package through message queues in the registry"
mkdir -p "$work/pkg/DEBIAN" "$work/pkg/usr/share/hello"
printf 'Package: hello-ipclift\nVersion: 1\nArchitecture: all\n%s\n%s\n' \
    "Maintainer: nobody <nobody@localhost>" "Description: a small package" \
    >"$work/pkg/DEBIAN/control"
echo hello >"$work/pkg/usr/share/hello/hello"
cat >"$work/queues.sh" <<'SH'
# Under the shim the table is the registry's; this is what others see.
in_kernel() { env -u LD_PRELOAD tail -n +2 /proc/sysvipc/msg | wc -l; }
SH
cat >"$work/pack.sh" <<'SH'
. "$1/queues.sh"
chown -R 0:42 "$1/pkg/usr"
echo "  while faked runs: $(in_kernel) queues in the kernel," \
    "$(tail -n +2 /proc/sysvipc/msg | wc -l) in the registry"
dpkg-deb --build "$1/pkg" "$1/hello.deb" >/dev/null
SH
echo "  before:           $(. "$work/queues.sh"; in_kernel) queues in the kernel"
$run fakeroot-sysv -- sh "$work/pack.sh" "$work" || stop "fakeroot failed"
dpkg-deb --contents "$work/hello.deb" | grep hello/hello
echo "  (group 42 of the file is what the faked chown recorded)"

# ---- 6 ----------------------------------------------------------------------

step "6. How fast: semget of many keys, created and then looked up"
echo "The loop of 'semget(k++, 1, IPC_CREAT | 0600)' from an empty namespace,"
echo "then once more over the same keys; ns a call, best of three runs."
if [ -z "$space" ]; then
    echo "  (left out: no IPC namespace is permitted here)"
else
    for i in 1 2 3; do
        for keys in 100 1000 10000 31900; do
            $space "$ipclift" --work keys n=$keys >>"$work/kernel"
            rm -f "$work/bench"
            $space "$ipclift" run --registry "$work/bench" --limits kernel \
                -- "$ipclift" --work keys n=$keys >>"$work/shim"
        done
    done
    awk -v kernel="$work/kernel" '
        $1 == "create" || $1 == "lookup" {
            world = FILENAME == kernel ? "k" : "s"
            case_ = sprintf("%s %6d keys", $1, $2)
            ns = $3 / $2
            if (!((world, case_) in best) || ns < best[world, case_])
                best[world, case_] = ns
            if (!(case_ in seen)) order[++n] = case_
            seen[case_]
        }
        END {
            printf "  %-18s %8s %10s %8s\n", "", "kernel ns", "ipclift ns",
                "ratio"
            for (i = 1; i <= n; i++)
                printf "  %s %9.0f %10.0f %7.1fx\n", order[i],
                    best["k", order[i]], best["s", order[i]],
                    best["k", order[i]] / best["s", order[i]]
        }' "$work/kernel" "$work/shim"
fi

# ---- 7 ----------------------------------------------------------------------

step "7. The registry as a directory"
cat >"$work/lock.pl" <<'PERL'
use IPC::SysV qw(IPC_CREAT SEM_UNDO);
use IPC::Semaphore;
use Time::HiRes qw(sleep);
my $s = IPC::Semaphore->new(4713, 2, 0640 | IPC_CREAT) or die "semget: $!\n";
$s->setval(0, 1);
$s->op(0, -1, SEM_UNDO) or die;
my $next = fork;
if (!$next) { $s->op(0, -1, SEM_UNDO); exit }
sleep 0.01 until $s->getncnt(0) == 1;
open my $ready, ">", $ARGV[0]; close $ready;
open my $go, "<", $ARGV[1]; <$go>;
$s->op(0, 1, SEM_UNDO); waitpid $next, 0; $s->remove;
PERL
mkfifo "$work/ready" "$work/go"
if [ "$(id -u)" != 0 ] && [ ! -e /etc/mtab ]; then
    # Every booted Debian has it; a bare chroot has not.
    echo "  (left out: without /etc/mtab fusermount3 unmounts for root only)"
elif ! "$ipclift" mount --registry "$work/registry" "$view" 2>"$work/why"; then
    echo "  (left out: $(cat "$work/why"))"
else
    echo "One process holds a lock, another waits for it:"
    $run perl "$work/lock.pl" "$work/ready" "$work/go" &
    timeout 20 cat "$work/ready" || stop "the holder did not start"
    (
        cd "$view"
        show() {
            printf '\n$ cat %s\n' "$*"
            cat "$@"
        }
        printf '$ ls\n%s\n' "$(ls | tr '\n' ' ')"
        show sysvipc/sem
        show sem/*/holders
        show sem/*/waiters
        printf '\n$ echo 77 >sys/kernel/msgmni\n'
        echo 77 >sys/kernel/msgmni
        show sys/kernel/msgmni
    )
    echo >"$work/go"
    wait
    fusermount3 -u "$view"
    echo
    echo "Unmounted again; no program needs the mount."
fi

# ---- what next --------------------------------------------------------------

step "What to try next"
cat <<END
  Your own program, on a registry that vanishes with it:
      build/shim/tool/ipclift run --private -- YOUR-PROGRAM
  Several programs on one registry of that name:
      build/shim/tool/ipclift run --name work -- YOUR-PROGRAM
  What is in it, who holds and who waits:
      build/shim/tool/ipclift ls --name work
      build/shim/tool/ipclift show --name work sem ID
  The same as a directory (unmount it by fusermount3 -u DIR):
      build/shim/tool/ipclift mount --name work DIR
  All benchmarks, kernel beside shim:
      $([ "$(id -u)" = 0 ] || echo 'sudo ')build/shim/tool/ipclift bench
  All tests:
      tests/run.sh
  All options:
      build/shim/tool/ipclift run --help
END
