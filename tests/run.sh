#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - install what the tests need, build, run every suite.
#
#	tests/run.sh [--no-install] [--list] [--build-dir DIR] [SUITE | SUITE/NAME]...
#
# From a clean clone on Debian 12, as root or as a user with sudo. SUITE/NAME is
# one test as a run prints it (preload/sem_wake). If there is no build, that of
# gcc comes first. The suites, all of them by default:
#
#	build	  gcc into build/, clang (if there) into build-clang/
#	unit	  Criterion tests of the core, and again with ASan and UBSan
#	preload	  plain programs, on the kernel and under the shim: same output
#	musl	  the same programs built by musl-gcc
#	scenario  scripts of tests/preload that start programs of the system
#	fuse	  the mount: scripts of tests/fuse
#	package	  Debian's packages, built from a clean clone, and what their users
#		  do; upgrades: scripts of tests/package
#	crash	  a process stopped for good at every store to shared memory
#	explore	  two to four processes in all orders, with deaths, within bounds
#	race	  storms: processes killed, stopped and signalled at random
#	fuzz	  damaged registries and save files, before every command, the mount
#		  and a program that makes every call; with FULL=1, or by name,
#		  scribble: somebody writes into a registry that is in use; and
#		  targets: libFuzzer with sanitizers, from inputs to the same code
#	model	  the protocols' models, proved; random calls, and scripts of calls
#		  that block, kernel and shim side by side
#	mutate	  the tests: each of a list of one-line faults makes one fail (by name,
#		  or with FULL=1)
#	clean	  nothing is left: objects, mounts, processes, files in /dev/shm
#
# FULL=1 in the environment takes the counts that a release needs (an hour or
# more) instead of those for every day (some minutes).
#
# The run has IPC, mount (with a /dev/shm of its own) and process namespaces of its
# own where that is permitted, so that neither a neighbour's objects nor its
# files decide. `meson test -C build NAME` runs one test by way of this script.
#
# A line a test: "ok NAME", "skip NAME: reason", or "FAIL NAME" and what it
# said; those that failed are named again before the last line, with a few of
# their lines. The last line is "N passed, N failed", with ", N skipped" if any; the
# exit status is 1 if one failed, 2 if the tests could not be run, 77 if the only
# test that was asked for was skipped.
#
# A scenario script or crash test gets IPCLIFT_SHIM, IPCLIFT_TOOL (the command),
# IPCLIFT_FUSE (the mount) and IPCLIFT_TESTS (build/tests) and exits with 0, with
# 77 for "skipped", the reason being its last line, or with anything else. Each
# line "skip: WHAT" of one that passed is shown: what was left out of it.

set -u
cd "$(dirname "$0")/.." || exit 2
root=$PWD
export LC_ALL=C
# Other users read what the tests make.
umask 022
# Some children die of a signal on purpose: no file "core" in the tree.
ulimit -S -c 0
unset LD_PRELOAD "${!IPCLIFT_@}"

usage() {
    sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
}

all_suites=(build unit preload musl scenario fuse package crash explore race fuzz
    model mutate clean)
install=1
suites=()
only= whole= asked=()
build_dir=$root/build
args=("$@")
while (($#)); do
    arg=$1
    shift
    case $arg in
    --no-install) install= ;;
    --build-dir)
        (($#)) || {
            echo "run.sh: --build-dir wants a directory" >&2
            exit 2
        }
        build_dir=$(cd "$1" && pwd) || exit 2
        shift
        ;;
    --list)
        printf '%s\n' "${all_suites[@]}"
        exit 0
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        if [[ " ${all_suites[*]} " != *" ${arg%%/*} "* ]]; then
            echo "run.sh: no suite '${arg%%/*}' (see --help)" >&2
            exit 2
        fi
        # A test by name: its suite runs, and what has another name is left out,
        # unless the suite is asked for, too.
        if [[ $arg == */* ]]; then
            only+=" $arg "
            asked+=("$arg")
        else
            whole+=" $arg "
        fi
        [[ " ${suites[*]-} " == *" ${arg%%/*} "* ]] || suites+=("${arg%%/*}")
        ;;
    esac
done
if ((${#suites[@]} == 0)); then
    # mutate builds the library again for each mutant: hours.
    for suite in "${all_suites[@]}"; do
        [[ $suite == mutate && ${FULL:-0} == 0 ]] || suites+=("$suite")
    done
fi
if [[ ! -e $build_dir/build.ninja ]] &&
    [[ -n $only || " ${suites[*]} " != *" build "* ]]; then
    suites=(build "${suites[@]}")
    only+=" build/gcc "
fi

full=${FULL:-0}
passed=0 failed=0 skipped=0 failures=()

# ---- what must be there -----------------------------------------------------

stop() {
    echo "run.sh: $*" >&2
    exit 2
}

# Namespaces and other users' uids need root: directly, or by a sudo that does
# not ask.
as_root=()
if ((EUID)); then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root=(sudo -n)
    else
        as_root=(false)
    fi
fi

# Without these nothing is tested: to build, to start, to read what they say.
packages=(gcc libc6-dev pkg-config meson ninja-build libjson-c-dev libsmartcols-dev
    libfuse3-dev fuse3 libjemalloc-dev libcriterion-dev musl-tools perl util-linux
    procps python3 xxd)
# Programs of others that run under the shim. A test that misses its own says
# so, and the others run.
apps=(
    clang            # the second compiler of all that is built
    libclang-rt-14-dev # its sanitizers and libFuzzer, for fuzz/targets
    spin             # proves the models of tests/model/spin
    strace           # counts system calls: calls without any, no fd kept
    valgrind         # its own loader, signals and robust lists
    fakeroot         # its two halves speak through msgsnd and semop
    libfaketime      # a second LD_PRELOAD, which has its own clock
    php-cli          # sysvsem, sysvmsg and sysvshm, opened with RTLD_DEEPBIND
    python3-sysv-ipc # every call from an interpreter, undo by SIGKILL
    postgresql       # segments, kill -9 of the postmaster; no cluster is made
    apache2-bin      # a mutex of System V among children of another user
    uwsgi-core       # the same among workers (started with its python)
    uwsgi-plugin-python3
    btrfs-progs      # a registry in a file system that copies on write
    rsync            # what it does with a file of tebibytes
    ruby luajit sbcl # they look functions up by libc's own handle
    xvfb x11-apps    # MIT-SHM: segments of a server and its clients
    php-fpm          # the same calls from children without an environment
    squid            # diskd: queues and segments with a child of another user
    libapr1-dev      # its process mutexes, timed ones as well
    debhelper        # builds the packages
    lintian          # looks at them
    rpm              # reads the RPM spec, and builds its packages
    podman           # containers of one process namespace on one registry
    runc             # which podman starts: crun knows no hybrid cgroups
    gnuplot-nox      # draws what bench has measured
    g++ libboost-dev # its queue and semaphore beside ours, in bench
    binutils systemtap-sdt-dev # probes are built, and seen in the file
    bpftrace         # attaches to them where the kernel lets it
    libncurses-dev libmicrohttpd-dev # ipclift top, metrics --listen
    libhiredis-dev libssl-dev # ipclift bridge
    redis-server redis-tools iproute2 # what it carries to, and over which cable
    python3-redis    # the loop beside it, in tests/bench/bridge
    python3-pyte     # the terminal that top is looked at on
    graphviz         # draws waits --svg
    prometheus       # promtool reads what metrics tells
    netdata-core     # its sysvipc plugin reads a mount (examples/netdata.txt)
    zsh fish         # completion in them
    stress-ng        # its stressors of IPC, with --verify
    rt-tests         # round trips of real-time threads by queues and sets
    openmpi-bin libopenmpi-dev # ranks that share segments of System V
)

absent() {
    local p
    for p; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == \
            installed ]] || echo "$p"
    done
}
apt_install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
        --no-install-recommends "$@" >/dev/null
}

# Debian's server would make a cluster, and start it.
no_cluster() {
    local conf=/etc/postgresql-common/createcluster.conf
    [[ -e $conf ]] || "${as_root[@]}" sh -c "mkdir -p ${conf%/*} &&
        echo 'create_main_cluster = false' >$conf"
}

# Servers are installed, not started, nor at the next boot. Who has a policy of his
# own keeps it.
policy=/usr/sbin/policy-rc.d
start_none() {
    [[ -e $policy ]] || "${as_root[@]}" sh -c "printf '%s\\n' '#!/bin/sh' \
        '# made by tests/run.sh, for as long as it installs' 'exit 101' \
        >$policy && chmod 0755 $policy"
}
allow_starts() {
    ! grep -qs 'made by tests/run.sh' $policy || "${as_root[@]}" rm -f $policy
}
servers() {
    printf '%s\n' /etc/init.d/{apache,php,postgresql,prometheus,redis,squid}* \
        /lib/systemd/system/podman*
}
# What was not there before is not started at boot.
there=
never_start() {
    local s
    for s in $(comm -13 <(echo "$there") <(servers)); do
        case $s in
        *'*'*) ;;
        /etc/*) "${as_root[@]}" update-rc.d "${s##*/}" disable ;;
        *) "${as_root[@]}" env DPKG_MAINTSCRIPT_PACKAGE=podman \
            deb-systemd-helper disable "${s##*/}" ;;
        esac
    done >/dev/null 2>&1
}

# install_all MISSING WANTED, the names of two lists
install_all() {
    local -n must=$1 may=$2
    local p

    # All at once is quickest, if all are to be had.
    apt_install "${must[@]}" "${may[@]}" 2>/dev/null && return
    ((${#must[@]} == 0)) || apt_install "${must[@]}" || return
    for p in "${may[@]}"; do
        apt_install "$p" || echo "# not to be had, its tests are skipped: $p"
    done
}

need_packages() {
    local missing wanted
    command -v dpkg-query >/dev/null ||
        stop "not a Debian system: install by hand ${packages[*]}, then" \
            "give --no-install"
    mapfile -t missing < <(absent "${packages[@]}")
    mapfile -t wanted < <(absent "${apps[@]}")
    ((${#missing[@]} + ${#wanted[@]})) || return 0
    if [[ ${as_root[*]-} == false ]]; then
        ((${#missing[@]} == 0)) ||
            stop "these packages are missing, and installing them needs root" \
                "or sudo: apt-get install ${missing[*]}"
        echo "# not installed, which needs root or sudo: ${wanted[*]}"
        return 0
    fi
    echo "# installing" "${missing[@]}" "${wanted[@]}"
    "${as_root[@]}" apt-get update -qq ||
        echo "# apt-get update failed; going on with the lists that are here"
    [[ " ${wanted[*]} " != *" postgresql "* ]] || no_cluster
    there=$(servers)
    trap 'never_start; allow_starts; remove_work' EXIT
    start_none
    install_all missing wanted ||
        stop "apt-get could not install ${missing[*]}"
    never_start
    allow_starts
    trap remove_work EXIT
}

# ---- one test ---------------------------------------------------------------

# Everything that is ours lives here, and every process of ours has the mark.
work=$(mktemp -d /dev/shm/ipclift-test.XXXXXX 2>/dev/null || mktemp -d) ||
    stop "no temporary directory"
chmod 0755 "$work"
mark=IPCLIFT_TEST_MARK=$(basename "$work")
log=$work/log

# shellcheck disable=SC2329 # called by trap
remove_work() {
    rm -rf "$work" 2>/dev/null || "${as_root[@]}" rm -rf "$work"
    [[ -z ${copies-} ]] || rm -rf "$copies"
}
trap remove_work EXIT
trap 'exit 130' INT TERM HUP

ok() {
    echo "ok $1"
    passed=$((passed + 1))
}
skip() {
    known+=" $1 "
    echo "skip $1: $2"
    skipped=$((skipped + 1))
}
fail() {
    local said
    echo "FAIL $1${2:+: $2}"
    failed=$((failed + 1))
    failures+=("$1${2:+: $2}")
    # Long logs: the beginning says what, the end says how.
    if [[ -s $log ]]; then
        said=$(grep -aE '^ *\+?(FAIL|not ok)|rror|wrong|signal' "$log" | head -3)
        failures+=("$(sed '1s/^ */    /; 2,$s/^ */#       /' \
            <<<"${said:-$(tail -n 3 "$log")}")")
        awk '{ l[NR] = $0 } END { for (i = 1; i <= NR; i++)
            if (i <= 60 || i > NR - 60) print "    " l[i]
            else if (i == 61) print "    ... " NR - 120 " lines ..." }' "$log"
    fi
}

# wanted NAME: is it asked for? What storms leave is checked with them. Which names
# there are is only known by what is met: tests, and suites skipped as a whole.
known=
wanted() {
    [[ -z $only || $only == *" $1 "* || $only == *" ${1%-left} "* ||
        $whole == *" ${1%%[-/]*} "* ]] && known+=" $1 "
}

# check NAME SECONDS COMMAND...
check() {
    local name=$1 limit=$2 status from=$SECONDS
    shift 2
    wanted "$name" || return 0
    "${sudo[@]}" env "$mark" "IPCLIFT_SHIM=$shim" "IPCLIFT_TOOL=$tool" \
        "IPCLIFT_FUSE=$mounter" "IPCLIFT_TESTS=$tests" "TMPDIR=$work" \
        "IPCLIFT_TEST_DIR=$work" "FULL=$full" \
        timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
    status=$?
    case $status in
    0)
        ok "$name$( ((SECONDS - from > 9)) && echo " ($((SECONDS - from)) s)")"
        sed -n 's/^skip: /#   without: /p' "$log"
        ;;
    77) skip "$name" "$(tail -n 1 "$log" | sed 's/^skip: //')" ;;
    124 | 137) fail "$name" "no end in $limit s" ;;
    *) fail "$name" "exit status $status" ;;
    esac
}

sudo=()

# What is tested. LD_PRELOAD cannot hold a path with ' ' or ':', and the words of
# scripts break at more: from a tree of such a name the tests run copies.
out=$build_dir copies=
if [[ $root == *[!-A-Za-z0-9/._+$'\x80'-$'\xff']* ]]; then
    copies=$(mktemp -d /tmp/ipclift-test.XXXXXX) || stop "no directory in /tmp"
    chmod 0755 "$copies"
    out=$copies
fi
shim=$out/shim/libipclift.so
tool=$out/shim/tool/ipclift
mounter=$out/fuse/ipclift-fuse
tests=$out/tests
copy_build() {
    local f
    [[ -n $copies && -d $build_dir/tests ]] || return 0
    for f in shim/libipclift.so shim/tool/ipclift shim/tool/ipclift-json.5 \
        shim/tool/ipclift-tls.so shim/tool/ipclift.schema.json \
        fuse/ipclift-fuse; do
        [[ ! -r $build_dir/$f ]] || install -D "$build_dir/$f" "$out/$f"
    done
    cp -r "$build_dir/tests" "$out"
}

# programs DIR: the executables that were built there
programs() {
    find "$1" -maxdepth 1 -type f -perm -u+x ! -name '*.so*' 2>/dev/null |
        sort
}

# May the tests have IPC namespaces of their own? Else says why not.
namespaces() {
    "${as_root[@]}" unshare --ipc --mount true 2>/dev/null && return
    if [[ ${as_root[*]-} == false ]]; then
        echo "needs root or sudo for unshare --ipc"
    else
        echo "unshare --ipc --mount is not permitted here"
    fi
    return 1
}

# ---- the suites -------------------------------------------------------------

# build NAME DIR COMPILER [MESON OPTIONS]
build() {
    local name=$1 dir=$2 cc=$3 setup=(setup)
    shift 3
    wanted "$name" || return 0
    # A new configuration each time: test files may have come or gone.
    # What was not there may have been installed since.
    if [[ -f $dir/build.ninja ]]; then
        meson configure --clearcache "$dir" >/dev/null
        setup=(setup --reconfigure)
    fi
    if CC=$cc meson "${setup[@]}" "$@" "$dir" >"$log" 2>&1 &&
        ninja -C "$dir" "${targets[@]}" >>"$log" 2>&1; then
        ok "$name"
    else
        fail "$name"
        return 1
    fi
}

# The product as packagers build it, and what an installation is made of.
build_types() {
    local targets=() cc type dir=$work/product
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        for type in plain release debug; do
            build "build/$type-$cc" "$dir" $cc --buildtype=$type \
                -Dtests=false -Dwerror=true || continue
            [[ $type-$cc != release-gcc || ! -e $dir/build.ninja ]] ||
                check build/install 60 tests/install.sh "$dir" "$work/root"
            rm -rf "$dir"
        done
    done
}

suite_build() {
    local targets=()
    check build/ordering 60 tests/ordering.py
    check build/citations 60 tests/citations.py
    check build/fields 60 tests/fields.py
    build build/gcc "$build_dir" gcc -Dwerror=true || return
    if command -v clang >/dev/null; then
        build build/clang build-clang clang -Dwerror=true
    else
        skip build/clang "no clang here"
    fi
    build_types
}

suite_unit() {
    local targets=() p found=
    for p in $(programs "$tests/unit"); do
        found=1
        check "unit/$(basename "$p")" 300 "$p"
    done
    if [[ -z $found ]]; then
        skip unit "no tests/unit in this tree"
        return
    fi
    # Only what the tests link: a sanitizer cannot go into a freestanding .so.
    for p in $(programs "$tests/unit"); do
        targets+=("tests/unit/$(basename "$p")")
    done
    build build/asan build-asan gcc -Db_sanitize=address,undefined \
        -Db_lundef=false || return
    for p in "${targets[@]}"; do
        # Criterion itself leaks a little.
        check "unit-asan/$(basename "$p")" 600 env ASAN_OPTIONS=detect_leaks=0 \
            UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
            "build-asan/$p"
    done
    unit_tsan
}

# The core under ThreadSanitizer, by threads of one process. What it reports
# depends on which calls met: with FULL=1, or by name.
unit_tsan() {
    local targets=(tests/tsan/threads)
    ((full)) || [[ $only == *" unit-tsan/threads "* ]] || return 0
    wanted unit-tsan/threads || return 0
    if ! echo 'int main(void) { return 0; }' | clang -x c -fsanitize=thread \
        -o "$work/probe" - >/dev/null 2>&1; then
        skip unit-tsan/threads "no clang with ThreadSanitizer here"
        return
    fi
    rm -f "$work/probe"
    only=${only:+$only build/tsan } build build/tsan build-tsan clang \
        -Db_sanitize=thread -Db_lundef=false -Doptimization=1 -Dfuse=false ||
        return
    check unit-tsan/threads 300 env \
        TSAN_OPTIONS="suppressions=$root/tests/tsan/intended.txt" \
        build-tsan/tests/tsan/threads $((full ? 100000 : 2000))
}

pairs() {
    local p why
    why=$(namespaces) || {
        skip "$1" "$why"
        return
    }
    local sudo=("${as_root[@]}")
    for p in $(programs "$tests/preload"); do
        case $1/$(basename "$p") in
        musl/musl-* | preload/[!m]* | preload/m[!u]* | preload/mu[!s]*)
            check "$1/$(basename "$p")" 150 tests/preload/pair.sh "$p"
            ((full)) && [[ $p == *signal_steps ]] || continue
            check "$1/$(basename "$p")-all" 7200 env PAIR_LIMIT=3600 \
                tests/preload/pair.sh "$p" --every 1
            ;;
        esac
    done
}

suite_preload() {
    pairs preload
}

suite_musl() {
    if command -v musl-gcc >/dev/null; then
        pairs musl
    else
        skip musl "no musl-gcc here"
    fi
}

# scripts SUITE FOLDER SECONDS SHARED...: each script of a folder, but for those
# that the others use; in namespaces of its own.
scripts() {
    local suite=$1 folder=$2 limit=$3 p why sudo=("${as_root[@]}")
    shift 3
    why=$(namespaces) || {
        skip "$suite" "$why"
        return
    }
    for p in "$folder"/*.sh; do
        [[ " $* " != *" ${p##*/} "* ]] || continue
        check "$suite/$(basename "$p" .sh)" "$limit" bash "$p"
    done
}

suite_scenario() {
    # The runner of the programs, and what scripts share.
    scripts scenario tests/preload 180 pair.sh scenario.sh checks.sh \
        room.sh tool.sh bridge_head.sh
}

suite_fuse() {
    scripts fuse tests/fuse 180 mounted.sh
}

suite_package() {
    # linked.sh tests what is installed: deb.sh and install.sh start it.
    scripts package tests/package 900 linked.sh
}

suite_crash() {
    local p found=
    for p in $(programs "$tests/crash") tests/crash/*.sh; do
        [[ -x $p ]] || continue
        found=1
        mkdir -p "$work/crash"
        if ((full)); then
            check "crash/$(basename "$p" .sh)" 7200 env \
                "IPCLIFT_REGISTRY=$work/crash/registry" "$p"
        else
            check "crash/$(basename "$p" .sh)" 300 env \
                "IPCLIFT_REGISTRY=$work/crash/registry" "$p" -q
        fi
        rm -rf "$work/crash"
    done
    [[ -n $found ]] || skip crash "no tests/crash in this tree"
}

suite_explore() {
    local total=220
    if [[ ! -x $tests/explore/explore ]]; then
        skip explore "no tests/explore in this tree"
        return
    fi
    ((!full)) || total=3600
    check explore/schedules $((total + 300)) "$tests/explore/explore" \
        --total "$total"
    check explore/random $((total / 3 + 300)) "$tests/explore/explore" \
        --total $((total / 6)) --random "${EXPLORE_SEED:-1}"
}

# storm NAME SECONDS PROGRAM ARGS
storm() {
    local name=$1 seconds=$2 program=$tests/race/$3 leases=()
    shift 3
    [[ -x $program ]] || return
    mkdir -p "$work/storm"
    [[ $name != lease_storm ]] || leases=(IPCLIFT_LEASE=msg,mq)
    check "race/$name" "$seconds" unshare --ipc --mount -- env \
        "LD_PRELOAD=$shim" "IPCLIFT_REGISTRY=$work/storm/registry" \
        "${leases[@]}" "$program" "$@"
    # What it leaves of the registry is whole.
    check "race/$name-left" 60 "$tool" check --registry "$work/storm/registry"
    "${as_root[@]}" rm -rf "$work/storm"
}

suite_race() {
    local why sudo=("${as_root[@]}") p kills=500 signals=50000 limit=120
    local mixed=4000
    why=$(namespaces) || {
        skip race "$why"
        return
    }
    ((full)) && kills=10000 signals=1000000 limit=3600 mixed=1000000
    storm sem_lock_storm $limit sem_lock_storm --kills $kills
    storm sem_conserve_storm $limit sem_conserve_storm --kills $kills
    storm sem_signal_storm $limit sem_signal_storm --signals $signals
    storm sem_signal_storm-threads $limit sem_signal_storm --threads 4 \
        --signals $((signals / 2))
    storm mq_poll_storm-by-name $limit mq_poll_storm --by-name --kills $kills
    # The registry's file system is full now and then.
    mkdir -p "$work/storm"
    check race/mixed_storm-full $limit unshare --ipc --mount -- sh -c '
        mount -t tmpfs -o size=10m none "$1" &&
            LD_PRELOAD=$2 IPCLIFT_REGISTRY=$1/registry "$3" \
                --kills "$4" --full "$1/filler" &&
            "$5" check --registry "$1/registry"' \
        sh "$work/storm" "$shim" "$tests/race/mixed_storm" $kills "$tool"
    "${as_root[@]}" rm -rf "$work/storm"
    for p in $(programs "$tests/race"); do
        p=$(basename "$p")
        case $p in
        sem_lock_storm | sem_conserve_storm | sem_signal_storm) ;;
        mixed_storm)
            storm "$p" $((full ? 7200 : limit)) "$p" --kills $mixed --seed "${STORM_SEED:-1}"
            ;;
        *) storm "$p" $limit "$p" --kills $kills ;;
        esac
    done
}

# The figures are told in any case.
fuzz() {
    check "fuzz/$1" "${@:2}"
    wanted "fuzz/$1" && sed 's/^/#   /' "$log"
}

# libFuzzer's targets, eight of them, so many seconds each.
fuzz_targets() {
    local targets=(fuzz-targets)
    wanted fuzz/targets || return 0
    if ! echo 'int LLVMFuzzerTestOneInput(const char *p, long n)
        { return p && n; }' | clang -x c -fsanitize=fuzzer,address \
        -o "$work/probe" - >/dev/null 2>&1; then
        skip fuzz/targets "no clang with libFuzzer here"
        return
    fi
    rm -f "$work/probe"
    only=${only:+$only build/fuzz } build build/fuzz build-fuzz clang \
        -Dfuzzers=true -Db_sanitize=address,undefined -Db_lundef=false \
        -Doptimization=1 || return
    fuzz targets $((8 * $1 + 300)) tests/fuzz/targets.sh "$root/build-fuzz" "$1"
}

suite_fuzz() {
    local why sudo=("${as_root[@]}") seconds=50
    why=$(namespaces) || {
        skip fuzz "$why"
        return
    }
    ((full)) && seconds=3600
    fuzz registries $((3 * seconds + 120)) unshare --ipc --mount -- \
        "$tests/fuzz/registries" --seconds $seconds
    fuzz_targets $((full ? seconds : 17))
    # What it met was mended, but it has run for minutes only (issue 16).
    if ((full)) || [[ $only == *" fuzz/scribble "* ]]; then
        fuzz scribble $((seconds + 120)) unshare --ipc --mount -- \
            "$tests/fuzz/scribble" --seconds $(((full) ? seconds : 20))
    fi
}

suite_model() {
    check model/spin 1800 tests/model/spin/run.sh
    local why sudo=("${as_root[@]}") calls=20000 ids=50000 seed seeds=(1 2 3) p
    local steps=17000
    why=$(namespaces) || {
        skip model "$why"
        return
    }
    ((full)) && calls=200000 ids=200000 steps=200000 seeds=(1 2 3 4 5)
    for seed in "${seeds[@]}"; do
        check "model/calls-$seed" 600 tests/model/compare.sh --shim "$shim" \
            --bin "$tests/model/sem_random" --calls $calls "$seed"
        check "model/ids-$seed" 600 tests/model/compare.sh --shim "$shim" \
            --bin "$tests/model/sem_random" --calls $ids --ids-only "$seed"
        check "model/differ-$seed" 900 tests/model/differ.sh --shim "$shim" \
            --bin "$tests/model/differ" --steps $steps "$seed"
        for p in "$tests"/model/*_random; do
            [[ -x $p && $p != */sem_random ]] || continue
            check "model/$(basename "$p")-$seed" 600 \
                tests/model/compare.sh --shim "$shim" --bin "$p" \
                --calls $calls "$seed"
        done
    done
}

suite_mutate() {
    local sudo=("${as_root[@]}")
    check mutate/list 7200 tests/mutate/run.py
    wanted mutate/list && grep -c '^killed' "$log" | sed 's/$/ killed/; s/^/#   /'
}

# ---- nothing left -----------------------------------------------------------

kernel_objects() {
    tail -q -n +2 /proc/sysvipc/{sem,msg,shm} 2>/dev/null |
        awk '{ print $1, $2 }' | sort
}
shm_files() {
    # Users' registries, and those of unit and crash tests whose process is
    # gone. All else is made in the work directory, which has its own check.
    local f
    {
        # The directory itself stays: another may be about to use it.
        find /dev/shm/ipclift-[0-9]* -mindepth 1 2>/dev/null
        for f in /dev/shm/{unit,crash}-*; do
            [[ ! -e $f || -d /proc/${f##*-} ]] || echo "$f"
        done
    } | sort
}
own_mounts() {
    grep -E "ipclift|$work" /proc/self/mountinfo
}
own_processes() {
    local d
    for d in /proc/[0-9]*; do
        if "${as_root[@]}" grep -qzx "$mark" "$d/environ" 2>/dev/null; then
            echo "${d#/proc/} $(tr '\0' ' ' <"$d/cmdline" 2>/dev/null)"
        fi
    done
}

# left NAME COMMAND: what COMMAND lists beyond what it listed before. Others
# work on this machine too: what goes away by itself was theirs, or on its way.
left() {
    local name=$1 try
    shift
    for try in 1 1 2 3 5; do
        comm -13 "$work/before.$name" <("$@") >"$log"
        [[ -s $log ]] || break
        sleep "$try"
    done
    if [[ -s $log ]]; then
        fail "clean/$name" "left behind:"
    else
        ok "clean/$name"
    fi
}

before() {
    kernel_objects >"$work/before.objects"
    shm_files >"$work/before.files"
    own_mounts >"$work/before.mounts"
    : >"$work/before.processes"
    echo before >"$work/before.work"
}

work_files() {
    find "$work" -mindepth 1 ! -name 'before.*' ! -path "$log" | sort
}

suite_clean() {
    : >"$work/before.work"
    left objects kernel_objects
    left files shm_files
    left mounts own_mounts
    left processes own_processes
    left work work_files
}

# ---- all --------------------------------------------------------------------

[[ -z $install ]] || need_packages

# Once more in namespaces of our own. Where that is not permitted, the tests that
# need them say so one by one.
if [[ -z ${RUN_SH_INSIDE-} ]]; then
    inside=("${as_root[@]}" unshare --ipc --mount --pid --fork --kill-child
        --mount-proc)
    if "${inside[@]}" true 2>/dev/null; then
        remove_work
        trap - EXIT
        drop=()
        ((EUID == 0)) || drop=(setpriv "--reuid=$(id -u)" "--regid=$(id -g)"
            --init-groups)
        # shellcheck disable=SC2016 # for the inner shell
        exec "${inside[@]}" env RUN_SH_INSIDE=1 "PATH=$PATH" ${HOME+"HOME=$HOME"} \
            "FULL=$full" ${CI+"CI=$CI"} sh -c '
            mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 2
            [ ! -d /dev/mqueue ] || mount -t mqueue mqueue /dev/mqueue
            exec "$@"' sh "${drop[@]}" "$root/tests/run.sh" --no-install \
            "${args[@]}"
    fi
fi
before
copy_build
for suite in "${suites[@]}"; do
    [[ -n $suite ]] || continue
    case $suite in
    race) echo "# race: storms, a minute or so" ;;
    model) echo "# model: random calls, half a minute or so" ;;
    *) echo "# $suite" ;;
    esac
    "suite_$suite"
    # Without a build there is nothing to run.
    if [[ $suite == build ]]; then
        copy_build
        [[ -r $shim ]] || break
    fi
done
# Who keeps only the end of a log sees them too.
((failed == 0)) || printf '%s\n' "# failed:" "${failures[@]/#/#   }"
echo "$passed passed, $failed failed$(
    ((skipped)) && echo ", $skipped skipped")"
# Without a build nothing was looked for.
for arg in "${asked[@]}"; do
    [[ -r $shim && $known != *" $arg "* && $known != *" ${arg%%/*} "* ]] || continue
    echo "run.sh: no test has the name $arg" >&2
    unknown=1
done
[[ -z ${unknown-} ]] || exit 2
[[ -z $only ]] || ((passed + failed)) || exit 77
((failed == 0))
