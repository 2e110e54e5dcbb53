# SPDX-License-Identifier: MIT
#
# mounted.sh - what the tests of the mount share: sourced by them, no test.
#
# Each test runs in IPC and mount namespaces of its own, so that a mount which
# a failure leaves behind goes with it, and the kernel's objects are its own.
# It gets $work, a directory that is removed at the end, and $IPCLIFT_REGISTRY
# there. Every daemon that it starts is ended at the end.

set -u
export LC_ALL=C
if [[ -z ${FUSE_TEST_INSIDE-} ]]; then
    if [[ ! -c /dev/fuse ]]; then
        echo "no /dev/fuse here"
        exit 77
    fi
    FUSE_TEST_INSIDE=1 exec unshare --ipc --mount bash "$0" "$@"
fi
ipclift=${IPCLIFT_TOOL:?the command}
mounter=${IPCLIFT_FUSE:?the program ipclift-fuse}
programs=${IPCLIFT_TESTS:?the built test programs}/fuse
[[ -x $mounter ]] || {
    echo "ipclift-fuse was not built"
    exit 77
}
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" fuse.XXXXXX) || exit 1
chmod 0755 "$work"
export IPCLIFT_REGISTRY=$work/registry
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/../preload/checks.sh"
mounts=()
children=()

# shellcheck disable=SC2329 # called by trap
tidy_up() {
    local m p
    for p in "${children[@]}"; do
        kill -KILL "$p" 2>/dev/null
    done
    for m in "${mounts[@]}"; do
        mountpoint -q "$m" || stat "$m" 2>&1 | grep -q 'not connected' ||
            continue
        fusermount3 -u "$m" || umount -l "$m"
    done
    wait
    rm -rf "$work"
}
trap tidy_up EXIT

same() { # same WHAT FILE FILE
    if diff -u "$2" "$3" >"$work/diff"; then
        echo "ok   $1"
    else
        echo "FAIL $1:"
        head -n 40 "$work/diff"
        bad=1
    fi
}

# mount_view DIR [OPTIONS]: mounts the registry; DIR is made.
mount_view() {
    local dir=$1 options=${2:-create}
    mkdir -p "$dir"
    mounts+=("$dir")
    "$mounter" "$IPCLIFT_REGISTRY" "$dir" -o "$options,log=$work/log" ||
        exit 1
}
# The process behind a mount.
mounter_of() {
    pgrep -f "^$mounter .*$1( |\$)"
}
# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS <= end)) || return 1
        sleep 0.02
    done
}
# In the background its pid would be a shell's: give env LD_PRELOAD there.
shim() {
    LD_PRELOAD=$IPCLIFT_SHIM "$@"
}
# As nobody, with no group and no capability.
other_user() {
    setpriv --reuid 65534 --regid 65534 --clear-groups \
        --inh-caps=-all "$@"
}
