#!/bin/bash
# SPDX-License-Identifier: MIT
#
# preloads.sh - beside other preload libraries, before and after them: fakeroot
# (which uses System V queues itself, or TCP), jemalloc, libfaketime; and under
# interpreters with semaphores of their own: perl, python.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
app_sem=$(helper sem) || exit 1
undo=$(helper sem_undo) || exit 1
signals=$(helper sem_signals) || exit 1
lib=/usr/lib/x86_64-linux-gnu

# As two programs with a set between them, under this preload list.
work_under() {
	LD_PRELOAD=$1 "$app_sem" 0x31 create 2 op 0 1 - || return
	LD_PRELOAD=$1 "$app_sem" 0x31 pass 0 1 500 &
	LD_PRELOAD=$1 "$app_sem" 0x31 pass 1 0 500 || return
	wait $! || return
	LD_PRELOAD=$1 "$app_sem" 0x31 op 0 -1 u expect 0 0 || return
	shimmed "$app_sem" 0x31 until 0 1 rm
}
# Whole programs of tests/preload, the same output as alone.
same_under() {
	LD_PRELOAD=$shim "$2" >"$dir/alone" || return
	LD_PRELOAD=$1 "$2" >"$dir/beside" || return
	diff "$dir/alone" "$dir/beside"
}
# beside NAME LIBRARY
beside() {
	local list

	[ -r "$2" ] || { echo "skip: no $1"; return; }
	for list in "$shim:$2" "$2:$shim"; do
		local order="before $1"

		[ "${list%%:*}" = "$shim" ] || order="after $1"
		check "$order" work_under "$list"
		check "$order: sem_undo" same_under "$list" "$undo"
		check "$order: sem_signals" same_under "$list" "$signals"
	done
}
beside jemalloc $lib/libjemalloc.so.2

# libfaketime shows another clock to the program; the sets keep the kernel's.
faketime=$lib/faketime/libfaketime.so.1
if [ -r $faketime ]; then
	export FAKETIME=-10d FAKETIME_DONT_FAKE_MONOTONIC=1
	for list in "$shim:$faketime" "$faketime:$shim"; do
		check "beside libfaketime" work_under "$list"
	done
	unset FAKETIME FAKETIME_DONT_FAKE_MONOTONIC
else
	echo "skip: no libfaketime"
fi

# fakeroot's library talks to its daemon by a queue and a semaphore of System V,
# or by TCP. The daemon and its programs must see one world, so the wrapper runs
# under the shim, daemon and all; the order is that within the programs.
for kind in sysv tcp; do
	command -v fakeroot-$kind >/dev/null || {
		echo "skip: no fakeroot-$kind"; continue; }
	for order in before after; do
		rm -f "$dir/owned"
		# shellcheck disable=SC2016
		check "$order fakeroot-$kind" shimmed env \
			timeout 20 fakeroot-$kind bash -c '
			for fake in ${LD_PRELOAD//:/ }; do
				case $fake in *fakeroot*) break ;; esac
			done
			[ $3 = before ] && list=$1:$fake || list=$fake:$1
			export LD_PRELOAD=$list
			touch "$4/owned" && chown 1:1 "$4/owned" || exit 1
			"$2" 0x32 create 1 op 0 1 u expect 0 1 \
				exec stat -c %u "$4/owned" | grep -qx 1 || exit 2
			"$2" 0x32 until 0 0 rm
			' - "$shim" "$app_sem" $order "$dir"
	done
done

cat >"$dir/sets.pl" <<'PERL'
use strict;
use IPC::SysV qw(S_IRUSR S_IWUSR IPC_CREAT IPC_PRIVATE SEM_UNDO);
use IPC::Semaphore;
my $s = IPC::Semaphore->new(IPC_PRIVATE, 10, S_IRUSR | S_IWUSR | IPC_CREAT)
	or die "new: $!";
$s->setall((0) x 10) or die;
my @all = $s->getall;
die "@all" unless "@all" eq "0 0 0 0 0 0 0 0 0 0";
$all[2] = 1;
$s->setall(@all) or die;
die unless $s->getval(2) == 1 && $s->setval(3, 4) && $s->getval(3) == 4;
$s->op(2, -1, SEM_UNDO, 3, 1, 0) or die;
die unless $s->getpid(2) == $$ && $s->getncnt(2) == 0 && $s->getzcnt(2) == 0;
my $stat = $s->stat or die;
die unless $stat->nsems == 10 && $stat->uid == $> && $stat->otime;
my $pid = fork;
if (!$pid) { $s->op(4, -1, 0); exit($s->getval(4)) }
select undef, undef, undef, 0.01 until $s->getncnt(4) == 1;
$SIG{USR1} = sub { $s->op(4, 1, 0) };
kill USR1 => $$;
waitpid $pid, 0;
die "child $?" if $?;
semop($s->id, pack("s!3", 3, -5, 0)) or die;
die unless $s->getval(3) == 0 && $s->remove;
print "done\n";
PERL
check "perl's IPC::Semaphore" \
	bash -c 'LD_PRELOAD=$1 timeout 30 perl "$2" | grep -qx done' - \
	"$shim" "$dir/sets.pl"

# Debian's own, whose module is a package (python3-sysv-ipc).
python=/usr/bin/python3
if [ -x $python ] && $python -c 'import sysv_ipc' 2>/dev/null; then
	cat >"$dir/sets.py" <<-'PYTHON'
	import os, signal, sysv_ipc as ipc
	s = ipc.Semaphore(None, ipc.IPC_CREX, 0o600, 1)
	with s:
	    assert s.value == 0 and s.last_pid == os.getpid()
	    try:
	        ipc.Semaphore(s.key).acquire(0.05)
	        assert False
	    except ipc.BusyError:
	        pass
	s.undo = True
	pid = os.fork()
	if pid == 0:
	    s.acquire()
	    os.kill(os.getpid(), signal.SIGKILL)
	os.waitpid(pid, 0)
	s.acquire(5)
	s.release()
	assert s.value == 1 and s.waiting_for_nonzero == 0
	s.remove()
	try:
	    s.acquire()
	    assert False
	except ipc.ExistentialError:
	    print("done")
	PYTHON
	check "python's sysv_ipc" bash -c \
		'LD_PRELOAD=$1 timeout 30 "$3" "$2" | grep -qx done' - \
		"$shim" "$dir/sets.py" $python
else
	echo "skip: no python3 with sysv_ipc"
fi
# Queues may be the kernel's: look at semaphores only.
left=$(tail -n +2 /proc/sysvipc/sem | wc -l)
check "no set in the kernel" [ "$left" = 0 ]
ipcmk -S 1 | grep -qx 'Semaphore id: 0' || fail "some set was in the kernel"
finish
