#!/bin/bash
# SPDX-License-Identifier: MIT
#
# util_linux.sh - lsipc, ipcrm and ipcmk of util-linux 2.41, which list, remove and
# make POSIX objects as well, by /dev/mqueue and /dev/shm: the same words and
# exit statuses on the kernel and under the shim, as root and as another user, and
# none of the shim's queues in the kernel's /dev/mqueue.
#
# They are this machine's, if new enough; else, with FULL=1, they are built from
# Debian 13's source package, which apt fetches (20 MB, in a directory of its
# own); UTIL_LINUX=DIR names such a source, configured or not.

# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
[ "$(id -u)" = 0 ] || skip "needs root to mount a /dev/mqueue"
work=$(mktemp -d /tmp/util-linux.XXXXXX) || exit 1
chmod 755 "$work"
trap 'rm -rf "$work"; scenario_cleanup' EXIT
cp "$shim" "$work/libipclift.so"
export IPCLIFT_REGISTRY=$work/registry
tools=(lsipc ipcmk ipcrm)
mkdir "$work/bin" "$work/o"

fetch() {
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"http://deb.debian.org/debian trixie main" >"$work/apt/sources"
	cat >"$work/apt/conf" <<-X
	APT::Sandbox::User "root";
	Dir::Etc::sourcelist "$work/apt/sources";
	Dir::Etc::sourceparts "-";
	Dir::State::lists "$work/apt/lists";
	Dir::Cache "$work/apt/cache";
	X
	export APT_CONFIG=$work/apt/conf
	cd "$work" && apt-get update -qq && apt-get source -qq --download-only \
		util-linux && dpkg-source -x util-linux_*.dsc source
}
# Its own make would want the automake that it was made with.
build() {
	local f flags tool

	cd "$1" || return
	[ -e config.h ] || ./configure -q --disable-all-programs --disable-nls \
		--enable-libsmartcols --enable-lsipc --without-systemd \
		--without-python --disable-asciidoc --disable-poman || return
	flags=(-O1 -w -include "$1/config.h" -Iinclude -Ilibsmartcols/src
		-DLOCALEDIR='"/"' -D_PATH_RUNSTATEDIR='"/run"'
		-D_PATH_SYSCONFSTATICDIR='"/usr/lib"'
		-D_PATH_SYSCONFDIR='"/etc"' -D_PATH_LOCALSTATEDIR='"/var"')
	for f in lib/*.c libsmartcols/src/*.c; do
		# Those that need more than libc are not used here.
		gcc "${flags[@]}" -c "$f" -o "$work/o/${f//\//_}.o" 2>/dev/null
	done
	ar rcs "$work/o/all.a" "$work/o/"*.o
	for tool in "${tools[@]}"; do
		gcc "${flags[@]}" -o "$work/bin/$tool" "sys-utils/$tool.c" \
			sys-utils/ipcutils.c "$work/o/all.a" -lm || return
	done
}
if lsipc --help 2>&1 | grep -q -- --posix-mqueues; then
	for tool in "${tools[@]}"; do
		ln -s "$(command -v "$tool")" "$work/bin/"
	done
else
	if [ -z "${UTIL_LINUX-}" ]; then
		[ "${FULL:-0}" != 0 ] ||
			skip "util-linux is older than 2.41 (FULL=1 builds it)"
		(fetch) >"$work/log" 2>&1 ||
			skip "no source: $(tail -n 1 "$work/log")"
		UTIL_LINUX=$work/source
	fi
	(build "$UTIL_LINUX") >"$work/log" 2>&1 ||
		{ fail "they cannot be built" "$work/log"; finish; }
fi

cat >"$work/steps" <<'X'
x() {
	echo "\$ $*"
	"$@" 2>&1 | sed -E 's/\b[0-9][0-9]:[0-9][0-9](:[0-9][0-9])?\b/TIME/'
	echo "= ${PIPESTATUS[0]}"
}
umask 022
for tool in lsipc ipcmk ipcrm; do
	x $tool --version
done
x ipcmk --posix-shmem 4096 --name /m
x ipcmk --posix-mqueue --name /q
x ipcmk --posix-mqueue --name /q2 --mode 0640
x ipcmk --posix-mqueue --name noslash
x ipcmk --posix-semaphore --name /s
perl -e 'my ($q, $m) = ("q2", "hello");
	my $d = syscall(240, $q, 1, 0, 0); die $! if $d < 0;
	syscall(242, $d, $m, 5, 1, 0) for 1 .. 3'
x ipcmk -S 2 -p 0600
x ipcmk -Q
x ipcmk -M 100
for show in -Q "-Q --name /q2" "-Q --name q2" "-Q --name /none" "-Q -J" \
	"-Q --raw" "-Q -c" "-Q -e" -M "-M -J" -S "-S -e" "-q -o MSGS,PERMS" \
	"-s -o NSEMS" "-m -o SIZE,NATTCH" ""; do
	x lsipc $show
done
x ipcrm --posix-mqueue /none
x ipcrm --posix-mqueue noslash
x ipcrm --posix-mqueue /q
x lsipc -Q
x ipcrm --posix-shmem /m
x ipcrm --posix-semaphore /s
x ls /dev/mqueue
x ipcrm --all
for show in -Q -M -S -q -m -s; do
	x lsipc $show
done
X
# steps USER NAME [VARIABLE...]: what they print, in NAME
steps() {
	unshare --ipc --mount sh -c 'mount -t mqueue mqueue /dev/mqueue &&
		mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"' - \
		setpriv --reuid "$1" --regid "$1" --clear-groups \
		env PATH="$work/bin:$PATH" "${@:3}" bash "$work/steps" \
		>"$dir/$2" 2>&1
}
for user in 0 65534; do
	install -d -o $user "$work/$user"
	steps $user kernel
	check "$user: there are queues" grep -q '^/q2 .* 3$' "$dir/kernel"
	steps $user shim LD_PRELOAD="$work/libipclift.so" IPCLIFT_LIMITS=kernel \
		IPCLIFT_REGISTRY="$work/$user/registry"
	check "$user: as on the kernel" diff "$dir/kernel" "$dir/shim"
	check "$user: on a registry" [ -s "$work/$user/registry" ]
done
finish
