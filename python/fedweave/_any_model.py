"""What estimators with a model of any class at a node share: labels, predictions, the names of nodes in errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _engine
from ._checks import level_of, one_of
from ._local import Adapter
from ._network import Network, place_rows
from ._table import Table
from .errors import FedweaveError, LabelError, ModelError

TASKS = ("regression", "classification")


def _classifies(estimator: Any) -> bool:
    if estimator.task != "classification":
        raise AttributeError("there are no probabilities in regression; give task='classification'")
    return True


class AnyModel(BaseEstimator):
    """An estimator with `task`, `models` by node in `_models`, `_known` positions of nodes and `_scaling` of features."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.task == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, int]:
        """Features, targets, and the number of classes; no class for regression."""
        classify = one_of("task", self.task, TASKS) == "classification"
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=not classify)
        if not classify:
            return x, np.ascontiguousarray(y, dtype=np.float64), 0
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise LabelError("y has one class only; a classifier needs at least two classes")
        return x, codes.astype(np.float64), len(self.classes_)

    def _outputs(self, models: Sequence[Any], X: Any, nodes: Any) -> np.ndarray:
        """A number, or a probability per class, for every row, by the model of its node."""
        x, index = place_rows(self, X, nodes)
        if self._scaling is not None:
            mean, scale = self._scaling
            x = (x - mean) / scale
        out = np.empty((len(x), len(self.classes_) if self.task == "classification" else 1))
        order = np.argsort(index, kind="stable")
        ends = np.flatnonzero(np.diff(index[order], append=-1)) + 1
        for rows in np.split(order, ends[:-1]) if len(order) else []:
            out[rows] = models[index[rows[0]]].outputs(np.ascontiguousarray(x[rows]))
        return out

    def _labels(self, outputs: np.ndarray) -> np.ndarray:
        return self.classes_[outputs.argmax(axis=1)] if self.task == "classification" else outputs[:, 0]

    def predict(self, X: Any, nodes: Any = None, interval: float | None = None) -> Any:
        """Predicts each row with the model of its node.

        With `interval=0.9` also what holds the label of a row with this probability, if rows were held out or dealt to folds:
        `(predictions, lower, upper)` of numbers, `(predictions, sets)` of classes, with a column of `sets` for each of `classes_`.
        """
        check_is_fitted(self, "_models")
        outputs = self._outputs(self._models, X, nodes)
        said = self._labels(outputs)
        return said if interval is None else (said, *self._intervals(outputs, X, nodes, level_of(interval)))

    def _intervals(self, outputs: np.ndarray, X: Any, nodes: Any, level: float) -> tuple[np.ndarray, ...]:
        """Lower and upper ends, or sets."""
        x, index = place_rows(self, X, nodes)
        if getattr(self, "_doubts", None) is None:
            raise FedweaveError("interval: this estimator does not know how far its predictions are off")
        known, node = _engine.Intervals(self._doubts), self._order[index]
        if self.task == "classification":
            return (known.sets(np.ascontiguousarray(outputs), node, level),)
        return known.ends(x, np.ascontiguousarray(outputs[:, 0]), node, level)

    @available_if(_classifies)
    def predict_proba(self, X: Any, nodes: Any = None) -> np.ndarray:
        """Probabilities of the classes, a column each."""
        check_is_fitted(self, "_models")
        return self._outputs(self._models, X, nodes)

    def score(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None) -> float:
        """The coefficient of determination, or the share of rows that are predicted right."""
        measure = accuracy_score if self.task == "classification" else r2_score
        return float(measure(y, self.predict(X, nodes=nodes), sample_weight=sample_weight))


def table_of(nodes: Sequence[Any] | np.ndarray, models: Sequence[Any]) -> Table:
    """Models by node: estimators without their adapters."""
    bare = np.empty(len(models), dtype=object)
    for i, model in enumerate(models):
        bare[i] = model.estimator if isinstance(model, Adapter) else model
    return Table(nodes, bare)


def ask(call: Any, task: Any, net: Network) -> dict[str, Any]:
    """Asks the engine; an error about a node gets the node as it was given."""
    try:
        return call(task)
    except ModelError as error:
        name = error.fields.get("node")
        if name not in net.names:
            raise
        raise ModelError(str(error), node=net.id_of(name)) from None
