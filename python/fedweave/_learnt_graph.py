"""Who should learn with whom: a graph learnt from the rows of nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _engine
from ._base import Networked
from .errors import FedweaveError

# What a comparison of nodes needs to know about the models.
KEPT = ("loss", "huber-delta", "quantile", "seed")


class LearntGraph:
    """Edges `(source, target, weight)`, usable as `graph=`, with the reasons for them.

    `discrepancy` has a number per edge, `probability` too where pairs were tested (`fdr=`), `summary` is what
    `fedweave graph learn --json` prints.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import GTVRegressor, learn_graph
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(80, 2)), np.repeat(["a", "b", "c", "d"], 20)
    >>> y = np.where(ids < "c", X[:, 0], -X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> graph = learn_graph(GTVRegressor(), X, y, nodes=ids, degree=1)
    >>> len(graph), graph.discrepancy.shape
    (2, (2,))
    """

    def __init__(
        self,
        triples: list[tuple[Any, Any, float]],
        discrepancy: np.ndarray,
        probability: np.ndarray | None,
        summary: dict[str, Any],
        text: str,
    ) -> None:
        self._triples, self._text = triples, text
        self.discrepancy, self.probability, self.summary = discrepancy, probability, summary

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        return iter(self._triples)

    def __len__(self) -> int:
        return len(self._triples)

    def to_pandas(self) -> Any:
        """A table with a row per edge."""
        import pandas as pd

        frame = pd.DataFrame(self._triples, columns=["source", "target", "weight"])
        frame["discrepancy"] = self.discrepancy
        return frame if self.probability is None else frame.assign(probability=self.probability)

    def __repr__(self) -> str:
        return self._text


def learn_graph(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    nodes: Any = None,
    sample_weight: Any = None,
    by: str | None = None,
    degree: int | None = None,
    nearest: int | None = None,
    edges_max: int | None = None,
    fdr: float | None = None,
    edge_weights: str | None = None,
) -> LearntGraph:
    """Learns a graph between nodes from their rows; the same as `fedweave graph learn`.

    `by` names a discrepancy: "gradient", "parameters", "moments", "histogram", "wasserstein", "components", "wald", "pooled-fit", "kl", or
    "joint". One of `degree` (weights of every node add up to it; the default, 4), `nearest`, `edges_max` and `fdr` says which pairs
    are joined; `edge_weights` is "rule", "kernel" or "validation". The loss is that of the estimator, whose graph does not matter.
    Give it the rows to train with alone: a graph that has seen the rows it is judged by looks better than it is.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import GTVRegressor, learn_graph
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(80, 2)), np.repeat(["a", "b", "c", "d"], 20)
    >>> y = np.where(ids < "c", X[:, 0], -X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> graph = learn_graph(GTVRegressor(), X, y, nodes=ids, degree=1)
    >>> list(graph)
    [('a', 'b', 1.0), ('c', 'd', 1.0)]
    >>> model = GTVRegressor(graph, lam=0.1).fit(X, y, nodes=ids)
    """
    if not isinstance(estimator, Networked):
        raise TypeError(f"learn_graph: expected a GTVRegressor or GTVClassifier, got {type(estimator).__name__}")
    if nodes is None and getattr(estimator, "node", None) is None:
        raise FedweaveError("learn_graph: which nodes? give nodes=ids or an estimator with node='column'")
    task, net, _ = estimator._prepare(X, y, sample_weight, nodes)
    said = {
        "discrepancy": by,
        "degree": degree,
        "nearest": nearest,
        "edges-max": edges_max,
        "fdr": fdr,
        "edge-weights": edge_weights,
        "no-intercept": not task.rows.intercept,
    }
    task.settings = {**{key: task.settings.get(key) for key in KEPT}, **said}
    out = _engine.learn_graph(task)
    ids = net.by_name.ids
    ends = zip(out["heads"].tolist(), out["tails"].tolist(), out["edge_weights"].tolist())
    triples = [(ids[i], ids[j], weight) for i, j, weight in ends]
    return LearntGraph(triples, out["discrepancy"], out["probability"], json.loads(out["summary"]), out["text"])
