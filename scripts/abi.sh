#!/usr/bin/env bash
# Compares the binary interface of the public headers with the one that tests/abi/ has: functions, types, layouts of
# structures, values of enumerators. fnz.abi is that of include/fnz/, for abidiff; ops.txt has the functions of <fnz/ops.h>.
#
#     scripts/abi.sh            fails if anything differs, and says whether compiled programs still work
#     scripts/abi.sh --write    writes tests/abi/. After a release it demands that FNZ_ABI_VERSION of <fnz/api.h> was raised
#
# Needs a build in build/ (FNZ_BUILD), for ops.h, and abigail-tools.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${FNZ_BUILD:-build} list=tests/abi
command -v abidw >/dev/null || scripts/setup.sh abigail-tools

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 scripts/abi.py --stubs include/fnz/*.h >"$work/stubs.c"
"${CC:-cc}" -std=c17 -g -O0 -fPIC -shared -Iinclude -o "$work/libfnz.so" "$work/stubs.c"
abidw --no-show-locs --no-comp-dir-path --no-corpus-path --no-architecture --type-id-style hash "$work/libfnz.so" |
  sed "s|$work/||g; s|$PWD/||g" >"$work/fnz.abi"
python3 scripts/abi.py --prototypes "$build/include/fnz/ops.h" >"$work/ops.txt"
version() { sed -n 's/^#define FNZ_ABI_VERSION //p'; }
now=$(version <include/fnz/api.h)

# released: prints the FNZ_ABI_VERSION of the newest release, if there is one.
released() {
  local tag
  tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) && git show "$tag:include/fnz/api.h" | version
}

if [ "${1:-}" = --write ]; then
  if last=$(released) && [ "$now" -le "$last" ] && ! { cmp -s "$work/fnz.abi" "$list/fnz.abi" && cmp -s "$work/ops.txt" "$list/ops.txt"; }; then
    echo "abi: the interface differs from the release's: raise FNZ_ABI_VERSION in include/fnz/api.h above $last" >&2
    exit 1
  fi
  mkdir -p "$list"
  cp "$work/fnz.abi" "$work/ops.txt" "$list/"
  exit
fi

code=0
abidiff --no-show-locs "$list/fnz.abi" "$work/fnz.abi" >"$work/report" || code=$?
cat "$work/report"
gone=$(comm -23 "$list/ops.txt" "$work/ops.txt")
new=$(comm -13 "$list/ops.txt" "$work/ops.txt")
if [ -n "$gone" ] || { [ "$code" != 0 ] && ! grep -q "^Functions changes summary: 0 Removed, 0 Changed" "$work/report"; }; then
  [ -z "$gone" ] || printf 'gone from <fnz/ops.h>, or with another prototype:\n%s\n' "$gone"
  echo "abi: compiled programs break, unless all that has changed above is fields and enumerators that were appended, in" \
    "structures that begin with \`size\`. Keep what programs use, or raise the minor version, which is in the SONAME" >&2
elif [ "$code" != 0 ] || [ -n "$new" ]; then
  [ -z "$new" ] || printf 'new in <fnz/ops.h>:\n%s\n' "$new"
  echo "abi: there are additions: raise FNZ_ABI_VERSION in include/fnz/api.h by 1, once a release, then" \
    "scripts/abi.sh --write" >&2
else
  echo "the interface is that of tests/abi/: FNZ_ABI_VERSION $now"
  exit
fi
exit 1
