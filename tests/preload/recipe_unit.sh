#!/bin/bash
# SPDX-License-Identifier: MIT
#
# recipe_unit.sh - examples/web.service: systemd finds nothing wrong with it, and
# its commands do what it says, with another server than Apache: the registry is
# there while it runs and gone after it.

. "$(dirname "$0")/scenario.sh"
own_ipc_namespace "$@"
: "${IPCLIFT_TOOL:?names no ipclift}"
tool=$(realpath "$IPCLIFT_TOOL")
unit=$here/../../examples/web.service
name=recipe-$$
home=/dev/shm/ipclift-$(id -u)/$name
trap 'rm -rf "$home" "$home.mq"; scenario_cleanup' EXIT
unset IPCLIFT_REGISTRY

sed -e "s,/usr/bin/ipclift,$tool," -e "s,\\bweb\$,$name," \
	-e "s,--name web,--name $name," \
	-e "s,-- /usr/sbin/apache2.*,-- $(command -v ipcmk) -S 3," \
	"$unit" >"$dir/web.service"
if command -v systemd-analyze >/dev/null; then
	systemd-analyze verify "$dir/web.service" >"$dir/out" 2>&1
	# What other units of this machine have is not ours.
	grep -F web.service "$dir/out" >"$dir/said"
	check "systemd takes it" [ ! -s "$dir/said" ]
else
	echo "skip: no systemd-analyze"
fi
command_of() {
	sed -n "s/^$1=-\\{0,1\\}//p" "$dir/web.service"
}
check "it starts" bash -c "exec $(command_of ExecStart)"
check "on its registry" [ -e "$home" ]
check "with its set" bash -c "$tool ls --name $name | grep -q sem"
check "and none in the kernel" [ "$(tail -n +2 /proc/sysvipc/sem | wc -l)" = 0 ]
check "it ends" bash -c "exec $(command_of ExecStopPost)"
check "with its registry" [ ! -e "$home" ]
finish
