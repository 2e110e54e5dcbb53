#!/bin/bash
# SPDX-License-Identifier: MIT
#
# uwsgi.sh - Debian's uWSGI with the settings of examples/uwsgi.ini: its locks
# are semaphores of System V. Requests to four workers, some of which are killed
# meanwhile; the sets are in the registry and none is in the kernel. As root; as
# root that becomes another user; and as another user on a registry that root
# has made for a group.

# Registries by name are in /dev/shm: one of its own.
[ -z "${SCENARIO_INSIDE-}" ] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
command -v uwsgi >/dev/null || skip "no uwsgi"
[ -e /usr/lib/uwsgi/plugins/python3_plugin.so ] || skip "no uwsgi-plugin-python3"

cat >"$dir/app.py" <<'END'
import uwsgi, os
def application(env, start_response):
    uwsgi.lock()
    start_response("200 OK", [])
    uwsgi.unlock()
    return [b"served\n"]
END
chmod 0755 "$dir"
cp "$here/../../examples/uwsgi.ini" "$dir/uwsgi.ini"
server=
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
# pass WHO OPTION COMMAND...: what uWSGI is told besides, and what starts it; the
# sets are where "${look[@]}" looks.
pass() {
	local who=$1 option=$2 loader

	port=$((20000 + RANDOM % 20000))
	# shellcheck disable=SC2086 # options
	"${@:3}" uwsgi --plugin python3 --ini "$dir/uwsgi.ini" $option \
		--http-socket 127.0.0.1:$port --wsgi-file "$dir/app.py" \
		--die-on-term >"$dir/out" 2>&1 &
	server=$!
	check "$who: it answers" [ "$(requests 4)" = 4 ]
	"${look[@]}" ipcs -s >"$dir/ipcs"
	check "$who: its locks are sets in the registry" grep -q '^0x' "$dir/ipcs"
	check "$who: and none is in the kernel" [ "$(kernel_objects)" = 0 ]
	requests 200 >"$dir/good" &
	loader=$!
	for _ in 1 2 3; do
		kill -9 "$(pgrep -P $server | shuf -n 1)" 2>/dev/null
	done
	wait $loader
	check "$who: all are answered while workers are killed" \
		[ "$(cat "$dir/good")" = 200 ]
	kill -TERM $server
	wait $server
	server=
	[ $failed = 0 ] || tail -n 20 "$dir/out"
}

look=(shimmed)
pass root "" env "LD_PRELOAD=$shim"
if [ "$(id -u)" != 0 ]; then
	echo "skip: other users: needs root"
	finish
fi
new_registry
pass "root, then nobody" "--uid 65534 --gid 65534" env "LD_PRELOAD=$shim"
others_command
unset IPCLIFT_REGISTRY
check "a registry for a group" "$ipclift" create --group nogroup web
look=("$ipclift" run --name web --)
pass nobody "" setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$ipclift" run --name root/web --
finish
