#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bridge.sh - `ipclift bridge`, with servers of its own (redis-server): what
# doc/bridge.md says, sentence by sentence. bridge_faults.sh has what is lost, hangs
# or is killed, bridge_kills.sh the storms.

. "$(dirname "$0")/bridge_head.sh"

# ---- usage ------------------------------------------------------------------

usage() {
	runs "usage: $*" 2 "$@"
}
"$tool" bridge --help >"$dir/help" 2>&1
same "--help" "$?" 0
for option in redis redis-file cacert cert key batch maxlen group consumer \
	create claim dedup dedup-file dead-letter metrics listen count quiet \
	file registry name; do
	grep -q -e "--$option\b" "$dir/help" ||
		fail "--help tells of --$option" "$dir/help"
done
usage
usage out
usage out msg 0
usage out sem 0 s
usage through msg 0 s
usage out msg 0 s more
usage --nonsense out msg 0 s
usage --batch 0 out msg 0 s
usage --batch 1001 out msg 0 s
usage --batch x out msg 0 s
usage --count x out msg 0 s
usage --redis http://localhost out msg 0 s
usage out msg zero s
usage out msg key:zero s
usage --file "$dir/nowhere" out msg 0 s
listens=1
run --listen 127.0.0.1:9911 out msg 4711 s
if grep -qi libmicrohttpd "$dir/err"; then
	echo "skip: --listen, built without libmicrohttpd"
	listens=
fi

# ---- out and in: all that a message can be ----------------------------------

hex() { # hex N: so many bytes
	head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}
{
	echo "1 "
	echo "5 00"
	echo "2147483647 6100620a0d0a"
	echo "9223372036854775807 fffe0025647324"
	echo "3 $(hex 4096)"
	echo "7 $(hex 4097)"
	echo "7 $(hex 70000)"
	echo "2 $(hex 1000000)"
	echo "1 6c617374"
} >"$dir/sent"
first=$(q make msg 0x1234 4000000)
second=$(q make msg 0x5678 4000000)
q put msg "$first" <"$dir/sent"
runs "out msg, redis://127.0.0.1:6379 if nothing is said" 0 \
	--count 9 out msg "$first" types
same "an entry each" "$(r XLEN types)" 9
as_lines type types >"$dir/got"
check "type and data, in the order of the queue" cmp "$dir/sent" "$dir/got"
same "id: none twice" "$(fields id types | sort -u | wc -l)" 9
same "no other fields" "$(entries types | tr ' ' '\n' | cut -d= -f1 | sort -u |
	tr '\n' ' ')" "data id type "
check "the queue is empty" holds msg "$first" 0
runs "in msg" 0 --count 9 in msg "$second" types
q get msg "$second" 9 100 >"$dir/got"
check "a reader gets what a writer sent" cmp "$dir/sent" "$dir/got"
check "and no more" holds msg "$second" 0
same "group ipclift, all is acknowledged" \
	"$(of_group types ipclift pending)" 0
same "consumer HOST-KIND-NAME" \
	"$(r XINFO CONSUMERS types ipclift | sed -n 2p)" \
	"$(uname -n)-msg-$second"

{
	echo "0 "
	echo "5 00"
	echo "32767 6100620a0d0a"
	echo "5 0001"
	echo "0 $(hex 4096)"
	echo "5 $(hex 4097)"
	echo "1 $(hex 70000)"
	echo "2 $(hex 100000)"
	echo "32767 6c617374"
} >"$dir/sent"
sort -s -k1,1nr "$dir/sent" >"$dir/wanted"
q make mq /first 20 100000
q make mq /second 20 100000
q put mq /first <"$dir/sent"
runs "out mq" 0 --count 9 out mq /first prios
as_lines prio prios >"$dir/got"
check "prio and data, the highest first" cmp "$dir/wanted" "$dir/got"
same "no other fields" "$(entries prios | tr ' ' '\n' | cut -d= -f1 | sort -u |
	tr '\n' ' ')" "data id prio "
runs "in mq" 0 --count 9 in mq /second prios
q get mq /second 9 100 >"$dir/got"
check "a reader gets what a writer sent" cmp "$dir/wanted" "$dir/got"

# From one kind to the other.
runs "mq to msg" 0 --group other --count 9 in msg "$second" prios
q get msg "$second" 9 100 >"$dir/got"
awk '{ $1 = $1 + 1; print $1 " " $2 }' "$dir/wanted" >"$dir/wanted.types"
check "the type is prio + 1" cmp "$dir/wanted.types" "$dir/got"
texts 77 1 3 | q put msg "$first"
run --count 3 out msg "$first" plain
runs "msg to mq" 0 --count 3 in mq /second plain
same "the priority is 0" "$(q get mq /second 3 100)" "$(texts 0 1 3)"

# By key, and another queue of that key.
runs "key:KEY" 0 --group bykey --count 3 in msg key:0x5678 plain
check "is that queue" holds msg "$second" 3
q drop msg "$second"
second=$(q make msg 0x5678 4000000)
runs "key:KEY after a queue of another id came" 0 --group bykey2 --count 3 \
	in msg key:0x5678 plain
same "key: the messages are there" "$(q get msg "$second" 3 100)" \
	"$(texts 77 1 3)"
texts 1 1 3 | q put msg "$first"
runs "out key: in decimal" 0 --count 3 out msg key:4660 plain
check "has carried" length plain 6

# Two registries of one second: no id of the one is an id of the other.
for n in 1 2; do
	"$tool" create "$dir/twin$n" >/dev/null
	twin[n]=$(IPCLIFT_REGISTRY=$dir/twin$n q make msg 5 1000)
	texts 1 1 3 | IPCLIFT_REGISTRY=$dir/twin$n q put msg "${twin[n]}"
done
for n in 1 2; do
	run --registry "$dir/twin$n" --count 3 out msg "${twin[n]}" twins
done
same "two registries made at once: ids" \
	"$(fields id twins | sort -u | wc -l)" 6
runs "none is taken for the other's" 0 --dedup 100 --count 6 \
	in msg "$second" twins
q get msg "$second" 6 100 >/dev/null

# Order and batches.
texts 3 1 500 >"$dir/sent"
multis() {
	r INFO commandstats |
		sed -n 's/^cmdstat_multi:calls=\([0-9]*\).*/\1/p'
}
for batch in 1 7 1000; do
	q put msg "$first" <"$dir/sent"
	before=$(multis)
	runs "out --batch $batch" 0 --batch $batch --count 500 \
		out msg "$first" "batch$batch"
	after=$(multis)
	if [ "$batch" != 1 ]; then
		check "by MULTI" [ "${after:-0}" -gt "${before:-0}" ]
	else
		same "one by one without MULTI" "$after" "$before"
	fi
	runs "in --batch $batch" 0 --batch $batch --count 500 \
		in msg "$second" "batch$batch"
	q get msg "$second" 500 100 >"$dir/got"
	check "500 in their order" cmp "$dir/sent" "$dir/got"
done

# ---- --count ----------------------------------------------------------------

texts 4 1 10 | q put msg "$first"
runs "out --count 4" 0 --count 4 out msg "$first" counted
same "4 are in the stream" "$(r XLEN counted)" 4
same "6 are left, in their order" "$(q get msg "$first" 6 100)" \
	"$(texts 4 5 10)"
runs "in --count 3" 0 --count 3 in msg "$second" counted
check "3 are in the queue" holds msg "$second" 3
runs "in --count 1" 0 --count 1 in msg "$second" counted
same "none was lost between" "$(q get msg "$second" 4 100)" "$(texts 4 1 4)"

# ---- --maxlen ---------------------------------------------------------------

texts 1 1 999 | q put msg "$first"
runs "--maxlen 100" 0 --maxlen 100 --batch 10 --count 999 \
	out msg "$first" trimmed
length=$(r XLEN trimmed)
check "about 100 are left ($length)" [ "$length" -ge 100 -a "$length" -le 300 ]
same "the last ones" "$(fields data trimmed | tail -n 1)" 393939

# ---- --group, --create ------------------------------------------------------

r XGROUP CREATE plain late '$' >/dev/null
r XADD plain '*' type 9 data new >/dev/null
runs "a group that is there begins where it stands" 0 --group late \
	--consumer me --count 1 in msg "$second" plain
same "with what came since" "$(q get msg "$second" 1 100)" "9 6e6577"
same "--consumer" "$(r XINFO CONSUMERS plain late | sed -n 2p)" me
runs "a missing stream" 1 in msg "$second" none
same "one line says so" "$(grep -c . "$dir/err")" 1
check "which" grep -q none "$dir/err"
same "it was not made" "$(r EXISTS none)" 0
start create --create in msg "$second" none
exists() {
	[ "$(r EXISTS "$1")" = 1 ]
}
check "--create" within 5 exists none
r XADD none '*' data x >/dev/null
check "and it is read" within 5 holds msg "$second" 1
stop create
q get msg "$second" 1 100 >/dev/null

# ---- entries of others ------------------------------------------------------

# into TEXT KIND WANTED FIELD VALUE...: what a queue gets of an entry
into() {
	local text=$1 queue=$second

	[ "$2" = msg ] || queue=/second
	r DEL byhand >/dev/null
	r XADD byhand '*' "${@:4}" >/dev/null
	run --count 1 in "$2" "$queue" byhand
	same "$text" "$(q get "$2" "$queue" 1 100)" "$3"
}
into "only data, msg" msg "1 6162" data ab
into "only data, mq" mq "0 6162" data ab
into "prio for msg" msg "5 6162" prio 4 data ab
into "type for mq" mq "0 6162" type 4 data ab
into "both, msg" msg "9 6162" prio 4 type 9 data ab
into "both, mq" mq "4 6162" prio 4 type 9 data ab
into "others are ignored" msg "1 6162" x y data ab "" z
into "empty data" msg "1 " data ""

# What the queue can never take.
small=$(q make msg 0x99 2000)
q make mq /small 10 100
r XADD wrong '*' type 0 data a >/dev/null
r XADD wrong '*' type -5 data b >/dev/null
r XADD wrong '*' other c >/dev/null
r XADD wrong '*' type 2 data good >/dev/null
head -c 1000001 /dev/zero | r -x XADD wrong '*' type 6 data >/dev/null
r XADD wrong '*' type 3 data better >/dev/null
start wrong --metrics "$dir/wrong.prom" --consumer me in msg "$small" wrong
check "the others go on" within 5 holds msg "$small" 2
same "these" "$(q get msg "$small" 2 100)" "2 676f6f64
3 626574746572"
pending() { # pending STREAM N [GROUP]
	[ "$(of_group "$1" "${3:-ipclift}" pending)" = "$2" ]
}
check "4 stay pending" within 5 pending wrong 4
check "one line each" within 5 said wrong 4
stop wrong
same "ipclift_bridge_rejected_total" \
	"$(value "$dir/wrong.prom" ipclift_bridge_rejected_total)" 4
# They are met again, and stop nobody.
r XADD wrong '*' type 4 data best >/dev/null
start wrong --consumer me in msg "$small" wrong
check "after a restart, too" within 5 holds msg "$small" 1
stop wrong
q get msg "$small" 1 100 >/dev/null
pending wrong 4 || fail "4 stay pending after a restart"
start wrong --consumer me --dead-letter letters in msg "$small" wrong
check "--dead-letter" within 5 length letters 4
check "is acknowledged" within 5 pending wrong 0
r XADD wrong '*' type -1 prio 7 id mine data d >/dev/null
check "a new one, too" within 5 length letters 5
check "of each one line" within 5 said wrong 5
stop wrong
entries letters | tail -n 1 >"$dir/letter"
same "stream, entry and reason before its own fields" \
	"$(tr ' ' '\n' <"$dir/letter" | grep "=" | cut -d= -f1 | tr '\n' ' ')" \
	"stream entry reason type prio id data "
check "which stream, and what it had" \
	grep -q "^stream=wrong .* type=-1 prio=7 id=mine data=64$" "$dir/letter"
same "which entry" "$(tr ' ' '\n' <"$dir/letter" | sed -n 's/^entry=//p')" \
	"$(r XREVRANGE wrong + - COUNT 1 | head -n 1)"
r XADD wrongmq '*' prio 32768 data a >/dev/null
r XADD wrongmq '*' prio -1 data a >/dev/null
r XADD wrongmq '*' prio 5 data "$(printf '%0101d' 0)" >/dev/null
r XADD wrongmq '*' prio 5 >/dev/null
r XADD wrongmq '*' prio 32767 data good >/dev/null
start wrong --dead-letter lettersmq in mq /small wrongmq
check "mq: the good one" within 5 holds mq /small 1
check "mq: priority, size, no data" within 5 length lettersmq 4
check "mq: acknowledged" within 5 drained wrongmq ipclift
stop wrong
# Redis does not know any more what it was told: once more.
r XGROUP SETID wrongmq ipclift 0 >/dev/null
start wrong --dead-letter lettersmq in mq /small wrongmq
check "met again, to the dead letters again" within 5 length lettersmq 8
check "mq: acknowledged" within 5 drained wrongmq ipclift
r XADD wrongmq 9999999999999-1 prio -1 data a >/dev/null
within 5 length lettersmq 9
r XGROUP SETID wrongmq ipclift 9999999999999-0 >/dev/null
r XADD wrongmq 9999999999999-2 prio 1 data a >/dev/null
check "by the same process, too" within 5 length lettersmq 10
stop wrong
q get mq /small "$(q count mq /small)" 100 >/dev/null
# Larger than the whole queue, which a sender would wait for, for ever.
r XADD larger '*' type 2 data "$(printf '%03000d' 0)" >/dev/null
r XADD larger '*' type 2 data good >/dev/null
start wrong in msg "$small" larger
check "larger than the queue: the others go on" within 5 holds msg "$small" 1
check "a line" within 5 said wrong 1
check "it stays pending" within 5 pending larger 1
stop wrong
q get msg "$small" 1 100 >/dev/null

# What is its own and pending was deleted by somebody.
r XADD deleted '*' data a >/dev/null
r XGROUP CREATE deleted ipclift 0 >/dev/null
r XREADGROUP GROUP ipclift me STREAMS deleted '>' >/dev/null
r XDEL deleted "$(r XRANGE deleted - + | head -n 1)" >/dev/null
r XADD deleted '*' data b >/dev/null
start deleted --consumer me in msg "$second" deleted
check "a pending entry that was deleted stops nobody" \
	within 5 holds msg "$second" 1
stop deleted
q get msg "$second" 1 100 >/dev/null

# ---- --claim ----------------------------------------------------------------

for group in never soon; do
	r XGROUP CREATE plain $group 0 >/dev/null
	r XREADGROUP GROUP $group dead COUNT 4 STREAMS plain '>' >/dev/null
	r XGROUP SETID plain $group '$' >/dev/null
done
start never --claim 0 --group never in mq /second plain
# What is used after it was freed shows.
MALLOC_PERTURB_=90 start soon --claim 1 --group soon \
	--metrics "$dir/claim.prom" in msg "$second" plain
check "--claim 1: what a dead consumer had" within 10 holds msg "$second" 4
check "is acknowledged" within 5 pending plain 0 soon
same "in their order" "$(q get msg "$second" 4 100)" "$(texts 77 1 3
	texts 1 1 1)"
stop soon
same "ipclift_bridge_claimed_total" \
	"$(value "$dir/claim.prom" ipclift_bridge_claimed_total)" 4
check "--claim 0: never" pending plain 4 never
stop never
check "nothing came" holds mq /second 0

# Of a consumer that is only blocked nothing is taken.
small2=$(q make msg 0x9a 30)
texts 1 1 30 | q put msg "$first"
run --count 30 out msg "$first" held
start full --claim 1 --consumer a in msg "$small2" held
check "full" within 5 holds msg "$small2" 10
within 5 pending held 20 || pending held 21 || echo "pending: $(r XPENDING \
	held ipclift)"
start other --claim 1 --consumer b in msg "$second" held
has=$(r XPENDING held ipclift - + 100 a | grep -c ^a$)
end=$((SECONDS + 4))
while [ $SECONDS -lt $end ]; do
	r XPENDING held ipclift - + 100 | grep -q "^b$" && break
	sleep 0.1
done
same "a full queue's bridge keeps its entries" \
	"$(r XPENDING held ipclift - + 100 a | grep -c ^a$)" "$has"
stop other
got=$(q get msg "$small2" $((10 + has)) 2000)
same "and sends them when there is room" "$got" \
	"$(texts 1 1 $((10 + has)))"
stop full
q count msg "$second" >"$dir/n"
q get msg "$second" "$(<"$dir/n")" 100 >/dev/null
same "none is lost" $(($(<"$dir/n") + 10 + has)) 30

# ---- --dedup ----------------------------------------------------------------

for id in x1 x2 x1 x3 x2 x1; do
	r XADD twice '*' id $id data $id >/dev/null
done
r XADD twice '*' data none >/dev/null
r XADD twice '*' data none >/dev/null
# names: what the queue has
names() {
	q get msg "$second" "$(q count msg "$second")" 100 | cut -d' ' -f2 |
		xxd -r -p
}
# twice OPTIONS...: a group of their own
twice() {
	start twice --metrics "$dir/twice.prom" "$@" in msg "$second" twice
	check "${*:-nothing asked}: all are acknowledged" \
		within 5 drained twice "${group:-ipclift}"
	stop twice
}
dropped() {
	value "$dir/twice.prom" ipclift_bridge_duplicates_total
}
group=d0
twice --group d0
same "without --dedup all" "$(names)" "x1x2x1x3x2x1nonenone"
group=d1
twice --group d1 --dedup 10
same "--dedup 10: once each; those without an id are others" "$(names)" \
	"x1x2x3nonenone"
same "ipclift_bridge_duplicates_total" "$(dropped)" 3
r XADD twice '*' id x1 data x1 >/dev/null
twice --group d1 --dedup 10
same "without a file a restart forgets" "$(names)" "x1"
group=d2
twice --group d2 --dedup 10 --dedup-file "$dir/ids"
names >/dev/null
r XADD twice '*' id x2 data x2 >/dev/null
twice --group d2 --dedup 10 --dedup-file "$dir/ids"
same "--dedup-file: not" "$(q count msg "$second") $(dropped)" "0 1"
for id in y1 y2 y3 y1; do
	r XADD few '*' id $id data $id >/dev/null
done
start few --dedup 2 in msg "$second" few
within 5 drained few ipclift
stop few
same "--dedup 2: the last two" "$(names)" "y1y2y3y1"

# ---- metrics ----------------------------------------------------------------

texts 1 1 7 | q put msg "$first"
run --metrics "$dir/m.prom" --count 7 out msg "$first" measured
names="messages_total bytes_total duplicates_total rejected_total claimed_total
reconnects_total connected blocked"
for name in $names; do
	check "ipclift_bridge_$name" [ "$(value "$dir/m.prom" \
		"ipclift_bridge_$name" 'direction="out"' | wc -l)" = 1 ]
	grep "^ipclift_bridge_$name{" "$dir/m.prom" | grep -F 'kind="msg"' |
		grep -F 'stream="measured"' | grep -qF 'queue="' ||
		fail "$name: direction, kind, queue, stream" "$dir/m.prom"
done
same "7 messages" "$(value "$dir/m.prom" ipclift_bridge_messages_total)" 7
same "of 21 bytes" "$(value "$dir/m.prom" ipclift_bridge_bytes_total)" 21
same "for others to read" "$(stat -c %a "$dir/m.prom")" 644
if command -v promtool >/dev/null; then
	same "promtool" "$(promtool check metrics <"$dir/m.prom" 2>&1)" ""
else
	echo "skip: no promtool (prometheus)"
fi
same "nothing beside it" "$(find "$dir" -name 'm.prom?*')" ""
start five --metrics "$dir/five.prom" out msg "$first" measured
check "a file within 5 seconds" within 8 test -s "$dir/five.prom"
texts 1 1 1 | q put msg "$first"
carried() {
	[ "$(value "$dir/five.prom" ipclift_bridge_messages_total)" = 1 ]
}
check "again after 5" within 8 carried
same "connected" "$(value "$dir/five.prom" ipclift_bridge_connected)" 1
stop five

# ---- --listen ---------------------------------------------------------------

if [ "$listens" ]; then
	start listen --listen 127.0.0.1:9911 out msg "$first" measured
	check "--listen" within 5 tells 9911 connected 1
	http 9911 >"$dir/said"
	same "200" "$(head -n 1 "$dir/said" | cut -d' ' -f2)" 200
	check "text" grep -qi '^content-type: text/plain' "$dir/said"
	same "the metrics of the file" \
		"$(grep -c '^ipclift_bridge' "$dir/said")" \
		"$(grep -c '^ipclift_bridge' "$dir/m.prom")"
	same "elsewhere" "$(http 9911 / | head -n 1 | cut -d' ' -f2)" 404
	runs "a port that is taken" 1 --listen 127.0.0.1:9911 --count 1 \
		out msg "$first" measured
	stop listen
fi

# ---- --file -----------------------------------------------------------------

third=$(q make msg 0x77 100000)
fourth=$(q make msg 0x78 100000)
cat >"$dir/lines" <<LINES
# two queues

  # and a comment behind blanks
--maxlen 5000 out msg 'key:0x77' "a \\"stream\\""
	in  msg $fourth   a\\ '"stream"'
LINES
texts 1 1 20 | q put msg "$third"
start lines --create --file "$dir/lines" --metrics "$dir/lines.prom" \
	${listens:+--listen 127.0.0.1:9911}
check "--file: a queue into a queue" within 5 holds msg "$fourth" 20
same "in order" "$(q get msg "$fourth" 20 100)" "$(texts 1 1 20)"
same "quotes, a backslash" "$(r EXISTS 'a "stream"')" 1
children() {
	pgrep -P "${pids[lines]}"
}
two() {
	[ "$(children | wc -l)" = 2 ]
}
check "a process each" two
if [ "$listens" ]; then
	check "metrics of one line" within 8 \
		tells 9911 messages_total 20 'direction="out"'
	check "and of the other" within 8 \
		tells 9911 messages_total 20 'direction="in"'
fi
# One is killed, and later the other.
for child in $(children); do
	kill -9 "$child"
	texts 1 1 3 | q put msg "$third"
	check "a line that is killed is started again" \
		within 8 holds msg "$fourth" 3
	same "in order" "$(q get msg "$fourth" 3 100)" "$(texts 1 1 3)"
	check "two again" within 5 two
done
old=$(children)
stop lines
none_left() {
	local child

	for child in $old; do
		! kill -0 "$child" 2>/dev/null || return 1
	done
}
check "none is left of it" within 2 none_left
if command -v promtool >/dev/null; then
	same "promtool" "$(promtool check metrics <"$dir/lines.prom" 2>&1)" ""
fi
for direction in in out; do
	for name in $names; do
		same "$direction: ipclift_bridge_$name" \
			"$(value "$dir/lines.prom" "ipclift_bridge_$name" \
				"direction=\"$direction\"" | wc -l)" 1
	done
done
# Options of the command hold where the line has none.
printf '%s\n' "out msg $third common" "--count 5 out msg $fourth own" \
	>"$dir/lines"
texts 1 1 9 | q put msg "$third"
texts 1 1 9 | q put msg "$fourth"
runs "all have ended by --count" 0 --count 3 --file "$dir/lines"
same "the command's and the line's own" \
	"$(r XLEN common) $(r XLEN own)" "3 5"
q get msg "$third" 6 100 >/dev/null
q get msg "$fourth" 4 100 >/dev/null
for line in "in msg" "--nonsense in msg $third x" "in sem 1 x" "'in msg 1 x" \
	"--metrics $dir/x in msg $third x" "--quiet in msg $third x" \
	"--listen 127.0.0.1:9 in msg $third x" "--file x in msg $third x" \
	"--redis redis://:secret@localhost in msg $third x"; do
	printf '%s\n' "--count 1 out msg $third bad" "$line" >"$dir/lines"
	texts 1 1 1 | q put msg "$third"
	runs "a bad line: $line" 2 --file "$dir/lines"
	check "nothing is started" holds msg "$third" 1
	q get msg "$third" 1 100 >/dev/null
done
printf '%s\n' "in msg $fourth nowhere" "out msg $third goes" >"$dir/lines"
start lines --file "$dir/lines"
check "a line fails" within 5 grep -q nowhere "$dir/lines.err"
texts 1 1 5 | q put msg "$third"
check "the other goes on" within 5 length goes 5
gone lines && fail "it goes on" "$dir/lines.err"
kill -TERM "${pids[lines]}"
ends lines 2
same "and the status is 1" "$status" 1

# ---- a full queue -----------------------------------------------------------

tight=$(q make msg 0x88 30)
q make mq /tight 5 100
texts 2 1 100 | q put msg "$first"
run --count 100 out msg "$first" pressed
start msg ${listens:+--listen 127.0.0.1:9911} in msg "$tight" pressed
check "a full queue of System V" within 5 holds msg "$tight" 10
[ -z "$listens" ] || check "ipclift_bridge_blocked 1" \
	within 5 tells 9911 blocked 1
q get msg "$tight" 100 3000 >"$dir/got"
check "none is lost" cmp "$dir/got" <(texts 2 1 100)
[ -z "$listens" ] || check "ipclift_bridge_blocked 0" \
	within 5 tells 9911 blocked 0
check "all are acknowledged" within 5 drained pressed ipclift
stop msg
start mq ${listens:+--listen 127.0.0.1:9912} --group mq in mq /tight pressed
check "a full POSIX queue" within 5 holds mq /tight 5
[ -z "$listens" ] || check "ipclift_bridge_blocked 1" \
	within 5 tells 9912 blocked 1
q get mq /tight 100 3000 >"$dir/got"
check "none is lost" cmp "$dir/got" <(texts 0 1 100)
[ -z "$listens" ] || check "ipclift_bridge_blocked 0" \
	within 5 tells 9912 blocked 0
stop mq
# Killed while it is blocked: the rest comes after the next start.
start msg --group again in msg "$tight" pressed
within 5 holds msg "$tight" 10
crash msg
q get msg "$tight" 10 100 >"$dir/got"
start msg --group again in msg "$tight" pressed
within 5 holds msg "$tight" 10
q get msg "$tight" 90 3000 >>"$dir/got"
within 5 drained pressed again
q get msg "$tight" "$(q count msg "$tight")" 100 >>"$dir/got"
check "killed while blocked: none is lost" cmp \
	<(sort -u "$dir/got") <(texts 2 1 100)
stop msg

# ---- Redis that is away -----------------------------------------------------

persistent=(--appendonly yes --appendfsync everysec)
start out --redis "unix://$dir/second/s" \
	${listens:+--listen 127.0.0.1:9911} out msg "$first" away
start in --redis "unix://$dir/second/s" --create --dedup 1000 \
	in msg "$second" away
texts 1 1 50 | q put msg "$first"
check "Redis is not there: a line" within 5 said out 1
check "and of the other" within 5 said in 1
[ -z "$listens" ] || check "ipclift_bridge_connected 0" \
	within 5 tells 9911 connected 0
server second "${persistent[@]}"
check "it comes: all is carried" within 12 holds msg "$second" 50
[ -z "$listens" ] || check "ipclift_bridge_connected 1" \
	within 5 tells 9911 connected 1
same "in their order" "$(q get msg "$second" 50 100)" "$(texts 1 1 50)"
said_out=$(grep -c . "$dir/out.err") said_in=$(grep -c . "$dir/in.err")
texts 1 51 400 | q put msg "$first" &
writer=$!
server_gone second
wait $writer
both_noticed() {
	[ "$(grep -c . "$dir/out.err")" -gt "$said_out" ] &&
		[ "$(grep -c . "$dir/in.err")" -gt "$said_in" ]
}
check "killed: both tell" within 10 both_noticed
server second "${persistent[@]}"
q get msg "$second" 350 12000 >"$dir/got"
check "and come again: all is carried, once" cmp \
	<(sort "$dir/got") <(texts 1 51 400)
for half in out in; do
	lines=$(grep -c . "$dir/$half.err")
	check "$half: few lines about it ($lines)" [ "$lines" -le 6 ]
done
[ -z "$listens" ] || check "ipclift_bridge_reconnects_total" [ "$(value \
	<(http 9911) ipclift_bridge_reconnects_total)" -ge 1 ]

# until_mended TEXT COMMAND...: what makes it well again
until_mended() {
	local text=$1 lines

	shift
	lines=$(grep -c . "$dir/out.err")
	texts 1 1 5 | q put msg "$first"
	more() {
		[ "$(grep -c . "$dir/out.err")" -gt "$lines" ]
	}
	check "$text: a line" within 8 more
	gone out && fail "$text: it ended" "$dir/out.err"
	"$@" >/dev/null
	same "$text: and then all is carried" "$(q get msg "$second" 5 12000)" \
		"$(texts 1 1 5)"
}
cli second CONFIG SET maxmemory 1 >/dev/null
until_mended "out of memory" cli second CONFIG SET maxmemory 0
cli second REPLICAOF 127.0.0.1 1 >/dev/null
until_mended "a read-only replica" cli second REPLICAOF NO ONE
stop out
stop in

# ---- passwords --------------------------------------------------------------

server locked --port 6390 --requirepass secret
export REDISCLI_AUTH=secret
cli locked ACL SETUSER bob on '>hidden' '~*' '&*' +@all >/dev/null
url() { # url FILE MODE URL
	rm -f "${dir:?}/$1"
	echo "$3" >"$dir/$1"
	echo "this is no URL" >>"$dir/$1"
	chmod "$2" "$dir/$1"
}
one() { # one TEXT STATUS ARGS...: carry a message to $stream
	texts 1 1 1 | q put msg "$first"
	runs "$1" "$2" --count 1 "${@:3}" out msg "$first" "$stream"
	if [ "$2" = 0 ]; then
		holds msg "$first" 0 || fail "$1: still in the queue"
	else
		same "$1: the message is in the queue" \
			"$(q get msg "$first" 1 100)" "$(texts 1 1 1)"
	fi
}
stream=locked
url good 600 redis://:secret@127.0.0.1:6390
url bob 400 redis://bob:hidden@127.0.0.1:6390/0
url wrong 600 redis://:wrong@127.0.0.1:6390
url none 600 redis://127.0.0.1:6390
url readable 644 redis://:secret@127.0.0.1:6390
url writable 602 redis://:secret@127.0.0.1:6390
one "--redis-file" 0 --redis-file "$dir/good"
one "a user of the ACL" 0 --redis-file "$dir/bob"
IPCLIFT_REDIS_URL=redis://:secret@127.0.0.1:6390 one "IPCLIFT_REDIS_URL" 0
check "three were carried" length locked 3 locked
one "a password on the command line" 2 --redis redis://:secret@127.0.0.1:6390
grep -q secret "$dir/err" && fail "and says it" "$dir/err"
one "a user and a password" 2 --redis redis://bob:hidden@127.0.0.1:6390
one "a wrong password" 1 --redis-file "$dir/wrong"
same "one line" "$(grep -c . "$dir/err")" 1
grep -q wrong@ "$dir/err" && fail "which has it" "$dir/err"
one "none where one is needed" 1 --redis-file "$dir/none"
same "one line" "$(grep -c . "$dir/err")" 1
for file in readable writable nowhere; do
	run --count 1 --redis-file "$dir/$file" out msg "$first" locked
	check "a file that is $file is refused" \
		[ "$status" = 1 -o "$status" = 2 ]
	grep -q "$file" "$dir/err" || fail "and says which" "$dir/err"
done
one "--redis-file before --redis" 0 --redis redis://127.0.0.1:1 \
	--redis-file "$dir/good"
IPCLIFT_REDIS_URL=redis://127.0.0.1:1 one "--redis before the environment" 0 \
	--redis redis://127.0.0.1:6379
check "the first of them" length locked 4 locked
check "the second" length locked 1
# The password is changed while it runs, and its connection is cut.
start out --redis-file "$dir/good" out msg "$first" locked
texts 1 1 1 | q put msg "$first"
within 5 length locked 5 locked
cli locked CONFIG SET requirepass other >/dev/null
REDISCLI_AUTH=other cli locked CLIENT KILL TYPE normal >/dev/null
texts 1 1 1 | q put msg "$first"
if ends out 8; then
	same "a password that was changed ends it" "$status" 1
else
	fail "a password that was changed does not end it" "$dir/out.err"
	crash out
fi
same "the message is in the queue" "$(q get msg "$first" 1 300)" \
	"$(texts 1 1 1)"
server_gone locked
unset REDISCLI_AUTH

# ---- unix:// and numbers of databases ---------------------------------------

stream=numbered
one "unix://" 0 --redis "unix://$dir/main/s"
one "?db=3" 0 --redis "unix://$dir/main/s?db=3"
one "/2" 0 --redis redis://127.0.0.1/2
same "each in its database" "$(for db in 0 2 3; do
	r -n $db XLEN numbered; done | xargs)" "1 1 1"
one "a host's name" 0 --redis redis://localhost:6379/2
same "in the other" "$(r -n 2 XLEN numbered)" 2

# ---- TLS --------------------------------------------------------------------

make_ca() { # make_ca NAME
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 2 -subj "/CN=$1" -keyout "${dir:?}/$1.key" \
		-out "$dir/$1.crt" 2>/dev/null
}
signed() { # signed NAME CA EXTENSION: its certificate
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-subj "/CN=$1" -keyout "${dir:?}/$1.key" -out "$dir/$1.csr" \
		2>/dev/null &&
		openssl x509 -req -days 2 -in "$dir/$1.csr" \
			-CA "$dir/$2.crt" -CAkey "$dir/$2.key" \
			-CAcreateserial -out "$dir/$1.crt" \
			-extfile <(echo "$3") 2>/dev/null
}
# refused TEXT ARGS...: it says that the certificate is not good, and carries
# nothing, whether it goes on trying or not
refused() {
	texts 1 1 1 | q put msg "$first"
	start refused "${@:2}" out msg "$first" tls
	check "$1: it says so" within 8 grep -qi \
		'certificate\|tls\|verif\|handshake' "$dir/refused.err"
	if within 1 gone refused >/dev/null; then
		ends refused 1
		same "$1: it ends with 1" "$status" 1
	else
		stop refused
	fi
	same "$1: the message is in the queue" \
		"$(q get msg "$first" 1 100)" "$(texts 1 1 1)"
	check "$1: nothing is carried" length tls "$carried" tls
}
if ! command -v openssl >/dev/null; then
	echo "skip: no openssl, no TLS"
elif make_ca ca && make_ca otherca &&
	signed name ca "subjectAltName=DNS:localhost" &&
	signed address ca "subjectAltName=IP:127.0.0.1" &&
	signed client ca "extendedKeyUsage=clientAuth"; then
	server tls --tls-port 6391 --tls-cert-file "$dir/name.crt" \
		--tls-key-file "$dir/name.key" \
		--tls-ca-cert-file "$dir/ca.crt" --tls-auth-clients no
	stream=tls
	one "rediss://, the name of the certificate" 0 \
		--redis rediss://localhost:6391 --cacert "$dir/ca.crt"
	same "it is carried" "$(cli tls XLEN tls)" 1
	run --cacert "$dir/ca.crt" --redis rediss://localhost:6391 --count 1 \
		in msg "$second" tls
	same "and back" "$(q get msg "$second" 1 100)" "$(texts 1 1 1)"
	carried=1
	refused "another CA" --redis rediss://localhost:6391 \
		--cacert "$dir/otherca.crt"
	refused "the system's CAs" --redis rediss://localhost:6391
	refused "another name" --redis rediss://127.0.0.1:6391 \
		--cacert "$dir/ca.crt"
	refused "no TLS at the other end" --redis rediss://localhost:6379 \
		--cacert "$dir/ca.crt"
	cli tls CONFIG SET tls-cert-file "$dir/address.crt" tls-key-file \
		"$dir/address.key" >/dev/null
	one "an address in the certificate" 0 \
		--redis rediss://127.0.0.1:6391 --cacert "$dir/ca.crt"
	carried=2
	refused "an address instead of the name" \
		--redis rediss://localhost:6391 --cacert "$dir/ca.crt"
	cli tls CONFIG SET tls-auth-clients yes >/dev/null
	one "--cert and --key" 0 --redis rediss://127.0.0.1:6391 \
		--cacert "$dir/ca.crt" --cert "$dir/client.crt" \
		--key "$dir/client.key"
	carried=3
	refused "a server that wants them" --redis rediss://127.0.0.1:6391 \
		--cacert "$dir/ca.crt"
	server_gone tls
else
	fail "no certificates by openssl"
fi

# ---- what trying again does not mend ----------------------------------------

r SET string x >/dev/null
texts 6 1 3 | q put msg "$first"
runs "WRONGTYPE" 1 out msg "$first" string
same "one line" "$(grep -c . "$dir/err")" 1
check "which says what" grep -q 'string\|WRONGTYPE' "$dir/err"
same "the messages are in the queue" "$(q get msg "$first" 3 100)" \
	"$(texts 6 1 3)"
texts 6 1 1 | q put mq /first
runs "WRONGTYPE, mq" 1 --batch 1 out mq /first string
same "the message is in the queue" "$(q get mq /first 1 100)" \
	"$(texts 6 1 1)"
runs "WRONGTYPE, in" 1 --create in msg "$first" string
runs "no queue of that id, out" 1 out msg 4711 s
runs "no queue of that id, in" 1 in msg 4711 plain
runs "no queue of that key" 1 out msg key:0x4711 s
runs "no queue of that name, out" 1 out mq /nowhere s
runs "no queue of that name, in" 1 in mq /nowhere plain

# Removed while it runs: idle, and with a message on its way.
removed=$(q make msg 0x55 1000)
start out out msg "$removed" s
texts 1 1 1 | q put msg "$removed"
check "it runs" within 5 length s 1
r XADD lively '*' data x >/dev/null
start in in msg "$removed" lively
check "both" within 5 drained lively ipclift
q drop msg "$removed"
check "removed: out ends" ends out 5
same "out: with 1" "$status" 1
r XADD lively '*' data y >/dev/null
check "removed: in ends" ends in 5
same "in: with 1" "$status" 1
left=$(of_group lively ipclift pending)$(of_group lively ipclift lag)
check "what it did not send stays pending, or new" [ "$left" != 00 ]
removed=$(q make msg 0x55 3)
r XADD lively '*' data zzz >/dev/null
start in --group blocked in msg "$removed" lively
check "full" within 5 holds msg "$removed" 2
q drop msg "$removed"
check "removed while it was full: in ends" ends in 5
same "in: with 1" "$status" 1

# A POSIX queue that has no name any more still takes what is sent to it.
unnamed() {
	"$tool" rm --registry "$IPCLIFT_REGISTRY" mq /unnamed
	q make mq /unnamed 10 100
	texts 0 1 3 >"$dir/sent"
	for data in 001 002 003; do
		r XADD unnamed '*' data $data >/dev/null
	done
}
q make mq /unnamed 10 100
r XADD unnamed '*' data x >/dev/null
start in in mq /unnamed unnamed
check "it runs" within 5 drained unnamed ipclift
unnamed
check "removed, and another of its name: in ends" ends in 5
same "in: with 1" "$status" 1
start in --wait in mq /unnamed unnamed
check "the other one has all" within 5 holds mq /unnamed 3
unnamed
check "with --wait: goes on with the new one" within 5 holds mq /unnamed 3
same "with all" "$(q get mq /unnamed 3 100)" "$(<"$dir/sent")"
check "all are acknowledged" within 5 drained unnamed ipclift
stop in

check "the registry is whole" at check
finish
