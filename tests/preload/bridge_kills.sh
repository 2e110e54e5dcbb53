#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bridge_kills.sh - messages from a queue in one registry by `ipclift bridge
# out`, Redis and `ipclift bridge in` into a queue of a second registry, while
# both halves, and in a second run Redis as well, are killed with -9 at random
# moments and started again: none is missing or changed. How many came twice is
# told: an `in` that is killed between the queue and its list of ids sends one
# again.
#
# BRIDGE_SEED in the environment chooses the moments.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
tool=${IPCLIFT_TOOL:?}
for program in redis-server redis-cli setsid; do
	command -v "$program" >/dev/null || skip "no $program here"
done
unset IPCLIFT_REDIS_URL
redis='' loops=()
RANDOM=${BRIDGE_SEED:=$((SRANDOM % 32768))}
echo "BRIDGE_SEED=$BRIDGE_SEED"

# Messages, milliseconds that the writer takes at least, kills of each half at
# least, and of Redis.
if [ "${FULL:-0}" != 0 ]; then
	messages=100000 ms=40000 kills=60 redis_messages=20000 redis_ms=20000
	redis_kills=8
else
	messages=20000 ms=10000 kills=12 redis_messages=8000 redis_ms=10000
	redis_kills=4
fi

# shellcheck disable=SC2329 # called by trap
at_end() {
	local file

	kill -9 "${loops[@]}" ${redis:+"$redis"} 2>/dev/null
	for file in "$dir"/*.group; do
		[ ! -s "$file" ] || kill -9 -- "-$(<"$file")" 2>/dev/null
	done
	# shellcheck disable=SC2046 # each
	kill -9 $(jobs -p) 2>/dev/null
	wait 2>/dev/null
	scenario_cleanup
}
trap at_end EXIT
app=$(helper bridge) || skip "no compiler"

# within SECONDS COMMAND...: it succeeds so soon
within() {
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || {
			echo "not in time: $*"
			return 1
		}
		sleep 0.05
	done
}
# q REGISTRY COMMAND...
q() {
	IPCLIFT_REGISTRY=$dir/$1 LD_PRELOAD=$shim exec "$app" "${@:2}"
}
# In a shell of its own, which q becomes.
queue() {
	(q "$@")
}
cli() {
	redis-cli -s "$dir/redis/s" "$@"
}
answers() {
	[ "$(cli ping)" = PONG ]
}
start_redis() {
	redis-server --dir "$dir/redis" --unixsocket "$dir/redis/s" --port 0 \
		--save '' --appendonly yes --appendfsync everysec \
		--loglevel warning >>"$dir/redis/log" 2>&1 &
	redis=$!
	within 15 answers || fail "redis-server" "$dir/redis/log"
}

words_of() { # words_of HALF: of its command; $from and $to are the queues
	local batches=(1 3 16 64 500)

	words=("$tool" bridge --redis "unix://$dir/redis/s"
		--batch "${batches[RANDOM % 5]}")
	if [ "$1" = out ]; then
		words+=(--registry "$dir/one" out msg "$from" stream)
	else
		words+=(--registry "$dir/two" --create --dedup 1000
			--dedup-file "$dir/ids" in msg "$to" stream)
	fi
}

# killed HALF SEED LONGEST: run it again and again, so many milliseconds at
# most, until $dir/stop; the number of kills is in $dir/HALF.kills
killed() {
	local half=$1 longest=$3 n=0 group status words wait_ms

	trap 'exit 130' TERM
	RANDOM=$2
	: >"$dir/$half.odd"
	while [ ! -e "$dir/stop" ]; do
		words_of "$half"
		setsid "${words[@]}" >>"$dir/$half.said" 2>&1 </dev/null &
		group=$!
		echo $group >"$dir/$half.group"
		# Every second one while it begins or has just begun.
		wait_ms=$((5 + RANDOM % (RANDOM % 2 ? 60 : longest)))
		sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
		# The group is there once setsid has made it.
		until kill -9 -- "-$group" 2>/dev/null; do
			kill -0 $group 2>/dev/null || break
		done
		wait $group 2>/dev/null
		status=$?
		# The child is ended too; its zombie waits for whoever is init.
		while pgrep -g $group -r R,S,D,T >/dev/null; do :; done
		[ $status = 137 ] || echo "$status" >>"$dir/$half.odd"
		echo $((n += 1)) >"$dir/$half.kills"
	done
	: >"$dir/$half.group"
}
# redis_killed N MS: so many times within about that time
redis_killed() {
	local i wait_ms

	for ((i = 0; i < $1; i++)); do
		wait_ms=$(($2 / $1 / 2 + RANDOM % ($2 / $1 / 2)))
		sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
		kill -9 "$redis"
		wait "$redis" 2>/dev/null
		[ $((RANDOM % 2)) = 0 ] || sleep 0.3
		start_redis
	done
}
# of_group FIELD: what Redis knows of the group
of_group() {
	cli XINFO GROUPS stream | sed -n "/^$1/{n;p}"
}
# Both halves, which Redis knows from after client $last: they are connected, and
# so take a signal for what it means.
connected() {
	[ "$(cli CLIENT LIST | awk -F '[ =]' -v last="$last" \
		'$2 > last && !/ cmd=client/' | wc -l)" = 2 ]
}
idle() { # nothing is on its way
	[ "$(queue one count msg "$from")" = 0 ] &&
		[ "$(of_group pending)" = 0 ] && [ "$(of_group lag)" = 0 ]
}

# storm TEXT MESSAGES MS KILLS LONGEST REDIS_KILLS
storm() {
	local text=$1 messages=$2 ms=$3 kills=$4 longest=$5 half reader writer
	local seconds=$((ms / 1000 + 60)) n began=$SECONDS groups=() words last

	rm -rf "${dir:?}"/{one,two,ids,stop,done,redis} "$dir"/*.said
	mkdir "$dir/redis"
	start_redis
	"$tool" create "$dir/one" >/dev/null
	"$tool" create "$dir/two" >/dev/null
	from=$(queue one make msg 5 60000) || return
	to=$(queue two make msg 5 60000) || return
	q two read "$to" "$messages" $seconds "$dir/done" >"$dir/read" 2>&1 &
	reader=$!
	q one write "$from" "$messages" "$ms" >"$dir/written" 2>&1 &
	writer=$!
	loops=()
	for half in out in; do
		rm -f "$dir/$half.kills"
		killed $half "$RANDOM" "$longest" &
		loops+=($!)
	done
	[ "$6" = 0 ] || redis_killed "$6" "$ms"
	# The reader has each, or its time is over.
	while kill -0 $reader 2>/dev/null; do
		grep -q '^all' "$dir/read" && break
		sleep 0.05
	done
	: >"$dir/stop"
	wait "${loops[@]}"
	loops=()
	kill -9 $writer 2>/dev/null && fail "$text: the writer is not done" \
		"$dir"/{out,in}.said
	wait $writer 2>/dev/null
	for half in out in; do
		n=$(<"$dir/$half.kills")
		check "$text: $half was killed $n times" [ "$n" -ge "$kills" ]
		check "$text: $half did not end otherwise" \
			[ ! -s "$dir/$half.odd" ]
		[ ! -s "$dir/$half.odd" ] || head -n 20 "$dir/$half.said"
	done

	# What is on its way still, by halves that nobody kills.
	last=$(cli CLIENT ID)
	for half in out in; do
		words_of $half
		setsid "${words[@]}" >>"$dir/$half.said" 2>&1 </dev/null &
		groups+=($!)
		echo $! >"$dir/$half.group"
	done
	check "$text: both halves begin" within 20 connected
	check "$text: all is carried" within 20 idle
	for n in "${groups[@]}"; do
		kill "$n"
		wait "$n"
		check "$text: ends in order" [ $? = 0 ]
	done
	rm -f "$dir"/*.group
	: >"$dir/done"
	wait $reader
	check "$text: the reader says so: $(tail -n 1 "$dir/read")" \
		grep -q '^missing 0 double [0-9]* changed 0$' "$dir/read"
	n=$(sed -n 's/.* double \([0-9]*\) .*/\1/p' "$dir/read")
	echo "$text: $messages messages, $(cli XLEN stream) entries, ${n:-?}" \
		"came twice to the reader, $((SECONDS - began)) s"
	# --dedup drops what the stream has twice; left are those whose `in` was
	# killed at the wrong moment, a batch each at most.
	check "$text: few came twice" \
		[ "${n:-0}" -le $((64 * $(<"$dir/in.kills"))) ]
	for half in one two; do
		check "$text: registry $half is whole" \
			"$tool" check --registry "$dir/$half"
	done
	"$tool" show --registry "$dir/one" msg "$from" >"$dir/shown"
	grep -q '^Received' "$dir/shown" && fail "on lease" "$dir/shown"
	kill -9 "$redis"
	wait "$redis" 2>/dev/null
	redis=''
}

storm "both are killed" "$messages" "$ms" "$kills" 400 0
storm "and Redis" "$redis_messages" "$redis_ms" 5 2000 "$redis_kills"
finish
