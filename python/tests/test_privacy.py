"""Private fits: the promises of the command line, in Python."""

import numpy as np
import pandas as pd
import pytest

from fedweave import GTVRegressor
from fedweave.errors import ParameterError

EDGES = [("a", "b"), ("b", "c"), ("c", "d")]


def rows():
    random = np.random.default_rng(0)
    ids = np.repeat(list("abcd"), 200)
    x = np.column_stack([random.uniform(0, 1, 800), random.uniform(-1, 1, 800)])
    return x, x @ [1.0, -0.5] + 0.05 * random.normal(size=800), ids


def private(epsilon, ranges, **more):
    options = {"dp_epsilon": epsilon, "dp_range": ranges, **more}
    return GTVRegressor(EDGES, lam=1.0, penalty="squared", options=options)


def test_noise_is_less_the_more_may_be_told():
    x, y, ids = rows()
    ranges = ["x0=0:1", "x1=-1:1", "y=-2:2"]

    def error(epsilon, seed):
        model = private(epsilon, ranges, dp_seed=seed).fit(x, y, nodes=ids)
        return float(np.mean((model.predict(x, nodes=ids) - y) ** 2))

    little, much = (np.median([error(epsilon, seed) for seed in range(5)]) for epsilon in (0.1, 100))
    assert much < 0.01 < little
    assert error(1, 1) == error(1, 1)
    assert error(1, 1) != error(1, 2)


def test_columns_have_their_names():
    x, y, ids = rows()
    frame, price = pd.DataFrame(x, columns=["age", "size"]), pd.Series(y, name="price")
    model = private(5, ["age=0:1", "size=-1:1", "price=-2:2"], dp_seed=1).fit(frame, price, nodes=ids)
    assert model.summary_["privacy"]["epsilon"] == 5
    with pytest.raises(ParameterError, match="nothing is known about column 'price'"):
        private(5, ["age=0:1", "size=-1:1"]).fit(frame, price, nodes=ids)
    with pytest.raises(ParameterError, match="nothing is known about column 'y'"):
        private(5, ["age=0:1", "size=-1:1"]).fit(frame, y, nodes=ids)


def test_without_a_seed_noise_is_new_every_time():
    x, y, ids = rows()
    ranges = ["x0=0:1", "x1=-1:1", "y=-2:2"]
    first, second = (private(1, ranges).fit(x, y, nodes=ids).predict(x, nodes=ids) for _ in range(2))
    assert not np.array_equal(first, second)
