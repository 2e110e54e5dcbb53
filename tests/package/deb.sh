#!/bin/bash
# SPDX-License-Identifier: MIT
#
# deb.sh - the Debian packages: built from a clean clone, looked at by lintian,
# installed into a root of their own (an overlay over this machine's), where their
# own tests (debian/tests) run; unpacked anywhere; upgraded beside a registry that
# is in use and one of another version; removed.
#
# FULL=1 runs the unit tests in the package's build, too.
set -u
export LC_ALL=C
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
# shellcheck source=tests/preload/checks.sh
. "$root/tests/preload/checks.sh"
fail() {
    echo "FAIL $1"
    tail -n 40 "$work/log"
    exit 1
}
skip() {
    echo "$1"
    exit 77
}

if [[ -z ${DEB_INSIDE-} ]]; then
    rm -rf "$work"
    command -v dh >/dev/null || skip "no debhelper here"
    git -C "$root" rev-parse HEAD >/dev/null 2>&1 ||
        skip "not a git clone: nothing to clone from"
    unshare --mount --pid --fork true 2>/dev/null ||
        skip "unshare --mount is not permitted"
    DEB_INSIDE=1 exec unshare --mount --ipc --pid --fork --kill-child --mount-proc \
        "$BASH" "$0"
fi
# debhelper leaves the caches of its file types there.
mkdir "$work/tmp"
export TMPDIR=$work/tmp
trap 'umount -R "$work/root" 2>/dev/null; umount "$work/over" 2>/dev/null
    rm -rf --one-file-system "$work"' EXIT

# ---- built
git -c safe.directory='*' clone -q "$root" "$work/ipclift" 2>"$work/log" ||
    fail "git clone"
options=nocheck
((!${FULL:-0})) || options=
(cd "$work/ipclift" && env -u IPCLIFT_SHIM -u IPCLIFT_TOOL \
    DEB_BUILD_OPTIONS="$options noautodbgsym parallel=$(nproc)" \
    dpkg-buildpackage -us -uc -d) >"$work/log" 2>&1 || fail "dpkg-buildpackage"
ok=$(cd "$work" && echo *.deb | sed 's/_[^ ]*//g')
is "the packages" "$ok" "ipclift-fuse ipclift libipclift-dev libipclift0"
if command -v lintian >/dev/null; then
    is "lintian" "$(lintian --allow-root --tag-display-limit 0 "$work"/*.changes \
        2>&1 | grep -E '^[EW]:')" ""
else
    echo "skip: no lintian here"
fi
is "no library is needed or unknown" "$(dpkg-deb --fsys-tarfile \
    "$work"/libipclift0_*.deb | tar xO --wildcards '*/libipclift.so' \
    >"$work/lib.so"; readelf -d "$work/lib.so" | grep -c NEEDED)" 0

# ---- unpacked anywhere, not installed
mkdir "$work/moved"
for p in "$work"/*.deb; do dpkg-deb -x "$p" "$work/moved"; done
is "unpacked" "$(IPCLIFT_REGISTRY=$work/r1 status \
    "$work/moved/usr/bin/ipclift" run -- ipcmk -Q) $(grep -c '^Message queue id' \
    "$work/out")" "0 1"

# ---- installed
mkdir "$work/over" "$work/root"
mount -t tmpfs tmpfs "$work/over" && mkdir "$work/over/"{up,work} &&
    mount -t overlay overlay -o \
        "lowerdir=/,upperdir=$work/over/up,workdir=$work/over/work" \
        "$work/root" 2>"$work/log" || {
    ((bad == 0)) || exit 1
    skip "built and checked; not installed, as no overlay can be mounted here"
}
for d in /proc /dev /sys; do mount --rbind "$d" "$work/root$d"; done
# Not the lower layer's, which may be another file system.
mount -t tmpfs -o mode=1777 tmpfs "$work/root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$work/root/tmp"
cp "$work"/*.deb "$work/root/tmp"
cp -r "$work/ipclift" "$work/root/tmp/src"
inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        chroot "$work/root" "$@"
}
inside sh -c 'dpkg --force-depends -i /tmp/*.deb' >"$work/log" 2>&1 ||
    fail "dpkg -i"
is "nothing is said at first" "$(grep ^ipclift: "$work/log")" ""
is "run and ls" "$(inside sh -c 'cd / && ipclift run ipcmk -Q && ipclift ls' \
    2>&1 | grep -cE '^Message queue id: 0|^msg +0 ')" 2
is "none of it is the kernel's" "$(tail -n +2 /proc/sysvipc/msg)" ""
for t in $(sed -n 's/^Tests: *//p' "$work/ipclift/debian/tests/control"); do
    inside "/tmp/src/debian/tests/$t" >"$work/log" 2>&1 ||
        fail "debian/tests/$t"
    echo "ok   debian/tests/$t"
done
is "completion" "$(inside bash -c '. /usr/share/bash-completion/completions/ipclift
    complete -p ipclift' | grep -c ipclift)" 1
is "of zsh and fish" "$(inside sh -c 'ls /usr/share/zsh/vendor-completions/_ipclift \
    /usr/share/fish/vendor_completions.d/ipclift.fish' | wc -l)" 2
is "manual pages" "$(inside sh -c 'for p in ipclift.1 ipclift-fuse.1 libipclift.7
    do ls /usr/share/man/man${p#*.}/$p.gz; done' | wc -l)" 3
if command -v systemd-analyze >/dev/null; then
    is "units" "$(inside systemd-analyze verify ipclift-save@x.timer \
        ipclift-save@x.service ipclift-view@x.service \
        ipclift-bridge@x.service 2>&1 | grep ipclift)" ""
fi
# What the unit does, by hand.
is "the save's unit" "$(inside sh -c 'mkdir -p /var/lib/ipclift/default &&
    ipclift save --name default /var/lib/ipclift/default/boot' >/dev/null
    echo $?)" 0

# ---- upgraded
mkfifo "$work/hold"
inside ipclift run --name used -- sh -c 'ipcmk -S 1 >/dev/null
    exec perl -e "semget(7, 1, 01600); print STDERR qq(up\n); <STDIN>"' \
    <"$work/hold" 2>"$work/up" &
program=$!
exec 9>"$work/hold"
for ((i = 0; i < 500; i++)); do [[ -s $work/up ]] && break; sleep 0.02; done
inside sh -c 'ipclift create older && printf "\1" |
    dd of=/dev/shm/ipclift-0/older bs=1 seek=8 conv=notrunc status=none' \
    >/dev/null
inside sh -c 'dpkg --force-depends -i /tmp/*.deb' >"$work/log" 2>&1 ||
    fail "dpkg -i again"
is "what is in use" "$(grep 'in use, and left' "$work/log")" \
    "ipclift: in use, and left as they are: used"
is "what is of another version" "$(grep 'of another version' "$work/log")" \
    "ipclift: of another version than this one: older"
is "with the way out" "$(grep -c "'ipclift save'.*'ipclift restore'" \
    "$work/log")" 1
is "both are there" "$(inside ls /dev/shm/ipclift-0 | grep -cxE 'used|older')" 2
exec 9>&-
wait $program
is "its program went on" $? 0

# ---- removed
inside dpkg --force-depends -P ipclift-fuse libipclift-dev ipclift libipclift0 \
    >"$work/log" 2>&1 || fail "dpkg -P"
is "nothing stays" "$(inside find /usr /lib/systemd /etc -name '*ipclift*' 2>&1)" ""
exit $bad
