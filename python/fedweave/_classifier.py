"""Classification with a model at every node."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from . import _engine
from ._base import Networked
from ._checks import level_of, one_of
from ._cross import CrossValidated
from ._engine import LossKind
from ._network import Network
from ._nodes import name_of
from ._table import Table
from .errors import LabelError


def _has_probabilities(estimator: Any) -> bool:
    if not LossKind(estimator.loss).has_probabilities:
        raise AttributeError(f"the {estimator.loss} loss has no probabilities; use loss='logistic'")
    return True


class _Classification(ClassifierMixin, Networked):
    LOSSES = tuple(kind.name for kind in LossKind.all() if kind.is_classifier)

    classes_: np.ndarray
    coef_: Any
    intercept_: Any

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        one_of("loss", self.loss, self.LOSSES)
        x, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise LabelError("y has one class only; a classifier needs at least two classes", loss=self.loss)
        if len(self.classes_) > 2 and not LossKind(self.loss).has_probabilities:
            message = f"y has {len(self.classes_)} classes; the {self.loss} loss is for two classes: use loss='logistic'"
            raise LabelError(message, loss=self.loss)
        return x, self._targets(codes)

    def _targets(self, codes: np.ndarray) -> np.ndarray:
        """The engine wants -1 and +1 of two classes, 0, 1, 2, ... of several."""
        return codes.astype(np.float64) if self._kind().scores_classes else 2.0 * codes - 1.0

    def _loss_name(self) -> str:
        return self._kind().name

    def _coded(self, y: Any, rows: int) -> np.ndarray:
        """Labels of more rows, as the engine has them."""
        y = np.asarray(y)
        check_consistent_length(np.empty(rows), y)
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        strange = np.flatnonzero(self.classes_[codes] != y)
        if len(strange):
            raise LabelError(f"row {strange[0]} has the class {y[strange[0]]!r}, which the models do not know", loss=self.loss)
        return self._targets(codes)

    def _check_weight(self, target: np.ndarray | None, weight: np.ndarray | None) -> None:
        if weight is not None and target is not None and len(np.unique(target[weight > 0])) < 2:
            raise LabelError("rows with a positive weight are all of one class; a classifier needs at least two classes")

    def _kind(self) -> LossKind:
        """The loss; for more than two classes that of all of them."""
        return LossKind("multinomial" if len(self.classes_) > 2 else self.loss)

    def _blocks(self) -> int:
        return len(self.classes_) if self._kind().scores_classes else 1

    def _class_names(self) -> list[str]:
        return [name_of(label) for label in self.classes_] if self._kind().scores_classes else []

    def _prepare(self, *args: Any, **kwargs: Any) -> Any:
        task, net, single = super()._prepare(*args, **kwargs)
        task.settings["loss"] = self._kind().name
        if not self._kind().scores_classes:
            task.two_classes = [name_of(label) for label in self.classes_]
        return task, net, single

    def _put_models(self, net: Network, single: bool) -> None:
        if single:
            self.coef_, self.intercept_ = self._coef[0], self._intercept[0]
            return
        coef, intercept = self._coef, self._intercept
        if self._blocks() == 1:
            coef, intercept = coef[:, 0], intercept[:, 0]
        columns = getattr(self, "feature_names_in_", None)
        self.coef_, self.intercept_ = Table(net.ids, coef, columns), Table(net.ids, intercept)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None, groups: Any = None) -> Any:
        """Fits a model for every node: `nodes` names the node of each row. Without it there is one node.

        With `groups`, rows are held out by whole groups (dates, say), the same at all nodes.
        """
        return self._fit(X, y, sample_weight, nodes, groups)

    def decision_function(self, X: Any, nodes: Any = None) -> np.ndarray:
        """Scores: one per row for two classes, one per class for several."""
        scores, _ = self._scores(X, nodes)
        if self._blocks() == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any, nodes: Any = None, interval: float | None = None, new: str | None = None) -> Any:
        """Predicts the class of each row with the model of its node.

        With `interval=0.9` also which classes belong to a set that holds the class of a row with this probability:
        `(predictions, sets)`, with a column of `sets` for each of `classes_`. As for `GTVRegressor`, rows that models had not seen
        are needed. With `new="join"` also rows of nodes that were not there at the fit: see `join`.
        """
        if new is not None:
            return self._join_asked(X, nodes, new, interval).predict(X, nodes=nodes)
        scores, index = self._scores(X, nodes)
        said = self.classes_[self._kind().classes(scores)]
        if interval is None:
            return said
        outputs = np.ascontiguousarray(self.predict_proba(X, nodes=nodes) if self._kind().has_probabilities else scores)
        return said, _engine.Intervals(self._doubts).sets(outputs, self._order[index], level_of(interval))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, nodes: Any = None) -> np.ndarray:
        """Probabilities of the classes, a column each."""
        scores, _ = self._scores(X, nodes)
        said = self._kind().respond(scores)
        return said if said.shape[1] > 1 else np.hstack([1.0 - said, said])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any, nodes: Any = None) -> np.ndarray:
        """Logarithms of the probabilities."""
        return np.log(self.predict_proba(X, nodes=nodes))

    def score(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None) -> float:
        """The share of rows that are predicted right."""
        return float(accuracy_score(y, self.predict(X, nodes=nodes), sample_weight=sample_weight))


class GTVClassifier(_Classification):
    """A linear classifier at every node of a graph; neighbours are drawn together.

    `loss` is "logistic" (softmax regression if there are more than two classes), "multinomial" (softmax also for two) or
    "squared-hinge" (two classes). The ridge is not zero by default because classes that a model can tell apart perfectly would
    let its parameters grow without bound. Everything else is as in `GTVRegressor`; also `classes_`. For several classes a row
    of `coef_` has the shape (classes, features).

    Examples
    --------
    >>> from fedweave import GTVClassifier
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]] * 2, ["no", "no", "yes", "yes"] + ["yes", "yes", "no", "no"]
    >>> ids = ["a"] * 4 + ["b"] * 4
    >>> model = GTVClassifier([("a", "b")], lam=0.01).fit(X, y, nodes=ids)
    >>> model.predict([[3.0], [3.0]], nodes=["a", "b"]).tolist()
    ['yes', 'no']
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        loss: str = "logistic",
        penalty: str = "norm2",
        lam: Any = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100_000,
        fit_intercept: bool = True,
        ridge: float = 1e-3,
        node: str | None = None,
        node_weight: str = "equal",
        standardize: bool = False,
        penalty_matrix: Any = None,
        blocks: Any = None,
        options: Any = None,
        validation: float | None = None,
        split: str = "random",
        lam_rule: str = "minimum",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.loss = loss
        self.penalty = penalty
        self.lam = lam
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.ridge = ridge
        self.node = node
        self.node_weight = node_weight
        self.standardize = standardize
        self.penalty_matrix = penalty_matrix
        self.blocks = blocks
        self.options = options
        self.validation = validation
        self.split = split
        self.lam_rule = lam_rule
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class GTVClassifierCV(CrossValidated, _Classification):
    """`GTVClassifier` with lam chosen by cross-validation; `lams`, `cv` and the results are as in `GTVRegressorCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import GTVClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    >>> y = np.where(X[:, 0] + rng.normal(size=60) > 0, "yes", "no")
    >>> model = GTVClassifierCV([("a", "b"), ("b", "c")], lams=[1e-6, 1.0], cv=4).fit(X, y, nodes=ids)
    >>> model.lam_, model.classes_.tolist()
    (1.0, ['no', 'yes'])
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        lams: Any = None,
        cv: Any = 5,
        loss: str = "logistic",
        penalty: str = "norm2",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100_000,
        fit_intercept: bool = True,
        ridge: float = 1e-3,
        node: str | None = None,
        node_weight: str = "equal",
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
        self.lams = lams
        self.cv = cv
        self.loss = loss
        self.penalty = penalty
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.ridge = ridge
        self.node = node
        self.node_weight = node_weight
        self.standardize = standardize
        self.penalty_matrix = penalty_matrix
        self.blocks = blocks
        self.options = options
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
