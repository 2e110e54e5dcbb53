#!/bin/bash
# SPDX-License-Identifier: MIT
#
# apache.sh - Debian's Apache httpd with the line of examples/apache.conf: its
# prefork children, of another user, take turns at two sockets under a semaphore
# of System V with SEM_UNDO. Requests on both, children killed meanwhile; then a
# clean end, after which no set is left, in the registry or in the kernel. Once
# more all by another user, on a registry that root has made for a group.

# Registries by name are in /dev/shm: one of its own.
[ -z "${SCENARIO_INSIDE-}" ] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
httpd=$(command -v apache2 || echo /usr/sbin/apache2)
modules=/usr/lib/apache2/modules
[ -x "$httpd" ] && [ -r $modules/mod_mpm_prefork.so ] || skip "no apache2"
[ "$(id -u)" = 0 ] || skip "needs root to start children of another user"

www=$(mktemp -d /tmp/app.XXXXXX) || exit 1
chmod 0755 "$www" "$dir"
echo served >"$www/index.html"
port=$((20000 + $$ % 20000))
cat >"$dir/conf" <<END
ServerRoot $dir
ServerName localhost
PidFile $dir/run/pid
ErrorLog $dir/run/log
LoadModule mpm_prefork_module $modules/mod_mpm_prefork.so
LoadModule authz_core_module $modules/mod_authz_core.so
User nobody
Group nogroup
Listen 127.0.0.1:$port
Listen 127.0.0.1:$((port + 1))
StartServers 6
MinSpareServers 6
MaxSpareServers 8
DocumentRoot $www
Include $dir/mutex
END
server=
trap 'kill -9 $server 2>/dev/null; rm -rf "$www"; scenario_cleanup' EXIT
mkdir -m 0777 "$dir/run"
cp "$here/../../examples/apache.conf" "$dir/mutex"

# requests N: good answers of N on both ports
requests() {
	python3 - "$port" "$1" <<-'END'
	import sys, threading, urllib.request
	port, n = int(sys.argv[1]), int(sys.argv[2])
	good = [0] * 8
	def go(k):
	    for i in range(n // 8):
	        for again in range(50):
	            try:
	                url = "http://127.0.0.1:%d/index.html" % (port + (i + k) % 2)
	                good[k] += urllib.request.urlopen(url, timeout=10).read() == b"served\n"
	                break
	            except OSError:
	                threading.Event().wait(0.05)
	t = [threading.Thread(target=go, args=(k,)) for k in range(8)]
	[x.start() for x in t]
	[x.join() for x in t]
	print(sum(good))
	END
}
# pass WHO COMMAND...: what starts it; its set is where "${look[@]}" looks
pass() {
	local who=$1 loader

	shift
	rm -f "$dir/run/"*
	"$@" "$httpd" -f "$dir/conf" -t >"$dir/out" 2>&1 ||
		{ fail "$who: the configuration" "$dir/out"; return; }
	# It signals its whole group when it ends.
	setsid "$@" "$httpd" -f "$dir/conf" -DFOREGROUND >"$dir/out" 2>&1 &
	server=$!
	check "$who: it answers" [ "$(requests 8)" = 8 ]
	"${look[@]}" ipcs -s >"$dir/ipcs"
	check "$who: its mutex is a set in the registry" grep -q '^0x' "$dir/ipcs"
	check "$who: and none is in the kernel" [ "$(kernel_objects)" = 0 ]
	requests 400 >"$dir/good" &
	loader=$!
	for _ in 1 2 3 4 5 6 7 8; do
		# shellcheck disable=SC2046
		kill -9 $(pgrep -P $server | shuf -n 2) 2>/dev/null
		kill -0 $loader 2>/dev/null || break
	done
	wait $loader
	check "$who: all are answered while children are killed" \
		[ "$(cat "$dir/good")" = 400 ]
	kill -TERM $server
	wait $server
	server=
	"${look[@]}" ipcs -s >"$dir/ipcs"
	check "$who: no set is left" [ "$(grep -c '^0x' "$dir/ipcs")" = 0 ]
	[ $failed = 0 ] || tail -n 20 "$dir/run/log" "$dir/out"
}

look=(shimmed)
pass root env "LD_PRELOAD=$shim"
others_command
unset IPCLIFT_REGISTRY
check "a registry for a group" "$ipclift" create --group nogroup web
look=("$ipclift" run --name web --)
pass nobody setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$ipclift" run --name root/web --
finish
