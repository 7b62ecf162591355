"""Graphs from whatever Python people have: networkx, scipy, a table or list of edges, a file, or nearest neighbours."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from . import _engine
from ._nodes import Named, NamelessNode, name_of, numbered, plain
from .errors import EdgeWeightError, GraphError, SelfLoopError

LATITUDE = {"lat", "latitude"}
LONGITUDE = {"lon", "lng", "long", "longitude"}


@dataclass(frozen=True)
class knn:
    """Joins every node with its `k` nearest.

    `by` says where nodes are: names of columns of a DataFrame X (averaged over the rows of a node, and not used as
    features), a mapping from node to coordinates, or a DataFrame with a row of coordinates per node (its index). `metric` is
    "great-circle" (the default for latitude and longitude) or "euclidean". For `ConvexClustering`, `by=None` means the
    points themselves.

    Examples
    --------
    >>> from fedweave import GTVRegressor, knn
    >>> place = {"a": (0.0, 0.0), "b": (0.0, 1.0), "c": (5.0, 5.0)}
    >>> X, y, ids = [[0.0], [1.0]] * 3, [0.0, 1.0, 0.0, 2.0, 0.0, 3.0], ["a", "a", "b", "b", "c", "c"]
    >>> list(GTVRegressor(knn(1, by=place), lam=0.1).fit(X, y, nodes=ids).edges_)
    [('a', 'b'), ('b', 'c')]
    """

    k: int
    by: Any = None
    metric: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of X that are positions."""
        if isinstance(self.by, str):
            return [self.by]
        if isinstance(self.by, (list, tuple)) and all(isinstance(c, str) for c in self.by):
            return list(self.by)
        return []


@dataclass
class Edges:
    """Edges between nodes, some of which may have no edge. Those of a file are known by their names alone."""

    nodes: Named
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    textual: bool = False


@dataclass
class Positions:
    """Where nodes are: a row per node, in the order of the network's names."""

    columns: list[str]
    values: np.ndarray
    geographic: bool
    # With how many nearest every node is joined, and whether distances are on the globe.
    k: int | None = None
    globe: bool = False


def edges_of(graph: Any) -> Edges:
    """The edges of anything but `knn`."""
    if graph is None:
        return _from_columns([], [], [], [])
    if isinstance(graph, (str, os.PathLike)):
        found = _engine.read_edges(os.fspath(graph))
        return _from_file(found)
    if isinstance(graph, tuple) and len(graph) == 2 and _is_matrix(graph[0]):
        return _from_matrix(graph[0], [plain(node) for node in graph[1]])
    if _is_matrix(graph):
        return _from_matrix(graph, range(graph.shape[0]))
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):
        return _from_networkx(graph)
    if hasattr(graph, "columns"):
        return _from_frame(graph)
    if isinstance(graph, Iterable) and not isinstance(graph, Mapping):
        return _from_pairs([tuple(edge) for edge in graph])
    raise TypeError(
        f"graph: expected a networkx.Graph, a scipy sparse matrix, a table or list of edges, a path or knn(k, by=...), "
        f"got {type(graph).__name__}"
    )


def _is_matrix(graph: Any) -> bool:
    return sparse.issparse(graph) or (isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.shape[0] == graph.shape[1])


def _from_file(found: dict[str, Any]) -> Edges:
    """Edges of a file, whose nodes are numbered in the order of their names; users see them in the order of the file."""
    place = {name: k for k, name in enumerate(found["order"])}
    number = np.array([place[name] for name in found["names"]], dtype=np.int64)
    heads, tails = (number[found[side]] for side in ("heads", "tails"))
    return Edges(Named(found["order"], found["order"]), heads, tails, found["edge_weights"], textual=True)


def _from_matrix(matrix: Any, ids: Sequence[Any]) -> Edges:
    names = [name_of(node) for node in ids]
    matrix = sparse.coo_array(matrix)
    n = matrix.shape[0]
    if matrix.shape != (n, n):
        raise GraphError(f"graph: a matrix of weights must be square, found {matrix.shape}")
    if len(names) != n:
        raise GraphError(f"graph: the matrix has {n} rows, but there are {len(names)} names")
    if len(set(names)) != n:
        raise GraphError("graph: two rows of the matrix have the same name")
    matrix = matrix.tocsr()
    matrix.eliminate_zeros()
    if (matrix != matrix.T).nnz:
        raise GraphError("graph: the matrix of weights must be symmetric; an edge has one weight")
    upper = sparse.coo_array(sparse.triu(matrix))
    heads, tails = (np.asarray(side, dtype=np.int64) for side in upper.coords)
    _check(heads, tails, upper.data, ids)
    return Edges(Named(list(ids), names), heads, tails, np.asarray(upper.data, dtype=np.float64))


def _from_networkx(graph: Any) -> Edges:
    if getattr(graph, "is_directed", bool)():
        raise GraphError("graph: it is directed; edges have no direction here: use graph.to_undirected()")
    triples = list(graph.edges(data="weight"))
    weights = [1.0 if w is None else w for _, _, w in triples]
    return _from_columns([a for a, _, _ in triples], [b for _, b, _ in triples], weights, list(graph.nodes))


def _from_frame(frame: Any) -> Edges:
    columns = [str(column) for column in frame.columns]
    if "source" not in columns or "target" not in columns:
        found = ", ".join(columns)
        raise GraphError(f"graph: a table of edges needs the columns source, target and may have weight; found {found}")
    source, target = (frame[column].to_list() for column in ("source", "target"))
    weight = frame["weight"].to_list() if "weight" in columns else [1.0] * len(source)
    return _from_columns(source, target, weight, [])


def _from_pairs(edges: list[tuple[Any, ...]]) -> Edges:
    for k, edge in enumerate(edges):
        if len(edge) not in (2, 3):
            raise GraphError(f"graph: edge {k} is {edge!r}; expected (source, target) or (source, target, weight)")
    weights = [edge[2] if len(edge) == 3 else 1.0 for edge in edges]
    return _from_columns([edge[0] for edge in edges], [edge[1] for edge in edges], weights, [])


def _from_columns(sources: list[Any], targets: list[Any], weights: list[Any], nodes: list[Any]) -> Edges:
    """Edges by the ids of their ends; `nodes` are there even without an edge."""
    try:
        named, code = numbered(chain(nodes, chain.from_iterable(zip(sources, targets))))
    except NamelessNode as error:
        found = [k for k in map(error.position, (sources, targets)) if k is not None]
        what = f"edge {min(found)} has an end" if found else "a node"
        raise GraphError(f"graph: {what} without a name") from None
    heads, tails = (np.fromiter(map(code.__getitem__, ends), dtype=np.int64, count=len(ends)) for ends in (sources, targets))
    values = _weights(weights)
    _check(heads, tails, values, named.ids)
    return Edges(named, heads, tails, values)


def _weights(weights: list[Any]) -> np.ndarray:
    try:
        return np.array(weights, dtype=np.float64).reshape(len(weights))
    except (TypeError, ValueError):
        pass
    for k, weight in enumerate(weights):
        try:
            float(weight)
        except (TypeError, ValueError):
            raise EdgeWeightError(f"graph: edge {k} has weight {weight!r}, not a number", edge=k, weight=weight) from None
    raise GraphError("graph: weights must be numbers, one per edge")


def _check(heads: np.ndarray, tails: np.ndarray, weights: np.ndarray, ids: Sequence[Any]) -> None:
    """Faults of edges, while their ends are known."""
    for k in np.flatnonzero(heads == tails)[:1]:
        raise SelfLoopError(f"graph: node {ids[heads[k]]!r} has an edge to itself", node=ids[heads[k]])
    for k in np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))[:1]:
        ends = f"{ids[heads[k]]!r} - {ids[tails[k]]!r}"
        message = f"graph: edge {ends} has weight {weights[k]}; weights must be positive and finite"
        raise EdgeWeightError(message, edge=int(k), weight=float(weights[k]))


def nearest(rule: knn, positions: Positions, nodes: Named) -> Edges:
    """The edges that `knn` stands for, between nodes in the order of the positions."""
    n = len(nodes.ids)
    if isinstance(rule.k, bool) or not isinstance(rule.k, (int, np.integer)):
        raise TypeError(f"knn: k must be a whole number, got {rule.k!r}")
    if not 0 < rule.k < n:
        raise GraphError(f"knn: k is {rule.k}; it must be at least 1 and below the number of nodes, {n}")
    gaps = np.flatnonzero(~np.isfinite(positions.values).all(axis=1))
    if len(gaps):
        raise GraphError(f"knn: node {nodes.ids[gaps[0]]!r} has no position ({len(gaps)} such)")
    if rule.metric not in (None, "great-circle", "euclidean"):
        raise GraphError(f"knn: metric {rule.metric!r} is unknown; use 'great-circle' or 'euclidean'")
    globe = positions.geographic if rule.metric is None else rule.metric == "great-circle"
    values = np.ascontiguousarray(positions.values, dtype=np.float64)
    if globe:
        if values.shape[1] != 2:
            raise GraphError(f"knn: great circles need latitude and longitude, found {values.shape[1]} coordinates")
        lowered = [column.lower() for column in positions.columns]
        if lowered[0] in LONGITUDE:
            values = np.ascontiguousarray(values[:, ::-1])
    positions.k, positions.globe = int(rule.k), globe
    found = _engine.nearest(values, int(rule.k), globe)
    return Edges(nodes, found["heads"], found["tails"], found["edge_weights"])


def is_geographic(columns: Sequence[str]) -> bool:
    """Two columns whose names say latitude and longitude."""
    lowered = {column.lower() for column in columns}
    return len(columns) == 2 and bool(lowered & LATITUDE) and bool(lowered & LONGITUDE)
