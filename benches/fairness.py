"""For whom models work, before and after evening out groups, on two public tables; the figures of docs/guide/fairness.md.

    python3 benches/fairness.py chem97 FOLDER       A-level chemistry: students of schools, by gender
    python3 benches/fairness.py parkinsons FOLDER   telemonitoring of patients, by sex

FOLDER holds `data.csv.gz`: of `Chem97` in the R package mlmRev (columns node, lea, gender, age, gcsescore, score), or of "Parkinsons
Telemonitoring" of the UCI repository (node, age, sex, test_time, motor_UPDRS, total_UPDRS, then 16 voice measures). Neither ships with
Fedweave. FEDWEAVE names the program (default: target/release/fedweave). Standard library only.
"""

import csv
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

PROGRAM = Path(os.environ.get("FEDWEAVE", Path(__file__).parents[1] / "target" / "release" / "fedweave")).resolve()
STUDENTS_MIN = 6
REACH = 3
SMALLEST = 1e-6


def rows_of(folder):
    """The table of a folder, a dictionary per row."""
    with gzip.open(Path(folder) / "data.csv.gz", "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, header, rows):
    """A table."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def chem97(folder, work):
    """Schools with at least six students; those of an authority form a ring, each joined with the three that follow."""
    schools, authority = defaultdict(list), defaultdict(set)
    for row in rows_of(folder):
        schools[row["node"]].append(row)
    kept = {node: rows for node, rows in schools.items() if len(rows) >= STUDENTS_MIN}
    gender = {"F": -1, "M": 1}
    table = [[n, r["gcsescore"], gender[r["gender"]], r["age"], r["score"]] for n, rows in kept.items() for r in rows]
    write(work / "nodes.csv", ["node", "gcsescore", "gender", "age", "score"], table)
    for node, rows in kept.items():
        authority[rows[0]["lea"]].add(node)
    edges = set()
    for nodes in authority.values():
        ring = sorted(nodes, key=int)
        for place, node in enumerate(ring):
            ahead = (ring[(place + step) % len(ring)] for step in range(1, REACH + 1))
            edges |= {tuple(sorted((node, other))) for other in ahead if other != node}
    write(work / "edges.csv", ["source", "target"], sorted(edges))
    return ["--target", "score", "--edges", "edges.csv"], "gender", ["errors", "swap"]


def parkinsons(folder, work):
    """Logarithms of voice measures; a patient is joined with the four nearest in age and sex."""
    rows = rows_of(folder)
    voice = list(rows[0])[6:]
    log = [[math.log(max(float(row[name]), SMALLEST)) for name in voice] for row in rows]
    table = [
        [r["node"], float(r["age"]) / 10, r["sex"], r["test_time"], *logs, r["total_UPDRS"]] for r, logs in zip(rows, log, strict=True)
    ]
    write(work / "nodes.csv", ["node", "age", "sex", "test_time", *voice, "total_UPDRS"], table)
    # Age and sex are the same in all rows of a patient: they place it, and are no features.
    return ["--target", "total_UPDRS", "--knn", "4", "--by", "age,sex"], "sex", ["errors"]


def run(work, *words):
    """The answer of the program, which is shown too."""
    print("fedweave", *words, flush=True)
    done = subprocess.run([PROGRAM, *words], cwd=work, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return done.stdout


def main():
    """Prepares the table, fits, and prints the curves."""
    known = {"chem97": chem97, "parkinsons": parkinsons}
    if len(sys.argv) != 3 or sys.argv[1] not in known:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        flags, group, rules = known[sys.argv[1]](sys.argv[2], work)
        fit = ["fit", "nodes.csv", *flags, "--standardize", "--penalty", "squared", "--ridge", "0.001"]
        run(work, *fit, "--out", "run")
        print("lambda", json.loads((work / "run" / "summary.json").read_text())["lambda"])
        for rule in rules:
            print(run(work, "fairness", "run", "--group", group, "--curve", rule))


if __name__ == "__main__":
    main()
