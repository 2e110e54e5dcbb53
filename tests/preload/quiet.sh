#!/bin/bash
# SPDX-License-Identifier: MIT
#
# quiet.sh - what the shim changes in its process: nothing at all in a program without
# IPC, and after the first call no descriptor, no handler and no setting that the
# application would notice. The scenes of app_quiet.c, first on the kernel, then under the
# shim, by glibc and by musl.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"

if command -v strace >/dev/null; then
	calls() {
		strace -f -E LD_PRELOAD="$1" -o "$dir/trace" /bin/echo said \
			>"$dir/out" 2>"$dir/err"
		# The library is opened, read and mapped: what is left must be
		# the same, addresses apart.
		sed 's/^[0-9]* *//; s/(.*//; s/ = .*//; s/ .*//' "$dir/trace" |
			sort | uniq -c
	}
	calls "" >"$dir/calls.without"
	calls "$shim" >"$dir/calls.with"
	check "a program without IPC says what it says" \
		diff "$dir/out" <(echo said)
	[ -s "$dir/err" ] && fail "and something more" "$dir/err"
	check "no registry is made" [ ! -e "$IPCLIFT_REGISTRY" ]
	grep openat "$dir/trace" | grep -v ENOENT | grep -o '"[^"]*"' |
		grep -vF -e libipclift.so -e libc.so -e locale -e gconv \
			-e ld.so.cache >"$dir/opened"
	check "no other file is opened" [ ! -s "$dir/opened" ]
	n=$(diff "$dir/calls.without" "$dir/calls.with" |
		awk '/^[<>]/ { n += $1 == ">" ? $2 : -$2 } END { print n + 0 }')
	check "loading it takes $n system calls" [ "$n" -le 16 ]

	# The first run makes the registry, which the second only maps.
	program=$(helper quiet gcc) || exit 1
	# Not the signals' handlers, each asked for: 0.13 us a call, and what
	# tells of all, in /proc, takes longer than the 62.
	between() {
		awk -v from="\"$1\"" -v to="\"$2\"" 'index($0, to) { on = 0 }
			on && !/rt_sigaction/ { n++ } index($0, from) { on = 1 }
			END { print n + 0 }' "$dir/trace"
	}
	for ((i = 0; i < 2; i++)); do
		strace -f -E LD_PRELOAD="$shim" -o "$dir/trace" "$program" \
			first_calls >"$dir/out" 2>"$dir/err"
	done
	n=$(between begin made)
	check "the first call of a program takes $n system calls" \
		[ "$n" -ge 1 -a "$n" -le 39 ]
	n=$(between child "done")
	check "the first call of a child takes $n" [ "$n" -ge 1 -a "$n" -le 10 ]
	strace -f -E LD_PRELOAD="$shim" -o "$dir/trace" "$program" \
		finders >"$dir/out" 2>"$dir/err"
	n=$(between begin sought)
	check "one that only looks for a key takes $n" \
		[ "$n" -ge 1 -a "$n" -le 30 ]
	n=$(sed -n '/"begin"/,/"found"/p' "$dir/trace" | grep -c rt_sigaction)
	check "and asks for $n handlers" [ "$n" -eq 0 ]
	n=$(between sought found)
	check "the next ones take $n" [ "$n" -eq 0 ]
	strace -f -E LD_PRELOAD="$shim" -o "$dir/trace" "$program" \
		reopened >"$dir/out" 2>"$dir/err"
	n=$(between begin closed)
	check "mq_open and mq_close take $n" [ "$n" -ge 1 -a "$n" -le 2 ]
else
	echo "skip: no strace"
fi
loop() {
	for ((i = 0; i < 200; i++)); do LD_PRELOAD=$1 /bin/true; done
}
without=$({ TIMEFORMAT=%R; time loop ""; } 2>&1)
with=$({ TIMEFORMAT=%R; time loop "$shim"; } 2>&1)
echo "     200 programs without IPC: $without s, with the shim $with s"

# The least of ten: where the kernel puts stack and libraries decides on a page
# or two.
least() {
	local i

	for ((i = 0; i < 10; i++)); do "$@"; done | sort -n | head -n 1
}
for cc in gcc musl-gcc; do
	command -v $cc >/dev/null || { echo "skip: no $cc"; continue; }
	program=$(helper quiet $cc) || exit 1
	# What runs around a fork has pages of its own, a code page or two in the
	# child; and musl does not tell whether there are other threads, so that
	# each fork is noted, in the parent and the child.
	more=2
	[ $cc = gcc ] || more=6
	without=$(least "$program" forks)
	with=$(least shimmed "$program" forks)
	check "a fork without IPC takes $with page faults, $without without ($cc)" \
		[ "$with" -le $((without + more)) ]
	# The wiped page, .data and .bss, the caller, three pages of the registry,
	# the vDSO's header, and of text and constants what lies in a chunk of 16
	# pages or two. If that lay anywhere, 11 to 14, with musl 18 to 20.
	more=9
	[ $cc = gcc ] || more=16
	without=$(least unshare --ipc "$program" firsts)
	with=$(least shimmed "$program" firsts)
	check "a child's first call takes $with page faults, $without without ($cc)" \
		[ "$with" -le $((without + more)) ]
	# Five for any library that is preloaded: its tables, what is relocated
	# and what begins as zero; three of text for signal(2), which is ours.
	# Where they lie in a chunk of 16 pages decides on some more.
	more=11
	[ $cc = gcc ] || more=13
	without=$(least "$program" starts)
	with=$(least shimmed "$program" starts)
	check "a start without IPC takes $with page faults, $without without ($cc)" \
		[ "$with" -le $((without + more)) ]
	for scene in descriptors daemons bomb threads stacks chrooted \
		unshared strict three_fds children handlers bare finders \
		reopened; do
		# In the kernel's strict mode a semop is the end.
		[ $scene = strict ] || check "$scene ($cc, kernel)" \
			unshare --ipc "$program" $scene
		check "$scene ($cc)" shimmed "$program" $scene
	done
done
check "the kernel is untouched" kernel_untouched
finish
