#!/usr/bin/env python3
"""The bill of materials of fnz in SPDX 2.3, as JSON, from scripts/dependencies.tsv. Versions come from this system's Debian
packages, and are NOASSERTION without a package. fnz itself can be downloaded nowhere yet, which is NONE in SPDX.

    sbom.py VERSION OUT --linked LIBRARY ...  for an installation: the rows of libraries that these load, by ldd; all if ldd fails
    sbom.py VERSION OUT --with PACKAGE ...    for a wheel with the files of these Debian packages. A package without a row in
                                              the list is refused

The same input gives the same bytes: the date is SOURCE_DATE_EPOCH, or that of the newest commit, or 1970."""
import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
from urllib.parse import quote

HERE = os.path.dirname(os.path.abspath(__file__))


def said(*command):
    """Returns the output of a command; "" if it fails or is missing."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, cwd=HERE)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def rows():
    with open(os.path.join(HERE, "dependencies.tsv"), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]


def loaded(libraries):
    """Stems of the libraries that these need, without glibc's: zlib is "z". An empty set if ldd fails, as of another machine's."""
    text = said("ldd", *map(os.path.abspath, libraries)) if libraries else ""
    return {stem for stem in re.findall(r"^\s*lib([\w+-]+?)[-\d.]*[.]so\S* => /", text, re.M)} - {"c", "m", "dl", "pthread"}


def installed():
    """{Debian package: version}."""
    lines = said("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n").splitlines()
    return {name: version for status, name, version in (line.split() for line in lines) if status == "installed"}


def identity(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", name)


def package(name, version, licence, home, reference=None):
    made = {"SPDXID": identity(name), "name": name, "versionInfo": version, "downloadLocation": home, "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "supplier": "Organization: Debian" if reference else "NOASSERTION"}
    if home != "NONE":
        made["homepage"] = home
    if reference:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": reference}]
    return made


def upstream(version):
    return re.sub(r"(\+ds|\.dfsg)?(-[^-]*)?$", "", version.split(":")[-1])


def dependency(row, have, wanted, stems):
    """The package and the relationship of a row; None if a wheel does not have it, or no library loads it."""
    name, licence, home, debian, relation, stem = row
    if debian.startswith("- "):
        return package(name, debian[2:], licence, home), relation
    if stems and stem != "-" and stem not in stems:
        return None
    found = sorted((one for one in have if one.startswith(debian)), key=lambda one: (one.endswith("-dev"), one))
    if wanted is not None and relation == "DEPENDS_ON":
        found = [one for one in found if one in wanted]
        if not found:
            return None
    relation = "CONTAINS" if wanted is not None and relation == "DEPENDS_ON" else relation
    if not found:
        return package(name, "NOASSERTION", licence, home), relation
    return package(name, upstream(have[found[0]]), licence, home, f"pkg:deb/debian/{found[0]}@{quote(have[found[0]])}"), relation


def document(version, wanted, stems):
    have, table = installed(), rows()
    unknown = [one for one in wanted or () if not any(one.startswith(row[3]) for row in table)]
    if unknown:
        sys.exit(f"sbom: scripts/dependencies.tsv has no row for {', '.join(unknown)}: add one with its licence")
    packages, relations = [package("fnz", version, "BSD-3-Clause", "NONE")], []
    for row in table:
        made = dependency(row, have, wanted, stems)
        if made is None or (wanted is not None and made[1] == "OPTIONAL_DEPENDENCY_OF"):
            continue
        packages.append(made[0])
        ends = [identity("fnz"), made[0]["SPDXID"]]
        first, second = reversed(ends) if made[1].endswith("_OF") else ends
        relations.append({"spdxElementId": first, "relationshipType": made[1], "relatedSpdxElement": second})
    relations.insert(0, {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                         "relatedSpdxElement": identity("fnz")})
    date = int(os.environ.get("SOURCE_DATE_EPOCH") or said("git", "log", "-1", "--format=%ct") or 0)
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()[:16]
    created = datetime.datetime.fromtimestamp(date, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"fnz-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/fnz-{version}-{digest}",
            "creationInfo": {"created": created, "creators": [f"Tool: fnz-sbom-{version}"]},
            "packages": packages, "relationships": relations}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("version")
    parser.add_argument("out")
    parser.add_argument("--with", dest="wanted", nargs="*", default=None)
    parser.add_argument("--linked", nargs="*", default=[])
    given = parser.parse_args()
    with open(given.out, "w", encoding="utf-8") as file:
        json.dump(document(given.version, given.wanted, loaded(given.linked)), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
