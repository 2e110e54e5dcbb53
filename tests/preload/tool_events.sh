#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_events.sh - events: which, since when, equal ones as one line, the command
# that mends names the registry, and an ordinary end is none. gc by age and of
# what nobody has used. The small things that commands say.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
# shellcheck disable=SC2329 # called by tool.sh
at_end() {
    rm -rf "${home:?}/$name" "$home/$name.mq"
}
home=/dev/shm/ipclift-$EUID name=tool-events.$$
unset IPCLIFT_REGISTRY
on() {
    "$ipclift" "$1" --name "$name" "${@:2}"
}
says() {
    grep -cF -- "$1" "$work/err"
}

# ---- ordinary ends, a limit, a death
on run -- perl -e '$id = shmget(0, 4096, 01600); for (1 .. 20) {
    if (!fork) { require IPC::SysV; IPC::SysV::shmat($id, 0, 0); exit } wait }
    shmctl($id, 0, 0)' 2>/dev/null
is "a process that ends attached is no event" "$(on events | wc -l)" 1
on set semmni=1
on run -- perl -e 'semget(5, 1, 01600); for $n (2, 3, 2, 3) {
    syscall(0x7fffffff); semget(0, 1, 0600) }
    semop(semget(5, 1, 0), pack "s3", 0, 1, 0x1000); kill 9, $$'
on ls >/dev/null
is "a limit" "$(on events --only limit | grep -c 'limit semmni=1')" 1
is "the command names the registry" "$(on events --only limit |
    grep -c "ipclift set --name $name semmni=2")" 1
is "and helps" "$(bash -c "PATH=$(dirname "$ipclift"):\$PATH
    $(on events --json --only limit | sed -n 's/.*"remedy": *"\(.*\)".*/\1/p')" &&
    on get semmni | awk '{ print $2 }')" 2
sleep 1.1 # a value is told once a second
is "in the log, too" "$(on set semmni=1 && IPCLIFT_LOG=stderr on run -- \
    perl -e 'semget(0, 1, 0600)' 2>&1 |
    grep -c "ipclift set --registry $home/$name semmni=2")" 1
is "a death" "$(on events --only death | grep -c 'SEM_UNDO of dead')" 1
is "not among the limits" "$(on events --only limit | grep -c SEM_UNDO)" 0
is "both" "$(($(on events --only limit,death | wc -l) >= 3))" 1
is "since" "$(on events --since 1h | tail -n +2 | wc -l)" \
    "$(on events | tail -n +2 | wc -l)"
sleep 1.1
is "since a second" "$(on events --since 0 | tail -n +2 | wc -l)" 0
for wrong in "--since x" "--since 1w" "--since" "--only tea" "--only limit,"; do
    # shellcheck disable=SC2086 # words
    is "events $wrong" "$(status on events $wrong)" 2
done
for _ in 1 2 3; do
    on run -- perl -e 'msgsnd(msgget(6, 01600), pack("l! a9000", 1, ""), 0)'
    sleep 1.1 # a second's first one is told
done
is "equal ones are one line" "$(on events --only limit | grep msgmax |
    awk '{ print $5 }')" 3
is "but in JSON" "$(on events --only limit --json | grep -c '"limit": *"msgmax"')" 3

# ---- as they come
"$ipclift" events --name "$name" --follow --only limit >"$work/follow" &
follower=$!
for ((i = 0; i < 500; i++)); do
    [[ -s $work/follow ]] && break
    sleep 0.02
done
is "what is there first" "$(($(wc -l <"$work/follow") >= 3))" 1
on set semopm=5
on run -- perl -e 'semop(semget(5, 1, 01600), pack "s18", (0) x 18)'
for ((i = 0; i < 500; i++)); do
    grep -q 'limit semopm=5' "$work/follow" && break
    sleep 0.02
done
is "then what comes" "$(grep -c 'limit semopm=5: ipclift set --name' "$work/follow")" 1
kill $follower
wait $follower 2>/dev/null
("$ipclift" events --name "$name" --follow --json >"$work/json" 2>"$work/err"
    echo $? >"$work/status") &
for ((i = 0; i < 500; i++)); do
    [[ -s $work/json ]] && break
    sleep 0.02
done
is "a JSON value each line" "$(python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)
print("yes")' <"$work/json")" yes
mv "$home/$name" "$work/aside"
wait
mv "$work/aside" "$home/$name"
is "the registry goes" "$(cat "$work/status")$(says 'was removed')" 11

# ---- gc
on rm --all
on run -- perl -e 'msgget(7, 01600); sleep 30' &
user=$!
for ((i = 0; i < 500; i++)); do
    [[ $(on ls msg 2>/dev/null | wc -l) == 2 ]] && break
    sleep 0.02
done
is "gc keeps what nobody has used" "$(on gc)" "nothing to remove"
is "--force --older" "$(on gc -n --force --older 1h)" "nothing to remove"
is "--force" "$(on gc --force | grep -c 'removed msg .*, key 0x00000007')" 1
is "gc --older x" "$(status on gc --older x)" 2
kill $user
wait $user 2>/dev/null

# ---- what is said
is "help ls" "$("$ipclift" help ls)" "$("$ipclift" ls --help)"
is "help of what there is not" "$(status "$ipclift" help tea)" 2
is "no number" "$(status on set msgmax=99999999999999)" 2
is "says the range" "$(says "no number from 0 to 2147483647")" 1
is "out of range" "$(status on set semmni=32769)" 1
is "says the range" "$(says "32769 is not from 0 to 32768")" 1
exit $bad
