#!/usr/bin/env bash
# The long run: what CI has no time for, about four hours on two cores, and a line in the ledger for
# each part.
#
#     scripts/long.sh [--minutes M] [--step NAME] [--again]
#
# Steps: fuzz (every target in turn), quick (the same without AddressSanitizer), soak (random
# programs, numbers and hashes), sizes (those of unknown sizes), bodies (those with bodies and
# state), threads (under ThreadSanitizer), memory (under MemorySanitizer), mutants (mutation
# testing), cover (branch coverage). --minutes M shares M minutes among the steps instead of 240;
# --step does one of them, and M is all its own. A step that was done at this commit is not done
# again, unless --again: a run that was cut off goes on where it was. SIGINT and SIGTERM end it at
# any time, and what was done until then is in the ledger; so it can be left alone at `nice -n 19`
# or `chrt --idle 0`. Random programs are others each time: those that follow the last ones in the
# ledger. Exit 1 when a step found something.
# shellcheck disable=SC2317 # steps are called by name
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/await.sh
. scripts/await.sh

minutes=240 only='' again=0
usage() {
  sed -n '2,14s/^# \?//p' "$0"
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

release() {
  cmake --preset release > "$state/release.log" &&
    cmake --build build "$@" >> "$state/release.log"
}

# A signal ends the command that is running, and no other is begun.
stopped=0 running=''
stop() {
  stopped=1
  [ -z "$running" ] || kill -TERM "$running" 2> /dev/null || :
}
trap stop INT TERM

# Runs a command; a signal ends the command, not the waiting.
attend() {
  local status=0
  "$@" &
  running=$!
  await "$running" || status=$?
  running=''
  return "$status"
}

# More is to be done until the second `ends`.
goes_on() { # ends
  ((!stopped && $(date +%s) < $1))
}

# ledger TARGET SANITIZER SEEDS EXECUTIONS SECONDS FINDINGS
ledger() {
  scripts/ledger.py add "$@"
}

fuzz() { # seconds, build
  local targets
  targets=$(find fixtures/fuzz -mindepth 1 -maxdepth 1 -type d | wc -l)
  FNZ_FUZZ_BUILD=${2:-build-fuzz} FNZ_LEDGER=1 attend scripts/fuzz.sh --all "$(($1 * 2 / targets + 1))"
}

quick() { # seconds
  fuzz "$1" build-fuzz-quick
}

# Random programs, a batch after the other, on all cores. Of a batch that was not finished none counts;
# one that ended with a finding is not tried again.
draw() { # what, seconds, programs in a batch, options
  local ends what=$1 batch=$3 began seed first at tried=0 status=0
  release --target fnz || return 1
  read -r seed first < <(scripts/ledger.py next "$what")
  at=$first began=$(date +%s) ends=$(($(date +%s) + $2))
  while ((!status)) && goes_on "$ends"; do
    attend build/fnz fuzz --seed "$seed" --first "$at" --count "$batch" --jobs "$(nproc)" --quiet "${@:4}" > "$state/soak" ||
      status=$?
    ((stopped)) && status=0 && break
    ((status != 0)) || tried=$((tried + batch))
    ((status != 0 && status != 5)) || at=$((at + batch)) # 5: something is wrong with one of them
  done
  ((!status)) || cat "$state/soak"
  ((at == first)) ||
    ledger "$what" - "$seed:$first-$at" "$tried" "$(($(date +%s) - began))" "$((status == 5))"
  return "$status"
}

soak() { # seconds
  draw "random programs" "$1" 50000
}

bodies() { # seconds
  draw "programs with bodies" "$1" 5000 --regions
}

sizes() { # seconds
  draw "programs of unknown sizes" "$1" 5000 --symbolic
}

# repeat PRESET SECONDS NAME: the tests that have the preset's name as a label, again and again.
repeat() {
  local began ends rounds=0 failed=0
  cmake --preset "$1" > "$state/$1.log" || return 1
  cmake --build --preset "$1" >> "$state/$1.log" || return 1
  began=$(date +%s) ends=$(($(date +%s) + $2))
  while ((!failed)) && goes_on "$ends"; do
    attend ctest --test-dir "build-$1" --no-tests=error -L "^$1\$" --output-on-failure > "$state/$1.tests" 2>&1 ||
      failed=1
    ((stopped)) && failed=0 && break
    rounds=$((rounds + 1))
  done
  ((!failed)) || cat "$state/$1.tests"
  ((rounds == 0)) || ledger "$3" "$1" - "$rounds" "$(($(date +%s) - began))" "$failed"
  return "$failed"
}

threads() {
  repeat thread "$1" "eight threads, rounds"
}

memory() {
  repeat memory "$1" "kept inputs, rounds"
}

mutants() { # seconds
  release || return 1
  attend nice scripts/mutate.py --seed "$(date +%s)" --count 100000 --minutes "$(($1 / 60 + 1))" \
    --out "$state/survivors.txt" > "$state/mutants.txt" || return 1
  cat "$state/mutants.txt"
}

cover() {
  attend scripts/cover.sh
}

# step NAME PERCENT: with its share of the minutes, unless it was done.
step() {
  local share=$((minutes * 60 * $2 / 100)) mark=$state/done-$commit-$1
  ((!stopped)) || return 0
  [ -z "$only" ] || [ "$only" = "$1" ] || return 0
  [ "$only" = "$1" ] && share=$((minutes * 60))
  if [ -f "$mark" ] && ((!again)); then
    printf '%s: done before at %s\n' "$1" "$commit"
    return 0
  fi
  printf '%s: %d seconds\n' "$1" "$share"
  if "$1" "$share" || ((stopped)); then
    ((stopped)) || touch "$mark"
  else
    printf '%s: found something\n' "$1"
    found=1
  fi
}

found=0
step fuzz 30
step quick 15
step soak 20
step sizes 5
step bodies 5
step threads 3
step memory 2
step mutants 18
step cover 2
scripts/ledger.py sum
exit "$found"
