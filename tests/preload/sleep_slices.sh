#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sleep_slices.sh - only the first sleeper of an object sleeps without a timer, and not on
# a kernel before 6.2, which does not wake it if the waker dies between its last store
# and its wake-up. Such a kernel is simulated by personality(2); the timer is seen in
# the system call that the sleeper is in.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
command -v setarch >/dev/null || skip "no setarch"
[[ -r /proc/self/syscall ]] || skip "no /proc/PID/syscall"
command -v python3 >/dev/null || skip "no python3"
python=$(python3 -c 'import sys; print(sys.executable)')

cat >"$dir/sleeper.py" <<'END'
import ctypes, os, sys
lib = ctypes.CDLL(None, use_errno=True)
class sembuf(ctypes.Structure):
    _fields_ = [("num", ctypes.c_ushort), ("op", ctypes.c_short),
                ("flg", ctypes.c_short)]
text = ctypes.create_string_buffer(9000)
if sys.argv[1] == "sem":
    lib.semop(lib.semget(7, 1, 0o1600), ctypes.byref(sembuf(0, -1, 0)), 1)
elif sys.argv[1] == "msg":
    lib.msgrcv(lib.msgget(7, 0o1600), text, 8000, 0, 0)
else:
    lib.mq_receive(lib.mq_open(b"/q", os.O_CREAT | os.O_RDWR, 0o600, None),
                   text, 8192, None)
END

# timer PID: "none", "timer", or what else it is in. futex(2) has its timeout as
# the fourth argument, futex_waitv(2) as well.
timer() {
	local call i

	for ((i = 0; i < 200; i++)); do
		read -r -a call <"/proc/$1/syscall"
		case ${call[0]} in
		202 | 449)
			# Twice the same: it is no wait for a lock.
			sleep 0.05
			[[ $(cat "/proc/$1/syscall") == "${call[*]}" ]] ||
				continue
			[[ ${call[4]} == 0x0 ]] && echo none || echo timer
			return
			;;
		esac
		sleep 0.02
	done
	echo "${call[*]}"
}

# sleepers KIND WANTED_FIRST [SETARCH...]
sleepers() {
	local kind=$1 wanted=$2 first second got

	shift 2
	LD_PRELOAD=$shim "$@" "$python" "$dir/sleeper.py" "$kind" &
	first=$!
	got=$(timer $first)
	[[ $got == "$wanted" ]] && ok "$kind, first: $got" ||
		fail "$kind, first: $got instead of $wanted"
	LD_PRELOAD=$shim "$@" "$python" "$dir/sleeper.py" "$kind" &
	second=$!
	got=$(timer $second)
	[[ $got == timer ]] && ok "$kind, second: $got" ||
		fail "$kind, second: $got instead of timer"
	kill $first $second
	wait $first $second 2>/dev/null
	rm -rf "$dir"/registry*
}

new=none
[[ $(uname -r | awk -F '[.-]' '{ print $1 * 100 + $2 }') -ge 602 ]] || new=timer
for kind in sem msg mq; do
	sleepers $kind $new
	echo "# a kernel that says it is older"
	sleepers $kind timer setarch --uname-2.6
done
finish
