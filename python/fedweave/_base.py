"""What all estimators share: from rows to a task for the engine, and from its answer to fitted attributes."""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _engine
from ._checks import level_of, number, threads_of, warn
from ._fitted import groups_of, keep_edges, members, place_of_nodes, show
from ._frames import take_apart
from ._join import Joining
from ._network import Network, network, no_features, one_node, place_rows
from ._nodes import name_of
from ._path import LambdaPath
from ._progress import bar_for
from ._report import Reported
from ._settings import grid_of, held_out_settings, lam_settings, losses_of, matrix_of, model_settings, solver_settings
from ._task import Rows, Task, feature_names
from .errors import EdgeConflictError, FedweaveError, NoMinimiserError, ParameterError, UnknownNodeError


class Networked(Joining, Reported, BaseEstimator):
    """A model at every node of a graph; fitted without `nodes`, one model."""

    LOSSES: tuple[str, ...] = ()
    lam: Any
    lam_: float
    path_: LambdaPath | None

    # -- what subclasses say --------------------------------------------------------------------

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
        raise NotImplementedError

    def _blocks(self) -> int:
        """Number of blocks of parameters (several for several classes)."""
        return 1

    def _class_names(self) -> list[str]:
        """The classes, if labels are their positions."""
        return []

    def _check_weight(self, target: np.ndarray | None, weight: np.ndarray | None) -> None:
        """May refuse weights."""

    def _without_nodes(self, x: np.ndarray) -> Network:
        return one_node(self.graph, x.shape[0])

    def _put_models(self, net: Network, single: bool) -> None:
        raise NotImplementedError

    # -- from rows to a task --------------------------------------------------------------------

    def _prepare(self, X: Any, y: Any, sample_weight: Any, nodes: Any, groups: Any = None) -> tuple[Task, Network, bool]:
        """The task, without lambda, and the network; True if there are no nodes."""
        solver, held_out, matrix = solver_settings(self), held_out_settings(self), matrix_of(self)
        column = getattr(self, "loss_column", None)
        X, nodes, columns = take_apart(X, nodes, getattr(self, "node", None), no_features(self))
        if column is not None and column not in columns:
            raise ValueError(f"loss_column={column!r} names a column: X must be a DataFrame with it")
        target_name = getattr(y, "name", None)
        x, target = self._check_data(X, y)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, x, dtype=np.float64)
        self._check_weight(target, weight)
        features = feature_names(self)
        settings = {**model_settings(self, features), **solver, **held_out}
        settings["target"] = None if target_name is None else str(target_name)
        net = self._without_nodes(x) if nodes is None else network(self.graph, nodes, x.shape[0], columns)
        losses = losses_of(self, net.names, net.node_of_row, columns.get(column) if column is not None else None)
        if losses is not None:
            settings["loss-column"] = "loss"
        if groups is not None:
            settings["split-by"], settings["split"] = "groups", None
        self._names_of_losses = None if losses is None else [loss or settings["loss"] for loss in losses]
        task = Task(
            Rows.of(x, target, weight, net, bool(getattr(self, "fit_intercept", False))),
            net.names,
            features,
            settings,
            classes=self._class_names(),
            positions=net.positions,
            losses=losses,
            groups=groups_of(groups, x.shape[0]),
            penalty_matrix=matrix,
            threads=threads_of(self.n_jobs),
        )
        return task, net, nodes is None

    # -- solving --------------------------------------------------------------------------------

    def _solve(self, task: Task, net: Network, call: Any = None) -> dict[str, Any]:
        bar = bar_for(self.verbose, self.tol)
        task.progress = bar
        try:
            return (call or _engine.fit)(task)
        except NoMinimiserError as error:
            raise NoMinimiserError(str(error), node=net.id_of(error.node)) from None
        except EdgeConflictError as error:
            ends = " - ".join(repr(net.by_name.ids[side[error.second]]) for side in (net.heads, net.tails))
            raise EdgeConflictError(f"graph: edge {ends} is there twice, with different weights", **error.fields) from None
        finally:
            if bar is not None:
                bar.close()

    def _fit(self, X: Any, y: Any, sample_weight: Any, nodes: Any, groups: Any = None) -> Any:
        task, net, single = self._prepare(X, y, sample_weight, nodes, groups)
        task.settings.update(self._lam_settings(task, net))
        self._keep(self._solve(task, net), task, net, single)
        return self

    def _lam_settings(self, task: Task, net: Network) -> dict[str, Any]:
        """Lambda, or how it is chosen."""
        return lam_settings(self.lam)

    # -- from the answer to attributes ----------------------------------------------------------

    def _keep(self, out: dict[str, Any], task: Task, net: Network, single: bool) -> None:
        blocks, p, order = self._blocks(), self.n_features_in_, net.order
        self._w = np.ascontiguousarray(out["w"][order])
        self._doubts, self._order, self._network_text = str(out["intervals"]), order, out.get("network")
        w = self._w.reshape(len(order), blocks, -1)
        self._coef = np.ascontiguousarray(w[:, :, :p])
        self._intercept = np.ascontiguousarray(w[:, :, p]) if task.rows.intercept else np.zeros((len(order), blocks))
        self._known = None if single else net.known()
        if self._names_of_losses is not None:
            self._names_of_losses = [self._names_of_losses[i] for i in order]
        self._put_models(net, single)
        self.nodes_ = net.ids
        self.labels_ = self._cluster_of_node = out["labels"][order]
        self.clusters_ = members(self.labels_, self.nodes_)
        self.objective_ = out["objective"]
        self.certified_gap_ = out["certified_gap"]
        self.kkt_residual_ = out["kkt_residual"]
        # A node on its own is solved at once: scikit-learn counts that as one iteration.
        self.n_iter_ = max(1, out["iterations"])
        self.status_ = out["status"]
        self.solver_ = out["method"]
        self.lam_ = out["lam"]
        self.solve_seconds_ = out["seconds"]
        self.history_ = out["history"]
        self.edges_, self.edge_flow_, self._fused = keep_edges(out, net)
        self.lam_search_ = show(out.get("tuning"), order)
        self.held_out_errors_ = show(out.get("held_out"), order)
        self.positions_ = place_of_nodes(net)
        self.summary_: dict[str, Any] = json.loads(out["summary"])
        self._report = out["report"]
        if out["interrupt"] is not None:
            # The best point so far is kept; whoever pressed Ctrl-C wants to get out.
            raise out["interrupt"]
        if self.status_ != "converged":
            self._warn()

    def _warn(self) -> None:
        gap = "no certificate" if self.certified_gap_ is None else f"certified gap {self.certified_gap_:.1e}"
        warn(
            f"stopped before the tolerance ({self.status_}, {gap}, kkt residual {self.kkt_residual_:.1e}): "
            "raise max_iter or tol, or standardise the features",
            ConvergenceWarning,
        )

    # -- using models ---------------------------------------------------------------------------

    def _scores(self, X: Any, nodes: Any) -> tuple[np.ndarray, np.ndarray]:
        """`x'w` of the model of each row's node, a column per block, and where the node stands in `nodes_`."""
        check_is_fitted(self, "_coef")
        x, index = place_rows(self, X, nodes)
        return _engine.scores(x, index, self._w, self._blocks()), index

    def _ends(self, said: np.ndarray, X: Any, nodes: Any, level: Any) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends around numbers that were predicted."""
        x, index = place_rows(self, X, nodes)
        if self._w.shape[1] > x.shape[1]:
            x = np.column_stack([x, np.ones(len(x))])
        known = _engine.Intervals(self._doubts)
        return known.ends(x, np.ascontiguousarray(said, dtype=np.float64), self._order[index], level_of(level))

    def path(
        self,
        X: Any,
        y: Any = None,
        *,
        nodes: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        lams: Any = None,
        count: int = 50,
        min_ratio: float | None = None,
        breakpoints: float | None = None,
        direction: str = "up",
        partition: Any = None,
    ) -> LambdaPath:
        """Models and clusters for a grid of lambda, smallest first: `lams`, or `count` values of its own.

        `min_ratio` is the smallest value as a share of the largest; `breakpoints` brackets the changes of clusters to that relative
        width; `direction` is that of the walk, "up" or "down". `partition` maps nodes to labels: `path.recovery` then says for which
        lambda this partition is provably recovered. The path is also kept as `path_`; after Ctrl-C that is what was solved so far.
        """
        task, net, _ = self._prepare(X, y, sample_weight, nodes, groups)
        if not len(net.heads):
            raise FedweaveError("path: there are no edges, so nothing depends on lam: give a graph and nodes")
        grid = None if lams is None else grid_of(lams)
        if grid is None and (isinstance(count, bool) or not isinstance(count, numbers.Integral) or not 2 <= count <= 100_000):
            raise ParameterError(f"count is {count!r}; it must be a whole number of at least 2", name="count", value=count)
        for name, value in (("min_ratio", min_ratio), ("breakpoints", breakpoints)):
            if value is not None and not 0 < number(name, value, 0.0, strict=True) < 1:
                raise ParameterError(f"{name} is {value}; it must be between 0 and 1", name=name, value=value)
        task.settings |= {"lambda-grid": grid, "count": None if grid else int(count), "lambda-min-ratio": min_ratio}
        task.settings |= {"breakpoints": breakpoints, "direction": direction}
        return self._walk(task, net, _labels(partition, net))[0]

    def _walk(
        self, task: Task, net: Network, partition: list[str] | None = None, clusters: int | None = None
    ) -> tuple[LambdaPath, dict[str, Any]]:
        """Solves a path and keeps it, also what there is of it when somebody interrupts; also the answer of the engine."""
        out = self._solve(task, net, lambda t: _engine.path(t, partition, clusters))
        self.path_ = LambdaPath(net, out, self._blocks(), self.n_features_in_)
        if out["interrupt"] is not None:
            raise out["interrupt"]
        return self.path_, out


def _labels(partition: Any, net: Network) -> list[str] | None:
    """A label for every node, in the order of the names; `partition` is a mapping, or labels in the order of `nodes_`."""
    if partition is None:
        return None
    if isinstance(partition, Mapping) or hasattr(partition, "items"):
        given = {name_of(node): str(label) for node, label in partition.items()}
        missing = [node for node, name in zip(*(net.by_name.ids, net.names)) if name not in given]
        if missing:
            raise UnknownNodeError(f"partition: node {missing[0]!r} has no label ({len(missing)} such)", node=missing[0])
        return [given[name] for name in net.names]
    labels = [str(label) for label in partition]
    if len(labels) != len(net.names):
        message = f"partition: {len(labels)} labels for {len(net.names)} nodes; give one for each, or a mapping"
        raise ParameterError(message, name="partition", value=partition)
    return [labels[k] for k in net.place]
