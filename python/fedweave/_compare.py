"""Is the network worth it? The networked models against the alternatives, on held-out rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _engine
from ._base import Networked
from ._checks import number
from ._network import Network
from ._settings import grid_of, lam_settings
from .errors import FedweaveError

# What belongs to a fit alone.
FIT_ONLY = ("time-limit", "loss-column", "ridge", "tolerance")


def compare(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    nodes: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    test_size: float = 0.2,
    validation: float | None = None,
    ridges: Any = None,
    splits: int = 1,
    rivals: bool = True,
    random_state: int | None = None,
    figure: bool = True,
    report: Any = None,
) -> tuple[Any, Any]:
    """Fits local-only models, one global model, the estimator, the estimator on a shuffled graph (the control), and rivals.

    The same as `fedweave compare`: rows of every node are held out to test (`test_size`: a share, or a number) and to validate, `splits`
    times; with `groups` whole groups are. Every method chooses its ridge (from `ridges`) and the networked ones their lam (unless that
    of the estimator is a number) on the validation rows. The `rivals` are what would be used instead: node effects, the mixed model,
    the learnt coupling, boosted trees, a model per cluster that is found, each tuned on the same rows.
    Returns a DataFrame with the mean test error of each method (of the loss; every node counts the same), its standard error,
    and how many nodes do better and worse than with their local model; and a bar chart (None without matplotlib or with
    `figure=False`). `frame.attrs["summary"]` is what the command line writes to summary.json; `report` names a file for the page.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import GTVRegressor, compare
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(60, 4)), np.repeat(["a", "b", "c", "d", "e", "f"], 10)
    >>> y = np.where(ids < "d", X[:, 0], -X[:, 0]) + rng.normal(size=60)
    >>> graph = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> table, _ = compare(GTVRegressor(graph, lam=1.0), X, y, nodes=ids, splits=3, figure=False)
    >>> bool(table["error"]["networked"] < table["error"]["global"])
    True
    """
    if not isinstance(estimator, Networked):
        raise TypeError(f"compare: expected a GTVRegressor or GTVClassifier, with or without CV, got {type(estimator).__name__}")
    if nodes is None and getattr(estimator, "node", None) is None:
        raise FedweaveError("compare: which nodes? give nodes=ids or an estimator with node='column'")
    task, net, _ = estimator._prepare(X, y, sample_weight, nodes, groups)
    asked = {
        "test": number("test_size", test_size, 0.0, strict=True),
        "splits": splits,
        "seed": random_state,
        "validation": validation,
        "rivals": None if rivals else "none",
    }
    task.settings = _settings(estimator, task.settings, ridges, asked)
    out = estimator._solve(task, net, _engine.compare)
    if report is not None:
        from ._report import page

        page(out["report"], report)
    frame = _frame(out, net)
    return frame, _chart(frame) if figure else None


def _settings(estimator: Any, said: dict[str, Any], ridges: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Those of the estimator, but what belongs to a fit alone. A comparison has a tolerance of its own: errors on test rows do not
    depend on the last digits."""
    lams = getattr(estimator, "lams", None)
    return {
        **{key: value for key, value in said.items() if key not in FIT_ONLY},
        **(lam_settings(estimator.lam) if lams is None else {"lambda-grid": grid_of(lams)}),
        **{key: value for key, value in asked.items() if value is not None},
        "ridge": None if ridges is None else grid_of(ridges, "ridges"),
    }


def _frame(out: dict[str, Any], net: Network) -> Any:
    """A row per method; the rest of the answer as attributes."""
    import pandas as pd

    summary = json.loads(out["summary"])
    columns = {"error": "test_error", "standard_error": "standard_error", "nodes_better": "nodes_gain", "nodes_worse": "nodes_lose"}
    methods = list(out["by_node"])
    rows = {shown: [summary[method][key] for method in methods] for shown, key in columns.items()}
    frame = pd.DataFrame(rows, index=pd.Index(methods, name="method")).astype({"error": float, "standard_error": float})
    by_node = {method: np.array(out["by_node"][method], dtype=float)[net.order] for method in methods}
    frame.attrs["by_node"] = pd.DataFrame(by_node, index=pd.Index(net.ids.tolist(), name="node", tupleize_cols=False))
    frame.attrs["summary"] = summary
    return frame


def _chart(frame: Any) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=(6, 3), layout="constrained")
    ax = figure.subplots()
    spread = frame["standard_error"]
    ax.barh(frame.index, frame["error"], xerr=None if spread.isna().any() else spread, color="tab:blue")
    ax.invert_yaxis()
    ax.set_xlabel(f"{frame.attrs['summary']['error']} on test rows")
    return figure
