#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# compare.sh: the same random calls on the kernel and under the shim.
#
#	compare.sh --shim PATH [--bin PATH] [--calls N] [ARG...] [SEED...]
#
# For every seed sem_random runs in a fresh IPC namespace, then with a fresh
# registry under the shim; prints `seed S: ok`, or the first lines where the
# two differ with what went before them. ARGs that begin with -- go to
# sem_random (--ids-only, --next-id, --no-fault). `--shim none` runs the kernel
# twice: that must always be ok. Default seeds 1 ... 5. Exit 1 on a difference.
#
# --keep DIR leaves the differing transcripts in DIR.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin= shim= keep= calls=200000 limit=600
pass=() seeds=()
usage() { sed -n '4,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while (($#)); do
	case $1 in
	--shim) shim=${2-}; shift ;;
	--bin) bin=${2-}; shift ;;
	--calls) calls=${2-}; shift ;;
	--keep) keep=${2-}; shift ;;
	--timeout) limit=${2-}; shift ;;
	--*) pass+=("$1") ;;
	[0-9]*) seeds+=("$1") ;;
	*) usage ;;
	esac
	shift
done
[[ -n $shim ]] || usage
((${#seeds[@]})) || seeds=(1 2 3 4 5)
if [[ -z $bin ]]; then
	for bin in "$here/sem_random" "$here/../../build/tests/model/sem_random"; do
		[[ -x $bin ]] && break
	done
fi
[[ -x $bin ]] || { echo "compare.sh: no program $bin" >&2; exit 2; }
if [[ $shim != none ]]; then
	shim=$(realpath -e "$shim") || exit 2
fi

# The registry goes where others can be reached by two helpers that are not
# root; they use the mapping they inherit, but a re-open must not fail for the
# directory's sake.
work=$(mktemp -d /tmp/ipclift-model-XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
chmod 0755 "$work"

# run WORLD SEED: the transcript on stdout
run() {
	local world=$1 seed=$2 env=()
	if [[ $world == shim && $shim != none ]]; then
		rm -rf "$work/registry"
		mkdir "$work/registry"
		env=(env "LD_PRELOAD=$shim"
			"IPCLIFT_REGISTRY=$work/registry/file"
			IPCLIFT_LIMITS=kernel)
	fi
	timeout -k 5 "$limit" unshare --ipc --mount -- "${env[@]}" \
		"$bin" --calls "$calls" --seed "$seed" "${pass[@]}"
}

status=0
for seed in "${seeds[@]}"; do
	end=
	for world in kernel shim; do
		run "$world" "$seed" >"$work/$world" 2>"$work/$world.err"
		rc=$?
		((rc)) && end+=", $world ended with status $rc: $(tail -n 1 "$work/$world.err")"
	done
	if cmp -s "$work/kernel" "$work/shim" && [[ -z $end ]]; then
		echo "seed $seed: ok ($(wc -l <"$work/kernel") lines, $(tail -n 1 "$work/kernel"))"
		continue
	fi
	status=1
	line=$(cmp "$work/kernel" "$work/shim" 2>&1 | sed -n 's/.*line \([0-9]*\).*/\1/p')
	: "${line:=1}"
	echo "seed $seed: DIFFERENT at line $line$end"
	from=$((line > 8 ? line - 8 : 1))
	sed -n "${from},$((line - 1))p" "$work/kernel" | sed 's/^/    /'
	sed -n "${line},$((line + 1))p" "$work/kernel" | sed 's/^/  kernel: /'
	sed -n "${line},$((line + 1))p" "$work/shim" | sed 's/^/  shim:   /'
	if [[ -n $keep ]]; then
		mkdir -p "$keep"
		cp "$work/kernel" "$keep/$seed.kernel"
		cp "$work/shim" "$keep/$seed.shim"
	fi
done
exit $status
