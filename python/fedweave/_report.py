"""The page of a fitted estimator: the same as `report.html` of the command line."""

from __future__ import annotations

import html
import json
import math
from typing import Any

import numpy as np

from . import _engine
from ._graphs import LONGITUDE

NODES_DRAWN = 2000


def page(estimator: Any, title: str | None = None) -> str:
    """One self-contained HTML page."""
    return _engine.render(json.dumps(facts(estimator, title), allow_nan=False))


def embedded(estimator: Any) -> str:
    """The page in a frame, for notebooks."""
    return f'<iframe srcdoc="{html.escape(page(estimator), quote=True)}" width="100%" height="640" style="border:0"></iframe>'


def facts(estimator: Any, title: str | None = None) -> dict[str, Any]:
    """What the page says, as plain data."""
    names = estimator.nodes_.tolist()
    step = max(1, -(-len(names) // NODES_DRAWN))
    parameters = np.concatenate([estimator._coef, estimator._intercept[:, :, None]], axis=2)
    if not getattr(estimator, "fit_intercept", False):
        parameters = estimator._coef
    parameters = parameters.reshape(len(names), -1)
    node_labels = _node_labels(estimator)
    places = [_place(estimator.positions_, i) for i in range(0, len(names), step)]
    nodes = [
        {"name": names[i], "rows": int(estimator._rows[i]), "cluster": int(node_labels[i]), "x": x, "y": y}
        | {"parameters": _numbers(parameters[i])}
        for i, (x, y) in zip(range(0, len(names), step), places)
    ]
    shown = f"the picture and the table show every {step}th of the {len(names)} nodes"
    return {
        "title": title or f"{type(estimator).__name__} at {len(names)} nodes",
        "version": f"fedweave {_engine.version()}",
        "what": _what(estimator, parameters.shape[1]),
        "outcome": {
            "status": estimator.status_,
            "objective": _number(estimator.objective_),
            "certified_gap": _number(estimator.certified_gap_),
            "kkt_residual": _number(estimator.kkt_residual_),
            "tolerance": estimator.tol,
            "iterations": estimator.n_iter_,
            "seconds": estimator.solve_seconds_,
        },
        "notices": [shown] if step > 1 else [],
        "coordinates": _coordinates(estimator.positions_),
        "nodes": nodes,
        "edges": _edges(estimator, step),
        "clusters": [
            {"size": len(members), "model": _numbers(model)}
            for members, model in zip(estimator.clusters_, estimator._cluster_models)
        ],
        "history": _history(estimator.history_),
        "lambda_curve": _curve(estimator),
    }


def _node_labels(estimator: Any) -> np.ndarray:
    labels = np.empty(len(estimator.nodes_), dtype=np.int64)
    index = {name: i for i, name in enumerate(estimator.nodes_.tolist())}
    for k, members in enumerate(estimator.clusters_):
        labels[[index[name] for name in members]] = k
    return labels


def _what(estimator: Any, dim: int) -> dict[str, Any]:
    features = [str(name) for name in getattr(estimator, "feature_names_in_", [])]
    if features and getattr(estimator, "fit_intercept", False):
        features.append("intercept")
    return {
        "loss": estimator.loss,
        "penalty": estimator.penalty,
        "lambda": estimator.lam_,
        "solver": estimator.solver_,
        "dim": dim,
        "nodes": len(estimator.nodes_),
        "edges": len(estimator.edges_),
        "rows": int(estimator._rows.sum()),
        "features": features if len(features) == dim else [],
    }


def _edges(estimator: Any, step: int) -> list[dict[str, Any]]:
    index = {name: i for i, name in enumerate(estimator.nodes_.tolist())}
    weights = np.asarray(estimator.edges_)
    ends = ((index[a], index[b]) for a, b in estimator.edges_)
    return [
        {"i": i // step, "j": j // step, "weight": float(weights[e]), "differs": not bool(estimator._fused[e])}
        for e, (i, j) in enumerate(ends)
        if i % step == 0 and j % step == 0
    ]


def _coordinates(positions: Any) -> str:
    if positions is None or positions.values.shape[1] != 2:
        return "none"
    return "geographic" if positions.geographic else "plane"


def _place(positions: Any, node: int) -> tuple[float | None, float | None]:
    """x and y of a node; the longitude is x."""
    if positions is None or positions.values.shape[1] != 2:
        return None, None
    first, second = (_number(value) for value in positions.values[node])
    swapped = positions.geographic and positions.columns[0].lower() not in LONGITUDE
    return (second, first) if swapped else (first, second)


def _history(history: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    columns = (history[name].tolist() for name in ("iteration", "objective", "certified_gap", "kkt_residual"))
    return [{"iteration": k, "objective": _number(f), "gap": _number(g), "kkt": _number(r)} for k, f, g, r in zip(*columns)]


def _curve(estimator: Any) -> dict[str, Any] | None:
    search = estimator.lam_search_
    if search is None:
        return None
    means = ([_number(_mean(row)) for row in search[part]] for part in ("train", "validation"))
    points = [{"lambda": lam, "train": t, "validation": v} for lam, t, v in zip(search["lams"].tolist(), *means)]
    return {"points": points, "chosen": estimator.lam_, "rule": "smallest error on held-out rows"}


def _mean(row: np.ndarray) -> float:
    finite = row[np.isfinite(row)]
    return float(finite.mean()) if len(finite) else math.nan


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _numbers(values: np.ndarray) -> list[float | None]:
    return [_number(value) for value in values.tolist()]
