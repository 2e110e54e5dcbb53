#!/bin/bash
# SPDX-License-Identifier: MIT
#
# podman.sh - the recipes of doc/sandboxes.md by podman itself, with images made
# of this machine's own files: containers with one process namespace (--pid
# container:A, a pod with --share pid) and one volume in memory share a registry,
# wake each other and give back what a killed one held; one with a process
# namespace of its own is refused; alone, a container has its own in its /dev/shm.
#
# Storage, volumes and configuration lie in a directory of its own. Debian's crun
# knows no hybrid cgroups, and the limits that podman sets by itself take
# CAP_SYS_RESOURCE: hence runc and default_ulimits. PODMAN_USER is who starts it
# (podman_rootless.sh).

# podman's lock of a user is in /dev/shm: one of its own.
[ -z "${SCENARIO_INSIDE-}" ] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm
# shellcheck source=tests/preload/scenario.sh
. "$(dirname "$0")/scenario.sh"
for need in podman runc; do
	command -v $need >/dev/null || skip "no $need"
done
own_ipc_namespace "$@"
tool=${IPCLIFT_TOOL:?}
sem=$(helper sem) || exit 1
store=$(mktemp -d /tmp/podman.XXXXXX) || exit 1
export CONTAINERS_STORAGE_CONF=$store/storage CONTAINERS_CONF=$store/containers
export TMPDIR=$store XDG_RUNTIME_DIR=$store/user HOME=$store
mkdir -m 700 "$XDG_RUNTIME_DIR"
user=${PODMAN_USER:-0}
as=()
[ "$user" = 0 ] ||
	as=(setpriv --reuid "$user" --regid "$user" --clear-groups env -C "$store")
groups_before=$(find /sys/fs/cgroup -type d -name 'libpod*' 2>/dev/null)
leave() {
	pod pod rm -fat 0 && pod rm -fat 0
	# What keeps a user's namespaces.
	find "$store" -name pause.pid -exec cat {} + | xargs -r kill -9
	umount "$store/volume"
	[ "$groups_before" ] ||
		find /sys/fs/cgroup -depth -type d -path '*/libpod*' \
			-exec rmdir {} \;
	grep -o " $store[^ ]*" /proc/mounts | sort -r | xargs -r umount -l
	rm -rf "$store"
	scenario_cleanup
}
trap 'leave >/dev/null 2>&1' EXIT
printf '[storage]\ndriver = "vfs"\nrunroot = "%s"\ngraphroot = "%s"
	[storage.options]\nignore_chown_errors = "true"\n' \
	"$store/run" "$store/graph" >"$CONTAINERS_STORAGE_CONF"
cat >"$CONTAINERS_CONF" <<X
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
tmp_dir = "$store/tmp"
volume_path = "$store/volumes"
[network]
network_config_dir = "$store/networks"
X
pod() {
	"${as[@]}" podman --runtime runc "$@"
}

# ---- an image: the shell, the command, the library and a program
mkdir -p "$store/image"/{bin,tmp}
cp "$sem" "$store/image/bin/sem"
cp "$tool" "$store/image/bin/ipclift"
cp "$shim" "$store/image/libipclift.so"
for program in sh sleep; do
	cp "$(command -v $program)" "$store/image/bin/"
done
ldd "$store/image/bin/"{sh,sleep,sem,ipclift} | grep -o '/[^ ]*' |
	grep -v ':$' | sort -u | while read -r file; do
	mkdir -p "$store/image/${file%/*}" && cp "$file" "$store/image/$file"
done
tar -C "$store/image" -cf "$store/image.tar" .
# A user's podman sees what is mounted when it first starts.
mkdir "$store/volume" && mount -t tmpfs -o "uid=$user" tmpfs "$store/volume"
chown -R "$user" "$store"
pod import "$store/image.tar" ipclift:test >"$dir/out" 2>&1 ||
	skip "podman import: $(tail -n 1 "$dir/out")"
pod run --rm --network none ipclift:test /bin/sleep 0 >"$dir/out" 2>&1 ||
	skip "podman run: $(tail -n 1 "$dir/out")"

# ---- containers of one process namespace
with=(--network none -v "$store/volume:/ipc"
	-e IPCLIFT_REGISTRY=/ipc/registry)
serve=(-e LD_PRELOAD=/libipclift.so)
both() { # EXTRA... -- : its other containers are started with EXTRA
	local name=$1 killed

	shift
	check "$name: makes a set" pod run --rm "${with[@]}" "${serve[@]}" "$@" \
		ipclift:test sem 0x17 create 1 op 0 1 -
	pod run --name holder -d "${with[@]}" "${serve[@]}" "$@" \
		ipclift:test sem 0x17 op 0 -1 u hang >"$dir/out" 2>&1
	pod run --name sleeper -d "${with[@]}" "${serve[@]}" "$@" \
		ipclift:test sem 0x17 until 0 0 op 0 -1 - >>"$dir/out" 2>&1
	check "$name: one sleeps for what another holds" pod run --rm \
		"${with[@]}" "${serve[@]}" "$@" ipclift:test \
		sem 0x17 sleepers 0 1
	killed=$(date +%s)
	pod kill holder >/dev/null
	check "$name: the holder killed, the sleeper goes on" \
		[ "$(timeout 20 "${as[@]}" podman \
			--runtime runc wait sleeper)" = 0 ]
	check "$name: at once" [ $(($(date +%s) - killed)) -le 10 ]
	pod run --rm "${with[@]}" "${serve[@]}" "$@" ipclift:test sem 0x17 rm
	pod rm -f -t 0 holder sleeper >/dev/null
}
pod run --name A -d "${with[@]}" ipclift:test sleep 1000 >/dev/null
both "--pid container:A" --pid container:A
check "ipclift in there sees the registry" pod run --rm "${with[@]}" \
	--pid container:A ipclift:test ipclift check
# ---- refused
pod run --rm "${with[@]}" "${serve[@]}" ipclift:test sem 0x17 create 1 \
	>"$dir/why" 2>&1
if grep -q 'belongs to another pid namespace' "$dir/why"; then
	ok "a process namespace of its own is refused"
else
	fail "a process namespace of its own is refused" "$dir/why"
fi
pod run --rm "${with[@]}" ipclift:test ipclift run -- sem 0x17 create 1 \
	>"$dir/why" 2>&1
check "by run, with 125" [ $? = 125 ]
pod rm -f -t 0 A >/dev/null

# ---- a pod
rm -rf "$store/volume/"registry*
if pod pod create --name P --share pid --network none \
	--infra-image ipclift:test --infra-command "/bin/sleep 1000" \
	>"$dir/out" 2>&1 && pod pod start P >>"$dir/out" 2>&1; then
	both "a pod" --pod P
else
	echo "skip: no pod here: $(tail -n 1 "$dir/out")"
fi

# ---- alone
check "alone, with a registry in its own /dev/shm" pod run --rm \
	--network none ipclift:test ipclift run -- sem 0x17 create 1 \
	op 0 1 u expect 0 1
pod run --rm --network none --shm-size 8m ipclift:test \
	ipclift doctor --quick >"$dir/why" 2>&1
if grep -q 'docker: --shm-size' "$dir/why"; then
	ok "doctor says that /dev/shm is small"
else
	fail "doctor says that /dev/shm is small" "$dir/why"
fi
pod run --rm --network none ipclift:test ipclift doctor --quick \
	>"$dir/why" 2>&1
if grep -q 'Verdict: programs are served here' "$dir/why"; then
	ok "doctor in a container"
else
	fail "doctor in a container" "$dir/why"
fi
finish
