"""Is the network worth it? The networked models against the alternatives, on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from ._frames import is_frame, take_apart
from ._graphs import knn
from ._network import network
from .errors import FedweaveError

METHODS = ("local", "global", "networked", "shuffled graph")


def compare(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    nodes: Any = None,
    test_size: float = 0.2,
    splits: int = 1,
    random_state: int = 0,
    figure: bool = True,
) -> tuple[Any, Any]:
    """Fits local-only models, one global model, the estimator, and the estimator on a shuffled graph (the control).

    A share `test_size` of the rows of every node is held out, `splits` times. Returns a DataFrame with the mean error of each
    method (squared, or share of wrong classes; every node counts the same), its standard error over the splits, and a bar
    chart (None without matplotlib or with `figure=False`).

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
    import pandas as pd

    if not 0 < test_size < 1 or splits < 1:
        raise FedweaveError("compare: test_size must be between 0 and 1, splits at least 1")
    places = estimator.graph.columns if isinstance(estimator.graph, knn) else []
    features, ids, columns = take_apart(X, nodes, estimator.node, places)
    if ids is None:
        raise FedweaveError("compare: which nodes? give nodes=ids or an estimator with node='column'")
    x = np.asarray(features.to_numpy() if is_frame(features) else features, dtype=np.float64)
    y = np.asarray(y)
    net = network(estimator.graph, ids, x.shape[0], columns)
    names = np.array(net.names, dtype=object)
    of_row = names[net.node_of_row]
    errors = np.empty((splits, len(METHODS)))
    for k in range(splits):
        rng = np.random.default_rng([random_state, k])
        test = _held_out(net.node_of_row, test_size, rng)
        if not test.any():
            raise FedweaveError("compare: no row can be held out: every node has one row only")
        for m, model, with_nodes in _methods(estimator, net, rng):
            train_nodes = {"nodes": of_row[~test]} if with_nodes else {}
            model.fit(x[~test], y[~test], **train_nodes)
            predicted = model.predict(x[test], **({"nodes": of_row[test]} if with_nodes else {}))
            errors[k, m] = _error(estimator, y[test], predicted, net.node_of_row[test])
    spread = errors.std(axis=0, ddof=1) / np.sqrt(splits) if splits > 1 else np.full(len(METHODS), np.nan)
    frame = pd.DataFrame({"error": errors.mean(axis=0), "standard_error": spread}, index=pd.Index(METHODS, name="method"))
    return frame, _chart(frame) if figure else None


def _methods(estimator: Any, net: Any, rng: np.random.Generator) -> Any:
    edges = list(zip(_names(net, net.heads), _names(net, net.tails), net.weights.tolist()))
    moved = rng.permutation(len(net.names))
    shuffled = list(zip(_names(net, moved[net.heads]), _names(net, moved[net.tails]), net.weights.tolist()))
    plain = clone(estimator).set_params(node=None)
    alone = {"lam": 0.0} if "lam" in plain.get_params() else {"lams": [0.0]}
    yield 0, clone(plain).set_params(graph=edges, **alone), True
    yield 1, clone(plain).set_params(graph=None), False
    yield 2, clone(plain).set_params(graph=edges), True
    yield 3, clone(plain).set_params(graph=shuffled), True


def _names(net: Any, index: np.ndarray) -> list[str]:
    return [net.names[i] for i in index.tolist()]


def _held_out(node_of_row: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """A share of the rows of every node, never all of them."""
    test = np.zeros(len(node_of_row), dtype=bool)
    for node in np.unique(node_of_row):
        rows = rng.permutation(np.flatnonzero(node_of_row == node))
        test[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return test


def _error(estimator: Any, y: np.ndarray, predicted: np.ndarray, node: np.ndarray) -> float:
    wrong = (y != predicted).astype(float) if is_classifier(estimator) else (y - predicted) ** 2
    count = np.bincount(node)
    return float((np.bincount(node, weights=wrong)[count > 0] / count[count > 0]).mean())


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
    ax.set_xlabel("error on held-out rows")
    return figure
