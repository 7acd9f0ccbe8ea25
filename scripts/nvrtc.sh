#!/usr/bin/env bash
# CUDA's compiler at run time, in build-nvrtc/: from PyPI, in a fixed version, without its dependencies. Prints the
# folder of the library, for LD_LIBRARY_PATH: tests/cuda/text_test.c then compiles kernels, which needs no GPU.
set -euo pipefail
cd "$(dirname "$0")/.."

version=13.0.88
if ! [ -e build-nvrtc/nvidia ]; then
  python3 -m venv build-nvrtc
  build-nvrtc/bin/pip install --quiet --disable-pip-version-check --no-deps \
    --target build-nvrtc "nvidia-cuda-nvrtc==$version" >&2
fi
dirname "$(find "$PWD/build-nvrtc" -name 'libnvrtc.so.1[23]' | head -n 1)"
