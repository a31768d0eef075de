#!/bin/sh
# Installs Tributary from this folder: sh install.sh PREFIX
set -eu

fail() {
    echo "error: $*" >&2
    exit 1
}

case ${1:-} in
--help | -h)
    echo "usage: sh install.sh PREFIX"
    echo
    echo "Copies bin, include, lib and share to PREFIX, which is made. Nothing has the path in it: the folder can be moved later,"
    echo "and a folder that is only unpacked works as it is. An earlier version there is replaced; PREFIX/etc is left as it is."
    echo "To remove it: cd PREFIX && xargs rm -f <share/doc/tributary/files && rm share/doc/tributary/files"
    exit 0
    ;;
"" | -*) fail "PREFIX: ${1:-none}; allowed: a directory, such as \$HOME/tributary; --help says more" ;;
esac
[ $# -eq 1 ] || fail "$# arguments; allowed: one, PREFIX"
here=$(cd "$(dirname "$0")" && pwd)
"$here/bin/trib" --version >/dev/null || fail "$here/bin/trib does not run here ($(uname -m)); is this the package for this kind of machine?"
mkdir -p "$1" || fail "PREFIX: $1; allowed: a directory that can be made"
prefix=$(cd "$1" && pwd)
[ "$prefix" != "$here" ] || fail "PREFIX: $1; allowed: another directory than the package's own"
list=$prefix/share/doc/tributary/files
before=$(cat "$list" 2>/dev/null || true)
# Files are replaced, not written over: a program may be using the ones before.
(cd "$here" && cp -R -P -f --remove-destination bin include lib share "$prefix/") || fail "not everything could be copied to $prefix"
(cd "$here" && find bin include lib share ! -type d | sort) >"$list"
# What an earlier version had and this one has not.
echo "$before" | while read -r file; do
    [ -z "$file" ] || grep -qxF -e "$file" "$list" || rm -f "$prefix/$file"
done
echo "$("$prefix/bin/trib" --version): installed under $prefix"
