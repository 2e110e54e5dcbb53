#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_probes.sh - the library's probes (base/usdt.h): every one that the header
# names stands in the file with as many arguments as it says, the scripts of
# examples/ fit them, and where bpftrace can attach a wait is seen.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
top=$here/../..
readelf -n "$shim" >"$dir/notes" 2>/dev/null || skip "no readelf (binutils)"
grep -q 'Provider: ipclift' "$dir/notes" || {
    [ ! -e /usr/include/sys/sdt.h ] || fail "sys/sdt.h is there, and no probes"
    [ $failed = 0 ] || finish
    skip "the library was built without sys/sdt.h (systemtap-sdt-dev)"
}

# arguments NAME: how many each probe of that name has
arguments() {
    awk -v name="$1" '$1 == "Name:" { on = $2 == name }
        on && $1 == "Arguments:" { print NF - 1 }' "$dir/notes" | sort -u
}
while read -r name n; do
    [ "$(arguments "$name")" = "$n" ] && ok "$name has $n arguments" ||
        fail "$name has '$(arguments "$name")' arguments, not $n"
done <<END
sem_wait 4
sem_granted 3
msg_wait 3
msg_granted 2
mq_wait 2
mq_granted 2
lock_contended 2
limit 3
death 1
undo 1
END
for name in $(sed -n 's/^ \*   \([a-z_]*\)  .*/\1/p' "$top/shim/base/usdt.h"); do
    grep -q "Name: $name\$" "$dir/notes" || fail "no probe $name in the file"
done
for name in $(awk '$1 == "Name:" { print $2 }' "$dir/notes"); do
    grep -q "^ \*   $name " "$top/shim/base/usdt.h" ||
        fail "the header's table has no $name"
done

# What calls that need not wait pay for them: nothing, not even the nop. In a copy
# each nop is made an int3, at which who comes to one dies.
cat >"$dir/trap.py" <<'END'
import re, struct, sys
library, notes, to = sys.argv[1:]
elf = bytearray(open(library, "rb").read())
at, = struct.unpack_from("<Q", elf, 32)
size, n = struct.unpack_from("<HH", elf, 54)
loads = [struct.unpack_from("<IIQQQQ", elf, at + i * size) for i in range(n)]
places = [int(p, 16) for p in re.findall(r"Location: (0x[0-9a-f]+)", open(notes).read())]
for place in places:
    offset, = [place - vaddr + offset for kind, _, offset, vaddr, _, length in loads
               if kind == 1 and vaddr <= place < vaddr + length]
    assert elf[offset] == 0x90, hex(place)
    elf[offset] = 0xcc
open(to, "wb").write(elf)
print(len(places))
END
traps=$(python3 "$dir/trap.py" "$shim" "$dir/notes" "$dir/trapped.so")
check "each probe is one nop" [ "${traps:-0}" -ge 10 ]
app=$(helper bridge) || skip "no compiler"
trapped() {
    LD_PRELOAD=$dir/trapped.so "$@"
}
check "semaphores pass none" trapped perl -e '
    $id = semget(8, 2, 01600) // die; $undo = 0x1000;
    for (1 .. 100) {
        for $flag (0, $undo) {
            semop($id, pack "s3", 0, 1, $flag) and semop($id, pack "s3", 0, -1, $flag)
                and semop($id, pack "s6", 0, 1, $flag, 1, 1, $flag)
                and semop($id, pack "s6", 0, -1, $flag, 1, -1, $flag) or die;
        }
        semctl($id, 0, 12, 0) // die;
    }'
check "messages pass none" trapped perl -e '
    $q = msgget(8, 01600) // die;
    for (1 .. 100) {
        for $n (1, 3000, 7000) {
            msgsnd($q, pack("l! a*", 1, "x" x $n), 0) && msgrcv($q, $m, 9000, 0, 0)
                or die;
        }
    }'
check "segments pass none" trapped perl -e '
    $s = shmget(8, 4096, 01600) // die;
    shmwrite($s, "x", 0, 1) && shmread($s, $m, 0, 1) or die for 1 .. 100'
check "POSIX queues pass none" bash -c 'LD_PRELOAD=$0 "$1" make mq /probes 10 100 &&
    echo "3 6162" | LD_PRELOAD=$0 "$1" put mq /probes &&
    [ "$(LD_PRELOAD=$0 "$1" get mq /probes 1 100)" = "3 6162" ]' "$dir/trapped.so" "$app"
trapped perl -e '$SIG{ALRM} = "DEFAULT"; alarm 20;
    semop(semget(9, 1, 01600), pack("s3", 0, -1, 0))' 2>/dev/null
check "who waits meets one" [ $? = 133 ]

command -v bpftrace >/dev/null || { echo "skip: no bpftrace"; finish; }
for script in longest-waits who-holds; do
    sed "s|LIB|$shim|" "$top/examples/$script.bt" >"$dir/$script.bt"
    bpftrace -d "$dir/$script.bt" >"$dir/out" 2>&1 || true
    grep ERROR "$dir/out" | grep -v MEMLOCK >"$dir/errors"
    # It is translated up to the code for the kernel, arguments and all.
    grep -q '^attributes #' "$dir/out" && [ ! -s "$dir/errors" ] &&
        ok "$script.bt fits the probes" || fail "$script.bt" "$dir/errors"
done

# A wait, seen: where the kernel has uprobes and lets us.
timeout 20 bpftrace "$dir/who-holds.bt" >"$dir/seen" 2>&1 &
tracer=$!
: >>"$dir/seen"
for ((i = 0; i < 100; i++)); do
    grep -q ERROR "$dir/seen" && break
    kill -0 $tracer 2>/dev/null || break
    grep -q Attaching "$dir/seen" && shimmed perl -e '
        $id = semget(9, 1, 01600);
        if (!fork) { semop($id, pack "s3", 0, -1, 0); exit }
        select undef, undef, undef, 0.05; semop($id, pack "s3", 0, 1, 0); wait'
    grep -q 'perl .* waits for semaphore 0' "$dir/seen" && break
    sleep 0.1
done
kill -INT $tracer 2>/dev/null
wait $tracer 2>/dev/null
if grep -q 'waits for semaphore 0' "$dir/seen"; then
    ok "bpftrace sees a wait"
elif grep -q ERROR "$dir/seen"; then
    echo "skip: bpftrace cannot attach here: $(grep -m1 ERROR "$dir/seen")"
else
    fail "bpftrace saw no wait" "$dir/seen"
fi
finish
