#!/usr/bin/env bash
# What the command does when something below it fails.
#
#     scripts/faults.sh memory all [DIR ...]   each allocation of each verb fails, on all programs of
#                                              fixtures/ and DIRs
#     scripts/faults.sh memory sample [SEED]   all of a few programs, some of the others; SEED says
#                                              which: the day when none is given
#
# BUILD names the folder of the build (build). `all` goes on where it was stopped: what is done
# stands in BUILD/faults.done. FNZ_JOBS runs at a time (all cores); FNZ_SPARSE=N: a sample of every
# N-th fault only, for slow builds. Exit 1 when a promise was broken.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "${BUILD:-$root/build}")
done_file=$build/faults.done
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# The calls that are swept over a program: "OUTPUT ARGS...", OUTPUT being what the call writes.
calls_on() {
  local in=$1 inputs=$2
  printf '%s\n' "o.cbor convert $in -o o.cbor --verify" "o.pt2 convert $in -o o.pt2 --json" \
    "o.fnz convert $in -o o.fnz --views strided --state epilogue" \
    "o.fnz convert $in -o o.fnz --views keep --deny bernoulli_,zero_" \
    "o.dot draw $in -o o.dot --functional" "o.none show $in" "o.none stats $in --json" \
    "o.none verify $in --trials 1" "o.none lint $in --json" "o.none lint $in --sarif" \
    "o.none explain $in" "o.none diff $in $in --json"
  [ -z "$inputs" ] ||
    printf '%s\n' "o.st run $in --inputs $inputs --outputs o.st --threads 1" \
      "o.none run $in --inputs $inputs --original --threads 1" \
      "o.none verify $in --inputs $inputs --trials 1"
}

# Calls that need no program, and custom operators.
other_calls() {
  local native=$root/fixtures/native custom=$root/fixtures/custom
  printf '%s\n' "o.none ops add_.Tensor" "o.none ops sub*" \
    "o.tsv ops --import $native/functions.yaml --tags $native/tags.yaml --to tsv -o o.tsv" \
    "o.none ops --ops $custom/ops.txt my*" \
    "o.cbor convert $custom/wrapped_v2.pt2 --ops $custom/ops.txt -o o.cbor --verify"
}

# The inputs that belong to a program, if any.
inputs_of() {
  local candidate
  for candidate in "${1%/*}/inputs.safetensors" "${1%.*}.inputs.safetensors" \
    "${1%/*}/x.safetensors"; do
    [ ! -f "$candidate" ] || { echo "$candidate" && return; }
  done
}

programs() {
  find "$root/fixtures/pt2" "$@" -name '*.pt2' -size -100k | sort
  find "$root/fixtures" -name '*.fnz' -size -20k | sort
}

# One call in a folder of its own: sweep_memory STEP BEGIN OUTPUT ARGS...
sweep_memory() {
  local folder step=$1 begin=$2 result=0
  shift 2
  folder=$(mktemp -d) && cd "$folder"
  "$build/tests/faults/memory_sweep" -s "$step" -b "$begin" "$@" 2>said || result=$?
  if [ "$result" = 0 ]; then
    sed "s|^|memory $* |" said
  else
    sed 's|^|FAULT: |' said
    echo "FAULT: exit $result: $*"
  fi
  cd / && rm -rf "$folder"
  return "$result"
}

# "STEP BEGIN OUTPUT ARGS..." for everything.
all_memory() {
  local program
  other_calls | sed 's/^/1 1 /'
  programs "$@" | while read -r program; do
    calls_on "$program" "$(inputs_of "$program")" | sed 's/^/1 1 /'
  done
}

# All of two programs; of the others every 40th call, and there every 15th allocation.
sample_memory() {
  local seed=$1 program kv=$root/fixtures/pt2/kv_cache sparse=${FNZ_SPARSE:-1}
  {
    other_calls
    calls_on "$root/fixtures/cli/slice_write.fnz" "$root/fixtures/cli/x.safetensors"
    calls_on "$kv.pt2" "$kv.inputs.safetensors" | head -n 1
  } | sed "s/^/$sparse $((1 + seed % sparse)) /"
  programs | while read -r program; do
    calls_on "$program" "$(inputs_of "$program")"
  done | awk -v seed="$seed" -v step=$((15 * sparse)) \
    'NR % 40 == seed % 40 { print step " " 1 + seed % step " " $0 }'
}

# Lines of standard input that are not done yet, as many at a time as there are cores.
run_jobs() {
  export -f sweep_memory
  export build root
  xargs -P "${FNZ_JOBS:-$(nproc)}" -L 1 bash -c '"$0" "$@" || exit 1' "$1"
}

memory() {
  case ${1:-} in
  all)
    touch "$done_file"
    all_memory "${@:2}" | grep -vxFf <(sed -n 's/^memory \(.*\) [0-9]*$/1 1 \1/p' "$done_file") |
      shuf | run_jobs sweep_memory | tee -a "$done_file" | grep --line-buffered FAULT && return 1
    echo "allocations that failed: $(awk '/^memory/ { n += $NF } END { print n + 0 }' "$done_file")," \
      "calls: $(grep -c ^memory "$done_file")"
    ;;
  sample)
    local seed=${2:-$(($(date +%s) / 86400))}
    echo "seed $seed"
    sample_memory "$seed" | run_jobs sweep_memory |
      awk '/^memory/ { n += $NF } /FAULT/ { print; bad = 1 } END { print n " allocations failed"; exit bad }'
    ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && return 64 ;;
  esac
}

case ${1:-} in
memory) "$@" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 64 ;;
esac
