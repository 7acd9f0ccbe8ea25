#!/usr/bin/env bash
# All that a GPU can say of a build, what says most first: the device tests on the real driver and NVRTC, times, and
# compute-sanitizer.
#
#     scripts/gpu.sh [--build DIR] [--out DIR] [--minutes M] [--jobs N] [--part NAME]... [--cases DIR]... [--standin]
#
# Parts: machine, first, tests, bench, memcheck, racecheck, initcheck, synccheck; without --part all of them, in this
# order. --build is a build (build), and not needed in what scripts/gpu_pack.sh has packed. CUDA's libraries are
# looked for where the loader, a toolkit and packages of Python have them, and in FNZ_CUDA_LIBRARIES (folders, with
# colons between). --cases has programs with PyTorch's values (tests/cuda/recorded_test.c). What does not end within
# the minutes (9) is stopped and said to be; where no program of `first` runs, the rest is left out. --out (gpu-results)
# gets summary.txt, logs, bench.md and bench.json, seven files, with each test and program as it ends. --standin runs all
# of it on the stand-in for a GPU, as if that were one. Exit 1 when something failed.
# shellcheck disable=SC2317 # parts are called by name
set -uo pipefail

here=$(cd "$(dirname "$0")/.." && pwd) # where fixtures/ are
build=$here/build out=gpu-results minutes=9 jobs=$(nproc) standin='' cases='' parts=()
while (($#)); do
  case $1 in
  --build) build=$2 && shift 2 ;;
  --out) out=$2 && shift 2 ;;
  --minutes) minutes=$2 && shift 2 ;;
  --jobs) jobs=$2 && shift 2 ;;
  --part) parts+=("$2") && shift 2 ;;
  --cases) cases+=${cases:+:}$2 && shift 2 ;;
  --standin) standin=1 && shift ;;
  *) sed -n '2,15s/^# \?//p' "$0" && exit 64 ;;
  esac
done
[ ! -x "$here/bin/fnz" ] || build=$here
((${#parts[@]})) || parts=(machine first tests bench memcheck racecheck initcheck synccheck)

build=$(cd "$build" && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ends=$((SECONDS + minutes * 60))
failed=0
cd "$here" || exit 3

say() {
  printf '%s\n' "$*" | tee -a "$out/summary.txt"
}

# binary NAME: in a build, or where gpu_pack.sh has put it.
binary() {
  local path
  for path in "$build/bin/$1" "$build/tests/cuda/$1" "$build/bench/$1" "$build/$1"; do
    [ -f "$path" ] && [ -x "$path" ] && printf '%s\n' "$path" && return 0
  done
  return 1
}

# --- Libraries ----------------------------------------------------------------------------------------
# Folders of CUDA's libraries, the first one of each library.
cuda_folders() {
  local name path folders=${FNZ_CUDA_LIBRARIES:-}
  folders="${folders//:/ } /usr/local/nvidia/lib64 /usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib"
  folders+=" $(python3 -c 'import sys; print(*(p + "/nvidia/*/lib" for p in sys.path if p.endswith("-packages")))' 2>/dev/null)"
  for name in libcuda.so.1 libnvrtc.so.13 libnvrtc.so.12 libcublasLt.so.13 libcublasLt.so.12 libcudnn.so.9; do
    for path in $folders; do # with the patterns' meanings
      [ -e "$path/$name" ] && printf '%s\n' "$path" && break
    done
  done | awk '!seen[$0]++' | paste -sd:
}

# Ours, for our own programs alone; what the system has of the compiler's own is newer than ours.
cuda=$(cuda_folders)
libraries=$build/lib:$cuda
ldconfig=$(PATH=$PATH:/sbin:/usr/sbin command -v ldconfig)
for name in libstdc++.so.6 libgcc_s.so.1 libgomp.so.1; do
  [ -e "$build/more/$name" ] && ! "$ldconfig" -p 2>/dev/null | grep -q "$name" &&
    mkdir -p "$work/more" && ln -sf "$build/more/$name" "$work/more/"
done
libraries+=:$work/more${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PATH=$PATH:/usr/local/cuda/bin
export FNZ_DRIVER=real FNZ_CASES=$cases FNZ_CACHE=$work/cache
if [ "$standin" ]; then
  stand=$build/tests/cuda
  [ -d "$stand/standin" ] || stand=$build
  libraries=$stand/standin:$stand/standin_libraries:$build/lib:$work/more
  export STANDIN_CXX=${CXX:-c++} STANDIN_SHIM=$here/tests/cuda/shim.h STANDIN_KEPT=${STANDIN_KEPT:-$work/kept} FNZ_STANDIN=1
  mkdir -p "$STANDIN_KEPT"
fi
mkdir -p "$work/cache"
chmod 700 "$work/cache"

# ours COMMAND: with the libraries, and no longer than there is time.
ours() {
  local left=$((part_ends - SECONDS))
  ((left > 0)) || return 124
  LD_LIBRARY_PATH=$libraries timeout -k 5 "$left" "$@"
}

# --- Jobs ---------------------------------------------------------------------------------------------
# job PART NAME COMMAND: in the background, $jobs at a time; $log.log gets its words when it ends.
job() {
  local name=$1.$2
  shift 2
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n || :; done
  {
    local began=$SECONDS status=0
    ours "$@" > "$work/$name.log" 2>&1 || status=$?
    ended "$name" "$status" "$((SECONDS - began))" 9> "$work/lock"
  } &
}

# What the log of a test or of compute-sanitizer says at its end.
essence() {
  grep -hE '^[0-9]+%: Checks|ERROR SUMMARY|RACECHECK SUMMARY|wrong$| 0 wrong' "$1" | paste -sd' ' | cut -c1-230
}

# One at a time: descriptor 9 is a file that is locked.
ended() { # name, status, seconds
  local word=passed
  flock 9
  (($2 == 0)) || word="FAILED ($2)"
  (($2 != 124 && $2 != 137)) || word="NOT FINISHED"
  say "$(printf '%-28s %-14s %4s s  %s' "$1" "$word" "$3" "$(essence "$work/$1.log")")"
  { printf '\n===== %s: %s\n' "$1" "$word" && cat "$work/$1.log"; } >> "$out/$log.log"
  (($2 == 0)) || grep -hE ':[FE]:|^fnz: |rror' "$work/$1.log" | head -n 4 | sed 's/^/    /' | cut -c1-300 |
    tee -a "$out/summary.txt"
  printf '%s\n' "$2" > "$work/$1.ended"
}

finish() { # part
  wait
  ! grep -qvx 0 "$work/$1".*.ended 2> /dev/null || failed=1
}

# --- Parts --------------------------------------------------------------------------------------------
machine() {
  {
    date && uname -srm && nproc && ldd --version | head -n 1
    nvidia-smi || echo "no nvidia-smi"
    nvcc --version || :
    compute-sanitizer --version || :
    "$ldconfig" -p | grep -E 'libcuda[.]|nvrtc[.]|cublasLt|cudnn[.]' || :
    LD_LIBRARY_PATH=$libraries ldd "$(binary fnz)"
  } > "$out/machine.log" 2>&1
  say "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo 'no nvidia-smi')"
  say "CUDA libraries: $cuda"
  ! grep '=> not found' "$out/machine.log" || failed=1
  if nvidia-smi --query-gpu=compute_mode --format=csv,noheader 2>/dev/null | grep -qi exclusive; then
    jobs=1
    say "one process at a time has the GPU (exclusive mode): one job at a time"
  fi
}

# Does anything run? By itself, so that its words are seen.
first() {
  local fnz log=machine
  fnz=$(binary fnz)
  printf 'fnz 1\nprogram(%%x: f32[4])\n{\n  %%y: f32[4] = add.Tensor(%%x, 1)\n  %%z: f32[4] = exp(%%y)\n  return %%z\n}\n' > "$work/small.fnz"
  job first compile "$fnz" explain --plan --device cuda "$work/small.fnz"
  job first kv_cache "$fnz" run --device cuda fixtures/pt2/kv_cache.pt2 --inputs fixtures/pt2/kv_cache.inputs.safetensors
  job first interpreter "$fnz" run --device cuda --engine interpreter fixtures/pt2/kv_cache.pt2 --inputs fixtures/pt2/kv_cache.inputs.safetensors
  finish first
  grep -qx 0 "$work"/first.{kv_cache,interpreter}.ended || ends=0
}

# The longest begin first; last, where few run at once: time may end before they do. Without libraries, kernels of the
# text compute what they would.
tests() {
  local name program without log=tests
  without=$work/none
  mkdir -p "$without"
  touch "$without/libcublasLt.so.13" "$without/libcublasLt.so.12" "$without/libcudnn.so.9"
  local names=(ways rows values sizes device random draws library recorded values_random groups order formulas flat bounds
    blocks given graph sets dlpack told threads fails)
  ((jobs >= 12)) || mapfile -t names < <(printf '%s\n' "${names[@]}" | tac)
  for name in "${names[@]}"; do
    program=$(binary "cuda_${name}_test") || { say "tests.$name MISSING" && failed=1 && continue; }
    job tests "$name" "$program"
    [ "$name" != library ] ||
      job tests library_without env STANDIN_WITHOUT=1 LD_LIBRARY_PATH="$without:$libraries" "$program"
    [ "$name" != random ] || for first in 200 400; do
      job tests "random_$first" env FNZ_FIRST="$first" FNZ_PROGRAMS=150 FNZ_BODIES=50 "$program"
    done
  done
  finish tests
  grep -h '^left ' "$out/tests.log" | sort | uniq -c | sed 's/^/   /' >> "$out/summary.txt"
}

# Alone on the GPU. A quarter of what time is left is PyTorch's.
bench() {
  local small=() status=0 left=$((part_ends - SECONDS))
  [ ! "$standin" ] || small=(--small --seconds 0.001)
  ours "$(binary bench_device)" "${small[@]}" fixtures/decode/llama.pt2 > "$out/bench.log" 2>&1 || :
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$(binary bench_device)" > "$work/bench_device"
  chmod +x "$work/bench_device"
  timeout -k 15 "$left" python3 bench/engine/device.py --bench "$work/bench_device" \
    "${small[@]}" --torch-seconds $((left / 4)) --save "$out/bench.json" > "$out/bench.md" 2>> "$out/bench.log" || status=$?
  ((status == 0)) || failed=1
  say "bench (exit $status): $(grep -c '^| [a-z]*_' "$out/bench.md") programs, in bench.md; decode: $(head -n 1 "$out/bench.log")"
}

# sanitize TOOL TEST...: few programs, in one process each.
sanitize() {
  local tool=$1 name log=sanitizers
  shift
  command -v compute-sanitizer > /dev/null || { say "$tool: there is no compute-sanitizer" && return; }
  for name in "$@"; do
    job "$tool" "$name" env CK_FORK=no FNZ_PROGRAMS=40 FNZ_BODIES=12 LIBRARY_PROGRAMS=8 \
      compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 "$(binary "cuda_${name}_test")"
  done
  finish "$tool"
}
memcheck() {
  sanitize memcheck groups random flat given sets library graph bounds
}
racecheck() {
  sanitize racecheck groups blocks library flat
}
initcheck() {
  sanitize initcheck given sets graph flat
}
synccheck() {
  sanitize synccheck groups blocks
}

rm -f "$out"/{summary.txt,machine.log,tests.log,bench.md,bench.json,bench.log,sanitizers.log}
for part in "${parts[@]}"; do
  say "== $part, at $SECONDS s of $((minutes * 60))"
  if ((SECONDS >= ends)); then
    say "$( ((ends)) && echo 'no time was left' || echo 'left out: no program of the first part ran')"
    continue
  fi
  case $part in # the rest is left to those that follow
  first) part_ends=$((SECONDS + 120 < ends ? SECONDS + 120 : ends)) ;;
  tests) part_ends=$((SECONDS + (ends - SECONDS) / 2)) ;;
  bench) part_ends=$((SECONDS + (ends - SECONDS) * 3 / 5)) ;;
  *) part_ends=$ends ;;
  esac
  "$part"
done
say "== $( ((failed)) && echo 'something failed' || echo 'nothing failed'), $SECONDS s"
exit "$failed"
