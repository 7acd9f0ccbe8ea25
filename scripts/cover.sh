#!/usr/bin/env bash
# Branch coverage of the quick tests: builds with clang's instrumentation in build-cover, runs the
# Check programs and the goldens, and the tests of the Python package, of which lines are counted;
# compares with the floor in tests/coverage.txt. Arguments go on to scripts/cover.py: --raise,
# --missing ROOM.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset cover > build-cover.log || { cat build-cover.log && exit 1; }
mv build-cover.log build-cover/
cmake --build build-cover
rm -rf build-cover/profiles
export LLVM_PROFILE_FILE=$PWD/build-cover/profiles/%2m.profraw FNZ_PROGRAMS=3000
# A profile per process is merged into those before it, which takes longer than most checks do, so
# that only tests that change folders or limits have a process for each check.
own='^(cli|malformed|places|save)_test$'
CK_FORK=no ctest --test-dir build-cover --output-on-failure -j "$(nproc)" \
  -R '_test$|^golden/|^fuzz/|^ops/' -E "$own"
ctest --test-dir build-cover --output-on-failure -R "$own"
rm -f build-cover/python.json
for ctypes in "" 1; do # with the compiled part of calls, and without
  FNZ_CTYPES=$ctypes FNZ_LIBRARY=$PWD/build-cover/libfnz.so PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 \
    python3 scripts/cover_python.py build-cover/python.json
done
scripts/cover.py "$@"
