# SPDX-License-Identifier: MIT
# Bash completion of ipclift.
_ipclift() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local commands="run ls show rm gc get set check waits events mount doctor" i
    local home=/dev/shm/ipclift-$UID

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$cur")
        return
    fi
    # After run's options the rest is another command's.
    if [[ ${COMP_WORDS[1]} == run ]]; then
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            --registry | --name | --route | --limits | --ids) ((i++)) ;;
            --) break ;;
            -*) ;;
            *) break ;;
            esac
        done
        if ((i < COMP_CWORD)); then
            [[ ${COMP_WORDS[i]} == -- ]] && ((i++))
            if declare -F _command_offset >/dev/null; then
                _command_offset "$i"
            fi
            return
        fi
    fi
    case $prev in
    --registry) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    --name) mapfile -t COMPREPLY < <(compgen -W "$(ls "$home" 2>/dev/null)" -- "$cur") && return ;;
    --limits) mapfile -t COMPREPLY < <(compgen -W "kernel roomy" -- "$cur") && return ;;
    --ids) mapfile -t COMPREPLY < <(compgen -W "normal extended" -- "$cur") && return ;;
    --route) mapfile -t COMPREPLY < <(compgen -W "sem msg shm mq -sem -msg -shm -mq" -- "$cur") && return ;;
    esac
    local options="--registry --name --help"
    case ${COMP_WORDS[1]} in
    run) options+=" --private --route --limits --ids --" ;;
    ls) options+=" --json --proc" ;;
    check | waits | events) options+=" --json" ;;
    show) options+=" --json sem" ;;
    rm) options+=" --all --key sem" ;;
    gc) options+=" --dry-run" ;;
    get | set)
        [[ ${COMP_WORDS[1]} == get ]] && options+=" --json"
        options+=" $(ipclift get --json 2>/dev/null | sed -n 's/^ *"\(.*\)":.*/\1/p')"
        ;;
    mount)
        options+=" -o --foreground"
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        ;;
    doctor)
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        ;;
    esac
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$options" -- "$cur")
}
complete -F _ipclift ipclift
