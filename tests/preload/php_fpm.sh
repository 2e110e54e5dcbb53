#!/bin/bash
# SPDX-License-Identifier: MIT
#
# php_fpm.sh - php-fpm with the pool of examples/php-fpm.conf: scripts of several
# children, which have no environment, count under a semaphore in a shared
# segment. None is lost, all of it is in the registry, nothing in the kernel. As
# root; with children of another user; and all of it as another user; the last two
# on a registry that root has made for others.

# Registries by name are in /dev/shm: one of its own.
[ -z "${SCENARIO_INSIDE-}" ] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
fpm=$(ls /usr/sbin/php-fpm8* 2>/dev/null | head -n 1)
[ -n "$fpm" ] || skip "no php-fpm"
php -r 'exit(function_exists("sem_get") ? 0 : 1);' 2>/dev/null ||
	skip "no PHP with sysvsem"

chmod 0755 "$dir"
cat >"$dir/count.php" <<'END'
<?php
$s = sem_get(0x51, 1, 0600, true);
/* PHP's own makes it in two steps, and fails if another does meanwhile. */
sem_acquire($s);
$m = shm_attach(0x51, 1000, 0600);
sem_release($s);
for ($i = 0; $i < 50; $i++) {
	sem_acquire($s);
	shm_put_var($m, 1, (shm_has_var($m, 1) ? shm_get_var($m, 1) : 0) + 1);
	sem_release($s);
}
echo getenv("IPCLIFT_REGISTRY") === false ? "no environment " : "environment ";
echo shm_get_var($m, 1), "\n";
END
mkdir -m 0777 "$dir/run"
server=
trap 'kill -9 $server 2>/dev/null; scenario_cleanup' EXIT

# FastCGI, as much as is needed.
cat >"$dir/ask.py" <<'END'
import socket, struct, sys, threading
sock, script, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
def record(kind, data):
    return struct.pack(">BBHHBB", 1, kind, 1, len(data), 0, 0) + data
def pair(k, v):
    return bytes([len(k), len(v)]) + k.encode() + v.encode()
def ask():
    s = socket.socket(socket.AF_UNIX)
    for again in range(200):
        try:
            s.connect(sock)
            break
        except OSError:
            threading.Event().wait(0.05)
    p = (pair("SCRIPT_FILENAME", script) + pair("REQUEST_METHOD", "GET") +
         pair("SCRIPT_NAME", "/count.php"))
    s.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, p) +
              record(4, b"") + record(5, b""))
    data = b""
    while True:
        more = s.recv(65536)
        if not more:
            break
        data += more
    said.append(data.replace(b"\0", b" ").decode("latin1").split("\r\n\r\n")[-1].split("\n")[0])
said = []
t = [threading.Thread(target=ask) for i in range(n)]
[x.start() for x in t]
[x.join() for x in t]
print(*said, sep="\n")
END
# pass WHO CHILDREN COMMAND...: php-fpm, whose children are of the user CHILDREN
# unless that is empty, started by COMMAND; its objects are where "${look[@]}"
# looks.
pass() {
	local who=$1 user=$2

	sed "s,^listen =.*,listen = $dir/run/sock," \
		"$here/../../examples/php-fpm.conf" >"$dir/conf"
	[ -z "$user" ] ||
		printf '%s\n' "user = $user" "group = $(id -gn "$user")" >>"$dir/conf"
	rm -f "$dir/run/sock" "$dir/out"
	# It opens its error_log, by /proc/self/fd/2.
	touch "$dir/out"
	chmod 0666 "$dir/out"
	setsid "${@:3}" "$fpm" -R --nodaemonize -y "$dir/conf" >"$dir/out" 2>&1 &
	server=$!
	timeout 20 python3 "$dir/ask.py" "$dir/run/sock" "$dir/count.php" 8 \
		>"$dir/said"
	check "$who: all are counted, without an environment" \
		grep -qx 'no environment 400' "$dir/said"
	"${look[@]}" ipcs -s -m >"$dir/ipcs"
	check "$who: in the registry" \
		[ "$(grep -c "^0x00000051.* ${user:-$owner} " "$dir/ipcs")" = 2 ]
	check "$who: and not in the kernel" [ "$(kernel_objects)" = 0 ]
	kill -TERM $server
	wait $server
	server=
	[ $failed = 0 ] || tail -n 20 "$dir/out" "$dir/said"
}

look=(shimmed)
owner=$(id -un)
if [ "$(id -u)" != 0 ]; then
	pass "$owner" "" env "LD_PRELOAD=$shim"
	echo "skip: other users: needs root"
	finish
fi
pass root root env "LD_PRELOAD=$shim"
others_command
unset IPCLIFT_REGISTRY
check "a registry for all" "$ipclift" create --mode 666 php
look=("$ipclift" run --name php --)
pass "children of nobody" nobody "${look[@]}"
check "it can be removed" "$ipclift" destroy php
check "another" "$ipclift" create --mode 666 php
owner=nobody
pass nobody "" setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$ipclift" run --name root/php --
finish
