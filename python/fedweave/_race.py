"""A race of predictors on folds: what `TunedRegressor` and `TunedClassifier` share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _engine
from ._checks import number, one_of, seed_of, threads_of
from ._fitted import groups_of, place_of_nodes
from ._frames import is_frame, take_apart
from ._network import Network, network, no_features, one_node, place_rows
from ._progress import bar_for
from ._report import Reported
from ._settings import options_of
from ._task import Rows, Task, feature_names
from ._times import times_of
from .errors import FedweaveError, ParameterError

SPLITS = ("random", "last", "nodes")


class Tuned(Reported, BaseEstimator):
    """A race on folds; fitted without `nodes`, at one node."""

    LOSSES: tuple[str, ...] = ()

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _labels(self, y: Any) -> np.ndarray:
        """Labels of further rows as numbers."""
        raise NotImplementedError

    # -- from rows to a task --------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None, groups: Any = None, times: Any = None) -> Any:
        """Runs the race and fits its winners to all rows: `nodes` names the node of each row. Without it there is one node.

        With `groups` rows are held out by whole groups (dates, say), the same at all nodes. `times` says when each row was observed:
        numbers, or dates; they matter for `split="last"` and for what nodes share at a time.
        """
        task, net, single = self._prepare(X, y, sample_weight, nodes, groups, times)
        bar = bar_for(self.verbose, 1.0, "tuning")
        task.progress = bar
        try:
            out = _engine.tune(task)
        finally:
            if bar is not None:
                bar.close()
        self._keep(out, net, single)
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, nodes: Any, groups: Any, times: Any) -> tuple[Task, Network, bool]:
        """The task and the network; True if there are no nodes."""
        settings = self._settings()
        X, nodes, columns = take_apart(X, nodes, self.node, no_features(self))
        groups = self._column(self.split_by, "split_by", groups, columns)
        times = self._column(self.time, "time", times, columns)
        target_name = getattr(y, "name", None)
        x, target = self._check_data(X, y)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, x, dtype=np.float64)
        settings["target"] = None if target_name is None else str(target_name)
        if groups is not None:
            settings["split-by"], settings["split"] = self.split_by or "groups", None
        net = one_node(self.graph, x.shape[0]) if nodes is None else network(self.graph, nodes, x.shape[0], columns)
        when = None if times is None else times_of(times, x.shape[0])
        if when is not None and not np.isfinite(when).all():
            raise FedweaveError(f"times: row {int(np.flatnonzero(~np.isfinite(when))[0])} has no time")
        task = Task(
            Rows.of(x, target, weight, net, bool(self.fit_intercept)),
            net.names,
            feature_names(self),
            settings,
            positions=net.positions,
            groups=groups_of(groups, x.shape[0]),
            times=when,
            threads=threads_of(self.n_jobs),
        )
        return task, net, nodes is None

    def _settings(self) -> dict[str, Any]:
        """What the job is told: the keys of config files and flags."""
        limit = self.time_limit
        split = one_of("split", self.split, SPLITS)
        return {
            "tune": self.recipe is None,
            "recipe": recipe_of(self.recipe),
            "loss": one_of("loss", getattr(self, "loss", "logistic"), self.LOSSES),
            "huber-delta": number("huber_delta", getattr(self, "huber_delta", 1.0), 0.0, strict=True),
            "quantile": number("quantile", getattr(self, "quantile", 0.5), 0.0, strict=True),
            "folds": int(number("folds", self.folds, 2)),
            "split": None if split == "random" else split,
            "seed": seed_of(self.random_state),
            "time-limit": None if limit is None else number("time_limit", limit, 0.0),
            **options_of(self.options),
        }

    def _column(self, name: str | None, argument: str, given: Any, columns: Mapping[str, np.ndarray]) -> Any:
        """What was given, or the column of X that was named."""
        if given is not None or name is None:
            return given
        if name not in columns:
            raise ValueError(f"{argument}={name!r} names a column: X must be a DataFrame with it")
        return columns[name]

    # -- from the answer to attributes ----------------------------------------------------------

    def _keep(self, out: dict[str, Any], net: Network, single: bool) -> None:
        self._blend, self._doubts = str(out["blend"]), str(out["intervals"])
        self._order, self._known = net.order, None if single else net.known()
        self.nodes_ = net.ids
        self.summary_: dict[str, Any] = json.loads(out["summary"])
        self._report = out["report"]
        self.recipe_ = str(self.summary_["recipe"])
        self.candidates_ = _frame(self.summary_["candidates"])
        self.cv_error_ = self.summary_["validation_error"]
        self.cv_errors_ = out["by_node"][net.order]
        self.status_ = self.summary_["status"]
        self.positions_ = place_of_nodes(net)
        if out["interrupt"] is not None:
            # What had run so far is kept; whoever pressed Ctrl-C wants to get out.
            raise out["interrupt"]

    # -- using the winners ----------------------------------------------------------------------

    def _place(self, X: Any, nodes: Any, times: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Features with the ones of the intercept, the node of each row as the engine counts, and times if they are known."""
        if times is None and self.time is not None and is_frame(X) and self.time in list(X.columns):
            times = X[self.time]
        x, index = place_rows(self, X, nodes)
        if self.fit_intercept:
            x = np.column_stack([x, np.ones(len(x))])
        return np.ascontiguousarray(x), self._order[index], None if times is None else times_of(times, len(x))

    def _means(self, X: Any, nodes: Any, times: Any, observed: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, their nodes, and the mean that is predicted for each."""
        check_is_fitted(self, "_blend")
        x, index, when = self._place(X, nodes, times)
        blend = _engine.Blend(self._blend, x.shape[1], None if observed is None else self._seen(observed))
        return x, index, blend.predict(x, index, when, threads_of(self.n_jobs))

    def _seen(self, observed: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows with labels that were seen since the fit."""
        if not isinstance(observed, (tuple, list)) or not 2 <= len(observed) <= 4:
            raise TypeError("observed: expected (X, y, nodes, times); nodes and times may be columns of X")
        X, y, nodes, times = [*observed, None, None][:4]
        x, index, when = self._place(X, nodes, times)
        if when is None:
            raise FedweaveError("observed: when were the rows observed? give (X, y, nodes, times), or time='column' and a DataFrame")
        return x, index, self._labels(y), when


def recipe_of(recipe: Any) -> list[str] | None:
    """Parts of a recipe as the command line writes them: of a text, of a list of parts, or of shares by name."""
    if recipe is None:
        return None
    if isinstance(recipe, str):
        return [part.strip() for part in recipe.split(",")]
    if isinstance(recipe, Mapping):
        return [f"{name}:{number('recipe', share, 0.0, strict=True)!r}" for name, share in recipe.items()]
    if isinstance(recipe, Sequence) and all(isinstance(part, str) for part in recipe):
        return list(recipe)
    raise ParameterError(f"recipe is {recipe!r}; it must be a text such as recipe_, or shares by name", name="recipe", value=recipe)


def _frame(candidates: list[dict[str, Any]]) -> Any:
    columns = ["name", "error", "standard_error", "share", "chosen"]
    try:
        import pandas as pd
    except ImportError:
        return [{column: row[column] for column in columns} for row in candidates]
    return pd.DataFrame(candidates, columns=columns)
