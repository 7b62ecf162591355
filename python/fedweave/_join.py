"""Nodes that were not there at the fit, joined to those that were, whose models stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _engine
from ._checks import one_of
from ._frames import take_apart
from ._graphs import edges_of, knn
from ._network import Network, no_features, positions_of
from ._nodes import Named, names_of_rows, objects
from ._task import Newcomers, Rows
from .errors import FedweaveError, GraphError, ParameterError


class Joining:
    """An estimator whose network new nodes can join."""

    _w: np.ndarray
    _order: np.ndarray
    _known: dict[str, int] | None
    _network_text: str | None
    nodes_: np.ndarray
    positions_: Any
    graph: Any

    def join(self, X: Any, nodes: Any = None, *, rows: Any = None, edges: Any = None, positions: Any = None) -> Any:
        """A copy of this fitted estimator that also has models of the nodes of X that it does not know yet.

        Each is found from the models of its neighbours, which stay as they are, and from its own `rows`, `(X, y, nodes)` or `(X, y)` of
        a DataFrame with the node column, if there are some. Where the graph is `knn(...)`, new nodes are joined with the nearest known
        ones: their positions are columns of X, or `positions`, as `by` of `knn`. Otherwise `edges` says to whom, in any form of a graph;
        without, a new node is joined with those whose models say its `rows` best, as many as nodes have neighbours on average.
        `labels_`, `edges_`, `objective_`, ... of the copy are those of the fit. The same as `fedweave predict --new-nodes`.
        """
        check_is_fitted(self, "_coef")
        known = self._known
        if known is None or self._network_text is None:
            raise FedweaveError(
                "join: there is no network that a node could join: fit with nodes, one loss for all, a penalty on parameters, without privacy"
            )
        X, nodes, columns = take_apart(X, nodes, getattr(self, "node", None), no_features(self))
        if nodes is None:
            raise ValueError("join: which nodes? give nodes=ids (one per row of X)")
        named, codes = names_of_rows(nodes, len(X))
        new = sorted((name, node) for name, node in zip(named.names, named.ids) if name not in known)
        if not new:
            return self
        fresh = Named([node for _, node in new], [name for name, _ in new])
        at = None
        if edges is None and isinstance(self.graph, knn):
            at = self._where(fresh, _of_rows(fresh, named, codes), columns, positions)
        return self._with(fresh, self._rows_of(fresh, rows), at, None if edges is None else self._ends_of(fresh, edges))

    def _join_asked(self, X: Any, nodes: Any, new: Any, interval: Any) -> Any:
        """The estimator that `predict(..., new=...)` asks for."""
        one_of("new", new, ("join",))
        if interval is not None:
            message = "interval: nothing is known about errors at new nodes; leave out new or interval"
            raise ParameterError(message, name="interval", value=interval)
        return self.join(X, nodes)

    def _with(self, fresh: Named, rows: Rows, at: np.ndarray | None, edges: list[tuple[int, int, float]] | None) -> Any:
        estimator: Any = self
        w = np.empty_like(self._w)
        w[self._order] = self._w
        classes = len(getattr(estimator, "classes_", ()))
        task = Newcomers(str(self._network_text), estimator._loss_name(), classes, w, fresh.names, rows, at, edges)
        models = _engine.join(task)
        known = len(self._w)
        twin = copy.copy(estimator)
        twin._w = np.vstack([self._w, models])
        twin._order = np.append(self._order, np.arange(known, known + len(models)))
        twin._known = {**(self._known or {}), **{name: known + i for i, name in enumerate(fresh.names)}}
        twin.nodes_ = objects([*self.nodes_.tolist(), *fresh.ids])
        parts = twin._w.reshape(len(twin._w), estimator._blocks(), -1)
        p = estimator.n_features_in_
        twin._coef = np.ascontiguousarray(parts[:, :, :p])
        twin._intercept = np.ascontiguousarray(parts[:, :, p]) if rows.intercept else np.zeros(parts.shape[:2])
        none = np.zeros(0, dtype=np.int64)
        twin._put_models(Network([], twin.nodes_, none, none, none, none, np.zeros(0)), False)
        return twin

    def _where(self, fresh: Named, of_row: np.ndarray, columns: Mapping[str, np.ndarray], positions: Any) -> np.ndarray:
        """Positions of the new nodes, a row each."""
        rule = self.graph if positions is None else replace(self.graph, by=positions)
        here = of_row >= 0
        at = positions_of(rule, fresh.names, of_row[here], {name: column[here] for name, column in columns.items()}).values
        width = self.positions_.values.shape[1]
        if at.shape[1] != width:
            raise GraphError(f"join: positions have {at.shape[1]} coordinates, those of the known nodes {width}")
        for i in np.flatnonzero(~np.isfinite(at).all(axis=1))[:1]:
            raise GraphError(f"join: node {fresh.ids[i]!r} has no position; give positions={{node: place}}")
        return np.ascontiguousarray(at)

    def _rows_of(self, fresh: Named, rows: Any) -> Rows:
        """Rows with labels of the new nodes; those of others are left out."""
        estimator: Any = self
        none = np.zeros(0, dtype=np.int64)
        intercept = bool(getattr(estimator, "fit_intercept", False))
        if rows is None:
            x, y, of_row = np.zeros((0, estimator.n_features_in_)), np.zeros(0), none
        else:
            if not isinstance(rows, (tuple, list)) or len(rows) not in (2, 3):
                raise TypeError("join: rows must be (X, y, nodes), or (X, y) with a node column in X")
            X, ids, _ = take_apart(rows[0], rows[2] if len(rows) == 3 else None, getattr(self, "node", None), no_features(self))
            if ids is None:
                raise ValueError("join: rows of which nodes? give rows=(X, y, nodes)")
            x = validate_data(estimator, X, dtype=np.float64, reset=False)
            y = estimator._coded(rows[1], len(x))
            of_row = _of_rows(fresh, *names_of_rows(ids, len(x)))
            x, y, of_row = (np.ascontiguousarray(part[of_row >= 0]) for part in (x, y, of_row))
        return Rows(x, y, None, of_row, len(fresh.names), none, none, np.zeros(0), intercept)

    def _ends_of(self, fresh: Named, edges: Any) -> list[tuple[int, int, float]]:
        """Edges between a new node and a known one: their places, and the weight."""
        found, known = edges_of(edges), self._known or {}
        index = {name: i for i, name in enumerate(fresh.names)}
        names = found.nodes.names
        ends = [(names[a], names[b]) for a, b in zip(found.heads.tolist(), found.tails.tolist())]
        return [
            (index[new], int(self._order[known[old]]), weight)
            for pair, weight in zip(ends, found.weights.tolist())
            for new, old in (pair, pair[::-1])
            if new in index and old in known
        ]


def _of_rows(fresh: Named, named: Named, codes: np.ndarray) -> np.ndarray:
    """Which of the new nodes every row belongs to; -1 for none."""
    index = {name: i for i, name in enumerate(fresh.names)}
    return np.array([index.get(name, -1) for name in named.names], dtype=np.int64)[codes]
