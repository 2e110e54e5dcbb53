#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_save_live.sh - saving while others create and remove objects, saving sparse
# segments, saves and restores that are interrupted, and complete files that cannot be
# restored completely.

set -u
ipclift=${IPCLIFT_TOOL:?the command}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" save.XXXXXX) || exit 1
churners=
cleanup() {
    # shellcheck disable=SC2086 # pids
    [ -z "$churners" ] || kill -KILL $churners 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
export IPCLIFT_REGISTRY=$work/first
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"
if [[ $EUID == 0 && ${1-} != inside ]]; then
    rmdir "$work"
    exec unshare --ipc --mount bash "$0" inside
fi
gcc -O1 -o "$work/app" "$here/app_churn.c" || exit 1
app() {
    "$ipclift" run -- "$work/app" "$@"
}
second() {
    IPCLIFT_REGISTRY=$work/second "$@"
}
new_second() {
    rm -rf "$work/second" "$work/second.mq"
}
# Names beside the file that is saved to: whatever is left of a save.
left() {
    (cd "$work/files" && printf '%s ' ./* ./.[!.]*)
}
mkdir "$work/files"

# ---- beside processes that remove objects and make them again
app keep || exit 1
for seed in 1 2; do
    "$ipclift" run -- "$work/app" churn $seed &
    churners+=" $!"
done
refused=0 unsound=0 missing=0
for i in $(seq 15); do
    "$ipclift" save "$work/file.$i" >/dev/null || bad=1
done
# shellcheck disable=SC2086 # pids
kill -KILL $churners
# shellcheck disable=SC2086 # pids
wait $churners 2>/dev/null
churners=
for i in $(seq 15); do
    new_second
    second "$ipclift" restore "$work/file.$i" >"$work/out" 2>&1 || {
        refused=$((refused + 1))
        head -n 3 "$work/out"
    }
    [ "$(second "$ipclift" check)" = "all invariants hold" ] ||
        unsound=$((unsound + 1))
    second app verify || missing=$((missing + 1))
    rm "$work/file.$i"
done
is "of 15 files saved meanwhile, refused" "$refused" 0
is "of 15 registries restored, unsound" "$unsound" 0
is "of 15, without an object that was there all the time" "$missing" 0
is "the saved registry is sound" "$("$ipclift" check)" "all invariants hold"

# ---- holes
"$ipclift" rm --all
app wide
"$ipclift" ls >/dev/null
before=$(du --block-size=1024 "$work/first" | cut -f1)
# What it reads, by the account of a shell that waited for it.
# shellcheck disable=SC2016 # the inner shell's
read -r failed bytes < <(timeout 20 bash -c '"$1" save "$2" >/dev/null
    echo $? $(sed -n "s/rchar: //p" /proc/$$/io)' - "$ipclift" "$work/file")
is "64 GiB of which two pages are used are saved" "$failed" 0
is "by reading these two" "$((bytes < 16 << 20))" 1
after=$(du --block-size=1024 "$work/first" | cut -f1)
is "the registry did not grow" "$((after - before < 512))" 1
is "the file is small" "$(($(stat -c %s "$work/file") < 20000))" 1
new_second
is "restored" "$(status second timeout 10 "$ipclift" restore "$work/file")" 0
is "with its bytes" "$(status second app wide-is)" 0
is "as holes" "$(($(du --block-size=1024 "$work/second" | cut -f1) < 8192))" 1

# ---- a save that is killed. SIGXFSZ does it at the same place each time.
"$ipclift" rm --all
app fill 8
cut_off() {
    (ulimit -f 1024 && exec "$ipclift" save "$work/files/file")
}
(cut_off) >/dev/null 2>&1
is "killed by SIGXFSZ" $? $((128 + 25))
is "nothing is left" "$(left)" "./* ./.[!.]* "
is "saved" "$(status "$ipclift" save "$work/files/file")" 0
is "only that" "$(left)" "./file ./.[!.]* "
sum=$(md5sum <"$work/files/file")
(cut_off) >/dev/null 2>&1
is "the old one stays" "$(md5sum <"$work/files/file")" "$sum"
"$ipclift" run -- perl -e 'semget(7, 1, 01600)'
is "saved over it" "$(status "$ipclift" save "$work/files/file")" 0
is "is another" "$([ "$(md5sum <"$work/files/file")" = "$sum" ]; echo $?)" 1
is "and only that" "$(left)" "./file ./.[!.]* "
is "of which only its user may read" "$(stat -c %a "$work/files/file")" 600
mkfifo "$work/fifo"
is "what is no file is refused" "$(status "$ipclift" save "$work/fifo")" 1
is "and stays" "$(stat -c %F "$work/fifo")" fifo

# A file system that knows no files without names.
cat >"$work/tmpfile.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
int open(const char *path, int flags, ...)
{
	static int (*next)(const char *, int, int);
	__builtin_va_list ap;
	int mode;

	__builtin_va_start(ap, flags);
	mode = __builtin_va_arg(ap, int);
	__builtin_va_end(ap);
	if (!next)
		next = (int (*)(const char *, int, int))dlsym(RTLD_NEXT, "open");
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return next(path, flags, mode);
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
C
gcc -O1 -shared -fPIC -o "$work/tmpfile.so" "$work/tmpfile.c" -ldl || exit 1
(LD_PRELOAD=$work/tmpfile.so && export LD_PRELOAD && cut_off) >/dev/null 2>&1
is "there: killed by SIGXFSZ" $? $((128 + 25))
is "there: nothing else is left" "$(left)" "./file ./.[!.]* "
is "there: saved" "$(status env LD_PRELOAD="$work/tmpfile.so" \
    "$ipclift" save "$work/files/file")" 0
is "there: only that" "$(left)" "./file ./.[!.]* "
new_second
is "there: restored" "$(status second "$ipclift" restore "$work/files/file")" 0

# ---- files with a right checksum that cannot be restored whole
# change CODE: of the file saved before; @r are its records [type, bytes].
cat >"$work/change.pl" <<'P'
use strict;
my ($code, $from, $to) = @ARGV;
local $/;
open my $in, "<", $from or die;
my $all = <$in>;
my ($head, $at, @r) = (substr($all, 0, 32), 32);
while ($at < length $all) {
    my ($type, $pad, $size) = unpack "LLQ", substr $all, $at, 16;
    push @r, [$type, substr $all, $at + 16, $size] if $type;
    $at += 16 + $size;
}
eval $code; die $@ if $@;
$all = join "", $head, map({ pack("LLQ", $_->[0], 0, length $_->[1]), $_->[1] } @r),
    pack "LLQ", 0, 0, 8;
my $sum = unpack "q", pack "Q", 0xcbf29ce484222325;
{ use integer; $sum = ($sum ^ $_) * 0x100000001b3 for unpack "q*", $all; }
open my $out, ">", $to or die;
print $out $all, pack "q", $sum;
P
changed() { # CODE
    perl "$work/change.pl" "$1" "$work/files/file" "$work/changed" || bad=1
    new_second
    status second "$ipclift" restore "$work/changed"
}
"$ipclift" rm --all
app keep || exit 1
"$ipclift" save "$work/files/file" >/dev/null
n=$((4 * 40))
is "changed in nothing" "$(changed '')" 0
is "is all" "$(<"$work/out")" "$n objects"
# Of the first of each kind: (type 3) kind, id, key, ... mode at byte 40.
is "a key that is there twice" "$(changed \
    'my ($o) = grep { $_->[0] == 3 } @r; my $p = [@$o];
     substr($p->[1], 4, 4) = pack "l", 32768 * 3 + 900; push @r, $p')" 1
is "says which" "$(<"$work/err")" \
    "ipclift restore: sem 99204: its key is taken"
is "and made the others" "$(<"$work/out")" "$n objects, 1 left out"
is "all of them" "$(status second app verify)" 0
is "an id that is there twice" "$(changed \
    'my @o = grep { $_->[0] == 3 && !unpack "L", $_->[1] } @r; my $p = [@{$o[1]}];
     substr($p->[1], 8, 4) = pack "l", 77; push @r, $p')" 1
is "says that" "$(sed 's/[0-9]\+/N/' "$work/err")" \
    "ipclift restore: sem N: its id is taken"
is "and leaves nothing of it" "$(second "$ipclift" ls | grep -c 0x0000004d)" 0
is "a segment whose key is there twice" "$(changed \
    'my @o = grep { $_->[0] == 3 && 2 == unpack "L", $_->[1] } @r;
     my $p = [@{$o[0]}]; substr($p->[1], 4, 4) = pack "l", 5 * 32768;
     push @r, $p, [4, pack("lLQ", 5 * 32768, 0, 4992) . "z" x 64]')" 1
is "its bytes go nowhere" "$(status second app verify)" 0
is "mode bits that no object has" "$(changed \
    'for (@r) { substr($_->[1], 40, 4) = pack "L", 0xffffffff if $_->[0] == 3 }')" 0
is "are not taken over" "$(second "$ipclift" check)" "all invariants hold"
is "nor shown" "$(second "$ipclift" ls --json | tr -d ' \n' |
    grep -o '"perms":"[0-7]*"' | sort -u)" '"perms":"777"'
is "no name" "$(changed \
    'my ($o) = grep { $_->[0] == 3 && 3 == unpack "L", $_->[1] } @r;
     substr($o->[1], 88, 256) = "\0" x 256')" 1
is "is told" "$(<"$work/err")" "ipclift restore: mq 0: a queue without a name"
is "the rest is there" "$(<"$work/out")" "$((n - 1)) objects, 1 left out"
is "sound" "$(second "$ipclift" check)" "all invariants hold"
is "a name that cannot be" "$(changed \
    'my ($o) = grep { $_->[0] == 3 && 3 == unpack "L", $_->[1] } @r;
     substr($o->[1], 88, 4) = "a/b\0"')" 1
is "is told, too" "$(<"$work/err")" \
    "ipclift restore: mq /a/b: no queue can have that name"
is "a priority that cannot be" "$(changed \
    'my ($o) = grep { $_->[0] == 3 && 3 == unpack "L", $_->[1] } @r;
     substr($o->[1], 344, 8) = pack "Q", 40000')" 1
is "leaves the queue out" "$(second "$ipclift" ls mq | grep -c kept)" 39
is "sound then" "$(second "$ipclift" check)" "all invariants hold"

# ---- no room for all of them
"$ipclift" rm --all
app fill 24
app keep
"$ipclift" save "$work/files/file" >/dev/null
mkdir "$work/small"
if [[ ${1-} == inside ]] && mount -t tmpfs -o size=16m small "$work/small"; then
    export IPCLIFT_REGISTRY=$work/small/registry
    is "no room for one" "$(status "$ipclift" restore "$work/files/file")" 1
    is "it is told" "$(sed 's/[0-9]\+/N/' "$work/err")" \
        "ipclift restore: shm N: No space left on device"
    is "the others are made" "$(<"$work/out")" "$n objects, 1 left out"
    is "and whole" "$(status app verify)" 0
    is "nothing is lost" "$("$ipclift" check)" "all invariants hold"
    umount -l "$work/small"
fi
exit $bad
