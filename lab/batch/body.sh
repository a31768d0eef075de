#!/usr/bin/env bash
# The body of every job: measures a row for each pattern, kernel, throttle and number of nodes, with the library and without
# it. A row is a line of JSON in RESULTS/MACHINE-NODES.jsonl. Existing rows are not measured again, so a job that ran out of
# time is simply submitted again. An incomplete line, left by a killed job, is dropped first.
#
# Sourced by the job scripts beside it, after they have set
#
#   MACHINE          name of the machine in every row: letters, digits and -
#   NODES            numbers of nodes, ascending: "64" or "16 32 64"; none above what the job has
#   RANKS_PER_NODE
#   launch           a function: `launch NODES RANKS COMMAND...` runs COMMAND on RANKS ranks of the first NODES nodes
#   TRIBUTARY        the checkout, built with `cargo build --release`
#   RESULTS          a directory for the rows, which outlives the job
#   OUTPUT           a directory for the file that is written, on the parallel file system
#
# and, if needed, any of the variables below.
set -uo pipefail

: "${MACHINE:?}" "${NODES:?}" "${RANKS_PER_NODE:?}" "${TRIBUTARY:?}" "${RESULTS:?}" "${OUTPUT:?}"
TRIB=${TRIB:-$TRIBUTARY/target/release/trib}
TRIB_LAB=${TRIB_LAB:-$TRIBUTARY/lab/target/release/trib-lab}
FABRIC=${FABRIC:-mpi}                          # threads: all ranks in one process, to try a script without MPI
HINTS=${HINTS:-}                               # hints for the file system, separated by ;
CODES=${CODES:-e3sm-f flash btio}
COLUMNS_OF_5=${COLUMNS_OF_5:-mpi preload ascending_isend ascending_issend spread_out balanced pairwise two_layer hybrid}
THROTTLE=${THROTTLE:-32}                       # in figure 5, for kernels with a throttle
THROTTLES=${THROTTLES:-1 4 16 32 64 256 1024 4096 all}  # in figure 4; all: the number of ranks
THROTTLED=${THROTTLED:-balanced}               # columns that run with all of them ...
THROTTLED_CODES=${THROTTLED_CODES:-e3sm-f}     # ... and patterns that do
RUNS=${RUNS:-3}                                # runs of every row; figures show the median
ROW_SECONDS=${ROW_SECONDS:-1800}               # a row that takes longer is ended
ATTEMPTS=${ATTEMPTS:-3}                        # after this number of unfinished attempts a row is given up
JOB_SECONDS=${JOB_SECONDS:-0}                  # no row is begun after this time; 0: until the scheduler ends the job
RESUBMIT=${RESUBMIT:-no}                       # yes: call the job script's function `resubmit` while rows are missing

# The patterns as in the main paper: the requests of 21,600 ranks of E3SM's F case, folded onto the job's ranks; FLASH's
# checkpoint of 80 blocks of 8^3 cells per rank; 40 GiB of BTIO. Set E3SM_MAP to use a real map.
E3SM_MAP=${E3SM_MAP:-$OUTPUT/map_f_21600.nc}
E3SM_F=${E3SM_F:-e3sm-f --type float --fold --map $E3SM_MAP}
FLASH=${FLASH:-flash}
BTIO=${BTIO:-btio --grid 1024 --iterations 1}

# The program that writes the same requests through plain MPI-IO. If empty, the rows mpi and preload are left out. Its
# sources are in lab/trib-lab/programs (README.md has the command to build it).
WITHOUT=${WITHOUT:-}
MPI_HINTS=${MPI_HINTS:-}                       # for its files: --write-hint cb_nodes=64 --write-hint ...
PRELOAD=${PRELOAD:-}                           # libtributary_mpiio.so from bindings/install; if empty, no preload rows

child="" stopped="" tried=0 done_here=0 left=0

say() { echo "$(date '+%F %T') $*"; }

die() {
    echo "error: $*" >&2
    exit 1
}

# Ends the running command; the next job measures the missing rows. Schedulers send one of these signals before the time
# limit.
stop() {
    stopped=yes
    say "asked to end"
    [[ -z $child ]] || kill -TERM -- "-$child" 2>/dev/null
}
trap stop USR1 USR2 TERM INT

among() { [[ " $2 " == *" $1 "* ]]; }

is_square() { awk -v n="$1" 'BEGIN { q = int(sqrt(n) + 0.5); exit q * q != n }'; }

pattern() {
    case $1 in
    e3sm-f) echo "$E3SM_F" ;;
    flash) echo "$FLASH" ;;
    btio) echo "$BTIO" ;;
    *) die "pattern $1 is not known; allowed in CODES: e3sm-f flash btio" ;;
    esac
}

# The throttles of a pattern and a column, ascending, each once; `null` is the kernel's own.
throttles() {
    local code=$1 column=$2 ranks=$3 throttle
    among "$column" "spread_out balanced hybrid" || { echo null && return; }
    {
        echo "$THROTTLE"
        if among "$column" "$THROTTLED" && among "$code" "$THROTTLED_CODES"; then
            for throttle in $THROTTLES; do
                [[ $throttle != all ]] || throttle=$ranks
                [[ $throttle -gt $ranks ]] || echo "$throttle"
            done
        fi
    } | sort -nu
}

# All rows on $1 ranks: run, pattern, column, throttle. The run varies slowest, so that a disturbance of the machine does not
# affect all runs of a row.
rows() {
    local ranks=$1 run code column throttle
    for ((run = 1; run <= RUNS; run++)); do
        for code in $CODES; do
            [[ $code != btio ]] || is_square "$ranks" || continue
            for column in $COLUMNS_OF_5; do
                [[ $column != mpi || -n $WITHOUT ]] || continue
                [[ $column != preload || -n $WITHOUT && -n $PRELOAD ]] || continue
                for throttle in $(throttles "$code" "$column" "$ranks"); do
                    echo "$run $code $column $throttle"
                done
            done
        done
    done
}

# The kernels of a column of figure 5, as options of `trib replay`. Hybrid as section V.C of the paper has it: the balanced
# algorithm for metadata, the one of ROMIO for data.
kernels() {
    local column=$1 throttle=$2
    case $column in
    hybrid)
        echo "--kernel-meta balanced --kernel-data ascending_issend --hint trib_throttle_meta=$throttle"
        ;;
    *)
        echo "--kernel $column"
        [[ $throttle == null ]] || echo "--throttle $throttle"
        ;;
    esac
}

hint_options() {
    local hint
    local -a hints
    IFS=';' read -ra hints <<<"$HINTS"
    for hint in ${hints[@]+"${hints[@]}"}; do
        hint=${hint//[[:space:]]/}
        [[ -z $hint ]] || echo "--hint $hint"
    done
}

# Sets the array `command` to the command of a row.
command_of() {
    local run=$1 code=$2 column=$3 throttle=$4 ranks=$5 file=$6
    case $column in
    mpi | preload)
        without_library "$code" "$ranks" "$file"
        [[ $column == mpi ]] || command=(env "LD_PRELOAD=$PRELOAD" "TRIB_HINTS=$HINTS" "${command[@]}")
        ;;
    *)
        # Splitting into words is intended.
        # shellcheck disable=SC2207
        command=("$TRIB" replay $(pattern "$code") --ranks "$ranks" --fabric "$FABRIC" --json --output "$file"
            $(kernels "$column" "$throttle") $(hint_options))
        # Only the first run computes the digest, for which rank 0 reads the whole file alone.
        [[ $run -eq 1 ]] || command+=(--no-digest)
        ;;
    esac
}

# Sets `command` to write a pattern through plain MPI-IO, from the lists of `trib-lab lists`, so that the requests are the same.
without_library() {
    # shellcheck disable=SC2206
    command=("$WITHOUT" --pattern lists --lists "$OUTPUT/lists-$1-$2/list" --file "$3" --parts write --repeats 1 $MPI_HINTS)
}

# Writes these lists if they do not exist: 16 bytes per request, 22 GB for the F case on 21,600 ranks.
lists() {
    local directory=$OUTPUT/lists-$1-$2
    [[ ! -f $directory/whole ]] || return 0
    mkdir -p "$directory" || return 1
    # shellcheck disable=SC2046
    run "$TRIB_LAB" lists $(pattern "$1") --ranks "$2" --output "$directory/list" && touch "$directory/whole"
}

# Ends a process group when its time is over. Returns early if this script is gone.
watch() {
    local script=$1 group=$2 second
    for ((second = 0; second < ROW_SECONDS; second++)); do
        sleep 1
        kill -0 "$script" || return
    done
    kill -TERM -- "-$group"
}

# Runs a command until it ends, its time is over, or the job is asked to end. Its output goes to the files $printed and
# $errors.
run() {
    local watcher code
    set -m # a separate process group, so that a launcher ends with all its processes
    "$@" >"$printed" 2>"$errors" 9>&- </dev/null &
    child=$!
    watch "$$" "$child" >/dev/null 2>&1 9>&- &
    watcher=$!
    set +m
    [[ -z $stopped ]] || kill -TERM -- "-$child" 2>/dev/null
    wait "$child"
    code=$?
    # A signal to this script ends a `wait` before the child's end.
    while kill -0 "$child" 2>/dev/null; do
        wait "$child"
        code=$?
    done
    child=""
    kill -TERM -- "-$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    return "$code"
}

# The error message of trib, or else the last line: launchers add lines of their own.
why() {
    grep -a -m 1 -E '^trib(-lab)?: ' "$1" || tail -n 1 "$1"
}

# run_row NODES RANKS NAME RUN CODE COLUMN THROTTLE: measures a row; true if its line was written.
run_row() {
    local nodes=$1 ranks=$2 name=$3 run=$4 code=$5 column=$6 throttle=$7 status=0 result file begun=$SECONDS
    local -a command=()
    file=$OUTPUT/trib-$MACHINE-$nodes.out
    command_of "$run" "$code" "$column" "$throttle" "$ranks" "$file"
    rm -f "$file"
    if ! among "$column" "mpi preload" || lists "$code" "$ranks"; then
        run launch "$nodes" "$ranks" "${command[@]}" || status=$?
    else
        status=$?
    fi
    rm -f "$file"
    # Launchers and MPI libraries print lines of their own.
    result=$(grep -a '^{.*}$' "$printed" | tail -n 1)
    if [[ $status -ne 0 || -z $result ]]; then
        [[ -n $stopped ]] || say "$name: no result (exit code $status, $((SECONDS - begun)) s): $(why "$errors")"
        cat "$printed" "$errors" >"$RESULTS/logs/${name// /_}.txt"
        return 1
    fi
    printf '{"row":"%s","machine":"%s","nodes":%d,"ranks":%d,"code":"%s","column":"%s","throttle":%s,"run":%d,' \
        "$name" "$MACHINE" "$nodes" "$ranks" "$code" "$column" "$throttle" "$run" >"$printed"
    printf '"when":"%s","job":"%s","result":%s}\n' "$(date -u '+%FT%TZ')" "${JOB:-}" "$result" >>"$printed"
    cat "$printed" >>"$table"
    rm -f "$RESULTS/logs/${name// /_}.txt"
    say "$name: $((SECONDS - begun)) s"
}

# Drops an incomplete line at the end of a file, left by a job that was killed while it wrote.
drop_half_line() {
    [[ -s $1 && -n $(tail -c 1 "$1") ]] || return 0
    say "$1: an incomplete line is dropped"
    # Without a newline `read` fails, so this writes whole lines only.
    while IFS= read -r line; do printf '%s\n' "$line"; done <"$1" >"$1.whole" && mv "$1.whole" "$1"
}

# Takes a lock until this process ends. Without locks in the file system, two jobs must not use the same number of nodes.
lock() {
    local status=0
    exec 9>"$1"
    command -v flock >/dev/null || return 0
    flock -n -E 75 9 2>/dev/null || status=$?
    [[ $status -ne 75 ]]
}

# Measures all rows on $1 nodes.
on_nodes() {
    local nodes=$1 ranks=$(($1 * RANKS_PER_NODE)) name run code column throttle
    table=$RESULTS/$MACHINE-$nodes.jsonl
    lock "$table.lock" || { say "$nodes nodes: another job is measuring them" && return; }
    drop_half_line "$table"
    touch "$table" "$table.begun"
    is_square "$ranks" || ! among btio "$CODES" ||
        say "$nodes nodes: btio is left out, because $ranks is not a square number of ranks"
    while read -r run code column throttle <&8; do
        name="$MACHINE $nodes $code $column $throttle $run"
        ! grep -qF "\"row\":\"$name\"" "$table" || continue
        if [[ $(grep -cxF "$name" "$table.begun") -ge $ATTEMPTS ]]; then
            say "$name: given up after $ATTEMPTS attempts; to try again, remove $table.begun"
        elif [[ -n $stopped || $JOB_SECONDS -gt 0 && $SECONDS -gt $JOB_SECONDS ]]; then
            left=$((left + 1))
        else
            tried=$((tried + 1))
            echo "$name" >>"$table.begun"
            if run_row "$nodes" "$ranks" "$name" "$run" "$code" "$column" "$throttle"; then
                done_here=$((done_here + 1))
            else
                left=$((left + 1))
            fi
        fi
    done 8< <(rows "$ranks")
}

main() {
    local nodes code
    [[ $MACHINE =~ ^[A-Za-z0-9-]+$ ]] || die "MACHINE=$MACHINE: letters, digits and - are allowed"
    for code in $CODES; do
        pattern "$code" >/dev/null || exit 1
    done
    [[ -x $TRIB ]] || die "TRIB=$TRIB is not a program; build it with: cargo build --release"
    [[ -x $TRIB_LAB ]] || die "TRIB_LAB=$TRIB_LAB is not a program; build it with: cargo build --release --manifest-path lab/Cargo.toml"
    [[ -z $WITHOUT || -x $WITHOUT ]] || die "WITHOUT=$WITHOUT is not a program; lab/batch/README.md says how to build it"
    [[ -z $PRELOAD || -f $PRELOAD ]] || die "PRELOAD=$PRELOAD: no such file; bindings/install makes it"
    mkdir -p "$RESULTS/logs" "$OUTPUT" || exit 1
    printed=$(mktemp) errors=$(mktemp)
    trap 'rm -f "$printed" "$errors"' EXIT
    [[ -n $WITHOUT ]] || say "rows mpi and preload are left out: WITHOUT is not set"
    if [[ $E3SM_F == *"$E3SM_MAP"* && ! -f $E3SM_MAP ]] && among e3sm-f "$CODES"; then
        "$TRIB_LAB" map --ranks 21600 --output "$E3SM_MAP.$$" || die "no map could be written to $E3SM_MAP"
        mv "$E3SM_MAP.$$" "$E3SM_MAP" || exit 1
    fi
    for nodes in $NODES; do
        on_nodes "$nodes"
    done
    say "$done_here rows written, $left left"
    # This ends, because every job begins at least one row, and each row is begun only a few times.
    if [[ $RESUBMIT == yes && $left -gt 0 && $tried -gt 0 ]]; then
        resubmit
    fi
}

main
