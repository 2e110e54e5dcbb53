#!/bin/bash
# SPDX-License-Identifier: MIT
#
# postgres.sh - PostgreSQL on served segments.
#
# IPCLIFT_SHIM names libipclift.so. As a user that is not root: initdb, start,
# pgbench, parallel queries (dynamic shared memory), kill -9 of the postmaster
# while a backend lives: a second start must be refused, and succeed once that
# backend is gone; clean stop; no segment left, in the registry or in the
# kernel. SECONDS_OF_BENCH (20) is how long pgbench runs. Prints "ok" lines;
# skips (77) with a reason where there is no PostgreSQL.
set -u

: "${IPCLIFT_SHIM:?names no libipclift.so}"
shim=$(realpath "$IPCLIFT_SHIM")
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] && [ -x "$bin/initdb" ] || {
	echo "skip: no PostgreSQL in /usr/lib/postgresql"
	exit 77
}
id postgres >/dev/null 2>&1 || { echo "skip: no user postgres"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skip: needs root to become postgres"; exit 77; }

work=$(mktemp -d /tmp/ipclift-pg-XXXXXX)
registry=$(mktemp -d /dev/shm/ipclift-pg-XXXXXX)
chmod 0755 "$work"
cp "$shim" "$work/libipclift.so"
chown -R postgres "$work" "$registry"
data=$work/data
stopped=

as() {
	(cd "$work" && exec runuser -u postgres -- env \
		LD_PRELOAD="$work/libipclift.so" \
		IPCLIFT_REGISTRY="$registry/r" PGHOST="$work" PATH="$bin:$PATH" "$@")
}

postmaster() { head -n 1 "$data/postmaster.pid" 2>/dev/null; }

end() {
	[ -z "$stopped" ] || kill -9 "$stopped" 2>/dev/null
	as pg_ctl -D "$data" -m immediate stop >/dev/null 2>&1
	rm -rf "$work" "$registry"
}
trap end EXIT

fail() {
	echo "FAIL $1"
	[ ! -f "$work/log" ] || tail -n 15 "$work/log"
	[ ! -f "$work/out" ] || tail -n 15 "$work/out"
	exit 1
}

segments() {
	as python3 -c '
import ctypes
buf = (ctypes.c_long * 16)()
lib = ctypes.CDLL(None)
highest = lib.shmctl(0, 14, buf)
print(ctypes.c_int.from_buffer(buf).value)'
}

kernel_before=$(tail -n +2 /proc/sysvipc/shm | wc -l)

as initdb -D "$data" -A trust >"$work/out" 2>&1 || fail initdb
cat >>"$data/postgresql.conf" <<EOF
shared_memory_type = sysv
dynamic_shared_memory_type = sysv
min_dynamic_shared_memory = 4MB
listen_addresses = ''
unix_socket_directories = '$work'
EOF
echo "ok initdb"

start() { as pg_ctl -w -t 30 -D "$data" -l "$work/log" start >"$work/out" 2>&1; }

start || fail "start"
grep -q libipclift "/proc/$(postmaster)/maps" || fail "the shim is not loaded"
grep -q "$registry/r" "/proc/$(postmaster)/maps" || fail "no registry mapped"
echo "ok start, $(segments) segments"

as createdb bench >"$work/out" 2>&1 || fail createdb
as pgbench -i -s 5 -q bench >"$work/out" 2>&1 || fail "pgbench -i"
as pgbench -c 4 -j 2 -T "${SECONDS_OF_BENCH:-20}" bench >"$work/out" 2>&1 ||
	fail pgbench
grep -q "failed transactions: 0 " "$work/out" || fail "failed transactions"
echo "ok pgbench, $(grep -o 'tps = [0-9.]*' "$work/out")"

as psql -Atq bench >"$work/out" 2>&1 <<'EOF' || fail "parallel query"
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select count(*) from pgbench_accounts a join pgbench_accounts b using (aid);
EOF
grep -q '^500000$' "$work/out" || fail "parallel query's result"
echo "ok parallel query"

as psql -qc 'select pg_sleep(100)' bench >/dev/null 2>&1 &
client=$!
for _ in $(seq 50); do
	stopped=$(pgrep -P "$(postmaster)" -f 'SELECT|select' | head -n 1)
	[ -n "$stopped" ] && break
	sleep 0.1
done
[ -n "$stopped" ] || fail "no backend"
kill -STOP "$stopped"
old=$(postmaster)
kill -9 "$old"
for _ in $(seq 100); do
	kill -0 "$old" 2>/dev/null || break
	sleep 0.1
done
kill -0 "$old" 2>/dev/null &&
	fail "the killed postmaster stays: $(grep State "/proc/$old/status")"
if start; then
	fail "a second start was not refused"
fi
grep -q 'pre-existing shared memory block' "$work/log" ||
	fail "refused for another reason"
echo "ok a second start is refused while a backend lives"
kill -9 "$stopped"
stopped=
wait $client 2>/dev/null
sleep 0.5
start || fail "start after the crash"
[ "$(as psql -Atqc 'select count(*) from pgbench_accounts' bench)" = 500000 ] ||
	fail "rows after the crash"
echo "ok start after it is gone"
as pg_ctl -w -D "$data" -m fast stop >"$work/out" 2>&1 || fail "stop"
left=$(segments)
[ "$left" = 0 ] || fail "$left segments left"
[ "$(tail -n +2 /proc/sysvipc/shm | wc -l)" = "$kernel_before" ] ||
	fail "segments in the kernel"
echo "ok clean stop, no segment left"
