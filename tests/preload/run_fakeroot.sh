#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run_fakeroot.sh - `ipclift run --private` and fakeroot, as root and as nobody:
# under fakeroot by TCP, and above both kinds, programs are served, their files'
# owners are fakeroot's, and the private registry goes. Under fakeroot by
# System V, whose library would wait on the registry for a daemon on the kernel's
# queues, it is refused in one line; and so is every call of a program that has
# the library preloaded there by hand.

# Private registries are in /dev/shm: one of its own.
[ -z "${SCENARIO_INSIDE-}" ] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm
# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
command -v fakeroot-sysv >/dev/null && command -v fakeroot-tcp >/dev/null ||
	skip "no fakeroot"
unset IPCLIFT_REGISTRY
work=$(mktemp -d /tmp/fakeroot.XXXXXX) || exit 1
trap 'rm -rf "$work"; scenario_cleanup' EXIT
mkdir -p "$work/shim/tool"
cp "$shim" "$work/shim/"
cp "${IPCLIFT_TOOL:?}" "$work/shim/tool/"
chmod 755 "$work"
ipclift=$work/shim/tool/ipclift
# fakeroot's daemon closes every number that it may have open.
ulimit -n 1024

# A set, found by a second program; a file given away; and its exit status.
cat >"$work/use" <<'X'
semget(7, 1, 01600) // die "semget: $!";
chown 1, 2, $ARGV[0] or die "chown: $!";
print join(" ", $ENV{IPCLIFT_REGISTRY} =~ m,(ipclift-\d+)/private,,
	`stat -c '%u %g' $ARGV[0]` =~ /\d+/g, `ipcs -s` =~ tr/0-9a-z\n//cdr =~
	/00000007/g), "\n";
exit 7;
X
# fakeroot's daemon may end after it, and the registry then.
gone() {
	local i

	for ((i = 0; i < 500; i++)); do
		[ "$(find "/dev/shm/ipclift-$1" -name 'private*')" ] || return 0
		sleep 0.02
	done
	return 1
}
# pass WHO UID COMMAND...: by COMMAND, of "ipclift run --private" and "fakeroot"
pass() {
	local who=$1 file=$work/file.$2

	(cd "$work" && timeout 30 setpriv --reuid "$2" --regid "$2" \
		--clear-groups sh -c ': >"$0" && shift && exec "$@"' "$file" \
		- "${@:3}" perl "$work/use" "$file") >"$dir/out" 2>&1
	check "$who: exit status" [ $? = 7 ]
	check "$who: served, owners are fakeroot's" \
		[ "$(cat "$dir/out")" = "ipclift-$2 1 2 00000007" ]
	check "$who: no private registry is left" gone "$2"
	rm -f "$file"
}
chmod 1777 "$work"
run=("$ipclift" run --private --)
for uid in 0 65534; do
	pass "fakeroot-tcp, run, $uid" $uid fakeroot-tcp -- "${run[@]}"
	for kind in sysv tcp; do
		pass "run, fakeroot-$kind, $uid" $uid "${run[@]}" \
			fakeroot-$kind --
	done
	timeout 30 setpriv --reuid $uid --regid $uid --clear-groups \
		fakeroot-sysv -- "${run[@]}" stat / >"$dir/out" 2>&1
	check "fakeroot-sysv, run, $uid: refused" [ $? = 125 ]
	check "says why" grep -qxE \
		'ipclift( run)?: stat would wait .*fakeroot-tcp.*' "$dir/out"
	check "in one line" [ "$(wc -l <"$dir/out")" = 1 ]
	LD_PRELOAD='' timeout 30 setpriv --reuid $uid --regid $uid --clear-groups \
		fakeroot-sysv -- env IPCLIFT_REGISTRY="$work/hand.$uid" \
		bash -c 'LD_PRELOAD=$LD_PRELOAD:$0 perl -e \
			"print semget(7, 1, 01600) // int(\$!), -s \$^X" 2>&1' \
		"$work/shim/libipclift.so" >"$dir/out" 2>&1
	check "fakeroot-sysv, by hand, $uid: no call hangs" [ $? = 0 ]
	check "says why, once" [ "$(grep -c '^ipclift: fakeroot.*fakeroot-tcp' \
		"$dir/out") $(wc -l <"$dir/out")" = "1 1" ]
	check "fails, nothing but that" grep -q '^38[0-9][0-9]*$' "$dir/out"
	check "what leaves queues and sets alone is not" timeout 30 setpriv \
		--reuid $uid --regid $uid --clear-groups fakeroot-sysv -- \
		"$ipclift" run --private --route shm -- stat /
done
# fakeroot's daemon may end after it, and its queues with it.
for ((i = 0; i < 500 && $(kernel_objects); i++)); do
	sleep 0.02
done
check "nothing is in the kernel" [ "$(kernel_objects)" = 0 ]
finish
