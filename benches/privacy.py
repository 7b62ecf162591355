"""What privacy costs: error on unseen rows against epsilon, on three datasets.

    benches/privacy.py SOURCE [--splits N] [--epsilons 0.1,1,10] [--datasets chem97,...] [--methods local,...] [--out FOLDER] [--program PATH]

SOURCE is a folder with the raw datasets chem97, parkinsons and lucas_housing (see data/README.md; the first may not be copied into this repository). Every
number is made by `fedweave fit` and `fedweave predict`: a fifth of the rows of every node is held out, at random in every split, and the mean over nodes of the
mean squared error is averaged over splits. Writes privacy.csv, privacy.svg and privacy.md; the standard library is enough.

    local        every node on its own, noise on its moments
    statistics   coupled, noise on moments
    auto         the same, lambda chosen and paid for with a fifth of the training rows
    gradients    coupled, noise on gradients in 50 rounds
    output       coupled, Huber loss, noise on the models
    objective    coupled, Huber loss, noise in what is minimised
    global       one model for all rows, which needs somebody who may see all of them
"""

import argparse
import csv
import gzip
import io
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METHODS = ("local", "statistics", "auto", "gradients", "output", "objective", "global")
COLOURS = ("#888888", "#1b6ca8", "#5fb0e5", "#2a9d57", "#c9781e", "#8a4fbf", "#b03a3a")


def read(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def chem97(source):
    """Points in chemistry from school results; schools of an authority are joined in a ring of two neighbours to each side."""
    rows = [
        (row["node"], [float(row["gender"] == "F"), float(row["age"]), float(row["gcsescore"])], float(row["score"]), row["lea"])
        for row in read(source / "chem97" / "data.csv.gz")
    ]
    authority = {node: lea for node, _, _, lea in rows}
    groups = {}
    for node, lea in sorted(authority.items()):
        groups.setdefault(lea, []).append(node)
    edges = set()
    for group in groups.values():
        for k, node in enumerate(group):
            for step in (1, 2):
                other = group[(k + step) % len(group)]
                if other != node:
                    edges.add(tuple(sorted((node, other))))
    names, ranges = ["female", "age", "gcse"], ["0:1", "-6:6", "0:8"]
    return [row[:3] for row in rows], sorted(edges), names, ranges, "0:10", {"lambda": 1, "ridge": 0.01, "huber": 2}


def parkinsons(source):
    """The severity of the disease from voices; patients are joined with the five nearest by age and sex."""
    names = ["test_time", "hnr", "rpde", "dfa", "ppe"]
    raw = read(source / "parkinsons" / "data.csv.gz")
    rows = [(row["node"], [float(row[name]) for name in names], float(row["total_UPDRS"])) for row in raw]
    place = {row["node"]: (float(row["age"]), 20 * float(row["sex"])) for row in raw}
    # The scale ends at 176; recordings last half a year.
    return rows, nearest(place, 5), names, ["-10:220", "0:40", "0:1", "0:1", "0:1"], "0:176", {"lambda": 0.1, "ridge": 0.01, "huber": 10}


def lucas_housing(source):
    """Logarithms of house prices from ten features; cells are joined with the five nearest."""
    names = ["log_area", "age", "age2", "log_lot", "rooms", "beds", "baths", "halfbaths", "garage", "years"]
    rows, sums = [], {}
    for row in read(source / "lucas_housing" / "data.csv.gz"):
        age = float(row["age"])
        features = [math.log(float(row["TLA"])), age, age**2, math.log(float(row["lotsize"]))]
        features += [float(row[name]) for name in ("rooms", "beds", "baths", "halfbaths", "garagesqft")]
        rows.append((row["node"], [*features, int(row["syear"]) - 1993], math.log10(float(row["price"]))))
        x, y, n = sums.get(row["node"], (0.0, 0.0, 0))
        sums[row["node"]] = (x + float(row["x"]), y + float(row["y"]), n + 1)
    place = {node: (x / n, y / n) for node, (x, y, n) in sums.items()}
    ranges = ["5:10", "0:1.5", "0:2.25", "5:14", "1:20", "0:10", "0:8", "0:4", "0:2000", "0:5"]
    return rows, nearest(place, 5), names, ranges, "3:6.3", {"lambda": 1, "ridge": 0.01, "huber": 0.3}


DATASETS = {"chem97": chem97, "parkinsons": parkinsons, "lucas_housing": lucas_housing}


def nearest(place, count):
    edges = set()
    for node, at in place.items():
        others = sorted((math.dist(at, there), other) for other, there in place.items() if other != node)
        edges.update(tuple(sorted((node, other))) for _, other in others[:count])
    return sorted(edges)


def split(rows, seed):
    """A fifth of the rows of every node is held out; a node with a single row trains."""
    by_node = {}
    for row in rows:
        by_node.setdefault(row[0], []).append(row)
    chance, train, test = random.Random(seed), [], []
    for node in sorted(by_node):
        own = by_node[node]
        chance.shuffle(own)
        test += own[: len(own) // 5]
        train += own[len(own) // 5 :]
    return train, test


def write(path, header, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *lines])


def command(method, epsilon, dataset):
    """Arguments of `fedweave fit`."""
    _, _, names, ranges, target, known = dataset
    said = ["--target", "y", "--penalty", "squared", "--node-weight", "rows", "--ridge", str(known["ridge"])]
    said += ["--lambda", {"local": "0", "global": "0", "auto": "auto"}.get(method, str(known["lambda"]))]
    huber = ["--loss", "huber", "--huber-delta", str(known["huber"])]
    if method in ("output", "objective"):
        said += huber
    if epsilon is None:
        # The same without noise; features in ranges from -1 to 1 is what --standardize comes nearest to.
        return [*said, "--standardize"]
    said += ["--dp-epsilon", str(epsilon)]
    if method in ("gradients", "output", "objective"):
        said += ["--dp-method", method]
    for name, known_range in zip([*names, "y"], [*ranges, target]):
        said += ["--dp-range", f"{name}={known_range}"]
    return said


def error(program, folder, method, epsilon, dataset, train, test):
    """Fits, predicts, and returns the mean over nodes of the mean squared error."""
    names, edges = dataset[2], dataset[1]
    name = (lambda node: "all") if method == "global" else (lambda node: node)
    for file, rows in (("train.csv", train), ("test.csv", test)):
        write(folder / file, ["node", *names, "y"], ([name(node), *x, y] for node, x, y in rows))
    write(folder / "edges.csv", ["source", "target"], [] if method == "global" else edges)
    graph = [] if method == "global" else ["--edges", "edges.csv"]
    run = [program, "fit", "train.csv", *graph, *command(method, epsilon, dataset), "--out", "run", "--overwrite"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None if "ridge" in done.stderr else sys.exit(f"{' '.join(run)}\n{done.stderr}")
    said = subprocess.run([program, "predict", "run", "test.csv"], cwd=folder, capture_output=True, text=True, check=True)
    sums = {}
    for (node, _, y), row in zip(test, csv.DictReader(io.StringIO(said.stdout))):
        total, count = sums.get(node, (0.0, 0))
        sums[node] = (total + (float(row["prediction"]) - y) ** 2, count + 1)
    return statistics.fmean(total / count for total, count in sums.values())


def picture(found, names, epsilons, path):
    """Error against epsilon, logarithmic on both axes, a panel for each dataset."""
    width, height, left, top = 330, 240, 52, 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * len(names) + 10}" height="{height + 110}" font-family="sans-serif" font-size="11">']
    parts.append('<rect width="100%" height="100%" fill="white"/>')
    known = sorted(epsilon for epsilon in epsilons if epsilon)
    places = [*known, None] if None in epsilons else known
    for panel, name in enumerate(names):
        values = [mean for (data, _, _), (mean, _) in found.items() if data == name and mean]
        low, high = math.log10(min(values)) - 0.05, math.log10(max(values)) + 0.05
        x0 = left + panel * width
        at = lambda epsilon: x0 + (width - 80) * (places.index(epsilon) + 0.3) / len(places)
        up = lambda mean: top + (height - 60) * (high - math.log10(mean)) / (high - low)
        parts.append(f'<text x="{x0}" y="{top - 14}" font-weight="bold">{name}: mean squared error</text>')
        parts.append(f'<rect x="{x0}" y="{top}" width="{width - 80}" height="{height - 60}" fill="none" stroke="#ccc"/>')
        for decade in range(math.ceil(low), math.floor(high) + 1):
            y = up(10.0**decade)
            parts.append(f'<line x1="{x0}" x2="{x0 + width - 80}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>')
            parts.append(f'<text x="{x0 - 4}" y="{y + 4:.1f}" text-anchor="end">{10.0**decade:g}</text>')
        for epsilon in places:
            parts.append(f'<text x="{at(epsilon):.1f}" y="{top + height - 45}" text-anchor="middle">{f"{epsilon:g}" if epsilon else "none"}</text>')
        for method, colour in zip(METHODS, COLOURS):
            points = [(epsilon, *found[name, method, epsilon]) for epsilon in places if found.get((name, method, epsilon), (None,))[0]]
            line = " ".join(f"{at(epsilon):.1f},{up(mean):.1f}" for epsilon, mean, _ in points if epsilon)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
            for epsilon, mean, deviation in points:
                ends = [up(min(max(mean + sign * deviation, 10**low), 10**high)) for sign in (-1, 1)]
                parts.append(f'<line x1="{at(epsilon):.1f}" x2="{at(epsilon):.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}" stroke="{colour}"/>')
                parts.append(f'<circle cx="{at(epsilon):.1f}" cy="{up(mean):.1f}" r="2.4" fill="{colour if epsilon else "white"}" stroke="{colour}"/>')
    for k, (method, colour) in enumerate(zip(METHODS, COLOURS)):
        x, y = left + 130 * (k % 7), top + height
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/><text x="{x + 8}" y="{y}">{method}</text>')
    parts.append(f'<text x="{left}" y="{top + height + 24}">epsilon from left to right (delta 1e-5), hollow: without noise; bars: one standard error over splits</text></svg>')
    path.write_text("\n".join(parts), encoding="utf-8")


def tables(found, names, methods, epsilons, path):
    """The same as a table for each dataset, in Markdown."""
    def cell(mean, deviation):
        if mean is None:
            return "–"
        return f"{mean:,.0f} ({deviation:,.0f})" if mean >= 1000 else f"{mean:.3g} ({float(f'{deviation:.1g}'):g})"

    lines = []
    for name in names:
        lines += [f"{name}:", "", f"| epsilon | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
        for epsilon in epsilons:
            cells = (cell(*found.get((name, method, epsilon), (None, None))) for method in methods)
            lines.append(f"| {f'{epsilon:g}' if epsilon else 'none'} | {' | '.join(cells)} |")
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--epsilons", default="0.1,0.3,1,3,10,none")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--program", default="target/release/fedweave")
    said = parser.parse_args()
    program = os.path.abspath(said.program)
    epsilons = [None if text == "none" else float(text) for text in said.epsilons.split(",")]
    names, methods, found = said.datasets.split(","), said.methods.split(","), {}
    began, lines = time.monotonic(), []
    said.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            dataset = DATASETS[name](said.source)
            splits = [split(list(dataset[0]), seed) for seed in range(said.splits)]
            for method in methods:
                for epsilon in epsilons:
                    errors = [error(program, Path(folder), method, epsilon, dataset, *rows) for rows in splits]
                    if None in errors:
                        found[name, method, epsilon] = (None, None)
                        print(f"{name:14} {method:10} {epsilon}: refused, a larger ridge is needed", flush=True)
                        continue
                    mean = statistics.fmean(errors)
                    deviation = statistics.stdev(errors) / math.sqrt(len(errors)) if len(errors) > 1 else float("nan")
                    found[name, method, epsilon] = (mean, deviation)
                    lines.append([name, method, "none" if epsilon is None else epsilon, f"{mean:.5g}", f"{deviation:.2g}", len(errors)])
                    print(f"{name:14} {method:10} {epsilon}: {mean:.4g} ({deviation:.2g})  {time.monotonic() - began:.0f} s", flush=True)
    write(said.out / "privacy.csv", ["dataset", "method", "epsilon", "error", "standard_error", "splits"], lines)
    picture(found, names, epsilons, said.out / "privacy.svg")
    tables(found, names, methods, epsilons, said.out / "privacy.md")


if __name__ == "__main__":
    main()
