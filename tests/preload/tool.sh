# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# tool.sh - the head of a script about the command, to be sourced first of all:
# it goes on in IPC and mount namespaces of its own. Then $ipclift is the
# command, $here the folder of the scripts, $work a directory of the script's own
# that goes at its end, after its function `at_end` if it has one, and
# $IPCLIFT_REGISTRY a registry in it. Has checks.sh.

if [[ -z ${TOOL_INSIDE-} ]]; then
    TOOL_INSIDE=1 exec unshare --ipc --mount bash "$0"
fi
unset TOOL_INSIDE
# shellcheck disable=SC2034 # the script's
ipclift=${IPCLIFT_TOOL:?the command}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d -p "${IPCLIFT_TEST_DIR:-/dev/shm}" tool.XXXXXX) || exit 1
# shellcheck disable=SC2329 # called by trap
tool_end() {
    ! declare -F at_end >/dev/null || at_end
    rm -rf "$work"
}
trap tool_end EXIT
export IPCLIFT_REGISTRY=$work/registry
# shellcheck source=tests/preload/checks.sh
. "$here/checks.sh"
