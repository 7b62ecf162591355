"""Active sampling: both algorithms by hand, with estimators and with models of the engine."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor
from test_sklearn import rows

from fedweave import ActiveSampling

TEST = np.random.default_rng(3).normal(size=(15, 3))


def loss(model, x, y):
    return np.mean((model.predict(x) - y) ** 2)


def test_gradient_steps_are_algorithm_1_by_hand():
    x, y, ids, _ = rows(each=10)
    model = ActiveSampling("n0", candidates=3, rounds=60, eta=0.1, fit_intercept=False).fit(x, y, nodes=ids)
    part = {n: (x[ids == n], y[ids == n]) for n in np.unique(ids)}
    mine, w, before = part["n0"], np.zeros(3), np.mean(part["n0"][1] ** 2)
    for k, asked in enumerate(model.rewards_["n0"]):
        assert len(asked) == 3 and "n0" not in asked
        answers = {n: w - 0.1 * 2 * part[n][0].T @ (part[n][0] @ w - part[n][1]) / 10 for n in asked}
        losses = {n: np.mean((mine[0] @ v - mine[1]) ** 2) for n, v in answers.items()}
        assert asked == pytest.approx({n: before - value for n, value in losses.items()}, abs=1e-12)
        best = min(losses, key=losses.get)
        assert model.history_["n0"]["candidate"][k] == best
        w, before = answers[best], losses[best]
    np.testing.assert_allclose(model.coef_["n0"], w, atol=1e-12)
    friends = sum(rounds for name, rounds, _ in model.learnt_from_["n0"] if name in ("n1", "n2"))
    assert friends > 40 and sum(t[1] for t in model.learnt_from_["n0"]) == 60


def test_answers_of_any_estimator_are_algorithm_2_by_hand():
    x, y, ids, _ = rows(each=10)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = ActiveSampling("n1", tree, candidates=2, rounds=5, eta=0.5, public=TEST).fit(x, y, nodes=ids)
    part = {n: (x[ids == n], y[ids == n]) for n in np.unique(ids)}
    now = clone(tree).fit(*part["n1"], np.full(10, 0.1))  # equal splits may be broken by rounding
    for asked, winner in zip(model.rewards_["n1"], model.history_["n1"]["candidate"]):
        before = loss(now, *part["n1"])
        answers = {}
        for n in asked:
            weight = np.r_[np.full(10, 0.5 / 10), np.full(15, 1 / 15)]
            answers[n] = clone(tree).fit(np.vstack([part[n][0], TEST]), np.r_[part[n][1], now.predict(TEST)], weight)
        assert asked == pytest.approx({n: before - loss(a, *part["n1"]) for n, a in answers.items()}, abs=1e-12)
        now = answers[winner]
    np.testing.assert_array_equal(model.models_["n1"].predict(x), now.predict(x))
    np.testing.assert_array_equal(model.predict(x, nodes=["n1"] * len(x)), now.predict(x))


def test_estimators_and_the_engines_models_learn_the_same():
    x, y, ids, _ = rows(each=6)
    settings = {"candidates": 3, "rounds": 8, "eta": 0.7, "public": "moments", "random_state": 2, "standardize": True}
    theirs = ActiveSampling(["n0", "n4"], Ridge(alpha=0.1), **settings).fit(x, y, nodes=ids)
    ours = ActiveSampling(["n0", "n4"], "ridge alpha=0.1", **settings).fit(x, y, nodes=ids)
    some = np.isin(ids, ["n0", "n4"])
    np.testing.assert_allclose(theirs.predict(x[some], nodes=ids[some]), ours.predict(x[some], nodes=ids[some]), rtol=1e-8)
    assert theirs.nodes_.tolist() == ["n0", "n4"] and ours.models_["n4"].spec.startswith("ridge alpha=0.1")
    assert [t[:2] for t in theirs.learnt_from_["n4"]] == [t[:2] for t in ours.learnt_from_["n4"]]


@pytest.mark.parametrize("model", [None, LogisticRegression(C=100.0), "logistic c=100"])
@pytest.mark.parametrize("classes", [2, 3])
def test_classes(model, classes):
    x, y, ids, _ = rows(each=15)
    label = np.array(["low", "mid", "top"])[np.digitize(y, [0] if classes == 2 else [-0.7, 0.7])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        active = ActiveSampling("n0", model, candidates=3, rounds=40, eta=0.5, task="classification", public=TEST)
        active.fit(x, label, nodes=ids)
    here = ids == "n0"
    proba = active.predict_proba(x[here], nodes=ids[here])
    assert proba.shape == (15, classes) and np.allclose(proba.sum(axis=1), 1)
    assert active.score(x[here], label[here], nodes=ids[here]) > 0.75


def test_all_nodes_ask_by_default_and_standardised_features_are_given_back():
    x, y, ids, _ = rows(each=10)
    plain = ActiveSampling(candidates=4, rounds=200, eta=0.2).fit(x, y, nodes=ids)
    moved = ActiveSampling(candidates=4, rounds=200, eta=0.2, standardize=True).fit(100.0 + 50.0 * x, y, nodes=ids)
    assert plain.nodes_.tolist() == [f"n{i}" for i in range(6)] and plain.coef_["n0"].shape == (3,)
    assert moved.score(100.0 + 50.0 * x, y, nodes=ids) > 0.95 and plain.score(x, y, nodes=ids) > 0.95
    with pytest.warns(UserWarning, match="public rows a node"):
        ActiveSampling("n0", "linear", rounds=1, candidates=2).fit(x, y, nodes=ids)
