# Clean roots: Debian's own files in a folder, in which packages are installed and used. Sourced by bash, after ../common.sh.

roots=$place/roots

# Packages of each root: an MPI library with its compiler, and one of the two module systems, which Debian does not install
# beside each other. The older root has glibc 2.31, as SLES 15 SP4 has.
BULLSEYE=(mpich libmpich-dev gcc libc6-dev make pkg-config environment-modules)
BOOKWORM=(openmpi-bin libopenmpi-dev gcc libc6-dev pkg-config lmod)
# For .ci/debian13, not for packages: Open MPI 5, and HDF5 1.14 on MPICH.
TRIXIE=(openmpi-bin libopenmpi-dev mpich libmpich-dev libhdf5-mpich-dev gcc libc6-dev pkg-config)

# make_root SUITE PACKAGE...: a root, unless it is there. It is whole before it has its name.
make_root() {
    local suite=$1 root=$roots/$1 mirror
    shift
    [[ ! -e $root/packages-of-tributary || $(<"$root/packages-of-tributary") != "$*" ]] || return 0
    # This machine's mirror of Debian, or mmdebstrap's own choice.
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | awk '/\/debian\/*$/ && !found++')
    rm -rf "$root" "$root.new"
    mkdir -p "$roots"
    mmdebstrap --quiet --variant=essential --aptopt='Acquire::Retries "5"' --include="$(tr ' ' , <<<"$*")" "$suite" "$root.new" \
        ${mirror:+"$mirror"} || return 1
    echo "$*" >"$root.new/packages-of-tributary"
    mv "$root.new" "$root"
}

# Makes all roots while something else is done. `wait_for_roots` waits, in the shell that began; the step `roots_are_made` says
# what came of it.
roots_in_background() {
    mkdir -p "$roots"
    (make_root bullseye "${BULLSEYE[@]}" && make_root bookworm "${BOOKWORM[@]}" && make_root trixie "${TRIXIE[@]}") >"$roots/log" 2>&1 </dev/null &
    making=$!
}

wait_for_roots() {
    made=0
    wait "$making" || made=$?
}

roots_are_made() {
    cat "$roots/log"
    return "$made"
}

# with_root SUITE FILE... -- SCRIPT: runs a script of bash in a root, which has the files in /files. What the script changes is
# in memory, and gone with its processes and mounts at the end. Its environment is its own. Folders in BIND are there under
# their own paths.
with_root() {
    local root=$roots/$1 files code=0
    files=$(mktemp -d)
    shift
    while [[ $1 != -- ]]; do
        cp "$1" "$files/"
        shift
    done
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -c '
        set -e
        mount -t tmpfs tmpfs /mnt
        mkdir /mnt/upper /mnt/work /mnt/root /mnt/upper/files
        mount -t overlay overlay -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
        mount --bind "$2" /mnt/root/files
        for folder in $4; do
            mkdir -p "/mnt/root$folder"
            mount --bind "$folder" "/mnt/root$folder"
        done
        echo "127.0.0.1 localhost $(hostname)" >/mnt/root/etc/hosts
        mount -t proc proc /mnt/root/proc
        mount --rbind /dev /mnt/root/dev
        mount --rbind /sys /mnt/root/sys
        exec env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root OMPI_ALLOW_RUN_AS_ROOT=1 \
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
            PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
            timeout -k 5 300 chroot /mnt/root bash -euo pipefail -c "$3"' with_root "$root" "$files" "$2" "${BIND:-}" || code=$?
    rm -rf "$files"
    return $code
}

# What a script in a root does to run a program under the library, as text of bash: compile, run, and see in the report that the
# call was taken. LIB and PREFIX are set; mpiexec takes the environment of the ranks by `preload`.
# shellcheck disable=SC2016
USE='
run_programs() {
    cd /tmp
    mpicc -O1 /files/strided.c -o strided
    mpiexec -n 3 $(preload) ./strided data 2>report || { cat report; exit 1; }
    grep -q "\"write_all\":{\"calls\":1,\"bytes\":12000," report ||
        { cat report; echo "the library has not run the call"; exit 1; }
    mpicc -O1 $(pkg-config --libs tributary-mpiio) /files/strided.c -o linked
    env -u LD_LIBRARY_PATH TRIB_REPORT=json mpiexec -n 3 ./linked data 2>report || { cat report; exit 1; }
    grep -q "\"write_all\":{\"calls\":1,\"bytes\":12000," report ||
        { cat report; echo "a program that is linked with the library has not run the call"; exit 1; }
    mpicc -O1 /files/checkerboard.c $(pkg-config --cflags --libs tributary) -o checkerboard
    mpiexec -n 4 ./checkerboard matrix
    trib replay e3sm-f --ranks 4 --fabric threads --verify --json >replay
    mpiexec -n 2 trib replay flash --fabric mpi --verify --json >replay
}
'
# used_in_root PREFIX: programs of Debian 12 with Open MPI run with an installation that this machine has in PREFIX.
# shellcheck disable=SC2016
used_in_root() {
    BIND=$1 with_root bookworm "${PROGRAMS[@]}" -- "$USE
        export TRIBUTARY_ROOT=$1"'
        export PATH=$TRIBUTARY_ROOT/bin:$PATH LD_LIBRARY_PATH=$TRIBUTARY_ROOT/lib LIBRARY_PATH=$TRIBUTARY_ROOT/lib CPATH=$TRIBUTARY_ROOT/include
        export PKG_CONFIG_PATH=$TRIBUTARY_ROOT/lib/pkgconfig
        preload() { echo "-x LD_PRELOAD=$TRIBUTARY_ROOT/lib/libtributary_mpiio.so -x TRIB_REPORT=json"; }
        run_programs'
}

PROGRAMS=("$project/packages/tests/strided.c" "$project/bindings/c/examples/checkerboard.c")
