#!/bin/bash
# SPDX-License-Identifier: MIT
#
# squid_diskd.sh - Debian's squid, started by the commands of
# examples/squid-diskd.conf with its store: for each directory of its cache it
# starts a diskd, which it speaks with through two message queues and a segment of
# System V, both as the user proxy. Objects are stored, found again after a
# restart, and nothing is left, in the registry or in the kernel; without the shim
# the same, and once more started by proxy itself on a registry of its own.

# Registries by name are in /dev/shm: one of its own.
[ -z "${SCENARIO_INSIDE-}" ] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm
. "$(dirname "$0")/scenario.sh"
. "$(dirname "$0")/web.sh"
own_ipc_namespace "$@"
[ -x /usr/sbin/squid ] && [ -x /usr/lib/squid/diskd ] || skip "no squid"
[ "$(id -u)" = 0 ] || skip "needs root to start children of another user"
id proxy >/dev/null 2>&1 || skip "no user proxy"

port=$(some_port)
origin=$((port + 1))
www=$(mktemp -d /tmp/app.XXXXXX) || exit 1
server='' web=''
recipe=$here/../../examples/squid-diskd.conf
unset IPCLIFT_REGISTRY
trap 'kill -9 $server $web 2>/dev/null; rm -rf "$www"; scenario_cleanup' EXIT
chmod 0755 "$www" "$dir"
mkdir "$www/cache" "$www/run" "$www/web"
chown proxy "$www/cache" "$www/run"
others_command
for i in 1 2 3 4 5 6 7 8; do
	head -c $((i * 5000)) /dev/urandom >"$www/web/$i"
done
python3 "$here/../bench/servers.py" conf squid "$www" "$port" >"$dir/conf"
cat >>"$dir/conf" <<END
cache_effective_user proxy
cache_effective_group proxy
refresh_pattern . 60 100% 60
END
(cd "$www/web" && exec python3 -m http.server --bind 127.0.0.1 $origin) \
	>/dev/null 2>&1 &
web=$!

# get: how many of the files come whole, and how many out of the cache
get() {
	python3 - $port $origin "$www/web" <<-'END'
	import sys, threading, urllib.request, os
	port, origin, web = sys.argv[1:]
	proxy = urllib.request.ProxyHandler({"http": "http://127.0.0.1:" + port})
	o = urllib.request.build_opener(proxy)
	good = hits = 0
	for n in sorted(os.listdir(web)):
	    for again in range(200):
	        try:
	            r = o.open("http://127.0.0.1:%s/%s" % (origin, n), timeout=10)
	            good += r.read() == open(os.path.join(web, n), "rb").read()
	            hits += r.headers.get("X-Cache", "").startswith("HIT")
	            break
	        except OSError:
	            threading.Event().wait(0.05)
	print(good, hits)
	END
}
# No function between: its process would stand before squid's. What with starts
# goes on by exec, so the process is squid's.
start() {
	"${with[@]}" setsid /usr/sbin/squid -N -f "$dir/conf" >"$dir/out" 2>&1 &
	server=$!
}
# Its diskd end after it, and have the segment attached until then.
stop() {
	local pids pid

	pids=$(pgrep -P $server diskd)
	kill -TERM $server
	wait $server
	server=
	for pid in $pids; do
		timeout 20 tail --pid="$pid" -f /dev/null
	done
}
pass() {
	local pass=$1

	with=("${@:2}")
	rm -rf "$www/cache/"* "$www/run/"*
	"${with[@]}" /usr/sbin/squid -N -z -f "$dir/conf" >"$dir/out" 2>&1 ||
		{ fail "$pass: -z" "$dir/out" "$www/run/log"; return; }
	start
	check "$pass: all come" [ "$(get | cut -d' ' -f1)" = 8 ]
	check "$pass: again, out of the store" [ "$(get)" = "8 8" ]
	pgrep -P $server diskd >"$dir/diskd"
	check "$pass: a diskd runs" [ -s "$dir/diskd" ]
	objects
	stop
	start
	check "$pass: found after a restart" [ "$(get)" = "8 8" ]
	stop
	check "$pass: diskd was not refused" \
		[ -z "$(grep -iE 'diskd.*(fail|exit)|msgsnd|msgget|shmget|ipclift: ' "$www/run/log" "$dir/out")" ]
	[ $failed = 0 ] || tail -n 20 "$dir/out" "$www/run/log"
}

objects() {
	check "$pass: it has queues" [ "$(kernel_objects)" = 3 ]
}
proxy=(setpriv --reuid proxy --regid proxy --clear-groups)
pass kernel
pass "kernel, by proxy" "${proxy[@]}"

objects() {
	check "$pass: none is in the kernel" [ "$(kernel_objects)" = 0 ]
	check "$pass: its queues and segment are in the registry" \
		[ "$("${with[@]}" ipcs -q -m | grep -c '^0x')" = 3 ]
}
nothing_left() {
	check "$1: nothing is left" \
		[ "$("${with[@]}" ipcs -q -m -s | grep -c '^0x')" = 0 ]
	check "$1: nor in the kernel" [ "$(kernel_objects)" = 0 ]
}
# The recipe's own words.
read -ra create < <(sed -n 's/^#\tipclift create/create/p' "$recipe")
read -ra run < <(sed -n 's/^#\tipclift \(run .* --\) squid.*/\1/p' "$recipe")
check "the recipe's registry" "$ipclift" "${create[@]}"
pass "by the recipe" "$ipclift" "${run[@]}"
nothing_left "by the recipe"
pass "by proxy" "${proxy[@]}" "$ipclift" run --name cache --
nothing_left "by proxy"
finish
