#!/usr/bin/env bash
# Builds Debian's packages from what is committed, and with --test installs them in a fresh Debian 12: the command, a C
# program that is linked to each library, and the Python package are tried there, with no other -dev package than ours.
#
#     scripts/debian.sh [--test] [FOLDER]     FOLDER gets the packages (build/debian)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD test=0
if [ "${1:-}" = --test ]; then test=1 && shift; fi
folder=${1:-build/debian}

scripts/setup.sh build-essential debhelper dh-python dpkg-dev
rm -rf "$folder" && mkdir -p "$folder/fnz"
git archive HEAD | tar -x -C "$folder/fnz"
(cd "$folder/fnz" && dpkg-buildpackage --build=binary --unsigned-changes)
rm -rf "$folder/fnz"
ls -l "$folder"/*.deb
[ "$test" = 1 ] || exit 0

scripts/setup.sh mmdebstrap
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
mmdebstrap --variant=apt --include=gcc,libc6-dev,pkg-config,python3 bookworm "$fresh/root"
cp "$folder"/*.deb examples/walk.c examples/compute.c examples/example.h fixtures/pt2/kv_cache.pt2 "$fresh/root/tmp"
chroot "$fresh/root" /bin/bash -euxc '
  cd /tmp
  apt-get update # the lists are not part of what mmdebstrap leaves
  apt-get install --no-install-recommends -y ./*.deb
  [ "$(pkg-config --cflags fnz)" = "$(pkg-config --cflags fnz_core)" ]
  fnz --version
  fnz convert kv_cache.pt2 -o kv_cache.cbor --verify
  gcc walk.c -o walk $(pkg-config --cflags --libs fnz_core) && ./walk kv_cache.pt2 > walked
  gcc compute.c -o compute $(pkg-config --cflags --libs fnz) && ./compute > computed
  python3 -c "import fnz; print(fnz.load(\"kv_cache.pt2\").functionalize())" > printed
  apt-get purge -y fnz libfnz-dev && [ ! -e /usr/bin/fnz ]'
