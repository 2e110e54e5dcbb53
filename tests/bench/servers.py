#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""servers.py: a server of Debian's, with the settings of examples/, under load.

    servers.py apache|uwsgi|squid|postgres DIR [N]
    servers.py conf apache|squid DIR PORT

Starts it in DIR (empty, or for postgres what `servers.py postgres-init DIR`
made), sends N requests by four clients, ends it, and prints "ms X": how long the
requests took. A wrong answer ends it with status 1. For tests/bench/real, which
runs it in both worlds; as the user that the server needs: postgres by postgres,
squid by proxy, apache by root, with children of nobody.

The second prints the configuration that it would have: what it writes is in
DIR/run, squid's store in DIR/cache, what Apache serves on PORT and the next one in
DIR/www (tests/preload/apache.sh and squid_diskd.sh).

    apache    prefork children that take turns at two sockets by `Mutex sysvsem`
    uwsgi     four workers; each request takes and gives back a lock (ipcsem)
    squid     objects out of a diskd store: two queues and a segment
    postgres  sysv segments: pgbench -S, then queries with two parallel workers,
              each with a segment of its own
"""
import glob
import http.client
import http.server
import os
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.environ.get("EXAMPLES",
                          os.path.join(HERE, "../../examples"))
CLIENTS = 4
# Below those that the kernel gives to clients.
PORT = 20000 + os.getpid() % 12000
MODULES = "/usr/lib/apache2/modules"
BODY = b"served\n"


def fetch(port, path, proxy_for=""):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        c.request("GET", proxy_for + path)
        return c.getresponse().read()
    finally:
        c.close()


def until(answers, server):
    """Wait until answers() does not fail; the server is starting."""
    for _ in range(1000):
        try:
            return answers()
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.01)
    raise SystemExit("servers.py: the server does not answer")


def load(n, one):
    """ms that n calls of one(k) take, shared among the clients."""
    wrong = []

    def client(first):
        for k in range(first, n, CLIENTS):
            try:
                if not one(k):
                    raise ValueError("another answer")
            except (OSError, ValueError, http.client.HTTPException) as why:
                wrong.append(f"request {k}: {why}")
                return

    threads = [threading.Thread(target=client, args=(i,))
               for i in range(CLIENTS)]
    begun = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    ms = 1000 * (time.monotonic() - begun)
    if wrong:
        raise SystemExit("servers.py: " + wrong[0])
    return ms


def start(argv, directory):
    """In a session of its own: some signal their whole group."""
    with open(os.path.join(directory, "out"), "ab") as out:
        return subprocess.Popen(argv, stdout=out, stderr=out,
                                stdin=subprocess.DEVNULL,
                                start_new_session=True)


def stop(server):
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def write(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def apache_conf(directory, port):
    return f"""
ServerRoot {directory}
ServerName localhost
PidFile {directory}/run/pid
ErrorLog {directory}/run/log
LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
User nobody
Group nogroup
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{port + 1}
StartServers 6
MinSpareServers 6
MaxSpareServers 8
DocumentRoot {directory}/www
Include {EXAMPLES}/apache.conf
"""


def apache(directory, n):
    os.mkdir(f"{directory}/run")
    os.mkdir(f"{directory}/www")
    write(f"{directory}/www", "index.html", BODY.decode())
    conf = write(directory, "conf", apache_conf(directory, PORT))
    server = start(["/usr/sbin/apache2", "-f", conf, "-DFOREGROUND"], directory)
    try:
        until(lambda: fetch(PORT, "/index.html"), server)
        return load(n, lambda k: fetch(PORT + k // CLIENTS % 2,
                                       "/index.html") == BODY)
    finally:
        stop(server)


def uwsgi(directory, n):
    app = write(directory, "app.py", f"""
import uwsgi
def application(env, start_response):
    uwsgi.lock()
    uwsgi.unlock()
    start_response("200 OK", [])
    return [{BODY!r}]
""")
    server = start(["uwsgi", "--plugin", "python3", "--ini",
                    f"{EXAMPLES}/uwsgi.ini", "--http-socket",
                    f"127.0.0.1:{PORT}", "--wsgi-file", app, "--die-on-term",
                    "--disable-logging"], directory)
    try:
        until(lambda: fetch(PORT, "/"), server)
        return load(n, lambda k: fetch(PORT, "/") == BODY)
    finally:
        stop(server)


class Origin(http.server.BaseHTTPRequestHandler):
    """Objects of 8 KiB that may be kept for an hour."""
    protocol_version = "HTTP/1.0"

    @staticmethod
    def body(path):
        return (path * 8192)[:8192].encode()

    def do_GET(self):
        body = self.body(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def squid_conf(directory, port):
    with open(f"{EXAMPLES}/squid-diskd.conf", encoding="utf-8") as f:
        store = f.read().replace("/var/spool/squid", f"{directory}/cache")
    return store + f"""
http_port 127.0.0.1:{port}
http_access allow all
pid_filename {directory}/run/pid
cache_log {directory}/run/log
cache_access_log none
access_log none
netdb_filename none
pinger_enable off
cache_mem 0
memory_cache_mode disk
shutdown_lifetime 0 seconds
visible_hostname localhost
"""


def squid(directory, n):
    objects = 100
    os.mkdir(f"{directory}/cache")
    os.mkdir(f"{directory}/run")
    conf = write(directory, "conf", squid_conf(directory, PORT))
    # One request after the other: the objects are asked for once.
    origin = http.server.HTTPServer(("127.0.0.1", PORT + 1), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{PORT + 1}"
    argv = ["/usr/sbin/squid", "-N", "-f", conf]
    if start(argv + ["-z"], directory).wait():
        raise SystemExit("servers.py: squid -z")
    server = start(argv, directory)

    def get(k):
        path = f"/object/{k % objects}"
        return fetch(PORT, path, url) == Origin.body(path)
    try:
        until(lambda: get(0), server)
        load(objects, get)
        # Each waits for a disk, and for another process: they are fewer.
        return load(n // 4, get)
    finally:
        children = subprocess.run(["pgrep", "-P", str(server.pid)],
                                  capture_output=True, text=True,
                                  check=False).stdout.split()
        stop(server)
        # Its diskd end after it, on their own.
        for pid in children:
            subprocess.run(["timeout", "20", "tail", "--pid=" + pid, "-f",
                            "/dev/null"], check=False)
        origin.shutdown()


def pg(name):
    return sorted(glob.glob("/usr/lib/postgresql/*/bin/" + name))[-1]


def quietly(*argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, check=False,
                          **more)
    if done.returncode:
        raise SystemExit(f"servers.py: {argv[0]}: {done.stderr[-300:]}")


def postgres_init(directory, _n):
    data = f"{directory}/data"
    quietly(pg("initdb"), "-D", data, "-A", "trust")
    with open(f"{data}/postgresql.conf", "a", encoding="utf-8") as f:
        f.write(f"""
shared_memory_type = sysv
dynamic_shared_memory_type = sysv
listen_addresses = ''
unix_socket_directories = '{directory}'
fsync = off
""")
    with Postgres(directory):
        quietly(pg("createdb"), "-h", directory, "bench")
        quietly(pg("pgbench"), "-h", directory, "-i", "-s", "2", "-q", "bench")
    return 0


class Postgres:
    """A server on the data of the directory, for a with statement."""
    def __init__(self, directory):
        self.argv = [pg("pg_ctl"), "-w", "-D", f"{directory}/data", "-l",
                     f"{directory}/log"]

    def __enter__(self):
        # Not by a pipe: the server would keep it.
        subprocess.run(self.argv + ["start"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)

    def __exit__(self, *what):
        subprocess.run(self.argv + ["-m", "fast", "stop"],
                       stdout=subprocess.DEVNULL, check=True)


def postgres(directory, n):
    parallel = write(directory, "parallel.sql", """
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select count(*) from pgbench_accounts where bid > 0;
""")
    common = [pg("pgbench"), "-h", directory, "-n", "-c", str(CLIENTS), "-j",
              "2"]
    with Postgres(directory):
        begun = time.monotonic()
        quietly(*common, "-S", "-t", str(n // CLIENTS), "bench")
        quietly(*common, "-f", parallel, "-t", "5", "bench")
        return 1000 * (time.monotonic() - begun)


def main():
    if sys.argv[1] == "conf":
        name, directory, port = sys.argv[2:5]
        conf = {"apache": apache_conf, "squid": squid_conf}[name]
        print(conf(directory, int(port)), end="")
        return
    name, directory = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 8000
    run = {"apache": apache, "uwsgi": uwsgi, "squid": squid,
           "postgres": postgres, "postgres-init": postgres_init}[name]
    print(f"ms {run(directory, n):.3f}")


if __name__ == "__main__":
    main()
