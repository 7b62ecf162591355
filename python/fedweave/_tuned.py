"""The predictor that suits the rows: candidates race on folds, and the winners are fitted to all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from . import _engine
from ._checks import level_of
from ._engine import LossKind
from ._race import Tuned
from .errors import LabelError


class TunedRegressor(RegressorMixin, Tuned):
    """The predictor that suits the rows: linear couplings, boosted trees, a forest and mixtures of them race on folds.

    The same as `fedweave fit --tune`: rows are held out in turn, every candidate predicts them, and the winners, with the shares that
    predict best, are fitted to all rows.

    Parameters
    ----------
    graph : as in `GTVRegressor`
    loss : "squared", "absolute", "huber" (`huber_delta`), "poisson" or "quantile" (`quantile`)
    folds : how many times rows are held out
    split : which: "random", rows drawn separately for every node; "last", the next rows of every node; "nodes", whole nodes
    split_by : name of the column of a DataFrame X whose values are held out together, the same at all nodes; or `fit(..., groups=...)`
    time : name of the column of a DataFrame X that says when a row was observed; or `fit(..., times=...)`. Nodes that share shocks at a time
        then learn from each other's rows of that time.
    recipe : the outcome of an earlier race (`recipe_`), or `{name: share}`: only that is fitted
    time_limit : seconds after which no further candidate begins
    node : name of the column of a DataFrame X that names the node of a row
    options : whatever else `fedweave fit --tune` can be told, by name
    n_jobs : threads; the result does not depend on it

    Attributes
    ----------
    recipe_ : the winners and their shares, for `recipe=`
    candidates_ : all that took part, best first: name, error on rows not trained with, standard_error, share, and what it chose (a DataFrame
        if pandas is there, else a list of dictionaries)
    cv_error_, cv_errors_ : the error of the winners on rows not trained with; the same by node, in the order of `nodes_`
    nodes_ : the nodes, in the order of the graph
    status_ : "done", or "stopped" before all candidates had run
    summary_ : what the command line writes to summary.json

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import TunedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(80, 2)), np.repeat(["a", "b", "c", "d"], 20)
    >>> y = X[:, 0] + (ids == "a") + 0.1 * rng.normal(size=80)
    >>> model = TunedRegressor([("a", "b"), ("b", "c"), ("c", "d")]).fit(X, y, nodes=ids)
    >>> model.cv_error_ < 0.02
    True
    >>> prediction, lower, upper = model.predict([[1.0, 0.0]], nodes=["a"], interval=0.9)
    >>> bool(lower[0] < 2.0 < upper[0])
    True
    """

    LOSSES = tuple(kind.name for kind in LossKind.all() if kind.predicts and not kind.is_classifier)

    def __init__(
        self,
        graph: Any = None,
        *,
        loss: str = "squared",
        folds: int = 5,
        split: str = "random",
        split_by: str | None = None,
        time: str | None = None,
        recipe: Any = None,
        fit_intercept: bool = True,
        node: str | None = None,
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        options: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.loss = loss
        self.folds = folds
        self.split = split
        self.split_by = split_by
        self.time = time
        self.recipe = recipe
        self.fit_intercept = fit_intercept
        self.node = node
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.options = options
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        return x, np.ascontiguousarray(y, dtype=np.float64)

    def _labels(self, y: Any) -> np.ndarray:
        return np.ascontiguousarray(y, dtype=np.float64)

    def predict(self, X: Any, nodes: Any = None, times: Any = None, observed: Any = None, interval: float | None = None) -> Any:
        """Predicts each row with what won, at its node and, where nodes share shocks, at its time.

        `observed=(X, y, nodes, times)` are rows with labels that were seen since the fit: they say more about what nodes share at a
        time. With `interval=0.9` also the lower and upper ends of an interval that holds the label of a row with this probability:
        `(predictions, lower, upper)`, calibrated on the rows that were held out in turn.
        """
        x, index, said = self._means(X, nodes, times, observed)
        if interval is None:
            return said
        return said, *_engine.Intervals(self._doubts).ends(x, said, index, level_of(interval))

    def score(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None, times: Any = None) -> float:
        """The coefficient of determination of the predictions."""
        return float(r2_score(y, self.predict(X, nodes=nodes, times=times), sample_weight=sample_weight))


class TunedClassifier(ClassifierMixin, Tuned):
    """`TunedRegressor` for two classes: the race is about their probabilities (logistic loss).

    Also `classes_`; everything else is as in `TunedRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import TunedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(80, 2)), np.repeat(["a", "b", "c", "d"], 20)
    >>> y = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0, "yes", "no")
    >>> model = TunedClassifier([("a", "b"), ("b", "c"), ("c", "d")]).fit(X, y, nodes=ids)
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]], nodes=["a", "b"]).tolist()
    ['yes', 'no']
    """

    LOSSES = ("logistic",)
    classes_: np.ndarray

    def __init__(
        self,
        graph: Any = None,
        *,
        folds: int = 5,
        split: str = "random",
        split_by: str | None = None,
        time: str | None = None,
        recipe: Any = None,
        fit_intercept: bool = True,
        node: str | None = None,
        options: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.folds = folds
        self.split = split
        self.split_by = split_by
        self.time = time
        self.recipe = recipe
        self.fit_intercept = fit_intercept
        self.node = node
        self.options = options
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        x, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) > 2:
            # Word for word what scikit-learn's checks look for.
            raise LabelError(f"Only binary classification is supported. The number of classes is {len(self.classes_)}.", loss="logistic")
        if len(self.classes_) < 2:
            raise LabelError("y has one class only; a classifier needs at least two classes", loss="logistic")
        return x, self._labels(y)

    def _labels(self, y: Any) -> np.ndarray:
        labels = np.asarray(y)
        if not np.isin(labels, self.classes_).all():
            raise LabelError(f"y: there are other classes than {self.classes_.tolist()}", loss="logistic")
        return (labels == self.classes_[1]).astype(np.float64)

    def predict(self, X: Any, nodes: Any = None, times: Any = None, observed: Any = None, interval: float | None = None) -> Any:
        """Predicts the class of each row; the arguments are those of `TunedRegressor.predict`.

        With `interval=0.9` also which classes belong to a set that holds the class of a row with this probability:
        `(predictions, sets)`, with a column of `sets` for each of `classes_`.
        """
        _, index, mean = self._means(X, nodes, times, observed)
        said = self.classes_[(mean > 0.5).astype(np.int64)]
        if interval is None:
            return said
        return said, _engine.Intervals(self._doubts).sets(_both(mean), index, level_of(interval))

    def predict_proba(self, X: Any, nodes: Any = None, times: Any = None, observed: Any = None) -> np.ndarray:
        """Probabilities of the two classes, a column each."""
        return _both(self._means(X, nodes, times, observed)[2])

    def predict_log_proba(self, X: Any, nodes: Any = None, times: Any = None, observed: Any = None) -> np.ndarray:
        """Logarithms of the probabilities."""
        return np.log(self.predict_proba(X, nodes=nodes, times=times, observed=observed))

    def score(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None, times: Any = None) -> float:
        """The share of rows that are predicted right."""
        return float(accuracy_score(y, self.predict(X, nodes=nodes, times=times), sample_weight=sample_weight))


def _both(mean: np.ndarray) -> np.ndarray:
    return np.column_stack([1.0 - mean, mean])
