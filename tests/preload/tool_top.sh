#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_top.sh - top: once as text and JSON, live on terminals of 80 and 140
# columns with keys, another size and q; no lock taken; a registry that
# disappears, is cut off or damaged ends it with a message, the terminal as it was.
# waits --svg.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
export LC_ALL=C
load=
at_end() {
    [[ -z $load ]] || kill "$load" 2>/dev/null
    wait
}
start_load() {
    "$ipclift" run perl "$here/look_load.pl" >"$work/load" &
    load=$!
    for ((i = 0; i < 1000; i++)); do
        [[ $("$ipclift" waits 2>/dev/null) == *Deadlock* ]] && return
        sleep 0.02
    done
    echo "FAIL no deadlock to look at"
    exit 1
}
start_load

# ---- once
is "deadlock: status" "$(status "$ipclift" top --once -d 0.3)" 1
is "deadlock: said" "$(grep -c '^deadlock: [0-9]* waits for' "$work/out")" 2
is "objects" "$(grep -cE "^(sem|msg|shm) +0 +$(id -un) " "$work/out")" 3
is "80 columns" "$(awk 'length > 80' "$work/out")" ""
is "a segment's bytes" "$(grep -c '^shm .* 1\.0 MiB' "$work/out")" 1
is "who waits on what" "$(grep -cE ' sem 0\.[01] ' "$work/out")" 2
COLUMNS=140 "$ipclift" top --once -d 0.3 >"$work/out"
is "140 columns" "$(grep -cE '^KIND .* KEY .* HELD/S .* USED$' "$work/out")" 1
is "140 at most" "$(awk 'length > 140' "$work/out")" ""
"$ipclift" top --once --json -d 0.5 >"$work/json"
# The queue's sender sends about 1,000 a second; each is taken from it, too.
cat >"$work/judge.py" <<'END'
import json, sys
all = json.load(sys.stdin)
by = {o["kind"]: o for o in all["objects"]}
assert sorted(by) == ["msg", "sem", "shm"], by
assert by["shm"]["bytes"] == 1 << 20
assert by["sem"]["waiters"] == 2 and by["sem"]["depth"] == 2
sent, ops = by["msg"]["sent_per_second"], by["msg"]["ops_per_second"]
assert sent > 1 and ops >= sent, (sent, ops)
assert by["shm"]["ops_per_second"] == 0
assert len(all["deadlocks"]) == 2 and len(all["processes"]) == 5
assert {d["pid"] for d in all["deadlocks"]} == {d["holder"] for d in all["deadlocks"]}
assert sum(p["holds"] for p in all["processes"]) == 2
assert any(l["lock"] == "msg 0" and l["taken_per_second"] > 1 for l in all["locks"])
print("right")
END
is "JSON" "$(python3 "$work/judge.py" <"$work/json")" right
is "filter" "$("$ipclift" top --once -d 0.1 --filter MSG | grep -cE "^(sem|shm) +0 +$(id -un) ")" 0
is "sort" "$("$ipclift" top --once -d 0.1 --sort bytes |
    awk '/^KIND/ { on = 1; next } on { print $1; exit }')" shm
is "sort, turned" "$("$ipclift" top --once -d 0.1 --sort bytes:rev |
    awk '/^KIND/ { on = 1; next } on { print $1; exit }')" sem
for wrong in "--json" "--once -d 0" "--once -d x" "--sort tea" "--sort id:up" more; do
    # shellcheck disable=SC2086 # words
    is "top $wrong" "$(status "$ipclift" top $wrong)" 2
done
is "no terminal" "$(status "$ipclift" top </dev/null)" 1
is "says what to do" "$(grep -c -e '--once' "$work/err")" 1

# ---- it takes no lock: of nobody else's, the counts say
"$ipclift" locks --all --json >"$work/locks1"
"$ipclift" top --once -d 0.1 >/dev/null
"$ipclift" top --once -d 0.1 >/dev/null
"$ipclift" locks --all --json >"$work/locks2"
"$ipclift" run -- ipcs -s -i 0 >/dev/null
"$ipclift" locks --all --json >"$work/locks3"
counts() { # counts FILE LOCK...
    python3 -c 'import json, sys
print([(l["name"], l["count"]) for l in json.load(sys.stdin)
    if l["name"] in sys.argv])' "${@:2}" <"$1"
}
# Not "sem 0": who is in a deadlock looks for the dead once a second.
is "no lock taken" "$(counts "$work/locks2" sem shm msg "shm 0")" \
    "$(counts "$work/locks1" sem shm msg "shm 0")"
is "one that is taken shows" "$([[ $(counts "$work/locks3" "sem 0") != "$(
    counts "$work/locks2" "sem 0")" ]]; echo $?)" 0

# ---- what is on lease
export IPCLIFT_REGISTRY=$work/leases
IPCLIFT_LEASE=msg "$ipclift" run perl "$here/look_lease.pl" >"$work/leases.said" &
leases=$!
for ((i = 0; i < 1000; i++)); do
    grep -q ready "$work/leases.said" && break
    sleep 0.02
done
"$ipclift" locks --all --json >"$work/locks1"
"$ipclift" top --once --json -d 0.1 >"$work/json"
"$ipclift" locks --all --json >"$work/locks2"
is "no lock taken, of a queue with leases" "$(counts "$work/locks2" msg "msg 0")" \
    "$(counts "$work/locks1" msg "msg 0")"
is "which counts" "$(counts "$work/locks1" "msg 0" | grep -c '[1-9]')" 1
cat >"$work/judge.py" <<'END'
import json, sys
all = json.load(sys.stdin)
print([(o["leased"], o["depth"]) for o in all["objects"]],
      sorted(p["leased"] for p in all["processes"]))
END
is "of the queue, of the processes" "$(python3 "$work/judge.py" <"$work/json")" \
    "[(2, 3)] [1, 1]"
is "head, 80 columns" "$("$ipclift" top --once -d 0.1 |
    grep -c 'waiting, 2 on lease$')" 1
COLUMNS=140 "$ipclift" top --once -d 0.1 >"$work/out"
is "column, 140" "$(awk '/^KIND/ { at = index($0, "LEASED") }
    /^msg  0/ { print substr($0, at, 6) + 0; exit }' "$work/out")" 2
kill -9 "$(sed -n 's/^ready [0-9]* //p' "$work/leases.said")"
for ((i = 0; i < 500; i++)); do
    "$ipclift" gc --dry-run msg >/dev/null
    "$ipclift" gc msg >/dev/null
    [[ $("$ipclift" top --once -d 0.1) == *', 1 on lease'* ]] && break
done
is "killed: it is back" "$("$ipclift" top --once --json -d 0.1 |
    python3 "$work/judge.py")" "[(1, 4)] [1]"
kill "$leases"
wait "$leases"
is "nobody has any" "$("$ipclift" top --once -d 0.1 | grep -c 'on lease')" 0
export IPCLIFT_REGISTRY=$work/registry

# ---- drawn by dot
is "--svg and --dot" "$(status "$ipclift" waits --svg x --dot)" 2
if command -v dot >/dev/null; then
    is "svg" "$(status "$ipclift" waits --svg "$work/w.svg")" 1
    is "drawn, the deadlock red" "$(grep -c '<svg' "$work/w.svg") $(
        grep -c 'stroke="red"' "$work/w.svg" | sed 's/^[1-9].*/red/')" "1 red"
    is "where it cannot be" "$(status "$ipclift" waits --svg /nowhere/w.svg)" 1
fi
is "no dot" "$(PATH='' status "$ipclift" waits --svg "$work/x.svg")" 1
is "says so" "$(grep -c 'install graphviz' "$work/err")" 1

# ---- live
live() { # live WIDTH HEIGHT [OPTION...]: steps from standard input
    /usr/bin/python3 "$here/screen.py" "$1" "$2" "$ipclift" top -d 0.5 "${@:3}"
}
if ! /usr/bin/python3 -c 'import pyte' 2>/dev/null; then
    echo "skip: on a terminal, no python3-pyte"
    exit $bad
fi
if "$ipclift" top </dev/null 2>&1 | grep -q 'without ncurses'; then
    echo "skip: on a terminal, built without ncurses"
    exit $bad
fi
# What a screen has whatever the numbers are.
frame() {
    grep -E '^(KIND|deadlock: |o objects|objects: |[0-9]+:[0-9]+:[0-9]+  )' |
        sed -E '/^KIND/!s/[0-9]+/N/g; /^objects/s, */.*,,; s/ *$//' | sed '/^o objects/q'
}
for width in 80 140; do
    live $width 16 >"$work/out" <<'END'
wait msg  0
wait deadlock: 
red deadlock: 
red sem  0
show
keys p
wait COMMAND
red perl
keys l
wait TAKEN/S
keys o
wait OPS/S
keys /msg\r
wait with 'msg'
gone sem  0
size 100 12
wait KIND
keys /\r
wait sem  0
keys >>r<\t\t\t
wait sem  0
keys \x1b[6~\x1b[5~ 
wait sem  0
size 20 3
wait o objects
size 80 16
wait OLDEST
keys q
exit 0
END
    is "live at $width" $? 0
    [[ $bad == 0 ]] || cat "$work/out"
    is "the manual's capture at $width" "$(awk -v which=$((1 + (width > 80))) '
        /^.SH WHAT TOP/ { on = 1 } /^.nf/ && on { n++ } n == which' \
        "$here/../../shim/tool/ipclift.1" | sed '/^\.fi/,$d' | frame)" \
        "$(frame <"$work/out")"
    is "wide columns at $width" "$(grep -c 'SLEPT/S' "$work/out")" $((width > 110))
done
live 80 16 >"$work/out" <<'END'
wait OLDEST
keys \x03
exit 130
END
is "ctrl-C" $? 0

# ---- gone, cut off, damaged
live 80 16 >"$work/out" <<END
wait OLDEST
run mv $work/registry $work/aside
wait it was removed
exit 1
END
is "removed" $? 0
mv "$work/aside" "$work/registry"
kill "$load"
wait "$load"
load=
for damage in "truncate -s 65536 F" "dd if=/dev/zero of=F bs=64 count=1 conv=notrunc" \
    "dd if=/dev/urandom of=F bs=4k count=12 seek=4 conv=notrunc" \
    "dd if=/dev/urandom of=F bs=64k count=30 seek=1 conv=notrunc"; do
    cp --sparse=always "$work/registry" "$work/bad"
    eval "${damage//F/$work/bad}" 2>/dev/null
    for what in "top --once -d 0.1 --json" metrics; do
        # shellcheck disable=SC2086 # words
        got=$(IPCLIFT_REGISTRY=$work/bad status timeout 20 "$ipclift" $what)
        [[ $got == [01] ]] && ok="a result" || ok="status $got"
        [[ $got == 0 || -s $work/err || -s $work/out ]] || ok="nothing said"
        is "$what: $damage" "$ok" "a result"
    done
done
exit $bad
