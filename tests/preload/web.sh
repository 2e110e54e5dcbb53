# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# web.sh - for the scripts that start a server and ask it; sourced behind
# scenario.sh. Each sets $server, the process whose children serve.

# A port below those that the kernel gives to clients: one of theirs may be taken.
some_port() {
	echo $((20000 + RANDOM % 12000))
}

# requests THREADS N URL...: how many of N are answered by "served". One whose
# server is killed meanwhile is asked for again, for five seconds.
requests() {
	python3 - "$@" <<-'END'
	import sys, threading, urllib.request
	threads, n, urls = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
	good = [0] * threads
	def go(k):
	    for i in range(n // threads):
	        for again in range(100):
	            try:
	                url = urls[(i + k) % len(urls)]
	                good[k] += urllib.request.urlopen(url, timeout=10).read() == b"served\n"
	                break
	            except OSError:
	                threading.Event().wait(0.05)
	t = [threading.Thread(target=go, args=(k,)) for k in range(threads)]
	[x.start() for x in t]
	[x.join() for x in t]
	print(sum(good))
	END
}

# killed_meanwhile WHO TIMES EACH THREADS N URL...: all are answered while so many
# times so many children of the server are killed
killed_meanwhile() {
	local who=$1 times=$2 each=$3 loader i

	shift 3
	requests "$@" >"$dir/good" &
	loader=$!
	for ((i = 0; i < times; i++)); do
		# shellcheck disable=SC2046
		kill -9 $(pgrep -P "$server" | shuf -n "$each") 2>/dev/null
		kill -0 $loader 2>/dev/null || break
	done
	wait $loader
	check "$who: all are answered while children are killed" \
		[ "$(cat "$dir/good")" = "$2" ]
}

# sets_are_served WHO: it has sets in the registry where "${look[@]}" looks, and
# none in the kernel
sets_are_served() {
	"${look[@]}" ipcs -s >"$dir/ipcs"
	check "$1: its locks are sets in the registry" grep -q '^0x' "$dir/ipcs"
	check "$1: and none is in the kernel" [ "$(kernel_objects)" = 0 ]
}
