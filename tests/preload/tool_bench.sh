#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tool_bench.sh - bench measures both sides in every table, says the same as JSON,
# compares, draws, refuses a busy machine, finds what is slower, and leaves
# nothing behind when it is killed. How fast anything is decides nothing here.

set -u
# shellcheck source=tests/preload/tool.sh
. "$(dirname "$0")/tool.sh"
unset IPCLIFT_REGISTRY
bench() {
    status "$ipclift" bench "$@"
}
says() {
    grep -cF -- "$1" "$work/${2-out}"
}
# json EXPRESSION: of d, the results
json() {
    python3 -c "import json, sys
d = json.load(open('$work/results'))
f = d['figures']
print($1)"
}
# workers: what is still running of it
workers() {
    local n=0 p exe
    for p in /proc/[0-9]*; do
        exe=$(readlink "$p/exe") || continue
        [[ $exe == "$(realpath "$ipclift")" ]] && ((n++))
    done
    echo $n
}
left() {
    find /dev/shm -mindepth 1 -maxdepth 1 -newer "$work/begun" \
        \( -name 'libipclift*' -o -name 'registry*' -o -name 'ipclift-[0-9]*' \) |
        wc -l
    tail -q -n +2 /proc/sysvipc/{sem,msg,shm} | wc -l
    workers
}

# ---- what is asked for wrongly
is "no such table" "$(bench --only T1,T9)" 2
is "is named" "$(says "'T9' is none of T1 to T5" err)" 1
is "--only and a file" "$(bench --only T1 "$work/results")" 2
is "no such file" "$(bench "$work/results")" 1
echo '{"figures": []}' >"$work/results"
is "a file of another kind" "$(bench "$work/results")" 1
# Another's file, with a name that would be gnuplot's command, and lost parts.
python3 - "$work" <<'END'
import json, sys
json.dump({"ipclift_bench": 1, "locks": [7, {"work": None, "locks": [3]}],
           "notes": [None], "figures": [4, {
               "table": "T1", "work": "'; system('touch " + sys.argv[1] +
               "/ran')", "measure": "create", "x": 1,
               "worlds": {"shim": {"samples": [1]}}}]},
          open(sys.argv[1] + "/results", "w"))
END
bench --plot "$work/bad" "$work/results" >/dev/null
is "a name that is a command" "$(ls "$work/ran" 2>&1 | grep -c cannot)" 1
is "has no figures" "$(bench --compare "$work/results" "$work/results")" 0
is "no such peer" "$(bench --peer "$work/none")" 1

# ---- a busy machine
touch "$work/begun"
pids=()
for ((i = 0; i < $(nproc); i++)); do
    while :; do :; done &
    pids+=($!)
done
is "a busy machine" "$(bench --quick --only T5)" 1
is "is refused" "$(says 'the machine is busy' err)" 1
is "with the way round it" "$(says '--force' err)" 1
is "--force measures" "$(bench --quick --force --only T5)" 0
is "and says so" "$(says 'the machine is busy' err)" 1
kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null

# ---- all tables
is "the tables" "$(bench --quick --force --json)" 0
cp "$work/out" "$work/results"
is "are there" "$(json "sorted({x['table'] for x in f})")" \
    "['T1', 'T2', 'T3', 'T4', 'T5']"
is "have both sides" "$(json "[(x['work'], x['x']) for x in f
    if not {'kernel', 'shim'} <= set(x['worlds'])]")" "[]"
is "in all rounds" "$(json "sorted({(x['value'], w['n']) for x in f
    for w in x['worlds'].values()})")" "[('best', 2), ('median', 3)]"
is "and peers" "$(json "sorted({w for x in f for w in x['worlds']} -
    {'kernel', 'shim'})")" "['mutex', 'pipe', 'sem_t', 'unix']"
is "with locks" "$(json "sorted({(x['work'], x['x']) for x in d['locks']})")" \
    "[('mq', 1), ('one-queue', 1), ('one-queue', 2), ('table', 1)]"
is "that were taken" "$(json "[x['work'] for x in d['locks']
    if sum(l['count'] for l in x['locks']) < 10 and x['work'] != 'table']")" "[]"
is "and the load" "$(json "sorted(x for x in d['machine']
    if x in ('load_before', 'load_after', 'cpus_of_others'))")" \
    "['cpus_of_others', 'load_after', 'load_before']"
is "nothing was refused" "$(json "d['notes']")" "[]"
is "as text" "$(bench "$work/results")" 0
is "each table" "$(grep -c '^T[1-5]  ' "$work/out")" 5
is "the lock tables" "$(says 'cnt_lock name')" 4

boost=${IPCLIFT_TESTS-}/bench/boost
if [[ -x $boost ]]; then
    is "another's peers" \
        "$(bench --quick --force --json --only T2,T3 --peer "$boost")" 0
    is "are beside" "$(python3 -c "import json
print(sorted({x['work'] for x in json.load(open('$work/out'))['figures']
    if 'boost' in x['worlds']}))")" "['depth-constant', 'depth-random', 'ids']"
fi

# ---- statistics: means 12 and 17, pooled s 1.58114, t of 8 degrees 2.306
python3 - "$work" <<'END'
import json, sys
def results(shim):
    worlds = {"kernel": {"samples": [10, 11, 12, 13, 14]},
              "shim": {"samples": shim}}
    figure = {"table": "T4", "work": "mq", "x": 4, "value": "median",
              "worlds": worlds}
    return {"ipclift_bench": 1, "figures": [dict(figure, measure="rate"),
                                            dict(figure, measure="median")]}
for name, shim in (("old", [15, 16, 17, 18, 19]), ("new", [30] * 5),
                   ("like", [15, 16, 17, 18, 20])):
    json.dump(results(shim), open(f"{sys.argv[1]}/{name}", "w"))
END
is "as ministat" "$(bench "$work/old")" 0
is "the difference" "$(says '5 +/- 2.306')" 1
is "of the mean" "$(says '41.6667% +/- 19.2')" 1
is "pooled" "$(says 'pooled s = 1.58114')" 1
is "the deviation" "$(grep -c '^+ *5 .* 15 .* 19 .* 17 .* 17 *1.5811388$' \
    "$work/out")" 1
is "compared" "$(bench --compare "$work/old" "$work/new")" 0
is "more trips are better" "$(grep -c 'T4 mq rate 4 .*better' "$work/out")" 1
is "longer ones worse" "$(grep -c 'T4 mq median 4 .*worse' "$work/out")" 1
is "the kernel's change" "$(says '(kernel +0.0%)')" 2
is "no change" "$(bench --compare "$work/old" "$work/like")" 0
is "is none" "$(grep -c ' same ' "$work/out")" 2
is "compared as JSON" "$(bench --json --compare "$work/old" "$work/new")" 0
is "is the same" "$(python3 -c "import json
print(sorted({(x['measure'], x['verdict']) for x in
    json.load(open('$work/out'))['compare'] if x['world'] == 'shim'}))")" \
    "[('median', 'worse'), ('rate', 'better')]"

# ---- pictures
if command -v gnuplot >/dev/null; then
    is "drawn" "$(bench --plot "$work/plots" "$work/results")" 0
    is "all of them" "$(cd "$work/plots" && echo *)" "T1.png T1.svg T2.png \
T2.svg T3.png T3.svg T4.png T4.svg T5.png T5.svg"
    is "PNG" "$(head -qc 4 "$work"/plots/*.png | tr -d '\211\n')" \
        "PNGPNGPNGPNGPNG"
    is "SVG" "$(python3 -c "import glob, xml.dom.minidom as m
print(sum(m.parse(x).documentElement.tagName == 'svg'
    for x in glob.glob('$work/plots/*.svg')))")" 5
    is "drawn at once" "$(bench --quick --force --only T5 \
        --plot "$work/live")" 0
    is "also from where /dev/shm is hidden" "$(cd "$work/live" && echo *)" \
        "T5.png T5.svg"
fi
is "without gnuplot" "$(PATH=$work status "$ipclift" bench \
    --plot "$work/none" "$work/results")" 1
is "says what is missing" "$(says 'gnuplot-nox' err)" 1

# ---- never slower
is "a call that is faster" \
    "$(bench --never-slower --quick --force --only semtimedop)" 0
is "no such call" "$(bench --never-slower --only semtimedop,x)" 2
is "is named" "$(says "'x' is no call" err)" 1
mkdir -p "$work/slow/shim/tool"
cp "$ipclift" "$work/slow/shim/tool/"
printf '%s\n' '#include <unistd.h>' \
    'int semctl(void) { usleep(100); return 0; }' \
    'int semop(void) { return 0; }' >"$work/slow.c"
gcc -shared -fPIC -w -o "$work/slow/shim/libipclift.so" "$work/slow.c"
is "one that is slower" "$(status "$work/slow/shim/tool/ipclift" bench \
    --never-slower --quick --force --only getncnt,semop-zero)" 1
is "is measured twice" "$(grep -c '^getncnt ' "$work/out")" 2
is "and named" "$(says 'slower than the kernel twice: getncnt' err)" 1
is "alone" "$(says 'twice: ' err)" 1

# ---- nothing is left
for signal in INT TERM KILL; do
    {
        timeout -s $signal 1.8 "$ipclift" bench --force --only T4 >/dev/null
    } 2>/dev/null
    for ((i = 0; i < 50 && $(workers); i++)); do
        sleep 0.1
    done
    is "left by SIG$signal" "$(left | xargs)" "0 0 0"
done

# ---- another user, with namespaces of his own where he may have them
chmod 0711 "$work"
mkdir -p "$work/user/shim/tool"
cp "$ipclift" "$work/user/shim/tool/"
cp "${IPCLIFT_SHIM:?}" "$work/user/shim/libipclift.so"
chmod -R a+rX "$work/user"
got=$(status setpriv --reuid 65534 --regid 65534 --clear-groups \
    "$work/user/shim/tool/ipclift" bench --quick --force --only T2)
if [[ $got == 0 ]]; then
    is "another user's" "$(grep -c '^ids: one call' "$work/out")" 1
else
    is "another user is refused" "$(says 'needs namespaces of its own' err)" 1
fi
exit $bad
