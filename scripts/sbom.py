#!/usr/bin/env python3
"""Prints a software bill of materials (CycloneDX 1.5) from `cargo metadata`: what is compiled into the program."""

import json

from dependencies import metadata


def bill(found: dict) -> dict:
    """The crates that `fedweave-cli` needs to run, by the graph that Cargo resolved."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    packages = {package["id"]: package for package in found["packages"]}
    root = next(key for key, package in packages.items() if package["name"] == "fedweave-cli")
    seen, todo = set(), [root]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            normal = [d["pkg"] for d in nodes[here]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
            todo.extend(normal)
    parts = sorted((packages[key] for key in seen - {root}), key=lambda package: (package["name"], package["version"]))
    program = {"type": "application", "name": "fedweave", "version": packages[root]["version"]}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": program},
            "components": [component(package) for package in parts]}  # fmt: skip


def component(package: dict) -> dict:
    name, version = package["name"], package["version"]
    licence = (package["license"] or "none").replace("/", " OR ")
    return {"type": "library", "name": name, "version": version, "purl": f"pkg:cargo/{name}@{version}",
            "licenses": [{"expression": licence}]}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(bill(metadata()), indent=1))
