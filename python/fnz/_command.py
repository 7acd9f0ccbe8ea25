"""The command `fnz` of a wheel that holds it: this process becomes the program that is in the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).resolve().parent / "bin" / "fnz"
    os.execv(program, ["fnz", *sys.argv[1:]])
