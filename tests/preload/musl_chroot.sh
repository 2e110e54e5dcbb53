#!/bin/bash
# SPDX-License-Identifier: MIT
#
# musl_chroot.sh - as on Alpine: the library built by musl-gcc from musl's headers,
# in a root directory that has musl's loader and no other, no shell, no tool.
# Programs of tests/preload print the same there on the kernel and under the
# library; one outside, of glibc and with glibc's build, shares a set with one in
# there; a static program is on the kernel's objects, as said of such.

. "$(dirname "$0")/scenario.sh"
command -v musl-gcc >/dev/null || skip "no musl-gcc"
command -v meson >/dev/null && command -v ninja >/dev/null || skip "no meson"
own_ipc_namespace "$@"
[ "$(id -u)" = 0 ] || skip "chroot needs root"

# Where musl-gcc does not look: what Alpine's linux-headers has.
mkdir "$dir/kernel"
for d in /usr/include/{linux,asm-generic} /usr/include/"$(gcc -print-multiarch)"/asm; do
	[ -d "$d" ] || skip "no $d"
	ln -s "$d" "$dir/kernel/"
done
if ! CC="musl-gcc -idirafter $dir/kernel" meson setup -Dtests=false \
	-Dfuse=false "$dir/build" "$here/../.." >"$dir/log" 2>&1 ||
	! ninja -C "$dir/build" shim/libipclift.so >>"$dir/log" 2>&1; then
	fail "the library is built by musl-gcc" <(tail -n 30 "$dir/log")
	finish
fi
ok "the library is built by musl-gcc"
built=$dir/build/shim/libipclift.so
names() {
	nm -D --defined-only "$1" | awk '{ print $2, $3 }' | sort
}
names "$shim" >"$dir/names"
names "$built" >"$dir/names.musl"
check "its names are those of the other" diff -u "$dir/names" "$dir/names.musl"

# ---- the root directory

# A mount of its own, so that the registry in there is in memory.
root=$dir/root
mkdir "$root"
mount -t tmpfs none "$root" || skip "may not mount"
trap 'umount -R -l "$root"; scenario_cleanup' EXIT
mkdir "$root"/{lib,bin,proc,dev,tmp}
chmod 1777 "$root/tmp"
mount -t proc none "$root/proc" || skip "may not mount"
touch "$root/dev/null"
mount --bind /dev/null "$root/dev/null"
loader=$(readelf -lW "$(helper sem musl-gcc)" |
	sed -n 's/.*interpreter: \(.*\)\]/\1/p')
cp -L "$loader" "$root/lib/" || skip "no $loader"
cp "$built" "$root/lib/libipclift.so"

# in_root [VARIABLE=VALUE...] -- PROGRAM [ARGS]: static, so that what it sets is for
# the program alone.
cat >"$dir/in_root.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int i;

	if (argc < 3 || chroot(argv[1]) || chdir("/"))
		return 126;
	for (i = 2; i < argc && strcmp(argv[i], "--"); i++)
		putenv(argv[i]);
	execv(argv[i + 1], argv + i + 1);
	return 127;
}
END
musl-gcc -static -o "$dir/in_root" "$dir/in_root.c" || exit 1
on_kernel() {
	"$dir/in_root" "$root" -- "$@"
}
served() {
	"$dir/in_root" "$root" LD_PRELOAD=/lib/libipclift.so \
		IPCLIFT_REGISTRY=/tmp/registry IPCLIFT_LIMITS=kernel -- "$@"
}

# ---- programs

for name in sem_get sem_undo sem_wake msg_order msg_handover shm_at shm_remap \
	mq_open mq_io mq_poll; do
	if ! musl-gcc -O1 -D_GNU_SOURCE -o "$root/bin/$name" \
		"$here/$name.c" -pthread 2>"$dir/build.err"; then
		fail "$name does not build" "$dir/build.err"
		continue
	fi
	timeout 60 unshare --ipc -- "$dir/in_root" "$root" -- "/bin/$name" \
		>"$dir/kernel.out" 2>&1 </dev/null
	on=$?
	timeout 60 "$dir/in_root" "$root" LD_PRELOAD=/lib/libipclift.so \
		IPCLIFT_REGISTRY=/tmp/registry IPCLIFT_LIMITS=kernel -- \
		"/bin/$name" >"$dir/shim.out" 2>&1 </dev/null
	check "$name in there: $on and $?" diff -u "$dir/kernel.out" "$dir/shim.out"
	rm -f "$root/tmp/registry"
done
check "the kernel is untouched" kernel_untouched

# ---- with one outside

cp "$(helper sem musl-gcc)" "$root/bin/sem"
glibc=$(helper sem gcc) || exit 1
export IPCLIFT_REGISTRY=$root/tmp/registry
check "a set made in there" served /bin/sem 0x17 create 1 op 0 3 -
check "is seen outside" shimmed "$glibc" 0x17 expect 0 3 op 0 -3 -
"$dir/in_root" "$root" LD_PRELOAD=/lib/libipclift.so \
	IPCLIFT_REGISTRY=/tmp/registry -- /bin/sem 0x17 op 0 -1 u hang &
sleeper=$!
check "who sleeps in there" shimmed "$glibc" 0x17 sleepers 0 1 op 0 1 - \
	until 0 0
kill -9 $sleeper
wait $sleeper 2>/dev/null
check "killed, it gives back" shimmed "$glibc" 0x17 until 0 1 rm

# ---- static

musl-gcc -static -O1 -D_GNU_SOURCE -o "$root/bin/static" "$here/app_sem.c"
check "a static one runs" served /bin/static 0x18 create 1
check "on the kernel's objects" on_kernel /bin/sem 0x18 expect 0 0 rm
check "the served ones have none" \
	eval '! served /bin/sem 0x18 expect 0 0 2>/dev/null'
finish
