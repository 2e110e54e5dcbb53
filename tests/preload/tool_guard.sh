#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_guard.sh - files that are no registry, and registries of other users: files of
# others are never written, no other user can block the command, and reading leaves no
# trace.

set -u
if [[ -z ${TOOL_GUARD_INSIDE-} ]]; then
    TOOL_GUARD_INSIDE=1 exec unshare --ipc --mount bash "$0"
fi
if ((EUID)); then
    echo "needs root, for other users"
    exit 77
fi
ipclift=${IPCLIFT_TOOL:?the command}
shim=${IPCLIFT_SHIM:?names no libipclift.so}
mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 77
work=$(mktemp -d /dev/shm/guard.XXXXXX) || exit 1
chmod 1777 "$work"
# shellcheck source=tests/preload/checks.sh
. "${0%/*}/checks.sh"

# make PATH: a registry with a set, a queue and a segment
make() {
    LD_PRELOAD=$shim IPCLIFT_REGISTRY=$1 ipcmk -Q -S 2 -M 5000 >/dev/null
}
use() { # as whoever runs it
    LD_PRELOAD=$shim IPCLIFT_REGISTRY=$1 ipcmk -Q
}
as_user() {
    setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
}
poke() { # FILE OFFSET BYTES
    # shellcheck disable=SC2059 # escapes are meant
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
peek() { # FILE OFFSET COUNT
    dd if="$1" bs=1 skip="$2" count="$3" status=none
}
gib=$((1 << 30))

# ---- a file that is no registry
truncate -s 40G "$work/image"
poke "$work/image" 16 precious
is "a disk image is refused" "$(status use "$work/image")" 1
is "and not written" "$(peek "$work/image" 16 8)" precious
truncate -s $((32 * gib + 65536 * gib)) "$work/image"
poke "$work/image" 16 '\0\0\0\0\0\0\0\0'
poke "$work/image" 9000000 precious
is "one of our size, with data" "$(status use "$work/image")" 1
rm "$work/image"
truncate -s $((32 * gib + 65536 * gib)) "$work/unfinished"
is "one that a creator left" "$(status use "$work/unfinished")" 0
poke "$work/unfinished" 0 '\0\0\0\0\0\0\0\0'
is "one whose creator died later" "$(status use "$work/unfinished")" 1

# ---- sharing, masks, locks
opens=$(LC_ALL=C strace -f -e trace=open,openat -E LD_PRELOAD="$shim" \
    -E IPCLIFT_REGISTRY="$work/first" ipcmk -Q 2>&1 |
    grep -o '"[^"]*first", [A-Z_|]*' | head -n 2 | grep -o 'O_CREAT' | wc -l)
[[ -x $(command -v strace) ]] &&
    is "it is opened before it is made" "$opens" 1
# shellcheck disable=SC2016 # of the other shell
as_user 40002 bash -c "umask 0777
    LD_PRELOAD=$shim IPCLIFT_REGISTRY=$work/masked ipcmk -Q >/dev/null &&
    LD_PRELOAD=$shim IPCLIFT_REGISTRY=$work/masked ipcmk -Q >/dev/null"
is "a umask that leaves the owner out" $? 0
# A file that its owner shares, in a sticky directory, where the kernel refuses
# O_CREAT of it to others, and to root. The switch is the whole machine's.
guarded=/proc/sys/fs/protected_regular
was=$(cat $guarded 2>/dev/null)
if [[ -w $guarded ]]; then
    trap 'echo "$was" >$guarded' EXIT
    as_user 40001 env LD_PRELOAD="$shim" IPCLIFT_REGISTRY="$work/shared" \
        ipcmk -Q >/dev/null
    chmod 666 "$work/shared"
    for level in 1 2; do
        echo $level >$guarded
        is "protected_regular $level refuses O_CREAT" \
            "$(status as_user 40002 bash -c ": >>$work/shared")" 1
        is "but another user shares the registry" \
            "$(status as_user 40002 env LD_PRELOAD="$shim" \
                IPCLIFT_REGISTRY="$work/shared" ipcmk -Q)" 0
        is "and root" "$(status use "$work/shared")" 0
        is "and root looks" "$("$ipclift" ls --registry "$work/shared" msg |
            tail -n +2 | wc -l)" $((1 + 2 * level))
    done
    echo "$was" >$guarded
fi
make "$work/held"
flock "$work/held" sleep 60 &
locker=$!
sleep 0.3
is "a lock that somebody keeps on the file" \
    "$(status timeout 20 env LD_PRELOAD="$shim" \
        IPCLIFT_REGISTRY="$work/held" ipcmk -Q)" 0
kill $locker

# ---- a lock word that names somebody else: of the first queue's slot
word=$((4 * gib))
make "$work/word"
is "there is a queue" "$(status "$ipclift" show --registry "$work/word" msg 0)" 0
poke "$work/word" $word '\001\0\0\0'
is "check ends, and names it" \
    "$(status timeout 30 "$ipclift" check --registry "$work/word")" 1
is "as what it is" "$(grep -c 'not in the table' "$work/out")" 1
poke "$work/word" $word '\001\0\0\0'
is "save ends" \
    "$(status timeout 30 "$ipclift" save --registry "$work/word" "$work/s")" 0
poke "$work/word" $word '\001\0\0\0'
is "a program goes on" "$(status timeout 30 env LD_PRELOAD="$shim" \
    IPCLIFT_REGISTRY="$work/word" ipcrm -q 0)" 0

# ---- somebody else's registry
as_user 40001 env LD_PRELOAD="$shim" IPCLIFT_REGISTRY="$work/theirs" \
    ipcmk -Q -S 2 -M 5000 >/dev/null
before=$(stat -c %b "$work/theirs") sum=$(peek "$work/theirs" $word 112 | md5sum)
for look in ls "show msg 0" waits tasks locks events check get "save $work/s2"; do
    # shellcheck disable=SC2086 # words
    is "root looks: $look" \
        "$(status "$ipclift" ${look%% *} --registry "$work/theirs" \
            $([[ $look == *' '* ]] && echo "${look#* }"))" 0
done
is "nothing has grown" "$(stat -c %b "$work/theirs")" "$before"
is "nothing is changed" "$(peek "$work/theirs" $word 112 | md5sum)" "$sum"
poke "$work/theirs" $word '\001\0\0\0'
is "nor does a lock there keep anybody" \
    "$(status timeout 20 "$ipclift" ls --registry "$work/theirs")" 0
is "it is still as it was" "$(peek "$work/theirs" $word 1 | xxd -p)" 01
poke "$work/theirs" $word '\0\0\0\0'
is "root removes as they would" \
    "$(status "$ipclift" rm --registry "$work/theirs" msg 0)" 0
poke "$work/theirs" $((word + 108)) '\0\0\0\0'
is "or as root" \
    "$(status "$ipclift" rm --as-root --registry "$work/theirs" sem 0)" 0
mkdir /dev/shm/ipclift-40003
chown 40001 /dev/shm/ipclift-40003
make "$work/trap"
chmod 666 "$work/trap"
mv "$work/trap" /dev/shm/ipclift-40003/default
is "a directory that somebody else made" \
    "$(status as_user 40003 "$ipclift" ls)" 1
is "is said to be it" "$(grep -c 'not its owner.s alone' "$work/err")" 1
# However it is named, by whoever uses it: also by root, who could do all there.
planted=/dev/shm/ipclift-40003/default
mkdir "$work/view"
for who in 40003 0; do
    chown $((40001 * (who == 0))) $planted
    for name in $planted "../dev/shm/${planted#/dev/shm/}" "/proc/self/cwd$planted"; do
        is "by name, $who: $name" "$(cd / && status as_user $who "$ipclift" \
            ls --registry "$name")" 1
        is "a program, $who: $name" "$(cd / && status as_user $who env \
            LD_PRELOAD="$shim" IPCLIFT_REGISTRY="$name" ipcmk -Q)" 1
        [[ -x ${IPCLIFT_FUSE-} ]] || continue
        is "a mount, $who: $name" "$(cd / && status as_user $who \
            "$IPCLIFT_FUSE" "$name" "$work/view")" 1
        is "which is said, $who" \
            "$(grep -c 'not its owner.s alone' "$work/err")" 1
    done
done
is "no list has it" "$("$ipclift" registries | grep -c 40003)" 0
chown 0 $planted
is "nor does a program make one there" \
    "$(status use /dev/shm/ipclift-40003/new)" 1
is "or a mount" "$([[ ! -x ${IPCLIFT_FUSE-} ]] || status "$IPCLIFT_FUSE" \
    /dev/shm/ipclift-40003/new "$work/view" -o create)" 1
is "not even a file" "$(ls /dev/shm/ipclift-40003)" default

LD_PRELOAD=$shim IPCLIFT_REGISTRY=$work/saved python3 - <<'END'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.msgget(7, 0o1600)
libc.mq_open(b"/q", 0o102, 0o600, None)
END
"$ipclift" save --registry "$work/saved" "$work/kept" >/dev/null
chmod 644 "$work/kept"
for to in "restore $work/kept" "create new"; do
    # shellcheck disable=SC2086 # words
    is "$to: nor is anything made there" \
        "$(status as_user 40003 "$ipclift" $to)" 1
    is "which is said" "$(grep -c "not its owner.s alone" "$work/err")" 1
done
rm -r /dev/shm/ipclift-40003
# Registries that anybody makes by the thousand: each process is looked at once.
if [[ -x $(command -v strace) ]]; then
    looks() { # at our own maps
        strace -fe trace=open,openat "$ipclift" registries 2>&1 |
            grep -c "\"/proc/$BASHPID/maps"
    }
    for i in {1..20}; do
        cp --sparse=always "$work/word" "/dev/shm/many$i"
    done
    is "all are listed" "$("$ipclift" registries | grep -c /many)" 20
    is "at one look at each process" "$(looks)" 1
    rm /dev/shm/many*
fi
# A link in place of one.
mkdir "$work/elsewhere"
make "$work/elsewhere/linked"
ln -s "$work/elsewhere" /dev/shm/ipclift-40004
is "a link is not followed" "$("$ipclift" registries | grep -c linked)" 0
rm /dev/shm/ipclift-40004
# A directory that others may write.
as_user 40003 mkdir -m 777 /dev/shm/ipclift-40003
as_user 40003 chmod 777 /dev/shm/ipclift-40003
is "where others may write, too" \
    "$(status as_user 40003 "$ipclift" restore "$work/kept")" 1
is "nothing" "$(ls -A /dev/shm/ipclift-40003)" ""

# ---- root restores into, and removes, what is somebody else's
as_user 40001 env LD_PRELOAD="$shim" IPCLIFT_REGISTRY="$work/other" \
    ipcmk -Q >/dev/null
for who in 40001 0; do
    # shellcheck disable=SC2046 # an option, or none
    is "root restores as $who" "$(status "$ipclift" restore --force \
        $( ((who)) || echo --as-root) --registry "$work/other" "$work/kept")" 0
    is "what it makes beside it is that user's" \
        "$(find "$work/other.mq" -type p -printf '%U')" $who
done
mkdir "$work/roots"
as_user 40001 env LD_PRELOAD="$shim" IPCLIFT_REGISTRY="$work/moved" \
    ipcmk -Q >/dev/null
mv "$work/moved" "$work/roots"
is "root destroys as they could" \
    "$(status "$ipclift" destroy "$work/roots/moved")" 1
is "and says why" "$(grep -c 'Permission denied' "$work/err")" 1
is "or as root" \
    "$(status "$ipclift" destroy --as-root "$work/roots/moved")" 0
is "one in a directory of theirs" "$(status "$ipclift" destroy "$work/other")" 0
is "with what lies beside it" "$(find "$work" -name 'other*')" ""
if [[ -x $(command -v strace) ]]; then
    chmod 666 "$work/theirs"
    is "doctor keeps no mapping of theirs that it could write" \
        "$(strace -e trace=munmap "$ipclift" doctor --quick \
            --registry "$work/theirs" 2>&1 | grep -c ', 34359738368)')" 1
fi

# ---- what front and keeper leave when both are killed
mkdir -m 700 -p /dev/shm/ipclift-0/private.abcdef.mq
mkfifo /dev/shm/ipclift-0/private.abcdef.mq/fifo
"$ipclift" ls >/dev/null 2>&1
is "the FIFOs of a private registry that is gone" \
    "$(ls -d /dev/shm/ipclift-0/private.* 2>/dev/null)" ""

# ---- names: any bytes that somebody chose, who would write on root's terminal
cat >"$work/named.c" <<'END'
#include <fcntl.h>
#include <mqueue.h>
#include <sys/prctl.h>
int main(void)
{
    struct mq_attr a = {.mq_maxmsg = 2, .mq_msgsize = 8};
    char text[8];
    mqd_t q = mq_open("/a\33[2Jb\nc\233d", O_CREAT | O_RDWR, 0600, &a);
    prctl(PR_SET_NAME, "p\33[31m\233");
    return mq_receive(q, text, 8, 0) < 0;
}
END
gcc -o "$work/named" "$work/named.c" || exit 1
export IPCLIFT_REGISTRY=$work/names
LD_PRELOAD=$shim "$work/named" &
named=$!
until [[ $("$ipclift" waits --json 2>/dev/null) == *pid* ]]; do
    kill -0 $named || exit 1
    sleep .05
done
name=$'/a\033[2Jb\nc\233d'
# Which restore names because it is there already.
"$ipclift" save "$work/named.save" >/dev/null
clean() { # clean COMMAND...: it has said something, of characters alone
    "$ipclift" "$@" >"$work/out" 2>&1
    is "${*@Q}: no escapes" "$(grep -c $'\033' "$work/out")" 0
    is "and it is UTF-8" "$(iconv -f utf-8 -t utf-8 "$work/out" \
        >/dev/null 2>&1 && [[ -s $work/out ]]; echo $?)" 0
}
for words in ls 'ls --json' waits 'waits --dot' 'waits --json' tasks \
    'tasks --json' locks metrics registries check "restore $work/named.save"; do
    # shellcheck disable=SC2086 # words
    clean $words
done
clean show mq "$name"
clean show --json mq "$name"
clean rm mq "$name-"
is "the name as it can be told" "$("$ipclift" metrics |
    grep -c 'id="/a\\\\x1b\[2Jb\\\\x0ac\\\\x9bd"')" \
    "$("$ipclift" metrics | grep -c 'id="/a')"
kill $named
wait $named 2>/dev/null
clean gc --dry-run

# ---- restore of what is no file
mkfifo "$work/pipe"
for file in "$work/pipe" /dev/zero "$work"; do
    is "restore ${file##*/}" "$(status timeout 5 "$ipclift" restore "$file")" 1
done
# As a registry: `gc` first asks who is on it, and a device has no end.
ln -s "$work/word" "$work/a_link"
for command in ls "gc --dry-run" gc metrics; do
    for file in "$work/pipe" /dev/zero; do
        # shellcheck disable=SC2086 # words are meant
        is "$command of ${file##*/}" "$(status timeout 5 "$ipclift" $command \
            --registry "$file"; cat "$work/err")" \
            "1
ipclift ${command% *}: $file: is not a regular file"
    done
    # shellcheck disable=SC2086 # words are meant
    is "$command of a link" "$(status "$ipclift" $command \
        --registry "$work/a_link"; cat "$work/err")" "1
ipclift ${command% *}: $work/a_link: is a symbolic link; name the file itself"
done
# Without /proc nobody knows which boot this is: no reason to have it removed.
make "$work/seen"
is "metrics without /proc" "$(IPCLIFT_REGISTRY=$work/seen \
    unshare --mount bash -c 'mount -t tmpfs tmpfs /proc && "$0" metrics 2>&1' \
    "$ipclift" | grep -c '^ipclift_up.* 1$')" 1
unset IPCLIFT_REGISTRY
exit $bad
