#!/bin/bash
# SPDX-License-Identifier: MIT
#
# procfs_app.sh - the files of /proc under the shim, the edges: routes, an
# owner who is not root, programs that never meet IPC, descriptors that leak,
# processes killed with a control open for writing, more of these than there is
# room for, limits of the host's own, a far id in a registry of extended ids.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
export LC_ALL=C
k=/proc/sys/kernel
python=$(python3 -c 'import sys; print(sys.executable)') || skip "no python3"
# says WHAT WANT COMMAND...
says() {
	local what=$1 want=$2 got

	shift 2
	got=$("$@" 2>&1)
	if [ "$got" = "$want" ]; then ok "$what"; else
		fail "$what: '$got' instead of '$want'"
	fi
}
beside() {
	find "$IPCLIFT_REGISTRY.mq" -type f 2>/dev/null | wc -l
}

# ---- routes ----
export IPCLIFT_LIMITS=kernel
shimmed sh -c "echo 1111 >$k/msgmax; echo 222 >$k/sem_next_id"
says "msgmax of the registry" 1111 shimmed cat $k/msgmax
says "with -msg it is the kernel's" 8192 \
	env IPCLIFT_ROUTE=-msg LD_PRELOAD="$shim" cat $k/msgmax
says "and sem_next_id still the registry's" 222 \
	env IPCLIFT_ROUTE=-msg LD_PRELOAD="$shim" cat $k/sem_next_id
IPCLIFT_ROUTE=sem shimmed sh -c "echo 3333 >$k/msgmax"
says "a write with sem alone goes to the kernel" 3333 cat $k/msgmax
says "not to the registry" 1111 shimmed cat $k/msgmax
echo 8192 >$k/msgmax
says "queues by their own name" 256 \
	env IPCLIFT_ROUTE=-mq LD_PRELOAD="$shim" cat /proc/sys/fs/mqueue/queues_max

# ---- a program that meets none of it ----
other=$dir/other
IPCLIFT_REGISTRY=$other shimmed sh -c "cat /proc/sys/kernel/ostype \
	/proc/self/comm >/dev/null; echo x >$dir/x; test -r $k/pid_max"
check "other files of /proc make no registry" [ ! -e "$other" ]
IPCLIFT_REGISTRY=$other shimmed test -r $k/sem
check "nor does asking for one of ours" [ ! -e "$other" ]

# ---- descriptors ----
cat >"$dir/fds.py" <<'END'
import os
def fds(): return sorted(os.listdir("/proc/self/fd"))
before = fds()
for p in ("/proc/sysvipc/sem", "/proc/sysvipc/shm", "/proc/sys/kernel/sem"):
    os.close(os.open(p, os.O_RDONLY))
for i in range(100):
    fd = os.open("/proc/sys/kernel/msgmax", os.O_RDWR)
    os.write(fd, b"9")
    os.close(fd)
print("leak" if fds() != before else "none")
END
says "no descriptor is kept" none shimmed "$python" "$dir/fds.py"
says "no file beside the registry" 0 beside

# ---- killed with a control open ----
for ((i = 0; i < 40; i++)); do
	shimmed sh -c "exec 5>$k/msgmax; kill -9 \$\$" 2>/dev/null
done
says "40 killed writers leave room" 40 \
	shimmed sh -c "echo 40 >$k/msgmax; cat $k/msgmax"
says "and no file" 0 beside
shimmed bash -c "exec 5>$k/msgmax; env -i /bin/echo 41 >&5; kill -9 \$\$" \
	2>/dev/null
says "what one had written by another program counts" 41 shimmed cat $k/msgmax

# ---- too many at once ----
cat >"$dir/many.py" <<'END'
import errno, os
p, fds = "/proc/sys/kernel/msgmax", []
try:
    while True: fds.append(os.open(p, os.O_WRONLY))
except OSError as e:
    print(len(fds), errno.errorcode[e.errno])
os.write(fds[31], b"77\n")
print(open(p).read().strip())
os.close(fds[0])
fd = os.open(p, os.O_WRONLY)
os.write(fd, b"78\n")
print(open(p).read().strip())
END
says "32 at a time, then ENFILE" "32 ENFILE
77
78" shimmed "$python" "$dir/many.py"
says "all of them go with the process" "78 0" \
	sh -c "echo \$(LD_PRELOAD=$shim cat $k/msgmax) \$(ls $IPCLIFT_REGISTRY.mq | wc -l)"

# ---- the host's own limits ----
says "a program with no room for files reads on" "sem" shimmed bash -c \
	"ulimit -f 1; cat /proc/sysvipc/sem >/dev/null && echo sem"
shimmed perl -e 'semget(0, 1, 0600) for 1 .. 100'
says "a limit on file sizes is an error, not a signal" \
	"cat: /proc/sysvipc/sem: File too large" \
	shimmed bash -c "(ulimit -f 1; exec cat /proc/sysvipc/sem) 2>&1 | cat"
shimmed cat $k/msgmax >/dev/null
says "no descriptor left: EMFILE" 1 shimmed sh -c \
	"(ulimit -n 3; read x <$k/msgmax) 2>&1 | grep -c 'Too many open files'"

# ---- a registry of one who is not root ----
chmod 0711 "$dir"
mkdir -m 0777 "$dir/theirs"
theirs() {
	# Not before setpriv, which would map it, and make it, as root.
	setpriv --reuid 1234 --regid 1234 --clear-groups env \
		IPCLIFT_REGISTRY="$dir/theirs/registry" LD_PRELOAD="$shim" "$@"
}
says "its owner sets its limits" 4321 theirs sh -c \
	"echo 4321 >$k/msgmax; cat $k/msgmax"
says "and its next id" "77 -1" theirs perl -e \
	'open(F, ">", "/proc/sys/kernel/sem_next_id") or die "$!\n";
	syswrite(F, "77"); print 0 + semget(0, 1, 0600), " ";
	open(F, "<", "/proc/sys/kernel/sem_next_id"); print <F> =~ s/\n//r'
says "test -w tells so" yes theirs bash -c "test -w $k/sem_next_id && echo yes"
says "the kernel's is not theirs" "" \
	sh -c "setpriv --reuid 1234 --regid 1234 --clear-groups test -w $k/sem && echo yes"
check "their registry is whole" setpriv --reuid 1234 --regid 1234 \
	--clear-groups "$IPCLIFT_TOOL" check --registry "$dir/theirs/registry"

# ---- ids beyond 32,767 ----
far=$dir/far
says "a far id" "15777204
-1" env IPCLIFT_IDS=extended IPCLIFT_REGISTRY="$far" LD_PRELOAD="$shim" sh -c \
	"echo 15777204 >$k/sem_next_id
	perl -e 'print 0 + semget(0x77, 1, 01600), qq{\n}'; cat $k/sem_next_id"
says "is listed" 15777204 sh -c \
	"IPCLIFT_REGISTRY=$far LD_PRELOAD=$shim cat /proc/sysvipc/sem |
	awk 'NR == 2 { print \$2 }'"
says "ipcs shows it" 1 sh -c \
	"IPCLIFT_REGISTRY=$far LD_PRELOAD=$shim ipcs -s | grep -c 15777204"
check "and costs no memory between" [ "$(du -k "$far" | cut -f1)" -lt 1024 ]
check "the registry is whole" env IPCLIFT_REGISTRY="$far" "$IPCLIFT_TOOL" check
says "nor then" less sh -c \
	"[ \$(du -k $far | cut -f1) -lt 1024 ] && echo less"

# ---- a broken registry is no way to the kernel's file ----
echo rubbish >"$dir/rubbish"
IPCLIFT_REGISTRY=$dir/rubbish shimmed cat $k/msgmax >"$dir/out" 2>"$dir/err"
check "no registry, no text" [ ! -s "$dir/out" ]
check "said on stderr" grep -q ipclift "$dir/err"
check "the kernel is untouched" kernel_untouched
finish
