#!/bin/bash
# SPDX-License-Identifier: MIT
#
# procfs_tools.sh - the system's own tools on the kernel and under the shim.
#
# The same state is made in both worlds (sets, queues and segments of two users,
# a message, operations), then the unmodified ipcs, lsipc, ipcmk, ipcrm, sysctl,
# cat, head, tee, dd, python and perl, and echo in bash and dash look at it and
# change it. What they print must be the same, but for pids and times, exit
# status and messages included. Not preloaded they must see the kernel.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
for tool in ipcs lsipc ipcmk ipcrm perl setpriv; do
	command -v $tool >/dev/null || skip "no $tool"
done
export LC_ALL=C TZ=UTC0 COLUMNS=200
# Pids are masked in what is compared: in a young namespace of processes they
# would be the numbers of sizes and ids, too.
[ $$ -gt 20000 ] || echo 23000 2>/dev/null >/proc/sys/kernel/ns_last_pid
kernel=/proc/sys/kernel

# world COMMAND...: in the world of this pass
world() {
	if [ "$pass" = shim ]; then
		IPCLIFT_LIMITS=kernel LD_PRELOAD=$shim "$@"
	else
		unshare_ipc "$@"
	fi
}
# The kernel's pass has a namespace of its own, and it is this shell's.
unshare_ipc() {
	"$@"
}

# Both create in the same order. The set of keys is fixed; ipcmk's are not.
cat >"$dir/state.pl" <<'END'
use IPC::SysV qw(IPC_CREAT IPC_SET S_IRUSR);
print "PID $$\n";
my $s = semget(0x11, 3, IPC_CREAT | 0640);
semget(0x7fffffff, 1, IPC_CREAT | 0600);
semget(0xdeadbeef - 2**32, 2, IPC_CREAT);
semop($s, pack("s!3", 1, 2, 0)) or die;
semop($s, pack("s!3 s!3", 1, -1, 0, 2, 7, 0)) or die;
my $q = msgget(0x22, IPC_CREAT | 0622);
msgsnd($q, pack("l! a*", 5, "hello, world"), 0) or die;
msgget(0x23, IPC_CREAT | 0444);
my $m = shmget(0x33, 5000, IPC_CREAT | 0600);
shmwrite($m, "text", 0, 4) or die;
shmget(0x34, 1 << 20, IPC_CREAT | 0777);
END
cat >"$dir/other_user.pl" <<'END'
use IPC::SysV qw(IPC_CREAT);
print "PID $$\n";
semget(0x12, 1, IPC_CREAT | 0600);
msgget(0x24, IPC_CREAT | 0600);
shmget(0x35, 100, IPC_CREAT | 0600);
END
chmod -R a+rX "$dir"
as_other_user() {
	world setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# Pids by the names of their processes, times by T; columns move with them.
# shellcheck disable=SC2001
masked() {
	sed -E -e "s/\<($pid1)\>/P1/g; s/\<($pid2)\>/P2/g" \
		-e 's/[A-Z][a-z]{2} [A-Z][a-z]{2} +[0-9]+ [0-9:]{8}( [0-9]{4})?/T/g' \
		-e 's/\<[A-Z][a-z]{2} +[0-9]{1,2} [0-9:]{8}/T/g' \
		-e 's/\<[A-Z][a-z]{2}[0-9]{2}\>/T/g; s/\<[0-9]{2}:[0-9]{2}(:[0-9]{2})?\>/T/g' \
		-e 's/\<[0-9]{4}-[0-9]{2}-[0-9]{2}\>/T/g; s/T[+T0-9:]*/T/g' \
		-e 's/\<1[7-9][0-9]{8}\>/T/g; s/0x[0-9a-f]{8} +(6[0-9]{2}) /KEY \1 /' \
		-e 's/ +/ /g; s/ $//'
}

# try COMMAND...: a step of the transcript
try() {
	echo "\$ $*"
	world "$@" </dev/null 2>&1
	echo "-> $?"
}

# try_in SHELL TEXT
try_in() {
	echo "\$ $1: $2"
	world "$1" -c "$2" </dev/null 2>&1 | sed "s/^[a-z]*: \(line \)\?[0-9]*: /$1: /"
	echo "-> ${PIPESTATUS[0]}"
}

look() {
	local m

	try ipcs
	try ipcs -a
	for m in -p -t -u -c -l; do
		try ipcs $m
		try ipcs -s $m
		try ipcs -q $m
		try ipcs -m $m
	done
	try ipcs -m -i 0
	try ipcs -q -i 0
	try ipcs -s -i 0
	try ipcs -s -i 2
	try ipcs -s -i 77
	try ipcs -m -b
	try lsipc
	try lsipc --global
	for m in -m -q -s; do
		try lsipc $m
		try lsipc $m -t
		try lsipc $m -c
		try lsipc $m -i 0
		try lsipc $m -i 99
		try lsipc -g $m
		try lsipc $m -J
		try lsipc $m -e --noheadings
	done
	as_other_user ipcs -a
	as_other_user lsipc -s
	for m in sem msg shm; do
		try cat /proc/sysvipc/$m
		try tail -n 1 /proc/sysvipc/$m
		try wc -l /proc/sysvipc/$m
		try grep -c 0 /proc/sysvipc/$m
		try head -c 100 /proc/sysvipc/$m
	done
}

steer() {
	local sh f

	for f in sem msgmax msgmnb msgmni shmmax shmall shmmni shm_rmid_forced \
		auto_msgmni sem_next_id msg_next_id shm_next_id; do
		try cat $kernel/$f
		try head -c1 $kernel/$f
	done
	for f in queues_max msg_max msgsize_max msg_default msgsize_default; do
		try cat /proc/sys/fs/mqueue/$f
	done
	for sh in bash dash; do
		command -v $sh >/dev/null || continue
		try_in $sh "echo 600 >$kernel/sem_next_id"
		try ipcmk -S 1
		try cat $kernel/sem_next_id
		try_in $sh "/bin/echo 610 >$kernel/msg_next_id"
		try ipcmk -Q
		try_in $sh "env -i /bin/echo 620 >$kernel/shm_next_id"
		try ipcmk -M 4096
		try_in $sh "echo 77777 >$kernel/msgmni; echo \$?"
		try_in $sh "echo x >$kernel/msgmax"
		try_in $sh "printf 1000 >$kernel/msgmax; cat <$kernel/msgmax"
		try_in $sh "echo 2000 >>$kernel/msgmax && cat $kernel/msgmax"
		try_in $sh "cat >$kernel/msgmax <<-END
			3000
		END"
		try_in $sh "exec 5>$kernel/msgmax; echo 4000 >&5; exec 5>&-
			cat $kernel/msgmax"
		try_in $sh "read -r a b <$kernel/sem; echo \$a, \$b"
		try_in $sh "(echo 5000) >$kernel/msgmax; read x <$kernel/msgmax
			echo \$x"
		try_in $sh "echo 250 32000 32 128 >$kernel/sem; cat $kernel/sem"
		try_in $sh "echo 250 32000 32 99999 >$kernel/sem"
		try_in $sh "test -w $kernel/sem && test -r $kernel/sem"
	done
	try sysctl kernel.sem kernel.msgmnb fs.mqueue.msg_max kernel.shmmni
	try sysctl -w kernel.msgmnb=65536
	try sysctl -w kernel.msgmni=99999
	try sysctl -w "kernel.sem=300 32000 32 128"
	try sysctl -n kernel.sem kernel.msgmnb
	echo 6000 | world tee $kernel/msgmax
	echo 6x | world tee $kernel/msgmax
	try cat $kernel/msgmax
	echo 7000 | world dd of=$kernel/msgmax status=none
	try cat $kernel/msgmax
	try cp $kernel/msgmax "$dir/copy"
	cat "$dir/copy"
	try perl -e 'open(F, ">", "/proc/sys/kernel/msgmax") or die;
		print F "8000"; close(F) or print "$!\n";
		open(F, ">", "/proc/sys/kernel/msgmax") or die;
		print F "zz"; close(F) or print "$!\n";
		open(F, "<", "/proc/sys/kernel/msgmax"); print <F>'
	try "$python" -c 'p = "/proc/sys/kernel/msgmax"
with open(p, "w") as f: f.write("9000\n")
print(open(p).read(), len(open("/proc/sysvipc/sem").readlines()))
try:
    with open(p, "w") as f: f.write("-1\n")
except OSError as e: print(e)'
	try ipcs -l
	try lsipc
	echo "-- another user"
	as_other_user sh -c "echo 5 >$kernel/msgmax" 2>&1 | sed 's/.*: //'
	as_other_user sh -c "echo 5 >$kernel/sem_next_id" 2>&1 | sed 's/.*: //'
	as_other_user cat $kernel/msgmax
	try ipcrm -S 0x11
	try ipcrm -q 0
	try ipcrm -m 99
	try ipcrm -a
	try ipcs
	try cat /proc/sysvipc/{sem,msg,shm}
	echo "32000 1024000000 500 32000" | world tee $kernel/sem
	echo 8192 | world tee $kernel/msgmax
	echo 16384 | world tee $kernel/msgmnb
}

python=$(command -v python3) || python=/bin/false
# A wrapper of some version manager would run many programs.
python=$("$python" -c 'import sys; print(sys.executable)')

for pass in kernel shim; do
	world perl "$dir/state.pl" >"$dir/out1" || fail "state of $pass"
	# Shared on purpose.
	[ $pass = kernel ] || chmod 0666 "$IPCLIFT_REGISTRY"
	as_other_user perl "$dir/other_user.pl" >"$dir/out2" ||
		fail "state of the other user, $pass"
	pid1=$(sed 's/PID //' "$dir/out1") pid2=$(sed 's/PID //' "$dir/out2")
	{ look; steer; } >"$dir/$pass.raw" 2>&1
	masked <"$dir/$pass.raw" >"$dir/$pass.out"
	[ -z "${PROCFS_KEEP-}" ] || cp "$dir/$pass".* "$PROCFS_KEEP"
done
n=$(grep -c '^\$ ' "$dir/kernel.out")
diff -u "$dir/kernel.out" "$dir/shim.out" >"$dir/diff"
check "$n commands say the same in both worlds" diff -u "$dir/kernel.out" \
	"$dir/shim.out"

# Without the shim it is the kernel that they see.
pass=shim
world ipcmk -S 5 >/dev/null
check "ipcs without the shim sees nothing of the registry" \
	[ "$(ipcs -s | wc -l)" = 4 ]
check "with it, the set" [ "$(world ipcs -s | wc -l)" = 5 ]
world sh -c "echo 12345 >$kernel/msgmax"
check "the kernel's limits are as they were" [ "$(cat $kernel/msgmax)" = 8192 ]
check "and the registry's have changed" \
	[ "$(world cat $kernel/msgmax)" = 12345 ]
check "no file is left beside the registry" \
	[ -z "$(ls "$IPCLIFT_REGISTRY.mq" 2>/dev/null)" ]
check "the registry is whole" "$IPCLIFT_TOOL" check
finish
