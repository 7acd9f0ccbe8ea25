#!/usr/bin/env bash
# How many steps of programs a GPU computes, and which ones are the CPU's and why, by operator; on the stand-in for its
# driver. Programs are folders with program.pt2 and inputs.safetensors:
#
#     scripts/device_steps.sh build CASES/real CASES/models
set -euo pipefail
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
shift

cmake --build "$build" --target cuda_steps >/dev/null
standin=$build/tests/cuda/standin
export LD_LIBRARY_PATH=$standin STANDIN_CXX=${CXX:-c++} STANDIN_SHIM=$here/tests/cuda/shim.h STANDIN_KEPT=$standin/kept
all=$(mktemp)
trap 'rm -f "$all"' EXIT
for folder in "$@"; do
  for case in "$folder"/*/; do
    [ -e "$case/program.pt2" ] || continue
    steps=$("$build/tests/cuda/cuda_steps" "$case/program.pt2" "$case/inputs.safetensors" || true)
    printf '%-26s %4s of %4s steps on the device\n' "$(basename "$case")" \
      "$(grep -c '^device' <<<"$steps" || true)" "$(grep -c . <<<"$steps" || true)"
    printf '%s\n' "$steps" >>"$all"
  done
done
echo
echo "on the CPU:"
grep '^cpu' "$all" | cut -f 2,3 | sort | uniq -c | sort -rn
