#!/bin/bash
# SPDX-License-Identifier: MIT
#
# postgres_group.sh - examples/postgresql.txt: PostgreSQL as the user postgres on a
# registry that root has made for the group. A server killed by SIGKILL is not
# followed by another as long as one of its processes lives; then it is, with
# all rows, and a clean stop leaves no segment. The same on the kernel.

# Registries by name are in /dev/shm: one of its own.
[ -z "${SCENARIO_INSIDE-}" ] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] && [ -x "$bin/initdb" ] || skip "no PostgreSQL"
[ "$(id -u)" = 0 ] || skip "needs root to become postgres"
id postgres >/dev/null 2>&1 || skip "no user postgres"
unset IPCLIFT_REGISTRY
recipe=$here/../../examples/postgresql.txt
work=$(mktemp -d /tmp/pg.XXXXXX) || exit 1
server='' held=''
trap 'kill -9 $held $server 2>/dev/null; rm -rf "$work"; scenario_cleanup' EXIT
chmod -R go+rX "$work"
others_command

as=(setpriv --reuid postgres --regid postgres --init-groups env -C "$work"
	"PGHOST=$work/data" PGUSER=postgres)
sql() {
	timeout 20 "${as[@]}" "$bin/psql" -Atq -d postgres "$@"
}
# In a process of the shell's own, which goes on as the server by exec.
start() {
	"${as[@]}" "${with[@]}" "$bin/postgres" -D "$work/data" \
		>>"$work/log" 2>&1 &
	server=$!
	until sql -c 'select 1' >/dev/null 2>&1; do
		kill -0 $server 2>/dev/null || { wait $server; return 1; }
		sleep 0.1
	done
}
stop() {
	kill -INT $server
	wait $server
	server=
}
pass() {
	local pass=$1 old client

	with=("${@:2}")
	rm -rf "$work/data" "$work/log"
	install -d -o postgres -m 700 "$work/data"
	"${as[@]}" "${with[@]}" "$bin/initdb" -A trust -N -D "$work/data" \
		>"$work/log" 2>&1 || { fail "$pass: initdb" "$work/log"; return; }
	{
		sed -n 's/^\t\(.*_memory_type = .*\)/\1/p' "$recipe"
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$work/data'"
		echo "min_dynamic_shared_memory = 4MB"
	} >>"$work/data/postgresql.conf"
	check "$pass: starts" start
	check "$pass: its segments" [ "$(segments)" -ge 2 ]
	others
	check "$pass: rows" sql -c 'create table t as
		select generate_series(1, 20000) as n' -c checkpoint
	check "$pass: by parallel workers" [ "$(sql -c 'set
		parallel_setup_cost = 0; set parallel_tuple_cost = 0;
		set min_parallel_table_scan_size = 0' \
		-c 'select count(*) from t a join t b using (n)')" = 20000 ]

	sql -c 'select pg_sleep(100)' >/dev/null 2>&1 &
	client=$!
	for ((i = 0; i < 200; i++)); do
		held=$(sql -c "select pid from pg_stat_activity where
			query = 'select pg_sleep(100)'")
		[ -z "$held" ] || break
		sleep 0.05
	done
	[ -n "$held" ] || { fail "$pass: no backend"; return; }
	kill -STOP "$held"
	old=$server
	kill -9 "$old"
	wait "$old"
	check "$pass: no second server while a backend lives" start_refused
	kill -9 "$held"
	wait $client 2>/dev/null
	# An orphan: somebody else reaps it.
	timeout 20 tail --pid="$held" -f /dev/null
	held=
	check "$pass: starts after it" start
	check "$pass: with its rows" [ "$(sql -c 'select count(*) from t')" = 20000 ]
	stop
	check "$pass: no segment is left" [ "$(segments)" = 0 ]
	[ $failed = 0 ] || tail -n 20 "$work/log"
}
start_refused() {
	! start && grep -q 'pre-existing shared memory block' "$work/log"
}

others() {
	:
}
segments() {
	tail -n +2 /proc/sysvipc/shm | wc -l
}
pass kernel

read -ra create < <(sed -n 's/^\tipclift create/create/p' "$recipe")
read -ra run < <(sed -n 's/^\tipclift \(run .* --\) postgres.*/\1/p' "$recipe")
check "the recipe's registry" "$ipclift" "${create[@]}"
segments() {
	"$ipclift" ls --name db --proc shm | tail -n +2 | wc -l
}
others() {
	"${as[0]}" --reuid 40001 --regid 40001 --clear-groups \
		"$ipclift" "${run[@]}" true 2>"$dir/why"
	check "who is not of the group is refused" [ $? = 125 ]
	check "none is in the kernel" [ "$(kernel_objects)" = 0 ]
}
pass "by the recipe" "$ipclift" "${run[@]}"
check "it is removed" "$ipclift" destroy db
finish
