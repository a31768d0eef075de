# Shared by the scripts of this folder: what is built for, where, and with which tools. Sourced by bash, after .ci/common.sh.

# Variables are used where this is sourced.
# shellcheck disable=SC2034

# The oldest C library that the packages run on, which is that of manylinux2014.
GLIBC=2.17
ZIG=0.17.1
ZIGBUILD=0.24.1
ABOUT=0.9.3
CYCLONEDX=0.5.9
SEMVER_CHECKS=0.51.0
SPACK=v0.23.1
NAME=tributary

packages_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(dirname "$packages_here")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$project/Cargo.toml" | head -n 1)
place=$project/target/packages
rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$project/Cargo.toml")
# Where the project is, of which Cargo.toml has the only note; until then an address that leads nowhere.
repository=$(sed -n 's/^repository = "\(.*\)"/\1/p' "$project/Cargo.toml")
repository=${repository:-https://repository.invalid/tributary}

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

# Zig, which brings the symbols of every glibc, and cargo-zigbuild, which has Cargo link with it. Zig writes its own path into debug
# information, so that it is the same on every machine.
setup_zig() {
    local zig=/var/tmp/tributary-zig-$ZIG
    if [[ ! -x $zig/ziglang/zig ]]; then
        rm -rf "$zig.new"
        { python3 -m venv "$zig.venv" && "$zig.venv/bin/pip" --quiet --disable-pip-version-check install --only-binary :all: \
            --target "$zig.new" "ziglang==$ZIG"; } || fail "zig $ZIG cannot be installed: it needs python3 with venv and a package index"
        rm -rf "$zig.venv"
        mv "$zig.new" "$zig"
    fi
    [[ -O $zig ]] || fail "$zig is another user's; allowed: a folder of yours"
    [[ $("$place/zigbuild/bin/cargo-zigbuild" --version 2>/dev/null) == "cargo-zigbuild $ZIGBUILD" ]] ||
        cargo install --quiet --locked --root "$place/zigbuild" --target-dir "$place/zigbuild/target" \
            "cargo-zigbuild@$ZIGBUILD" || fail "cargo-zigbuild $ZIGBUILD cannot be installed"
    rm -rf "$place/zigbuild/target"
    export PATH=$zig/ziglang:$place/zigbuild/bin:$PATH CARGO_ZIGBUILD_ZIG_PATH=$zig/ziglang/zig ZIG_GLOBAL_CACHE_DIR=$zig/cache
}

# What cannot be tried here is an error, unless RELEASE_WITHOUT names it; then the log says so: may_be_left_out NAME REASON
may_be_left_out() {
    [[ " ${RELEASE_WITHOUT:-} " == *" $1 "* ]] || fail "$2; RELEASE_WITHOUT=$1 goes on without this check"
    echo "NOT TRIED: $1: $2"
}

# Installs a program of the Rust registry below target/packages: setup_cargo_tool NAME VERSION [OPTION...]
setup_cargo_tool() {
    local name=$1 version=$2
    shift 2
    export PATH=$place/tools/bin:$PATH
    [[ ! -e $place/tools/$name-$version ]] || return 0
    env -u CARGO_TARGET_DIR cargo install --quiet --locked --root "$place/tools" "$@" "$name@$version" ||
        fail "$name $version cannot be installed"
    touch "$place/tools/$name-$version"
}

# Writes the licences of all crates that are in the packages: those of a source archive, or made by cargo-about, which takes a minute, once
# for each Cargo.lock. third_party FILE
third_party() {
    [[ ! -f $project/THIRD-PARTY ]] || { cp "$project/THIRD-PARTY" "$1" && return; }
    local made
    made=$place/third-party-$(cat "$project/Cargo.lock" "$packages_here/about.toml" "$packages_here/about.hbs" | cksum | tr ' ' -)
    if [[ ! -f $made ]]; then
        setup_cargo_tool cargo-about "$ABOUT" --features cli
        # The libraries have no crate that trib has not: packages/tests/trust.
        cargo-about generate --fail --locked --offline --config "$packages_here/about.toml" --manifest-path "$project/trib/Cargo.toml" \
            --output-file "$made.new" "$packages_here/about.hbs"
        mv "$made.new" "$made"
    fi
    cp "$made" "$1"
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
