"""Nodes that were not there at the fit: the same bits as `fedweave predict --new-nodes`."""

import pickle

import numpy as np
import pandas as pd
import pytest
import same
from same import EDGES, FEATURES

from fedweave import GTVClassifier, GTVRegressor, errors, knn

JOINS = [("fresh", "s10", 1.0), ("s4", "fresh", 0.5)]

CASES = {
    "squared": ("--target y --penalty squared --lambda 0.3", "y", GTVRegressor, {"penalty": "squared", "lam": 0.3}),
    "norm": ("--target y --lambda 0.1 --standardize", "y", GTVRegressor, {"lam": 0.1, "standardize": True}),
    "no intercept": ("--target y --lambda 0.1 --no-intercept", "y", GTVRegressor, {"lam": 0.1, "fit_intercept": False}),
    "learnt": ("--target y --coupling learnt", "y", GTVRegressor, {"options": {"coupling": "learnt"}}),
    "logistic": ("--target yes --loss logistic --ridge 0.01 --lambda 0.1", "yes", GTVClassifier, {"ridge": 0.01, "lam": 0.1}),
    "classes": ("--target class --loss multinomial --ridge 0.01 --lambda 0.1", "class", GTVClassifier, {"ridge": 0.01, "lam": 0.1}),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    files = same.write(tmp_path_factory.mktemp("new"))
    files.rows.head(6).assign(node="fresh").to_csv(files.folder / "new.csv", index=False)
    files.rows.tail(4).assign(node="fresh").to_csv(files.folder / "few.csv", index=False)
    pd.DataFrame(JOINS, columns=["source", "target", "weight"]).to_csv(files.folder / "joins.csv", index=False)
    return files


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_edges_and_rows(name, few, files):
    flags, target, estimator, settings = CASES[name]
    files.told("fit", flags)
    words = ["--new-edges", "joins.csv", *(["--new-rows", "few.csv"] if few else [])]
    done = files.run("predict", "run", "new.csv", "--new-nodes", *words)
    assert done.returncode == 0, done.stderr
    said = [line.split(",") for line in done.stdout.splitlines()[1:]]
    rows = files.rows
    model = estimator(EDGES, **settings).fit(rows[FEATURES], rows[target], nodes=rows["node"])
    own = (rows.tail(4)[FEATURES], rows.tail(4)[target], ["fresh"] * 4) if few else None
    x, ids = rows.head(6)[FEATURES], ["fresh"] * 6
    joined = model.join(x, nodes=ids, rows=own, edges=JOINS)
    assert joined.nodes_.tolist() == [*model.nodes_.tolist(), "fresh"] and "fresh" not in model.nodes_
    if estimator is GTVRegressor:
        assert [float(cells[1]) for cells in said] == joined.predict(x, nodes=ids).tolist()
    else:
        proba = joined.predict_proba(x, nodes=ids)
        assert [[float(cell) for cell in cells[2:]] for cells in said] == (proba[:, 1:] if name == "logistic" else proba).tolist()
    assert np.array_equal(np.asarray(joined.coef_["fresh"]).ravel(), joined._coef[-1].ravel())
    known = rows["node"].iloc[:6]
    assert joined.predict(x, nodes=known).tolist() == model.predict(x, nodes=known).tolist()


def test_rows_say_who_is_alike(files):
    flags, target, estimator, settings = CASES["squared"]
    files.told("fit", flags)
    said = files.run("predict", "run", "new.csv", "--new-nodes", "--new-rows", "few.csv").stdout.splitlines()[1:]
    rows = files.rows
    model = estimator(EDGES, **settings).fit(rows[FEATURES], rows[target], nodes=rows["node"])
    x, ids = rows.head(6)[FEATURES], ["fresh"] * 6
    joined = model.join(x, nodes=ids, rows=(rows.tail(4)[FEATURES], rows.tail(4)[target], ["fresh"] * 4))
    assert [float(line.split(",")[1]) for line in said] == joined.predict(x, nodes=ids).tolist()
    with pytest.raises(errors.GraphError, match="rows="):
        model.join(x, nodes=ids)


def places(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"node": np.repeat([f"n{i}" for i in range(7)], 6), "at": np.repeat(np.arange(7.0), 6), "x": rng.normal(size=42)})
    frame["y"] = (1 + 0.2 * frame["at"]) * frame["x"] + 0.1 * rng.normal(size=42)
    old, new = frame[frame["node"] != "n3"], frame[frame["node"] == "n3"]
    old.to_csv(tmp_path / "old.csv", index=False)
    new.to_csv(tmp_path / "new.csv", index=False)
    return same.Files(tmp_path, old), old, new


def test_nearest_nodes(tmp_path):
    files, old, new = places(tmp_path)
    fit = "fit old.csv --target y --features x --knn 2 --by at --lambda 0.1 --penalty squared --out run"
    assert files.run(*fit.split()).returncode == 0
    said = files.run("predict", "run", "new.csv", "--new-nodes").stdout.splitlines()[1:]
    model = GTVRegressor(knn(2, by=["at"]), lam=0.1, penalty="squared", node="node").fit(old[["node", "at", "x"]], old["y"])
    ours = model.predict(new[["node", "at", "x"]], new="join")
    assert [float(line.split(",")[1]) for line in said] == ours.tolist()
    middle = (model.coef_["n2"] + model.coef_["n4"]) / 2
    joined = pickle.loads(pickle.dumps(model)).join(new[["node", "x"]], positions={"n3": (3.0,)})
    np.testing.assert_allclose(joined.coef_["n3"], middle, rtol=1e-12)
    assert joined.predict(new[["node", "x"]]).tolist() == ours.tolist()


def test_a_learnt_coupling_joins_by_the_rows_around(tmp_path):
    files, old, new = places(tmp_path)
    fit = "fit old.csv --target y --features x --knn 2 --by at --coupling learnt --out run"
    assert files.run(*fit.split()).returncode == 0
    model = GTVRegressor(knn(2, by=["at"]), node="node", options={"coupling": "learnt"}).fit(old[["node", "at", "x"]], old["y"])
    few = new.head(2)
    few.to_csv(tmp_path / "few.csv", index=False)
    for words, own in [([], None), (["--new-rows", "few.csv"], (few[["node", "x"]], few["y"]))]:
        said = files.run("predict", "run", "new.csv", "--new-nodes", *words).stdout.splitlines()[1:]
        joined = model.join(new[["node", "at", "x"]], rows=own)
        assert [float(line.split(",")[1]) for line in said] == joined.predict(new[["node", "x"]]).tolist()
        assert abs(joined.coef_["n3"][0] - 1.6) < 0.2
    # Edges have the last word.
    by_edges = model.join(new[["node", "x"]], edges=[("n3", "n0", 1.0)])
    assert by_edges.coef_["n3"][0] < joined.coef_["n3"][0] - 0.1


def test_bad_input_names_the_fact(tmp_path):
    _, old, new = places(tmp_path)
    x = new[["node", "at", "x"]]
    near = GTVRegressor(knn(2, by=["at"]), lam=0.1, node="node").fit(old[["node", "at", "x"]], old["y"])
    given = GTVRegressor([("n0", "n1"), ("n1", "n2")], lam=0.1).fit(old[["x"]], old["y"], nodes=old["node"].replace({"n4": "n0", "n5": "n1", "n6": "n2"}))
    cases = [
        (lambda: near.predict(x, new="guess"), errors.ParameterError, "one of join"),
        (lambda: near.predict(x, new="join", interval=0.9), errors.ParameterError, "new nodes"),
        (lambda: near.predict(x), errors.UnknownNodeError, "n3"),
        (lambda: near.join(x.drop(columns="at")), errors.GraphError, "'at'"),
        (lambda: near.join(x, positions={"n3": (1.0, 2.0)}), errors.GraphError, "2 coordinates"),
        (lambda: near.join(x, positions={"zz": (1.0,)}), errors.GraphError, "'n3' has no position"),
        (lambda: near.join(x, rows=3), TypeError, "rows must be"),
        (lambda: given.predict(new[["x"]], nodes=new["node"], new="join"), errors.GraphError, "give edges="),
        (lambda: given.join(new[["x"]], nodes=new["node"], edges=[("n3", "n9")]), errors.GraphError, "no edge joins node 'n3'"),
        (lambda: GTVRegressor().fit(old[["x"]], old["y"]).join(new[["x"]], nodes=new["node"]), ValueError, "no network"),
    ]
    for act, kind, fact in cases:
        with pytest.raises(kind, match=fact):
            act()
