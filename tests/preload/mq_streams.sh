#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mq_streams.sh - a queue's descriptor as standard output, of programs that write
# there by libc's streams: they fail as on the kernel when they flush or close
# the stream, and no byte of it is left where poll asks. And as standard input,
# of programs that read the status line by libc's stdin.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
export LC_ALL=C
mount -t mqueue none /dev/mqueue 2>/dev/null || skip "no mqueue mount"

world() {
	if [ "$pass" = shim ]; then
		IPCLIFT_LIMITS=kernel LD_PRELOAD=$shim timeout 20 "$@"
	else
		timeout 20 "$@"
	fi
}
# told WORD...: the program's words, and its exit status
told() {
	echo "-- $*"
	world "$program" "$@" 9>&1 >"$dir/its.out" 2>"$dir/its.err"
	echo "exit status $?"
	cat "$dir/its.out" "$dir/its.err"
}
# by SCRIPT: a shell that opens the queue by its path
by() {
	echo "-- $1"
	world bash -c "$1" self "$program" 9>&1 2>&1
	echo "exit status $?"
}
q=/dev/mqueue/streams
steps() {
	told make
	told ready
	told copied
	told ready
	told copied polled
	told by-line
	told by-line polled
	told ready
	by "\$1 input <$q"
	by "exec 7<$q; \$1 input <&7; cat <&7"
}
tools() {
	by "echo x >$q"
	by "printf abc >$q; echo \$?; printf def"
	by "exec 3<>$q; echo y >&3; echo z >&3; cat <&3"
	by "(echo x) >$q; { echo x | cat; } >$q"
	told ready
	by "date >$q"
	by "ls / >$q"
	by "read -r line <$q; echo \$line"
	by "mapfile lines <$q; echo \${lines[@]}"
	by "tail -n 1 <$q; tail -c 5 $q"
	by "dd if=$q status=none"
	by "echo hi | tee $q"
	by "sort <$q; sed p <$q; nl <$q; od -c <$q; cut -c1-5 <$q"
	by "xargs echo <$q; (sed -n 1p; cat) <$q; sh -c 'sort; sort' <$q"
	by "exec 7<$q; sort <&7; sort <&7"
	by "python3 -c 'print(5)' >$q"
	by "python3 -c 'import sys; print(sys.stdin.read())' <$q"
	by "perl -ne print <$q; perl -e 'print 5; close STDOUT or die' >$q"
	told ready
}

compilers=gcc
command -v musl-gcc >/dev/null && compilers="gcc musl-gcc"
for cc in $compilers; do
	program=$(helper streams "$cc") || exit 1
	for pass in kernel shim; do
		{
			steps
			[ $cc = musl-gcc ] || tools
		} >"$dir/$pass.$cc"
	done
	check "$cc: the same on both" diff -u "$dir/kernel.$cc" "$dir/shim.$cc"
done
finish
