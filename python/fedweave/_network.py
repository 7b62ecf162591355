"""Rows, nodes and edges put together. The engine numbers nodes in the order of their names, as the command line does, so that the bits
are the same; users see them in the order of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _engine
from ._checks import warn
from ._frames import take_apart
from ._graphs import Edges, Positions, edges_of, is_geographic, knn, nearest
from ._nodes import Named, locate, name_of, names_of_rows, objects, plain
from .errors import GraphError


@dataclass
class Network:
    """Nodes in the order of their names, the node of every row, the edges, and where nodes are, if that is known.

    `ids` are the nodes as they were given, in the order in which users see them; `order[k]` is the place of `ids[k]` among `names`.
    """

    names: list[str]
    ids: np.ndarray
    order: np.ndarray
    node_of_row: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    positions: Positions | None = None

    @property
    def by_name(self) -> Named:
        """The nodes in the order of their names."""
        ids = objects(self.ids)
        ids[self.order] = self.ids
        return Named(ids.tolist(), self.names)

    @property
    def place(self) -> np.ndarray:
        """Where users see the node that the engine calls i."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return place

    def known(self) -> dict[str, int]:
        """Where users see a node, by its name."""
        return dict(zip(self.names, self.place.tolist()))

    def id_of(self, name: str) -> Any:
        """The node of this name, as it was given."""
        return self.ids[self.place[self.names.index(name)]]


def _nodes(shown: Mapping[str, Any]) -> tuple[list[str], np.ndarray, np.ndarray, dict[str, int]]:
    """Nodes by name in the order users see: the sorted names, the ids, the order, and the number of each name."""
    names = sorted(shown)
    index = dict(zip(names, range(len(names))))
    order = np.fromiter(map(index.__getitem__, shown), dtype=np.int64, count=len(names))
    return names, objects(shown.values()), order, index


def network(graph: Any, nodes: Any, rows: int, columns: Mapping[str, np.ndarray]) -> Network:
    """Joins rows and graph. `columns` are the columns of X that `knn` asked for."""
    mine, codes = names_of_rows(nodes, rows)
    edges = None if isinstance(graph, knn) else edges_of(graph)
    its = _places(graph) if edges is None else edges.nodes
    if edges is not None:
        _mind_strangers(mine, its)
    shown = its.by_name()
    if edges is not None and edges.textual:
        # A file knows the text of an id only; whoever has rows of the node knows what it is.
        shown |= mine.by_name()
    else:
        shown = {**shown, **mine.by_name(), **shown}
    names, ids, order, index = _nodes(shown)
    node_of_row = np.fromiter(map(index.__getitem__, mine.names), dtype=np.int64, count=len(mine.names))[codes]
    net = Network(names, ids, order, node_of_row, *(np.zeros(0, dtype=np.int64),) * 2, np.zeros(0))
    if edges is None:
        net.positions = positions_of(graph, names, node_of_row, columns)
        edges = nearest(graph, net.positions, net.by_name)
    (net.heads, net.tails), net.weights = _ends(edges, index), edges.weights
    return net


def _mind_strangers(mine: Named, its: Named) -> None:
    """Nodes of the data that the graph does not have: worth a warning; an error if it has none of them."""
    there = set(its.names)
    strangers = [node for node, name in zip(mine.ids, mine.names) if name not in there]
    if not its.names or not strangers:
        return
    some = ", ".join(repr(node) for node in strangers[:3])
    if len(strangers) == len(mine.ids):
        others = ", ".join(repr(node) for node in its.ids[:3])
        hint = "; for a matrix, give (matrix, names)" if all(name.isdigit() for name in its.names[:3]) else ""
        raise GraphError(f"graph: it has other nodes ({others}, ...) than the data ({some}, ...){hint}")
    more = ", ..." if len(strangers) > 3 else ""
    count = f"{len(strangers)} node{'s' if len(strangers) > 1 else ''}"
    warn(f"graph: it does not have {count} of the data, which learn alone: {some}{more}")


def of_rows(rows: int) -> Network:
    """Every row is a node, named by its number; there are no edges yet."""
    names, ids, order, _ = _nodes({str(i): i for i in range(rows)})
    none = np.zeros(0, dtype=np.int64)
    return Network(names, ids, order, order.copy(), none, none, np.zeros(0))


def without_rows(graph: Any) -> Network:
    """The nodes and edges of a graph, for somebody who has no rows."""
    edges = edges_of(graph)
    names, ids, order, index = _nodes(edges.nodes.by_name())
    return Network(names, ids, order, np.zeros(0, dtype=np.int64), *_ends(edges, index), edges.weights)


def one_node(graph: Any, rows: int) -> Network:
    """All rows at one node: without ids there is no network."""
    if graph is not None:
        raise ValueError(
            "a graph needs nodes: give nodes=ids (one per row of X), or node='column' and a DataFrame; "
            "inside scikit-learn's tools, enable metadata routing and call set_fit_request(nodes=True)"
        )
    empty = np.zeros(0, dtype=np.int64)
    return Network(["0"], objects([0]), np.zeros(1, dtype=np.int64), np.zeros(rows, dtype=np.int64), empty, empty, np.zeros(0))


def no_features(estimator: Any) -> list[str]:
    """Columns of a DataFrame, beside that of the node, that are no features."""
    graph = getattr(estimator, "graph", None)
    named = [getattr(estimator, name, None) for name in ("loss_column", "time", "split_by")]
    return [*(graph.columns if isinstance(graph, knn) else []), *(column for column in named if column is not None)]


def place_rows(estimator: Any, X: Any, nodes: Any) -> tuple[np.ndarray, np.ndarray]:
    """The features of rows to be predicted, and the position of the node of each, for a fitted estimator."""
    from sklearn.utils.validation import validate_data  # slow to import, and Flower's nodes do without

    known = estimator._known
    X, nodes, _ = take_apart(X, nodes, None if known is None else getattr(estimator, "node", None), no_features(estimator))
    x = validate_data(estimator, X, dtype=np.float64, reset=False)
    if known is None:
        return x, np.zeros(x.shape[0], dtype=np.int64)
    if nodes is None:
        raise ValueError("predict: which nodes? give nodes=ids (one per row of X); the models were fitted with nodes")
    return x, locate(known, nodes, x.shape[0])


def _ends(edges: Edges, index: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    number = np.fromiter(map(index.__getitem__, edges.nodes.names), dtype=np.int64, count=len(edges.nodes.names))
    if not len(number):
        return edges.heads.astype(np.int64), edges.tails.astype(np.int64)
    return number[edges.heads], number[edges.tails]


def _places(rule: knn) -> Named:
    """Nodes that `by` names."""
    if rule.columns or rule.by is None:
        return Named([], [])
    if isinstance(rule.by, Mapping):
        ids = list(rule.by)
    elif hasattr(rule.by, "index") and hasattr(rule.by, "columns"):
        ids = list(rule.by.index)
    else:
        raise TypeError(f"knn: by must be column names, a mapping or a DataFrame, got {type(rule.by).__name__}")
    return Named([plain(node) for node in ids], [name_of(node) for node in ids])


def positions_of(rule: knn, names: list[str], node_of_row: np.ndarray, columns: Mapping[str, np.ndarray]) -> Positions:
    """Where nodes are, by what `knn` says."""
    if rule.by is None:
        raise GraphError("knn: where are the nodes? give by=['lat', 'lon'], a mapping or a DataFrame")
    if rule.columns:
        missing = [column for column in rule.columns if column not in columns]
        if missing:
            raise GraphError(f"knn: X has no column {missing[0]!r}; give a DataFrame with it, or by={{node: position}}")
        means = [_engine.node_means(_numbers(columns[c], c), node_of_row, len(names)) for c in rule.columns]
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


def _numbers(column: np.ndarray, name: str) -> np.ndarray:
    try:
        return np.ascontiguousarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise GraphError(f"knn: column {name!r} does not hold numbers") from None
