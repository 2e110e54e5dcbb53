#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_metrics.sh - metrics: promtool accepts them, the numbers are right, FILE is complete
# at any moment, --listen answers, and the dashboard of examples/ uses only metrics that
# exist.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
load='' server=''
at_end() {
    # shellcheck disable=SC2086 # none, one or two
    kill $load $server 2>/dev/null
    wait
}
# metric NAME[{LABELS}]: its value
metric() {
    "$ipclift" metrics | awk -v name="$1" '
        substr($0, 1, length(name) + 1) == name " " { print $NF }'
}

# ---- numbers
"$ipclift" create "$IPCLIFT_REGISTRY" >/dev/null
is "none yet" "$(metric 'ipclift_objects{kind="msg"}')" 0
"$ipclift" run python3 - <<'END'
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
q = libc.msgget(5, 0o1600)
class M(ctypes.Structure):
    _fields_ = [("t", ctypes.c_long), ("b", ctypes.c_char * 100)]
for i in range(7):
    libc.msgsnd(q, ctypes.byref(M(1, b"x")), 100, 0)
libc.msgrcv(q, ctypes.byref(M()), 100, 0, 0)
libc.semget(6, 3, 0o1600)
libc.semget(7, 40000, 0o1600)   # a limit
# A death with undo
s = libc.semget(6, 3, 0)
if os.fork() == 0:
    libc.semop(s, ctypes.create_string_buffer(b"\0\0\1\0\0\x10", 6), 1)
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
libc.semctl(s, 0, 12)
END
is "a queue" "$(metric 'ipclift_objects{kind="msg"}')" 1
id=$("$ipclift" ls --json msg | sed -n 's/.*"id": *\([0-9]*\).*/\1/p')
queue="kind=\"msg\",id=\"$id\",key=\"0x00000005\""
is "messages in it" "$(metric "ipclift_queue_messages{$queue}")" 6
is "bytes" "$(metric "ipclift_queue_bytes{$queue}")" 600
is "of" "$(metric "ipclift_queue_limit_bytes{$queue}")" "$("$ipclift" get msgmnb |
    awk '{ print $2 }')"
is "sent" "$(metric "ipclift_queue_sent_total{$queue}")" 7
is "semaphores" "$(metric ipclift_semaphores)" 3
is "a limit hit" "$(metric ipclift_limit_hits_total)" 1
is "undo applied" "$(metric ipclift_undo_applied_total)" 1
is "a limit" "$(metric 'ipclift_limit{name="semopm"}')" \
    "$("$ipclift" get semopm | awk '{ print $2 }')"
is "the registry is there" "$(metric "ipclift_up{registry=\"$IPCLIFT_REGISTRY\"}")" 1
"$ipclift" run perl -e 'for $n (1 .. 100) {
    if (!fork) { semop(semget(6, 3, 0), pack("s3", 1, 1, 0x1000)); kill 9, $$ }
    wait; semctl(semget(6, 3, 0), 0, 12, 0) }'
is "deaths are counted" "$(metric ipclift_undo_applied_total)" 101
"$ipclift" rm --all >/dev/null

# ---- what is on lease
IPCLIFT_LEASE=msg "$ipclift" run perl "$here/look_lease.pl" >"$work/leases.said" &
load=$!
for ((i = 0; i < 1000; i++)); do
    grep -q ready "$work/leases.said" && break
    sleep 0.02
done
id=$("$ipclift" ls --json msg | sed -n 's/.*"id": *\([0-9]*\).*/\1/p')
queue="kind=\"msg\",id=\"$id\",key=\"0x00000001\""
is "on lease" "$(metric "ipclift_queue_leased{$queue}")" 2
sleep 1.1
age=$(metric "ipclift_queue_oldest_lease_seconds{$queue}")
is "since when" "$((age >= 1 && age < 60))" 1
kill "$load"
wait "$load"
load=
# The killed child's is back when somebody receives.
"$ipclift" run perl -e 'my $m; msgrcv(msgget(1, 0), $m, 100, 0, 0)'
is "messages" "$(metric "ipclift_queue_messages{$queue}")" 3
is "not any more" "$(metric "ipclift_queue_leased{$queue}")" 0
is "nor since" "$(metric "ipclift_queue_oldest_lease_seconds{$queue}")" 0
"$ipclift" rm --all >/dev/null

# ---- the format
"$ipclift" run perl "$here/look_load.pl" >/dev/null &
load=$!
for ((i = 0; i < 1000; i++)); do
    [[ $("$ipclift" waits 2>/dev/null) == *Deadlock* ]] && break
    sleep 0.02
done
"$ipclift" metrics >"$work/text"
is "who waits" "$(metric 'ipclift_waiters{kind="sem"}')" 2
is "an age" "$(($(metric 'ipclift_oldest_waiter_seconds{kind="sem"}') < 30))" 1
if command -v promtool >/dev/null; then
    is "promtool" "$(promtool check metrics <"$work/text" 2>&1)" ""
else
    echo "skip: no promtool (prometheus)"
fi
is "dashboard: a document" "$(python3 -c 'import json, sys
json.load(sys.stdin); print("JSON")' <"$here/../../examples/grafana.json")" JSON
asked=$(grep -oE 'ipclift_[a-z_]+' "$here/../../examples/grafana.json" | sort -u)
for name in $asked; do
    grep -q "^# TYPE $name " "$work/text" || is "told" "nothing" "$name"
done
is "asks for many" "$(($(wc -w <<<"$asked") >= 15))" 1

# ---- a file, whole at any moment
is "--output" "$(status "$ipclift" metrics -o "$work/f.prom")" 0
is "the same" "$(grep -c '^# TYPE' "$work/f.prom")" "$(grep -c '^# TYPE' "$work/text")"
is "for others to read" "$(stat -c %a "$work/f.prom")" 644
for ((i = 0; i < 40; i++)); do
    "$ipclift" metrics -o "$work/f.prom" &
    writer=$!
    [[ $(tail -n 1 "$work/f.prom") == ipclift_events_total* ]] ||
        is "a whole file" "$(tail -n 1 "$work/f.prom")" whole
    wait $writer
done
is "nothing beside it" "$(find "$work" -name 'f.prom.*')" ""
is "nowhere" "$(status "$ipclift" metrics -o /nowhere/f.prom)" 1

# ---- HTTP
for wrong in x 127.0.0.1 127.0.0.1:99999 "[::1:9" tea:1; do
    is "--listen $wrong" "$(status "$ipclift" metrics --listen $wrong | sed 's/1/2/')" 2
done
"$ipclift" metrics --listen 127.0.0.1:0 >"$work/said" 2>"$work/complaints" &
server=$!
for ((i = 0; i < 500; i++)); do
    [[ -s $work/said || -s $work/complaints ]] && break
    sleep 0.02
done
if grep -q 'without libmicrohttpd' "$work/complaints"; then
    echo "skip: --listen, built without libmicrohttpd"
    server=
    exit $bad
fi
port=$(sed -n 's/listening on port //p' "$work/said")
get() { # get METHOD PATH: status and type; the body in $work/body
    python3 - "$port" "$@" >"$work/body" <<'END'
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
c.request(sys.argv[2], sys.argv[3])
r = c.getresponse()
print(r.status, r.getheader("Content-Type"))
print(r.read().decode())
END
    head -n 1 "$work/body"
}
is "GET" "$(get GET /metrics)" "200 text/plain; version=0.0.4; charset=utf-8"
is "all of it" "$(grep -c '^# TYPE' "$work/body")" "$(grep -c '^# TYPE' "$work/text")"
is "elsewhere" "$(get GET / | cut -c1-3)" 404
is "POST" "$(get POST /metrics | cut -c1-3)" 405
mv "$IPCLIFT_REGISTRY" "$work/aside"
get GET /metrics >/dev/null
is "it has gone" "$(grep -c '^ipclift_up{.*} 0' "$work/body")" 1
mv "$work/aside" "$IPCLIFT_REGISTRY"
get GET /metrics >/dev/null
is "and is back" "$(grep -c '^ipclift_up{.*} 1' "$work/body")" 1
is "taken" "$(status "$ipclift" metrics --listen "127.0.0.1:$port")" 1
kill $server
wait $server
is "ends" $? 0
server=

# ---- a page of the registry that is gone, and none to be had for it: whoever
# reads it gets SIGBUS
mkdir "$work/small"
if ! mount -t tmpfs -o size=4m tmpfs "$work/small" 2>/dev/null; then
    echo "skip: no tmpfs of our own"
    exit $bad
fi
export IPCLIFT_REGISTRY=$work/small/registry
"$ipclift" create "$IPCLIFT_REGISTRY" >/dev/null
"$ipclift" metrics --listen 127.0.0.1:0 >"$work/said2" &
server=$!
for ((i = 0; i < 500; i++)); do
    [[ -s $work/said2 ]] && break
    sleep 0.02
done
port=$(sed -n 's/listening on port //p' "$work/said2")
get GET /metrics >/dev/null
is "of a small file system" "$(grep -c '^ipclift_up{.*} 1' "$work/body")" 1
dd if="$IPCLIFT_REGISTRY" of="$work/page" bs=4096 count=1 status=none
fallocate -p -o 0 -l 4096 "$IPCLIFT_REGISTRY"
dd if=/dev/zero of="$work/small/rest" bs=4096 status=none 2>/dev/null
get GET /metrics >/dev/null
is "a page is gone" "$(grep -c '^ipclift_up{.*} 0' "$work/body")" 1
is "nothing else is told" "$(grep -c '^# TYPE' "$work/body")" 1
rm "$work/small/rest"
dd if="$work/page" of="$IPCLIFT_REGISTRY" conv=notrunc status=none
get GET /metrics >/dev/null
is "it is back" "$(grep -c '^ipclift_up{.*} 1' "$work/body")" 1
kill $server
wait $server
is "ends, too" $? 0
server=
umount "$work/small"
exit $bad
