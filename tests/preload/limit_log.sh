#!/bin/bash
# SPDX-License-Identifier: MIT
#
# limit_log.sh - when a limit stops a call, the log and the event ring have the limit, the
# caller and the command that raises it, once per cause; the command is right: it is
# run, and the call succeeds. Without IPCLIFT_LOG nothing is printed. The log changes
# nothing in the program.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
export LC_ALL=C IPCLIFT_LIMITS=kernel
PATH=$(dirname "$IPCLIFT_TOOL"):$PATH
log=$dir/log
ipclift set semmni=32000 2>/dev/null || shimmed ipcs >/dev/null

# hit LIMIT ERROR PERL: PERL fails five times with ERROR; one line says so;
# after the command in the line PERL succeeds
hit() {
	local limit=$1 error=$2 call=$3 line remedy

	rm -f "$log"
	IPCLIFT_LOG=$log shimmed perl -e "for (1 .. 5) {
		$call and die 'made'; \$!{$error} or die qq{\$!\n} }" \
		>"$dir/out" 2>"$dir/err"
	check "$limit stops it" [ ! -s "$dir/err" ]
	line=$(grep -c "perl\[[0-9]*\]: limit $limit=.*: $error" "$log")
	if [ "$line" = 1 ] && [ "$(wc -l <"$log")" = 1 ]; then
		ok "said once: $(sed 's/\[[0-9]*\]//' "$log")"
	else
		fail "said once" "$log"
	fi
	remedy=$(sed 's/.*; //' "$log")
	check "$remedy" bash -c "$remedy"
	shimmed perl -e "$call or die qq{\$!\n}" >"$dir/out" 2>&1
	check "and it is raised" [ ! -s "$dir/out" ]
}

ipclift set semmni=0 msgmni=0 shmmni=0 shmmax=100 semmsl=3 semmns=50 semopm=2 \
	msgmax=10 || fail "set"
hit semmni ENOSPC 'defined semget(0, 1, 0600)'
ipclift set semmni=100
hit semmsl EINVAL 'defined semget(0, 4, 0600)'
ipclift set semmns=6
hit semmns ENOSPC 'defined semget(0, 4, 0600)'
hit semopm E2BIG 'semop(0, pack("s!*", (0, 0, 0) x 5))'
hit msgmni ENOSPC 'defined msgget(0x5, 01600)'
hit msgmax EINVAL 'msgsnd(msgget(0x5, 0), pack("l! a*", 1, "x" x 11), 0)'
hit shmmni ENOSPC 'defined shmget(0, 10, 0600)'
ipclift set shmmni=100
hit shmmax EINVAL 'defined shmget(0, 200, 0600)'
ipclift set shmall=2 shmmax=100000
hit shmall ENOSPC 'defined shmget(0, 20000, 0600)'

# ---- POSIX queues, by one who may not go beyond ----
cat >"$dir/mq.py" <<'END'
import ctypes, errno, os, sys
class attr(ctypes.Structure):
    _fields_ = [(n, ctypes.c_long) for n in
                ("flags", "maxmsg", "msgsize", "curmsgs", "a", "b", "c", "d")]
lib = ctypes.CDLL(None, use_errno=True)
a = attr(0, int(sys.argv[2]), int(sys.argv[3]))
q = lib.mq_open(sys.argv[1].encode(), os.O_CREAT | os.O_RDWR, 0o600,
                ctypes.byref(a))
print("made" if q >= 0 else errno.errorcode[ctypes.get_errno()])
END
python=$(python3 -c 'import sys; print(sys.executable)')
# hit_mq LIMIT ERROR NAME MAXMSG MSGSIZE [ULIMIT]
hit_mq() {
	local limit=$1 error=$2 remedy q=${6-$(ulimit -Sq)}

	shift 2
	rm -f "$log"
	mq() {
		bash -c "ulimit -Sq $q; exec setpriv --bounding-set -sys_resource \
			env LD_PRELOAD=$shim IPCLIFT_LOG=$log '$python' $dir/mq.py $*"
	}
	check "$limit: $error" [ "$(mq "${@:1:3}")" = "$error" ]
	check "said: $(sed 's/\[[0-9]*\]//' "$log")" \
		grep -q "limit $limit=.*: $error" "$log"
	remedy=$(sed 's/.*; //' "$log")
	case $remedy in
	ulimit*) q=$(ulimit -Hq) ;;
	*) check "$remedy" bash -c "$remedy" ;;
	esac
	check "and it is raised" [ "$(mq "${@:1:3}")" = made ]
}
hit_mq msg_max EINVAL /a 11 100
hit_mq msgsize_max EINVAL /b 1 10000
ipclift set queues_max=2
hit_mq queues_max ENOSPC /c 1 100
hit_mq RLIMIT_MSGQUEUE EMFILE /d 10 8192 1000
check "the ring has them too" [ "$(ipclift events | grep -c limit)" -ge 9 ]

# ---- the other ways of the log ----
ipclift set semmni=1 semmns=1000
says_nothing() {
	shimmed perl -e 'semget(0, 1, 0600)' 2>&1 | wc -c
}
check "without IPCLIFT_LOG nothing is said" [ "$(says_nothing)" = 0 ]
export IPCLIFT_LOG=off
check "nor with off" [ "$(says_nothing)" = 0 ]
export IPCLIFT_LOG=stderr
check "stderr" [ "$(shimmed perl -e 'semget(0, 1, 0600)' 2>&1 >/dev/null |
	grep -c 'limit semmni')" -le 1 ]
sleep 1.1
check "another process a second later: said again" [ "$(shimmed perl -e \
	'semget(0, 1, 0600)' 2>&1 >/dev/null | grep -c 'limit semmni')" = 1 ]
export IPCLIFT_LOG=/nowhere/log
sleep 1.1
check "a log that cannot be written is none" [ "$(says_nothing)" = 0 ]
mkfifo "$dir/fifo"
export IPCLIFT_LOG=$dir/fifo
sleep 1.1
check "nor does one nobody reads stop the host" timeout 5 env \
	LD_PRELOAD="$shim" perl -e 'semget(0, 1, 0600)'
export IPCLIFT_LOG=$dir/log2
echo rubbish >"$dir/rubbish"
IPCLIFT_REGISTRY=$dir/rubbish shimmed ipcs -s >/dev/null 2>"$dir/err"
check "a registry that cannot be used is said on stderr" \
	grep -q ipclift "$dir/err"
check "and in the log" grep -q rubbish "$dir/log2"
unset IPCLIFT_LOG
check "the registry is whole" ipclift check
check "the kernel is untouched" kernel_untouched
finish
