#!/usr/bin/env bash
# cuBLASLt and cuDNN from PyPI, in fixed versions, without their dependencies, in build-cuda-libraries/ (1.6 GB). Prints
# their folders, for LD_LIBRARY_PATH: tests/cuda/real_library_test.c then opens them, which needs no GPU.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! [ -e build-cuda-libraries/nvidia ]; then
  python3 -m venv build-cuda-libraries
  build-cuda-libraries/bin/pip install --quiet --disable-pip-version-check --no-deps \
    --target build-cuda-libraries nvidia-cublas==13.10.0.20 nvidia-cudnn-cu13==9.28.1.4 >&2
fi
find "$PWD/build-cuda-libraries" \( -name 'libcublasLt.so.1[23]' -o -name 'libcudnn.so.9' \) -printf '%h:' | sed 's/:$/\n/'
