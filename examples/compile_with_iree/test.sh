#!/usr/bin/env bash
# The three commands of README.md: test.sh FNZ [PYTHON]. PYTHON is one that has IREE. 77: only the first one was run.
set -euo pipefail
fnz=$(realpath "$1")
python=${2:-${FNZ_IREE_PYTHON:-python3}}
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$fnz" convert decoder/program.pt2 -o "$out/decoder.mlir" --state globals
grep -q 'util.global private mutable @"keys" = #flow.parameter.named<"model"::"keys"> : tensor<2x16x4xf32>' "$out/decoder.mlir"
grep -q 'util.global.store' "$out/decoder.mlir"
test -s "$out/decoder.safetensors"

compiler=$(dirname "$(command -v "$python")")/iree-compile
[ -x "$compiler" ] || compiler=$(command -v iree-compile || true)
if [ -z "$compiler" ] || ! "$python" -c 'import iree.runtime' 2>/dev/null; then
  echo "SKIPPED: iree-compile and decode.py; pip install iree-base-compiler iree-base-runtime"
  exit 77
fi
"$compiler" "$out/decoder.mlir" -o "$out/decoder.vmfb" --iree-input-type=torch --iree-hal-target-device=local \
  --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host
"$python" decode.py "$out/decoder.vmfb" "$out/decoder.safetensors" decoder
