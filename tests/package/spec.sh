#!/bin/bash
# SPDX-License-Identifier: MIT
#
# spec.sh - the other packages' recipes, as far as a Debian machine can: the RPM spec
# is parsed, the APKBUILD is a shell script with what abuild wants; each has every
# file that is installed, and the version of meson.build; so have the manual pages
# and Debian's changelog. No address in them is invented: who maintains them is who
# commits. The workflow names every suite.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/preload/checks.sh
. "$root/tests/preload/checks.sh"
spec=$root/packaging/rpm/ipclift.spec
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build")

# shellcheck disable=SC1091,SC2154 # variables of the recipe
is "APKBUILD" "$(. "$root/packaging/alpine/APKBUILD" &&
    echo "$pkgname $pkgver $(type -t build package fuse | paste -sd ' ')")" \
    "ipclift ${version/'~dev'/_pre} function function function"
for f in _bindir}/ipclift ipclift-fuse libipclift.so ipclift.pc ipclift.h ipclift.1 libipclift.7 \
    ipclift-json.5 ipclift-fuse.1 'ipclift-save@.*' ipclift-view@.service \
    ipclift-bridge@.service ipclift-tls.so completions/ipclift ipclift.fish \
    _ipclift; do
    is "the spec has $f" "$(grep -cE "^%.*[{/]${f//./\\.}\\*?$" "$spec")" 1
done
is "Debian's changelog" "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$root/debian/changelog")" \
    "$version"
for page in fuse/ipclift-fuse.1 shim/libipclift.7 shim/tool/ipclift.1 \
    shim/tool/ipclift-json.5.in; do
    is "$page" "$(sed -n 's/^\.TH .*"ipclift \([^"]*\)".*/\1/p' "$root/$page")" \
        "$version"
done
is "no invented address" "$(grep -rlE 'example\.(org|com|net)' "$root/debian" \
    "$root/packaging")" ""
maintainer=$(sed -n 's/^Maintainer: //p' "$root/debian/control")
is "the maintainer commits" "$(git -c safe.directory='*' -C "$root" log --format='%an <%ae>' |
    grep -cxF -m 1 -- "$maintainer")" 1
is "and is the APKBUILD's" "$(sed -n 's/^# Maintainer: //p' \
    "$root/packaging/alpine/APKBUILD")" "$maintainer"
is "the workflow's suites are all but mutate" "$(sed -n 's/^ *- \([a-z ]*\)$/\1/p
    s/^ *- run: \.ci\/run \([a-z]*\) #.*/\1/p' "$root/.github/workflows/ci.yml" |
    tr ' ' '\n' | sort -u | paste -sd ' ')" \
    "$(sed -n 's/^suite_\([a-z]*\)().*/\1/p' "$root/tests/run.sh" |
        grep -v mutate | sort | paste -sd ' ')"
is "with both compilers" "$(sed -n 's/^ *compiler: //p' \
    "$root/.github/workflows/ci.yml")" "[gcc, clang]"
# Another CPU: said by the first command, whatever its compiler can do.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for cpu in aarch64 x86; do
    printf '%s\n' '[binaries]' "c = 'cc'" '[host_machine]' "system = 'linux'" \
        "cpu_family = '$cpu'" "cpu = '$cpu'" "endian = 'little'" >"$work/cross"
    is "meson refuses $cpu" "$(status meson setup --cross-file "$work/cross" \
        "$work/$cpu" "$root")" 1
    is "and says why" "$(grep -c "on x86-64 only, not on linux on $cpu" \
        "$work/out")" 1
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
