#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rtld_deepbind.sh - a module loaded with RTLD_DEEPBIND looks into libc before
# it looks into preloaded libraries, and would call the kernel's semget. PHP
# loads its extensions so. The shim drops that flag, and dlopen must otherwise
# stay what it is: the caller's RUNPATH still counts.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"

mkdir "$dir/modules"
gcc -O1 -shared -fPIC -o "$dir/modules/app_module.so" \
	"$here/app_module.c" || exit 1
program=$(helper deepbind gcc -ldl "-Wl,-rpath,$dir/modules" \
	-Wl,--enable-new-dtags) || exit 1
check "without the shim" "$program" app_module.so
ipcs -s | grep -q 0x00000018 && fail "the plain run left a set"
# That run used the namespace's id 0.
check "a module found by RUNPATH, bound deep, in the registry" \
	unshare --ipc bash -c '
	LD_PRELOAD=$1 "$2" app_module.so || exit 1
	tail -n +2 /proc/sysvipc/sem | grep . && exit 1
	[ "$(ipcmk -S 1)" = "Semaphore id: 0" ]' - "$shim" "$program"

command -v php >/dev/null || { echo "skip: no php (php-cli)"; finish; }
php -m | grep -qx sysvsem || { echo "skip: php without sysvsem"; finish; }
cat >"$dir/one.php" <<'PHP'
<?php
$s = sem_get(0x19, 1, 0600, true);
if (!$s || !sem_acquire($s)) exit(1);
if (sem_acquire($s, true)) exit(2);
if (!sem_release($s) || !sem_acquire($s, true) || !sem_release($s)) exit(3);
if (!sem_remove($s)) exit(4);
PHP
# Two processes: the second sleeps until the first lets go, or ends.
cat >"$dir/two.php" <<'PHP'
<?php
[$_, $file, $times] = $argv;
$s = sem_get(0x1a, 1, 0600, true);
for ($i = 0; $i < $times; $i++) {
	if (!sem_acquire($s)) exit(1);
	file_put_contents($file, 1 + (int)file_get_contents($file));
	if (!sem_release($s)) exit(2);
}
sem_acquire($s);	// kept: the end of the process gives it back
PHP
# shellcheck disable=SC2016
in_php() {
	unshare --ipc bash -c '
	shim=$1 dir=$2
	export LD_PRELOAD=
	echo 0 >"$dir/count"
	LD_PRELOAD=$shim php -n $4 "$dir/one.php" || exit 1
	LD_PRELOAD=$shim timeout 30 php -n $4 "$dir/two.php" "$dir/count" 300 &
	a=$!
	LD_PRELOAD=$shim timeout 30 php -n $4 "$dir/two.php" "$dir/count" 300 &
	wait $a && wait $! || exit 1
	[ "$(cat "$dir/count")" = 600 ] || { cat "$dir/count"; exit 1; }
	[ -z "$3" ] && exit
	tail -n +2 /proc/sysvipc/sem | grep . && exit 1
	[ "$(ipcmk -S 1)" = "Semaphore id: 0" ]' - "$@"
}
module=
php -n -m | grep -qx sysvsem || module='-d extension=sysvsem'
check "PHP on the kernel" in_php "" "$dir" "" "$module"
check "PHP in the registry, one process and two" \
	in_php "$shim" "$dir" 1 "$module"
finish
