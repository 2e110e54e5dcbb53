#!/bin/bash
# SPDX-License-Identifier: MIT
#
# musl.sh - one library for glibc and musl: every sem_*.c built by musl-gcc
# passes under the same file that glibc programs use, and processes of the two
# share a set: they hand over to each other, each gives back what a killed one of
# the other held, and exec goes from one to the other and keeps SEM_UNDO.

. "$(dirname "$0")/scenario.sh"
command -v musl-gcc >/dev/null || skip "no musl-gcc"
own_ipc_namespace "$@"

for source in "$here"/sem_*.c; do
	name=$(basename "$source" .c)
	program=$dir/$name.musl
	if ! musl-gcc -O1 -D_GNU_SOURCE -o "$program" "$source" -pthread \
		2>"$dir/build.err"; then
		fail "$name does not build" "$dir/build.err"
		continue
	fi
	check "$name under musl" env IPCLIFT_SHIM="$shim" \
		bash "$here/pair.sh" "$program"
	rm -f "$program"
done

glibc=$(helper sem gcc) || exit 1
musl=$(helper sem musl-gcc) || exit 1
readelf -dW "$musl" | grep -q 'NEEDED.*libc\.so\]' ||
	fail "the musl program is not musl's"

# A holder is killed; the other libc's sleeper goes on.
# killed HOLDER SLEEPER
killed() {
	local holder sleeper

	LD_PRELOAD=$shim "$1" 0x17 op 0 -1 u hang &
	holder=$!
	LD_PRELOAD=$shim "$2" 0x17 until 0 0 op 0 -1 - op 0 1 - &
	sleeper=$!
	shimmed "$1" 0x17 sleepers 0 1 || return 1
	kill -9 $holder
	wait $sleeper || return 1
	shimmed "$2" 0x17 expect 0 1
}
# a_pass ONE OTHER
a_pass() {
	local one

	LD_PRELOAD=$shim "$1" 0x17 pass 1 2 2000 &
	one=$!
	shimmed "$2" 0x17 op 1 1 - pass 2 1 2000 op 1 -1 - || return 1
	wait $one && shimmed "$1" 0x17 expect 1 0 expect 2 0
}
check "a set for both" shimmed "$glibc" 0x17 create 3 op 0 1 -
check "seen by musl" shimmed "$musl" 0x17 expect 0 1
check "2000 hand-overs, glibc to musl" a_pass "$glibc" "$musl"
check "2000 hand-overs, musl to glibc" a_pass "$musl" "$glibc"
check "a killed glibc holder's unit goes to musl" killed "$glibc" "$musl"
check "a killed musl holder's unit goes to glibc" killed "$musl" "$glibc"

# /bin/sh (glibc), a musl program, a glibc program: one process all along, so
# what the musl program took is held until the last ends.
check "sh executes musl executes glibc" shimmed sh -c "
	exec '$musl' 0x17 op 0 -1 u exec '$glibc' 0x17 expect 0 0"
check "given back at the end" shimmed "$musl" 0x17 until 0 1
check "and glibc executes musl" shimmed sh -c "
	'$glibc' 0x17 op 0 -1 u exec '$musl' 0x17 expect 0 0 exec \
	'$glibc' 0x17 op 0 1 u expect 0 1"
check "given back, added up" shimmed "$glibc" 0x17 until 0 1
check "removed" shimmed "$musl" 0x17 rm
check "the kernel is untouched" kernel_untouched
finish
