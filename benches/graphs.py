"""Graphs learnt from rows, nodes never seen, vertical and few-shot learning: the figures of the guides, by the program alone.

    python3 benches/graphs.py planted                  five planted block models: edge F1, error beside the true graph
    python3 benches/graphs.py fdr [SEEDS]              share of wrong edges under --fdr 0.1, over 200 seeds
    python3 benches/graphs.py table NAME [FOLDER]      ten splits of a dataset, every discrepancy: fmi, lucas, sacramento, chem97, parkinsons
    python3 benches/graphs.py weights NAME [FOLDER]    the same for weights by rule, kernel and validation
    python3 benches/graphs.py unseen [SHARE]           weather stations and places of houses left out: a share, or 1 at a time
    python3 benches/graphs.py joined                   nodes never seen that show a few rows, joined by these, by places or by the planted clusters
    python3 benches/graphs.py vertical                 2 to 10 parties beside the pooled optimum, with bytes
    python3 benches/graphs.py few-shot [FROM TO]       digits, two classes with 5 images each, beside one-vs-rest alone
    python3 benches/graphs.py size [NODES]             graph learn on 10^5 nodes: seconds and memory
    python3 benches/graphs.py check                    every bound of `fedweave check` on three datasets, for two penalties
    python3 benches/graphs.py warm                     new weather stations: joined, then refitted warm and cold

chem97 and parkinsons do not ship with Fedweave: FOLDER holds `data.csv.gz` of `Chem97` in the R package mlmRev (columns node, lea, gender,
age, gcsescore, score), or of "Parkinsons Telemonitoring" of the UCI repository (node, age, sex, test_time, motor_UPDRS, total_UPDRS,
16 voice measures). FEDWEAVE names the program (default: target/release/fedweave). Standard library only.
"""

import csv
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(os.environ.get("FEDWEAVE", ROOT / "target" / "release" / "fedweave")).resolve()
MEASURES = ["pooled-fit", "wald", "parameters", "gradient", "components", "wasserstein", "histogram", "moments", "kl", "joint"]
SPLITS = int(os.environ.get("SPLITS", "10"))


def run(words, **more):
    """What the program prints; its failure is ours, but for runs that stopped early."""
    done = subprocess.run([str(PROGRAM), *map(str, words)], capture_output=True, text=True, **more)
    if done.returncode not in (0, 1):
        raise SystemExit(f"fedweave {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def told(words):
    """The one JSON object of a job."""
    return json.loads(run([*words, "--json"]))


def read(path):
    """A table, a dictionary per row."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    """A table."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def error_of(run_dir, rows):
    """Mean squared error of a run, mean over nodes."""
    predicted = list(csv.DictReader(run(["predict", run_dir, rows]).splitlines()))
    squares = {}
    for row, truth in zip(predicted, read(rows)):
        squares.setdefault(row["node"], []).append((float(row["prediction"]) - float(truth["y"])) ** 2)
    means = [sum(s) / len(s) for s in squares.values()]
    return sum(means) / len(means)


def block_model(work, seed, rows=40, nodes=150, clusters=3, dim=5, noise=0.5):
    """A planted block model: 10 rows a node to learn with, the others to judge; the pairs inside clusters."""
    folder = work / f"planted-{seed}"
    run(["generate", folder, "--nodes", nodes, "--clusters", clusters, "--dim", dim, "--rows", rows, "--noise", noise,
         "--p-in", 1, "--p-out", 0, "--seed", seed])
    seen, train, test = {}, [], []
    for row in read(folder / "nodes.csv"):
        seen[row["node"]] = seen.get(row["node"], 0) + 1
        (train if seen[row["node"]] <= 10 else test).append(row)
    write(folder / "train.csv", train)
    write(folder / "test.csv", test) if test else None
    pairs = {frozenset((row["source"], row["target"])) for row in read(folder / "edges.csv")}
    return folder, pairs


def planted(work):
    """Edge F1, and errors beside the true graph: with the default penalty, made for clusters, and with squares."""
    print("seed  edges asked  edges  F1      norm2: error  true graph  ratio   squared: error  true graph  ratio")
    smallest, largest = 1.0, [0.0, 0.0]
    for seed in range(5):
        folder, pairs = block_model(work, seed)
        run(["graph", "learn", folder / "train.csv", "--target", "y", "--edges-max", len(pairs), "--out", folder / "learnt.csv"])
        found = {frozenset((row["source"], row["target"])) for row in read(folder / "learnt.csv")}
        f1 = 2 * len(found & pairs) / (len(found) + len(pairs))
        smallest = min(smallest, f1)
        line = f"{seed}     {len(pairs):11d}  {len(found):5d}  {f1:.4f}"
        for k, penalty in enumerate(["norm2", "squared"]):
            errors = []
            for name in ["learnt", "edges"]:
                out = folder / f"run-{name}-{penalty}"
                run(["fit", folder / "train.csv", "--target", "y", "--edges", folder / f"{name}.csv", "--penalty", penalty, "--out", out])
                errors.append(error_of(out, folder / "test.csv"))
            ratio = errors[0] / errors[1]
            largest[k] = max(largest[k], ratio)
            line += f"  {errors[0]:.4f}         {errors[1]:.4f}     {ratio:.4f}"
        print(line, flush=True)
    print(f"smallest F1 {smallest:.4f}, largest ratio {largest[0]:.4f} (norm2), {largest[1]:.4f} (squared)")


def fdr(work, seeds):
    """Share of wrong edges when at most a tenth may be wrong."""
    shares = []
    for seed in range(seeds):
        folder, pairs = block_model(work, seed, rows=10)
        out = run(["graph", "learn", folder / "nodes.csv", "--target", "y", "--fdr", 0.1])
        found = [frozenset((row["source"], row["target"])) for row in csv.DictReader(out.splitlines())]
        shares.append(sum(edge not in pairs for edge in found) / max(len(found), 1))
    beyond = sum(share > 0.1 for share in shares)
    print(f"{seeds} seeds: {100 * sum(shares) / seeds:.2f} % of the edges wrong on average, more than 10 % in {beyond} seeds")


def chem97(folder, work):
    """Schools with at least 12 students."""
    rows = read(Path(folder) / "data.csv.gz")
    size = {}
    for row in rows:
        size[row["node"]] = size.get(row["node"], 0) + 1
    write(work / "chem97.csv", [{**row, "male": int(row["gender"] == "M")} for row in rows if size[row["node"]] >= 12])
    return [work / "chem97.csv", "--target", "score", "--features", "gcsescore,male,age"]


def parkinsons(folder, work):
    """Recordings of patients; without the motor score, which the total contains, and what is constant inside a patient."""
    write(work / "parkinsons.csv", read(Path(folder) / "data.csv.gz"))
    return [work / "parkinsons.csv", "--target", "total_UPDRS", "--drop", "motor_UPDRS,age,sex"]


def dataset(name, folder, work):
    """The table and columns of a dataset, how its rows are held out, and its coordinates, if it has some."""
    data = ROOT / "data"
    fmi = [data / "fmi_hourly_2024.csv.gz", "--node", "station", "--target", "temp", "--features", "t,t2,t3,sin_hour,cos_hour"]
    ten, by = ["--train", 10, "--validation", 10], ["--knn", 4, "--by", "lat,lon"]
    houses = "log_living_area,age,age2,log_lot_size,rooms,beds,baths,halfbaths,garagesqft,years_since_1993"
    lucas = [data / "lucas_housing.csv.gz", "--target", "log10_price", "--features", houses]
    sacramento = [data / "sacramento.csv", "--target", "log10_price", "--features", "beds,baths,sqft"]
    known = {
        "fmi": lambda: (fmi, ten, by),
        "lucas": lambda: (lucas, ["--train", 10, "--validation", 5], ["--knn", 5, "--by", "x,y"]),
        "sacramento": lambda: (sacramento, ["--test", 0.3], ["--knn", 5, "--by", "latitude,longitude"]),
        "chem97": lambda: (chem97(folder, work), ["--test", 0.3], None),
        "parkinsons": lambda: (parkinsons(folder, work), ["--train", 20, "--validation", 20], None),
    }
    return known[name]()


def table(work, name, folder):
    """Local, global, coordinates and every discrepancy over ten splits."""
    what, held, by = dataset(name, folder, work)
    common = [*what, "--standardize", "--penalty", "squared", "--rivals", "none", "--splits", SPLITS, *held]
    learn = ["--graph", "learn"]
    ways = ([("coordinates", by)] if by else []) + [(m, [*learn, "--discrepancy", m]) for m in MEASURES] + [("--fdr 0.1", [*learn, "--fdr", 0.1])]
    print(f"{name}: {SPLITS} splits\ngraph         error     beats local  beats shuffled  hurt    fallback  hurt, fallback")
    for k, (title, words) in enumerate(ways):
        found = told(["compare", *common, *words, "--fallback"])
        # A graph without edges has no shuffled one.
        by_split = {m: found[m]["test_error_by_split"] for m in ["local", "networked", "shuffled"] if m in found}
        wins = [sum(a < b for a, b in zip(by_split["networked"], by_split.get(m, []))) for m in ["local", "shuffled"]]
        if k == 0:
            for rival in ["local", "global"]:
                print(f"{rival:13s} {found[rival]['test_error']:.5g}", flush=True)
        # Of a split: over means of ten splits a node that leaves its local model once counts like one that always does.
        each = [found[m]["share_hurt_by_split"] for m in ["networked", "fallback"]]
        hurt = [f"{100 * sum(shares) / len(shares):.1f} %" for shares in each]
        print(f"{title:13s} {found['networked']['test_error']:<9.5g} {wins[0]:4d} of {SPLITS}   {wins[1]:5d} of {SPLITS}      {hurt[0]:6s}  "
              f"{found['fallback']['test_error']:<9.5g} {hurt[1]}  shuffled {found.get('shuffled', {}).get('test_error', float('nan')):.5g}", flush=True)


def weights(work, name, folder):
    """Errors by how edges are weighted."""
    what, held, _ = dataset(name, folder, work)
    for measure in ["pooled-fit", "parameters", "moments"]:
        errors = []
        for rule in ["rule", "kernel", "validation"]:
            words = ["--standardize", "--penalty", "squared", "--rivals", "none", "--splits", SPLITS, *held]
            learnt = ["--graph", "learn", "--discrepancy", measure, "--edge-weights", rule]
            errors.append(told(["compare", *what, *words, *learnt])["networked"]["test_error"])
        changes = ", ".join(f"{100 * (error / errors[0] - 1):+.1f} %" for error in errors[1:])
        print(f"{name} {measure}: rule {errors[0]:.5g}; kernel, validation: {changes}", flush=True)


def unseen(work, share):
    """Weather stations and places of houses that no model has seen."""
    common = ["--standardize", "--penalty", "squared", "--leave-nodes", share]
    what, _, by = dataset("fmi", None, work)
    for train, validation in [(7, 3), (10, 10), (40, 10)]:
        print(run(["compare", *what, *common, "--train", train, "--validation", validation, *by]), flush=True)
    for name in ["lucas", "sacramento"]:
        what, held, by = dataset(name, None, work)
        print(run(["compare", *what, *common, *held, *by]), flush=True)
        print(run(["compare", *what, *common, *held, "--graph", "learn"]), flush=True)


def error_by_node(said, rows, node, target):
    """Mean over nodes of mean squared errors."""
    squares = {}
    for line, row in zip(csv.DictReader(said.splitlines()), rows):
        squares.setdefault(row[node], []).append((float(line["prediction"]) - float(row[target])) ** 2)
    return sum(sum(s) / len(s) for s in squares.values()) / len(squares)


def joined(work):
    """A tenth of the nodes is new: each shows a few rows, and is judged on its others."""
    data, rules = ROOT / "data", {}
    for seed in range(5):
        folder, pairs = block_model(work, seed)
        rules[f"planted {seed}"] = (read(folder / "nodes.csv"), "node", "y", [], None, pairs)
    houses = ["--features", "log_living_area,age,age2,log_lot_size,rooms,beds,baths,halfbaths,garagesqft,years_since_1993"]
    rules["lucas"] = (read(data / "lucas_housing.csv.gz"), "node", "log10_price", houses, "x,y", None)
    rules["fmi"] = (read(data / "fmi_hourly_2024.csv.gz"), "station", "temp", ["--features", "t,t2,t3,sin_hour,cos_hour"], "lat,lon", None)
    print("data       rows shown  by its rows  by places  learnt   by clusters  alone    one model")
    for name, (rows, node, target, what, places, pairs) in rules.items():
        names = sorted({row[node] for row in rows})
        new = set(random.Random(0).sample(names, len(names) // 10))
        old = [row for row in rows if row[node] not in new]
        for shown in [3, 5, 10]:
            seen, few, rest = {}, [], []
            for row in random.Random(1).sample(rows, len(rows)):
                if row[node] in new:
                    seen[row[node]] = seen.get(row[node], 0) + 1
                    (few if seen[row[node]] <= shown else rest).append(row)
            for file, some in [("old", old), ("few", few), ("rest", rest)]:
                write(work / f"{file}.csv", some)
            fit = ["--node", node, "--target", target, *what, "--standardize", "--penalty", "squared", "--overwrite"]
            join = ["--new-nodes", "--new-rows", work / "few.csv"]
            told_by = {}
            run(["fit", work / "old.csv", *fit, "--graph", "learn", "--validation", 0.2, "--out", work / "net"])
            told_by["rows"] = run(["predict", work / "net", work / "rest.csv", *join])
            if places:
                run(["fit", work / "old.csv", *fit, "--knn", 4, "--by", places, "--validation", 0.2, "--out", work / "net"])
                told_by["places"] = run(["predict", work / "net", work / "rest.csv", *join])
                learnt = ["--node", node, "--target", target, *what, "--coupling", "learnt", "--knn", 4, "--by", places, "--overwrite"]
                run(["fit", work / "old.csv", *learnt, "--out", work / "net"])
                told_by["learnt"] = run(["predict", work / "net", work / "rest.csv", *join])
            if pairs:
                ends = [pair for pair in map(sorted, pairs) if (pair[0] in new) != (pair[1] in new)]
                write(work / "joins.csv", [{"source": a, "target": b} for a, b in ends])
                told_by["clusters"] = run(["predict", work / "net", work / "rest.csv", *join, "--new-edges", work / "joins.csv"])
            run(["fit", work / "few.csv", *fit, "--lambda", 0, "--ridge", 0.1, "--out", work / "net"])
            told_by["alone"] = run(["predict", work / "net", work / "rest.csv"])
            write(work / "all.csv", [{**row, node: "all"} for row in old])
            run(["fit", work / "all.csv", *fit, "--lambda", 0, "--ridge", 0.001, "--out", work / "net"])
            write(work / "as-one.csv", [{**row, node: "all"} for row in rest])
            told_by["one"] = run(["predict", work / "net", work / "as-one.csv"])
            errors = {how: error_by_node(said, rest, node, target) for how, said in told_by.items()}
            cells = [f"{errors[how]:.4g}" if how in errors else "-" for how in ["rows", "places", "learnt", "clusters", "alone", "one"]]
            print(f"{name:10s} {shown:10d}  {cells[0]:11s}  {cells[1]:9s}  {cells[2]:7s}  {cells[3]:11s}  {cells[4]:7s}  {cells[5]}", flush=True)


def vertical(work):
    """House prices, columns dealt out to parties."""
    rows = read(ROOT / "data" / "lucas_housing.csv.gz")
    numeric = [name for name in rows[0] if name not in ("node", "log10_price") and all(is_number(row[name]) for row in rows[:500])]
    numeric = [name for name in numeric if len({row[name] for row in rows}) > 1]
    prices = sorted(float(row["log10_price"]) for row in rows)
    median = prices[len(prices) // 2]
    for k, row in enumerate(rows):
        row["id"], row["dear"] = k, int(float(row["log10_price"]) > median)
    print("loss      parties  rounds  bytes        largest difference")
    for loss, target in [("squared", "log10_price"), ("logistic", "dear")]:
        write(work / "all.csv", [{"node": "all", target: row[target], **{c: row[c] for c in numeric}} for row in rows])
        options = ["--loss", loss, "--ridge", 1e-3, "--standardize"]
        run(["fit", work / "all.csv", "--target", target, "--lambda", 0, *options, "--tolerance", 1e-12, "--out", work / f"pooled-{loss}"])
        pooled = read(work / f"pooled-{loss}" / "parameters.csv")[0]
        for parties in range(2, 11):
            files = []
            for p in range(parties):
                own = numeric[p::parties]
                held = [target] if p == 0 else []
                files.append(work / f"party-{p}.csv")
                write(files[-1], [{c: row[c] for c in ["id", *held, *own]} for row in rows])
            found = told(["fit", "--vertical", *files, "--key", "id", "--target", target, *options])
            mine = {name: value for party in found["parties"] for name, value in party["parameters"].items()}
            mine["intercept"] = found["intercept"]
            away = max(abs(value - float(pooled[name])) for name, value in mine.items())
            print(f"{loss:9s} {parties:7d}  {found['rounds']:6d}  {found['bytes']:<11d}  {away:.1e}", flush=True)


def is_number(text):
    """True for a cell that holds one."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def few_shot(work, seeds):
    """Digits: two classes with 5 images each, 100 of the others; classes as nodes, together and alone."""
    rows = read(ROOT / "data" / "digits.csv.gz")
    print("seed  few   together: few  all      alone: few  all")
    sums = [0.0] * 4
    for seed in seeds:
        draw = random.Random(seed)
        few = draw.sample("0123456789", 2)
        train, test = [], []
        for digit in "0123456789":
            own = [row for row in rows if row["label"] == digit]
            draw.shuffle(own)
            train += own[:5 if digit in few else 100]
            test += own[100:]
        write(work / "train.csv", train)
        write(work / "test.csv", test)
        shares = []
        for name, more in [("together", []), ("alone", ["--lambda", 0])]:
            out = work / name
            run(["fit", work / "train.csv", "--target", "label", "--classes-as-nodes", "--standardize", *more, "--out", out, "--overwrite"])
            predicted = csv.DictReader(run(["predict", out, work / "test.csv"]).splitlines())
            right = [(row["label"], row["label"] == guess["prediction"]) for row, guess in zip(test, predicted)]
            shares.append(sum(ok for digit, ok in right if digit in few) / sum(digit in few for digit, _ in right))
            shares.append(sum(ok for _, ok in right) / len(right))
        sums = [a + b / len(seeds) for a, b in zip(sums, shares)]
        print(f"{seed:4d}  {','.join(few)}   {shares[0]:13.3f}  {shares[1]:.3f}    {shares[2]:9.3f}  {shares[3]:.3f}", flush=True)
    print(f"mean        {sums[0]:13.3f}  {sums[1]:.3f}    {sums[2]:9.3f}  {sums[3]:.3f}")


def size(work, nodes):
    """Seconds and memory of a large graph."""
    folder = work / "large"
    run(["generate", folder, "--network", "geometric", "--nodes", nodes, "--dim", 10, "--rows", 10, "--clusters", 10])
    for measure in ["pooled-fit", "parameters"]:
        start = time.time()
        run(["graph", "learn", folder / "nodes.csv", "--target", "y", "--by", measure, "--out", work / "learnt.csv"])
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{nodes} nodes, {measure}: {time.time() - start:.1f} s; children so far: {used.ru_utime + used.ru_stime:.1f} CPU-s, "
              f"at most {used.ru_maxrss / 2**20:.2f} GB", flush=True)


def check(work):
    """What theory says about fits of three datasets."""
    sets = {
        "fmi": dataset("fmi", None, work),
        "lucas": dataset("lucas", None, work),
        "sacramento": dataset("sacramento", None, work),
    }
    for name, (what, _, by) in sets.items():
        for penalty, strength in [("squared", 0.1), ("norm2", 0.02)]:
            out = work / f"{name}-{penalty}"
            run(["fit", *what, *by, "--standardize", "--penalty", penalty, "--lambda", strength, "--ridge", 0.01, "--out", out])
            print(f"{name}, {penalty}, lambda {strength}\n{run(['check', out])}\n", flush=True)


def warm(work):
    """Ten stations join; then all are fitted again, from the models of the others and from nothing."""
    what, _, by = dataset("fmi", None, work)
    with gzip.open(what[0], "rt", encoding="utf-8") as file:
        head, *lines = file.read().splitlines()
    names = list(dict.fromkeys(line.split(",")[0] for line in lines))
    new = set(names[::len(names) // 10][:10])
    rows = {"all": lines, "old": [x for x in lines if x.split(",")[0] not in new], "new": [x for x in lines if x.split(",")[0] in new]}
    for name, some in rows.items():
        (work / f"{name}.csv").write_text("\n".join([head, *some]) + "\n", encoding="utf-8")
    for penalty, strength in [("squared", 0.1), ("norm2", 0.1)]:
        fit = [*what[1:], *by, "--standardize", "--penalty", penalty, "--lambda", strength, "--tolerance", 1e-8]
        old, cold, hot = (work / f"{name}-{penalty}" for name in ["old", "cold", "warm"])
        run(["fit", work / "old.csv", *fit, "--out", old])
        start = time.time()
        run(["predict", old, work / "new.csv", "--new-nodes", "--out", work / "said.csv"])
        joined = time.time() - start
        found = [told(["fit", work / "all.csv", *fit, "--out", cold]), told(["fit", work / "all.csv", *fit, "--warm", old, "--out", hot])]
        # No objective is lower than that of the warm fit by more than its gap, so this is at most that gap; and at least minus that of the full fit.
        above = found[1]["objective"] - found[0]["objective"]
        gaps = [run["certified_gap"] for run in found]
        print(f"{penalty}: {len(new)} stations joined in {1000 * joined:.0f} ms, program and files included; warm {found[1]['iterations']} iterations, "
              f"{1000 * found[1]['seconds']:.1f} ms, full {found[0]['iterations']}, {1000 * found[0]['seconds']:.1f} ms; the warm objective is "
              f"{above:+.1e} above the full one, {'within' if -gaps[0] <= above <= gaps[1] else 'BEYOND'} its gap {gaps[1]:.1e} (full: {gaps[0]:.1e})", flush=True)


def main(words):
    """One of the tables."""
    job, more = (words + ["help"])[0], words[1:]
    number = lambda default: int(more[0]) if more else default
    jobs = {
        "planted": lambda work: planted(work),
        "fdr": lambda work: fdr(work, number(200)),
        "table": lambda work: table(work, more[0], more[1] if len(more) > 1 else None),
        "weights": lambda work: weights(work, more[0], more[1] if len(more) > 1 else None),
        "unseen": lambda work: unseen(work, more[0] if more else "0.1"),
        "joined": joined,
        "vertical": vertical,
        "few-shot": lambda work: few_shot(work, range(*map(int, more[:2])) if more else range(4, 14)),
        "check": check,
        "warm": warm,
        "size": lambda work: size(work, number(100_000)),
    }
    if job not in jobs:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        jobs[job](Path(work))


if __name__ == "__main__":
    main(sys.argv[1:])
