"""FedRelax: the same bits as the command line, the update by hand, estimators of all sorts."""

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from golden import read_table
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from test_sklearn import rows

from fedweave import FedRelax
from fedweave._local import resample

PUBLIC = np.random.default_rng(7).normal(size=(25, 3))


def relax(graph, models, lam=0.3, **more):
    return FedRelax(graph, models, lam, **({"public": PUBLIC} | more))


@pytest.mark.parametrize("how", ["regression", "classification"])
def test_the_engines_models_equal_the_command_line_to_the_last_bit(how, tmp_path):
    x, y, ids, graph = rows(each=12)
    classify = how == "classification"
    label = np.array(["low", "mid", "top"])[np.digitize(y, [-0.7, 0.7])] if classify else [repr(v) for v in y.tolist()]
    cells = pd.DataFrame([[repr(v) for v in row] for row in x.tolist()], columns=["a", "b", "c"])
    cells.assign(node=ids, y=label).to_csv(tmp_path / "rows.csv", index=False)
    pd.DataFrame(graph.edges, columns=["source", "target"]).to_csv(tmp_path / "edges.csv", index=False)
    specs = ["logistic c=5" if classify else "ridge alpha=0.1", "tree max-depth=3", "forest trees=5", "boosting trees=5"]
    specs += ["nearest neighbours=3", "mlp hidden=4 epochs=3"]
    models = {f"n{i}": spec for i, spec in enumerate(specs)}
    split = [[n, *s.split(" ", 1)] for n, s in models.items()]
    pd.DataFrame(split, columns=["node", "model", "options"]).to_csv(tmp_path / "models.csv", index=False)
    run = lambda *words: subprocess.run([sys.executable, "-m", "fedweave", *words], cwd=tmp_path, check=True, capture_output=True)  # noqa: E731
    words = ["--models", "models.csv", "--lambda", "0.2", "--rounds", "3", "--standardize", "--seed", "5", "--distil", "7"]
    words += ["--judged-on", "both", "--order", "in-turn", "--out", "run", "--task", how]
    run("fit", "rows.csv", "--edges", "edges.csv", "--target", "y", *words)
    said = pd.read_csv(io.BytesIO(run("predict", "run", "rows.csv").stdout), dtype=str)

    table = pd.read_csv(tmp_path / "rows.csv", dtype=str)
    data = table[["a", "b", "c"]].map(float)
    settings = {"rounds": 3, "standardize": True, "random_state": 5, "distil": 7, "judged_on": "both", "order": "in-turn"}
    model = FedRelax(graph, models, 0.2, public="moments", task=how, **settings)
    model.fit(data, table["y"] if classify else table["y"].map(float), nodes=table["node"])
    history = read_table(tmp_path / "run" / "history.csv", skip=("validation_error",))
    for column in ("objective", "train_error", "messages", "bytes"):
        assert history[column].tolist() == model.history_[column].tolist()
    for k, node in enumerate(["n1", "n4"] if classify else []):
        assert set(model.predict(data[ids == node], nodes=ids[ids == node])) <= {"low", "mid", "top"}
    outputs = model.predict_proba(data, nodes=ids) if classify else model.predict(data, nodes=ids)[:, None]
    columns = [c for c in said.columns if c.startswith("probability:")] if classify else ["prediction"]
    said = said[columns].to_numpy().astype(float)
    # Sums of a perceptron are taken in an order that depends on how many rows are predicted at once.
    mlp = np.asarray(ids) == "n5"
    assert said[~mlp].tolist() == outputs[~mlp].tolist()
    np.testing.assert_allclose(said[mlp], outputs[mlp], rtol=1e-13)


@pytest.mark.parametrize(("theirs", "ours"), [(LinearRegression(), "linear"), (Ridge(alpha=0.2), "ridge alpha=0.2")])
def test_an_estimator_and_the_engines_model_of_the_same_kind_agree(theirs, ours):
    x, y, ids, graph = rows(each=6)
    settings = {"judged_on": "both", "order": "in-turn", "distil": 4, "rounds": 4}
    a, b = (relax(graph, m, **settings).fit(x, y, nodes=ids) for m in (theirs, ours))
    np.testing.assert_allclose(a.predict(x, nodes=ids), b.predict(x, nodes=ids), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.history_["objective"], b.history_["objective"], rtol=1e-8)
    mixed = relax(graph, {f"n{i}": (theirs, ours)[i % 2] for i in range(6)}, **settings).fit(x, y, nodes=ids)
    np.testing.assert_allclose(mixed.predict(x, nodes=ids), b.predict(x, nodes=ids), rtol=1e-8, atol=1e-10)
    assert (np.diff(a.history_["objective"]) <= 1e-12).all() or theirs.get_params().get("alpha")


@pytest.mark.parametrize("weights", ["means", "plain"])
def test_a_round_is_one_weighted_fit_by_hand(weights):
    x, y, ids, graph = rows(each=8)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = relax(graph, tree, 0.4, rounds=1, row_weights=weights).fit(x, y, nodes=ids)
    own, public = (1 / 8, 0.4 / len(PUBLIC)) if weights == "means" else (1.0, 0.4)
    local = {n: clone(tree).fit(x[ids == n], y[ids == n], np.full(8, own)) for n in graph}
    np.testing.assert_array_equal(model.predict_local(x[ids == "n2"], nodes=ids[ids == "n2"]), local["n2"].predict(x[ids == "n2"]))
    for node in ("n0", "n2"):
        near = sorted(graph[node])
        rows_ = np.vstack([x[ids == node], *[PUBLIC] * len(near)])
        labels = np.hstack([y[ids == node], *[local[n].predict(PUBLIC) for n in near]])
        weight = np.r_[np.full(8, own), np.full(len(PUBLIC) * len(near), public)]
        by_hand = clone(tree).fit(rows_, labels, sample_weight=weight)
        np.testing.assert_array_equal(model.models_[node].predict(x), by_hand.predict(x))


def test_soft_labels_of_classes_by_hand_and_classes_that_a_node_lacks():
    x, y, ids, _ = rows(nodes=2, each=20)
    label = np.array(["low", "mid", "top"])[np.digitize(y, [-0.5, 0.5])]
    label[ids == "n1"] = np.where(label[ids == "n1"] == "mid", "mid", "top")  # n1 has never seen a "low"
    plain = LogisticRegression(C=10.0)
    model = relax([("n0", "n1")], plain, 0.5, rounds=1, task="classification").fit(x, label, nodes=ids)
    first, second = (clone(plain).fit(x[ids == n], label[ids == n], np.full(20, 1 / 20)) for n in ("n0", "n1"))
    told = first.predict_proba(PUBLIC)
    more = [(PUBLIC, np.full(25, c), 0.5 / 25 * told[:, k]) for k, c in enumerate(first.classes_)]
    parts = [(x[ids == "n1"], label[ids == "n1"], np.full(20, 1 / 20)), *more]
    by_hand = clone(plain).fit(*(np.concatenate(side) for side in zip(*parts)))
    shown = model.predict_proba(x, nodes=["n1"] * len(x))
    np.testing.assert_allclose(shown, by_hand.predict_proba(x), atol=1e-4)
    alone = model._outputs(model._local, x, ["n1"] * len(x))
    assert (alone[:, 0] == 0).all() and np.allclose(alone[:, 1:], second.predict_proba(x), atol=1e-4)
    assert shown[:, 0].min() > 0 and set(model.predict(x, nodes=ids)) <= set(model.classes_)


def test_a_node_with_one_class_learns_the_others_from_its_neighbours():
    x, y, ids, _ = rows(nodes=2, each=20)
    label = np.where((y > 0) & (ids == "n0"), "yes", "no")
    for estimator in (LogisticRegression(), GaussianNB(), HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2)):
        model = relax([("n0", "n1")], estimator, 20.0, rounds=1, task="classification", row_weights="plain").fit(x, label, nodes=ids)
        there = ["n1"] * len(x)
        assert set(model.predict_local(x, nodes=there)) == {"no"} and set(model.predict(x, nodes=there)) == {"yes", "no"}
        np.testing.assert_allclose(model.predict_proba(x, nodes=ids).sum(axis=1), 1.0)


def test_estimators_without_weights_are_told_aloud_and_drawn_fairly():
    x, y, ids, graph = rows(each=8)
    nearest = KNeighborsRegressor(3)
    with pytest.warns(UserWarning, match="KNeighborsRegressor.fit takes no sample_weight") as said:
        model = relax(graph, {f"n{i}": nearest if i else Ridge() for i in range(6)}, rounds=2).fit(x, y, nodes=ids)
    assert len(said) == 1 and np.isfinite(model.predict(x, nodes=ids)).all()
    weight = np.array([0.5, 0.0, 3.0, 0.25, 0.25])
    counts = [np.bincount(resample(weight, np.random.default_rng(k)), minlength=5) for k in range(4000)]
    np.testing.assert_allclose(np.mean(counts, axis=0), 5 * weight / weight.sum(), atol=0.03)
    assert np.ptp(counts, axis=0).max() <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        relax(graph, make_pipeline(StandardScaler(), Ridge())).fit(x, y, nodes=ids)


def test_public_rows_by_default_are_told_aloud():
    x, y, ids, graph = rows()
    with pytest.warns(UserWarning, match="100 public rows a node, drawn from normal numbers with the mean and deviation"):
        auto = FedRelax(graph, "linear").fit(x, y, nodes=ids)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meant = FedRelax(graph, "linear", public="moments").fit(x, y, nodes=ids)
    assert auto.predict(x, nodes=ids).tolist() == meant.predict(x, nodes=ids).tolist()
    one = relax(graph, "linear").fit(x, y, nodes=ids)
    each = relax(graph, "linear", public={n: PUBLIC for n in graph}).fit(x, y, nodes=ids)
    frame = pd.DataFrame(np.vstack([PUBLIC] * 6), columns=["a", "b", "c"]).assign(node=np.repeat(list(graph), len(PUBLIC)))
    data = pd.DataFrame(x, columns=["a", "b", "c"]).assign(node=ids)
    by_column = relax(graph, "linear", public=frame, node="node").fit(data, y)
    for other in (each, by_column):
        np.testing.assert_allclose(other.history_["objective"], one.history_["objective"], rtol=1e-12)


def test_threads_seeds_copies_and_pickles():
    x, y, ids, graph = rows(each=10)
    forest = RandomForestRegressor(5)
    models = {f"n{i}": forest if i % 2 else "tree max-depth=2" for i in range(6)}
    one = relax(graph, models, rounds=2, n_jobs=1).fit(x, y, nodes=ids)
    assert forest.random_state is None and not hasattr(forest, "estimators_")
    two = clone(one).set_params(n_jobs=2).fit(x, y, nodes=ids)
    other = clone(one).set_params(random_state=1).fit(x, y, nodes=ids)
    same = one.predict(x, nodes=ids)
    assert same.tobytes() == two.predict(x, nodes=ids).tobytes() != other.predict(x, nodes=ids).tobytes()
    again = pickle.loads(pickle.dumps(one))
    assert again.predict(x, nodes=ids).tobytes() == same.tobytes() and again.models_["n0"].spec.startswith("tree max-depth=2")
    fits = joblib.Parallel(n_jobs=2)(joblib.delayed(clone(one).fit)(x, y, nodes=ids) for _ in range(2))
    assert fits[0].predict(x, nodes=ids).tobytes() == same.tobytes()


class Here:
    """A model of no library: it notes the thread it runs on, and goes on from where it stands."""

    def __init__(self, wait=0.0, fail=None):
        self.wait, self.fail, self.threads, self.mean = wait, fail, [], 0.0

    def fit(self, X, y, sample_weight=None):
        if self.fail:
            raise self.fail
        self.threads.append(threading.get_ident())
        until = time.monotonic() + self.wait
        while time.monotonic() < until:
            time.sleep(0.01)
        self.mean += 0.5 * (np.average(y, weights=sample_weight) - self.mean)

    def predict(self, X):
        return np.full((len(X), 1), self.mean)


def test_anything_with_fit_and_predict_takes_part_on_the_callers_thread():
    x, y, ids, graph = rows()
    model = relax(graph, {f"n{i}": Here() if i % 2 else "tree" for i in range(6)}, rounds=3).fit(x, y, nodes=ids)
    assert model.models_["n1"].threads == [threading.get_ident()] * 4
    by_hand = np.mean(y[ids == "n1"]) / 2
    assert model.predict_local(x[:1], nodes=["n1"])[0] == pytest.approx(by_hand)


class Careless(Here):
    """Leaves other filters of warnings behind, as racing threads of a library may."""

    def fit(self, X, y, sample_weight=None):
        warnings.filters = []
        super().fit(X, y, sample_weight)


def test_filters_of_warnings_survive_an_estimator_that_loses_them():
    x, y, ids, graph = rows()
    filters = warnings.filters
    relax(graph, {f"n{i}": Careless() for i in range(6)}).fit(x, y, nodes=ids)
    assert warnings.filters is filters


def test_an_exception_of_an_estimator_is_itself_and_names_the_node():
    x, y, ids, graph = rows()
    bad = KeyError("no such thing")
    with pytest.raises(KeyError, match="no such thing") as caught:
        relax(graph, {f"n{i}": Here(fail=bad if i == 3 else None) for i in range(6)}).fit(x, y, nodes=ids)
    assert caught.value.__notes__ == ["in the model of node 'n3': Here"]
    assert any(entry.name == "fit" and str(entry.path) == __file__ for entry in caught.traceback)


def test_ctrl_c_stops_inside_an_estimator_and_keeps_the_models():
    x, y, ids, graph = rows()
    model = relax(graph, Here(wait=0.1), rounds=1000)
    pressed = []

    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    # Processes in the background of a shell are born deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(1.5, press).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(x, y, nodes=ids)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - pressed[0] < 1.0 + float(os.environ.get("FEDWEAVE_SLACK_SECONDS", "0"))
    assert model.status_ == "interrupted" and np.isfinite(model.predict(x, nodes=ids)).all()


def test_a_node_without_rows_learns_and_one_without_anything_says_nothing():
    x, y, ids, graph = rows()
    graph.add_edge("n5", "empty")
    graph.add_node("alone")
    model = relax(graph, {**{n: "linear" for n in graph}, "empty": LinearRegression(), "alone": Ridge()}).fit(x, y, nodes=ids)
    near = model.predict(x, nodes=["n5"] * len(x))
    np.testing.assert_allclose(model.predict(x, nodes=["empty"] * len(x)), near, atol=0.2)
    assert (model.predict(x, nodes=["alone"] * len(x)) == 0).all()
    single = FedRelax(models=Ridge(alpha=0.5), row_weights="plain").fit(x, y)
    np.testing.assert_allclose(single.predict(x), Ridge(alpha=0.5).fit(x, y).predict(x), rtol=1e-9)
    assert nx.number_of_nodes(graph) == 8 and single.score(x, y) > 0.3
