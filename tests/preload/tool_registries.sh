#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_registries.sh - registries that are made, listed and removed by command,
# also for other users; what run makes before the program starts, and what it says
# of one that is there already, or of a program that would not be served.

set -u
[[ $EUID == 0 ]] || { echo "needs root" && exit 77; }
if [[ -z ${TOOL_REGISTRIES_INSIDE-} ]]; then
    TOOL_REGISTRIES_INSIDE=1 exec unshare --ipc --mount bash "$0"
fi
ipclift=${IPCLIFT_TOOL:?the command}
mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 1
work=$(mktemp -d /tmp/registries.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
# Others start it too, wherever the tree stands.
chmod 755 "$work"
mkdir -p "$work/shim/tool"
cp "${IPCLIFT_SHIM:?}" "$work/shim/"
cp "$ipclift" "$work/shim/tool/"
ipclift=$work/shim/tool/ipclift
unset IPCLIFT_REGISTRY
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"
home=/dev/shm/ipclift-0

as_user() {
    setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
}
# says TEXT: what the last command said on stderr
says() {
    grep -cF -- "$1" "$work/err"
}
set_made='defined semget(7, 1, 01666) or die "$!\n"'

# ---- create
is "create" "$(status "$ipclift" create work)" 0
is "says where" "$(cat "$work/out")" "$home/work"
is "mode" "$(stat -c %a "$home/work" "$home" | xargs)" "600 700"
is "twice" "$(status "$ipclift" create work)" 1
is "says why" "$(says 'there is a file of that name')" 1
is "in one line" "$(wc -l <"$work/err")" 1
is "--limits, --ids" "$(status "$ipclift" create --limits kernel --ids extended \
    lim)" 0
is "are its own" "$("$ipclift" get --name lim msgmni msg_max |
    awk '{ print $2 }' | xargs)" "32000 10"
for wrong in "--mode 777 x" "--mode 066 x" "--mode x x" "--group nosuch x" \
    "--limits soft x" "--ids many x" ".x" "nosuchuser/x" "" "a b"; do
    # shellcheck disable=SC2086 # words
    is "create $wrong" "$(status "$ipclift" create $wrong)" 2
    is "in one line" "$(wc -l <"$work/err") $(wc -c <"$work/out")" "1 0"
done

# ---- for others
is "create --mode 666" "$(status "$ipclift" create --mode 666 all)" 0
is "modes" "$(stat -c %a "$home/all" "$home" | xargs)" "666 711"
is "says how" "$(tail -n 1 "$work/out")" "others: ipclift run --name 0/all"
is "another user, by owner's number" "$(status as_user 40001 "$ipclift" run \
    --name 0/all -- perl -e "$set_made")" 0
is "and by his name" "$(status as_user 40001 "$ipclift" run \
    --name root/all -- perl -e "$set_made")" 0
is "sees it" "$(as_user 40001 "$ipclift" ls --name root/all --proc sem | wc -l)" 2
is "so does its owner" "$("$ipclift" ls --name all --proc sem | wc -l)" 2
is "what is not shared is closed" "$(status as_user 40001 "$ipclift" run \
    --name root/work -- true)" 125
is "says so" "$(says 'Permission denied')" 1
is "what is not there is not made" "$(status as_user 40001 "$ipclift" run \
    --name root/none -- true)" 125
is "says so" "$(says 'no such registry')" 1
is "no names are seen" "$(as_user 40001 ls "$home" 2>/dev/null | wc -l)" 0
is "create --group" "$(status "$ipclift" create --group 40002 group)" 0
is "mode and group" "$(stat -c '%a %g' "$home/group")" "660 40002"
is "one of the group" "$(status as_user 40002 "$ipclift" run \
    --name root/group -- perl -e "$set_made")" 0
is "one who is not" "$(status as_user 40001 "$ipclift" run \
    --name root/group -- true)" 125
# A queue that two users poll: the FIFOs are in reach of both.
"$ipclift" run --name all -- perl -e 'umask 0; my $q = "q"; syscall(240, $q, 0102, 0666, 0)
    >= 0 or die' || bad=1
is "a queue by path" "$(status "$ipclift" show --name all mq /q)" 0
# Somebody else's directory under our number is no trap.
mkdir -m 777 /dev/shm/ipclift-40009
is "a directory that is not OWNER's" "$(status as_user 40001 "$ipclift" run \
    --name 40009/x -- true)" 125
rmdir /dev/shm/ipclift-40009

# ---- registries
"$ipclift" create "$work/by.path" >/dev/null
is "registries" "$("$ipclift" registries | awk 'NR > 1 { print $1 }' | xargs)" \
    "all group lim work"
json() {
    "$ipclift" registries --json | python3 -c "import json, sys
for r in json.load(sys.stdin):
    if r['name'] == '$1': print(*(r[k] for k in sys.argv[1:]))" "${@:2}"
}
is "fields" "$(json all owner mode limits objects processes state)" \
    "root 666 roomy 2 0 ok"
is "limits" "$(json lim limits)" "kernel, extended"
is "to others by owner" "$(as_user 40001 "$ipclift" registries | wc -l)" 1
"$ipclift" run --name all -- perl -e "$set_made"';sleep 100' &
user=$!
for ((i = 0; i < 500; i++)); do
    [[ $(json all processes) == 0 ]] || break
    sleep 0.02
done
is "processes" "$(json all processes)" 1

# ---- destroy
is "destroy, in use" "$(status "$ipclift" destroy all)" 1
is "says so" "$(says '1 process uses it')" 1
is "is still there" "$(json all state)" ok
is "destroy --force" "$(status "$ipclift" destroy --force all)" 0
is "is gone" "$(ls "$home" | grep -c '^all')" 0
kill $user
wait $user 2>/dev/null
is "others'" "$(status as_user 40001 "$ipclift" destroy root/group)" 1
echo text >"$work/text"
is "what is no registry" "$(status "$ipclift" destroy "$work/text")" 1
is "is left alone" "$(cat "$work/text")" text
is "none" "$(status "$ipclift" destroy none)" 1
is "says which there are" "$(says 'none: no such registry; there are: group, lim')" 1
for command in ls "show sem 0" "rm sem 0" "set msgmni=1" tasks check doctor; do
    # shellcheck disable=SC2086 # words
    is "$command: an empty path" "$(status "$ipclift" $command --registry '')" 2
    is "is said" "$(says '--registry: the path is empty')" 1
done
printf '\1' | dd of="$home/lim" bs=1 seek=8 conv=notrunc status=none
is "of another version" "$(json lim state)" "other version"
is "goes, too" "$(status "$ipclift" destroy lim group "$work/by.path")" 0
is "all of them" "$(ls "$home" "$work" | grep -c '^lim\|^group\|^by')" 0

# ---- what is said of those that there are
is "no such registry" "$(status "$ipclift" ls --name none)" 1
is "names those that there are" "$(says 'no such registry; there are: work')" 1
"$ipclift" destroy work
is "none at all" "$(status "$ipclift" ls)" 1
is "says what makes one" "$(says '; ipclift run or create makes one')" 1
"$ipclift" create --limits kernel work >/dev/null
is "limits that differ" "$(status "$ipclift" run --name work --limits roomy \
    --ids extended -- true)" 0
is "are said" "$(says 'was made with --limits kernel, and keeps them')" 1
is "ids too" "$(says 'was made with --ids normal, and keeps them')" 1
is "limits that do not" "$(status "$ipclift" run --name work --limits kernel \
    -- true)$(wc -l <"$work/err")" 00

# ---- run makes the registry, before the program has given up its user
for how in "--name new" "--registry $work/new" ""; do
    # shellcheck disable=SC2086 # words
    is "run $how: made by run" "$(status "$ipclift" run $how -- perl -e '
        $) = $( = 40001; $> = $< = 40001; '"$set_made")" 0
done
"$ipclift" destroy new "$work/new"
is "one that cannot be used" "$(status "$ipclift" run --registry "$work/text" \
    -- touch "$work/started")" 125
is "starts nothing" "$(ls "$work" | grep -c started)" 0

# ---- the kernel's limits as they are now (of this namespace)
echo 123 >/proc/sys/kernel/msgmni
echo "100 200 30 40" >/proc/sys/kernel/sem
echo 4097 >/proc/sys/kernel/shmmni
if echo 17 >/proc/sys/fs/mqueue/msg_max; then mq=17; else mq=10; fi 2>/dev/null
"$ipclift" create --limits kernel now >/dev/null
is "--limits kernel" "$("$ipclift" get --name now msgmni semmsl semmns semopm \
    semmni shmmni msg_max | awk '{ print $2 }' | xargs)" \
    "123 100 200 30 40 4097 $mq"
is "by hand" "$(LD_PRELOAD=$work/shim/libipclift.so IPCLIFT_LIMITS=kernel \
    IPCLIFT_REGISTRY=$work/hand ipcs -l | awk '/max queues/ { print $NF }')" 123

# ---- what will not be served
echo 'int main(void) { return 0; }' >"$work/main.c"
compile() {
    gcc -O1 -o "$work/$1" -x c - "${@:2}" <<<'int x __attribute__((weak));
        int go __attribute__((section(SECTION)));
        int main(void) { return 0; }'
}
compile static -DSECTION='".data"' -static
compile golang -DSECTION='".go.buildinfo"'
compile good -DSECTION='".data"'
cp "$work/good" "$work/raised"
chown 40003 "$work/raised"
chmod u+s "$work/raised"
cp "$work/good" "$work/other"
printf '\1' | dd of="$work/other" bs=1 seek=4 conv=notrunc status=none
for f in static golang good; do
    printf '#!%s\n' "$work/$f" >"$work/script-$f"
    printf '#!/usr/bin/env -S X=1 %s -x\n' "$work/$f" >"$work/env-$f"
done
chmod 755 "$work"/script-* "$work"/env-*
# tells WORDS TEXT WORD...: run says it, and refuses with --strict
tells() {
    local text=$1
    shift
    is "run $1${2+ $2}" "$(status "$ipclift" run -- "$@")" 0
    is "says it in one line" "$(says "$text") $(wc -l <"$work/err")" "1 1"
    is "--strict refuses" "$(status "$ipclift" run --strict -- "$@")" 126
}
tells "is static" "$work/static"
tells "is a Go program" "$work/golang"
tells "is set-user-ID" "$work/raised"
tells "is static" "$work/script-static"
tells "is a Go program" "$work/env-golang"
chown 0:40003 "$work/raised"
chmod 2755 "$work/raised"
tells "is set-group-ID" "$work/raised"
tells "is static" env -u B A=1 "$work/static"
# What env(1) starts, however it is told.
tells "is static" env env -i -- A=1 "$work/static"
tells "is static" env --unset B --chdir / "$work/static"
tells "is static" env -S "A=1 $work/static -x" y
tells "is static" env "-iS$work/static -x"
tells "is static" env "--split-string=env A=1" "$work/static"
if compile pie -DSECTION='".data"' -static-pie 2>/dev/null; then
    tells "is static" "$work/pie"
else
    echo "skip: no static-pie here"
fi
if command -v musl-gcc >/dev/null; then
    musl-gcc -o "$work/musl" "$work/main.c"
    musl-gcc -static -o "$work/musl-static" "$work/main.c"
    tells "is static" "$work/musl-static"
else
    cp "$work/good" "$work/musl"
    echo "skip: no musl-gcc"
fi
if go=$(PATH=$PATH:/usr/local/go/bin command -v go); then
    printf 'package main\nfunc main() {}\n' >"$work/main.go"
    (cd "$work" && HOME=$work GO111MODULE=off GOFLAGS=-p=1 CGO_ENABLED=0 \
        "$go" build -o golang-real main.go) && tells "is a Go program" \
        "$work/golang-real"
else
    echo "skip: no go; what stands for its program has the section that it has"
fi
cp "$work/good" "$work/cpu"
printf '\267' | dd of="$work/cpu" bs=1 seek=18 conv=notrunc status=none
for f in other cpu; do
    is "another word size or CPU" \
        "$(status "$ipclift" run --strict -- "$work/$f")" 126
    is "says so" "$(says 'is no 64-bit x86 program') $(wc -l <"$work/err")" "1 1"
done
loader=$(ldd "$work/good" | grep -o '/[^ ]*ld-[^ ]*')
for f in good script-good env-good musl; do
    is "run $f" "$(status "$ipclift" run --strict -- "$work/$f")" 0
    is "says nothing" "$(wc -l <"$work/err")" 0
done
is "run by the loader" "$(status "$ipclift" run --strict -- "$loader" \
    "$work/good")" 0
is "says nothing" "$(wc -l <"$work/err")" 0
is "a program that is not there" "$(status "$ipclift" run --strict -- none)" 127

# ---- doctor
printf '#!/no/such\n' >"$work/lost"
chmod 755 "$work/lost"
is "doctor of a script without its interpreter" \
    "$(status "$ipclift" doctor -q "$work/lost")" 1
is "says so" "$(grep -c '/no/such, the interpreter of .*, does not exist' \
    "$work/out")" 1
printf '#!/usr/bin/env -S A=b nosuchperl -w\n' >"$work/lost"
is "doctor of one that env does not find" \
    "$(status "$ipclift" doctor -q "$work/lost")" 1
is "says so" "$(grep -c \
    'FAULT nosuchperl, the interpreter of .*/lost, is not found by env' \
    "$work/out")" 1
is "doctor of a Go program" "$(status "$ipclift" doctor -q "$work/golang")" 1
"$ipclift" destroy default work now
rmdir "$home" 2>/dev/null
mount -o remount,ro /dev/shm
is "doctor, /dev/shm read-only" "$(status "$ipclift" doctor -q)" 1
is "says so" "$(grep -c 'FAULT.*Read-only file system' "$work/out")" 1
is "run --private there" "$(status "$ipclift" run --private -- true)" 125
is "says where" "$(says '/dev/shm/ipclift-0: Read-only file system')" 1
exit $bad
