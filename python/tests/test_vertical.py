"""Columns at several parties: the optimum of the pooled rows."""

import numpy as np
import pytest
from fedweave import errors, fit_vertical


def rows(parties=3):
    rng = np.random.default_rng(4)
    columns = [rng.normal(size=(120, 2)) + rng.normal(size=(120, 1)) for _ in range(parties)]
    y = 1.0 + sum(x @ [1.0, -0.5] for x in columns) + 0.1 * rng.normal(size=120)
    return columns, y


@pytest.mark.parametrize("parties", [2, 5, 10])
def test_parties_find_the_pooled_optimum(parties):
    columns, y = rows(parties)
    model = fit_vertical(columns, y, ridge=0.01, standardize=True)
    x = np.hstack(columns)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    # mean (y - s)^2 + 0.01 |w|^2; the intercept of centred columns is the mean of the labels.
    w = np.linalg.solve(x.T @ x / len(y) + 0.01 * np.eye(x.shape[1]), x.T @ (y - y.mean()) / len(y))
    expected = x @ w + y.mean()
    assert model.converged_ and len(model.bytes_sent_) == parties and min(model.bytes_sent_) >= 8 * len(y)
    np.testing.assert_allclose(model.scores(columns), expected, atol=1e-7)


def test_what_does_not_fit_is_refused():
    columns, y = rows()
    for wrong in [{"loss": "absolute"}, {"loss": "nonsense"}, {"holder": 3}, {"ridge": -1.0}]:
        with pytest.raises(errors.FedweaveError):
            fit_vertical(columns, y, **wrong)
    with pytest.raises(errors.FedweaveError):
        fit_vertical(columns, y[1:])
    with pytest.raises(errors.FedweaveError):
        fit_vertical(columns, y).scores(columns[:2])
