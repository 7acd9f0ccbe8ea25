#!/usr/bin/env python3
"""The version is the same wherever it is written, and the bill of materials has it and every library that is linked.

    version.py ROOT MATERIALS LIBRARY ...     MATERIALS: a fnz.spdx.json; LIBRARY: a file for `ldd`"""
import json
import pathlib
import re
import subprocess
import sys

WHERE = {
    "CMakeLists.txt": r"project\(fnz VERSION (\S+)",
    "python/fnz/_library.py": r'VERSION = "(\S+)"',
    "docs/fnz.1": r'"fnz (\S+)"',
    "debian/changelog": r"fnz \((\S+)\)",
    "CHANGELOG.md": r"## (\d\S+)",
}


def written(root):
    """{where: version}."""
    found = {name: re.search(pattern, (root / name).read_text()).group(1) for name, pattern in WHERE.items()}
    header = (root / "include/fnz/api.h").read_text()
    found["include/fnz/api.h"] = ".".join(re.findall(r"#define FNZ_VERSION_\w+ (\d+)", header))
    return found


def linked(libraries):
    """Stems of the libraries that these need, without glibc's: zlib is "z"."""
    text = subprocess.run(["ldd", *libraries], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {stem for stem in re.findall(r"^\s*lib([\w+-]+?)[-\d.]*[.]so\S* => /", text, re.M)} - {"c", "m", "dl", "pthread"}


def main(root, materials, *libraries):
    found = written(pathlib.Path(root))
    bill = json.loads(pathlib.Path(materials).read_text())
    found["the bill of materials"] = bill["packages"][0]["versionInfo"]
    errors = []
    if len(set(found.values())) != 1:
        errors.append(f"the version differs: {found}")
    names = [re.sub("^lib", "", one["name"].lower()) for one in bill["packages"]]
    spelt = {"z": "zlib", "dnnl": "onednn", "gcc_s": "gcc", "OpenCL": "ocl-icd", "fnz_core": "fnz", "fnz": "fnz"}
    errors += [f"scripts/dependencies.tsv has no row for lib{stem}" for stem in sorted(linked(libraries))
               if spelt.get(stem, stem).lower() not in names]
    print("\n".join(errors) or f"{found['CMakeLists.txt']}, {len(names)} packages")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
