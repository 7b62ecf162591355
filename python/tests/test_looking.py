"""Pictures, the report, the comparison."""

import json

import matplotlib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from test_sklearn import rows

from fedweave import (
    ConvexClustering,
    GTVClassifier,
    GTVRegressor,
    TunedRegressor,
    compare,
    knn,
    plot_convergence,
    plot_network,
    plot_path,
)

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_the_network_is_drawn_where_the_nodes_are(ax):
    x, y, ids, graph = rows()
    place = pd.DataFrame({"lat": 60 + np.arange(6.0), "lon": 20 + np.arange(6.0) ** 2}, index=[f"n{i}" for i in range(6)])
    model = GTVRegressor(knn(1, by=place), lam=0.3).fit(x, y, nodes=ids)
    plot_network(model, ax=ax)
    dots = ax.collections[0].get_offsets()
    np.testing.assert_allclose(dots, place[["lon", "lat"]].to_numpy())
    assert ax.get_xlabel() == "lon" and len(ax.lines) == len(model.edges_)
    styles = {edge: line.get_linestyle() for edge, line in zip(model.edges_, ax.lines)}
    for (a, b), style in styles.items():
        assert (style == "-") == (model.labels_[int(a[1])] == model.labels_[int(b[1])])


def test_the_network_is_coloured_by_numbers(ax):
    x, y, ids, graph = rows()
    model = GTVRegressor(graph, lam=0.3).fit(x, y, nodes=ids)
    error = {n: float(i) for i, n in enumerate(model.nodes_)}
    plot_network(model, error, ax=ax)
    np.testing.assert_array_equal(ax.collections[0].get_array(), np.arange(6.0))
    with pytest.raises(ValueError, match="one number per node"):
        plot_network(model, [1.0, 2.0], ax=ax)
    with pytest.raises(ValueError, match="no position for node"):
        plot_network(model, positions={"n0": (0, 0)}, ax=ax)


def test_path_and_convergence_are_drawn(ax):
    x, y, ids, graph = rows()
    model = GTVRegressor(graph, lam=0.3).fit(x, y, nodes=ids)
    plot_convergence(model, ax=ax)
    assert ax.get_yscale() == "log" and len(ax.lines) >= 1
    path = model.path(x, y, nodes=ids, count=5)
    figure, other = plt.subplots()
    plot_path(path, 1, ax=other)
    assert len(other.lines) == 6
    np.testing.assert_array_equal(other.lines[2].get_ydata(), path.parameters[:, 2, 1])
    plt.close(figure)


def test_a_fitted_estimator_shows_its_report(tmp_path):
    x, y, ids, graph = rows()
    model = GTVRegressor(graph, lam="auto").fit(x, y, nodes=ids)
    assert "GTVRegressor" in GTVRegressor()._repr_html_()
    shown = model._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "n3" in shown
    page = model.report(tmp_path / "page.html", title="Six nodes")
    assert page.startswith("<!doctype html>") and "Six nodes" in page
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    told = json.loads(model._report)
    assert told["nodes"][3]["name"] == "n3" and told["nodes"][3]["rows"] == 20
    assert told["nodes"][3]["parameters"] == [*model.coef_["n3"].tolist(), model.intercept_["n3"]]
    assert len(told["edges"]) == 5 and told["lambda_curve"]["chosen"] == model.lam_


def test_reports_of_the_other_estimators():
    x, y, ids, graph = rows()
    label = np.digitize(y, [-0.5, 0.5])
    assert "<iframe" in GTVClassifier(graph, lam=0.1).fit(x, label, nodes=ids)._repr_html_()
    assert "<iframe" in ConvexClustering(knn(3), lam=0.1).fit(x[:30])._repr_html_()
    assert "<iframe" in GTVRegressor().fit(x, y)._repr_html_()


def test_comparison_prefers_the_right_graph():
    x, y, ids, _ = rows(each=5, p=3)
    graph = nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3))
    graph = nx.relabel_nodes(graph, {i: f"n{i}" for i in range(6)})
    frame, figure = compare(GTVRegressor(graph, lam=0.5), x, y, nodes=ids, splits=4)
    error = frame["error"]
    assert error["networked"] < min(error["local"], error["global"], error["shuffled"])
    assert list(frame.columns) == ["error", "standard_error", "nodes_better", "nodes_worse"]
    assert len(figure.axes[0].patches) == len(frame) == 12
    plain, _ = compare(GTVRegressor(graph, lam=0.5), x, y, nodes=ids, splits=4, rivals=False, figure=False)
    assert plain["error"].to_dict() == error[:4].to_dict()
    two = np.isin(ids, ["n0", "n1"])
    few, _ = compare(GTVRegressor([("n0", "n1")], lam=0.5), x[two], y[two], nodes=ids[two], rivals=False, figure=False)
    assert few.index.tolist() == ["local", "global", "networked"]  # a shuffled graph of two nodes is no control
    with pytest.raises(TypeError, match="TunedRegressor"):
        compare(TunedRegressor(graph), x, y, nodes=ids)
