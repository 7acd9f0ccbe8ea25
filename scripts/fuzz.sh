#!/usr/bin/env bash
# Looks for bytes that break a promise.
#
#     scripts/fuzz.sh TARGET SECONDS [OPTION ...]   one target, with further options of libFuzzer
#     scripts/fuzz.sh --some COUNT SECONDS          COUNT targets, two at a time; which, the commit says
#     scripts/fuzz.sh --all SECONDS                 all targets, two at a time
#
# Starts from fixtures/fuzz/TARGET; what it learns lies in build-fuzz/corpus, what it finds in
# build-fuzz/found, and the input is printed. A finding belongs in fixtures/fuzz/TARGET, under the
# name of what it was: tests replay it. FNZ_LEDGER=1 adds a line per run to tests/ledger.tsv.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t targets < <(find fixtures/fuzz -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)

build() {
  [ -f build-fuzz/build.ninja ] || cmake --preset fuzz
  cmake --build build-fuzz --target "${@/#/fuzz_}"
}

# Prints what was found since this run began, so that a log is all one needs to see it again.
show_found() {
  local input
  find build-fuzz/found -name "$1-*" -newer "build-fuzz/$1.started" | while read -r input; do
    printf 'found: %s\n' "$input"
    od -A x -t x1z "$input" | head -n 64
    printf 'again: base64 -d > %s <<< %s\n' "$1.input" "$(base64 -w 0 "$input" | head -c 20000)"
  done
}

note() { # target, log
  [ "${FNZ_LEDGER:-0}" = 1 ] || return 0
  local executions seconds
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$2")
  seconds=$(sed -n 's/^#.* seconds: *//p' "$2")
  scripts/ledger.py add "fuzz/$1" address,undefined - "${executions:-0}" "${seconds:-0}" "$3"
}

fuzz() { # target, seconds, options
  local target=$1 seconds=$2 log=build-fuzz/$1.log started status=0
  shift 2
  mkdir -p "build-fuzz/corpus/$target" build-fuzz/found
  touch "build-fuzz/$target.started"
  started=$(date +%s)
  "build-fuzz/tests/fuzz/fuzz_$target" "build-fuzz/corpus/$target" "fixtures/fuzz/$target" \
    -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2500 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="build-fuzz/found/$target-" "$@" > "$log" 2>&1 || status=$?
  printf '# seconds: %d\n' "$(($(date +%s) - started))" >> "$log"
  note "$target" "$log" "$((status != 0))"
  sed -n 's/^stat::number_of_executed_units: */'"$target"': inputs tried: /p' "$log"
  ((status == 0)) && return 0
  tail -n 60 "$log"
  show_found "$target"
  return 1
}

# several COUNT SECONDS: built first, since two builds of one directory would be in each other's way.
several() {
  local first chosen=() k
  first=$((16#$(git rev-parse HEAD | cut -c 1-6)))
  for ((k = 0; k < $1; k++)); do
    chosen+=("${targets[(first + k) % ${#targets[@]}]}")
  done
  build "${chosen[@]}"
  printf '%s\n' "${chosen[@]}" | FNZ_FUZZ_BUILT=1 xargs -P 2 -I{} scripts/fuzz.sh {} "$2"
}

case ${1:?a target, --some or --all} in
--some) several "${2:?how many}" "${3:?seconds}" ;;
--all) several "${#targets[@]}" "${2:?seconds}" ;;
*)
  [ "${FNZ_FUZZ_BUILT:-0}" = 1 ] || build "$1"
  fuzz "$1" "${2:?seconds}" "${@:3}"
  ;;
esac
