#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_complete.sh - completion by bash, zsh and fish: commands, options, columns,
# objects of the registry that the line names, and no file of another kind. That
# every option is offered is in tool_help.sh.

set -u
# Not in /dev/shm, which is hidden below.
export IPCLIFT_TEST_DIR=/tmp
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
files=$here/../../shim/tool
# A /dev/shm of its own: the default registry, and one that is named.
mount -t tmpfs none /dev/shm || exit 1
unset IPCLIFT_REGISTRY
PATH=$(dirname "$ipclift"):$PATH
export PATH
ipclift run perl -e 'msgget(5, 01600)'
# shellcheck disable=SC2016 # perl's
ipclift run --name other perl -e 'semget($_, 1, 01600) for 1 .. 3;
    $name = "jobs"; syscall(240, $name, 0102, 0600, 0); exec "true"'
mkdir -p /dev/shm/ipclift-$UID/gone.mq

# What all three must offer for the last word of a line (there is no order).
asked() { # asked WORD...
    "$shell_offers" "$@" | sort -u | paste -sd ' '
}
same_for_all() {
    is "$1: commands" "$(asked reg)" registries
    is "$1: an option" "$(asked waits --sv)" --svg
    is "$1: registries, and nothing else" "$(asked ls --name '')" "default other"
    is "$1: kinds" "$(asked ls '')" "mq msg sem shm"
    is "$1: ids of the default one" "$(asked show msg '')" 0
    is "$1: none of a kind there" "$(asked show sem '')" ""
    is "$1: of the one that is named" "$(asked show --name other sem '')" "0 1 2"
    is "$1: by its path" \
        "$(asked show --registry /dev/shm/ipclift-$UID/other sem '')" "0 1 2"
    is "$1: names of queues" "$(asked show --name other mq '')" /jobs
    is "$1: a second id" "$(asked rm --name other sem 0 '')" "0 1 2"
    is "$1: columns" "$(asked tasks --columns lif)" lifeline
    is "$1: a second one" "$(asked tasks --columns pid,thr)" pid,threads
    is "$1: of show" "$(asked show shm 0 --sort ad)" address
    is "$1: limits" "$(asked get --name other semmn)" "semmni semmns"
    is "$1: to destroy" "$(asked destroy o)" other
    is "$1: help" "$(asked help metr)" metrics
    is "$1: bridge's options" "$(asked bridge --dedup-)" --dedup-file
    is "$1: bridge's directions" "$(asked bridge '')" "in out"
    is "$1: after an option" "$(asked bridge --batch 8 o)" out
    is "$1: kinds of queues" "$(asked bridge in m)" "mq msg"
    is "$1: ids of queues" "$(asked bridge out msg '')" 0
    is "$1: names of queues to carry" "$(asked bridge --name other in mq '')" /jobs
    is "$1: a stream is not known" "$(asked bridge out msg 0 '')" ""
    is "$1: a consumer group is none of users" "$(asked bridge --group roo)" ""
    is "$1: bridge's file" "$(cd "$files" && asked bridge --file ipclift.b)" \
        ipclift.bash
}

# ---- bash
# shellcheck disable=SC2034,SC2329 # bash reads them
in_bash() (
    # shellcheck disable=SC1091
    source "$files/ipclift.bash"
    COMP_WORDS=(ipclift "$@") COMP_CWORD=$#
    _ipclift
    ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
)
shell_offers=in_bash
same_for_all bash
is "bash: --name=other" "$(asked show --name = other sem '')" "0 1 2"
is "bash: --name=" "$(asked ls --name = o)" other
is "bash: run's own" "$(asked run --name other --lim)" --limits
is "bash: top's columns" "$(asked top --sort bytes)" bytes

# ---- fish
# shellcheck disable=SC2329
in_fish() {
    HOME=$work fish --no-config -c "source $files/ipclift.fish
        complete -C'ipclift $*'" | cut -f 1
}
if command -v fish >/dev/null; then
    shell_offers=in_fish
    same_for_all fish
    is "fish: --name=other" "$(asked show --name=other sem '')" "0 1 2"
else
    echo "skip: completion by fish: no fish"
fi

# ---- zsh: on a terminal, for nothing else completes
cat >"$work/.zshrc" <<END
fpath=($files \$fpath)
autoload -Uz compinit && compinit -u -D
PS1='> '
zstyle ':completion:*' format ''
LISTMAX=1000
# What is offered goes to a file, in place of the screen.
compadd() {
    local -a told
    (( \$@[(I)-[OAD]] )) || builtin compadd -O told "\$@"
    (( ! \$#told )) || print -lr -- \$IPREFIX\${^told} >>$work/offered
    builtin compadd "\$@"
}
END
# shellcheck disable=SC2329
in_zsh() {
    : >"$work/offered"
    ZDOTDIR=$work HOME=$work /usr/bin/python3 "$here/screen.py" 100 20 zsh \
        >"$work/screen" <<END || cat "$work/screen"
wait >
keys ipclift $*\t
keys \x15exit\r
exit 0
END
    cat "$work/offered"
}
if ! command -v zsh >/dev/null || ! /usr/bin/python3 -c 'import pyte' 2>/dev/null; then
    echo "skip: completion by zsh: no zsh, or no python3-pyte"
else
    shell_offers=in_zsh
    same_for_all zsh
fi
exit $bad
