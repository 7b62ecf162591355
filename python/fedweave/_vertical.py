"""Vertical learning: parties hold different columns of the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _engine
from .errors import ParameterError


@dataclass(frozen=True)
class VerticalModel:
    """One model, its parts known to the parties.

    Attributes
    ----------
    coef_ : the parameters of every party's columns, an array each
    intercept_ : known to the holder of the labels
    objective_ : what is minimised, at the end
    converged_ : the gradient is as small as was asked for
    rounds_, messages_ : how often parties heard from each other
    bytes_sent_ : by party

    Examples
    --------
    >>> from fedweave import fit_vertical
    >>> bank, shop = [[0.0], [1.0], [2.0]], [[1.0], [0.0], [1.0]]
    >>> model = fit_vertical([bank, shop], [1.0, 2.0, 5.0])
    >>> model.converged_, len(model.bytes_sent_), model.scores([bank, shop]).round(6).tolist()
    (True, 2, [1.0, 2.0, 5.0])
    """

    coef_: list[NDArray[np.float64]]
    intercept_: float
    objective_: float
    converged_: bool
    steps_: int
    rounds_: int
    messages_: int
    bytes_sent_: list[int]

    def scores(self, parties: Sequence[Any]) -> NDArray[np.float64]:
        """The score of every row: what all parties' columns say, added up; for the squared loss this is the prediction."""
        columns = _columns(parties)
        if len(columns) != len(self.coef_):
            raise ParameterError(f"scores: expected {len(self.coef_)} parties, got {len(columns)}")
        parts = [x @ w for x, w in zip(columns, self.coef_)]
        total: NDArray[np.float64] = np.sum(parts, axis=0) + self.intercept_
        return total


def _columns(parties: Sequence[Any]) -> list[NDArray[np.float64]]:
    """The columns of every party, a matrix each."""
    matrices = [np.asarray(x, dtype=np.float64) for x in parties]
    return [x.reshape(len(x), -1) for x in matrices]


def fit_vertical(
    parties: Sequence[Any],
    y: Any,
    *,
    holder: int = 0,
    loss: str = "squared",
    ridge: float = 0.0,
    fit_intercept: bool = True,
    standardize: bool = False,
    tol: float = 1e-10,
) -> VerticalModel:
    """Fits one model to columns that several parties hold; the same as `fedweave fit --vertical`.

    `parties` are matrices with the same rows in the same order, `y` the labels, which party `holder` has. Only scores travel, and what the
    holder of the labels makes of their sum: the optimum is that of the pooled rows. The loss is "squared", "logistic" (labels -1 or 0,
    and 1) or "poisson".

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import fit_vertical
    >>> rng = np.random.default_rng(0)
    >>> bank, shop = rng.normal(size=(100, 2)), rng.normal(size=(100, 3))
    >>> y = bank @ [1.0, 2.0] + shop @ [0.0, 0.0, -1.0] + 3.0
    >>> model = fit_vertical([bank, shop], y)
    >>> [(w.round(6) + 0.0).tolist() for w in model.coef_], round(model.intercept_, 6)
    ([[1.0, 2.0], [0.0, 0.0, -1.0]], 3.0)
    """
    columns = _columns(parties)
    labels = np.asarray(y, dtype=np.float64).ravel()
    out = _engine.fit_vertical(columns, labels, holder, loss, ridge, fit_intercept, standardize, tol)
    return VerticalModel(
        out["coef"],
        out["intercept"],
        out["objective"],
        out["converged"],
        out["steps"],
        out["rounds"],
        out["messages"],
        list(out["bytes_sent"]),
    )
