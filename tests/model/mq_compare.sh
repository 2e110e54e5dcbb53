#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# mq_compare.sh: the same random calls on message queues on the kernel and
# under the shim.
#
#	mq_compare.sh --shim PATH --bin PATH [--calls N] [SEED...]
#
# For every seed mq_random runs in a fresh IPC namespace, then with a fresh
# registry; prints `seed S: ok`, or where the two differ. Exit 1 on a
# difference.
set -u
bin= shim= calls=200000 seeds=()
while (($#)); do
	case $1 in
	--shim) shim=$(realpath -e "$2") || exit 2; shift ;;
	--bin) bin=$2; shift ;;
	--calls) calls=$2; shift ;;
	[0-9]*) seeds+=("$1") ;;
	*) sed -n '4,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
	shift
done
((${#seeds[@]})) || seeds=(1 2 3)
[[ -n $shim && -x $bin ]] || exit 2
work=$(mktemp -d /dev/shm/mqmodel-XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
chmod 0711 "$work"
status=0
for seed in "${seeds[@]}"; do
	timeout 300 unshare --ipc --mount "$bin" --calls "$calls" \
		--seed "$seed" >"$work/kernel" || echo "kernel: status $?"
	rm -rf "$work/registry" "$work/registry.mq"
	timeout 300 unshare --ipc --mount env "LD_PRELOAD=$shim" \
		"IPCLIFT_REGISTRY=$work/registry" IPCLIFT_LIMITS=kernel \
		"$bin" --calls "$calls" --seed "$seed" >"$work/shim" ||
		echo "shim: status $?"
	if cmp -s "$work/kernel" "$work/shim"; then
		echo "seed $seed: ok ($(wc -l <"$work/kernel") lines)"
		continue
	fi
	status=1
	echo "seed $seed: DIFFERENT"
	diff "$work/kernel" "$work/shim" | head -8
	line=$(cmp "$work/kernel" "$work/shim" | sed -n 's/.*line //p')
	sed -n "$((line > 12 ? line - 12 : 1)),$((line))p" "$work/kernel" |
		sed 's/^/    /'
done
exit $status
