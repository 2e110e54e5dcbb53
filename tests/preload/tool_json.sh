#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_json.sh - every field that a command prints with --json is in
# ipclift-json(5) and in the schema, and the other way round.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
user=
listed=$(mktemp /dev/shm/json.XXXXXX) && rm "$listed" || exit 1
# shellcheck disable=SC2329 # called by trap
at_end() {
    [[ -z $user ]] || kill -KILL "$user" 2>/dev/null
    rm -f "$listed"
}
export IPCLIFT_LIMITS=kernel

# The program's children, and one who sleeps in semop with two operations.
gcc -O1 -o "$work/objects" "$here/app_objects.c" || exit 1
"$ipclift" run -- "$work/objects" make || exit 1
gcc -O1 -o "$work/told" -xc - <<'C' || exit 1
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
	struct sigevent how = {.sigev_notify = SIGEV_NONE};

	if (mq_notify(mq_open("/jobs", O_RDWR), &how))
		return 1;
	return pause();
}
C
# And who has received what is leased.
gcc -O1 -o "$work/holds" -xc - <<'C' || exit 1
#include <fcntl.h>
#include <mqueue.h>
#include <sys/msg.h>
#include <unistd.h>
int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 16};
	struct {
		long type;
		char text[16];
	} m = {1, ""};
	int id = msgget(0x99, IPC_CREAT | 0600);
	mqd_t q = mq_open("/held", O_RDWR | O_CREAT, 0600, &attr);

	if (msgsnd(id, &m, 8, 0) || msgrcv(id, &m, 16, 0, 0) != 8 ||
		mq_send(q, m.text, 8, 0) ||
		mq_receive(q, m.text, 16, NULL) != 8)
		return 1;
	return pause();
}
C
"$ipclift" run -- bash -c '"$1" use & "$2" & IPCLIFT_LEASE=msg,mq "$3" &
    perl -e "semop(0, pack(q(s6), 1, -32000, 0, 2, 1, 0))"; wait' \
    bash "$work/objects" "$work/told" "$work/holds" &
user=$!
for ((i = 0; i < 500; i++)); do
    [[ $("$ipclift" waits --json | grep -c '"tid"') == 3 ]] && break
    sleep 0.02
done
"$ipclift" set semmni=1
"$ipclift" run -- perl -e 'use IPC::SysV qw(IPC_PRIVATE);
    semget(IPC_PRIVATE, 1, 0600)'
mkdir "$work/out"
"$ipclift" ls --json >"$work/out/ls"
for what in "sem 0" "msg 0" "shm 0" "mq jobs"; do
    # shellcheck disable=SC2086 # words
    "$ipclift" show --json $what >"$work/out/show ${what% *}"
done
"$ipclift" show --json mq empty >"$work/out/show mq.2"
for ((i = 0; i < 500; i++)); do
    "$ipclift" show --json mq held >"$work/out/show mq.3" &&
        grep -q '"tid"' "$work/out/show mq.3" && break
    sleep 0.02
done
# This one it had received before.
"$ipclift" show --json msg 1 >"$work/out/show msg.2"
"$ipclift" create "$listed" >/dev/null
"$ipclift" doctor --quick --json >"$work/out/doctor"
for command in waits locks tasks events get registries; do
    "$ipclift" $command --json >"$work/out/$command"
done
"$ipclift" top --once -d 0.1 --json >"$work/out/top"
pkill -KILL -P "$user"
wait "$user"

# Two who wait for each other.
# shellcheck disable=SC2016 # perl's
IPCLIFT_REGISTRY=$work/circle "$ipclift" run -- perl -e '
    $set = semget(0, 2, 0600);
    semop($set, pack("s6", 0, 1, 0, 1, 1, 0));
    $own = fork() ? 0 : 1;
    semop($set, pack("s3", $own, -1, 4096));
    select(undef, undef, undef, 0.01) while semctl($set, 1 - $own, 12, 0) != 0;
    semop($set, pack("s3", 1 - $own, -1, 4096));' &
user=$!
for ((i = 0; i < 100; i++)); do
    "$ipclift" top --registry "$work/circle" --once -d 0.1 --json \
        >"$work/out/top.2"
    grep -q '"semaphore"' "$work/out/top.2" && break
done
pkill -KILL -P "$user"
kill -KILL "$user"
wait "$user"
user=

# A registry with a fault: the first slot's ident (registry/layout.h) is wiped.
slot=$(((1 << 30) + 64))
dd if=/dev/zero of="$IPCLIFT_REGISTRY" bs=1 seek=$slot count=8 conv=notrunc \
    status=none
"$ipclift" check --json >"$work/out/check"
"$ipclift" bench --force --quick --only T4 --json >"$work/out/bench"
"$ipclift" bench --json --compare "$work/out/bench" "$work/out/bench" \
    >"$work/out/bench.2"

cat >"$work/compare.py" <<'PYTHON'
import json, os, re, subprocess, sys

page, schema, out = sys.argv[1:]
# The page's fields, by command: ".SS ipclift COMMAND", ".BR FIELD ..."
said, command = {}, None
for line in open(page):
    if m := re.match(r"\.SS ipclift (.*)", line):
        command = said[m[1]] = set()
    elif m := re.match(r"\.BR (\S+) \"", line):
        command is not None and command.add(m[1])
MAPS = {"figures[].worlds"}

def keys(value, prefix=""):
    """The fields in a value, as the page names them."""
    if isinstance(value, list):
        for v in value:
            yield from keys(v, prefix + "[]" if prefix else "")
    elif isinstance(value, dict):
        for k, v in value.items():
            name = prefix + "." + ("NAME" if prefix in MAPS else k) if prefix else k
            if prefix not in MAPS:
                yield name
            yield from keys(v, name)

def schema_keys(s, prefix=""):
    if "items" in s:
        yield from schema_keys(s["items"], prefix + "[]" if prefix else "")
    for k, v in s.get("properties", {}).items():
        name = prefix + "." + k if prefix else k
        yield name
        yield from schema_keys(v, name)
    if isinstance(s.get("additionalProperties"), dict):
        yield from schema_keys(s["additionalProperties"], prefix + ".NAME")

defs = json.load(open(schema))["$defs"]
printed = {}
for name in sorted(os.listdir(out)):
    printed.setdefault(name.split(".")[0], set()).update(
        keys(json.load(open(os.path.join(out, name)))))
for command in sorted(set(said) | set(printed) | set(defs)):
    page = said.get(command, set())
    # What show says of an object is what ls says of any kind.
    got = printed.get(command, set())
    if command.startswith("show "):
        got = got | printed["ls"]
    print(command, "printed, not in the page:", *sorted(got - page))
    print(command, "in the page, not printed:", *sorted(page - got))
    print(command, "not the same in the schema:",
        *sorted(page ^ set(schema_keys(defs.get(command, {})))))
PYTHON
built=$(dirname "$ipclift")
python3 "$work/compare.py" "$built/ipclift-json.5" "$built/ipclift.schema.json" \
    "$work/out" >"$work/lines" || bad=1
while read -r line; do
    is "${line%%:*}" "${line#*:}" ""
done <"$work/lines"
# Each command that has the option was looked at.
takes() {
    "$ipclift" help "$1" | grep -q -- '--json'
}
is "commands" "$("$ipclift" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' |
    while read -r command; do
        ! takes "$command" || compgen -G "$work/out/$command*" >/dev/null ||
            echo "$command"
    done)" ""
is "the page is in order" "$(
    man --warnings -E UTF-8 -l "$built/ipclift-json.5" 2>&1 >/dev/null | head -3)" ""
exit $bad
