#!/usr/bin/env bash
# The long run: what CI has no time for, about four hours on two cores, and a line in the ledger for
# each part.
#
#     scripts/long.sh [--minutes M] [--step NAME] [--again]
#
# Steps: fuzz (every target in turn), soak (random programs, numbers and hashes), threads (under
# ThreadSanitizer), memory (under MemorySanitizer), mutants (mutation testing), cover (branch
# coverage). --minutes M shares M minutes among the steps instead of 240; --step does one of them,
# and M is all its own. A step that was done at this commit is not done again, unless --again: a run
# that was cut off goes on where it was. Exit 1 when a step found something.
# shellcheck disable=SC2317 # steps are called by name
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=240 only='' again=0
usage() {
  sed -n '2,11s/^# \?//p' "$0"
  exit 64
}

while (($#)); do
  case $1 in
  --minutes) minutes=$2 && shift 2 ;;
  --step) only=$2 && shift 2 ;;
  --again) again=1 && shift ;;
  *) usage ;;
  esac
done

[[ $minutes =~ ^[0-9]+$ ]] || usage

commit=$(git rev-parse --short HEAD) state=build-long
mkdir -p "$state"
seed=$(date +%s)

release() {
  cmake --preset release > "$state/release.log"
  cmake --build build "$@" >> "$state/release.log"
}

# ledger TARGET SANITIZER SEEDS EXECUTIONS SECONDS FINDINGS
ledger() {
  scripts/ledger.py add "$@"
}

fuzz() { # seconds
  local targets
  targets=$(find fixtures/fuzz -mindepth 1 -maxdepth 1 | wc -l)
  FNZ_LEDGER=1 scripts/fuzz.sh --all "$(($1 * 2 / targets + 1))"
}

# Random programs, a batch after the other, on both cores.
soak() { # seconds
  local ends=$(($(date +%s) + $1)) batch=20000 tried=0 failed=0 began
  began=$(date +%s)
  release --target fnz
  while (($(date +%s) < ends && !failed)); do
    build/fnz fuzz --seed "$seed" --first "$tried" --count "$batch" --jobs 2 > "$state/soak" || failed=1
    tried=$((tried + batch))
  done
  ((failed)) && cat "$state/soak"
  ledger "random programs" - "$seed" "$tried" "$(($(date +%s) - began))" "$failed"
  return "$failed"
}

# repeat PRESET SECONDS NAME: the tests that have the preset's name as a label, again and again.
repeat() {
  local began ends rounds=0 failed=0
  cmake --preset "$1" > "$state/$1.log"
  cmake --build --preset "$1" >> "$state/$1.log"
  began=$(date +%s) ends=$(($(date +%s) + $2))
  while (($(date +%s) < ends && !failed)); do
    ctest --test-dir "build-$1" --no-tests=error -L "^$1\$" --output-on-failure > "$state/$1.tests" 2>&1 || failed=1
    rounds=$((rounds + 1))
  done
  ((failed)) && cat "$state/$1.tests"
  ledger "$3" "$1" - "$rounds" "$(($(date +%s) - began))" "$failed"
  return "$failed"
}

threads() {
  repeat thread "$1" "eight threads, rounds"
}

memory() {
  repeat memory "$1" "kept inputs, rounds"
}

mutants() { # seconds
  release
  nice scripts/mutate.py --seed "$seed" --count 100000 --minutes "$(($1 / 60 + 1))" \
    --out "$state/survivors.txt" | tee "$state/mutants.txt"
}

cover() {
  scripts/cover.sh
}

# step NAME PERCENT: with its share of the minutes, unless it was done.
step() {
  local share=$((minutes * 60 * $2 / 100)) mark=$state/done-$commit-$1
  [ -z "$only" ] || [ "$only" = "$1" ] || return 0
  [ "$only" = "$1" ] && share=$((minutes * 60))
  if [ -f "$mark" ] && ((!again)); then
    printf '%s: done before at %s\n' "$1" "$commit"
    return 0
  fi
  printf '%s: %d seconds\n' "$1" "$share"
  if "$1" "$share"; then
    touch "$mark"
  else
    printf '%s: found something\n' "$1"
    found=1
  fi
}

found=0
step fuzz 45
step soak 30
step threads 3
step memory 2
step mutants 18
step cover 2
scripts/ledger.py sum
exit "$found"
