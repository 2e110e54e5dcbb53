#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_mend.sh - each fault that doctor can find is provoked, the command that it prints is
# given to the shell, and the finding is gone. Faults without such a command are at
# least found.

set -u
if [[ -z ${TOOL_MEND_INSIDE-} ]]; then
    TOOL_MEND_INSIDE=1 exec unshare --ipc --mount bash "$0"
fi
export ipclift=${IPCLIFT_TOOL:?the command}
shim=${IPCLIFT_SHIM:?names no libipclift.so}
# What is under /dev/shm is ours too: full, or not there. These mounts go with
# the namespace.
work=/media
mount -t tmpfs -o mode=755 tmpfs $work
mount -t tmpfs tmpfs /dev/shm
export work IPCLIFT_REGISTRY=$work/registry
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"
user() {
    setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
export -f user
# Where another user may come: the tree may be in somebody's home.
mkdir -p $work/shim/tool
cp "$ipclift" $work/shim/tool/
cp "$shim" $work/shim/
theirs=$work/shim/tool/ipclift

# By doctor, in the variable doctor: $1 is the finding, the command goes to fd 3
# and is done. sudo does not exist here: root does it.
cat >"$work/mend.sh" <<'SH'
sudo() { "$@"; }
eval "$setup"
$doctor >"$work/before" 2>&1
mend=$(grep -A 2 -F -- "$finding" "$work/before" | sed -n 's/^ *-> //p' | head -n 1)
echo "$mend" >"$work/mend"
eval "$mend" >"$work/out" 2>&1
$doctor >"$work/after" 2>&1
echo $? >"$work/status"
SH
# mends FINDING COMMAND SETUP [DOCTOR]: after SETUP doctor finds FINDING, and
# names COMMAND, after which it finds no fault
mends() {
    finding=$1 setup=$3 doctor=${4:-$ipclift doctor --quick} \
        unshare --ipc --mount bash "$work/mend.sh"
    is "found: $1" "$(grep -cF -- "$1" "$work/before")" 1
    # shellcheck disable=SC2053 # a pattern
    is "mended by: $2" "$([[ $(<"$work/mend") == $2 ]] && echo yes)" yes
    is "found no more" "$(grep -cF -- "$1" "$work/after")$(<"$work/status")" 00
}
# finds FINDING SETUP [DOCTOR]: one without a command
finds() {
    finding=$1 setup=$2 doctor=${3:-$ipclift doctor --quick} \
        unshare --ipc --mount bash "$work/mend.sh"
    is "found: $1" "$(grep -cF -- "$1" "$work/before")" 1
    is "with no command" "$(<"$work/mend")" ""
}

# ---- the machine
finds "older than 5.16" : "setarch $(uname -m) --uname-2.6 $ipclift doctor -q"
mends "there is no /dev/shm" "mkdir -p /dev/shm && mount *" \
    'mount -t tmpfs tmpfs /dev -o mode=755; mknod -m 666 /dev/null c 1 3
     IPCLIFT_REGISTRY=/dev/shm/r'
mends "/dev/shm is no tmpfs" "mkdir -p /dev/shm && mount *" \
    'mount -t proc proc /dev/shm'
for fill in 295:almost 300:"as good as"; do
    mends "/dev/shm is ${fill#*:} full" "mount -o remount,size=556M /dev/shm" \
        "mount -t tmpfs -o size=300M tmpfs /dev/shm
         head -c ${fill%:*}M /dev/zero >/dev/shm/fill"
done
for size in 4000000 33554432; do
    mends "the limit on address space" "ulimit -Sv unlimited" \
        "ulimit -Sv $size"
    mends "the limit on file size" "ulimit -Sf unlimited" "ulimit -Sf $size"
done
mends "the limit on address space" "ulimit -Sv 50000000" \
    "ulimit -v 50000000; ulimit -Sv 4000000"
# To raise a hard limit takes CAP_SYS_RESOURCE, which root may be without.
# shellcheck disable=SC2016 # for the shell there
if setpriv --dump | grep -q '^Capability bounding set:.*sys_resource'; then
    mends "the limit on file size" 'prlimit --pid $$ --fsize=unlimited' \
        "ulimit -f 4000000"
    mends "the limit on address space" 'sudo prlimit --pid $$ --as=unlimited' \
        "ulimit -v 4000000" "user env IPCLIFT_REGISTRY=/dev/shm/none \
         $theirs doctor --quick"
fi
logind='mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/seats
    cp /etc/{passwd,nsswitch.conf,ld.so.cache} $work
    mount -t tmpfs tmpfs /etc; mount -t tmpfs tmpfs /var/lib
    cp $work/{passwd,nsswitch.conf,ld.so.cache} /etc'
# There is no logind here; loginctl(1) says what it keeps.
logged_in="user env IPCLIFT_REGISTRY=/dev/shm/none $theirs doctor --quick"
mends "systemd-logind removes your files" "loginctl enable-linger" "$logind
    loginctl() { mkdir -p /var/lib/systemd/linger
        touch /var/lib/systemd/linger/nobody; }" "$logged_in"
setup="$logind; mkdir -p /etc/systemd/logind.conf.d
    printf '[Login]\n RemoveIPC = no\n' >/etc/systemd/logind.conf.d/a.conf" \
    finding=logind doctor=$logged_in unshare --mount bash "$work/mend.sh"
is "nothing to be said with RemoveIPC=no" "$(<"$work/status") $(
    grep -c logind "$work/before")" "0 0"

# ---- the library: beside the command, or installed
source=$(realpath "$(dirname "$shim")/../..")
if [[ $shim == "$source/build/shim/libipclift.so" ]]; then
    alone="mount -t tmpfs tmpfs /usr/local; cd $source
        mkdir -p $work/a/b; cp $ipclift $work/a/b/"
    mends "libipclift.so is neither beside" "meson install -C build *" \
        "$alone" "$work/a/b/ipclift doctor --quick"
    mends "the loader does not preload" "rm $work/a/libip* && meson install *" \
        "$alone; printf 'no library' >$work/a/libipclift.so" \
        "$work/a/b/ipclift doctor --quick"
fi
mends "LD_PRELOAD names another" "unset LD_PRELOAD *" \
    "export LD_PRELOAD=$work/libipclift.so"

echo 'unsigned la_version(unsigned v) { return v; }' >$work/audit.c
"${CC:-cc}" -shared -fPIC -o $work/audit.so $work/audit.c || exit 1
mends "too little static TLS" "export GLIBC_TUNABLES=*" \
    "export LD_AUDIT=$work/audit.so"

# ---- the registry
mends "its directory does not exist" "mkdir -p $work/no/such" \
    "IPCLIFT_REGISTRY=$work/no/such/registry"
mends "not an ipclift registry" "rm $work/text" \
    "echo text >$work/text; IPCLIFT_REGISTRY=$work/text"
mends "is a symbolic link" "rm $work/link" \
    "ln -s text $work/link; IPCLIFT_REGISTRY=$work/link"
mends "was made by another version" "rm $work/registry" "
    $ipclift run -- perl -e 'semget(1, 1, 01600)'
    printf '\1' | dd of=$work/registry bs=1 seek=8 conv=notrunc status=none"
mends "is owned by another user" "export IPCLIFT_REGISTRY=/dev/shm/mine" \
    ">$work/other; chown 5 $work/other; IPCLIFT_REGISTRY=$work/other"
mends "/dev/shm: cannot be opened" "export IPCLIFT_REGISTRY=/dev/shm/mine" \
    "IPCLIFT_REGISTRY=/dev/shm"
mends "you may not create files there" "export IPCLIFT_REGISTRY=/dev/shm/mine" \
    "IPCLIFT_REGISTRY=$work/mine; chmod 1777 /dev/shm" \
    "user $theirs doctor --quick"
mends "/dev/shm/ipclift-65534 is not a directory that only you" \
    "sudo rm -r /dev/shm/ipclift-65534" \
    "unset IPCLIFT_REGISTRY; mkdir /dev/shm/ipclift-65534" \
    "user $theirs doctor"

# Whoever was making the file died before there was a registry in it: that is
# no fault, and to look at it harms nobody.
: >"$work/empty"
is "empty" "$(status "$ipclift" doctor -q --registry "$work/empty")" 0
"$ipclift" run --registry "$work/whole" -- ipcmk -S 1 >"$work/out"
truncate -s "$(stat -c %s "$work/whole")" "$work/begun"
is "begun" "$(status "$ipclift" doctor -q --registry "$work/begun")" 0
is "can be used after that" "$(status "$ipclift" run --registry "$work/begun" \
    -- ipcmk -S 1)" 0
is "and has limits" "$("$ipclift" get --registry "$work/begun")" \
    "$("$ipclift" get --registry "$work/whole")"

# ---- the same keys in the kernel
keys='semget(0x77, 1, 01600) // die; msgget(-2, 01600) // die'
mends "2 keys stand for an object of the kernel" \
    "ipcrm -S 0x77 -Q 0xfffffffe" \
    "perl -e '$keys'; $ipclift run -- perl -e '$keys'"
mends "2 keys stand for an object of the kernel" \
    "ipcrm -S 0x77 -Q 0xfffffffe" "perl -e '$keys'" \
    "$ipclift run -- $ipclift doctor --quick"
finds "the kernel holds 2 objects with keys" \
    "perl -e '$keys'; IPCLIFT_REGISTRY=$work/none"

# ---- a program
cp /usr/bin/id "$work/id"
chmod 4755 "$work/id"
set_id="user $theirs doctor -q --registry /dev/shm/none $work/id"
finding="is set-user-ID" setup=: doctor=$set_id bash "$work/mend.sh"
is "found: set-user-ID" "$(grep -c set-user-ID "$work/before")" 1
is "to be started as its owner" "$(<"$work/mend")" \
    "sudo -u '#0' ipclift run -- $work/id"
is "who is served" "$(status "$ipclift" doctor -q "$work/id")" 0
chown 0:5 "$work/id"
chmod 2755 "$work/id"
finding="is set-group-ID" setup=: doctor=$set_id bash "$work/mend.sh"
is "found: set-group-ID" "$(<"$work/mend")" \
    "sudo -g '#5' ipclift run -- $work/id"
is "that group is served" "$(status setpriv --regid 5 --clear-groups \
    "$ipclift" doctor -q "$work/id")" 0
chmod 755 "$work/id"
if setcap cap_net_raw+ep "$work/id" 2>/dev/null; then
    mends "has capabilities" "setcap -r $work/id" : "$set_id"
fi
bash=$(type -P bash)
printf '#! %s -x\n' "$work/first" >"$work/second"
printf '#!/usr/bin/env bash\n' >"$work/first"
is "a script" "$(status "$ipclift" doctor -q "$work/second")" 0
is "is its interpreter's matter" "$(grep -E '^ok +(a script|program)' "$work/out" |
    tr '\n' ' ')" "ok    a script; its interpreter: $work/first ok    a script; \
its interpreter: $bash ok    program: $bash "
printf '#!%s\n' "$work/second" >"$work/second"
is "a script of itself comes to an end" \
    "$(status timeout 10 "$ipclift" doctor -q "$work/second")" 0
finds "there is no program nothing" : "$ipclift doctor --quick nothing"
echo 'int main(void) { return 0; }' >"$work/main.c"
gcc -static -o "$work/static" "$work/main.c" &&
    finds "$work/static is static" : "$ipclift doctor --quick $work/static"
echo text >"$work/text"
finds "$work/text is no 64-bit x86 program" : \
    "$ipclift doctor --quick $work/text"
chmod 0711 "$work/id"
finds "$work/id cannot be read" : \
    "user $theirs doctor -q --registry /dev/shm/none $work/id"
exit $bad
