#!/usr/bin/env bash
# All tests of the release build; scripts/setup.sh makes that build. Arguments go on to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset release
cmake --build build
ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
