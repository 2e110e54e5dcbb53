# SPDX-License-Identifier: MIT
# Fish completion of ipclift: commands, options and columns are what the command
# itself tells.

function __ipclift_words # the words before the cursor's, without run's command
    commandline -opc
end

function __ipclift_command
    set -l words (__ipclift_words)
    echo $words[2]
end

function __ipclift_at -a command
    test "$(__ipclift_command)" = "$command"
end

function __ipclift_commands
    ipclift help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end

function __ipclift_options
    ipclift help (__ipclift_command) |
        sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p'
end

# The registry that the words before name, as options.
function __ipclift_where
    set -l words (__ipclift_words)
    for i in (seq 3 (count $words))
        switch $words[$i]
            case '--registry=*' '--name=*'
                echo $words[$i]
            case --registry --name
                set -q words[(math $i + 1)]
                and printf '%s\n' $words[$i] $words[(math $i + 1)]
        end
    end
end

function __ipclift_names
    for f in /dev/shm/ipclift-(id -u)/*
        test -f $f; and string replace -r '.*/' '' $f
    end
end

function __ipclift_kind # the last one named
    string match -r '^(?:sem|msg|shm|mq)$' -- (__ipclift_words)[3..-1] | tail -n 1
end

function __ipclift_columns
    set -l words (__ipclift_command)
    if test $words = show
        set -l kind (__ipclift_kind)
        test -n "$kind"; or set kind sem
        set -a words $kind 0
    end
    set -l before (commandline -ct | string match -r '^.*[,+]')
    for c in (ipclift $words --sort '?' 2>&1 |
            sed -n 's/.*, but \(.*\) (see.*/\1/p' | string split ', ')
        echo "$before$c"
    end
end

# A kind, or after one what there is of it; rm takes several.
function __ipclift_objects -a command
    set -l kind (__ipclift_kind)
    set -l last (__ipclift_words)[-1]
    if test -n "$kind"; and begin; test $command = rm; or test "$last" = "$kind"; end
        ipclift ls (__ipclift_where) --json $kind 2>/dev/null |
            sed -n 's/^ *"\(id\|name\)": "\{0,1\}\([^",]*\).*/\2/p'
    else
        printf '%s\n' sem msg shm mq
    end
end

# out|in KIND NAME STREAM
function __ipclift_bridge
    switch (__ipclift_words)[-1]
        case out in
            printf '%s\n' msg mq
        case msg mq
            __ipclift_objects show
        case '*'
            test -n "$(__ipclift_kind)"; or printf '%s\n' out in
    end
end

function __ipclift_limits
    ipclift get (__ipclift_where) --json 2>/dev/null | sed -n 's/^ *"\(.*\)":.*/\1/p'
end

complete -c ipclift -f
complete -c ipclift -n 'test (count (__ipclift_words)) -eq 1' -a '(__ipclift_commands)'
complete -c ipclift -n 'test (count (__ipclift_words)) -eq 1' -a help
complete -c ipclift -n '__ipclift_at help' -a '(__ipclift_commands)'
complete -c ipclift -n 'test (count (__ipclift_words)) -gt 1; and string match -q -- "-*" (commandline -ct)' \
    -a '(__ipclift_options)'
complete -c ipclift -l registry -rF
complete -c ipclift -l name -x -a '(__ipclift_names)'
complete -c ipclift -l limits -x -a 'kernel roomy'
complete -c ipclift -l ids -x -a 'normal extended'
complete -c ipclift -l mode -x -a '600 660 666'
complete -c ipclift -n 'not __ipclift_at bridge' -l group -x -a '(__fish_complete_groups)'
complete -c ipclift -l route -x -a 'sem msg shm mq -sem -msg -shm -mq'
complete -c ipclift -l older -x -a '10m 1h 1d'
complete -c ipclift -l since -x -a '10m 1h 1d'
complete -c ipclift -n '__ipclift_at events' -l only -x -a 'limit death room other'
complete -c ipclift -n '__ipclift_at bench' -l only -x -a 'T1 T2 T3 T4 T5'
complete -c ipclift -s o -l columns -x -a '(__ipclift_columns)'
complete -c ipclift -l sort -x -a '(__ipclift_columns)'
for o in output svg compare peer plot
    complete -c ipclift -l $o -rF
end
for c in ls gc
    complete -c ipclift -n "__ipclift_at $c" -a 'sem msg shm mq'
end
for c in show rm
    complete -c ipclift -n "__ipclift_at $c" -a "(__ipclift_objects $c)"
end
for o in file redis-file cacert cert key dedup-file metrics
    complete -c ipclift -n '__ipclift_at bridge' -l $o -rF
end
for o in group consumer batch count maxlen claim dedup dead-letter
    complete -c ipclift -n '__ipclift_at bridge' -l $o -x
end
complete -c ipclift -n '__ipclift_at bridge' -l redis -x -a 'redis:// rediss:// unix:///'
complete -c ipclift -n '__ipclift_at bridge' -a '(__ipclift_bridge)'
complete -c ipclift -n '__ipclift_at destroy' -a '(__ipclift_names)'
for c in get set
    complete -c ipclift -n "__ipclift_at $c" -a '(__ipclift_limits)'
end
for c in save restore bench mount
    complete -c ipclift -n "__ipclift_at $c" -F
end
for c in run doctor
    complete -c ipclift -n "__ipclift_at $c" -a '(__fish_complete_subcommand --fcs-skip=2)'
end
