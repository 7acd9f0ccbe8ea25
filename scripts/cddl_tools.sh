#!/usr/bin/env bash
# A Python with the two CDDL tools of tests/cddl/validate.py, in build-cddl/: from PyPI, in fixed versions.
set -euo pipefail
cd "$(dirname "$0")/.."

python3 -m venv build-cddl
build-cddl/bin/pip install --quiet --disable-pip-version-check -r tests/cddl/requirements.txt
