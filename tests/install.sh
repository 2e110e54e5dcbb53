#!/bin/bash
# SPDX-License-Identifier: MIT
#
# install.sh BUILD-DIR ROOT - `meson install` into a root of its own: the files
# that a package has, and a program served by what was installed there.
set -eu
build=$1 root=$2.moved
DESTDIR=$2 meson install --no-rebuild -C "$build" >/dev/null
# An installed tree may be moved as a whole.
mv "$2" "$root"
trap 'rm -rf "$root"' EXIT

expected='bin/ipclift
bin/ipclift-fuse
include/ipclift.h
lib/ipclift-tls.so
lib/libipclift.so
lib/pkgconfig/ipclift.pc
share/bash-completion/completions/ipclift
share/fish/vendor_completions.d/ipclift.fish
share/ipclift/ipclift.schema.json
share/man/man1/ipclift-fuse.1
share/man/man1/ipclift.1
share/man/man5/ipclift-json.5
share/man/man7/libipclift.7
share/zsh/site-functions/_ipclift'
found=$(cd "$root/usr/local" && find . -type f |
    sed 's#^\./##; s#^lib/[^/]*-linux-gnu/#lib/#' | LC_ALL=C sort)
[[ $found == "$expected" ]] || {
    diff <(echo "$expected") <(echo "$found")
    exit 1
}
# The command finds the library of its own tree.
dir=$(mktemp -d)
trap 'rm -rf "$root" "$dir"' EXIT
"$root/usr/local/bin/ipclift" run --registry "$dir/registry" -- ipcmk -S 1 |
    grep -q 'Semaphore id'
"$root/usr/local/bin/ipclift" ls sem --registry "$dir/registry" | grep -q 0
# And a program can be linked with it.
prefix=$root/usr/local
pc=$(find "$prefix" -name ipclift.pc)
PKG_CONFIG="pkg-config --define-variable=prefix=$prefix $pc" \
    LD_LIBRARY_PATH=$(dirname "$(dirname "$pc")") IPCLIFT_TOOL=$prefix/bin/ipclift \
    "$(dirname "$0")/package/linked.sh"
