"""Coverage and width of `fedweave predict --interval` beside conformal prediction calibrated per node alone (crepes, Mondrian).

usage: intervals.py BINARY DATA.py [--splits 10] [--only NAME] [--folds 10] [--level 0.9] [--json FILE]

DATA.py holds a list SETTINGS (name, load, scheme, train, loss) and a function split(table, setting, number); a table has rows with a
column node, features, target, graph (neighbours and info, or edges) and time. Needs numpy, pandas, scipy and crepes.

Every split is fitted with `--coupling learnt --calibrate FOLDS` (whole times are left out together where the split is by time) and
its test rows, which nobody has seen, are predicted with intervals. Printed per setting, means over the splits:

    coverage     mean over the nodes of the share of test rows inside
    by model     the same without calibration
    fine, fine*  share of nodes not significantly under-covered: binomial test at 5 %; * with Benjamini-Hochberg at 5 % over the nodes
    width/own    mean width over that of a Mondrian predictor with the same out-of-fold scores, at nodes where it is finite
    infinite     share of nodes where it is not
    width/split  the same for a Mondrian predictor of the usual kind, calibrated on a quarter of each node's rows that are not fitted
"""
import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from crepes import ConformalRegressor
from scipy.stats import binom, norm

FLAGS = ["--standardize", "--coupling", "learnt"]
# More rows of the same stations: ten are too few to tell stations apart.
FURTHER = [("fmi hourly, half of the rows", "fmi hourly", 0.5), ("fmi hourly, 80 %", "fmi hourly", 0.8)]


def main():
    """Measures every setting and prints a line for each."""
    arguments = parse_arguments()
    data = load_module(arguments.data)
    settings = [setting for setting in data.SETTINGS if setting.loss == "squared"] + further(data)
    columns = ["coverage", "by model", "fine", "fine*", "width/own", "infinite", "width/split"]
    print("| setting | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns), flush=True)
    results = {}
    for setting in (setting for setting in settings if arguments.only in setting.name):
        table = setting.load()
        splits = [measure(data, table, setting, number, arguments) for number in range(arguments.splits)]
        results[setting.name] = {column: float(np.nanmean([split[column] for split in splits])) for column in columns}
        numbers = " | ".join(f"{results[setting.name][column]:.3f}" for column in columns)
        print(f"| {setting.name} | {numbers} |", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


def parse_arguments():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the program")
    parser.add_argument("data", type=Path, help="module with SETTINGS and split")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", default="", help="settings whose name contains this")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--json", type=Path, help="file for the numbers")
    return parser.parse_args()


def load_module(path):
    """The Python module in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def further(data):
    """Settings like others with another number of training rows."""
    known = {setting.name: setting for setting in data.SETTINGS if setting.scheme == "random"}
    found = [(name, train, [s for key, s in known.items() if key.startswith(like)]) for name, like, train in FURTHER]
    return [data.Setting(name, settings[0].load, "random", train) for name, train, settings in found if settings]


def measure(data, table, setting, number, arguments):
    """One split."""
    train, test = data.split(table, setting, number)
    with tempfile.TemporaryDirectory() as folder:
        ours = Run(Path(folder) / "ours", table, setting, train, test, arguments, ["--calibrate", arguments.folds])
        kept = quarter_out(train)
        part = Run(Path(folder) / "part", table, setting, train[kept], pd.concat([train[~kept], test]), arguments, [])
    label, node = test[table.target].to_numpy(float), test.node.astype(str).to_numpy()
    half = (ours.upper - ours.lower) / 2
    inside = (ours.lower <= label) & (label <= ours.upper)
    by_model = np.abs(label - ours.prediction) <= norm.ppf((1 + arguments.level) / 2) * ours.deviation
    own = mondrian(ours.scores, ours.score_nodes, node, arguments.level) * ours.deviation
    count = len(train) - kept.sum()
    residual = train[~kept][table.target].to_numpy(float) - part.prediction[:count]
    split = mondrian(residual, train[~kept].node.astype(str).to_numpy(), node, arguments.level)
    fine, fine_together = not_under_covered(inside, node, arguments.level)
    return {
        "coverage": by_node(inside, node).mean(),
        "by model": by_node(by_model, node).mean(),
        "fine": fine,
        "fine*": fine_together,
        "width/own": ratio(half, own, node),
        "infinite": np.isinf(by_node(own, node)).mean(),
        "width/split": ratio(half, split, node),
    }


def quarter_out(train):
    """True for the rows that a predictor calibrated per node is fitted to: about three quarters of each node's."""
    generator = np.random.default_rng(0)
    kept = np.ones(len(train), bool)
    for rows in train.groupby("node").indices.values():
        kept[generator.permutation(rows)[: len(rows) // 4]] = False
    return kept


class Run:
    """A fit and its predictions of test rows."""

    def __init__(self, folder, table, setting, train, test, arguments, flags):
        folder.mkdir()
        columns = ["node"] + ([table.time] if table.time and table.time not in table.features else []) + table.features
        train[columns + [table.target]].to_csv(folder / "train.csv", index=False)
        test[columns].to_csv(folder / "test.csv", index=False)
        command = ["fit", folder / "train.csv", "--target", table.target, "--features", ",".join(table.features), *FLAGS, *flags]
        command += graph_flags(folder, table.graph, set(train.node)) + (["--split-by", table.time] if setting.scheme == "same" else [])
        run(arguments.binary, *command, "--out", folder / "run")
        said = folder / "said.csv"
        run(arguments.binary, "predict", folder / "run", folder / "test.csv", "--interval", arguments.level, "--out", said)
        predictions = pd.read_csv(said)
        self.prediction, self.lower, self.upper = (predictions[name].to_numpy() for name in ("prediction", "lower", "upper"))
        self.deviation = deviations(folder / "run", table, test)
        calibration = folder / "run" / "calibration.json"
        nodes = json.loads(calibration.read_text())["nodes"] if calibration.exists() else []
        self.scores = np.array([score for node in nodes for score in node["scores"]])
        self.score_nodes = np.array([node["node"] for node in nodes for _ in node["scores"]])


def run(binary, *words):
    """Runs the program; exit code 1 means stopped before the tolerance, with results."""
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True)
    if done.returncode > 1:
        raise SystemExit(done.stderr)


def graph_flags(folder, graph, nodes):
    """The graph as flags."""
    if graph.edges is not None:
        edges = graph.edges
        edges[edges.source.isin(nodes) & edges.target.isin(nodes)].to_csv(folder / "edges.csv", index=False)
        return ["--edges", folder / "edges.csv"]
    graph.info[graph.info.node.isin(nodes)].to_csv(folder / "info.csv", index=False)
    columns = [column for column in graph.info if column != "node"]
    return ["--knn", graph.neighbours, "--by", ",".join(columns), "--node-info", folder / "info.csv"]


def deviations(folder, table, rows):
    """sqrt(x' C x + s2) of every row, from covariance.csv."""
    known = pd.read_csv(folder / "covariance.csv", dtype={"node": str}).set_index("node")
    numbers = known.loc[rows.node.astype(str)].to_numpy()
    x = np.column_stack([rows[table.features].to_numpy(float), np.ones(len(rows))])
    pairs = [(j, k) for j in range(x.shape[1]) for k in range(j + 1)]
    spread = sum((2 - (j == k)) * x[:, j] * x[:, k] * numbers[:, 1 + at] for at, (j, k) in enumerate(pairs))
    return np.sqrt(np.maximum(spread, 0) + numbers[:, 0])


def mondrian(residuals, residual_nodes, nodes, level):
    """Half widths at rows of `nodes`, calibrated by the residuals of each node alone."""
    half = np.full(len(nodes), np.inf)
    known = np.isin(nodes, residual_nodes)
    if known.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predictor = ConformalRegressor().fit(residuals=np.abs(residuals), bins=residual_nodes)
            ends = predictor.predict_int(np.zeros(known.sum()), bins=nodes[known], confidence=level)
        half[known] = ends[:, 1]
    return half


def by_node(values, node):
    """Means of each node."""
    return pd.Series(np.asarray(values, float)).groupby(node).mean().to_numpy()


def ratio(half, other, node):
    """Mean width over another, at nodes where the other is finite."""
    ours, theirs = by_node(half, node), by_node(other, node)
    finite = np.isfinite(theirs)
    return ours[finite].mean() / theirs[finite].mean() if finite.any() else np.nan


def not_under_covered(inside, node, level):
    """Shares of nodes, tested alone and all together."""
    counts = pd.Series(inside).groupby(node).agg(["sum", "size"])
    p = np.sort(binom.cdf(counts["sum"], counts["size"], level))
    below = np.flatnonzero(p <= 0.05 * np.arange(1, len(p) + 1) / len(p))
    return (p >= 0.05).mean(), 1 - (below[-1] + 1 if len(below) else 0) / len(p)


if __name__ == "__main__":
    main()
