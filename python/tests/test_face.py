"""Graphs of all kinds, tables, attributes, choosing lam, paths, clustering."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from golden import read_table
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from test_sklearn import rows

from fedweave import ConvexClustering, GTVClassifier, GTVClassifierCV, GTVRegressor, GTVRegressorCV, knn


def polars(frame):
    return pl.DataFrame({column: frame[column].to_list() for column in frame.columns})


def same(a, b):
    return np.asarray(a.coef_).tobytes() == np.asarray(b.coef_).tobytes()


def test_every_kind_of_graph_is_the_same_graph(tmp_path):
    x, y, ids, graph = rows()
    names = list(graph.nodes)
    edges = pd.DataFrame(graph.edges, columns=["source", "target"]).assign(weight=1.0)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    matrix = nx.to_scipy_sparse_array(graph, nodelist=names)
    first = GTVRegressor(graph, lam=0.2).fit(x, y, nodes=ids)
    kinds = [edges, polars(edges), tmp_path / "edges.csv", str(tmp_path / "graph.graphml")]
    kinds += [(matrix, names), (sparse.csr_matrix(matrix), names), (matrix.toarray(), names), list(graph.edges)]
    for kind in kinds:
        assert same(GTVRegressor(kind, lam=0.2).fit(x, y, nodes=ids), first)
    numbers = np.array([int(i[1:]) for i in ids])
    assert same(GTVRegressor(matrix, lam=0.2).fit(x, y, nodes=numbers), first)
    assert same(GTVRegressor(matrix, lam=0.2).fit(x, y, nodes=numbers.astype(float)), first)


def test_tables_with_a_node_column():
    x, y, ids, graph = rows()
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(station=ids)
    plain = GTVRegressor(graph, lam=0.2).fit(x, y, nodes=ids)
    for table in (frame, polars(frame)):
        model = GTVRegressor(graph, lam=0.2, node="station").fit(table, y)
        assert same(model, plain) and model.feature_names_in_.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(model.predict(table), plain.predict(x, nodes=ids))
        assert model.score(table, y) == plain.score(x, y, nodes=ids)
    assert model.coef_.to_pandas().loc["n3", "b"] == model.coef_["n3"][1]


def test_nearest_neighbours_from_columns_mappings_and_tables():
    x, y, ids, _ = rows()
    place = {f"n{i}": (60.0 + i, 20.0 + i % 2) for i in range(6)}
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(station=ids)
    frame["lat"], frame["lon"] = ([place[i][k] for i in ids] for k in (0, 1))
    by_column = GTVRegressor(knn(2, by=["lat", "lon"]), lam=0.2, node="station").fit(frame, y)
    assert by_column.n_features_in_ == 3 and by_column.positions_.geographic
    info = pd.DataFrame.from_dict(place, orient="index", columns=["lat", "lon"])
    by_table = GTVRegressor(knn(2, by=info), lam=0.2).fit(x, y, nodes=ids)
    by_mapping = GTVRegressor(knn(2, by=place, metric="great-circle"), lam=0.2).fit(x, y, nodes=ids)
    assert same(by_column, by_table) and same(by_column, by_mapping)
    assert min(dict(nx.Graph(list(by_table.edges_)).degree).values()) >= 2


def test_attributes_tell_what_was_found():
    x, y, ids, graph = rows()
    model = GTVRegressor(graph, lam=0.3, tol=1e-9).fit(x, y, nodes=ids)
    assert [sorted(c) for c in model.clusters_] == [["n0", "n1", "n2"], ["n3", "n4", "n5"]]
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    # The objective, from its definition.
    loss = sum(np.mean((y[ids == n] - model.predict(x[ids == n], nodes=ids[ids == n])) ** 2) for n in model.nodes_)
    full = {n: np.append(model.coef_[n], model.intercept_[n]) for n in model.nodes_}
    variation = sum(np.linalg.norm(full[a] - full[b]) for a, b in graph.edges)
    assert model.objective_ == pytest.approx(loss + 0.3 * variation, rel=1e-12)
    assert 0 <= model.certified_gap_ <= 1e-9 * max(1, model.objective_)
    # Flows: on the boundary of the ball where models differ, inside elsewhere; they balance the gradients.
    size = {edge: np.linalg.norm(flow) for edge, flow in model.edge_flow_.items()}
    assert size["n2", "n3"] == pytest.approx(0.3, rel=1e-9) and size["n0", "n1"] < 0.3
    ones = np.column_stack([x, np.ones(len(x))])
    for n, sign_edges in {"n0": [("n0", "n1", 1)], "n3": [("n2", "n3", -1), ("n3", "n4", 1)]}.items():
        here = ids == n
        gradient = -2 * ones[here].T @ (y[here] - ones[here] @ full[n]) / here.sum()
        flow = sum(sign * model.edge_flow_[a, b] for a, b, sign in sign_edges)
        np.testing.assert_allclose(gradient + flow, 0, atol=1e-4)
    assert model.history_["objective"][-1] == pytest.approx(model.objective_, rel=1e-6) and model.n_iter_ >= 1
    assert "n0" in model.coef_ and "zz" not in model.coef_ and len(model.coef_) == 6


def test_nodes_without_rows_learn_from_their_neighbours():
    x, y, ids, graph = rows()
    graph.add_edge("n5", "silent")
    model = GTVRegressor(graph, lam=0.2).fit(x, y, nodes=ids)
    np.testing.assert_allclose(model.coef_["silent"], model.coef_["n5"], atol=1e-4)


def test_lam_is_chosen_on_held_out_rows_like_on_the_command_line(tmp_path):
    import json
    import subprocess
    import sys

    x, y, ids, graph = rows(each=10)
    pd.DataFrame(x, columns=["a", "b", "c"]).assign(node=ids, y=y).to_csv(tmp_path / "rows.csv", index=False)
    pd.DataFrame(graph.edges, columns=["source", "target"]).to_csv(tmp_path / "edges.csv", index=False)
    files = ["fit", str(tmp_path / "rows.csv"), "--edges", str(tmp_path / "edges.csv"), "--out", str(tmp_path / "run")]
    words = ["--target", "y", "--standardize", "--seed", "3", "--json"]
    done = subprocess.run([sys.executable, "-m", "fedweave", *files, *words], check=True, capture_output=True)
    told = json.loads(done.stdout)
    table = read_table(tmp_path / "rows.csv")
    model = GTVRegressor(graph, standardize=True, random_state=3)
    model.fit(table[["a", "b", "c"]], table["y"], nodes=table["node"])
    assert model.lam_ == told["lambda"] and model.objective_ == told["objective"]
    there = read_table(tmp_path / "run" / "parameters.csv")
    assert there[["a", "b", "c"]].to_numpy().tobytes() == np.ascontiguousarray(np.asarray(model.coef_)).tobytes()
    assert there["intercept"].to_numpy().tobytes() == np.asarray(model.intercept_).tobytes()


def test_cross_validation_chooses_what_an_own_loop_chooses():
    x, y, ids, graph = rows(each=10)
    from sklearn.model_selection import KFold

    cv, lams = KFold(3, shuffle=True, random_state=1), [1e-3, 0.1, 10.0]
    model = GTVRegressorCV(graph, lams=lams, cv=cv).fit(x, y, nodes=ids)
    own = np.zeros((3, 3))
    for k, (train, test) in enumerate(cv.split(x)):
        for j, lam in enumerate(sorted(lams, reverse=True)):
            plain = GTVRegressor(graph, lam=lam).fit(x[train], y[train], nodes=ids[train])
            squares = (y[test] - plain.predict(x[test], nodes=ids[test])) ** 2
            own[j, k] = np.mean([squares[ids[test] == n].mean() for n in np.unique(ids[test])])
    np.testing.assert_allclose(model.cv_errors_, own, rtol=1e-2)
    assert model.lam_ == model.lams_[own.mean(axis=1).argmin()]
    assert same(model, GTVRegressor(graph, lam=model.lam_).fit(x, y, nodes=ids))
    folds = GTVRegressorCV(graph, cv=4, random_state=0).fit(x, y, nodes=ids)
    assert folds.cv_errors_.shape == (len(folds.lams_), 4) and 0 < folds.lam_ < folds.lams_[0]


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_at_nodes(classes):
    x, y, ids, graph = rows(each=30)
    label = np.array(["low", "mid", "top"])[np.digitize(y, [0] if classes == 2 else [-0.7, 0.7])]
    model = GTVClassifier(graph, lam=0.05).fit(x, label, nodes=ids)
    assert model.score(x, label, nodes=ids) > 0.85
    assert model.coef_["n0"].shape == ((3,) if classes == 2 else (3, 3))
    proba = model.predict_proba(x, nodes=ids)
    assert proba.shape == (len(y), classes) and np.allclose(proba.sum(axis=1), 1)
    chosen = GTVClassifierCV(graph, lams=[0.01, 1.0], cv=3).fit(x, label, nodes=ids)
    assert chosen.score(x, label, nodes=ids) > 0.8 and chosen.cv_errors_.shape == (2, 3)


def test_paths_go_from_models_of_their_own_to_one():
    x, y, ids, graph = rows()
    model = GTVRegressor(graph)
    path = model.path(x, y, nodes=ids, count=12)
    assert (np.diff(path.lams) > 0).all() and path.n_clusters[-1] == 1 and path.n_clusters[0] > 2
    assert path.lams[-1] == path.lam_max
    k = 6
    alone = GTVRegressor(graph, lam=float(path.lams[k])).fit(x, y, nodes=ids)
    np.testing.assert_allclose(np.asarray(path.coef(k)), np.asarray(alone.coef_), atol=1e-3)
    np.testing.assert_allclose(path.objective[k], alone.objective_, rtol=1e-5)
    assert path.intercept(k)["n0"] == pytest.approx(alone.intercept_["n0"], abs=1e-3)
    given = model.path(x, y, nodes=ids, lams=[0.3, 0.1], breakpoints=0.01)
    assert given.lams.tolist() == [0.1, 0.3] and len(given.to_pandas()) == 2


def test_convex_clustering_finds_blobs():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10]])
    truth = np.repeat([0, 1, 2], 20)
    points = centres[truth] + rng.normal(size=(60, 2))
    for model in (ConvexClustering(), ConvexClustering(knn(30)), ConvexClustering(knn(30), n_clusters=3)):
        labels = model.fit_predict(points)
        assert [len(set(labels[truth == k])) for k in range(3)] == [1, 1, 1] and len(set(labels)) == 3
        assert model.cluster_centers_.shape == (3, 2) and model.path_ is not None
    single = ConvexClustering(knn(3), lam=0.0).fit(points)
    np.testing.assert_allclose([single.coef_[i] for i in range(60)], points, atol=1e-9)


def test_a_limit_is_a_warning_with_the_facts():
    x, y, ids, graph = rows()
    model = GTVRegressor(graph, lam=0.3, max_iter=1, tol=1e-14, solver="primal-dual")
    with pytest.warns(ConvergenceWarning, match="iteration-limit.*kkt residual.*max_iter"):
        model.fit(x, y, nodes=ids)
    assert model.status_ == "iteration-limit" and np.isfinite(np.asarray(model.coef_)).all()
