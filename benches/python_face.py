"""What the Python face costs on top of the engine: 10,000 nodes, 10 features.

    .venv/bin/python benches/python_face.py [problem]

Prints the seconds of `fit` from Python and of the solver on the command line, in turn (same numbers, same bits), and how much memory
`fit` takes per row. Problems with more rows tell that from what the solver keeps per node and edge, problems with more features
tell the copies of X from what else there is in a row. Peaks are read from /proc, so that needs Linux.
"""

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent / "compare"))
from problems import PROBLEMS, Instance, quadrants, write  # noqa: E402

from fedweave import GTVRegressor  # noqa: E402

REPEATS = 15
ROWS, FEATURES = (50, 150), (10, 40)


def ready(made: Instance):
    """An estimator, and what it is fitted to."""
    ids = np.array([f"n{i}" for i in range(made.nodes)], dtype=object)
    edges = pd.DataFrame({"source": ids[made.edges[:, 0]], "target": ids[made.edges[:, 1]], "weight": made.weight})
    model = GTVRegressor(edges, lam=made.strength, loss=made.loss, penalty=made.penalty, fit_intercept=False)
    return model, made.x, made.y, ids[made.node]


@dataclass
class Race:
    """Seconds of `fit`, of the solver inside and of the command line's solver, run after run."""

    whole: list[float] = field(default_factory=list)
    here: list[float] = field(default_factory=list)
    there: list[float] = field(default_factory=list)
    same_bits: bool = False

    def ratio(self, of: list[float]) -> float:
        """The median of the ratios of neighbours in time: whatever else the machine does slows down both."""
        return statistics.median(a / b for a, b in zip(of, self.there))


def race(made: Instance) -> Race:
    """Python and the command line in turn."""
    model, x, y, ids = ready(made)
    words = ["fit", "nodes.csv", "--edges", "edges.csv", "--target", "y", "--no-intercept", "--json", "--out", "run"]
    words += ["--overwrite", "--lambda", repr(made.strength), "--loss", made.loss, "--penalty", made.penalty]
    race = Race()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(made, folder)
        for _ in range(REPEATS):
            started = time.perf_counter()
            model.fit(x, y, nodes=ids)
            race.whole.append(time.perf_counter() - started)
            race.here.append(model.solve_seconds_)
            done = subprocess.run([sys.executable, "-m", "fedweave", *words], cwd=folder, capture_output=True, check=True)
            race.there.append(json.loads(done.stdout)["seconds"])
        table = pd.read_csv(folder / "run" / "parameters.csv", dtype=str).set_index("node").loc[model.nodes_.tolist()]
    read = np.array([[float(cell) for cell in row] for row in table.to_numpy()])
    race.same_bits = read.tobytes() == np.ascontiguousarray(np.asarray(model.coef_)).tobytes()
    return race


def status(field: str) -> int:
    """Bytes, from /proc/self/status."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def peak(rows: int, features: int) -> int:
    """The most bytes that `fit` takes beside its arguments."""
    model, x, y, ids = ready(quadrants(6, 10_000, features, rows=rows))
    model.fit(x[:2], y[:2], nodes=ids[:2])  # what is loaded once
    ctypes.CDLL(None).malloc_trim(0)  # memory that was freed and would be used again is not counted before either
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = status("VmRSS")
    model.fit(x, y, nodes=ids)
    return status("VmHWM") - before


def per_row(features: int) -> float:
    """Bytes that `fit` takes for every row; every peak in a process of its own."""

    def peak_of(rows: int) -> int:
        command = [sys.executable, __file__, "--peak", str(rows), str(features)]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    few, many = (min(peak_of(rows) for _ in range(3)) for rows in ROWS)
    return (many - few) / (10_000 * (ROWS[1] - ROWS[0]))


def main() -> None:
    if sys.argv[1:2] == ["--peak"]:
        print(peak(int(sys.argv[2]), int(sys.argv[3])))
        return
    name = sys.argv[1] if len(sys.argv) > 1 else "nl_n10000_d10"
    made = PROBLEMS[name]()
    raced = race(made)
    print(f"{name}: {made.nodes} nodes, {len(made.edges)} edges, {len(made.x)} rows, {made.x.shape[1]} features")
    whole, here, there = (min(seconds) for seconds in (raced.whole, raced.here, raced.there))
    print(f"fastest of {REPEATS}: fit from Python {whole:.3f} s (solver {here:.3f} s), command line's solver {there:.3f} s")
    print(f"ratio {raced.ratio(raced.whole):.3f} (solver alone {raced.ratio(raced.here):.3f}), of the fastest {whole / there:.3f}")
    print(f"same bits: {raced.same_bits}")
    narrow, wide = (per_row(features) for features in FEATURES)
    copies = (wide - narrow) / (8 * (FEATURES[1] - FEATURES[0]))
    rest = narrow - 8 * FEATURES[0] * copies
    print(f"memory of fit: {copies:.2f} copies of X, {rest:.0f} bytes a row beside; all in all {narrow / 8 / FEATURES[0]:.2f} times X")


if __name__ == "__main__":
    main()
