#!/bin/bash
# SPDX-License-Identifier: MIT
#
# uwsgi.sh - Debian's uWSGI with the settings of examples/uwsgi.ini: its locks
# are semaphores of System V. Requests to four workers, some of which are killed
# meanwhile; the sets are in the registry and none is in the kernel.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
command -v uwsgi >/dev/null || skip "no uwsgi"
[ -e /usr/lib/uwsgi/plugins/python3_plugin.so ] || skip "no uwsgi-plugin-python3"

port=$((20000 + $$ % 20000))
cat >"$dir/app.py" <<'END'
import uwsgi, os
def application(env, start_response):
    uwsgi.lock()
    start_response("200 OK", [])
    uwsgi.unlock()
    return [b"served\n"]
END
LD_PRELOAD=$shim uwsgi --plugin python3 --ini "$here/../../examples/uwsgi.ini" \
	--http-socket 127.0.0.1:$port --wsgi-file "$dir/app.py" \
	--die-on-term >"$dir/out" 2>&1 &
server=$!
trap 'kill -9 $server 2>/dev/null; scenario_cleanup' EXIT

requests() {
	python3 - "$port" "$1" <<-'END'
	import sys, threading, urllib.request
	port, n = int(sys.argv[1]), int(sys.argv[2])
	good = [0] * 4
	def go(k):
	    for i in range(n // 4):
	        for again in range(100):
	            try:
	                url = "http://127.0.0.1:%d/" % port
	                good[k] += urllib.request.urlopen(url, timeout=10).read() == b"served\n"
	                break
	            except OSError:
	                threading.Event().wait(0.05)
	t = [threading.Thread(target=go, args=(k,)) for k in range(4)]
	[x.start() for x in t]
	[x.join() for x in t]
	print(sum(good))
	END
}
check "it answers" [ "$(requests 4)" = 4 ]
shimmed ipcs -s >"$dir/ipcs"
check "its locks are sets in the registry" grep -q '^0x' "$dir/ipcs"
check "and none is in the kernel" [ "$(tail -n +2 /proc/sysvipc/sem | wc -l)" = 0 ]
requests 200 >"$dir/good" &
loader=$!
for _ in 1 2 3; do
	kill -9 "$(pgrep -P $server | shuf -n 1)" 2>/dev/null
done
wait $loader
check "all are answered while workers are killed" [ "$(cat "$dir/good")" = 200 ]
kill -TERM $server
wait $server
[ $failed = 0 ] || tail -n 20 "$dir/out"
finish
