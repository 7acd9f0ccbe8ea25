#!/usr/bin/env python3
"""The version is the same wherever it is written, and the bill of materials has it and exactly the libraries that are linked.

    version.py ROOT MATERIALS LIBRARY ...     MATERIALS: a fnz.spdx.json; LIBRARY: a file for `ldd`"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import sbom

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


def main(root, materials, *libraries):
    found = written(pathlib.Path(root))
    bill = json.loads(pathlib.Path(materials).read_text())
    found["the bill of materials"] = bill["packages"][0]["versionInfo"]
    errors = []
    if len(set(found.values())) != 1:
        errors.append(f"the version differs: {found}")
    names = {one["name"] for one in bill["packages"]}
    needed = sbom.loaded(libraries) - {"fnz", "fnz_core"}
    known = {row[5]: row[0] for row in sbom.rows()}
    errors += [f"scripts/dependencies.tsv has no row for lib{stem}" for stem in sorted(needed - set(known))]
    errors += [f"the bill of materials lacks {known[stem]}" for stem in sorted(needed & set(known)) if known[stem] not in names]
    errors += [f"the bill of materials has {name}, which {' and '.join(libraries)} do not load"
               for stem, name in known.items() if stem != "-" and stem not in needed and name in names]
    print("\n".join(errors) or f"{found['CMakeLists.txt']}, {len(names)} packages")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
