#!/usr/bin/env python3
"""Checks what is compiled into Fedweave: licences, several versions of one crate, and where crates come from.

    scripts/dependencies.py            complains and exits with 1 if something is not on the lists below
    scripts/dependencies.py --list     also prints every crate with its licence

Reads `cargo metadata` for this machine's platform; asks nobody else. See docs/decisions/dependency-checks.md.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict

# Licences under which a crate may be part of the program.
LICENCES = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT",
    "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip
# Crates that may be there although their licence is not above: (crate, licence), with the reason.
EXCEPTIONS = {
    ("webpki-roots", "CDLA-Permissive-2.0"): "a list of certificates, which are data",
    ("option-ext", "MPL-2.0"): "used unchanged; asks only that changes to its own files stay open",
}
# Crates of which several versions are compiled, and because of whom.
DUPLICATES = {
    "equator": "faer",
    "equator-macro": "faer",
    "getrandom": "ring, ahash and rand",
    "num-bigint": "der-parser and parquet",
    "syn": "macros of many",
    "winnow": "toml",
}
# Where crates may come from: a registry, and no other address.
SOURCE = "registry+"


def metadata() -> dict:
    """What Cargo knows about the packages of this platform, with the optional parts switched on."""
    about = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.search(r"^host: (.+)$", about, re.M)[1]
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host]
    command += ["--features", "fedweave-py/python"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def allowed(licence: str, names: set[str]) -> bool:
    """Is a licence expression satisfied by the licences in `names`? One of those joined by OR, all of those joined by AND."""
    words = re.findall(r"\(|\)|[^\s()]+", licence.replace("/", " OR "))
    text = " ".join(words).replace("Apache-2.0 WITH LLVM-exception", "Apache-2.0_WITH_LLVM-exception")
    known = {name.replace(" ", "_") for name in names}
    logic = {"OR": "or", "AND": "and", "(": "(", ")": ")"}
    return bool(eval(" ".join(logic.get(word, str(word in known)) for word in text.split())))


def complaints(packages: list[dict]) -> list[str]:
    found = []
    versions = defaultdict(set)
    for package in packages:
        name, licence = package["name"], package["license"] or "none"
        versions[name].add(package["version"])
        if package["source"] is None:
            continue  # ours
        if not package["source"].startswith(SOURCE):
            found.append(f"{name}: comes from {package['source']}, not from the registry")
        exception = {told for crate, told in EXCEPTIONS if crate == name}
        if not allowed(licence, LICENCES | exception):
            found.append(f"{name} {package['version']}: licence {licence} is not on the list of scripts/dependencies.py")
    for name, several in sorted(versions.items()):
        if len(several) > 1 and name not in DUPLICATES:
            found.append(f"{name}: several versions, {', '.join(sorted(several))}")
    return found


def main() -> int:
    everything = metadata()
    used = {node["id"] for node in everything["resolve"]["nodes"]}
    packages = [package for package in everything["packages"] if package["id"] in used]
    if "--list" in sys.argv[1:]:
        for package in sorted(packages, key=lambda p: (p["name"], p["version"])):
            print(package["name"], package["version"], package["license"])
    found = complaints(packages)
    for complaint in found:
        print(complaint, file=sys.stderr)
    if not found:
        print(f"{len(packages)} crates: licences, versions and sources as listed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
