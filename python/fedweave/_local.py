"""Estimators of any library at nodes: what the engine hands out, in words that estimators understand."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from ._checks import SEED_MAX, warn
from ._nodes import name_of
from .errors import ModelError, UnknownNodeError


class Adapter:
    """An estimator at a node, as the engine sees it. `fit` returns a fitted adapter and leaves this one as it is."""

    def __init__(self, node: str, estimator: Any, classes: int, seed: int) -> None:
        self.node = node
        self.estimator = estimator
        self.classes = classes
        self.seed = seed
        self.fits = 0
        # The classes it was fitted to, by their positions; it knows them as 0, 1, 2, ... Alone, a class needs no estimator.
        self.present = np.zeros(0, dtype=np.int64)

    def fit(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Adapter:
        """Fitted to rows of targets (a number, or a probability per class) with weights."""
        made = copy.copy(self)
        made.fits += 1
        if self.classes:
            # A row that is half one class and half another is two rows of half the weight.
            row, label = np.nonzero(y)
            x, target, weight = x[row], label, weight[row] * y[row, label]
        else:
            target = y[:, 0]
        heavy = weight > 0
        if not heavy.all():
            x, target, weight = x[heavy], target[heavy], weight[heavy]
        if self.classes:
            made.present, target = np.unique(target, return_inverse=True)
            if len(made.present) == 1:
                return made
        with _at(self.node, self.estimator):
            made.estimator = _fresh(self.estimator)
            made._fit_weighted(x, target, weight)
        return made

    def _fit_weighted(self, x: np.ndarray, target: np.ndarray, weight: np.ndarray) -> None:
        name = weight_parameter(self.estimator)
        if name is not None:
            self.estimator.fit(x, target, **{name: weight})
            return
        rows = resample(weight, np.random.default_rng([self.seed, self.fits]))
        if self.classes:
            # A class too light to be drawn is gone.
            kept, target = np.unique(target[rows], return_inverse=True)
            self.present = self.present[kept]
        else:
            target = target[rows]
        if not self.classes or len(self.present) > 1:
            self.estimator.fit(x[rows], target)

    def outputs(self, x: np.ndarray) -> np.ndarray:
        """A number, or the probability of every class, for every row."""
        if not self.fits:
            return np.full((len(x), self.classes or 1), 1.0 / self.classes if self.classes else 0.0)
        if self.classes and len(self.present) == 1:
            return np.eye(self.classes)[np.full(len(x), self.present[0])]
        columns = len(self.present) if self.classes else 1
        with _at(self.node, self.estimator):
            what = "predict_proba" if self.classes else "predict"
            said = np.asarray(getattr(self.estimator, what)(x), dtype=np.float64)
            if said.shape not in ((len(x), columns), (len(x),) * (columns == 1)):
                raise ModelError(f"{what} gave the shape {said.shape}, not ({len(x)}, {columns})", node=self.node)
            if not np.isfinite(said).all():
                raise ModelError(f"{what} gave a number that is not finite", node=self.node)
        if not self.classes:
            return said.reshape(len(x), 1)
        out = np.zeros((len(x), self.classes))
        out[:, self.present] = np.maximum(said, 0.0)
        return out / out.sum(axis=1, keepdims=True)


def resample(weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many rows as there are, in proportion to their weights: each as often as its share says, rounded up or down by chance."""
    n = len(weight)
    share = np.cumsum(weight / weight.sum())
    return np.minimum(np.searchsorted(share, (np.arange(n) + rng.random()) / n), n - 1)


def weight_parameter(estimator: Any) -> str | None:
    """How row weights are handed to `fit`, if it takes them."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__sample_weight" if weight_parameter(last) == "sample_weight" else None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _fresh(estimator: Any) -> Any:
    """A copy to be fitted. One that goes on from where it stands keeps what it has learnt."""
    if hasattr(estimator, "get_params") and not getattr(estimator, "warm_start", False):
        return clone(estimator)
    return copy.deepcopy(estimator)


@contextmanager
def _at(node: str, estimator: Any) -> Iterator[None]:
    """Whatever goes wrong in somebody's estimator remains what it is, and says where it was; filters of warnings stay."""
    filters = warnings.filters
    try:
        yield
    except Exception as error:
        note = f"in the model of node {node!r}: {type(estimator).__name__}"
        if hasattr(error, "add_note"):
            error.add_note(note)
        else:  # Python 3.10
            error.__notes__ = [*getattr(error, "__notes__", []), note]
        raise
    finally:
        # Threads inside an estimator may restore each other's filters (those of HistGradientBoosting do), and lose the user's.
        if warnings.filters is not filters:
            warnings.filters = filters


def models_of(models: Any, names: Sequence[str], classes: int, seed: int, what: str = "models") -> list[Any]:
    """A text (one of the engine's models) or an adapter for every node of `names`."""
    if isinstance(models, Mapping) and not _is_description(models, names):
        given = {name_of(node): model for node, model in models.items()}
        unknown = [node for node in given if node not in set(names)]
        if unknown:
            raise UnknownNodeError(f"{what}: there is no node {unknown[0]!r} in the data or the graph", node=unknown[0])
        missing = [node for node in names if node not in given]
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise ModelError(f"{what}: no model for node {missing[0]!r}{more}", node=missing[0])
    else:
        given = dict.fromkeys(names, models)
    made = [_model_of(given[node], node, classes, _seed(seed, i), what) for i, node in enumerate(names)]
    weightless = {type(m.estimator).__name__ for m in made if isinstance(m, Adapter) and weight_parameter(m.estimator) is None}
    for kind in sorted(weightless):
        warn(f"{kind}.fit takes no sample_weight: its rows are drawn again in proportion to their weights")
    return made


def _is_description(models: Mapping[Any, Any], names: Sequence[str]) -> bool:
    """`{"model": "tree", "max_depth": 5}` rather than models by node."""
    return isinstance(models.get("model"), str) and "model" not in names


def _model_of(model: Any, node: str, classes: int, seed: int, what: str) -> str | Adapter:
    if isinstance(model, str):
        return model
    if isinstance(model, Mapping):
        if not isinstance(model.get("model"), str):
            raise TypeError(f"{what}: node {node!r}: a description needs the name of a model: {{'model': 'tree', ...}}")
        return " ".join([model["model"], *(f"{k}={_value(v)}" for k, v in model.items() if k != "model")])
    _check(model, node, classes, what)
    made = _fresh(model)
    if hasattr(made, "get_params"):
        # Results that can be repeated: random numbers follow from the seed, a different one for every node.
        unset = {k: seed for k, v in made.get_params().items() if v is None and k.split("__")[-1] == "random_state"}
        if unset:
            made.set_params(**unset)
    return Adapter(node, made, classes, seed)


def _check(model: Any, node: str, classes: int, what: str) -> None:
    if inspect.isclass(model):
        raise TypeError(f"{what}: node {node!r}: {model.__name__} is a class; give an instance, {model.__name__}()")
    needs = ("fit", "predict_proba" if classes else "predict")
    for method in needs:
        if not callable(getattr(model, method, None)):
            raise TypeError(
                f"{what}: node {node!r}: expected an estimator with {' and '.join(needs)}, or the name of a model such as "
                f"'tree max-depth=5', got {model!r}, which has no {method}"
            )
    if _is(is_classifier, model) and not classes:
        raise ModelError(f"{what}: node {node!r}: {type(model).__name__} is a classifier; give task='classification'", node=node)
    if _is(is_regressor, model) and classes:
        raise ModelError(f"{what}: node {node!r}: {type(model).__name__} is for regression, not for classes", node=node)


def _is(kind: Any, model: Any) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(kind(model))
    except Exception:  # a model of no library in particular
        return False


def _value(value: Any) -> str:
    """An option as the engine reads it."""
    if isinstance(value, (list, tuple)):
        return "x".join(str(v) for v in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _seed(seed: int, node: int) -> int:
    return int(np.random.SeedSequence([seed, node]).generate_state(1)[0]) & SEED_MAX
