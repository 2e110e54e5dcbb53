#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_view.sh - the commands that show and change a registry, on sets: ls, show, waits,
# rm, gc, get, set, events, check, doctor. The other kinds are in tool_objects.sh. Their
# output is compared with what the programs on that registry did, and with the kernel's
# own /proc/sysvipc/sem.
# Runs in an IPC namespace of its own.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"

# ---- no registry, wrong words
for command in ls "show sem 1" "rm sem 1" gc get "set semmni=1" check waits \
    locks tasks events "save $work/file"; do
    # shellcheck disable=SC2086 # words
    is "$command without a registry" "$(status "$ipclift" $command)" 1
done
for command in "ls x" "ls --bogus" show "show x" rm "rm --all 5" "rm --key x" \
    "gc x" "ls --json --proc" "doctor a b" "ls --name a/b" "show sem" "rm sem" \
    "show mq" "rm 5" "rm sem x" "rm --key 1 x" save "restore a b" "set semmni" \
    "locks --on --off" "waits --json --dot" "ls --json=x" "ls --name" "ls mq --proc" \
    "check x" "bench x y" "tasks x"; do
    is "$command is no usage" "$(status "$ipclift" $command)" 2
    is "$command: one line" "$(wc -l <"$work/err") $(wc -c <"$work/out")" "1 0"
done

# ---- the same sets on both sides
cat >"$work/make.pl" <<'PERL'
use IPC::SysV qw(IPC_CREAT IPC_PRIVATE IPC_RMID);
sub made { my $id = semget($_[0], $_[1], $_[2] | IPC_CREAT);
    defined $id or die "semget: $!"; return $id }
my @ids = map { made(@$_) } [-559038737, 3, 0640], [IPC_PRIVATE, 1, 0],
    [0x7fffffff, 250, 0600], [-1, 1, 0], [4660, 4, 0777];
semctl($ids[1], 0, IPC_RMID, 0);
$) = "65534 65534"; $> = 65534;
made(4661, 2, 0604);
$> = 0; $) = "0 0";
semop($ids[0], pack("s3", 1, 2, 0)) or die;
PERL
perl "$work/make.pl" || exit 1
"$ipclift" run -- perl "$work/make.pl" || exit 1
# Times differ by seconds: 0 or not.
mask() {
    sed -E 's/ {0,9}1[0-9]{9}\b/       TIME/g'
}
"$ipclift" ls --proc | mask >"$work/ours"
mask </proc/sysvipc/sem >"$work/kernels"
is "ls --proc is /proc/sysvipc/sem" "$(diff "$work/kernels" "$work/ours")" ""
is "and has rows" "$(wc -l <"$work/ours")" 6
is "ls fits 80 columns" "$("$ipclift" ls | awk 'length > 80')" ""
is "ls --json is JSON" "$("$ipclift" ls --json | perl -MJSON::PP -e '
    local $/; my $r = decode_json(<STDIN>);
    print join " ", map { "$_->{id}:$_->{nsems}" } @$r')" \
    "0:3 2:250 3:1 4:4 5:2"

# ---- show: who holds, who waits
mkfifo "$work/go"
"$ipclift" run -- perl -e 'use IPC::SysV qw(SEM_UNDO);
    semop(0, pack("s3", 1, -1, SEM_UNDO)) or die;
    if (!fork) { semop(0, pack("s6", 1, 1, 0, 2, -4, 0)); exit }
    open my $go, "<", shift; <$go>; kill TERM => -$$' "$work/go" &
holder=$!
for ((i = 0; i < 500; i++)); do
    "$ipclift" show sem 0 --json >"$work/json"
    grep -q '"-4"' "$work/json" && break
    sleep 0.02
done
is "show" "$(perl -MJSON::PP -e 'local $/; my $s = decode_json(<STDIN>);
    my ($h, $w) = ($s->{holders}[0], $s->{waiters}[0]);
    print join(" ", map { $_->{value} } @{$s->{values}}), ", ",
        "$h->{num} $h->{undo} ", $h->{pid} == $ARGV[0] ? "holder" : "?",
        $h->{since} =~ /^\d{4}-/ ? " since" : "",
        ", $w->{num} $w->{op} $s->{values}[2]{ncnt}"' $holder <"$work/json")" \
    "0 1 0, 1 +1 holder since, 2 -4 1"
is "check in use" "$(status "$ipclift" check) $(<"$work/out")" \
    "0 all invariants hold"
is "gc leaves what is used" "$("$ipclift" gc)" "nothing to remove"
kill -KILL $holder
wait $holder 2>/dev/null
is "undo of the killed" "$("$ipclift" show sem 0 --json | perl -MJSON::PP -e '
    local $/; my $s = decode_json(<STDIN>);
    print $s->{values}[1]{value}, " ", scalar @{$s->{holders}}')" "2 0"

# ---- waits: two that took two locks in different order
"$ipclift" run -- perl -e 'use IPC::SysV qw(SEM_UNDO IPC_CREAT);
    my $s = semget(99, 2, 0600 | IPC_CREAT); semctl($s, $_, 16, 1) for 0, 1;
    $SIG{ALRM} = sub { exit 1 }; alarm 30;
    my $second = fork; my $first = $second ? 0 : 1;
    semop($s, pack("s3", $first, -1, SEM_UNDO));
    select undef, undef, undef, 0.01
        while semctl($s, 0, 12, 0) + semctl($s, 1, 12, 0); # "0 but true"
    semop($s, pack("s3", 1 - $first, -1, SEM_UNDO)); kill TERM => $second
        if $second; wait if $second' &
one=$!
for ((i = 0; i < 500; i++)); do
    "$ipclift" waits >"$work/waits" && sleep 0.02 && continue
    break
done
other=$(pgrep -P $one)
is "waits names the deadlock" "$(grep -cE "^  ($one waits for $other|$other waits for $one) at semaphore [01] of set" "$work/waits")" 2
kill -KILL "$other"
wait $one
is "killing one frees the other" $? 0
is "waits, then" "$(status "$ipclift" waits)" 0
"$ipclift" rm --key 99

# ---- rm, gc
is "rm by id" "$(status "$ipclift" rm sem 4)" 0
is "rm again" "$(status "$ipclift" rm sem 4)" 1
is "rm by key" "$(status "$ipclift" rm --key 4661)" 0
is "a sleeper is woken by rm" "$(status "$ipclift" rm sem 0)" 0
for ((i = 0; i < 500; i++)); do
    [[ $("$ipclift" gc --dry-run | wc -l) == 2 ]] && break
    sleep 0.02
done
is "gc --dry-run when nobody is left" "$("$ipclift" gc --dry-run | wc -l)" 2
is "removes nothing" "$("$ipclift" ls | wc -l)" 3
is "gc" "$("$ipclift" gc | wc -l)" 2
is "all gone" "$("$ipclift" ls | wc -l)" 1

# ---- get, set
is "set" "$(status "$ipclift" set semmni=1 sem_next_id=32770)" 0
is "it holds" "$("$ipclift" run -- perl -e 'use IPC::SysV qw(IPC_PRIVATE);
    my $id = semget(IPC_PRIVATE, 1, 0600); my $no = semget(IPC_PRIVATE, 1, 0600);
    print "$id ", defined $no ? "made" : $!')" "32770 No space left on device"
is "events tell of the limit" "$("$ipclift" events |
    grep -c 'limit semmni=1: ipclift set semmni=2')" 1
is "and who asked" "$("$ipclift" events --json | perl -MJSON::PP -e '
    local $/; my @e = grep { $_->{limit} } @{decode_json(<STDIN>)};
    print scalar @e, " $e[0]{limit} $e[0]{value} $e[0]{remedy}"')" \
    "1 semmni 1 ipclift set semmni=2"
is "get" "$("$ipclift" get --json semmni sem_next_id | tr -d ' \n')" \
    '{"semmni":1,"sem_next_id":-1}'
is "out of range" "$(status "$ipclift" set semmni=32769)" 1
is "no such limit" "$(status "$ipclift" set semtea=1)" 2
is "no number" "$(status "$ipclift" set semmni=12abc)" 2

# ---- check finds what is wrong: the first slot's ident (layout.h) is wiped
is "sound" "$(status "$ipclift" check)" 0
slot=$(((1 << 30) + 2 * 192 + 64))
dd if=/dev/zero of="$IPCLIFT_REGISTRY" bs=1 seek=$slot count=8 conv=notrunc \
    status=none
is "not sound" "$(status "$ipclift" check)" 1
is "says which: the bitmap's" "$(awk '$1 == 2 { print "yes" }' "$work/out")" yes

# ---- doctor
is "doctor" "$(status "$ipclift" doctor perl)" 0
is "doctor on the static" "$(status "$ipclift" doctor /sbin/ldconfig)" 1
head -c 1000 /dev/urandom >"$work/random"
is "doctor on a bad registry" \
    "$(status "$ipclift" doctor --registry "$work/random")" 1
is "verdict" "$(tail -n 1 "$work/out")" \
    "Verdict: not served until the 1 fault is mended."

# ---- what cannot be written is said
for command in ls get tasks "ls --json" "events --help" --version; do
    # shellcheck disable=SC2086 # words
    is "$command to a full disk" \
        "$("$ipclift" $command 2>&1 >/dev/full)" \
        "ipclift: the output cannot be written: No space left on device"
    # shellcheck disable=SC2086 # words
    is "$command: its status" \
        "$("$ipclift" $command 2>/dev/null >/dev/full; echo $?)" 1
done

# ---- help
for command in run ls show rm gc get set check doctor waits events locks \
    tasks save restore bench mount; do
    is "$command --help" "$(status "$ipclift" $command --help) $(
        head -c 14 "$work/out")" "0 usage: ipclift"
    is "$command --help fits" "$(awk 'length > 80' "$work/out")" ""
done
exit $bad
