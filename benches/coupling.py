"""How long it takes to learn a coupling, beside statsmodels' MixedLM.

    python benches/coupling.py target/release/fedweave        (needs numpy, pandas, statsmodels)

Prints wall and processor seconds of `fedweave fit --coupling learnt`, reading and writing files included: the 207 weather stations of data/ with six
parameters, a grid of 10,000 nodes with ten, and two mixed-effects models (no edges, a full covariance) beside statsmodels on
the same rows, with both log-likelihoods.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "mixed_models"))
SIDE, ROWS = 100, 20


def main() -> None:
    """One line for each problem."""
    binary = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stations(folder)
        place = ["--knn", "4", "--by", "lat,lon", "--drop", "lat,lon"]
        line("207 stations, 6 parameters", fit(binary, folder, "stations.csv", place))
        line("the same, structure by the likelihood", fit(binary, folder, "stations.csv", place + ["--structure", "likelihood"]))
        grid(folder)
        line("10,000 nodes, 10 parameters", fit(binary, folder, "grid.csv", ["--edges", "edges.csv", "--no-intercept"]))
        mixed_models(binary, folder)


def line(what: str, result: tuple[float, float, dict], more: str = "") -> None:
    """What was timed, seconds, what was learnt."""
    seconds, processor, summary = result
    coupling = summary["coupling"]
    print(f"{what}: {seconds:.2f} s ({processor:.2f} of processors); {coupling['structure']}, rho {coupling['rho']:.3f}, {summary['status']}{more}", flush=True)


def fit(binary: str, folder: Path, nodes: str, words: list[str]) -> tuple[float, float, dict]:
    """Wall and processor seconds of a fit, and its summary."""
    command = [binary, "fit", nodes, "--target", "y", "--coupling", "learnt", "--json", "--out", "run", "--overwrite", *words]
    start, before = time.perf_counter(), processor_seconds()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode > 1:
        sys.exit(done.stderr)
    return seconds, processor_seconds() - before, json.loads(done.stdout)


def processor_seconds() -> float:
    """What finished programs have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stations(folder: Path) -> None:
    """Ten hours of every station: a cubic in time and the hour of the day."""
    rows = pd.read_csv(ROOT / "data" / "fmi_hourly_2024.csv.gz").rename(columns={"station": "node", "temp": "y"})
    rows.drop(columns="time").groupby("node").sample(10, random_state=0).to_csv(folder / "stations.csv", index=False)


def grid(folder: Path) -> None:
    """Models that follow the grid, with a little of their own."""
    random, n, d = np.random.default_rng(1), SIDE * SIDE, 10
    number = np.arange(n).reshape(SIDE, SIDE)
    edges = np.r_[np.c_[number[:, :-1].ravel(), number[:, 1:].ravel()], np.c_[number[:-1].ravel(), number[1:].ravel()]]
    pd.DataFrame(edges, columns=["source", "target"]).to_csv(folder / "edges.csv", index=False)
    place = np.c_[np.repeat(np.arange(SIDE), SIDE), np.tile(np.arange(SIDE), SIDE)] / SIDE
    waves = random.normal(size=(2, d)) * 4
    w = np.sin(place @ waves) + 0.2 * random.normal(size=(n, d))
    node = np.repeat(np.arange(n), ROWS)
    x = random.normal(size=(n * ROWS, d))
    y = (x * w[node]).sum(axis=1) + random.normal(size=n * ROWS)
    table = pd.DataFrame(x, columns=[f"x{k}" for k in range(d)]).assign(node=node, y=y)
    table.to_csv(folder / "grid.csv", index=False, float_format="%.6g")


def mixed_models(binary: str, folder: Path) -> None:
    """The same rows and model for both programs."""
    from make import lucas, sacramento
    from statsmodels.regression.mixed_linear_model import MixedLM

    warnings.simplefilter("ignore")
    for name, (node, x, y) in {"sacramento": sacramento(), "lucas_housing": lucas()}.items():
        # Both in features of one size: the restricted likelihood depends on their units.
        x[:, :-1] = (x[:, :-1] - x[:, :-1].mean(axis=0)) / x[:, :-1].std(axis=0)
        features = [f"x{k}" for k in range(x.shape[1] - 1)]
        table = pd.DataFrame(x[:, :-1], columns=features).assign(node=node, y=y)
        table.to_csv(folder / "mixed.csv", index=False)
        words = ["--features", ",".join(features), "--structure", "full"]
        ours = min((fit(binary, folder, "mixed.csv", words) for _ in range(3)), key=lambda result: result[0])
        start, before = time.perf_counter(), time.process_time()
        theirs = MixedLM(y, x, groups=node, exog_re=x).fit(reml=True)
        seconds, processor = time.perf_counter() - start, time.process_time() - before
        both = f"; log-likelihood {ours[2]['coupling']['log_likelihood']:.4f}, statsmodels {theirs.llf:.4f}"
        line(name, ours, f"{both} in {seconds:.2f} s ({processor:.2f}), {seconds / ours[0]:.0f} times ({processor / ours[1]:.0f})")


if __name__ == "__main__":
    main()
