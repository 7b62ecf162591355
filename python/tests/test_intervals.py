"""`predict(..., interval=0.9)`: about as often right as it says, for every kind of estimator, and never a finite guess."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from fedweave import FedRelax, GTVClassifier, GTVRegressor
from fedweave.errors import FedweaveError, ParameterError

EDGES = [("a", "b"), ("b", "c"), ("c", "d")]


def rows(seed, per_node=60):
    """Features, labels with a node's own noise, classes, and nodes."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(["a", "b", "c", "d"], per_node)
    x = rng.normal(size=(len(ids), 2))
    noise = rng.normal(size=len(ids)) * np.repeat([0.5, 1.0, 1.5, 2.0], per_node)
    y = x @ [1.0, -1.0] + noise
    return x, y, np.where(y > 0.7, "high", np.where(y > -0.7, "middle", "low")), ids


@pytest.mark.parametrize(
    "model",
    [
        GTVRegressor(EDGES),
        GTVRegressor(EDGES, lam=0.1, options={"calibrate": 5}),
        GTVRegressor(EDGES, options={"coupling": "learnt"}),
        GTVRegressor(EDGES, options={"coupling": "learnt", "calibrate": 10}),
        GTVRegressor(EDGES, loss="quantile", quantile=0.7, lam=0.1, options={"calibrate": 5}),
        FedRelax(EDGES, Ridge(), lam=0.1, public="moments", calibrate=5),
        FedRelax(EDGES, "tree max-depth=3", lam=0.1, public="moments", validation=0.4),
    ],
)
def test_intervals_hold_about_as_often_as_they_say(model):
    """Also after a pickle, and with nodes in another order."""
    x, y, _, ids = rows(0)
    new_x, new_y, _, new_ids = rows(1)
    model = pickle.loads(pickle.dumps(model.fit(x, y, nodes=ids)))
    order = np.random.default_rng(2).permutation(len(new_y))
    said, lower, upper = model.predict(new_x[order], nodes=new_ids[order], interval=0.9)
    assert np.array_equal(said, model.predict(new_x[order], nodes=new_ids[order]))
    inside = (lower <= new_y[order]) & (new_y[order] <= upper)
    assert 0.84 <= inside.mean() <= 0.97


def test_noisy_nodes_get_wider_intervals():
    """The nodes differ by a factor of four."""
    x, y, _, ids = rows(0)
    model = GTVRegressor(EDGES, lam=0.1, options={"calibrate": 10}).fit(x, y, nodes=ids)
    _, lower, upper = model.predict(np.zeros((2, 2)), nodes=["a", "d"], interval=0.9)
    assert 2.0 < (upper - lower)[1] / (upper - lower)[0] < 8.0


@pytest.mark.parametrize(
    "model",
    [
        GTVClassifier(EDGES, lam=0.1, options={"calibrate": 5}),
        FedRelax(EDGES, "tree max-depth=3", lam=0.1, public="moments", task="classification", calibrate=5),
    ],
)
def test_sets_of_classes_hold_too(model):
    """A column per class; the predicted one is always inside."""
    x, _, classes, ids = rows(0)
    new_x, _, new_classes, new_ids = rows(1)
    said, sets = model.fit(x, classes, nodes=ids).predict(new_x, nodes=new_ids, interval=0.9)
    column = {name: k for k, name in enumerate(model.classes_)}
    places = np.array([column[name] for name in new_classes])
    assert 0.84 <= sets[np.arange(len(places)), places].mean() <= 1.0
    assert all(sets[r, column[name]] for r, name in enumerate(said))


def test_nothing_is_guessed():
    """Without rows to judge by there is an error; with too few the interval is infinite."""
    x, y, _, ids = rows(0)
    with pytest.raises(FedweaveError, match="calibrate"):
        GTVRegressor(EDGES, lam=0.1).fit(x, y, nodes=ids).predict(x, nodes=ids, interval=0.9)
    few = np.r_[0:2, 60:62, 120:122, 180:182]
    model = GTVRegressor(EDGES, lam=0.1, ridge=0.1, options={"calibrate": 2}).fit(x[few], y[few], nodes=ids[few])
    _, lower, upper = model.predict(x[:3], nodes=ids[:3], interval=0.9)
    assert np.all(np.isinf(lower)) and np.all(np.isinf(upper))
    for level in (0.0, 1.0, float("nan")):
        with pytest.raises(ParameterError):
            model.predict(x[:1], nodes=ids[:1], interval=level)
