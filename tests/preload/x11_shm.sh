#!/bin/bash
# SPDX-License-Identifier: MIT
#
# x11_shm.sh - X11's MIT-SHM: an X server attaches the segments of its clients,
# draws from them and into them, on the kernel and on the registry; the clients
# remove them as soon as both have them, and nothing is left.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
for program in Xvfb x11perf xdpyinfo; do
	command -v $program >/dev/null || skip "no $program (xvfb, x11-apps)"
done
server=
trap '[ -z "$server" ] || kill "$server"; wait; scenario_cleanup' EXIT

world() {
	if [ "$1" = shim ]; then
		LD_PRELOAD=$shim "${@:2}"
	else
		"${@:2}"
	fi
}
# The segments that two processes have attached; rows of the world's own file.
shared_by_two() {
	world "$1" awk 'NR > 1 && $7 == 2' /proc/sysvipc/shm
}
until_true() {
	local i

	for ((i = 0; i < 1000; i++)); do
		eval "$1" && return
		sleep 0.02
	done
	return 1
}

for where in kernel shim; do
	preload=
	[ $where = kernel ] || preload=$shim
	# No function: it is this very process that is killed.
	LD_PRELOAD=$preload Xvfb -displayfd 3 -noreset -screen 0 1280x1024x24 -nolisten tcp \
		3>"$dir/display.$where" >"$dir/server" 2>&1 &
	server=$!
	until_true '[ -s "$dir/display.$where" ]' ||
		fail "$where: no server" "$dir/server"
	DISPLAY=:$(cat "$dir/display.$where")
	export DISPLAY
	check "$where: the server has it" \
		grep -q MIT-SHM <(world $where xdpyinfo)
	world $where timeout 60 x11perf -repeat 1 -time 1 -shmput500 \
		-shmget500 >"$dir/client" 2>&1 &
	client=$!
	check "$where: client and server have a segment" \
		until_true "[ -n \"\$(shared_by_two $where)\" ]"
	wait $client
	status=$?
	[ $status = 0 ] || fail "$where: the client: $status" "$dir/client"
	check "$where: both were drawn" [ "$(grep -c \
		'/sec).*ShmPut\|/sec).*ShmGet' "$dir/client")" -ge 2 ]
	kill $server
	wait $server
	server=
	check "$where: nothing is left" \
		[ "$(world $where tail -n +2 /proc/sysvipc/shm | wc -l)" = 0 ]
done
check "the kernel had none of the shim's" [ "$(kernel_objects)" = 0 ]
finish
