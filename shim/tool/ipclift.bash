# SPDX-License-Identifier: MIT
# Bash completion of ipclift.
_ipclift() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local commands="run create registries destroy ls show rm gc get set" i
    commands+=" waits locks tasks events check save restore mount bench doctor"
    local home=/dev/shm/ipclift-$UID names

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands help --help --version" -- "$cur")
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
    names=$(cd "$home" 2>/dev/null && printf '%s\n' * | grep -v '\.mq$')
    case $prev in
    --registry) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    --name) mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur") && return ;;
    --limits) mapfile -t COMPREPLY < <(compgen -W "kernel roomy" -- "$cur") && return ;;
    --ids) mapfile -t COMPREPLY < <(compgen -W "normal extended" -- "$cur") && return ;;
    --mode) mapfile -t COMPREPLY < <(compgen -W "600 660 666" -- "$cur") && return ;;
    --group) mapfile -t COMPREPLY < <(compgen -g -- "$cur") && return ;;
    --only)
        [[ ${COMP_WORDS[1]} == bench ]] && names="T1 T2 T3 T4 T5" ||
            names="limit death room other"
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur")
        return
        ;;
    --plot) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && return ;;
    --compare | --peer) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    --older | --since) mapfile -t COMPREPLY < <(compgen -W "10m 1h 1d" -- "$cur") && return ;;
    --route) mapfile -t COMPREPLY < <(compgen -W "sem msg shm mq -sem -msg -shm -mq" -- "$cur") && return ;;
    esac
    local command=${COMP_WORDS[1]} kinds="sem msg shm mq" options="--help"
    [[ " bench create registries destroy help " == *" $command "* ]] || options+=" --registry --name --as-root"
    case $command in
    run) options+=" --private --route --limits --ids --strict --" ;;
    create) options+=" --mode --group --limits --ids" ;;
    registries) options+=" --json" ;;
    destroy) options+=" --force $names" ;;
    help) options=$commands ;;
    ls) options+=" --json --proc $kinds" ;;
    show | rm)
        [[ $command == show ]] && options+=" --json" ||
            options+=" --all --key"
        # After a kind, what there is of it.
        if [[ " $kinds " == *" $prev "* ]]; then
            options=$(ipclift ls --json "$prev" 2>/dev/null |
                sed -n 's/^ *"\(id\|name\)": "\{0,1\}\([^",]*\).*/\2/p')
        else
            options+=" $kinds"
        fi
        ;;
    gc) options+=" --dry-run --older --force $kinds" ;;
    events) options+=" --json --since --only" ;;
    check) options+=" --json" ;;
    bench)
        options+=" --only --quick --never-slower --force --json --plot --compare --peer"
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    waits) options+=" --json --dot" ;;
    locks) options+=" --json --all --on --off --reset" ;;
    tasks) options+=" --json --all" ;;
    save | restore)
        [[ $command == restore ]] && options+=" --force"
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    get | set)
        [[ $command == get ]] && options+=" --json"
        options+=" $(ipclift get --json 2>/dev/null | sed -n 's/^ *"\(.*\)":.*/\1/p')"
        ;;
    mount)
        options+=" --foreground --options"
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        ;;
    doctor)
        options+=" --quick"
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        ;;
    esac
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$options" -- "$cur")
}
complete -F _ipclift ipclift
