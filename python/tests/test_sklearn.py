"""The manners of scikit-learn: its own checks, routing, pipelines, pickles."""

import pickle

import joblib
import networkx as nx
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedweave import (
    ConvexClustering,
    FedRelax,
    GTVClassifier,
    GTVClassifierCV,
    GTVRegressor,
    GTVRegressorCV,
    TunedClassifier,
    TunedRegressor,
)

ALL = [GTVRegressor(), GTVClassifier(), GTVRegressorCV(), GTVClassifierCV(), ConvexClustering()]
ALL += [FedRelax(lam=0.1), FedRelax(models="logistic", task="classification")]
ALL += [TunedRegressor(), TunedClassifier()]


def not_for(estimator):
    """Checks that an estimator cannot pass, and why."""
    if not isinstance(estimator, (TunedRegressor, TunedClassifier)):
        return {}
    why = "copies of a row go to different folds"
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


@parametrize_with_checks(ALL, expected_failed_checks=not_for)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def rows(nodes=6, each=20, p=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.normal(size=(2, p)), nodes // 2, axis=0)
    ids = np.repeat([f"n{i}" for i in range(nodes)], each)
    x = rng.normal(size=(nodes * each, p))
    y = (x * np.repeat(truth, each, axis=0)).sum(axis=1) + 0.1 * rng.normal(size=nodes * each)
    return x, y, ids, nx.path_graph([f"n{i}" for i in range(nodes)])


def test_one_node_is_the_plain_linear_model():
    x, y, _, _ = rows()
    ours, theirs = GTVRegressor().fit(x, y), LinearRegression().fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-8, atol=1e-10)
    assert ours.score(x, y) == pytest.approx(theirs.score(x, y), rel=1e-12)


def test_one_node_is_the_plain_poisson_model():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 2))
    y = rng.poisson(np.exp(0.3 * x[:, 0] + 0.5)).astype(float)
    ours = GTVRegressor(loss="poisson", tol=1e-10).fit(x, y)
    theirs = PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_node_is_the_plain_logistic_model(classes):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, 3))
    y = np.array(["a", "b", "c"])[(x[:, 0] + rng.normal(size=150) > 0).astype(int) + (classes == 3) * (x[:, 1] > 0.5)]
    ridge = 0.01
    ours = GTVClassifier(ridge=ridge, tol=1e-10).fit(x, y)
    # Theirs: |w|^2 / 2 + C * sum of losses; ours: ridge * |w|^2 + mean of losses.
    theirs = LogisticRegression(C=1 / (2 * ridge * len(y)), tol=1e-10, max_iter=10_000).fit(x, y)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), rtol=1e-4, atol=1e-6)
    assert (ours.predict(x) == theirs.predict(x)).all() and ours.coef_.shape == theirs.coef_.shape


def test_row_weights_count_like_copies_at_every_node():
    x, y, ids, graph = rows(each=6)
    count = np.random.default_rng(3).integers(1, 4, size=len(y))
    model = GTVRegressor(graph, lam=0.1, tol=1e-10)
    weighted = clone(model).fit(x, y, sample_weight=count.astype(float), nodes=ids)
    copied = clone(model).fit(np.repeat(x, count, axis=0), np.repeat(y, count), nodes=np.repeat(ids, count))
    np.testing.assert_allclose(np.asarray(weighted.coef_), np.asarray(copied.coef_), atol=1e-6)


def test_nodes_travel_through_grid_search_and_pipelines():
    x, y, ids, graph = rows()
    with sklearn.config_context(enable_metadata_routing=True):
        model = GTVRegressor(graph, lam=0.1)
        model.set_fit_request(nodes=True).set_predict_request(nodes=True).set_score_request(nodes=True)
        search = GridSearchCV(model, {"lam": [0.0, 0.01, 1.0]}, cv=KFold(3, shuffle=True, random_state=0))
        search.fit(x, y, nodes=ids)
        pipeline = make_pipeline(StandardScaler(), clone(model)).fit(x, y, nodes=ids)
        predicted = pipeline.predict(x, nodes=ids)
    by_hand = clone(model).fit(StandardScaler().fit_transform(x), y, nodes=ids)
    np.testing.assert_array_equal(predicted, by_hand.predict(StandardScaler().fit_transform(x), nodes=ids))
    assert search.best_score_ > 0.9 and search.best_estimator_.nodes_.tolist() == sorted(set(ids))


def test_pickles_and_joblib():
    x, y, ids, graph = rows()
    model = GTVRegressor(graph, lam=0.1).fit(x, y, nodes=ids)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(x, nodes=ids), model.predict(x, nodes=ids))
    np.testing.assert_array_equal(again.edge_flow_["n1", "n0"], model.edge_flow_["n0", "n1"])
    fits = joblib.Parallel(n_jobs=2)(
        joblib.delayed(clone(model).set_params(lam=lam).fit)(x, y, nodes=ids) for lam in (0.1, 0.2)
    )
    assert fits[0].objective_ == model.objective_ < fits[1].objective_


def test_layouts_and_kinds_of_arrays_do_not_matter():
    x, y, ids, graph = rows()
    model = GTVRegressor(graph, lam=0.1)
    plain = np.asarray(clone(model).fit(x, y, nodes=ids).coef_)
    wide = np.repeat(x, 2, axis=1)[:, ::2]
    assert wide.base is not None and not wide.flags.c_contiguous
    for other in (np.asfortranarray(x), wide, x.tolist()):
        assert np.asarray(clone(model).fit(other, y, nodes=list(ids)).coef_).tobytes() == plain.tobytes()
    order = np.random.default_rng(0).permutation(len(y))
    order = order[np.argsort(ids[order], kind="stable")]  # another order of the nodes' rows
    shuffled = np.asarray(clone(model).fit(x[order], y[order], nodes=ids[order]).coef_)
    np.testing.assert_allclose(shuffled, plain, atol=1e-5)
