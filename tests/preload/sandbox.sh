#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sandbox.sh - the filters of doc/sandboxes.md: what a filter of system calls or a mount
# can take away, and how programs and `doctor` report it. A program that is served does
# a bit of everything (app_sandbox work); one that is not prints the reason once and
# gets an errno from each call.
#
# Robust lists and futex_waitv have tests of their own for what they cost:
# sem_no_robust, sem_lifeline, sem_old_kernel; membarrier: sem_no_barrier.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
app=$(helper sandbox gcc -I"$here" -Wno-unused) || exit 1

# work COMMAND...: what the program says under it, "served" if all is well
work() {
	local said status

	new_registry
	said=$(timeout 30 "$@" env LD_PRELOAD="$shim" "$app" work 2>&1 </dev/null)
	status=$?
	if [ $status -gt 128 ]; then
		echo killed
	elif [ "$(grep -c ^ok <<<"$said")" = 16 ]; then
		grep -q '^registry$' <<<"$said" && echo served || echo kernel
	else
		echo "$(grep -c '^ipclift:' <<<"$said") line," \
			"$(grep -o '^E[A-Z]*' <<<"$said" | sort -u | paste -sd ' ')"
	fi
}
row() { # row WHAT WANTED COMMAND...
	local got

	got=$(work "${@:3}")
	if [ "$got" = "$2" ]; then ok "$1: $2"; else fail "$1: '$got' instead of '$2'"; fi
}
# doctor WHAT WORDS COMMAND...: it names what is missing
doctor() {
	new_registry
	"${@:3}" "${IPCLIFT_TOOL:?}" doctor --quick >"$dir/doctor" 2>&1 </dev/null
	if grep -q -- "$2" "$dir/doctor"; then ok "doctor: $1"; else
		fail "doctor does not name $1" "$dir/doctor"; fi
}
ENOSYS=38 EPERM=1 KILL=0

row "nothing taken" served env
while read -r what numbers wanted_enosys wanted_eperm wanted_kill words; do
	for how in ENOSYS EPERM KILL; do
		wanted=wanted_${how,,}
		[ "${!wanted}" != - ] || continue
		wanted=${!wanted}
		row "$what $how" "${wanted//_/ }" "$app" deny "$numbers" ${!how}
	done
	[ -z "$words" ] || doctor "$what" "$words" "$app" deny "$numbers" $EPERM
done <<'END'
membarrier 324 served served killed membarrier(2) is refused here
robust_lists 273,274 served served killed robust lists are refused here
futex_waitv 449 served served killed futex_waitv(2) is refused here
mremap 25 1_line,_ENOSYS 1_line,_EPERM killed mremap(2) of length 0 is refused
madvise 28 1_line,_ENOSYS 1_line,_ENOSYS killed MADV_WIPEONFORK
rseq 334 served served killed rseq(2) is refused here
memfd_create 319 served served served
clock_gettime 228 served served served
END
# Not of robust lists and rseq: glibc is killed at its start, and so is doctor.
while read -r nr call; do
	doctor "that ${call%:} kills" "FAULT.* kills for $call" "$app" deny "$nr" $KILL
done <<'END'
324 membarrier(2):
449 futex_waitv(2):
25 mremap(2) of length 0:
28 madvise(MADV_WIPEONFORK):
END
row "no vDSO" served "$app" novdso
row "no vDSO, clock_gettime KILL" killed "$app" novdso "$app" deny 228 $KILL
doctor "that there is no vDSO" 'there is no vDSO' "$app" novdso

# ---- what it costs
# A killed glibc program is killed without the shim, too.
for nr in 334 273; do
	{ "$app" deny $nr $KILL "$app" stopped; } >"$dir/out" 2>&1
	check "glibc is killed at system call $nr itself" [ $? = 159 ]
done
# stopped WANTED COMMAND...
stopped() {
	local got

	new_registry
	got=$("${@:2}" env LD_PRELOAD="$shim" "$app" stopped)
	case $got in
	$1) ok "who is stopped and continued (${*:2:3}): $got" ;;
	*) fail "who is stopped and continued (${*:2:3}): '$got'" ;;
	esac
}
check "who is stopped and continued in the kernel: EINTR" \
	[ "$("$app" stopped)" = EINTR ]
stopped EINTR env
stopped "sleeps on" "$app" deny 334 $ENOSYS
stopped "sleeps on" "$app" deny 334 $EPERM
stopped EINTR "$app" deny 449 $ENOSYS

# ---- mounts
# Who was killed and is not waited for yet cannot be told from who lives.
# shellcheck disable=SC2016 # for that shell
under='mount --make-rprivate / && eval "$0" && exec "$@"'
row "no /proc" "0 line, EAGAIN" unshare --mount sh -c "$under" \
	'mount -t tmpfs tmpfs /proc'
mkdir "$dir/mount"
old=$IPCLIFT_REGISTRY
export IPCLIFT_REGISTRY=$dir/mount/registry
row "a file system that is noexec" served unshare --mount sh -c "$under" \
	"mount -t tmpfs -o noexec tmpfs $dir/mount"
row "a read-only one" "1 line, EROFS" unshare --mount sh -c "$under" \
	"mount -t tmpfs -o ro tmpfs $dir/mount"
doctor "a read-only /dev/shm" '/dev/shm: Read-only' unshare --mount sh -c \
	"$under" "mount -t tmpfs -o ro tmpfs /dev/shm"
doctor "that /dev/shm is noexec" '/dev/shm is noexec' unshare --mount sh -c \
	"$under" "mount -t tmpfs -o noexec tmpfs /dev/shm"
doctor "that there is no /proc" '/proc is not mounted' unshare --mount sh -c \
	"$under" 'mount -t tmpfs tmpfs /proc'
export IPCLIFT_REGISTRY=$old

# ---- for programs
new_registry
"$app" deny 334,449 $EPERM "$IPCLIFT_TOOL" doctor --quick --json PROGRAM \
	>"$dir/doctor" 2>&1
check "doctor --json" python3 - "$dir/doctor" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["served"] is False
texts = [(f["level"], f["text"], f["mend"]) for f in d["findings"]]
assert sum(l == "warning" and "refused here" in t for l, t, m in texts) == 2
assert any(l == "fault" and "no program PROGRAM" in t for l, t, m in texts)
assert all("\n" not in t and "  " not in t for l, t, m in texts)
END
"$app" deny 324 $KILL "$IPCLIFT_TOOL" doctor --quick --json >"$dir/doctor" 2>&1
check "doctor --json where a call kills" [ $? = 1 ]
check "names it" python3 - "$dir/doctor" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert [f["text"] for f in d["findings"] if f["level"] == "fault"] == [
    "a filter of system calls kills for membarrier(2): a program dies at its "
    "first call"]
END
finish
