#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_mapped.sh - `ipclift check` finds a process that is counted for a segment
# and has it not mapped, one that has pages of a segment mapped and is not
# counted, and nothing else. `ipclift doctor` says whether robust lists are
# refused.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
: "${IPCLIFT_TOOL:?names no ipclift}"
bin=$(helper mapped "${CC:-cc}") || exit 1

# app MODE FAULT: what check says beside it; FAULT "" for none
app() {
	local mode=$1 wanted=$2 line status

	rm -rf "$dir"/registry*
	coproc app {
		LD_PRELOAD=$shim exec "$bin" "$mode" "$IPCLIFT_REGISTRY"
	}
	read -r line <&"${app[0]}"
	[[ $line == ready ]] || fail "$mode: no app"
	"$IPCLIFT_TOOL" check >"$dir/out" 2>&1
	status=$?
	if [[ -z $wanted ]]; then
		[[ $status == 0 ]] && ok "$mode: nothing found" ||
			fail "$mode: status $status" "$dir/out"
	elif grep -q "68 .*$app_PID .*$wanted" "$dir/out" &&
		[[ $(grep -c . "$dir/out") == 2 ]]; then
		ok "$mode: $wanted"
	else
		fail "$mode: status $status" "$dir/out"
	fi
	exec {app[1]}>&-
	wait "$app_PID" 2>/dev/null
}

app right ""
app unmapped "attached but not mapped"
app extra "mapped but not attached"

# ---- doctor ----
cat >"$dir/deny.py" <<'END'
import ctypes, os, struct, sys
lib = ctypes.CDLL(None, use_errno=True)
code = [(0x20, 0, 0, 0), (0x15, 1, 0, 273), (0x15, 0, 1, 274),
        (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i)
                                            for i in code))
prog = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
lib.prctl(38, 1, 0, 0, 0)
if lib.prctl(22, 2, prog):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
END
"$IPCLIFT_TOOL" doctor --quick >"$dir/out" 2>&1
check "doctor: robust lists are allowed" grep -q "robust lists.*allowed" \
	"$dir/out"
if command -v python3 >/dev/null; then
	python3 "$dir/deny.py" "$IPCLIFT_TOOL" doctor --quick >"$dir/out" 2>&1
	check "doctor: and when not it says so" \
		grep -q "robust lists are refused here (Operation not permitted)" \
		"$dir/out"
fi
finish
