#!/usr/bin/env bash
# What the command does when something below it fails.
#
#     scripts/faults.sh memory all [DIR ...]   each allocation of each verb fails, on all programs of
#                                              fixtures/ and DIRs
#     scripts/faults.sh memory sample [SEED]   all of a few programs, some of the others; SEED says
#                                              which: the day when none is given
#     scripts/faults.sh calls all|sample [SEED]   each system call of each verb fails, does less than
#                                              it should, or is the last one; needs strace
#     scripts/faults.sh kills N [SEED]         the command is killed N times, at any moment
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
  local in=$1 inputs=$2 state=${1%.*}.state.safetensors
  printf '%s\n' "o.cbor convert $in -o o.cbor --verify --sync" "o.pt2 convert $in -o o.pt2 --json" \
    "o.fnz convert $in -o o.fnz --views strided --state epilogue" \
    "o.fnz convert $in -o o.fnz --views keep --deny bernoulli_,zero_" \
    "o.dot draw $in -o o.dot --functional" "o.none show $in" "o.none stats $in --json" \
    "o.none verify $in --trials 1" "o.none lint $in --json" "o.none lint $in --sarif" \
    "o.none explain $in" "o.none explain $in --json" "o.none explain $in --text" "o.none lint $in --text" "o.none diff $in $in --json" \
    "o.none hash $in --structure" "o.mlir convert $in -o o.mlir" \
    "o.mlir convert $in --to mlir --weights inline --state globals -o o.mlir" \
    "o.cbor convert $in --decompose core -o o.cbor" "o.none explain $in --decompose prims" \
    "o.none explain $in --plan" "o.none explain $in --plan --json" \
    "o.html view $in -o o.html"
  [ -z "$inputs" ] ||
    printf '%s\n' "o.st run $in --inputs $inputs --outputs o.st --threads 1" \
      "o.none run $in --inputs $inputs --original --threads 1" \
      "o.none verify $in --inputs $inputs --trials 1" \
      "o.st run $in --inputs $inputs --steps 3 --save-state o.st --threads 1" \
      "o.none bench $in --inputs $inputs --rounds 2 --threads 1" \
      "o.none bench $in --inputs $inputs --rounds 2 --threads 1 --against interpreter"
  [ ! -f "$state" ] ||
    printf '%s\n' "o.st run $in --inputs $inputs --state $state --save-state o.st --threads 1" \
      "o.st run $in --inputs $inputs --state $state --steps 2 --outputs o.st --threads 1"
}

# Calls that need no program, or one of custom operators.
other_calls() {
  local native=$root/fixtures/native custom=$root/fixtures/custom
  printf '%s\n' "o.none fuzz --count 3" "o.none ops add_.Tensor" "o.none ops sub*" \
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

# Those whose tensors are small.
programs() {
  find "$root/fixtures/pt2" "$@" -name '*.pt2' -size -100k | sort
  find "$root/fixtures" -name '*.fnz' -size -20k ! -name '*_too_large_*' | sort
}

# One call in a folder of its own: sweep_memory STEP BEGIN OUTPUT ARGS...
sweep_memory() {
  local folder step=$1 begin=$2 result=0
  shift 2
  folder=$(mktemp -d) && cd "$folder"
  "$build/tests/faults/${FNZ_SWEEP:-memory_sweep}" -s "$step" -b "$begin" "$@" 2>said || result=$?
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

# All of two programs; of the others every 61st call, and there every 15th allocation; of slow builds half
# as many calls, of sanitized ones an eighth.
sample_memory() {
  local seed=$1 program kv=$root/fixtures/pt2/kv_cache sparse=${FNZ_SPARSE:-1} apart=61
  ((sparse < 16)) || apart=127
  ((sparse < 1000)) || apart=487
  {
    other_calls
    calls_on "$root/fixtures/cli/slice_write.fnz" "$root/fixtures/cli/x.safetensors"
    calls_on "$kv.pt2" "$kv.inputs.safetensors" | sed -n 1p
  } | sed "s/^/$sparse $((1 + seed % sparse)) /"
  programs | while read -r program; do
    calls_on "$program" "$(inputs_of "$program")"
  done | awk -v seed="$seed" -v step=$((15 * sparse)) -v apart=$apart \
    'NR % apart == seed % apart { print step " " 1 + seed % step " " $0 }'
}

# For memory_sweep_all, where also fails what libraries ask of malloc: those that read YAML, multiply
# matrices, draw, and libc.
sample_libraries() {
  local seed=$1 kv=$root/fixtures/pt2/kv_cache step=${FNZ_SPARSE:-1}
  step=$((step > 5 ? step : 5))
  [ -x "$build/tests/faults/memory_sweep_all" ] || return 0
  {
    other_calls
    calls_on "$kv.pt2" "$kv.inputs.safetensors" | grep -E ' run .*--outputs | draw '
  } | sed "s/^/$step $((1 + seed % step)) /"
}

# --- system calls --------------------------------------------------------------------------------
# "NAME N" of each system call that the command makes after the loader and the libraries are done:
# the first thing it does is to ignore SIGPIPE. Not those that cannot fail, nor brk, which libc's
# malloc does not survive; memory has a sweep of its own. An mprotect that fails is a thread that
# cannot start. Behind those that write the output, which begins with a look at what is there, stands
# "writes".
sites() {
  awk '/^[a-z_0-9]+\(/ {
         name = $0; sub(/\(.*/, "", name); n[name]++
         if (/AT_SYMLINK_NOFOLLOW/) writes = " writes"
         if (on && name !~ /^(exit_group|futex|brk|munmap|clone3?|rt_sig.*|set_.*|getpid|madvise)$/)
           print name, n[name] writes
         if (/SIGPIPE/) on = 1
       }' trace
}

# What may happen to a call: it is not made and gives this error or number, or it is the last one.
faults_of() {
  case $1 in
  read) echo error=EIO error=EINTR retval=0 ;;
  write) echo error=EIO error=ENOSPC error=EDQUOT error=EINTR retval=0 ;;
  openat) echo error=EIO error=EMFILE error=EINTR error=ENOSPC ;;
  fsync | close) echo error=EIO error=ENOSPC error=EINTR ;;
  linkat | rename) echo error=EIO error=ENOSPC error=EDQUOT ;;
  mmap | mremap) echo error=ENOMEM ;;
  *) echo error=EIO ;;
  esac
  echo signal=KILL
}

# The text that a call printed, without times.
untimed() {
  sed '/_ms"\|ms   \|peak_bytes\|bytes at one time\|[0-9] us\( \|$\|,\)\|^ratio/d' "$1"
}

# After a call of the command: is OUTPUT as it was or whole, is the exit code true, is nothing left?
# $1 the exit code, $2 OUTPUT, $3 the call that was last, if it was killed.
judge() {
  local code=$1 output=$2 last=$3 whole=no same=no
  cmp -s "$output" want && whole=yes
  [ -e "$output" ] || { [ -e want ] || whole=yes; }
  if [ -e before ]; then cmp -s "$output" before && same=yes; else [ -e "$output" ] || same=yes; fi
  local left
  left=$(find . -name "$output.*" | wc -l)
  case $code in
  "$(cat want.code)") [ $whole = yes ] && [ "$(untimed out)" = "$(untimed want.out)" ] && [ "$left" = 0 ] ;;
  3 | 4) [ $whole = yes ] || [ $same = yes ] && [ "$left" = 0 ] && grep -qE '^fnz: (IO|NOMEM): ' err ;;
  137)
    # Between two calls the new file has a name beside the target, and always if there are no
    # files without one. Two new files that belong together both have one before either is renamed.
    { [ $whole = yes ] || [ $same = yes ]; } &&
      { [ "$left" = 0 ] || [[ $last = rename || $last = linkat || $last = any ]] ||
        grep -q 'O_TMPFILE.* = -1' trace || [ "$(grep -c '^rename(' trace)" -gt 1 ]; }
    ;;
  *) false ;;
  esac
}

# A run without faults, and what it leaves: want, want.out, want.code.
undisturbed() {
  local output=$1
  shift
  local code=0
  strace -o trace "$build/fnz" "$@" >want.out 2>err || code=$?
  echo "$code" >want.code
  [ ! -e "$output" ] || mv "$output" want
}

sweep_calls() {
  local folder step=$1 begin=$2 output=$3 count=0 at=0 bad=0 name n writes fault code
  shift 3
  folder=$(mktemp -d) && cd "$folder"
  undisturbed "$output" "$@"
  while read -r name n writes; do
    for fault in $(faults_of "$name"); do
      at=$((at + 1))
      [ -n "$writes" ] || ((at % step == begin % step)) || continue
      rm -f "$output"* before
      [ ! -e want ] || ((count % 2)) || { echo precious >before && cp before "$output"; }
      code=0
      strace -o /dev/null -e trace="$name" -e inject="$name:$fault:when=$n" \
        "$build/fnz" "$@" >out 2>err || code=$?
      judge "$code" "$output" "$name" || {
        echo "FAULT: exit $code: $name $n $fault: $*: $(head -n 1 err)"
        bad=1
      }
      count=$((count + 1))
    done
  done < <(sites)
  echo "calls $output $* $count"
  cd / && rm -rf "$folder"
  return $bad
} 2>/dev/null

# --- kills -----------------------------------------------------------------------------------------
# $1 times, at moments from just before the first to just after the last of a run's own.
sweep_kills() {
  local times=$1 seed=$2 folder i bad=0 left=0 killed=0 pid code in=$root/fixtures/pt2/batchnorm_train.pt2
  folder=$(mktemp -d) && cd "$folder"
  undisturbed o.cbor convert "$in" -o o.cbor
  RANDOM=$seed
  for ((i = 0; i < times; i++)); do
    rm -f o.cbor* before
    ((i % 2)) || { echo precious >before && cp before o.cbor; }
    code=0
    "$build/fnz" convert "$in" -o o.cbor >out 2>err &
    pid=$!
    sleep "0.0$(printf '%03d' $((RANDOM % 400)))"
    kill -9 $pid || true
    wait $pid || code=$?
    judge $code o.cbor any || { echo "FAULT: exit $code after kill $i" && bad=1; }
    ((code != 137)) || killed=$((killed + 1))
    left=$((left + $(find . -name 'o.cbor.*' | wc -l)))
  done
  echo "killed $killed of $times, $left files left beside the target"
  cd / && rm -rf "$folder"
  return $bad
} 2>/dev/null

# Lines of standard input that are not done yet, as many at a time as there are cores.
run_jobs() {
  export -f sweep_memory sweep_calls undisturbed sites faults_of judge untimed
  export build root
  xargs -r -P "${FNZ_JOBS:-$(nproc)}" -L 1 bash -c '"$0" "$@" || exit 1' "$1"
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
    {
      sample_memory "$seed" | run_jobs sweep_memory
      sample_libraries "$seed" | FNZ_SWEEP=memory_sweep_all run_jobs sweep_memory
    } |
      awk '/^memory/ { n += $NF } /FAULT/ { print; bad = 1 } END { print n " allocations failed"; exit bad }'
    ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && return 64 ;;
  esac
}

# Every verb on two programs, one with weights; of a sample every 24th fault, and each of those that
# meet the output.
calls() {
  local seed=${2:-$(($(date +%s) / 86400))} step=1 kv=$root/fixtures/pt2/kv_cache bad=0
  [ "${1:-}" = all ] || step=24
  echo "seed $seed"
  {
    other_calls
    calls_on "$root/fixtures/cli/slice_write.fnz" "$root/fixtures/cli/x.safetensors"
    calls_on "$kv.pt2" "$kv.inputs.safetensors"
  } | sed "s/^/$step $seed /" | run_jobs sweep_calls |
    awk '/^calls/ { n += $NF } /FAULT/ { print; bad = 1 } END { print n " faults"; exit bad }'
}

case ${1:-} in
memory) "$@" ;;
calls | kills)
  strace -o /dev/null true || { echo "strace cannot trace here" && exit 77; }
  ;;&
calls) "$@" ;;
kills) sweep_kills "${2:-100}" "${3:-$(($(date +%s) / 86400))}" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 64 ;;
esac
