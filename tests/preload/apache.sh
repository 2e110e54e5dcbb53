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
. "$(dirname "$0")/web.sh"
own_ipc_namespace "$@"
httpd=/usr/sbin/apache2
[ -x $httpd ] && [ -r /usr/lib/apache2/modules/mod_mpm_prefork.so ] ||
	skip "no apache2"
[ "$(id -u)" = 0 ] || skip "needs root to start children of another user"

www=$(mktemp -d /tmp/app.XXXXXX) || exit 1
chmod 0755 "$www" "$dir"
mkdir -m 0777 "$www/run"
mkdir "$www/www"
echo served >"$www/www/index.html"
cp -r "$here/../../examples" "$www/examples"
port=$(some_port)
urls=("http://127.0.0.1:$port/index.html"
	"http://127.0.0.1:$((port + 1))/index.html")
EXAMPLES=$www/examples python3 "$here/../bench/servers.py" conf apache \
	"$www" "$port" >"$dir/conf"
server=
trap 'kill -9 $server 2>/dev/null; rm -rf "$www"; scenario_cleanup' EXIT

# pass WHO COMMAND...: what starts it; its set is where "${look[@]}" looks
pass() {
	local who=$1

	shift
	rm -f "$www/run/"*
	"$@" $httpd -f "$dir/conf" -t >"$dir/out" 2>&1 ||
		{ fail "$who: the configuration" "$dir/out"; return; }
	# It signals its whole group when it ends.
	setsid "$@" $httpd -f "$dir/conf" -DFOREGROUND >"$dir/out" 2>&1 &
	server=$!
	check "$who: it answers" [ "$(requests 8 8 "${urls[@]}")" = 8 ]
	sets_are_served "$who"
	killed_meanwhile "$who" 8 2 8 400 "${urls[@]}"
	kill -TERM $server
	wait $server
	server=
	"${look[@]}" ipcs -s >"$dir/ipcs"
	check "$who: no set is left" [ "$(grep -c '^0x' "$dir/ipcs")" = 0 ]
	[ $failed = 0 ] || tail -n 20 "$www/run/log" "$dir/out"
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
