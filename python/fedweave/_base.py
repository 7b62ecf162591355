"""What all estimators share: from rows to a task for the engine, and from its answer to fitted attributes."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _engine
from ._checks import number, one_of, seed_of, threads_of
from ._frames import take_apart
from ._graphs import knn
from ._network import Network, network, one_node, place_rows
from ._path import LambdaPath
from ._progress import bar_for
from ._table import EdgeNames, Table, edge_name
from ._task import PENALTIES, Rows, Task
from .errors import EdgeConflictError, FedweaveError, NoMinimiserError, ParameterError

SOLVERS = ("auto", "primal-dual", "newton", "newton-cg")
ROWS_AT_ONCE = 8192


class Networked(BaseEstimator):
    """A model at every node of a graph; fitted without `nodes`, one model."""

    LOSSES: tuple[str, ...] = ()
    path_: Any

    # -- what subclasses say --------------------------------------------------------------------

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
        raise NotImplementedError

    def _blocks(self) -> int:
        """Number of blocks of parameters (several for several classes)."""
        return 1

    def _settings(self) -> dict[str, Any]:
        """The settings of the task that come from the constructor, checked."""
        lam = self.lam
        if isinstance(lam, str):
            one_of("lam", lam, ("auto",))
        quadratic = self.penalty == "quadratic"
        matrix = None
        if quadratic:
            if self.penalty_matrix is None:
                raise ParameterError("penalty 'quadratic' needs penalty_matrix", name="penalty_matrix", value=None)
            matrix = np.ascontiguousarray(self.penalty_matrix, dtype=np.float64)
        max_iter = number("max_iter", self.max_iter, 1)
        return {
            "loss": one_of("loss", self.loss, self.LOSSES),
            "huber_delta": number("huber_delta", getattr(self, "huber_delta", 1.0), 0.0, strict=True),
            "quantile": number("quantile", getattr(self, "quantile", 0.5), 0.0, strict=True),
            "penalty": one_of("penalty", self.penalty, PENALTIES),
            "penalty_matrix": matrix,
            "intercept": bool(getattr(self, "fit_intercept", False)),
            "ridge": number("ridge", getattr(self, "ridge", 0.0), 0.0),
            "weigh_rows": one_of("node_weight", getattr(self, "node_weight", "equal"), ("equal", "rows")) == "rows",
            "standardize": bool(self.standardize),
            "solver": one_of("solver", self.solver, SOLVERS),
            "tol": number("tol", self.tol, 0.0, strict=True),
            "max_iter": int(max_iter),
            "lam": None if isinstance(lam, str) else number("lam", lam, 0.0),
            "time_limit": None if self.time_limit is None else number("time_limit", self.time_limit, 0.0),
            "threads": threads_of(self.n_jobs),
            "seed": seed_of(self.random_state),
        }

    # -- from rows to a task --------------------------------------------------------------------

    def _prepare(self, X: Any, y: Any, sample_weight: Any, nodes: Any) -> tuple[Task, Network, bool]:
        settings = self._settings()
        places = self.graph.columns if isinstance(self.graph, knn) else []
        X, nodes, columns = take_apart(X, nodes, getattr(self, "node", None), places)
        x, target = self._check_data(X, y)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, x, dtype=np.float64)
        self._check_weight(target, weight)
        single = nodes is None
        if single:
            net = self._without_nodes(x)
        else:
            net = network(self.graph, nodes, x.shape[0], columns)
        task = Task(Rows.of(x, target, weight, net, settings.pop("intercept")), **settings)
        return task, net, single

    def _check_weight(self, target: np.ndarray | None, weight: np.ndarray | None) -> None:
        """May refuse weights."""

    def _without_nodes(self, x: np.ndarray) -> Network:
        return one_node(self.graph, x.shape[0])

    # -- solving --------------------------------------------------------------------------------

    def _solve(self, task: Task, net: Network, what: str = "fitting", call: Any = None) -> dict[str, Any]:
        bar = bar_for(self.verbose, task.tol, what)
        task.progress = bar
        try:
            return (call or _engine.fit)(task)
        except NoMinimiserError as error:
            name = net.names[error.node]
            raise NoMinimiserError(str(error).replace("{node}", repr(name)), node=name) from None
        except EdgeConflictError as error:
            ends = " - ".join(repr(net.names[side[error.second]]) for side in (net.heads, net.tails))
            raise EdgeConflictError(f"graph: edge {ends} is there twice, with different weights", **error.fields) from None
        finally:
            if bar is not None:
                bar.close()

    def _fit(self, X: Any, y: Any, sample_weight: Any, nodes: Any) -> Any:
        task, net, single = self._prepare(X, y, sample_weight, nodes)
        self._choose(task, net)
        self._keep(self._solve(task, net), task, net, single)
        return self

    def _choose(self, task: Task, net: Network) -> None:
        """May set `task.lam`."""

    # -- from the answer to attributes ----------------------------------------------------------

    def _keep(self, out: dict[str, Any], task: Task, net: Network, single: bool) -> None:
        names, blocks = net.names, self._blocks()
        w = out["w"].reshape(len(names), blocks, -1)
        p = self.n_features_in_
        self._coef = np.ascontiguousarray(w[:, :, :p])
        self._intercept = np.ascontiguousarray(w[:, :, p]) if task.rows.intercept else np.zeros((len(names), blocks))
        self._known = None if single else {name: i for i, name in enumerate(names)}
        self._put_models(names, single)
        self.nodes_ = np.array(names, dtype=object)
        self.labels_ = out["labels"]
        self.clusters_ = _clusters(out["labels"], self.nodes_)
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
        pairs = EdgeNames(self.nodes_, out["heads"], out["tails"])
        self.edges_ = Table(pairs, out["edge_weights"], name=edge_name)
        self.edge_flow_ = Table(pairs, out["u"], name=edge_name)
        self.lam_search_ = out.get("tuning")
        self.positions_ = net.positions
        self._rows = np.bincount(net.node_of_row, minlength=len(names))
        self._fused = out["fused"]
        self._cluster_models = out["cluster_models"]
        if out["interrupt"] is not None:
            # The best point so far is kept; whoever pressed Ctrl-C wants to get out.
            raise out["interrupt"]
        if self.status_ != "converged":
            self._warn()

    def _warn(self) -> None:
        gap = "no certificate" if self.certified_gap_ is None else f"certified gap {self.certified_gap_:.1e}"
        warnings.warn(
            f"stopped before the tolerance ({self.status_}, {gap}, kkt residual {self.kkt_residual_:.1e}): "
            "raise max_iter or tol, or standardise the features",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _put_models(self, names: list[str], single: bool) -> None:
        raise NotImplementedError

    # -- using models ---------------------------------------------------------------------------

    def _scores(self, X: Any, nodes: Any) -> np.ndarray:
        """`x'w` of the model of each row's node, a column per block."""
        check_is_fitted(self, "_coef")
        x, index = place_rows(self, X, nodes)
        if self._known is None:
            return x @ self._coef[0].T + self._intercept[0]
        scores = np.empty((x.shape[0], self._blocks()))
        for start in range(0, x.shape[0], ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            # In one layout, so that the sum has one order.
            rows, here = np.ascontiguousarray(x[part]), index[part]
            scores[part] = np.einsum("rj,rbj->rb", rows, self._coef[here]) + self._intercept[here]
        return scores

    def path(
        self,
        X: Any,
        y: Any = None,
        *,
        nodes: Any = None,
        sample_weight: Any = None,
        lams: Any = None,
        count: int = 50,
        min_ratio: float | None = None,
        breakpoints: float | None = None,
    ) -> LambdaPath:
        """Models and clusters for a grid of lambda, smallest first: `lams`, or `count` values of its own.

        `min_ratio` is the smallest value as a share of the largest; `breakpoints` brackets the changes of clusters to that relative
        width. The path is also kept as `path_`; after Ctrl-C that is what was solved so far.
        """
        task, net, _ = self._prepare(X, y, sample_weight, nodes)
        if not len(net.heads):
            raise FedweaveError("path: there are no edges, so nothing depends on lam: give a graph and nodes")
        if lams is not None:
            lams = [number("lams", float(value), 0.0) for value in np.atleast_1d(lams)]
            if not lams:
                raise ParameterError("lams is empty; give at least one value", name="lams", value=lams)
        elif isinstance(count, bool) or not isinstance(count, numbers.Integral) or not 2 <= count <= 100_000:
            raise ParameterError(f"count is {count!r}; it must be a whole number of at least 2", name="count", value=count)
        for name, value in (("min_ratio", min_ratio), ("breakpoints", breakpoints)):
            if value is not None and not 0 < number(name, value, 0.0, strict=True) < 1:
                raise ParameterError(f"{name} is {value}; it must be between 0 and 1", name=name, value=value)
        self._walk(task, net, lams, int(count), min_ratio, breakpoints)
        return self.path_

    def _walk(self, task: Task, net: Network, *ask: Any) -> None:
        """Solves a path and keeps it, also what there is of it when somebody interrupts."""
        out = self._solve(task, net, "lambda", lambda t: _engine.path(t, *ask))
        self.path_ = LambdaPath(net.names, out, self._blocks(), self.n_features_in_)
        if out["interrupt"] is not None:
            raise out["interrupt"]

    def _html_repr(self, *args: Any, **kwargs: Any) -> str:
        """The report, once fitted."""
        if not hasattr(self, "_coef"):
            return super()._html_repr(*args, **kwargs)
        from ._report import embedded

        return embedded(self)

    def report(self, path: Any = None, title: str | None = None) -> str:
        """The report of a fitted estimator as one HTML page; written to `path` if there is one."""
        check_is_fitted(self, "_coef")
        from ._report import page

        text = page(self, title)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text


def _clusters(labels: np.ndarray, nodes: np.ndarray) -> list[list[str]]:
    """The nodes of every cluster."""
    clusters: list[list[str]] = [[] for _ in range(int(labels.max()) + 1 if len(labels) else 0)]
    for label, node in zip(labels.tolist(), nodes.tolist()):
        clusters[label].append(node)
    return clusters
