"""One small network, as files for the command line and as arrays for Python."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

# Nodes in an order that is not that of their names; the last one has no rows.
NODES = ["s10", "s2", "s1", "s33", "s4", "s20", "quiet"]
EDGES = [("s10", "s2", 1.0), ("s2", "s1", 0.5), ("s10", "s1", 2.0), ("s33", "s4", 1.0), ("s4", "s20", 1.5), ("s1", "s33", 0.25)]
EDGES += [("s20", "quiet", 1.0)]
FEATURES = ["a", "b", "c"]


def table(seed: int = 0, each: int = 14) -> pd.DataFrame:
    """Rows with numbers, counts, classes, weights and groups to predict or use."""
    rng = np.random.default_rng(seed)
    truth = {name: np.array([1.0, -0.5, 0.2]) if k < 3 else np.array([-0.8, 0.6, 0.0]) for k, name in enumerate(NODES)}
    names = np.repeat(NODES[:-1], each)
    x = rng.normal(size=(len(names), 3)).round(3)
    score = np.array([row @ truth[name] for row, name in zip(x, names)])
    noise = rng.normal(size=len(names))
    frame = pd.DataFrame(x, columns=FEATURES)
    frame["node"] = names
    frame["y"] = (score + 0.3 * noise + 0.5).round(4)
    frame["count"] = rng.poisson(np.exp(0.4 * score)).astype(float)
    frame["yes"] = (score + 0.8 * noise > 0).astype(float)
    frame["class"] = np.array(["low", "mid", "top"])[np.digitize(score + 0.5 * noise, [-0.5, 0.5])]
    frame["w"] = rng.uniform(0.5, 2.0, size=len(names)).round(3)
    frame["groups"] = [f"d{k % 7}" for k in range(len(names))]
    frame["hour"] = np.tile(np.arange(each), len(NODES) - 1)
    frame["date"] = np.datetime64("2024-02-27") + frame["hour"].to_numpy().astype("timedelta64[D]")
    frame["kind"] = ["huber" if name in ("s4", "s20") else "squared" for name in names]
    # The rows of the nodes are mixed, so that nobody may rely on their order.
    return frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)


@dataclass
class Files:
    """The network in a folder."""

    folder: Path
    rows: pd.DataFrame

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The command line; its words go to the rows by themselves."""
        return subprocess.run([sys.executable, "-m", "fedweave", *words], cwd=self.folder, capture_output=True, text=True, check=False)

    def told(self, job: str, words: str, codes: tuple[int, ...] = (0,)) -> tuple[dict[str, Any], Path]:
        """The summary of a job, and its run directory. A job that ends before its tolerance has another exit code."""
        edges = [] if job == "ask" else ["--edges", "edges.csv"]
        known = ["--features", ",".join(FEATURES), "--json", "--out", "run", "--overwrite"]
        done = self.run(job, "rows.csv", *edges, *known, *words.split())
        assert done.returncode in codes, done.stderr
        return json.loads(done.stdout), self.folder / "run"


def write(folder: Path) -> Files:
    """Writes the network."""
    rows = table()
    rows.to_csv(folder / "rows.csv", index=False)
    pd.DataFrame(EDGES, columns=["source", "target", "weight"]).to_csv(folder / "edges.csv", index=False)
    np.savetxt(folder / "matrix.csv", MATRIX, delimiter=",")
    pd.DataFrame({"node": NODES, "cluster": PARTITION}).to_csv(folder / "partition.csv", index=False)
    return Files(folder, rows)


MATRIX = np.array([[2.0, 0.5, 0.0, 0.0], [0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 1.5, 0.0], [0.0, 0.0, 0.0, 0.5]])
PARTITION = ["left", "left", "left", "right", "right", "right", "right"]


def cells(path: Path) -> dict[str, list[float]]:
    """A table of numbers by node, exactly as written."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return {row[0]: [float(cell) for cell in row[1:]] for row in frame.itertuples(index=False)}
