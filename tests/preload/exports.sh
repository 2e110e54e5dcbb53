#!/bin/bash
# SPDX-License-Identifier: MIT
#
# exports.sh - the built library's interface to the dynamic linker: exactly the names of
# exports.map, no needed library, nothing undefined but
# __errno_location that a libc could lack, no relocation of its code, and
# nothing that runs when it is loaded or unloaded but load.c's and lease.c's.

. "$(dirname "$0")/scenario.sh"
map=$here/../../shim/entry/exports.map
[ -r "$map" ] || skip "no $map"

# The names between "global:" and "local:", comments dropped.
sed 's,/\*.*\*/,,; /\/\*/,/\*\//d' "$map" |
	sed -n '/global:/,/local:/p' | grep -o '[A-Za-z_0-9]*;' |
	tr -d ';' | sort -u >"$dir/listed"
nm -D --defined-only "$shim" | awk '{ print $3 }' | sed 's/@.*//' |
	sort -u >"$dir/built"
check "exports are those of exports.map" diff -u "$dir/listed" "$dir/built"

readelf -dW "$shim" >"$dir/dynamic"
nm -D --undefined-only "$shim" >"$dir/undefined"
awk '$1 == "U" { sub("@.*", "", $2); print $2 }' "$dir/undefined" >"$dir/strong"
echo __errno_location >"$dir/allowed"
check "the one strong reference is __errno_location" \
	diff -u "$dir/allowed" "$dir/strong"

# lacks TEXT PATTERN FILE
lacks() {
	if grep -qE "$2" "$3"; then
		grep -E "$2" "$3" >"$dir/found"
		fail "$1" "$dir/found"
	else
		ok "$1"
	fi
}
readelf -SW "$shim" >"$dir/sections"
readelf -lW "$shim" >"$dir/segments"
lacks "no library is needed" '\(NEEDED\)' "$dir/dynamic"
lacks "no relocation of code" 'TEXTREL' "$dir/dynamic"
lacks "at loading and unloading no old-style function" \
	'\((INIT|FINI|PREINIT_ARRAY)\)' "$dir/dynamic"
# one SECTION: it has one entry
one() {
	[ "$(awk -v s="$1" '$2 == s || $3 == s' "$dir/sections" |
		grep -o " 000008 " | wc -l)" = 1 ]
}
check "one constructor (load.c)" one .init_array
check "one destructor (lease.c)" one .fini_array
lacks "no search path" '\((RPATH|RUNPATH)\)' "$dir/dynamic"
lacks "no executable stack" 'GNU_STACK.*RWE' "$dir/segments"
lacks "no segment is writable and executable" 'LOAD.*RWE' "$dir/segments"
# A thread pays for it from its stack, and 16 KiB is all that some have.
tls=$((16#$(awk '$1 == "TLS" { print $6 }' "$dir/segments" | sed 's/^0x//')))
check "thread-local storage ($tls bytes) stays below 4 KiB" [ "$tls" -lt 4096 ]
# A fork child copies each page that its first call stores to: there is one, unless
# the linker cannot order sections (shim/first.ld).
# span SECTION: its address and its size
span() {
	sed 's/^ *\[ *[0-9]*\]//' "$dir/sections" |
		awk -v s="$1" '$1 == s { print "16#" $3, "16#" $5 }'
}
read -r near size < <(span .near)
if [ -n "$near" ]; then
	read -r data _ < <(span .data)
	check "near variables end in the page of .data" \
		[ $((data / 4096)) -eq $(((near + size - 1) / 4096)) ]
else
	echo "skip: the linker has not ordered variables"
fi
finish
