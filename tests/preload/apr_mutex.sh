#!/bin/bash
# SPDX-License-Identifier: MIT
#
# apr_mutex.sh - APR's process mutexes of System V (what Apache and Subversion
# lock by), driven as APR's own testprocmutex does: locked, tried, with a timeout
# of a microsecond, and held by a child that is killed; as root, as another user,
# and by a process that became one after it had made the mutex. The same is said
# on the kernel and under the shim, where no set is left.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
[ -e /usr/include/apr-1.0/apr_proc_mutex.h ] || skip "no libapr1-dev"
[ "$(id -u)" = 0 ] || skip "needs root to become another user"

apr=$(helper apr gcc -isystem /usr/include/apr-1.0 -D_LARGEFILE64_SOURCE -l:libapr-1.so.0) ||
	exit 1
mkdir -m 0777 "$dir/other"
chmod 0755 "$dir"
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
# A program that root's shim has not been in: a registry of its own.
as_nobody() {
	IPCLIFT_REGISTRY=$dir/other/r LD_PRELOAD=$shim nobody "$@"
}

for round in 1 2; do
	"$apr" >"$dir/kernel" || fail "on the kernel" "$dir/kernel"
	shimmed timeout 60 "$apr" >"$dir/shim"
	check "as root" diff "$dir/kernel" "$dir/shim"
	"$apr" 65534 >"$dir/kernel"
	shimmed timeout 60 "$apr" 65534 >"$dir/shim"
	check "given to another user" diff "$dir/kernel" "$dir/shim"
	nobody "$apr" >"$dir/kernel"
	as_nobody timeout 60 "$apr" >"$dir/shim"
	check "as another user" diff "$dir/kernel" "$dir/shim"
	[ $failed = 0 ] || break
done
check "the counts" [ "$(grep -c ': 240, well' "$dir/kernel")" = 3 ]
shimmed ipcs -s >"$dir/ipcs"
check "no set is left" [ "$(grep -c '^0x' "$dir/ipcs")" = 0 ]
check "nor in the kernel" [ "$(kernel_objects)" = 0 ]
finish
