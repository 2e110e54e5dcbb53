#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_run.sh - the guarantees of `ipclift run`: the program's exit status, signals passed
# on, and with --private a registry that exists exactly as long as the processes on it,
# whichever of them is killed first.

set -u
ipclift=${IPCLIFT_TOOL:?the command}
home=/dev/shm/ipclift-$EUID
work=$(mktemp -d) || exit 1
# shellcheck source=tests/preload/checks.sh
. "$(dirname "$0")/checks.sh"
# shellcheck disable=SC2329 # called by trap
tidy() {
    rm -rf "$work"
    rmdir "$home" 2>/dev/null
}
trap tidy EXIT

status() {
    "$@" >/dev/null 2>&1
    echo $?
}
# Until CONDITION holds, ten seconds at most.
until_true() {
    local i
    for ((i = 0; i < 500; i++)); do
        eval "$1" && return
        sleep 0.02
    done
    echo "FAIL not within ten seconds: $1"
    bad=1
}

# ---- usage
for args in "" "--bogus -- true" "--name" "--name a/b -- true" \
    "--name private.x true" "--name a --private -- true" \
    "--limits soft -- true" "--ids many -- true" "--route sem,tea -- true"; do
    # shellcheck disable=SC2086 # words
    "$ipclift" run $args >"$work/out" 2>"$work/err"
    is "run $args: status" $? 2
    is "run $args: lines" "$(wc -l <"$work/err") $(wc -c <"$work/out")" "1 0"
done

# What CMD would get from here is looked at like an option; an option wins, and
# an empty one is none.
for wrong in LIMITS=soft IDS=many ROUTE=sem,tea ROUTE=-; do
    is "IPCLIFT_$wrong" "$(env "IPCLIFT_$wrong" "$ipclift" run --private \
        -- true 2>&1 | cut -d: -f1,2; env "IPCLIFT_$wrong" "$ipclift" run \
        --private -- true 2>/dev/null; echo $?)" \
        "$(printf 'ipclift run: IPCLIFT_%s\n2' "${wrong%=*}")"
done
is "set to nothing, or by an option" "$(IPCLIFT_ROUTE='' IPCLIFT_LIMITS=soft \
    "$ipclift" run --private --limits kernel -- echo run 2>&1)" run

# ---- exit status, with a parent and without
for how in "--private" "--registry $work/registry"; do
    # shellcheck disable=SC2086 # words
    {
        is "$how: 0" "$(status "$ipclift" run $how -- true)" 0
        is "$how: 7" "$(status "$ipclift" run $how -- sh -c 'exit 7')" 7
        is "$how: killed" "$(status "$ipclift" run $how -- \
            sh -c 'kill -TERM $$')" 143
        is "$how: no program" "$(status "$ipclift" run $how -- /none)" 127
        is "$how: no executable" "$(status "$ipclift" run $how -- /dev)" 126
    }
done
# shellcheck disable=SC2016 # $$ of that shell
is "no parent without --private" "$(bash -c 'echo $$
    exec "$0" run --registry "$1" -- sh -c "echo \$\$"' \
    "$ipclift" "$work/registry" | uniq | wc -l)" 1

# ---- environment
is "LD_PRELOAD is added to" \
    "$(LD_PRELOAD=libm.so.6 "$ipclift" run --name x -- printenv LD_PRELOAD)" \
    "libm.so.6:$(realpath "${IPCLIFT_SHIM:?}")"
is "and not twice" "$("$ipclift" run -- "$ipclift" run -- printenv LD_PRELOAD)" \
    "$(realpath "$IPCLIFT_SHIM")"
is "--name" "$("$ipclift" run --name a.b -- printenv IPCLIFT_REGISTRY)" \
    "$home/a.b"
is "--registry, made absolute" "$(cd "$work" && "$ipclift" run \
    --registry r -- sh -c 'cd / && printenv IPCLIFT_REGISTRY')" "$work/r"
is "options" "$("$ipclift" run --private --route -shm --limits kernel --ids extended -- \
    sh -c 'echo $IPCLIFT_ROUTE $IPCLIFT_LIMITS $IPCLIFT_IDS')" \
    "-shm kernel extended"

# ---- signals
cat >"$work/signals.pl" <<'PERL'
$| = 1;
for my $s (qw(INT TERM HUP QUIT USR1 USR2 WINCH TSTP)) {
    $SIG{$s} = sub { print "$s\n" };
}
$SIG{ALRM} = sub { print "late\n"; exit 1 };
alarm 20;
print "ready\n";
while (1) { my $line = <STDIN>; last if !defined $line && !$!{EINTR} }
print "end\n";
PERL
mkfifo "$work/in"
"$ipclift" run --private -- perl "$work/signals.pl" <"$work/in" \
    >"$work/signals" &
front=$!
exec 9>"$work/in"
until_true "grep -q ready '$work/signals'"
for s in INT TERM HUP QUIT USR1 USR2 WINCH TSTP; do
    kill -$s $front
    until_true "grep -q $s '$work/signals'"
done
exec 9>&-
wait $front
is "signals passed on" "$? $(tail -n 1 "$work/signals")" "0 end"

# A program that stops, stops the job; SIGCONT goes on.
# shellcheck disable=SC2016 # $$ of that shell
"$ipclift" run --private -- sh -c 'kill -STOP $$; exit 5' &
front=$!
until_true "grep -q '^State:.T' /proc/$front/status"
kill -CONT $front
wait $front
is "stopped and continued" $? 5

# ---- the life of a private registry
set_made='use IPC::SysV qw(IPC_CREAT);
    defined semget(5, 1, IPC_CREAT | 0600) or die;'
files() {
    find "$home" -name 'private.*' 2>/dev/null | wc -l
}
is "no leftovers at the beginning" "$(files)" 0
is "fresh and shared" "$("$ipclift" run --private -- perl -e "$set_made"'
    exec "perl", "-e", "print defined semget(5, 1, 0) ? 1 : 0"')" 1
is "removed at the end" "$(files)" 0

# A daemon that closed everything and left the session keeps it. It runs on until
# it is told to end: who waited for it would wait for ever.
mkfifo "$work/go"
is "status of the program, not of its daemon" "$("$ipclift" run --private -- \
    perl -MPOSIX -e "$set_made"'
    if (!fork) { POSIX::setsid(); exit if fork; chdir "/";
        POSIX::close($_) for 0 .. 9; open my $go, "<", $ARGV[0]; <$go>;
        exit !defined semget(5, 1, 0) }
    print "started"; exit 3' "$work/go"; echo " $?")" "started 3"
is "the daemon keeps the registry" "$(files)" 1
exec 3<>"$work/go"
echo >&3
until_true '[[ $(files) == 0 ]]'
exec 3>&-

# Whoever is killed: removed when the program ends.
"$ipclift" run --private -- perl -e "$set_made"'sleep 60' &
front=$!
until_true '[[ $(files) == 1 ]] && pgrep -P $(pgrep -P $front) >/dev/null'
keeper=$(pgrep -P $front)
program=$(pgrep -P "$keeper")
kill -KILL $front
wait $front 2>/dev/null
until_true '! kill -0 $program 2>/dev/null'
until_true '[[ $(files) == 0 ]]'

# A child of the program outlives it, as with unshare --kill-child.
"$ipclift" run --private -- perl -e "$set_made"'
    if (!fork) { exec "sleep", 60 } kill "STOP", $$; sleep 60' &
front=$!
until_true '[[ $(files) == 1 ]] &&
    pgrep -P $(pgrep -P $(pgrep -P $front)) >/dev/null'
program=$(pgrep -P "$(pgrep -P $front)")
child=$(pgrep -P "$program")
kill -KILL $front
wait $front 2>/dev/null
until_true '! kill -0 $program 2>/dev/null'
is "front of a stopped program killed: its child lives" \
    "$(kill -0 "$child" && files)" 1
kill "$child"
until_true '[[ $(files) == 0 ]]'

"$ipclift" run --private -- perl -e "$set_made"'sleep 60' &
front=$!
until_true '[[ $(files) == 1 ]] && pgrep -P $(pgrep -P $front) >/dev/null'
keeper=$(pgrep -P $front)
program=$(pgrep -P "$keeper")
kill -KILL "$keeper"
sleep 0.1
is "keeper killed: kept" "$(files)" 1
kill "$program"
wait $front
is "keeper killed: the program's status" $? 143
is "keeper killed: removed" "$(files)" 0

"$ipclift" run --private -- perl -e "$set_made"'sleep 60' &
front=$!
until_true '[[ $(files) == 1 ]] && pgrep -P $(pgrep -P $front) >/dev/null'
keeper=$(pgrep -P $front)
program=$(pgrep -P "$keeper")
kill -KILL "$keeper" $front
wait $front 2>/dev/null
"$ipclift" run --name x -- true
is "both killed: kept while the program lives" "$(files)" 1
kill "$program"
until_true '! kill -0 $program 2>/dev/null'
"$ipclift" run --name x -- true
is "both killed: the next command sweeps" "$(files)" 0

rm -f "$home/x" "$home/a.b" "$home/default"
exit $bad
