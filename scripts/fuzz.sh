#!/usr/bin/env bash
# Looks for bytes that break a promise: scripts/fuzz.sh TARGET SECONDS [OPTION ...]. Starts from
# fixtures/fuzz/TARGET; what it finds lies in build-fuzz/found, what it learns in build-fuzz/corpus.
# A finding belongs in fixtures/fuzz/TARGET, under the name of what it was: tests replay it.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:?target, as in tests/fuzz/CMakeLists.txt} seconds=${2:?seconds}
shift 2
corpus=build-fuzz/corpus/$target found=build-fuzz/found/
mkdir -p "$corpus" "$found"

[ -f build-fuzz/build.ninja ] || cmake --preset fuzz
cmake --build build-fuzz --target "fuzz_$target"
"build-fuzz/tests/fuzz/fuzz_$target" "$corpus" "fixtures/fuzz/$target" \
  -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2500 -print_final_stats=1 -verbosity=0 \
  -artifact_prefix="$found$target-" "$@"
