"""What the Python face costs on top of the engine: 10,000 nodes, 10 features.

    .venv/bin/python benches/python_face.py [nodes] [rows per node] [lam]

Prints the seconds of `fit` from Python and of the solver on the command line (same file, same bits), and the memory that `fit`
takes in units of the size of X: on Python's side (tracemalloc) and of the whole process (peak resident set).
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd

from fedweave import GTVRegressor, knn

D, CLUSTERS, REPEATS = 10, 20, 5


def problem(nodes: int, rows: int):
    rng = np.random.default_rng(0)
    place = rng.uniform(size=(nodes, 2))
    centre = rng.uniform(size=(CLUSTERS, 2))
    cluster = ((place[:, None] - centre) ** 2).sum(axis=2).argmin(axis=1)
    truth = rng.normal(size=(CLUSTERS, D))[cluster]
    of_row = np.repeat(np.arange(nodes), rows)
    x = rng.normal(size=(nodes * rows, D))
    y = (x * truth[of_row]).sum(axis=1) + rng.normal(size=len(x))
    ids = np.array([f"n{i:05d}" for i in range(nodes)], dtype=object)
    graph = knn(5, by={name: at for name, at in zip(ids, place)}, metric="euclidean")
    return x, y, ids[of_row], graph


def edges_of(graph, ids):
    """The nearest-neighbour graph as a table."""
    from fedweave._network import network

    net = network(graph, ids, len(ids), {})
    names = np.array(net.names, dtype=object)
    return pd.DataFrame({"source": names[net.heads], "target": names[net.tails], "weight": net.weights})


def command_line(folder: Path, x, y, ids, edges, lam) -> tuple[float, np.ndarray]:
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(D)]).assign(node=ids, y=y)
    frame.to_csv(folder / "rows.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    words = ["fit", "rows.csv", "--edges", "edges.csv", "--target", "y", "--lambda", lam, "--json", "--out", "run"]
    words.append("--overwrite")
    seconds = []
    for _ in range(REPEATS):
        done = subprocess.run([sys.executable, "-m", "fedweave", *words], cwd=folder, capture_output=True, check=True)
        seconds.append(json.loads(done.stdout)["seconds"])
    table = pd.read_csv(folder / "run" / "parameters.csv", dtype=str).drop(columns=["node", "intercept"])
    return min(seconds), np.array([[float(cell) for cell in row] for row in table.to_numpy()])


def main() -> None:
    words = sys.argv[1:] + ["10000", "20", "0.1"][len(sys.argv) - 1 :]
    nodes, rows, lam = int(words[0]), int(words[1]), words[2]
    x, y, ids, graph = problem(nodes, rows)
    edges = edges_of(graph, ids)
    model = GTVRegressor(edges, lam=float(lam))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model.fit(x, y, nodes=ids)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, solver = [], []
    for _ in range(REPEATS):
        started = time.perf_counter()
        model.fit(x, y, nodes=ids)
        seconds.append(time.perf_counter() - started)
        solver.append(model.solve_seconds_)
    tracemalloc.start()
    model.fit(x, y, nodes=ids)
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with tempfile.TemporaryDirectory() as folder:
        theirs, models = command_line(Path(folder), x, y, ids, edges, lam)
    print(f"{nodes} nodes, {len(edges)} edges, {len(x)} rows, {D} features, lam {lam}, X of {x.nbytes / 2**20:.0f} MiB")
    print(f"fit from Python {min(seconds):.3f} s (solver {min(solver):.3f} s), command line's solver {theirs:.3f} s")
    print(f"ratio {min(seconds) / theirs:.3f}; same bits: {models.tobytes() == np.ascontiguousarray(np.asarray(model.coef_)).tobytes()}")
    print(f"memory of fit in units of X: Python {python / x.nbytes:.2f}, process {(peak - before) * 1024 / x.nbytes:.2f}")


if __name__ == "__main__":
    main()
