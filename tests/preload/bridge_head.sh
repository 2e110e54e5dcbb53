# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# bridge_head.sh - the head of bridge.sh and bridge_faults.sh, to be sourced first
# of all: servers of Redis and bridges of the test's own, and what is asked of them.
#
# In a network of its own: any port is free, and the cable can be pulled.

if [ -z "${SCENARIO_INSIDE-}" ]; then
	unshare --ipc --mount --net true 2>/dev/null ||
		{ echo "skip: unshare needs root"; exit 77; }
	SCENARIO_INSIDE=1 exec unshare --ipc --mount --net "$BASH" "$0" "$@"
fi
. "$(dirname "$0")/scenario.sh"
tool=${IPCLIFT_TOOL:?}
for program in redis-server redis-cli ip; do
	command -v "$program" >/dev/null || skip "no $program here"
done
unset IPCLIFT_REDIS_URL
declare -A pids=() servers=()

# shellcheck disable=SC2329 # called by trap
at_end() {
	local pid

	for pid in "${pids[@]}"; do
		kill -9 -- "-$pid" 2>/dev/null
	done
	# shellcheck disable=SC2046 # each
	kill -9 $(jobs -p) 2>/dev/null
	wait 2>/dev/null
	scenario_cleanup
}
trap at_end EXIT
ip link set lo up || skip "no loopback in a namespace"
app=$(helper bridge) || skip "no compiler"

# ---- what the checks are made of --------------------------------------------

# same TEXT GOT WANTED
same() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		fail "$1: '$2' instead of '$3'"
	fi
}
# within SECONDS COMMAND...: it succeeds so soon
within() {
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/./}" -lt "$end" ] || {
			echo "not in time: $*"
			return 1
		}
		sleep 0.02
	done
}
q() {
	LD_PRELOAD=$shim "$app" "$@"
}
holds() { # holds KIND QUEUE N: so many are in it
	[ "$(q count "$1" "$2")" = "$3" ]
}
at() {
	"$tool" "$1" --registry "$IPCLIFT_REGISTRY" "${@:2}"
}
# texts TYPE FROM TO: lines for `put`: numbers in hexadecimal of three digits
texts() {
	local i

	for ((i = $2; i <= $3; i++)); do
		printf '%d 3%d3%d3%d\n' "$1" $((i / 100)) $((i / 10 % 10)) \
			$((i % 10))
	done
}

# server NAME [ARGS...]: a Redis in $dir/NAME, answering
server() {
	local name=$1

	shift
	mkdir -p "$dir/$name"
	# `entries` of large data takes long: others wait, and are not refused.
	redis-server --dir "$dir/$name" --unixsocket "$dir/$name/s" --port 0 \
		--save '' --loglevel warning --bind 127.0.0.1 \
		--lua-time-limit 0 "$@" \
		>>"$dir/$name/log" 2>&1 &
	servers[$name]=$!
	within 10 answers "$name" || fail "redis-server $*" "$dir/$name/log"
}
answers() {
	cli "$1" ping | grep -q 'PONG\|NOAUTH'
}
server_gone() { # server_gone NAME [SIGNAL]
	kill "-${2:-9}" "${servers[$1]}"
	wait "${servers[$1]}" 2>/dev/null
	unset "servers[$1]"
}
cli() { # cli NAME COMMAND...
	redis-cli -s "$dir/$1/s" "${@:2}"
}
r() {
	cli main "$@"
}

# entries STREAM [SERVER]: a line each, FIELD=VALUE... as they come, the data in
# hexadecimal
entries() {
	cli "${2:-main}" EVAL "
		local out = {}
		for _, e in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do
			local line = {}
			for i = 1, #e[2], 2 do
				local v = e[2][i + 1]
				if e[2][i] == 'data' then
					v = v:gsub('.', function(c)
						return string.format('%02x',
							c:byte())
					end)
				end
				line[#line + 1] = e[2][i] .. '=' .. v
			end
			out[#out + 1] = table.concat(line, ' ')
		end
		return out" 1 "$1"
}
# fields FIELD STREAM: its values
fields() {
	entries "${@:2}" | tr ' ' '\n' | sed -n "s/^$1=//p"
}
# as_lines FIELD STREAM: entries as `put` reads them
as_lines() {
	paste -d ' ' <(fields "$1" "${@:2}") <(fields data "${@:2}")
}
# of_group STREAM GROUP FIELD [SERVER]: what XINFO GROUPS says
of_group() {
	cli "${4:-main}" XINFO GROUPS "$1" | paste - - - - - - - - - - - - |
		awk -F '\t' -v g="$2" -v f="$3" '$2 == g {
			for (i = 1; i < NF; i += 2)
				if ($i == f) print $(i + 1) }'
}
# drained STREAM GROUP [SERVER]: all of it is delivered and acknowledged
drained() {
	[ "$(of_group "$1" "$2" last-delivered-id "${3:-main}")" = \
		"$(cli "${3:-main}" XINFO STREAM "$1" |
			sed -n '/^last-generated-id/{n;p}')" ] &&
		[ "$(of_group "$1" "$2" pending "${3:-main}")" = 0 ]
}
length() { # length STREAM N [SERVER]
	[ "$(cli "${3:-main}" XLEN "$1")" = "$2" ]
}

# run ARGS...: the bridge until its end; the exit status is in $status
run() {
	timeout -s KILL 20 "$tool" bridge "$@" >"$dir/out" 2>"$dir/err" \
		</dev/null
	status=$?
}
# runs TEXT WANTED ARGS...: its exit status
runs() {
	run "${@:3}"
	if [ "$status" = "$2" ]; then
		ok "$1"
	else
		fail "$1: exit status $status instead of $2" "$dir/err"
	fi
}
# start NAME ARGS...: in the background, a process group of its own
start() {
	local name=$1

	shift
	[ -z "${pids[$name]-}" ] || crash "$name"
	setsid "$tool" bridge "$@" >"$dir/$name.out" 2>"$dir/$name.err" \
		</dev/null &
	pids[$name]=$!
}
gone() {
	! kill -0 "${pids[$1]}" 2>/dev/null
}
group_gone() {
	! kill -0 -- "-${pids[$1]}" 2>/dev/null
}
# ends NAME SECONDS: it ends by itself, and leaves none behind; $status
ends() {
	status=late
	within "$2" gone "$1" || return 1
	wait "${pids[$1]}"
	status=$?
	within 1 group_gone "$1" || fail "$1: a process of it is left"
	unset "pids[$1]"
}
# stop NAME [SIGNAL [SECONDS]]: it ends with 0 within 2 seconds
stop() {
	kill "-${2:-TERM}" "${pids[$1]}"
	ends "$1" "${3:-2}"
	[ "$status" != 0 ] || return 0
	[ "$status" != late ] || crash "$1"
	fail "$1: exit status $status after SIG${2:-TERM}" "$dir/$1.err"
	return 1
}
crash() {
	kill -9 -- "-${pids[$1]}" 2>/dev/null
	wait "${pids[$1]}" 2>/dev/null
	within 2 group_gone "$1"
	unset "pids[$1]"
}
said() { # said NAME LINES: so many are on stderr
	[ "$(grep -c . "$dir/$1.err")" = "$2" ]
}
# value FILE METRIC [LABEL]: of a metrics file
value() {
	awk -v m="$2{" -v l="${3-}" 'index($0, m) == 1 && index($0, l) {
		print $NF }' "$1"
}
http() { # http PORT [PATH]
	timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/$1 || exit
		printf "GET %s HTTP/1.0\r\nHost: x\r\n\r\n" "$2" >&3
		cat <&3' http "$1" "${2:-/metrics}" 2>/dev/null | tr -d '\r'
}
# tells PORT METRIC VALUE [LABEL]: now, by --listen
tells() {
	[ "$(value <(http "$1") "ipclift_bridge_$2" "${4-}")" = "$3" ]
}

new_registry
"$tool" create "$IPCLIFT_REGISTRY" >/dev/null
at set msgmax=1000000 msgmnb=4000000
server main --port 6379
