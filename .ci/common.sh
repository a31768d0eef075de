# Shared by ./test and .ci/run: the toolchain, the MPI library, timed steps and their summary. Sourced by bash.

# Variables are used where this is sourced.
# shellcheck disable=SC2034

# Prints an error in one line and exits.
fail() {
    echo "error: $*" >&2
    exit 1
}

# Checks the Rust toolchain against rust-version of Cargo.toml in the folder $1.
check_rust() {
    command -v cargo >/dev/null || fail "cargo is missing; install Rust from https://rustup.rs"
    local need have
    need=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$1/Cargo.toml")
    have=$(rustc --version | cut -d' ' -f2)
    [[ $(printf '%s\n' "$need" "${have%%-*}" | sort -V | sed -n 1p) == "$need" ]] ||
        fail "rustc is version $have; needed: $need or later (rustup update)"
}

# Sets MPICC to the first C compiler wrapper that is installed; if $MPICC is set, it is the only candidate.
find_mpicc() {
    local name
    for name in ${MPICC:-mpicc.mpich mpicc mpicc.openmpi}; do
        if command -v "$name" >/dev/null; then
            export MPICC=$name
            return 0
        fi
    done
    return 1
}

find_mpiexec() {
    local name
    for name in ${MPIEXEC:-mpiexec.mpich mpiexec mpiexec.openmpi}; do
        command -v "$name" >/dev/null && return 0
    done
    return 1
}

# Prints mpich or openmpi, the family of the mpi.h that the wrapper finds, or nothing if it finds none.
mpi_family() {
    printf '#include <mpi.h>\n#if defined(OPEN_MPI)\nfamily=openmpi\n#elif defined(MPICH_VERSION)\nfamily=mpich\n#endif\n' |
        "$MPICC" -E -x c - 2>/dev/null | sed -n 's/^family=//p'
}

have_mpi() {
    find_mpicc && find_mpiexec && [[ -n $(mpi_family) ]]
}

# Makes sure that an MPI library with compiler wrapper and launcher is installed, on which the tests run; sets MPICC. The build
# does not depend on it.
setup_mpi() {
    if [[ -n ${MPICC:-} ]]; then
        { find_mpicc && [[ -n $(mpi_family) ]]; } || fail "MPICC=$MPICC is not a C compiler wrapper that finds mpi.h; unset or correct it"
    fi
    have_mpi || install_mpi
    have_mpi || fail "no usable MPI: MPICC=${MPICC:-(none)} must find mpi.h, and mpiexec must be installed"
    echo "MPI: $MPICC ($(mpi_family))"
}

# Installs Debian packages, if possible: one command at a time, because steps run beside each other.
install_packages() {
    (
        ! command -v flock >/dev/null || flock 9
        # What an installation starts must not hold the lock.
        install_packages_now "$@" 9>&-
    ) 9>"${TMPDIR:-/tmp}/tributary-packages-$UID.lock"
}

install_packages_now() {
    local sudo=""
    if [[ $EUID -ne 0 ]]; then
        sudo="sudo -n"
    fi
    command -v apt-get >/dev/null && { [[ $EUID -eq 0 ]] || sudo -n true 2>/dev/null; } || return 1
    echo "installing $*"
    $sudo apt-get -o Acquire::Retries=5 update
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=5 install -y --no-install-recommends "$@"
}

# The MPI families on which the bindings are tested, and Cargo's arguments to do so.
FAMILIES="mpich openmpi"
BINDINGS=(--workspace --test mpi_preload --test 'mpi_c_*' --test mpi_gio)

# The C compiler wrapper of a family.
mpicc_of() {
    case $1 in
    mpich) echo "${MPICC_MPICH:-mpicc.mpich}" ;;
    openmpi) echo "${MPICC_OPENMPI:-mpicc.openmpi}" ;;
    esac
}

# on_family FAMILY COMMAND...: runs a command with the compiler wrapper and launcher of a family.
on_family() {
    local family=$1 limit=()
    shift
    command -v timeout >/dev/null && limit=(timeout -k 10 "${STEP_TIMEOUT:-1800}")
    env -u MPIEXEC MPICC="$(mpicc_of "$family")" ${limit[@]+"${limit[@]}"} "$@"
}

# Installs what the tests of the bindings need: both families, Fortran, CMake, and other projects' libraries and programs.
setup_bindings() {
    bindings_are_ready || install_packages mpich libmpich-dev openmpi-bin libopenmpi-dev g++ gfortran \
        binutils cmake pkg-config hdf5-tools libhdf5-mpich-dev libhdf5-openmpi-dev libpnetcdf-dev pnetcdf-bin python3-venv || true
    bindings_are_ready || fail "the tests of the bindings need $missing; leave them out with ./test --no-bindings"
    export TRIB_MPI4PY=${TRIB_MPI4PY:-$PWD/target/mpi4py}
    .ci/mpi4py "$TRIB_MPI4PY"
    export TRIB_MPI_WHEELS=${TRIB_MPI_WHEELS:-$PWD/target/mpi-wheels}
    .ci/wheels "$TRIB_MPI_WHEELS"
}

# Whether everything is installed; sets `missing` to what is not.
bindings_are_ready() {
    local module
    missing=$(missing_of "$(mpicc_of mpich) $(mpicc_of openmpi) g++ gfortran nm objcopy readelf cmake pkg-config h5dump ncvalidator python3")
    for module in hdf5-mpich hdf5-openmpi pnetcdf; do
        pkg-config --exists "$module" 2>/dev/null || missing+="$module (for pkg-config) "
    done
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+="venv (of Python) "
    [[ -z $missing ]]
}

# Installs the tools of NetCDF-C and PnetCDF, with which tests check NetCDF files. Debian's PnetCDF depends on Open MPI's
# library only, so launcher and compiler wrappers do not change.
setup_netcdf_tools() {
    local tools="ncdump ncgen nccopy ncvalidator cdfdiff ncmpidiff" missing
    missing=$(missing_of "$tools")
    [[ -z $missing ]] || install_packages netcdf-bin pnetcdf-bin || true
    missing=$(missing_of "$tools")
    [[ -z $missing ]] || fail "these tools are missing: $missing; install NetCDF-C and PnetCDF with their utilities" \
        "(Debian, Ubuntu: apt-get install netcdf-bin pnetcdf-bin)"
}

# Installs shellcheck, which checks the scripts.
setup_shellcheck() {
    command -v shellcheck >/dev/null || install_packages shellcheck || true
    command -v shellcheck >/dev/null || fail "shellcheck is missing (Debian, Ubuntu: apt-get install shellcheck)"
}

# rsmpi reads mpi.h with libclang. The compiler has the headers that libclang alone does not bring.
setup_rsmpi() {
    has_libclang || install_packages libclang-dev || true
    has_libclang || fail "libclang is missing, and no program with rsmpi can be built (Debian, Ubuntu: apt-get install libclang-dev)"
    BINDGEN_EXTRA_CLANG_ARGS=${BINDGEN_EXTRA_CLANG_ARGS:-"-I$(cc -print-file-name=include)"}
    export BINDGEN_EXTRA_CLANG_ARGS
}

# (libclang-cpp is another library.)
has_libclang() {
    [[ -n ${LIBCLANG_PATH:-} ]] || ldconfig -p | grep 'libclang[-0-9]*\.so' >/dev/null ||
        compgen -G '/usr/lib/llvm-*/lib/libclang[-.][0-9s]*' >/dev/null
}

# Installs valgrind, whose callgrind counts instructions.
setup_valgrind() {
    command -v valgrind >/dev/null || install_packages valgrind || true
    command -v valgrind >/dev/null || fail "valgrind is missing, which counts instructions" \
        "(Debian, Ubuntu: apt-get install valgrind)"
}

# Prints those programs of a list of words that are not installed.
missing_of() {
    local name
    for name in $1; do
        command -v "$name" >/dev/null || printf '%s ' "$name"
    done
}

install_mpi() {
    if install_packages mpich libmpich-dev; then
        return
    fi
    cat >&2 <<'TEXT'
error: no MPI library with compiler wrapper and launcher was found, and none can be installed automatically. Install
    Debian, Ubuntu:   apt-get install mpich libmpich-dev
    Fedora, RHEL:     dnf install mpich mpich-devel, then: module load mpi/mpich-x86_64
    openSUSE:         zypper install mpich mpich-devel
    Arch:             pacman -S openmpi
    a supercomputer:  module load the MPI library; set MPICC=cc if the compiler wrapper has that name
or run the tests without MPI: ./test --no-mpi
TEXT
    exit 1
}

# Builds trib-lab, whose `hosts` makes emulated hosts, and sets `trib_lab` to it.
setup_hosts() {
    step "build of trib-lab" cargo build --manifest-path lab/Cargo.toml -p trib-lab
    trib_lab=${CARGO_TARGET_DIR:-$PWD/lab/target}/debug/trib-lab
}

# Incremental compilation would make a full build a tenth slower, and use much disk space.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

# fuzz_targets PROFILE CASES: damaged inputs of every kind. A workspace of its own, as cargo-fuzz has it.
fuzz_targets() {
    step "fuzz targets" env TRIB_FUZZ_CASES="$2" cargo test --manifest-path fuzz/Cargo.toml "$1" \
        --target-dir "${CARGO_TARGET_DIR:-target}/fuzz" --lib --test bounded
}

summary=()
slowest=""
messages=""
failures=0

# step NAME COMMAND...: runs a command under a time limit, continues if it fails, and adds a line to the summary. The first lines of
# what each failed test printed come last of all.
step() {
    local name=$1 start=$SECONDS code=0 log limit=()
    shift
    log=$(mktemp)
    printf '\n=== %s: %s\n' "$name" "$*"
    command -v timeout >/dev/null && [[ $(type -t "$1") == file ]] && limit=(timeout -k 10 "${STEP_TIMEOUT:-1800}")
    { ${limit[@]+"${limit[@]}"} "$@" 2>&1 || code=$?; [[ $code -eq 0 ]] || echo "$code" >"$log.code"; } | tee "$log"
    local outcome="ok" tests
    if [[ -s $log.code ]]; then
        code=$(<"$log.code")
        outcome="FAILED ($code)"
        [[ $code -ne 124 ]] || outcome="TIME LIMIT"
        failures=$((failures + 1))
        messages+=$(awk -v step="$name" '/^---- .* stdout ----$/ { print step ":"; lines = 15 }
            /^failures:$/ { lines = 0 }
            lines-- > 0 { print substr($0, 1, 400) }' "$log" | sed -n 1,60p)$'\n'
    fi
    tests=$(awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
        END { if (NR && passed + failed + ignored) printf "%d passed, %d failed, %d ignored", passed, failed, ignored }' "$log")
    slowest+=$(awk -v step="$name" '/^ *(Running|Doc-tests) / { program = $1 == "Running" ? $(NF - 1) : $0 }
        /^test result:/ { sub(/.* finished in /, ""); printf "%10.1f s  %-40s %s\n", $1 + 0, step, program }' "$log")$'\n'
    rm -f "$log" "$log.code"
    printf -- '--- %s: %s, %d s\n' "$name" "$outcome" $((SECONDS - start))
    summary+=("$(printf '%-12s %5d s  %-40s %s' "$outcome" $((SECONDS - start)) "$name" "$tests")")
}

# limited COMMAND...: runs a program under the time limit of a step.
limited() {
    if command -v timeout >/dev/null; then
        timeout -k 10 "${STEP_TIMEOUT:-1800}" "$@"
    else
        "$@"
    fi
}

# beside NAME COMMAND...: starts a command that runs at the same time as the next step. step_beside waits for its end, and then prints
# what it printed.
beside() {
    beside_name=$1 beside_log=$(mktemp)
    shift
    printf '\n=== %s: %s, at the same time as the next step; shown when that has ended\n' "$beside_name" "$*"
    (
        start=$SECONDS code=0
        "$@" || code=$?
        echo "$code $((SECONDS - start))" >"$beside_log.end"
    ) >"$beside_log" 2>&1 &
}

step_beside() {
    local code=1 seconds="?"
    wait
    [[ ! -s $beside_log.end ]] || read -r code seconds <"$beside_log.end"
    step "$beside_name (at the same time: $seconds s)" shown "$code"
    rm -f "$beside_log" "$beside_log.end"
}

shown() {
    cat "$beside_log"
    return "$1"
}

# Prints the summary and exits, with 0 if all steps succeeded.
finish() {
    printf '\n=== summary\n'
    printf '%s\n' "${summary[@]}"
    printf '\n=== slowest test programs\n'
    # Not head: sort is killed by SIGPIPE now and then when head ends first, and pipefail makes that the exit code.
    sort -rn <<<"$slowest" | sed -n 1,10p
    # Last, so that the end of a long log says why.
    [[ -z ${messages//[$'\n']/} ]] || printf '\n=== what failed\n%s\n' "${messages%$'\n'}"
    [[ $failures -eq 0 ]] || fail "$failures of ${#summary[@]} steps failed"
    exit 0
}
