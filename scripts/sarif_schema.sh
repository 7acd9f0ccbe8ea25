#!/usr/bin/env bash
# OASIS's schema of SARIF 2.1.0 (errata 01), in build/, by its digest. Prints its path, for FNZ_SARIF_SCHEMA of the test
# tests/cli/sarif.py. Where GitHub is not reached, put the file there by hand.
set -euo pipefail
cd "$(dirname "$0")/.."

schema=$PWD/build/sarif-schema-2.1.0.json
commit=e0583813964ec43cea53b6b531b402866095ed1f
[ -e "$schema" ] ||
  curl --silent --show-error --fail --location --output "$schema" \
    "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/$commit/sarif-2.1/schema/sarif-schema-2.1.0.json"
echo "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e  $schema" | sha256sum --check --quiet >&2
echo "$schema"
