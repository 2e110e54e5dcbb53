#!/bin/bash
# SPDX-License-Identifier: MIT
#
# spec.sh - the other packages' recipes, as far as a Debian machine can: the RPM spec
# is parsed, the APKBUILD is a shell script with what abuild wants; each has every
# file that is installed, and the version of meson.build.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/preload/checks.sh
. "$root/tests/preload/checks.sh"
spec=$root/packaging/rpm/ipclift.spec
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build")

# shellcheck disable=SC1091,SC2154 # variables of the recipe
is "APKBUILD" "$(. "$root/packaging/alpine/APKBUILD" &&
    echo "$pkgname $pkgver $(type -t build package fuse | paste -sd ' ')")" \
    "ipclift $version function function function"
for f in _bindir}/ipclift ipclift-fuse libipclift.so ipclift.pc ipclift.1 libipclift.7 \
    ipclift-fuse.1 'ipclift-save@.*' ipclift-view@.service completions/ipclift; do
    is "the spec has $f" "$(grep -cE "^%.*[{/]${f//./\\.}\\*?$" "$spec")" 1
done
command -v rpmspec >/dev/null || {
    ((bad == 0)) || exit 1
    echo "read, not parsed: no rpmspec here"
    exit 77
}
# Fedora's macros, which Debian's rpm has not.
is "the spec is parsed" "$(rpmspec -q --define 'meson true' \
    --define 'meson_build true' --define 'meson_install true' \
    --define '_unitdir /usr/lib/systemd/system' --qf '%{name}-%{version}\n' \
    "$spec" 2>&1 | sort | paste -sd ' ')" \
    "ipclift-$version ipclift-devel-$version ipclift-fuse-$version"
exit $bad
