"""Runs a strategy in Flower's simulation and writes what it found: `flower_simulation.py NODES OUT.json`.

A program of its own, so that whoever starts it can end it and everything that it started.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

LAM, TOL = 0.3, 1e-11


def problem(nodes: int):
    """The rows of numbered nodes, and the edges between them."""
    from flower_grid import rows

    data, edges = rows(nodes, per_node=20)
    return {name.lstrip("n").lstrip("0") or "0": r for name, r in data.items()}, [(int(a[1:]), int(b[1:]), w) for a, b, w in edges]


def load(context):
    """The loss of a node: its partition says which one it is."""
    from fedweave.flower import LocalLoss

    data, _ = problem(int(context.node_config["num-partitions"]))
    return LocalLoss(*data[str(context.node_config["partition-id"])], fit_intercept=False)


def found(result, times: list[float]) -> dict:
    """A result as JSON."""
    return {
        "status": result.status,
        "rounds": result.rounds,
        "objective": result.objective,
        "certified_gap": result.certified_gap,
        "models": {name: list(map(float, result.models[name])) for name in result.models},
        "round_seconds_median": statistics.median(times),
    }


def timed(strategy, grid, **limits):
    """Runs a strategy and takes the time of every round."""
    stamps = [time.monotonic()]
    result = strategy.start(grid, evaluate_fn=lambda *_: stamps.append(time.monotonic()), **limits)
    # The first round also waits for the nodes.
    times = [b - a for a, b in zip(stamps, stamps[1:])]
    return result, times[1:] or times


def main() -> None:
    nodes, out = int(sys.argv[1]), Path(sys.argv[2])
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from fedweave.flower import GTVMin, node_app

    app = ServerApp()

    @app.main()
    def run(grid, context):
        strategy = GTVMin(problem(nodes)[1], lam=LAM, tol=TOL)
        out.write_text(json.dumps(found(*timed(strategy, grid, num_rounds=2000, timeout=120.0))))

    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": 2, "include_dashboard": False}}
    run_simulation(app, node_app(load), num_supernodes=nodes, backend_config=resources)


if __name__ == "__main__":
    main()
