"""lam by cross-validation."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from . import _engine
from ._network import Network
from ._settings import grid_of
from ._task import Task
from .errors import ParameterError


class CrossValidated:
    """Chooses lam before the fit with all rows."""

    lam = "auto"
    lams: Any
    cv: Any
    _solve: Any

    def _lam_settings(self, task: Task, net: Network) -> dict[str, Any]:
        if not len(net.heads):
            # Nothing couples the nodes, so there is nothing to choose.
            self.lams_, self.cv_errors_ = np.zeros(1), np.zeros((1, 0))
            return {"lambda": 0.0}
        lams = self._grid(task, net)
        tried = replace(task, settings={**task.settings, "lambda-grid": lams})
        errors = []
        for held in self._folds(task):
            out = self._solve(tried, net, lambda t, held=held: _engine.validate(t, held))
            errors.append(out["mean"])
        shortest = min(len(column) for column in errors)
        self.cv_errors_ = np.column_stack([column[:shortest] for column in errors])
        self.lams_ = np.sort(lams)[::-1][:shortest]
        mean = np.nanmean(self.cv_errors_, axis=1)
        return {"lambda": float(self.lams_[np.nanargmin(mean)])}

    def _grid(self, task: Task, net: Network) -> list[float]:
        if self.lams is None:
            return self._solve(replace(task), net, _engine.grid).tolist()
        return grid_of(self.lams)

    def _folds(self, task: Task) -> Iterator[np.ndarray]:
        """Marks of the rows held out, fold by fold."""
        rows = task.rows.x.shape[0]
        if isinstance(self.cv, numbers.Integral) and not isinstance(self.cv, bool):
            if self.cv < 2:
                raise ParameterError(f"cv is {self.cv}; it must be at least 2", name="cv", value=self.cv)
            fold = _fold_of_row(task.rows.node_of_row, int(self.cv), task.settings["seed"])
            for k in range(int(self.cv)):
                if (fold == k).any():
                    yield fold == k
            return
        with warnings.catch_warnings():
            # Splitters that keep groups together get the nodes; the others need not say that they ignore them.
            warnings.filterwarnings("ignore", message="The groups parameter is ignored")
            splits = list(check_cv(self.cv).split(task.rows.x, task.rows.y, task.rows.node_of_row))
        for _, held in splits:
            mark = np.zeros(rows, dtype=bool)
            mark[held] = True
            yield mark


def _fold_of_row(node_of_row: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Rows dealt out to folds, separately for every node."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(node_of_row))
    order = order[np.argsort(node_of_row[order], kind="stable")]
    sorted_nodes = node_of_row[order]
    starts = np.flatnonzero(np.r_[True, sorted_nodes[1:] != sorted_nodes[:-1]])
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    # Each node begins with another fold, so that nodes with few rows do not all fill the first one.
    shift = np.repeat(rng.integers(folds, size=len(starts)), np.diff(np.r_[starts, len(order)]))
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = (place + shift) % folds
    return fold

