"""Shared by the scripts of this folder: the program, random networks, comparing results."""

import csv
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("FEDWEAVE", ROOT / "target/release/fedweave"))


def fedweave(*args, check=True, timeout=600):
    """Runs the program; its completed process."""
    words = [str(PROGRAM), *map(str, args)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    if check and done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def network(folder, seed, nodes=24, dim=4, rows=6, degree=3):
    """A connected random network with weights; writes nodes.csv and edges.csv."""
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    names = [f"n{draw.randrange(10**6):06d}-{k}" for k in range(nodes)]
    with open(folder / "nodes.csv", "w") as out:
        out.write("node," + ",".join(f"x{j}" for j in range(dim)) + ",y\n")
        for k, name in enumerate(names):
            w = [(-1) ** (k * 2 // nodes) * (j + 1.0) for j in range(dim)]
            # Some nodes learn from their neighbours alone.
            for _ in range(0 if k % 11 == 5 else draw.randint(1, rows)):
                x = [draw.gauss(0, 1) for _ in range(dim)]
                y = sum(a * b for a, b in zip(w, x)) + draw.gauss(0, 0.1)
                out.write(f"{name}," + ",".join(repr(v) for v in x) + f",{y!r}\n")
    edges = {(k - 1 - draw.randrange(min(k, 4)), k) for k in range(1, nodes)}
    while len(edges) < nodes * degree // 2:
        i, j = sorted(draw.sample(range(nodes), 2))
        edges.add((i, j))
    with open(folder / "edges.csv", "w") as out:
        out.write("source,target,weight\n")
        for i, j in sorted(edges):
            out.write(f"{names[i]},{names[j]},{draw.choice([0.5, 1, 2, 0.3])}\n")
    return folder


def parameters(path):
    """parameters.csv as a dictionary of lists."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    return {row[0]: [float(v) for v in row[1:]] for row in rows[1:]}


def difference(a, b):
    """The largest difference between two results, relative to the size of their numbers."""
    if a.keys() != b.keys():
        return float("inf")
    pairs = [(x, y) for name in a for x, y in zip(a[name], b[name])]
    scale = max(1.0, max(abs(x) for x, _ in pairs))
    return max(abs(x - y) for x, y in pairs) / scale
