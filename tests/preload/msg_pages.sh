#!/bin/bash
# SPDX-License-Identifier: MIT
#
# msg_pages.sh - a queue that was emptied gives its pages back to the file
# system, whatever the size of its messages; and a queue in which a few come and
# go makes no system call.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"

${CC:-cc} -O1 -o "$dir/app_pages" "$here/app_pages.c" || exit 1
for size in 60 600 1500 3000 8192; do
	rm -f "$IPCLIFT_REGISTRY"
	out=$(LD_PRELOAD=$shim IPCLIFT_LIMITS=roomy "$dir/app_pages" $size) ||
		fail "size $size: status $?"
	{ read -r before full after; read -r quiet; } <<<"$out"
	# Arbitrary: two slabs of 128 KiB, a chunk, and what the heap reserves at
	# a time.
	most=$((before + 640))
	if ((full - before < 1000 * size / 1024 / 2)); then
		fail "size $size: $full KiB with the messages, $before without"
	elif ((after > most)); then
		fail "size $size: $before KiB, full $full, emptied $after"
	else
		ok "size $size: $before KiB, full $full, emptied $after"
	fi
	[[ $quiet == quiet ]] || fail "size $size: a system call in steady state"
done
finish
