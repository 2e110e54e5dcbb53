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
. "$(dirname "$0")/web.sh"
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

# pass WHO OPTION COMMAND...: what uWSGI is told besides, and what starts it; the
# sets are where "${look[@]}" looks.
pass() {
	local who=$1 option=$2 port url

	port=$(some_port)
	url=http://127.0.0.1:$port/
	# shellcheck disable=SC2086 # options
	"${@:3}" uwsgi --plugin python3 --ini "$dir/uwsgi.ini" $option \
		--http-socket 127.0.0.1:$port --wsgi-file "$dir/app.py" \
		--die-on-term >"$dir/out" 2>&1 &
	server=$!
	check "$who: it answers" [ "$(requests 4 4 "$url")" = 4 ]
	sets_are_served "$who"
	killed_meanwhile "$who" 3 1 4 200 "$url"
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
