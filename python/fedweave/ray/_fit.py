"""The driver: reads the edges, cuts the network, and lets the parts run in batches of rounds until they agree."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path

import numpy as np
import ray

from .._checks import number, one_of
from .._table import Table
from ..errors import ParameterError
from ._actor import Job
from ._crew import Crew
from ._cut import labels, pieces, read_network
from ._result import RayResult
from ._tables import RowsFile

LOSSES = ("squared", "absolute", "huber", "quantile", "logistic", "squared-hinge", "poisson")
PENALTIES = ("norm2", "norm1", "norminf", "squared")


def fit(
    rows: str | PathLike[str],
    edges: str | PathLike[str],
    *,
    target: str,
    lam: float,
    node: str = "node",
    features: Sequence[str] | None = None,
    fit_intercept: bool = True,
    loss: str = "squared",
    huber_delta: float = 1.0,
    quantile: float = 0.5,
    ridge: float = 0.0,
    penalty: str = "norm2",
    step_ratio: float = 1.0,
    relaxation: float = 1.8,
    tol: float | None = 1e-6,
    rounds: int = 100_000,
    batch: int = 50,
    parts: int | None = None,
    cut: str = "auto",
    threads: int = 1,
    restarts: int = 10,
    checkpoints: str | PathLike[str] | None = None,
    progress: Callable[[int, float], object] | None = None,
) -> RayResult:
    """The models that `fedweave fit --solver primal-dual` finds, bit by bit, on the machines of a Ray cluster.

    `rows` and `edges` are Parquet files (or folders of them) that all machines can read: rows with columns for their node, the target
    and the features (all columns of numbers that are left, if not named), edges with two columns of nodes and maybe one of weights.

    The network is cut into `parts` (one per `threads` CPUs of the cluster), by METIS or the engine's `own` cut. Every `batch` of rounds,
    all parts save their state in the folder `checkpoints`, `progress(rounds, residual)` is called, and the run ends if no part's residual is above
    `tol` (None: exactly so many `rounds`). If an actor dies, Ray starts it again, up to `restarts` times, and all go back to the last batch.
    """
    began = time.monotonic()
    table = RowsFile.of(fspath(rows), node, target, features, bool(fit_intercept))
    settings = {
        "loss": one_of("loss", loss, LOSSES),
        "huber-delta": number("huber_delta", huber_delta, 0.0, strict=True),
        "quantile": number("quantile", quantile, 0.0, strict=True),
        "ridge": number("ridge", ridge, 0.0),
        "penalty": one_of("penalty", penalty, PENALTIES),
        "lambda": number("lam", lam, 0.0),
    }
    tolerance = None if tol is None else number("tol", tol, 0.0)
    total, step, cores = _count("rounds", rounds), _count("batch", batch), _count("threads", threads)
    if not ray.is_initialized():
        ray.init()
    network = read_network(table.names(), fspath(edges))
    part = labels(network, _parts(parts, cores), cut)
    told = pieces(network, part)
    with _folder(checkpoints) as folder:
        job = Job(table, settings, number("step_ratio", step_ratio, 0.0, strict=True), float(relaxation), str(folder), cores)
        crew = Crew(job, told, _count("restarts", restarts, 0), folder.name)
        try:
            done, residual, status = _rounds(crew, total, step, tolerance, progress)
            answers = crew.ask("models", done)
        finally:
            crew.end()
    models = np.empty((len(network.names), len(table.parameters)))
    for own, answer in enumerate(answers):
        models[part == own] = answer
    return RayResult(
        models=Table(network.names, models, table.parameters),
        status=status,
        rounds=done,
        residual=residual,
        parts=len(told),
        edges_cut=int(np.sum(part[network.heads] != part[network.tails])),
        restarts=crew.restarts,
        seconds=time.monotonic() - began,
    )


def _rounds(
    crew: Crew, total: int, step: int, tolerance: float | None, progress: Callable[[int, float], object] | None
) -> tuple[int, float, str]:
    """Batch by batch; returns how many rounds were done, the residual, and whether it is small enough."""
    crew.start(0)
    done, residual = 0, float("inf")
    while done < total:
        until = min(done + step, total)
        residual = max(crew.ask("advance", done, until))
        done = until
        if progress is not None:
            progress(done, residual)
        if tolerance is not None and residual <= tolerance:
            return done, residual, "converged"
    return done, residual, "iteration-limit"


def _count(name: str, value: int, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    return int(number(name, value, least))


def _parts(parts: int | None, threads: int) -> int:
    """Actors that do not fit into the cluster would wait for ever, and the others for them."""
    room = int(ray.cluster_resources().get("CPU", 0)) // threads
    wanted = max(room, 1) if parts is None else _count("parts", parts)
    if wanted > room:
        message = f"parts is {wanted}; the cluster has CPUs for {room} parts of {threads} threads: add machines, or ask for fewer parts"
        raise ParameterError(message, name="parts", value=wanted)
    return wanted


@contextmanager
def _folder(checkpoints: str | PathLike[str] | None) -> Iterator[Path]:
    """A folder for this run alone, which is gone afterwards."""
    machines = {machine["NodeManagerAddress"] for machine in ray.nodes() if machine["Alive"]}
    if checkpoints is None and len(machines) > 1:
        message = f"the cluster has {len(machines)} machines: name a folder for checkpoints that all of them see, checkpoints='...'"
        raise ParameterError(message, name="checkpoints", value=None)
    run = f"fedweave-{uuid.uuid4().hex[:12]}"
    folder = Path(tempfile.gettempdir() if checkpoints is None else checkpoints).absolute() / run
    try:
        folder.mkdir(mode=0o700, parents=checkpoints is not None)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
