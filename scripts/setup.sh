#!/usr/bin/env bash
# Everything from a fresh Debian 12 to a result: installs what is missing, builds a release in build/,
# then converts, shows, checks and runs a real model.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(ninja-build cmake g++ pkg-config check zlib1g-dev libzip-dev libsimdjson-dev libcbor-dev uthash-dev
          libopenblas-dev libdnnl-dev libsleef-dev libyaml-dev graphviz python3-dev)

# Prints each package of the list that is not installed.
missing() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] ||
      echo "$package"
  done
}

# Installs what is missing, as root or with sudo.
install() {
  local wanted as_root=()
  mapfile -t wanted < <(missing "$@")
  ((${#wanted[@]})) || return 0
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${wanted[@]}"
}

build() {
  cmake --preset release
  cmake --build build
}

say() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# The operators of a program, without notes on where they come from.
body() {
  sed -n '/^{/,/^}/p' | sed 's/  at .*//; s/  meta .*//' | cut -c 1-120
}

demo() {
  local model=fixtures/pt2/kv_cache.pt2 inputs=fixtures/pt2/kv_cache.inputs.safetensors
  local fnz=build/fnz out=build/demo
  mkdir -p "$out"
  printf '\nBefore, %s:\n' "$model"
  "$fnz" show "$model" | body
  printf '\nAfter:\n'
  "$fnz" show --functional "$model" | body
  say "$fnz" convert "$model" -o "$out/kv_cache.cbor" --verify --verbose
  say "$fnz" verify "$model" "$out/kv_cache.cbor"
  say "$fnz" run "$out/kv_cache.cbor" --inputs "$inputs"
  printf '\nDone: the command is %s, the functional program %s.\n' "$fnz" "$out/kv_cache.cbor"
}

# With package names as arguments these are installed as well, and nothing is built.
if (($#)); then
  install "${packages[@]}" "$@"
else
  install "${packages[@]}"
  build
  demo
fi
