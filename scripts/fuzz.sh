#!/usr/bin/env bash
# Looks for bytes that break a promise.
#
#     scripts/fuzz.sh TARGET SECONDS [OPTION ...]   one target, with further options of libFuzzer
#     scripts/fuzz.sh --all SECONDS                 all targets, two at a time
#     scripts/fuzz.sh --same                        all targets, two at a time, with the same inputs
#                                                   every time: some seconds each
#
# Starts from fixtures/fuzz/TARGET, `text` from golden programs too, `plan` from those of cbor; what it learns lies in build-fuzz/corpus, what it finds in
# build-fuzz/found, and the input is printed. A finding belongs in fixtures/fuzz/TARGET, under the
# name of what it was: tests replay it. FNZ_LEDGER=1 adds a line per run to tests/ledger.tsv, also of
# one that SIGINT or SIGTERM has ended. FNZ_FUZZ_BUILD names another build with FNZ_FUZZ than
# build-fuzz: build-fuzz-quick, without AddressSanitizer, comes to 1.2 (json), 1.7 (schema) and 2.1
# times (safetensors) as many inputs.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/await.sh
. scripts/await.sh

build=${FNZ_FUZZ_BUILD:-build-fuzz}
mapfile -t targets < <(find fixtures/fuzz -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)

# The longest input of each target: what fits into it has room for every rule, and short inputs are
# tried sooner and change more with a byte. Kept ones that are longer begin with what they begin with.
# Of the programs whose items are changed, not their bytes (tests/fuzz/mutate.h), a part of a seed is
# no program: those have room for all seeds that fuzzing is meant to begin with, from the start on.
declare -A longest=([alias]=160 [cbor]=2500 [choices]=240 [engine]=240 [external]=4000 [json]=10000 [native]=1000
                    [plan]=2500 [pt2]=10000 [regions]=240 [safetensors]=400 [schema]=160 [symbolic]=80 [text]=600)
declare -A at_once=([cbor]=1 [external]=1 [json]=1 [plan]=1 [pt2]=1)

# Inputs, those of the fixtures among them, where they are to be the same each time: about four
# seconds, as the build with AddressSanitizer tries them.
declare -A same=([alias]=1000 [cbor]=6000 [choices]=1200 [engine]=200 [external]=400 [json]=6000 [native]=60000
                 [plan]=12000 [pt2]=2000 [regions]=300 [safetensors]=200000 [schema]=100000 [symbolic]=20000
                 [text]=3000)

# Freed memory is kept from being used again while 16 MB more are freed, and the stack of an
# allocation has 8 calls: with the usual 256 MB and 30 most of the time went there.
export ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}

make() {
  [ -f "$build/build.ninja" ] || cmake --preset "${build#build-}"
  cmake --build "$build" --target "${@/#/fuzzer_}"
}

# Prints what was found since this run began, so that a log is all one needs to see it again.
show_found() {
  local input
  find "$build/found" -name "$1-*" -newer "$build/$1.started" | while read -r input; do
    printf 'found: %s\n' "$input"
    od -A x -t x1z "$input" | head -n 64
    printf 'again: base64 -d > %s <<< %s\n' "$1.input" "$(base64 -w 0 "$input" | head -c 20000)"
    printf '       %s/tests/fuzz/fuzz_%s %s\n' "$build" "$1" "$1.input"
  done
}

# What changes items of a file, not bytes, is counted apart.
note() { # target, executions, seconds, findings
  local how=
  [ "${FNZ_LEDGER:-0}" = 1 ] || return 0
  case $1 in pt2 | cbor | external | json | plan) how=' by items' ;; esac
  scripts/ledger.py add "fuzz/$1$how" "$(sed -n 's/^FNZ_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt")" - "$2" "$3" "$4"
}

# A signal ends what is running, and nothing more is begun.
stopped=0 running=()
stop() {
  stopped=1
  kill -TERM "${running[@]}" 2> /dev/null || :
}
trap stop INT TERM

# Programs of two folders may have one name.
golden_programs() { # to
  local folder program
  for folder in cli functionalize regions symbolic; do
    for program in fixtures/"$folder"/*.fnz; do
      cp "$program" "$1/$folder-${program##*/}"
    done
  done
}

# In 0 seconds: the same inputs each time. Of libFuzzer, 72 says that it was interrupted.
fuzz() { # target, seconds, options
  local target=$1 seconds=$2 log=$build/$1.log learned=$build/corpus/$1 status=0 began=$SECONDS tried options=()
  shift 2
  if ((seconds == 0)); then
    learned=$build/same/$target
    rm -rf "$learned"
    options+=(-seed=1 -runs="${same[$target]:?how many inputs?}")
  fi
  mkdir -p "$learned" "$build/found"
  touch "$build/$target.started"
  [ "$target" != text ] || golden_programs "$learned"
  [ "$target" != plan ] || cp fixtures/fuzz/cbor/* "$learned"
  [ ! -f "fixtures/fuzz/$target.dict" ] || options+=("-dict=fixtures/fuzz/$target.dict")
  [ -z "${at_once[$target]:-}" ] || options+=(-len_control=0)
  "$build/tests/fuzz/fuzzer_$target" "$learned" "fixtures/fuzz/$target" \
    -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2500 -print_final_stats=1 -verbosity=0 \
    -max_len="${longest[$target]:-4096}" -entropic=0 "${options[@]}" \
    -artifact_prefix="$build/found/$target-" "$@" > "$log" 2>&1 &
  running=($!)
  await "$!" || status=$?
  case $status in 72 | 130 | 143) status=0 ;; esac
  tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  note "$target" "${tried:-0}" "$((SECONDS - began))" "$((status != 0))"
  printf '%s: inputs tried: %s\n' "$target" "${tried:-?}"
  ((status == 0)) && return 0
  tail -n 60 "$log"
  show_found "$target"
  return 1
}

# The first, the third, the fifth of some targets.
every_other() { # seconds, targets
  local seconds=$1 failed=0
  trap stop INT TERM
  shift
  while (($# && !stopped)); do
    fuzz "$1" "$seconds" || failed=1
    shift "$(($# > 1 ? 2 : 1))"
  done
  return "$failed"
}

# Built first, since two builds of one directory would be in each other's way.
all() { # seconds
  local failed=0 both one
  make "${targets[@]}"
  every_other "$1" "${targets[@]}" &
  both=("$!")
  every_other "$1" "${targets[@]:1}" &
  both+=("$!")
  running=("${both[@]}")
  for one in "${both[@]}"; do
    await "$one" || failed=1
  done
  return "$failed"
}

case ${1:?a target, --all or --same} in
--all) all "${2:?seconds}" ;;
--same) all 0 ;;
*)
  make "$1"
  fuzz "$1" "${2:?seconds}" "${@:3}"
  ;;
esac
