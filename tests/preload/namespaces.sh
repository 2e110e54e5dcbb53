#!/bin/bash
# SPDX-License-Identifier: MIT
#
# namespaces.sh - IPC namespaces that programs of the system make (unshare,
# nsenter, python): each has a registry of its own, two side by side have the
# same keys, who enters one finds it, and it goes when nobody is in it any more.
#
# All of it twice: the second time, and ipc_namespace, as before Linux 6.18, where a
# namespace's number is soon that of another one (app_sandbox oldns).

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
tool=${IPCLIFT_TOOL:?}
export IPCLIFT_REGISTRY=$dir/registry
beside=$IPCLIFT_REGISTRY.ns

if [ -z "${NAMESPACES_OLD-}" ]; then
	old=$(helper sandbox gcc -I"$here" -Wno-unused) || exit 1
	NAMESPACES_OLD=1 "$old" oldns bash "$0" >"$dir/old" 2>&1
	status=$?
	sed 's/^\(ok  \|FAIL\) /&without numbers for good: /' "$dir/old"
	[ $status = 0 ] || failed=1
	check "ipc_namespace without numbers for good" "$old" oldns env \
		LD_PRELOAD="$shim" "${IPCLIFT_TESTS:?}/preload/ipc_namespace"
	new_registry
fi

sets() { # how many a program finds
	"$tool" run -- "$@" ipcs -s | grep -c '^0x'
}
inside() { # COMMAND... in a new one
	"$tool" run -- unshare --ipc "$@"
}
"$tool" run -- ipcmk -S 1 >"$dir/out" || fail "ipcmk"
check "a new namespace is empty" [ "$(sets unshare --ipc)" = 0 ]
check "the first one is as it was" [ "$(sets)" = 1 ]
for i in 1 2; do
	mkfifo "$dir/go$i"
	# shellcheck disable=SC2016 # for that shell
	inside sh -c 'for n in $(seq $1); do ipcmk -S 1; done >/dev/null
		echo $$ >$2.part && mv $2.part $2; read go <$3' \
		sh $i "$dir/pid$i" "$dir/go$i" &
done
for i in 1 2; do
	until [ -s "$dir/pid$i" ]; do sleep 0.05; done
	check "namespace $i has what was made there" \
		[ "$(sets nsenter --ipc="/proc/$(cat "$dir/pid$i")/ns/ipc")" = $i ]
	check "the command in there shows it" [ "$(nsenter \
		--ipc="/proc/$(cat "$dir/pid$i")/ns/ipc" "$tool" ls sem |
		grep -c 0x)" = $i ]
done
"$tool" gc mq >/dev/null
check "gc leaves those that are lived in" \
	[ "$(find "$beside" -type f | wc -l)" = 2 ]
for i in 1 2; do echo >"$dir/go$i"; done
wait
"$tool" gc mq >"$dir/out"
check "gc removes those that nobody is in" \
	[ -z "$(find "$beside" -mindepth 1)" ]
check "and says so" grep -q 'registries of [0-9]* IPC namespaces' "$dir/out"
check "the first one is as it was" [ "$(sets)" = 1 ]

# A number that is used again: by a namespace that a program makes which is not
# served, and which shares the registry; the file is an ended one's there, too.
again() { # COMMAND... in one with the number of an ended one's file
	for ((i = 0; i < 300; i++)); do
		# shellcheck disable=SC2016 # for that shell
		unshare --ipc sh -c '[ -e "$0/$(stat -Lc %i /proc/self/ns/ipc)" ] ||
			exit 99; exec "$@"' "$beside" "$@"
		[ $? = 99 ] || return 0
	done
	echo "skip: no number was used again"
	return 1
}
if [ "${NAMESPACES_OLD-}" ]; then
	for i in 1 2 3; do
		inside sh -c "ipcmk -S 1; ipcmk -S 1; echo >$dir/here$i
			while [ ! -e $dir/all ]; do sleep 0.05; done" \
			>"$dir/out" &
	done
	until [ -e "$dir/here1" ] && [ -e "$dir/here2" ] && [ -e "$dir/here3" ]; do
		sleep 0.05
	done
	: >"$dir/all"
	wait
	if again "$tool" run -- ipcs -s >"$dir/out"; then
		check "a number used again, not served: shares the first one" \
			[ "$(grep -c '^0x' "$dir/out")" = 1 ]
		check "a number used again, served: is empty" \
			[ "$(sets unshare --ipc)" = 0 ]
		# shellcheck disable=SC2016 # for that shell
		again sh -c 'stat -Lc %i /proc/self/ns/ipc >$1/number
			"$2" gc mq' sh "$dir" "$tool" >"$dir/out"
		check "gc, though somebody is in one of that number" \
			[ ! -e "$beside/$(cat "$dir/number")" ]
	fi
	# Its mark: the kernel's shmall, of which the served see nothing.
	check "limits of the kernel's are as they are" [ "$(inside env \
		IPCLIFT_LIMITS=kernel cat /proc/sys/kernel/shmall)" = \
		"$(cat /proc/sys/kernel/shmall)" ]
	check "somebody sets the kernel's shmall" [ "$(inside sh -c '
		ipcmk -S 1 >/dev/null; env -u LD_PRELOAD sh -c \
			"echo 4096 >/proc/sys/kernel/shmall"
		ipcs -s | grep -c ^0x')" = 1 ]
	check "/proc/sys is read-only" [ "$(unshare --mount sh -c "
		mount --bind /proc/sys /proc/sys &&
		mount -o remount,bind,ro /proc/sys && '$tool' run -- unshare \
			--ipc sh -c 'ipcs -s; ipcmk -S 1; ipcs -s'" |
		grep -cE '^0x|Semaphore id: 0')" = 2 ]
	"$tool" gc mq >/dev/null
	check "and all go in the end" [ -z "$(find "$beside" -mindepth 1)" ]
fi

# Kept by a mount alone.
if mkdir "$dir/kept" && mount -t tmpfs none "$dir/kept" 2>/dev/null; then
	mount --make-private "$dir/kept"
	: >"$dir/kept/ns"
	"$tool" run -- unshare --ipc="$dir/kept/ns" ipcmk -S 1 >/dev/null
	"$tool" gc mq >/dev/null
	check "a namespace that a mount keeps has its objects" \
		[ "$(sets nsenter --ipc="$dir/kept/ns")" = 1 ]
	umount "$dir/kept/ns" "$dir/kept"
	"$tool" gc mq >/dev/null
	check "until it is unmounted" [ -z "$(find "$beside" -mindepth 1)" ]
fi

# A thread alone in one, which has not called yet.
mkfifo "$dir/go_thread"
"$tool" run -- python3 -c 'import ctypes, sys, threading
libc = ctypes.CDLL(None)
def alone():
    if not libc.unshare(0x08000000): # CLONE_NEWIPC
        open(sys.argv[1], "w").close()
        open(sys.argv[2]).read()
thread = threading.Thread(target=alone)
thread.start()
thread.join()' "$dir/apart" "$dir/go_thread" &
until [ -e "$dir/apart" ]; do sleep 0.05; done
"$tool" gc mq >/dev/null
check "gc leaves one that only a thread is in" \
	[ "$(find "$beside" -type f | wc -l)" = 1 ]
echo >"$dir/go_thread"
wait
"$tool" gc mq >/dev/null
check "until that has ended" [ -z "$(find "$beside" -mindepth 1)" ]

# Who was root when the namespace was made, and is another user now, sees no file in
# there: it stays in its namespace, as on the kernel, or is told.
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
chmod 711 "$dir"
if $nobody test -r "$shim"; then
	# shellcheck disable=SC2016 # perl's
	becomes='use POSIX; my ($between, $number, $how) = @ARGV;
		sub found { print defined semget(7, 1, 0) ? "found " : "$! " }
		semget(7, 1, 01600) // die "semget: $!"; found();
		syscall(272, 0x08000000) == 0 or die "unshare: $!"; # CLONE_NEWIPC
		found() if $between;
		POSIX::setgid(65534); POSIX::setuid(65534); found();
		print defined semget(8, 1, 01600) ? "made" : "$!"'
	for between in 0 1; do
		wanted=$(unshare --ipc perl -e "$becomes" $between)
		got=$("$tool" run --registry "$dir/becomes$between" -- \
			perl -e "$becomes" $between 2>&1)
		check "root becomes another user in a new one: $got" \
			[ "$got" = "$wanted" ]
	done
	"$tool" run --registry "$dir/hidden" -- unshare --ipc ipcmk -S 1 \
		>/dev/null
	chmod 666 "$dir/hidden"
	told() { # COMMAND...
		"$@" 2>&1 >/dev/null | grep -q 'hidden.ns: .*cannot be seen: P'
	}
	check "a directory that may not be seen is told of" told $nobody \
		"$tool" run --registry "$dir/hidden" -- ipcs -s
	check "by the command, too" told $nobody \
		"$tool" ls --registry "$dir/hidden"
else
	echo "skip: another user cannot read $shim"
fi

# In a place that all may write somebody else has been there before.
number() { python3 -c 'import fcntl, os, struct
try: print(struct.unpack("Q", fcntl.ioctl(os.open("/proc/self/ns/ipc", 0),
    0x8008b70d, bytes(8)))[0])
except OSError: print(os.stat("/proc/self/ns/ipc").st_ino)'; }
trap=$dir/trap
"$tool" run --registry "$trap" -- ipcmk -S 1 >/dev/null
install -d -o nobody -m 0777 "$trap.ns"
: >"$trap.ns/$(number)"
chown nobody "$trap.ns/$(number)" && chmod 666 "$trap.ns/$(number)"
check "another user's file is not taken for the namespace's registry" \
	[ "$("$tool" run --registry "$trap" -- ipcs -s | grep -c '^0x')" = 1 ]
mkdir "$dir/others" && : >"$dir/others/file"
rm -r "$trap.ns" && ln -s "$dir/others" "$trap.ns"
rm -rf "$trap.mq" && ln -s "$dir/others" "$trap.mq"
"$tool" destroy "$trap" >/dev/null
check "what lies where a link leads is not removed" [ -e "$dir/others/file" ]

# A namespace of an engine, that is: of a program that is not served.
check "one that was made without the shim shares the registry" \
	[ "$(unshare --ipc "$tool" run -- ipcs -s | grep -c '^0x')" = 1 ]

# shellcheck disable=SC2016 # for that shell
unshare --mount sh -c 'mount --make-rprivate / && mount -t tmpfs tmpfs /proc &&
	LD_PRELOAD=$0 exec unshare --ipc ipcs -s' "$shim" >"$dir/out" 2>"$dir/err"
check "one that cannot be given one shares the registry" \
	[ "$(grep -c '^0x' "$dir/out")" = 1 ]
check "and says so" grep -q \
	'^ipclift: .*registry: this new IPC namespace gets no registry' "$dir/err"

# --private: all goes with it.
# shellcheck disable=SC2016 # for that shell
"$tool" run --private -- sh -c 'echo $IPCLIFT_REGISTRY
	unshare --ipc ipcmk -S 1 -Q -M 1' >"$dir/out"
private=$(head -n 1 "$dir/out")
for ((i = 0; i < 200; i++)); do
	[ -e "$private" ] || break
	sleep 0.05
done
check "a private registry takes those with it" \
	[ -z "$(find "${private%/*}" -name "${private##*/}*")" ]

# Another user's namespace, with a user namespace of his own; in a chroot the
# kernel makes none.
unshare --user true 2>/dev/null || { echo "skip: no user namespaces"; finish; }
"$tool" run --registry "$dir/users" -- unshare --user --map-root-user --ipc \
	sh -c 'ipcmk -S 1 >/dev/null; ipcs -s' >"$dir/out" 2>"$dir/err"
check "with a user namespace" [ "$(grep -c '^0x' "$dir/out")" = 1 ]
check "its set is not in the first" [ "$("$tool" run --registry "$dir/users" \
	-- ipcs -s | grep -c '^0x')" = 0 ]

# ---- who makes one is killed on the way
if command -v strace >/dev/null; then
	export IPCLIFT_REGISTRY=$dir/killed
	"$tool" run -- ipcmk -S 1 >"$dir/out"
	for at in mkdir unlink fchmod; do
		strace -qq -o "$dir/trace" -e trace=unshare,$at \
			-e inject=$at:signal=SIGKILL -E LD_PRELOAD="$shim" \
			unshare --ipc ipcmk -S 1 >"$dir/out" 2>&1
		check "killed at $at" grep -q 'killed by SIGKILL' "$dir/trace"
		check "killed at $at: in the new namespace" \
			grep -q '^unshare(CLONE_NEWIPC) *= 0' "$dir/trace"
		check "killed at $at: the first registry is whole" \
			"$tool" check
		check "killed at $at: the first one is as it was" \
			[ "$(sets)" = 1 ]
		check "killed at $at: the next one is new" \
			[ "$(sets unshare --ipc)" = 0 ]
	done
	"$tool" gc mq >/dev/null
	check "nothing of the killed stays" \
		[ -z "$(find "$dir/killed.ns" -mindepth 1)" ]
fi
finish
