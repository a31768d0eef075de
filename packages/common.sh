# Shared by the scripts of this folder: what is built for, where, and with which tools. Sourced by bash, after .ci/common.sh.

# Variables are used where this is sourced.
# shellcheck disable=SC2034

# The oldest C library that the packages run on, which is that of manylinux2014.
GLIBC=2.17
ZIG=0.17.1
ZIGBUILD=0.24.1
NAME=tributary

packages_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(dirname "$packages_here")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$project/Cargo.toml" | head -n 1)
place=$project/target/packages

# Answers --help with the comment at the head of the script, and refuses other options: help_of "$@"
help_of() {
    case ${1:-} in
    --help | -h) sed -n '2,/^[^#]/s/^# //p' "$0" && exit 0 ;;
    -*) fail "option $1 is not known; allowed: --help" ;;
    esac
}

# The installation that the packages for a kind of processor are made of.
prefix_of() {
    echo "$place/$1/$NAME-$version-$1"
}

# Installs programs of the Python package index in a folder of their own: setup_python_tools FOLDER NAME==VERSION...
setup_python_tools() {
    local folder=$place/$1 stamp
    shift
    stamp="$folder/$(tr -c 'a-z0-9.=\n' '-' <<<"$*")"
    [[ ! -e $stamp ]] || return 0
    rm -rf "$folder"
    { python3 -m venv "$folder" && "$folder/bin/pip" --quiet --disable-pip-version-check install --only-binary :all: "$@"; } ||
        fail "$* cannot be installed in $folder: it needs python3 with venv (Debian: python3-venv) and a package index"
    touch "$stamp"
}

# Zig, which brings the symbols of every glibc, and cargo-zigbuild, which has Cargo link with it.
setup_zig() {
    setup_python_tools zig "ziglang==$ZIG"
    [[ $("$place/zigbuild/bin/cargo-zigbuild" --version 2>/dev/null) == "cargo-zigbuild $ZIGBUILD" ]] ||
        cargo install --quiet --locked --root "$place/zigbuild" --target-dir "$place/zigbuild/target" \
            "cargo-zigbuild@$ZIGBUILD" || fail "cargo-zigbuild $ZIGBUILD cannot be installed"
    rm -rf "$place/zigbuild/target"
    export PATH=$place/zig/bin:$place/zigbuild/bin:$PATH
}

# Where finished packages are.
dist=$place/dist

# The same, which must have been built.
built_prefix() {
    local prefix
    prefix=$(prefix_of "$1")
    [[ -x $prefix/bin/trib ]] || fail "$prefix is not there; first: packages/build --arch $1"
    echo "$prefix"
}

# Seconds since 1970 of the last commit, or as SOURCE_DATE_EPOCH says.
date_of_source() {
    echo "${SOURCE_DATE_EPOCH:-$(git -C "$project" log -1 --format=%ct 2>/dev/null || stat -c %Y "$project/Cargo.toml")}"
}
