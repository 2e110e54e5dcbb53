#!/bin/bash
# SPDX-License-Identifier: MIT
#
# events.sh - whom an event names when the call was made through the mount: the
# process that asked, by its pid and its thread's name, not the mount. A process
# of which the mount's pid namespace knows nothing is nobody, pid 0.

# shellcheck source=tests/fuse/mounted.sh
. "${0%/*}/mounted.sh"
m=$work/view
mount_view "$m" create,limits=kernel,allow_other
# So many that each limit below is exceeded; who has CAP_SYS_RESOURCE may.
for i in 1 2 3 4 5 6; do
    : >"$m/mqueue/q$i"
done

# Makes a queue in mqueue/ of DIR, which fails. Prints the pid that it has here,
# also in another pid namespace: /proc is ours.
cat >"$work/ask.py" <<'PY'
import errno, os, sys, threading
def name(text):
    open("/proc/thread-self/comm", "w").write(text)
def ask():
    if len(sys.argv) > 3:
        name(sys.argv[3])
    try:
        os.open(sys.argv[1] + "/mqueue/more", os.O_CREAT | os.O_RDWR)
    except OSError as e:
        print(os.readlink("/proc/self"), errno.errorcode[e.errno])
name(sys.argv[2])
if len(sys.argv) > 3:
    t = threading.Thread(target=ask)
    t.start()
    t.join()
else:
    ask()
PY
# said WHAT LIMIT ERROR WANTED ASKER...: who asks is refused with the error; one
# event more, of WANTED (PID: the asker's) and of the limit
said() {
    local what=$1 limit=$2 error=$3 wanted=$4 before pid got
    shift 4
    before=$(wc -l <"$m/events")
    read -r pid got < <("$@")
    is "$what: the error" "$got" "$error"
    is "$what" "$(tail -n +$((before + 1)) "$m/events" |
        sed -E 's/^[^ ]+ [^ ]+ +//; s/ +limit/ limit/; s/[;,].*//')" \
        "${wanted/PID/$pid} limit $limit: $error"
}
# A hit of the same value in the same second is told once: another each time.
beyond() { # beyond WHAT QUEUES_MAX COMMAND-OF-THREAD ASKER...
    echo "$2" >"$m/sys/fs/mqueue/queues_max"
    said "$1" "queues_max=$2" ENOSPC "PID $3" "${@:4}"
}
python=$(python3 -c 'import sys; print(sys.executable)')
less() {
    setpriv --bounding-set -sys_resource "$python" "$work/ask.py" "$@"
}
beyond "root without CAP_SYS_RESOURCE" 1 one_asks less "$m" one_asks
beyond "an ordinary user" 2 another other_user "$python" \
    "$work/ask.py" "$m" another
beyond "a thread: its process's pid, its own name" 3 thread_t \
    less "$m" process_p thread_t
beyond "a name of blanks" 4 "a b" less "$m" "a b"
beyond "in a pid namespace below: as it is known here" 5 in_child \
    unshare --pid --fork setpriv --bounding-set -sys_resource "$python" \
    "$work/ask.py" "$m" in_child
is "ipclift events says the same" "$("$ipclift" events --json | tr -d ' ' |
    grep -cE '"command":"(one_asks|another|thread_t|ab|in_child)"')" 5

# ---- a mount in a pid namespace below ours does not know us
inner=$work/inner
mkdir "$inner"
mounts+=("$inner")
m=$inner
env IPCLIFT_REGISTRY="$work/below" unshare --pid --fork --kill-child \
    "$mounter" -f -o create,limits=kernel "$m" &
children+=($!)
wait_for 10 mountpoint -q "$m"
# Nobody's rlimit is none, so he may not make any queue.
said "of a pid namespace above: nobody" RLIMIT_MSGQUEUE=0 EMFILE 0 \
    less "$m" other_user
exit $bad
