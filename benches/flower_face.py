"""Round times of Flower and of our own federation, side by side, on the same problem with the same method.

    .venv/bin/python benches/flower_face.py [seconds per run]

20 nodes: Flower's simulation (ray) against `fedweave up --parts 20`, up to 20 processes. 4 nodes: Flower's superlink and supernodes on loopback with
TLS against `fedweave up --parts 4`, mutual TLS. Flower's times are medians over the rounds of a run that reaches the optimum;
ours are medians over 500 rounds. Start-up is not counted. Everything that is started here is ended here.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "python" / "tests"
sys.path.insert(0, str(TESTS))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from flower_deployment import Deployment  # noqa: E402
from flower_simulation import LAM, problem  # noqa: E402

from fedweave import GTVRegressor  # noqa: E402

ROUNDS = 500


def table(nodes: int):
    """The rows of all nodes, and the edges, as one machine wants them."""
    data, edges = problem(nodes)
    frames = [pd.DataFrame(x).add_prefix("x").assign(node=name, y=y) for name, (x, y) in data.items()]
    return pd.concat(frames), pd.DataFrame(edges, columns=["source", "target", "weight"])


def ours(folder: Path, nodes: int) -> float:
    """Seconds of a round of our own federation, cut into at most a part per node."""
    frame, edges = table(nodes)
    frame.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    words = ["up", "nodes.csv", "--edges", "edges.csv", "--target", "y", "--no-intercept", "--lambda", LAM, "--parts", nodes]
    words += ["--solver", "primal-dual", "--step-ratio", 1, "--rounds", ROUNDS, "--work", "work"]
    subprocess.run([sys.executable, "-m", "fedweave", *map(str, words)], cwd=folder, check=True, capture_output=True)
    parts = [json.loads(path.read_text()) for path in folder.glob("work/part-*/state/result/summary.json")]
    return statistics.median(part["round_seconds_median"] for part in parts)


def simulation(folder: Path, nodes: int, limit: float) -> dict:
    """A run in Flower's simulation."""
    out, log = folder / "found.json", folder / "simulation.log"
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, str(TESTS / "flower_simulation.py"), str(nodes), str(out)]
    with log.open("w") as stream:
        process = subprocess.Popen(command, env=env, stdout=stream, stderr=stream, start_new_session=True)
    try:
        process.wait(limit)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    return json.loads(out.read_text())


def deployment(folder: Path, nodes: int, limit: float) -> dict:
    """A run of Flower's processes with TLS."""
    with Deployment(folder, [str(i) for i in range(nodes)]) as running:
        return running.run(limit, "GTVMin", LAM)


def line(what: str, nodes: int, found: dict, seconds: float) -> None:
    frame, edges = table(nodes)
    model = GTVRegressor(edges, lam=LAM, tol=1e-12, fit_intercept=False, node="node").fit(frame.drop(columns="y"), frame["y"])
    w = np.array([found["models"][name] for name in model.nodes_])
    there = np.asarray(model.coef_)
    far = np.linalg.norm(w - there) / np.linalg.norm(there)
    off = abs(found["objective"] - model.objective_) / model.objective_
    theirs = found["round_seconds_median"]
    print(
        f"{what:<34}{nodes:>6}{found['rounds']:>8}{1e3 * theirs:>14.1f}{1e3 * seconds:>14.3f}{theirs / seconds:>9.0f}"
        f"{off:>12.1e}{far:>12.1e}",
        flush=True,
    )


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended also then
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 900.0
    print(f"{'':<34}{'nodes':>6}{'rounds':>8}{'Flower, ms':>14}{'ours, ms':>14}{'ratio':>9}{'objective':>12}{'models':>12}", flush=True)
    for what, nodes, run in (("simulation (ray)", 20, simulation), ("superlink and supernodes, TLS", 4, deployment)):
        with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
            seconds = ours(Path(here), nodes)
            line(what, nodes, run(Path(there), nodes, limit), seconds)


if __name__ == "__main__":
    main()
