"""Convex clustering: points that are drawn together along the edges of a graph."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import validate_data

from ._base import Networked
from ._graphs import Positions, knn, nearest
from ._network import Network, network, of_rows
from ._settings import lam_settings
from ._table import Table
from ._task import Task
from .errors import ParameterError

NEIGHBOURS = 10


class ConvexClustering(ClusterMixin, Networked):
    """Minimises `sum_i |w_i - x_i|^2 + lam * sum_e A_e * phi(w_i - w_j)`; points with the same `w` are a cluster.

    Without a graph every point is joined with its 10 nearest, with weights `exp(-|x_i - x_j|^2 / s)` where s is the median squared
    length of these edges. With `lam="auto"` the whole path is solved and `lam` is the middle of the longest stretch (on a logarithmic
    scale) with the same clusters, neither as few as the pieces of the graph nor as many as points, as `fedweave path --loss point` chooses;
    with `n_clusters` it is the middle of the values that give that many clusters, or as nearly as possible.

    `labels_` has an entry per row of X; `cluster_centers_` are the common `w`; `path_` is the path, if one was solved. The other
    attributes are those of `GTVRegressor`. `nodes` names the node of each row; without it every row is a node, named by its
    number.

    Examples
    --------
    >>> from fedweave import ConvexClustering, knn
    >>> points = [[0.0, 0.0], [0.0, 0.1], [0.1, 0.0], [9.0, 9.0], [9.0, 9.1], [9.1, 9.0]]
    >>> ConvexClustering(knn(3), n_clusters=2).fit_predict(points).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    LOSSES = ("point",)
    loss = "point"

    def __init__(
        self,
        graph: Any = None,
        *,
        penalty: str = "norm2",
        lam: Any = "auto",
        n_clusters: int | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100_000,
        node: str | None = None,
        standardize: bool = False,
        penalty_matrix: Any = None,
        blocks: Any = None,
        options: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.penalty = penalty
        self.lam = lam
        self.n_clusters = n_clusters
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.node = node
        self.standardize = standardize
        self.penalty_matrix = penalty_matrix
        self.blocks = blocks
        self.options = options
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, nodes: Any = None) -> Any:
        """Clusters the rows of X."""
        return self._fit(X, None, sample_weight, nodes)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None, nodes: Any = None) -> np.ndarray:
        """The cluster of each row of X."""
        return self.fit(X, sample_weight=sample_weight, nodes=nodes).labels_

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, None]:
        return validate_data(self, X, dtype=np.float64), None

    def _without_nodes(self, x: np.ndarray) -> Network:
        if self.graph is not None and not (isinstance(self.graph, knn) and self.graph.by is None):
            return network(self.graph, np.arange(x.shape[0]), x.shape[0], {})
        net = of_rows(x.shape[0])
        if x.shape[0] < 2:
            return net
        points = np.empty_like(x)
        points[net.order] = x
        edges = nearest(self.graph or knn(min(NEIGHBOURS, x.shape[0] - 1)), Positions([], points, False), net.by_name)
        net.heads, net.tails, net.weights = edges.heads, edges.tails, edges.weights
        if self.graph is None:
            net.weights = _closeness(points, edges.heads, edges.tails)
        return net

    def _fit(self, X: Any, y: Any, sample_weight: Any, nodes: Any, groups: Any = None) -> Any:
        clusters = self._count()
        task, net, single = self._prepare(X, y, sample_weight, nodes, groups)
        self.path_ = None
        said = lam_settings(self.lam)
        if said.get("lambda", "auto") != "auto" or not len(net.heads):
            task.settings |= said if len(net.heads) else {"lambda": 0.0}
            self._keep(self._solve(task, net), task, net, single)
            return self
        task.settings |= said
        _, out = self._walk(task, net, clusters=clusters)
        self._keep({**out, **out["fit"]}, task, net, single)
        return self

    def _count(self) -> int | None:
        """The number of clusters that is asked for."""
        count = self.n_clusters
        good = isinstance(count, numbers.Integral) and not isinstance(count, bool) and count >= 1
        if count is not None and not good:
            message = f"n_clusters is {count!r}; it must be None or a whole number of at least 1"
            raise ParameterError(message, name="n_clusters", value=count)
        return None if count is None else int(count)

    def _keep(self, out: dict[str, Any], task: Task, net: Network, single: bool) -> None:
        try:
            super()._keep(out, task, net, False)
        finally:
            self.cluster_centers_ = out["cluster_models"]
            self.labels_ = out["labels"][net.node_of_row]

    def _put_models(self, net: Network, single: bool) -> None:
        self.coef_ = Table(net.ids, self._coef[:, 0], getattr(self, "feature_names_in_", None))


def _closeness(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Gaussian weights in units of the median length; never so small that an edge does not count."""
    squares = ((points[heads] - points[tails]) ** 2).sum(axis=1)
    scale = float(np.median(squares))
    return np.maximum(np.exp(-squares / scale), 1e-6) if scale > 0 else np.ones(len(squares))
