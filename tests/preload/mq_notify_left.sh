#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mq_notify_left.sh - a process is killed that is registered for a notification
# by a thread (SIGEV_THREAD), and its queue is removed before anybody has looked
# at the registration. stress-ng's mq does so: the record of the thread stayed
# that of a sleeper then, in no queue, and was never used again.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
tool=${IPCLIFT_TOOL:?}
app=$(helper notified gcc -lrt) || skip "no compiler"

# registered: $pid is one that is
registered() {
	rm -f "$dir/said"
	mkfifo "$dir/said"
	LD_PRELOAD=$shim "$app" thread >"$dir/said" 2>&1 &
	pid=$!
	read -r line <"$dir/said"
	[ "$line" = ready ] || fail "registered: $line"
}
killed() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
}

registered
killed
check "its queue is removed" shimmed "$app" unlink
check "at once: the registry is whole" "$tool" check

registered
check "its queue loses its name" shimmed "$app" unlink
killed
check "and goes with the next one" shimmed "$app" unlink
check "which shows: nothing is left" \
	[ "$("$tool" ls --json mq | tr -d ' \n')" = '[]' ]
check "the registry is whole" "$tool" check
finish
