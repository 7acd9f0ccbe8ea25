#!/usr/bin/env bash
# A build for another machine, on which scripts/gpu.sh then runs: command, device tests, bench and the shared libraries
# that they need, without those of the C library; fixtures that tests read; no sources.
#
#     scripts/gpu_pack.sh FILE.tar.xz [BUILD] [--standin]
#
# There: tar -xJf FILE.tar.xz && fnz-gpu/scripts/gpu.sh. With --standin the stand-in for a GPU goes along, to try it.
set -euo pipefail
cd "$(dirname "$0")/.."
file=$(realpath -m "${1:?where to}") build=build standin=''
for word in "${@:2}"; do
  case $word in --standin) standin=1 ;; *) build=$word ;; esac
done
tests=(ways rows values sizes device random draws library recorded values_random groups order formulas flat bounds blocks
  given graph sets dlpack told threads fails)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
to=$work/fnz-gpu
mkdir -p "$to"/{bin,lib,more,bench/engine,scripts,docs,fixtures/mlir}

targets=(fnz bench_device)
binaries=("$build/fnz" "$build/bench/bench_device")
for name in "${tests[@]}"; do
  targets+=("cuda_${name}_test")
  binaries+=("$build/tests/cuda/cuda_${name}_test")
done
cmake --build "$build" --target "${targets[@]}" > /dev/null
for binary in "${binaries[@]}"; do strip -o "$to/bin/$(basename "$binary")" "$binary"; done

# Of the compiler's own libraries the machine may have newer ones.
ldd "${binaries[@]}" | awk '/=> \//{print $1, $3}' | sort -u | while read -r name path; do
  case $name in
  libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux*) ;;
  libstdc++.so.* | libgcc_s.so.* | libgomp.so.*) cp -L "$path" "$to/more/$name" ;;
  *) cp -L "$path" "$to/lib/$name" ;;
  esac
done
strip --strip-unneeded "$to"/{lib,more}/*

cp scripts/gpu.sh "$to/scripts/"
cp bench/engine/{device.py,device_programs.h,programs.py} "$to/bench/engine/"
cp docs/gpu.md "$to/docs/"
cp -r fixtures/{torch,vmap,functionalize,regions,state,pt2,why,decode,variants,made} "$to/fixtures/"
cp -r fixtures/mlir/cases "$to/fixtures/mlir/"
mkdir -p "$to/fixtures/random" && cp fixtures/random/philox.* "$to/fixtures/random/"
if [ "$standin" ]; then
  mkdir -p "$to/tests/cuda"
  cp tests/cuda/shim.h "$to/tests/cuda/"
  cp -rL "$build"/tests/cuda/{standin,standin_libraries} "$to/"
  rm -rf "$to"/standin/{kept,rows}
fi
mkdir -p "$(dirname "$file")"
tar -C "$work" -c fnz-gpu | xz --lzma2=preset=2,dict=192MiB > "$file" # most of the tests is the same
printf '%s: %s MB, unpacked %s MB\n' "$file" "$(($(stat -c %s "$file") / 1000000))" "$(du -sm "$to" | cut -f 1)"
