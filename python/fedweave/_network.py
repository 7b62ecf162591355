"""Rows, nodes and edges put together: the same numbering of nodes as the command line's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _engine
from ._frames import take_apart
from ._graphs import Edges, Positions, edges_of, is_geographic, knn, nearest
from ._nodes import locate, name_of, names_of_rows
from .errors import GraphError


@dataclass
class Network:
    """Nodes in the order of their names, the node of every row, the edges, and where nodes are, if that is known."""

    names: list[str]
    node_of_row: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    positions: Positions | None = None


def network(graph: Any, nodes: Any, rows: int, columns: Mapping[str, np.ndarray]) -> Network:
    """Joins rows and graph. `columns` are the columns of X that `knn` asked for."""
    names, codes = names_of_rows(nodes, rows)
    edges = None if isinstance(graph, knn) else edges_of(graph)
    known = set(names)
    if edges is not None and edges.names and known.isdisjoint(edges.names):
        mine, its = (", ".join(repr(n) for n in some[:3]) for some in (names, edges.names))
        hint = "; for a matrix, give (matrix, names)" if all(n.isdigit() for n in edges.names[:3]) else ""
        raise GraphError(f"graph: it has other nodes ({its}, ...) than the data ({mine}, ...){hint}")
    union = sorted(known.union(edges.names if edges is not None else _places(graph)))
    index = dict(zip(union, range(len(union))))
    node_of_row = np.fromiter(map(index.__getitem__, names), dtype=np.int64, count=len(names))[codes]
    positions = None
    if edges is None:
        positions = _positions(graph, union, node_of_row, columns)
        edges = nearest(graph, positions, union)
    return Network(union, node_of_row, *_ends(edges, index), edges.weights, positions)


def one_node(graph: Any, rows: int) -> Network:
    """All rows at one node: without ids there is no network."""
    if graph is not None:
        raise ValueError(
            "a graph needs nodes: give nodes=ids (one per row of X), or node='column' and a DataFrame; "
            "inside scikit-learn's tools, enable metadata routing and call set_fit_request(nodes=True)"
        )
    empty = np.zeros(0, dtype=np.int64)
    return Network(["0"], np.zeros(rows, dtype=np.int64), empty, empty, np.zeros(0))


def place_rows(estimator: Any, X: Any, nodes: Any) -> tuple[np.ndarray, np.ndarray]:
    """The features of rows to be predicted, and the position of the node of each, for a fitted estimator."""
    from sklearn.utils.validation import validate_data  # slow to import, and Flower's nodes do without

    graph, known = getattr(estimator, "graph", None), estimator._known
    places = graph.columns if isinstance(graph, knn) else []
    X, nodes, _ = take_apart(X, nodes, None if known is None else getattr(estimator, "node", None), places)
    x = validate_data(estimator, X, dtype=np.float64, reset=False)
    if known is None:
        return x, np.zeros(x.shape[0], dtype=np.int64)
    if nodes is None:
        raise ValueError("predict: which nodes? give nodes=ids (one per row of X); the models were fitted with nodes")
    return x, locate(known, nodes, x.shape[0])


def _ends(edges: Edges, index: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    number = np.fromiter(map(index.__getitem__, edges.names), dtype=np.int64, count=len(edges.names))
    if not len(number):
        return edges.heads.astype(np.int64), edges.tails.astype(np.int64)
    return number[edges.heads], number[edges.tails]


def _places(rule: knn) -> list[str]:
    """Nodes that `by` names."""
    if rule.columns or rule.by is None:
        return []
    if isinstance(rule.by, Mapping):
        return [name_of(node) for node in rule.by]
    if hasattr(rule.by, "index") and hasattr(rule.by, "columns"):
        return [name_of(node) for node in rule.by.index]
    raise TypeError(f"knn: by must be column names, a mapping or a DataFrame, got {type(rule.by).__name__}")


def _positions(rule: knn, names: list[str], node_of_row: np.ndarray, columns: Mapping[str, np.ndarray]) -> Positions:
    if rule.by is None:
        raise GraphError("knn: where are the nodes? give by=['lat', 'lon'], a mapping or a DataFrame")
    if rule.columns:
        missing = [column for column in rule.columns if column not in columns]
        if missing:
            raise GraphError(f"knn: X has no column {missing[0]!r}; give a DataFrame with it, or by={{node: position}}")
        means = [_engine.node_means(columns[c], node_of_row, len(names)) for c in rule.columns]
        return Positions(rule.columns, np.column_stack(means), is_geographic(rule.columns))
    if isinstance(rule.by, Mapping):
        given = {name_of(node): np.atleast_1d(np.asarray(at, dtype=np.float64)) for node, at in rule.by.items()}
        labels: list[str] = []
    else:
        table = rule.by.to_numpy(dtype=np.float64)
        given = {name_of(node): table[k] for k, node in enumerate(rule.by.index)}
        labels = [str(column) for column in rule.by.columns]
    widths = {len(at) for at in given.values()}
    if len(widths) != 1:
        raise GraphError("knn: by must give every node the same number of coordinates")
    width = widths.pop()
    values = np.full((len(names), width), np.nan)
    for i, name in enumerate(names):
        if name in given:
            values[i] = given[name]
    labels = labels or [f"x{j + 1}" for j in range(width)]
    return Positions(labels, values, is_geographic(labels))
