#!/usr/bin/env bash
# Builds fnz for aarch64 with Debian's cross compiler, and runs tests of rows, the engine and formats by qemu-user.
#
#     scripts/aarch64.sh [CTEST OPTION ...]     options in place of the choice of tests
#
# build-aarch64/root gets Debian's arm64 libraries (FNZ_AARCH64_ROOT: another folder that has them); nothing of them is
# installed, for this machine's own may be of versions that have no arm64 beside them. Where build/ is a build for
# x86-64, what rows compute is held against it: bits are the same but in rows that tests/kernels/aarch64.txt names.
set -euo pipefail
cd "$(dirname "$0")/.."

root=${FNZ_AARCH64_ROOT:-$PWD/build-aarch64/root}
libraries=(libc6-dev libstdc++-12-dev zlib1g-dev libzip-dev libsimdjson-dev libcbor-dev uthash-dev check
           libopenblas-dev libdnnl-dev libsleef-dev libyaml-dev)
rows='arithmetic|convert_rows|elements|kernels(_[a-z]+)?|point_[a-z]+|reference|rows|variants'
engine='engine(_operators)?|plan(_random)?|state'
formats='cbor|content|json|mlir|pt2(_[a-z]+)?|safetensors|save|text|zip'
chosen="^($rows|$engine|$formats)_test$"

# An apt of its own, with no package installed, finds all that the libraries need. What links say from the root of the
# file system on, they are to say from that folder on.
fetch() {
  local state=$root.apt archive apt link target
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$root"
  : > "$state/status"
  apt=(apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$state"
       -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache")
  "${apt[@]}" update
  "${apt[@]}" install -y --download-only --no-install-recommends "${libraries[@]}"
  for archive in "$state"/cache/archives/*.deb; do
    dpkg -x "$archive" "$root"
  done
  find "$root" -type l -lname '/*' | while read -r link; do
    target=$root$(readlink "$link")
    [ ! -e "$target" ] || ln -sfr "$target" "$link"
  done
}

# Rows that compute something else than on this machine, but those that are excused.
hold_rows() {
  [ -f build/build.ninja ] || { echo "SKIPPED: rows against x86-64, for want of build/" && return; }
  cmake --build build --target point_digest
  build/tests/point_digest > build-aarch64/rows.want
  "${emulate[@]}" build-aarch64/tests/point_digest > build-aarch64/rows
  python3 tests/kernels/aarch64.py build-aarch64/rows.want build-aarch64/rows tests/kernels/aarch64.txt
}

scripts/setup.sh gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user
[ -e "$root/usr/include/aarch64-linux-gnu/sleef.h" ] || fetch
export FNZ_AARCH64_ROOT=$root
libs=$root/usr/lib/aarch64-linux-gnu
emulate=(qemu-aarch64 -L "$root" -E "LD_LIBRARY_PATH=$libs:$libs/openblas-pthread")

cmake --preset release -B build-aarch64 -DCMAKE_TOOLCHAIN_FILE=scripts/aarch64.cmake
mapfile -t targets < <(cd tests && ls ./*/*_test.c | sed 's|.*/||; s|[.]c$||' | grep -E "$chosen")
cmake --build build-aarch64 --target "${targets[@]}" point_digest
(($#)) || set -- -R "$chosen"
ctest --test-dir build-aarch64 --output-on-failure -j "$(nproc)" --no-tests=error "$@"
hold_rows
