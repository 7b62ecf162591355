#!/usr/bin/env python3
"""Runs one competitor on one problem and prints one line of JSON.

    race.py --list                      competitors, what they can solve, versions
    race.py FOLDER COMPETITOR [--target F] [--limit SECONDS] [--settings JSON]

Time is wall time of the solver: reading files, importing packages and evaluating objectives are not part of it. With
--target the race ends when the objective is at most F. A line `ready` is printed when the solver starts.
"""
import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path

import settings

HERE = Path(__file__).parent
COMPETITORS = (
    "chambolle_pock", "admm_network_lasso", "admm_sparse", "newton_al", "fused", "clarabel_direct", "cvxpy_clarabel",
    "scs_direct", "cvxpy_scs", "torch_lbfgs", "torch_adam", "conjugate_gradients", "sparse_lu", "sparse_ldl",
    "sparse_cholmod", "sparse_pardiso", "cut_pursuit",
)
PACKAGES = ("numpy", "scipy", "cvxpy", "clarabel", "scs", "qdldl", "torch", "pypardiso", "scikit-sparse",
            "pycut-pursuit")
TRACE_MAX = 50


def version(package):
    try:
        return importlib.metadata.version({"sksparse": "scikit-sparse", "pycut_pursuit": "pycut-pursuit"}.get(package, package))
    except importlib.metadata.PackageNotFoundError:
        return None


def packages(module):
    return getattr(module, "PACKAGES", ("numpy",))


def listing():
    """What there is to race against."""
    def about(name):
        module = importlib.import_module(f"solvers.{name}")
        missing = [package for package in packages(module) if importlib.util.find_spec(package) is None]
        return {"name": name, "title": module.TITLE, "losses": module.LOSSES, "penalties": module.PENALTIES,
                "missing": missing}
    versions = {"Python": platform.python_version()} | {package: version(package) for package in PACKAGES}
    return {"competitors": [about(name) for name in COMPETITORS], "versions": versions}


def race(folder, name, target, limit, options):
    from instance import Instance
    from run import Run
    module = importlib.import_module(f"solvers.{name}")
    for package in packages(module):
        importlib.import_module(package)
    p = Instance(folder)
    run = Run(p, target, limit)
    print("ready", flush=True)
    failure = None
    try:
        module.solve(p, run, **{key: value for key, value in options.items() if key != "threads"})
    except MemoryError:
        failure = "out of memory"
    except Exception as error:  # a competitor's failure is a result, not ours to hide
        failure = f"{type(error).__name__}: {error}".splitlines()[0][:160]
    return result(module, p, run, options, failure)


def result(module, p, run, options, failure):
    best = run.best
    status = "reached" if run.reached else "failed" if failure else "limit" if run.over else "inaccurate"
    seconds, objective, iterations = run.trace[-1] if run.trace else (run.seconds, None, None)
    off = None if best is None or run.target is None else best - run.target
    return {"competitor": module.__name__.split(".")[-1], "problem": p.name, "status": status, "message": failure,
            "version": {package: version(package) for package in packages(module)}, "seconds": seconds,
            "cpu_seconds": run.cpu, "own_seconds": run.own_seconds, "objective": best, "above_target": off,
            "iterations": iterations, "settings": options | getattr(run, "used", {}),
            "trace": run.trace[::max(1, len(run.trace) // TRACE_MAX)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("competitor", nargs="?", choices=COMPETITORS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--target", type=float)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--settings", type=json.loads, default=None)
    given = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if given.list:
        print(json.dumps(listing()))
        return
    if not (given.folder and given.competitor):
        parser.error("a folder and a competitor are needed")
    options = settings.of(given.competitor, Path(given.folder).name) if given.settings is None else given.settings
    if "threads" in options:
        # Read by the libraries when they are imported, so before that.
        for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[variable] = str(options["threads"])
    print(json.dumps(race(given.folder, given.competitor, given.target, given.limit, options)))


if __name__ == "__main__":
    main()
