#!/bin/bash
# SPDX-License-Identifier: MIT
#
# errors.sh - registries that cannot be used. Each gives one clear line on
# stderr, the call fails with an errno and goes on failing, nothing crashes, the
# file is not changed by a byte, and the kernel's IPC is not used instead.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
first=$(helper first) || exit 1
fill=$(helper fill) || exit 1
app_sem=$(helper sem) || exit 1
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
chmod 711 "$dir"
chmod 755 "$first" "$app_sem"

# What a file is: its start (a registry is sparse, and of 32 GiB), size, mode.
state() {
	if [ -f "$1" ] && [ ! -L "$1" ]; then
		head -c 1048576 "$1" | sha256sum
		stat -c '%s %a %u %b' "$1"
	else
		stat -c '%F %N %a' "$1" 2>&1
	fi
}
# refused TEXT ERRNO WORDS COMMAND...: $IPCLIFT_REGISTRY is refused to COMMAND
# with one line that has WORDS
refused() {
	local text=$1 errno=$2 words=$3 before status

	shift 3
	before=$(state "$IPCLIFT_REGISTRY")
	LD_PRELOAD=$shim timeout 20 "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status != 0 ]; then
		fail "$text: exit status $status" "$dir/out" "$dir/err"
	elif [ "$(cat "$dir/out")" != "$errno" ]; then
		fail "$text: not $errno but" "$dir/out" "$dir/err"
	elif [ "$(wc -l <"$dir/err")" != 1 ] ||
		! grep -q "^ipclift: .*$words" "$dir/err"; then
		fail "$text: not one clear line" "$dir/err"
	elif [ "$before" != "$(state "$IPCLIFT_REGISTRY")" ]; then
		state "$IPCLIFT_REGISTRY" >"$dir/after"
		fail "$text: the file has changed: $before" "$dir/after"
	else
		ok "$text: $errno, $(cut -c -100 <"$dir/err" | sed "s,$dir/,,")"
	fi
}
good_registry() {
	new_registry
	shimmed "$app_sem" 0x20 create 1
}
# poke OFFSET BYTES: change the good registry
poke() {
	# shellcheck disable=SC2059
	printf "$2" | dd of="$IPCLIFT_REGISTRY" bs=1 seek="$1" conv=notrunc \
		status=none
}

good_registry
truncate -s 1M "$IPCLIFT_REGISTRY"
refused "truncated" EINVAL "truncated" "$first"
good_registry
truncate -s +4096 "$IPCLIFT_REGISTRY"
refused "longer" EINVAL "size is wrong" "$first"
good_registry
poke 8 '\x63'
refused "another layout version" EPROTO "another version" "$first"
good_registry
poke 12 '\x04'
refused "another word size" EPROTO "another version" "$first"
good_registry
poke 0 'x'
refused "another magic" EINVAL "not an ipclift registry" "$first"
good_registry
poke 24 'x'
refused "a changed identity" EINVAL "damaged" "$first"
new_registry
head -c 1048576 /dev/urandom >"$IPCLIFT_REGISTRY"
refused "random bytes" EINVAL "not an ipclift registry" "$first"
good_registry
head -c 1048576 /dev/urandom |
	dd of="$IPCLIFT_REGISTRY" conv=notrunc status=none
refused "random bytes of the right size" EINVAL "not an ipclift" "$first"
echo text >"$IPCLIFT_REGISTRY"
refused "a text" EINVAL "not an ipclift registry" "$first"

good_registry
mv "$IPCLIFT_REGISTRY" "$dir/other"
ln -s other "$IPCLIFT_REGISTRY"
refused "a symbolic link" EINVAL "symbolic link" "$first"
new_registry
mkdir "$IPCLIFT_REGISTRY"
refused "a directory" EISDIR "cannot be opened" "$first"
rmdir "$IPCLIFT_REGISTRY"
mkfifo "$IPCLIFT_REGISTRY"
refused "a fifo" EINVAL "not a regular file" "$first"
rm "$IPCLIFT_REGISTRY"
IPCLIFT_REGISTRY=$dir/no/registry \
	refused "no directory" ENOENT "directory does not exist" "$first"
IPCLIFT_REGISTRY=/dev/null refused "a device" EINVAL "not a regular" "$first"

good_registry
chown 65534 "$IPCLIFT_REGISTRY"
refused "another owner" EACCES "another user" "$first"
good_registry
refused "unreadable" EACCES "cannot be opened" $nobody "$first"
chmod 644 "$IPCLIFT_REGISTRY"
refused "readable but not writable" EACCES "cannot be opened" $nobody "$first"
chmod 666 "$IPCLIFT_REGISTRY"
check "shared on purpose: served" shimmed $nobody "$first"

# Another user made the default directory first.
good_registry
uid=64999
mkdir "/dev/shm/ipclift-$uid" && {
	chown 65534 "/dev/shm/ipclift-$uid"
	chmod 777 "/dev/shm/ipclift-$uid"
	IPCLIFT_REGISTRY='' refused "another user's default directory" EACCES \
		"only you can write" setpriv --reuid $uid --regid $uid \
		--clear-groups "$first"
	rmdir "/dev/shm/ipclift-$uid"
}

# The next boot has another id, and began at another second.
later="unshare --mount --fork --time --boottime 100000"
if $later true 2>/dev/null; then
	good_registry
	sed 's/^[^-]*/00000000/' /proc/sys/kernel/random/boot_id >"$dir/boot"
	# shellcheck disable=SC2016 # for that shell
	refused "an earlier boot's" ESTALE "before the last boot" $later \
		sh -c 'mount --make-rprivate / && mount --bind "$0" \
			/proc/sys/kernel/random/boot_id && exec "$@"' \
		"$dir/boot" "$first"
	good_registry
	check "another time namespace: served" \
		[ "$(shimmed $later "$first")" = served ]
else
	echo "skip: no time namespaces"
fi
good_registry

if unshare --pid --fork true 2>/dev/null; then
	refused "another pid namespace" EXDEV "pid namespace" \
		unshare --pid --fork --mount-proc "$first"
	check "a child of one that has it mapped, in another namespace" \
		shimmed "$(helper namespace)"
fi
(
	ulimit -v 4194304
	refused "a small RLIMIT_AS" ENOMEM "RLIMIT_AS" "$first"
	exit $failed
) || failed=1
refused "a filter that refuses madvise" ENOSYS "MADV_WIPEONFORK.*is refused" \
	"$(helper refused)" "$first"
check "a full descriptor table is no matter" shimmed \
	bash -c 'ulimit -n 20; exec "$1" no-fd' - "$first"
new_registry
: >"$IPCLIFT_REGISTRY"
refused "a small RLIMIT_FSIZE" EFBIG "RLIMIT_FSIZE" \
	bash -c 'ulimit -f 1024; exec "$1"' - "$first"
new_registry

# Small file systems, in a mount namespace of this script's own.
small=$dir/small
mkdir "$small"
for size in 4k 64k 256k; do
	mount -t tmpfs -o size=$size,mode=755 small "$small" || break
	: >"$small/registry"
	IPCLIFT_REGISTRY=$small/registry \
		refused "a tmpfs of $size" ENOSPC "no room" "$first"
	umount "$small"
done
for size in 520k 600k 700k 800k 1000k 1500k; do
	mount -t tmpfs -o size=$size,mode=755 small "$small" || break
	check "a tmpfs of $size runs full" env LD_PRELOAD="$shim" \
		IPCLIFT_REGISTRY="$small/registry" timeout 60 "$fill"
	umount "$small"
done

check "the kernel is untouched" kernel_untouched

# Under AT_SECURE the user's variables count for nothing. The copy may not be in
# /dev/shm, which can be mounted nosuid. The user cannot write $dir: if it were
# asked for, there would be a line.
secure=$(mktemp -d) && chmod 755 "$secure"
trap 'rm -rf "$secure"; scenario_cleanup' EXIT
cp "$app_sem" "$secure/program"
chmod 4755 "$secure/program"
if findmnt -n -o OPTIONS -T "$secure" | grep -qw nosuid; then
	echo "skip: $secure is nosuid"
else
	check "a setuid program uses the kernel, and says nothing" $nobody env \
		LD_PRELOAD="$shim" IPCLIFT_REGISTRY="$dir/secure" \
		"$secure/program" 0x21 create 1 op 0 1 - rm
	[ ! -s "$dir/check.out" ] || fail "it said something" "$dir/check.out"
	[ ! -e "$dir/secure" ] || fail "a setuid program made a registry"
	tail -n +2 /proc/sysvipc/sem | grep -q . && fail "it left something"
	ipcmk -S 1 | grep -qx 'Semaphore id: 0' && fail "no set in the kernel"
fi

# stderr is the host's: a line that cannot be written is no signal.
echo text >"$IPCLIFT_REGISTRY"
check "a closed stderr" env LD_PRELOAD="$shim" "$first" 2>&-
# shellcheck disable=SC2016
check "a broken pipe as stderr" env LD_PRELOAD="$shim" bash -c '
	exec 3> >(exec true); sleep 0.2
	"$1" 2>&3 >/dev/null; status=$?
	[ $status = 0 ] || { echo "exit status $status"; exit 1; }' - "$first"
finish
