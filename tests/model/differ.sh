#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# differ.sh: the same script of calls that block, on the kernel and under the
# shim, and what differs made small.
#
#	differ.sh --shim PATH [--bin PATH] [--steps N] [--length N] [--keep DIR] SEED...
#	differ.sh --shim PATH [--bin PATH] [--keep DIR] --script FILE
#
# The kernel's run makes the script (differ.c) and writes it with its results; the
# shim's run follows it, at the same time. Prints `seed S: ok (N steps, N a
# second)`; or the first step that differs, and a script that shows it, without
# whatever steps the difference does not need. --script takes such a script.
# `--shim none` runs the kernel twice: that must always be ok. Exit 1 on a
# difference; what differs is left in DIR.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin= shim= keep= script= steps=5000 length=250 limit=3600
seeds=()
usage() {
	sed -n '4,16s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
while (($#)); do
	case $1 in
	--shim) shim=${2-}; shift ;;
	--bin) bin=${2-}; shift ;;
	--steps) steps=${2-}; shift ;;
	--length) length=${2-}; shift ;;
	--keep) keep=${2-}; shift ;;
	--script) script=${2-}; shift ;;
	[0-9]*) seeds+=("$1") ;;
	*) usage ;;
	esac
	shift
done
[[ -n $shim ]] || usage
[[ -n $script ]] || ((${#seeds[@]})) || usage
if [[ -z $bin ]]; then
	for bin in "$here/differ" "$here/../../build/tests/model/differ"; do
		[[ -x $bin ]] && break
	done
fi
[[ -x $bin ]] || {
	echo "differ.sh: no program $bin" >&2
	exit 2
}
if [[ $shim != none ]]; then
	shim=$(realpath -e "$shim") || exit 2
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/differ-XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
chmod 0755 "$work"

# world kernel|shim ARG...: a run, the transcript on stdout
world() {
	local env=()
	if [[ $1 == shim && $shim != none ]]; then
		rm -rf "$work/registry"
		mkdir "$work/registry"
		env=(env "LD_PRELOAD=$shim"
			"IPCLIFT_REGISTRY=$work/registry/file"
			IPCLIFT_LIMITS=kernel)
	fi
	timeout -k 5 "$limit" unshare --ipc --mount --pid --fork \
		--kill-child --mount-proc -- "${env[@]}" "$bin" "${@:2}" \
		2>"$work/$1.err"
}

# pair ARG...: both worlds; false if they differ
pair() {
	world kernel "$@" | tee -p "$work/kernel" |
		world shim --follow - >"$work/shim"
	cmp -s "$work/kernel" "$work/shim"
}

# first_difference: the number of the first line that differs
first_difference() {
	local line
	line=$(cmp "$work/kernel" "$work/shim" 2>/dev/null |
		sed -n 's/.*line \([0-9]*\).*/\1/p')
	# one is the beginning of the other
	[[ -n $line ]] || line=$(($(cat "$work/kernel" "$work/shim" |
		wc -l) - $(wc -l <"$work/kernel") + 1))
	echo "$line"
}

# differs FILE: does the script FILE still differ, in one of some tries?
tries=3
differs() {
	local i
	for ((i = 0; i < tries; i++)); do
		pair --script "$1" || return 0
	done
	return 1
}

# without FILE FROM COUNT: its lines but those
without() {
	awk -v from="$2" -v n="$3" 'NR < from || NR >= from + n' "$1"
}

# smaller: takes lines out of $work/script while it still differs
smaller() {
	local n size from
	n=$(wc -l <"$work/script")
	for ((size = n / 2; size >= 1; size /= 2)); do
		for ((from = n; from >= 2; from -= size)); do
			without "$work/script" \
				$((from - size + 1 < 2 ? 2 : from - size + 1)) \
				"$size" >"$work/try"
			if differs "$work/try"; then
				mv "$work/try" "$work/script"
			fi
		done
		n=$(wc -l <"$work/script")
	done
}

# shrink LINE: of the episode that differs there, else of all before it
shrink() {
	head -n "$1" "$work/kernel" | grep -v '^ ' >"$work/all"
	awk '/^=/ { n = 0 } { l[n++] = $0 }
		END { for (i = 0; i < n; i++) print l[i] }' \
		"$work/all" >"$work/script"
	if ! differs "$work/script"; then
		cp "$work/all" "$work/script"
		if ! differs "$work/script"; then
			echo "  not seen again in $tries tries of the script"
			return
		fi
	fi
	smaller
	differs "$work/script"
	echo "  $(($(wc -l <"$work/script") - 1)) steps show it:"
	sed 's/^/    /' "$work/kernel"
	echo "  and under the shim:"
	diff "$work/kernel" "$work/shim" | sed 's/^/    /'
	if [[ -s $work/shim.err ]]; then
		sed 's/^/    /' "$work/shim.err"
	fi
}

# tell: the difference, and a small script for it
tell() {
	local line from
	line=$(first_difference)
	from=$((line > 8 ? line - 8 : 1))
	sed -n "${from},$((line - 1))p" "$work/kernel" | sed 's/^/    /'
	sed -n "${line},$((line + 1))p" "$work/kernel" | sed 's/^/  kernel: /'
	sed -n "${line},$((line + 1))p" "$work/shim" | sed 's/^/  shim:   /'
	cat "$work/kernel.err" "$work/shim.err" | sed 's/^/  /'
	cp "$work/kernel" "$work/kernel.first"
	cp "$work/shim" "$work/shim.first"
	shrink "$line"
	if [[ -n $keep ]]; then
		mkdir -p "$keep"
		cp "$work/kernel.first" "$keep/$1.kernel"
		cp "$work/shim.first" "$keep/$1.shim"
		cp "$work/script" "$keep/$1.script"
	fi
}

ended() {
	local n ms=$(($(date +%s%3N) - $1))
	n=$(tail -n 1 "$work/kernel")
	[[ $n == "# "*steps ]] || return
	n=${n#\# } n=${n% steps}
	echo "$n steps, $((n * 1000 / (ms + 1))) a second"
}

# one NAME ARG...: a run, and what it shows
one() {
	local from
	from=$(date +%s%3N)
	if pair "${@:2}" && [[ -n $(ended 0) ]]; then
		echo "$1: ok ($(ended "$from"))"
		sed 's/^/  /' "$work/shim.err"
		return
	fi
	status=1
	echo "$1: DIFFERENT at line $(first_difference)"
	tell "${1##* }"
}

status=0
if [[ -n $script ]]; then
	one "script $(basename "$script")" --script "$script"
else
	for seed in "${seeds[@]}"; do
		one "seed $seed" --seed "$seed" --steps "$steps" \
			--length "$length"
	done
fi
exit $status
