#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mq_users.sh - users who share a registry notify each other, as in the kernel;
# if no other user can send, the registrant has no second thread.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
chmod 0711 "$dir"
${CC:-gcc} -O1 -Wall -Wextra -o "$dir/notified" "$here/app_notified.c" \
	-lrt || skip "no compiler"
chmod 0755 "$dir/notified"

# as UID COMMAND...
as() {
	local uid=$1

	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

# notified REGISTRANT SENDER [SHIM]: what the registrant says
notified() {
	local line

	rm -f "$dir/said"
	mkfifo "$dir/said"
	as "$1" env ${3:+LD_PRELOAD="$3"} "$dir/notified" wait \
		>"$dir/said" 2>&1 &
	{
		read -r line
		echo "$line"
		as "$2" env ${3:+LD_PRELOAD="$3"} "$dir/notified" send
		cat
	} <"$dir/said"
	wait $!
}

echo "ready
code -3 from 61002, value 42, threads 1" >"$dir/kernel.want"
notified 61001 61002 >"$dir/kernel" 2>&1
check "the kernel notifies across users" diff -u "$dir/kernel.want" "$dir/kernel"

mkdir -m 0777 "$dir/shared"
install -m 0666 /dev/null "$dir/shared/registry"
export IPCLIFT_REGISTRY=$dir/shared/registry
sed 's/threads 1/threads 2/' "$dir/kernel.want" >"$dir/shared.want"
notified 61001 61002 "$shim" >"$dir/shared.out" 2>&1
check "and so in a registry that is shared" \
	diff -u "$dir/shared.want" "$dir/shared.out"

mkdir -m 0777 "$dir/own"
export IPCLIFT_REGISTRY=$dir/own/registry
sed 's/61002/61001/' "$dir/kernel.want" >"$dir/own.want"
notified 61001 61001 "$shim" >"$dir/own.out" 2>&1
check "in one of a user's own there is no notification thread" \
	diff -u "$dir/own.want" "$dir/own.out"
finish
