#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bridge_faults.sh - `ipclift bridge`: answers that are lost, ends and kills at any
# moment, a Redis that does not answer, the network cut. bridge.sh has the rest,
# bridge_kills.sh the storms.

. "$(dirname "$0")/bridge_head.sh"

persistent=(--appendonly yes --appendfsync everysec)
first=$(q make msg 0x1234 4000000)
second=$(q make msg 0x5678 4000000)
third=$(q make msg 0x77 100000)
fourth=$(q make msg 0x78 100000)
small2=$(q make msg 0x9a 30)
q make mq /first 20 100000

# ---- an answer that is lost -------------------------------------------------

# Redis gives an entry to a connection that was given up meanwhile: it is ours,
# and others are not asked.
server slow --enable-debug-command yes
holds_and_acked() {
	holds msg "$first" 0 && ! at show msg "$first" | grep -q '^Received'
}
cli slow XADD reply '*' data a >/dev/null
start in --claim 0 --redis "unix://$dir/slow/s" in msg "$second" reply
check "it runs" within 5 drained reply ipclift slow
q get msg "$second" 1 100 >/dev/null
printf '%s\n' MULTI "DEBUG SLEEP 6" "XADD reply * data b" EXEC |
	cli slow >/dev/null
check "an entry of a lost answer comes" within 8 holds msg "$second" 1
check "it is acknowledged" within 5 drained reply ipclift slow
stop in
q get msg "$second" 1 100 >/dev/null

# Slower than the first connection's silence may last, each time: two clients let
# it sleep in turn, and whoever asks waits for one of them at least.
start out --redis "unix://$dir/slow/s" out msg "$first" slowly
texts 1 9 9 | q put msg "$first"
check "before" within 5 length slowly 1 slow
check "acknowledged" within 5 holds_and_acked
: >"$dir/slows"
for n in 1 2; do
	while [ -e "$dir/slows" ]; do
		cli slow DEBUG SLEEP 5.2
	done >/dev/null &
done
sleep 0.3
texts 1 1 5 | q put msg "$first"
check "a slow Redis: carried" within 45 holds_and_acked
rm "$dir/slows"
check "it answers again" within 20 answers slow
stop out
n=$(cli slow XLEN slowly)
check "few came twice ($n entries)" [ "$n" -ge 6 -a "$n" -le 25 ]
same "with their ids" "$(fields id slowly slow | sort -u | wc -l)" 6

# No place for one more connection.
coproc only { cli slow; }
printf '%s\n' "CONFIG SET maxclients 1" >&"${only[1]}"
read -r line <&"${only[0]}"
same "maxclients" "$line" OK
texts 1 1 1 | q put msg "$first"
start out --redis "unix://$dir/slow/s" out msg "$first" places
check "no place: a line" within 5 said out 1
gone out && fail "no place: it ended" "$dir/out.err"
printf '%s\n' "CONFIG SET maxclients 100" >&"${only[1]}"
check "a place: it is carried" within 8 length places 1 slow
stop out
server_gone slow

# Whoever reads what it tells ends, and a line of it is killed.
texts 1 1 1 | q put msg "$first"
(exec setsid "$tool" bridge out msg "$first" piped 2> >(exec cat >/dev/null)) &
pids[piped]=$!
check "it runs" within 5 length piped 1
pkill -g "${pids[piped]}" -x cat
pkill -9 -P "${pids[piped]}" -x ipclift
texts 1 1 1 | q put msg "$first"
check "nobody reads what it tells: it goes on" within 5 length piped 2
stop piped

# ---- signals ----------------------------------------------------------------

texts 1 1 30 | q put msg "$first"
run --count 30 out msg "$first" held
connected() { # connected N: bridges, besides the one who asks
	[ "$(r CLIENT LIST TYPE normal | grep -c .)" -gt "$1" ]
}
for signal in TERM INT HUP; do
	start out out msg "$first" s
	start in --create in msg "$second" idle
	start mqout out mq /first s
	start full --group full$signal in msg "$small2" held
	check "full" within 5 holds msg "$small2" 10
	check "all run" within 5 connected 4
	for half in out in mqout full; do
		stop $half $signal && ok "SIG$signal: $half ends with 0"
	done
	q get msg "$small2" 10 100 >/dev/null
	start away --redis "unix://$dir/nowhere" out msg "$first" s
	texts 1 1 3 | q put msg "$first"
	within 5 said away 1
	stop away $signal && ok "SIG$signal: ends while Redis is away"
	same "what was not carried stays" "$(q get msg "$first" 3 100)" \
		"$(texts 1 1 3)"
done

# A signal that does not find the call asleep: it is awake most of the time.
if command -v strace >/dev/null &&
	strace -o /dev/null -e inject=futex:delay_exit=1 true; then
	sleeps() {
		child=$(pgrep -P "${pids[out]}") &&
			at waits | grep -qw "$child"
	}
	for ((n = 0; n < 8; n++)); do
		start out out msg "$first" s
		check "it sleeps" within 5 sleeps
		child=$(pgrep -P "${pids[out]}")
		strace -qq -o /dev/null -p "$child" -e trace=futex \
			-e inject=futex:delay_exit=300000 &
		sleep "0.$((RANDOM % 10))"
		stop out && ok "SIGTERM, awake between its sleeps: ends with 0"
		wait $!
	done
else
	echo "skip: no strace that delays"
fi

# ---- ended and killed while Redis does not answer, or is down ---------------

less() { # less KIND QUEUE N
	[ "$(q count "$1" "$2")" -lt "$3" ]
}
start silent out msg "$first" silent
start killed out msg "$third" silent
start killedmq out mq /first silent
for queue in "msg $first" "msg $third" "mq /first"; do
	# shellcheck disable=SC2086 # two words
	texts 1 1 1 | q put $queue
done
check "three are connected" within 5 length silent 3
kill -STOP "${servers[main]}"
texts 1 1 20 >"$dir/sent"
sed '1,6s/^1/3/; 15,$s/^1/8/' "$dir/sent" >"$dir/sent.mq"
sort -s -k1,1nr "$dir/sent.mq" >"$dir/wanted.mq"
q put msg "$first" <"$dir/sent"
q put msg "$third" <"$dir/sent"
q put mq /first <"$dir/sent.mq"
check "they have received" within 4 less msg "$first" 20
check "they have received" within 4 less msg "$third" 20
check "they have received" within 4 less mq /first 20
# A connection is given up after 5 seconds.
stop silent TERM 7 && ok "ends while Redis does not answer"
crash killed
crash killedmq
same "SIGTERM: what was not carried stays" "$(q get msg "$first" 20 300)" \
	"$(<"$dir/sent")"
same "killed: the messages are in the queue, in their old order" \
	"$(q get msg "$third" 20 300)" "$(<"$dir/sent")"
same "mq: by priority, in their old order" \
	"$(q get mq /first 20 300)" "$(<"$dir/wanted.mq")"
kill -CONT "${servers[main]}"
# With the messages back in the queue, what Redis had comes twice.
start doubles out msg "$first" doubles
texts 1 1 1 | q put msg "$first"
within 5 length doubles 1
kill -STOP "${servers[main]}"
q put msg "$first" <"$dir/sent"
check "it has some" within 4 less msg "$first" 20
crash doubles
kill -CONT "${servers[main]}"
start doubles out msg "$first" doubles
unique() {
	# The first of them has the text of the one before.
	[ "$(fields id doubles | sort -u | wc -l)" = 21 ] &&
		holds msg "$first" 0
}
check "all are carried" within 10 unique
stop doubles
echo "$(r XLEN doubles) entries of 21 messages"
same "what comes twice has the same id" \
	"$(as_lines id doubles | sort -u | wc -l)" 21
# settled: what was carried is acknowledged by those that carried it
settled() {
	! { at show msg "$first"; at show mq /first; } | grep -q '^Received'
}
expected=0
for batch in 1 64; do
	start down --batch $batch --redis "unix://$dir/third/s" \
		out msg "$first" down
	start downmq --batch $batch --redis "unix://$dir/third/s" \
		out mq /first down
	server third "${persistent[@]}"
	texts 1 1 1 | q put msg "$first"
	texts 1 1 1 | q put mq /first
	expected=$((expected + 2))
	check "connected" within 12 length down $expected third
	check "acknowledged" within 5 settled
	server_gone third
	q put msg "$first" <"$dir/sent"
	q put mq /first <"$dir/sent.mq"
	check "both tell that it is down" within 8 \
		grep -q . "$dir/down.err" "$dir/downmq.err"
	crash down
	crash downmq
	same "--batch $batch, Redis is down, killed: as they were" \
		"$(q get msg "$first" 20 300)" "$(<"$dir/sent")"
	same "mq: as they were" "$(q get mq /first 20 300)" \
		"$(<"$dir/wanted.mq")"
done

# ---- killed before each thing that it says to Redis -------------------------

# killed_at N ARGS...: at the Nth write, if it comes to that
killed_at() {
	rm -f "${dir:?}/trace"
	setsid strace -f -o "$dir/trace" -e trace=write \
		-e "inject=write:signal=KILL:when=$1" \
		"$tool" bridge --count 5 --batch 2 "${@:2}" >/dev/null 2>&1 \
		</dev/null &
	pids[traced]=$!
	within 10 grep -q '^[0-9 ]*+++ ' "$dir/trace"
	! grep -q 'killed by SIGKILL' "$dir/trace" || kills=$((kills + 1))
	crash traced
}
# rest ARGS...: what is left, and one more, which has text 999
rest() {
	start rest "$@"
	within 5 "$until" || fail "killed before write $n: the rest" \
		"$dir/rest.err"
	stop rest
}
out_done() {
	entries "killed$n" | grep -q data=393939
}
in_done() {
	drained "killed$n" ipclift
}
texts 1 1 5 >"$dir/sent"
if command -v strace >/dev/null &&
	strace -o /dev/null -e inject=write:signal=KILL:when=9 true; then
	came=0 kills=0 missing=''
	texts 1 999 999 >>"$dir/sent"
	for ((n = 1; n <= 9; n++)); do
		head -n 5 "$dir/sent" | q put msg "$third"
		killed_at $n out msg "$third" "killed$n"
		texts 1 999 999 | q put msg "$third"
		until=out_done
		rest out msg "$third" "killed$n"
		as_lines type "killed$n" | sort -u | cmp -s - "$dir/sent" ||
			missing+=" out at $n;"
		[ "$(fields id "killed$n" | sort -u | wc -l)" = 6 ] ||
			missing+=" out at $n: ids;"
		killed_at $n --dedup 100 --dedup-file "$dir/ids$n" \
			in msg "$fourth" "killed$n"
		until=in_done
		rest --dedup 100 --dedup-file "$dir/ids$n" \
			in msg "$fourth" "killed$n"
		q get msg "$fourth" "$(q count msg "$fourth")" 100 >"$dir/got"
		sort -u "$dir/got" | cmp -s - "$dir/sent" ||
			missing+=" in at $n;"
		came=$((came + $(grep -c . "$dir/got")))
	done
	check "killed before a write: $kills times" [ "$kills" -ge 6 ]
	same "nothing is missing" "$missing" ""
	echo "$((came - 54)) of 54 came twice"
else
	echo "skip: no strace that kills"
fi

# ---- the network is cut -----------------------------------------------------

start out --metrics "$dir/out.prom" out msg "$first" cable
start in --create --metrics "$dir/in.prom" --dedup 1000 in msg "$second" cable
texts 1 1 100 | q put msg "$first"
check "before" within 10 holds msg "$second" 100
ip link set lo down
texts 1 101 300 | q put msg "$first"
cut() {
	[ "$(value "$dir/$1.prom" ipclift_bridge_connected)" = 0 ]
}
check "out gives its connection up" within 20 cut out
check "and in, which is idle" within 20 cut in
ip link set lo up
q get msg "$second" 300 15000 >"$dir/got"
check "the cable is in again: none is lost or double" \
	cmp <(sort "$dir/got") <(texts 1 1 300)
stop out
stop in

# ---- a terminal -------------------------------------------------------------

# by_terminal ARGS...: what a person sees in more than a second
by_terminal() {
	rm -f "${dir:?}/typed"
	setsid script -qfec "exec '$tool' bridge $* out msg $first seen" \
		"$dir/typed" >/dev/null 2>&1 </dev/null &
	pids[typed]=$!
	texts 1 1 9 | q put msg "$first"
	within 5 holds msg "$first" 0
}
seen() { # what it wrote, without script's own lines
	sed '/^Script /d' "$dir/typed" | tr -d '\r' | grep -c .
}
shown() {
	[ "$(seen)" -ge 1 ]
}
if command -v script >/dev/null; then
	by_terminal
	check "progress on a terminal" within 4 shown
	crash typed
	by_terminal --quiet --count 9
	ends typed 5
	same "none with --quiet" "$(seen)" 0
fi
check "the registry is whole" at check
finish
