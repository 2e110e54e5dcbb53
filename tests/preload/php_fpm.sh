#!/bin/bash
# SPDX-License-Identifier: MIT
#
# php_fpm.sh - php-fpm with the pool of examples/php-fpm.conf: scripts of several
# children, which have no environment, count under a semaphore in a shared
# segment. None is lost, all of it is in the registry, nothing in the kernel.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
fpm=$(ls /usr/sbin/php-fpm8* 2>/dev/null | head -n 1)
[ -n "$fpm" ] || skip "no php-fpm"
php -r 'exit(function_exists("sem_get") ? 0 : 1);' 2>/dev/null ||
	skip "no PHP with sysvsem"

chmod 0755 "$dir"
sed "s,^listen =.*,listen = $dir/sock," "$here/../../examples/php-fpm.conf" \
	>"$dir/conf"
[ "$(id -u)" != 0 ] || echo "user = root
group = root" >>"$dir/conf"
cat >"$dir/count.php" <<'END'
<?php
$s = sem_get(0x51, 1, 0600, true);
$m = shm_attach(0x51, 1000, 0600);
for ($i = 0; $i < 50; $i++) {
	sem_acquire($s);
	shm_put_var($m, 1, (shm_has_var($m, 1) ? shm_get_var($m, 1) : 0) + 1);
	sem_release($s);
}
echo getenv("IPCLIFT_REGISTRY") === false ? "no environment " : "environment ";
echo shm_get_var($m, 1), "\n";
END
LD_PRELOAD=$shim setsid "$fpm" -R --nodaemonize -y "$dir/conf" >"$dir/out" 2>&1 &
server=$!
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
timeout 20 python3 "$dir/ask.py" "$dir/sock" "$dir/count.php" 8 >"$dir/said"
check "all are counted, without an environment" \
	grep -qx 'no environment 400' "$dir/said"
shimmed ipcs -s -m >"$dir/ipcs"
check "in the registry" [ "$(grep -c '^0x00000051' "$dir/ipcs")" = 2 ]
check "and not in the kernel" [ "$(cat /proc/sysvipc/sem /proc/sysvipc/shm | wc -l)" = 2 ]
kill -TERM $server
wait $server
[ $failed = 0 ] || tail -n 20 "$dir/out" "$dir/said"
finish
