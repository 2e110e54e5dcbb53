#!/bin/bash
# SPDX-License-Identifier: MIT
#
# recipes.sh - the other packages' recipes, followed on Debian: the RPM spec by
# rpmbuild, the APKBUILD by its own functions, each from a clean clone and with
# stand-ins for what only Fedora's macros and Alpine's abuild have. Every file that
# is installed is in a package, and the unpacked command serves.
set -u
export LC_ALL=C
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
export TMPDIR=$work HOME=$work
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/preload/checks.sh
. "$root/tests/preload/checks.sh"
fail() {
    echo "FAIL $1"
    tail -n 40 "$work/log"
    exit 1
}
git -c safe.directory='*' clone -q "$root" "$work/source" 2>"$work/log" || {
    echo "not a git clone: nothing to clone from"
    exit 77
}
unset IPCLIFT_SHIM IPCLIFT_TOOL
# serves WHAT TREE: the command of an unpacked tree, on a registry of its own
serves() {
    is "$1 serves" "$(IPCLIFT_REGISTRY=$work/registry status \
        "$2/usr/bin/ipclift" run -- ipcmk -Q) $(grep -c '^Message queue id: 0$' \
        "$work/out") $(IPCLIFT_REGISTRY=$work/registry \
        "$2/usr/bin/ipclift" ls msg | grep -c '^msg\|^0 ')" "0 1 1"
    IPCLIFT_REGISTRY=$work/registry "$2/usr/bin/ipclift" destroy \
        "$work/registry"
}

# ---- the APKBUILD, by glibc's compiler
# shellcheck disable=SC2329 # called by the recipe
abuild-meson() {
    meson setup --buildtype=plain --prefix=/usr --libdir=lib "$@"
}
# shellcheck disable=SC2329,SC2154 # as above; abuild's variables
amove() {
    local f

    for f in "$@"; do
        mkdir -p "$subpkgdir/${f%/*}" && mv "$pkgdir/$f" "$subpkgdir/$f"
    done
}
export pkgdir=$work/apk subpkgdir=$work/apk-fuse
(
    set -e
    cd "$work/source"
    # shellcheck disable=SC1091 # the recipe
    . packaging/alpine/APKBUILD
    build
    package
    fuse
) >"$work/log" 2>&1 || fail "the APKBUILD"
is "its subpackage fuse" "$(cd "$subpkgdir" && find . -type f)" ./usr/bin/ipclift-fuse
is "its package" "$(cd "$pkgdir/usr" && ls bin lib/ipclift include \
    lib/pkgconfig share/man/man1 share/bash-completion/completions |
    grep -v ':$' | xargs)" "ipclift ipclift.h ipclift-tls.so libipclift.so \
ipclift.pc ipclift ipclift-fuse.1 ipclift.1"
serves "what it packs" "$pkgdir"

# ---- the RPM spec
command -v rpmbuild >/dev/null && command -v rpm2archive >/dev/null || {
    ((bad == 0)) || exit 1
    echo "the APKBUILD was followed; the spec not: no rpmbuild here"
    exit 77
}
version=$(sed -n 's/^Version: *//p' "$root/packaging/rpm/ipclift.spec")
mkdir -p "$work/rpm/SOURCES"
git -C "$work/source" archive --prefix="ipclift-$version/" \
    -o "$work/rpm/SOURCES/ipclift-$version.tar.gz" HEAD
setup="meson setup --buildtype=plain --prefix=/usr --libdir=lib64 output"
install="meson install --no-rebuild -C output"
# It fails for a file that is installed and in no package, or listed and not there.
rpmbuild -bb --nodeps --define "_topdir $work/rpm" --define "_tmppath $work" \
    --define '_libdir /usr/lib64' --define '_unitdir /usr/lib/systemd/system' \
    --define 'debug_package %{nil}' --define "meson $setup" \
    --define 'meson_build ninja -C output' \
    --define "meson_install DESTDIR=%{buildroot} $install" \
    "$work/source/packaging/rpm/ipclift.spec" >"$work/log" 2>&1 ||
    fail "the spec"
is "its packages" "$(cd "$work/rpm/RPMS/x86_64" && echo *.rpm)" \
    "$(printf "ipclift-%s$version-1.x86_64.rpm\n" '' devel- fuse- | sort |
        paste -sd ' ')"
mkdir "$work/unpacked"
for p in "$work/rpm/RPMS/x86_64/"*.rpm; do
    rpm2archive "$p" && tar -C "$work/unpacked" -xzf "$p.tgz" || bad=1
done
serves "what they have" "$work/unpacked"
exit $bad
