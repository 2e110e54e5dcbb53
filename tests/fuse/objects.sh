#!/bin/bash
# SPDX-License-Identifier: MIT
#
# objects.sh - sem/ID, msg/ID, shm/ID, tasks, waits, locks, events, stats: what
# they say of what programs did, who may read and remove, and what is left after.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"
m=$work/view
mount_view "$m" create,allow_other

# ---- a set: who holds, who waits, since when
begun=$(date +%s)
mkfifo "$work/go"
env LD_PRELOAD="$IPCLIFT_SHIM" perl -e 'use IPC::SysV qw(:all);
    my $s = semget(77, 3, 0640 | IPC_CREAT); semctl($s, 1, SETVAL, 5);
    semop($s, pack("s3", 1, -2, SEM_UNDO)) or die;
    my $child = fork; if (!$child) { semop($s, pack("s3", 2, -4, 0)); exit }
    open my $f, ">", shift; print $f "$child\n"; close $f;
    open $f, "<", shift; <$f>; kill TERM => $child' \
    "$work/child" "$work/go" &
holder=$!
children+=($holder)
wait_for 5 grep -q -- '-4' "$m/sem/0/waiters"
child=$(<"$work/child")
children+=("$child")
is "sem/0" "$(ls "$m/sem/0" | tr '\n' ' ')" "holders stat values waiters "
is "stat" "$(awk '$1 ~ /^(key|id|perms|nsems)$/ { printf "%s ", $2 }' \
    "$m/sem/0/stat")" "0x0000004d 0 0640 3 "
is "values" "$(awk '{ print $1, $2, $3, $4, $5 }' "$m/sem/0/values")" \
    "NUM VALUE NCNT ZCNT PID
0 0 0 0 0
1 3 0 0 $holder
2 0 1 0 0"
is "holders" "$(awk 'NR > 1 { print $1, $2, $3, $6 }' "$m/sem/0/holders")" \
    "$holder 1 +2 perl"
since=$(date -d "$(awk 'NR > 1 { print $4, $5 }' "$m/sem/0/holders")" +%s)
is "since when" $((since >= begun && since <= $(date +%s))) 1
is "waiters" "$(awk 'NR > 1 { print $1, $3, $4, $5, $8 }' "$m/sem/0/waiters")" \
    "$child 2 -4 1 perl"
is "tasks" "$(awk -v p="$holder" '$1 == p { print $2, $4, $6, $9 }' \
    "$m/tasks")" "live 1 linked perl"
is "waits: nobody known" "$(grep -c "\"p$child\" -> \"sem 0.2\"" "$m/waits")" 1
is "another user sees that it is there" "$(other_user ls "$m/sem")" 0
is "but not what" "$(other_user cat "$m"/sem/0/{stat,values,holders,waiters} \
    2>&1 | grep -c 'Permission denied')" 4
is "its group does" "$(setpriv --reuid 65534 --regid 65534 --groups 0 \
    cat "$m/sem/0/stat" | grep -c nsems)" 1
is "access(2)" "$(other_user test -r "$m/sem/0/stat"; echo $?) $(
    other_user test -w "$m/sys/kernel/sem"; echo $?)" "1 1"
is "nobody writes" "$(bash -c "echo x >$m/sem/0/stat" 2>&1 |
    grep -c 'Permission denied')" 1
is "another user may not remove" "$(other_user rmdir "$m/sem/0" 2>&1 |
    sed 's/.*: //')" "Operation not permitted"
is "its files are not to be removed" "$(rm -f "$m/sem/0/stat" 2>&1 |
    sed 's/.*: //')" "Operation not permitted"
is "names that are none" "$(cd "$m/sem" && ls -d 00 +0 1 32768 x ./-1 2>&1 |
    grep -c 'No such file')" 6
kill -KILL $holder
wait $holder 2>/dev/null
is "the killed holder's undo is applied" "$(awk '$1 == 1 { print $2 }' \
    "$m/sem/0/values") $(wc -l <"$m/sem/0/holders")" "5 1"
exec 5<"$m/sem/0/stat"
is "rmdir" "$(status rmdir "$m/sem/0")" 0
is "wakes the sleeper" "$(wait_for 5 eval '! kill -0 '"$child" && echo yes)" yes
is "is gone" "$(ls "$m/sem" | wc -l) $(cat <&5 2>&1 | sed 's/.*: //')" \
    "0 No such file or directory"
exec 5<&-

# ---- a later object of the same id is another
shim perl -e 'use IPC::SysV qw(:all); semget(1, 1, 0600 | IPC_CREAT)'
exec 5<"$m/sem/$(ls "$m/sem")/stat"
shim perl -e 'use IPC::SysV qw(:all); semctl(semget(1, 0, 0), 0, IPC_RMID, 0)'
echo 1 >"$m/sys/kernel/sem_next_id"
shim perl -e 'use IPC::SysV qw(:all); semget(2, 1, 0600 | IPC_CREAT)'
is "not mistaken for the first" "$(ls "$m/sem") $(cat <&5 2>&1 |
    sed 's/.*: //')" "1 No such file or directory"
exec 5<&-
rmdir "$m/sem/1"

# ---- a deadlock is red
cat >"$work/lock.pl" <<'PERL'
use IPC::SysV qw(:all);
my ($first, $second) = @ARGV;
my $s = semget(99, 2, 0600);
semop($s, pack("s3", $first, -1, SEM_UNDO)) or die;
select undef, undef, undef, 0.01
    while semctl($s, 0, GETVAL, 0) + semctl($s, 1, GETVAL, 0);
semop($s, pack("s3", $second, -1, SEM_UNDO)) or die;
PERL
shim perl -e 'use IPC::SysV qw(:all); my $s = semget(99, 2, 0600 | IPC_CREAT);
    semctl($s, $_, SETVAL, 1) for 0, 1'
env LD_PRELOAD="$IPCLIFT_SHIM" perl "$work/lock.pl" 0 1 &
one=$!
env LD_PRELOAD="$IPCLIFT_SHIM" perl "$work/lock.pl" 1 0 &
two=$!
children+=($one $two)
is "a deadlock is shown" "$(wait_for 10 grep -q red "$m/waits" && grep red \
    "$m/waits" | grep -cE "\"p($one|$two)\" -> \"p($one|$two)\"")" 2
is "and is a graph" "$(head -n 1 "$m/waits") $(tail -n 1 "$m/waits")" \
    "digraph waits { }"
kill -KILL $one
wait $two
is "killing one frees the other" "$? $(grep -c red "$m/waits")" "0 0"
rmdir "$m"/sem/*

# ---- a message queue
env LD_PRELOAD="$IPCLIFT_SHIM" perl -e 'use IPC::SysV qw(:all);
    my $q = msgget(5, 0604 | IPC_CREAT);
    msgsnd($q, pack("l! a*", 7, "x" x $_), 0) for 3, 0, 1000;
    msgrcv($q, my $m, 10, 9, 0)' &
receiver=$!
children+=($receiver)
wait_for 5 grep -q perl "$m/msg/0/waiters"
is "messages" "$(awk '{ print $1, $2, $3 }' "$m/msg/0/messages")" \
    "NUM TYPE SIZE
0 7 3
1 7 0
2 7 1000"
is "msg stat" "$(awk '$1 ~ /^(cbytes|qnum|perms)$/ { printf "%s ", $2 }' \
    "$m/msg/0/stat")" "0604 1003 3 "
is "msg waiters" "$(awk 'NR > 1 { print $1, $3, $4, $5 }' \
    "$m/msg/0/waiters")" "$receiver type 9 10"
is "others may read it" "$(other_user cat "$m/msg/0/stat" | grep -c qnum)" 1
is "but not remove it" "$(status other_user rmdir "$m/msg/0")" 1
rmdir "$m/msg/0"
wait $receiver
is "removed, the receiver is woken" "$(ls "$m/msg" | wc -l)" 0

# ---- a segment
env LD_PRELOAD="$IPCLIFT_SHIM" perl -e 'use IPC::SysV qw(:all);
    my $s = shmget(6, 300000, 0600 | IPC_CREAT); my $a = shmat($s, undef, 0);
    memwrite($a, join("", map { pack "N", $_ } 0 .. 74999), 0, 300000);
    open my $f, "<", shift; <$f>' "$work/go" &
writer=$!
children+=($writer)
wait_for 5 grep -q perl "$m/shm/0/attachments"
perl -e 'print pack "N", $_ for 0 .. 74999' >"$work/bytes"
is "attachments" "$(awk 'NR > 1 { print $1, $2, $3, $7 }' \
    "$m/shm/0/attachments")" "$writer 1 rw perl"
since=$(date -d "$(awk 'NR > 1 { print $5, $6 }' "$m/shm/0/attachments")" +%s)
is "attached since when" $((since >= begun && since <= $(date +%s))) 1
is "size of data" "$(stat -c %s "$m/shm/0/data")" 300000
wait_for 5 cmp -s "$m/shm/0/data" "$work/bytes"
is "data" "$(cmp "$m/shm/0/data" "$work/bytes" 2>&1)" ""
is "data at any offset" "$(for at in 1 4095 4097 131071 299990; do
    dd if="$m/shm/0/data" bs=1 skip=$at count=20 status=none | cmp - <(
        dd if="$work/bytes" bs=1 skip=$at count=20 status=none); done 2>&1)" ""
is "data beyond the end" "$(dd if="$m/shm/0/data" bs=300000 skip=1 \
    status=none | wc -c)" 0
is "not another user's" "$(status other_user cat "$m/shm/0/data")" 1
rmdir "$m/shm/0"
is "removed while attached: it stays, to be destroyed" \
    "$(awk '$1 == "perms" { print $2 }' "$m/shm/0/stat")" 1600
echo >"$work/go"
wait $writer
is "and goes with the last attachment" "$(cat "$m/sysvipc/shm" | wc -l)" 1
shim perl -e 'use IPC::SysV qw(:all); shmget(8, 300000, 0600 | IPC_CREAT)'
is "a new segment on those pages is empty" \
    "$(tr -d '\0' <"$m/shm/$(ls "$m/shm")/data" | wc -c)" 0
rmdir "$m"/shm/*

# ---- locks, events, stats
is "locks: off at first" "$(head -n 1 "$m/locks")" "profiling off"
echo on >"$m/locks"
shim perl -e 'use IPC::SysV qw(:all); for (1 .. 50) {
    my $s = semget(IPC_PRIVATE, 1, 0600); semctl($s, 0, IPC_RMID, 0) }'
is "locks: on, with times" "$(head -n 1 "$m/locks") $(awk '
    $1 == "sem" { print ($2 > 0 && $3 >= $2 && $4 >= 50) }' "$m/locks")" \
    "profiling on 1"
echo reset >"$m/locks"
is "locks: reset" "$(awk '$1 == "sem" { n = $4 } END { print n + 0 }' \
    "$m/locks")" 0
echo off >"$m/locks"
is "locks: off" "$(head -n 1 "$m/locks")" "profiling off"
is "locks: no other word" "$(bash -c "echo x >$m/locks" 2>&1 |
    sed 's/.*: //')" "Invalid argument"
is "locks: not another user's" \
    "$(status other_user bash -c "echo on >$m/locks")" 1
echo "32000 1024000000 500 0" >"$m/sys/kernel/sem"
shim perl -e 'use IPC::SysV qw(:all); semget(1, 1, 0600 | IPC_CREAT)'
is "events tell of a limit" "$(grep -c 'semmni=0' "$m/events")" 1
is "stats" "$(awk '$1 ~ /^(sem|msg|shm|mq).objects$/ { n += $2 }
    END { print n }' "$m/stats")" 0
is "stats: the registry" "$(awk '$1 == "registry" { print $2 }' "$m/stats")" \
    "$IPCLIFT_REGISTRY"
is "sound" "$("$ipclift" check)" "all invariants hold"
exit $bad
