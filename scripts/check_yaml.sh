#!/usr/bin/env bash
# For developers: reads native_functions.yaml of one or more PyTorch versions with `fnz ops --import`, and says what
# was found, or which rule is broken. Not a test: the files are PyTorch's, and none of them is kept here.
#
#   scripts/check_yaml.sh DIR...        folders that hold native_functions.yaml and tags.yaml, at any depth
#   scripts/check_yaml.sh --fetch VERSION...   fetches these versions of the torch wheel first (large), with pip
#
# A version whose table is the committed one, schema/aten.tsv, is named; one must be, unless --any is given first.
# FNZ is the command to use, build/fnz without it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fnz=${FNZ:-$root/build/fnz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
same=0 any=0 failed=0

# The two files out of a wheel, into a folder.
unpack() {
  python3 - "$1" "$2" <<'END'
import pathlib, sys, zipfile
for name in ("native_functions.yaml", "tags.yaml"):
    data = zipfile.ZipFile(sys.argv[1]).read("torchgen/packaged/ATen/native/" + name)
    pathlib.Path(sys.argv[2], name).write_bytes(data)
END
}

# The two files of that version.
fetch() {
  local version=$1 wheel
  python3 -m pip download --quiet --no-deps --dest "$work/$version" "torch==$version"
  wheel=$(find "$work/$version" -name '*.whl')
  unpack "$wheel" "$work/$version"
  rm "$wheel"
}

names() {
  cut -f1 "$1" | LC_ALL=C sort
}

check() {
  local functions=$1 tags table="$work/table.tsv"
  tags=$(dirname "$functions")/tags.yaml
  printf '%s\n' "$functions"
  if ! "$fnz" ops --import "$functions" --tags "$tags" --to tsv -o "$table" --json; then
    failed=1
  elif cmp -s "$table" "$root/schema/aten.tsv"; then
    same=1
    echo "this is the committed table"
  else
    names "$root/schema/aten.tsv" >"$work/committed"
    names "$table" >"$work/read"
    echo "$(comm -13 "$work/committed" "$work/read" | wc -l) operators that the committed table lacks," \
      "$(comm -23 "$work/committed" "$work/read" | wc -l) that it has in addition"
  fi
}

check_below() {
  local functions found=0
  while IFS= read -r functions; do
    check "$functions"
    found=1
  done < <(find -L "$1" -name native_functions.yaml | LC_ALL=C sort)
  ((found)) || { echo "there is no native_functions.yaml below $1" >&2; exit 1; }
}

usage() {
  sed -n '2,9p' "$0"
}

[ "${1:-}" = --help ] && { usage; exit 0; }
[ "${1:-}" = --any ] && { any=1; shift; }
if [ "${1:-}" = --fetch ]; then
  shift
  for version in "$@"; do fetch "$version"; done
  set -- "$work"
fi
(($#)) || { usage >&2; exit 64; }
for folder in "$@"; do check_below "$folder"; done
((failed == 0 && (same || any))) || exit 1
