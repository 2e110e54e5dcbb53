# SPDX-License-Identifier: MIT
# Bash completion of ipclift: commands, options and columns are what the command
# itself tells.

# The registry that the words before name, as options, into where.
_ipclift_where() {
    local i
    where=()
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --registry | --name)
            where=("${COMP_WORDS[i]}")
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            where+=("${COMP_WORDS[++i]}")
            ;;
        esac
    done
}

_ipclift_words() {
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Registries of our own; what lies beside them are directories.
_ipclift_names() {
    local f
    for f in /dev/shm/ipclift-"$UID"/*; do
        [[ -f $f ]] && echo "${f##*/}"
    done
}

# The last word of a list.
_ipclift_list() {
    local before=${cur%"${cur##*[,+]}"}
    cur=${cur##*[,+]}
    _ipclift_words "$1"
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
}

_ipclift_columns() {
    ipclift "$command" ${kind:+"$kind"} ${id:+"$id"} --sort '?' 2>&1 |
        sed -n 's/.*, but \(.*\) (see.*/\1/p' | tr -d ,
}

# What there is of the kind.
_ipclift_objects() {
    _ipclift_words "$(ipclift ls "${where[@]}" --json "$kind" 2>/dev/null |
        sed -n 's/^ *"\(id\|name\)": "\{0,1\}\([^",]*\).*/\2/p')"
}

# The value of the option before: 0 if that has one.
_ipclift_value() {
    case $command$prev in
    bridge--redis) _ipclift_words "redis:// rediss:// unix:///" && return ;;
    bridge--*file | bridge--cacert | bridge--cert | bridge--key | bridge--metrics)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    bridge--group) return ;;
    esac
    case $prev in
    --registry | --output | --svg | --compare | --peer | --plot)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    --name) _ipclift_words "$(_ipclift_names)" ;;
    --limits) _ipclift_words "kernel roomy" ;;
    --ids) _ipclift_words "normal extended" ;;
    --mode) _ipclift_words "600 660 666" ;;
    --group) mapfile -t COMPREPLY < <(compgen -g -- "$cur") ;;
    --only)
        [[ $command == bench ]] && _ipclift_list "T1 T2 T3 T4 T5" ||
            _ipclift_list "limit death room other"
        ;;
    --listen) _ipclift_words "127.0.0.1:9464" ;;
    --columns | -o | --sort)
        [[ $command == mount ]] || _ipclift_list "$(_ipclift_columns)"
        ;;
    --older | --since) _ipclift_words "10m 1h 1d" ;;
    --route) _ipclift_list "sem msg shm mq -sem -msg -shm -mq" ;;
    --key | --watch | -w | --interval | -d | --filter | --options) ;;
    --batch | --count | --maxlen | --consumer | --claim | --dedup) ;;
    --dead-letter) ;;
    *) return 1 ;;
    esac
}

# After run's options the rest is another command's: 0 if we are there.
_ipclift_other() {
    local i found=
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --registry | --name | --route | --limits | --ids)
            ((i++))
            [[ ${COMP_WORDS[i]} != = ]] || ((i++))
            continue
            ;;
        --) ((i++)) ;;
        -*) continue ;;
        esac
        found=1
        break
    done
    [[ $found ]] || return
    ! declare -F _command_offset >/dev/null || _command_offset "$i"
}

_ipclift() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} kinds="sem msg shm mq" kind='' id='' i where

    COMPREPLY=()
    if ((COMP_CWORD == 1)) || [[ $command == help ]]; then
        _ipclift_words "$(ipclift help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')"
        [[ $command == help ]] || _ipclift_words "help --help --version"
        return
    fi
    [[ $command == run ]] && _ipclift_other && return
    [[ $command == show ]] && kind=sem id=0
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $cur == = ]] && cur=
    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ " $kinds " == *" ${COMP_WORDS[i]} "* ]] && kind=${COMP_WORDS[i]}
    done
    _ipclift_value && return
    if [[ $cur == -* ]]; then
        _ipclift_words "$(ipclift help "$command" |
            sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p')"
        return
    fi
    _ipclift_where
    case $command in
    ls | gc) _ipclift_words "$kinds" ;;
    show | rm)
        # After a kind what there is of it; rm takes several.
        if [[ " $kinds " == *" $prev "* || ($command == rm && $kind) ]]; then
            _ipclift_objects
        else
            _ipclift_words "$kinds"
        fi
        ;;
    bridge)
        # out|in KIND NAME STREAM
        case $prev in
        out | in) _ipclift_words "msg mq" ;;
        msg | mq) _ipclift_objects ;;
        *) [[ $kind ]] || _ipclift_words "out in" ;;
        esac
        ;;
    destroy) _ipclift_words "$(_ipclift_names)" ;;
    get | set)
        _ipclift_words "$(ipclift get "${where[@]}" --json 2>/dev/null |
            sed -n 's/^ *"\(.*\)":.*/\1/p')"
        ;;
    save | restore | bench) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    mount) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    run | doctor) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
    esac
}
complete -F _ipclift ipclift
