"""Nodes come back as they were given, in the order of the graph."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from fedweave import ActiveSampling, ConvexClustering, FedRelax, GTVRegressor, errors, knn


def rows(ids, each=6, p=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(ids) * each, p))
    y = x[:, 0] + 0.1 * rng.normal(size=len(x)) + np.repeat(np.arange(len(ids)) >= len(ids) / 2, each)
    return x, y, [node for node in ids for _ in range(each)]


IDS = [12, 2, 10, 1, 0, 11]


def test_whole_numbers_stay_whole_numbers_in_the_order_of_the_graph():
    x, y, nodes = rows(IDS)
    model = GTVRegressor(nx.path_graph(IDS), lam=0.05).fit(x, y, nodes=np.array(nodes))
    assert model.nodes_.tolist() == IDS and all(type(node) is int for node in model.nodes_)
    assert {type(node) for cluster in model.clusters_ for node in cluster} == {int}
    assert sorted(node for cluster in model.clusters_ for node in cluster) == sorted(IDS)
    assert list(model.coef_) == IDS and list(model.edges_) == list(zip(IDS, IDS[1:]))
    for label, node in zip(model.labels_, model.nodes_):
        assert node in model.clusters_[label]
    np.testing.assert_array_equal(np.asarray(model.coef_)[2], model.coef_[10])
    np.testing.assert_array_equal(model.coef_["10"], model.coef_[10])


def test_the_order_of_nodes_does_not_change_a_bit():
    x, y, nodes = rows(IDS)
    first = GTVRegressor(nx.path_graph(IDS), lam=0.05).fit(x, y, nodes=nodes)
    other = nx.Graph()
    other.add_nodes_from(IDS[::-1])
    other.add_edges_from(zip(IDS, IDS[1:]))
    second = GTVRegressor(other, lam=0.05).fit(x, y, nodes=nodes)
    assert second.nodes_.tolist() == IDS[::-1]
    assert {n: w.tolist() for n, w in first.coef_.items()} == {n: w.tolist() for n, w in second.coef_.items()}
    # Flows go from the earlier node to the later one, whichever that is.
    assert first.edge_flow_[12, 2].tolist() == (-second.edge_flow_[12, 2]).tolist()


def test_flows_balance_the_gradients_whatever_the_order():
    x, y, nodes = rows(IDS)
    model = GTVRegressor(nx.path_graph(IDS), lam=0.05, fit_intercept=False, tol=1e-10).fit(x, y, nodes=nodes)
    place = {node: i for i, node in enumerate(model.nodes_)}
    for node in IDS:
        here = np.array(nodes) == node
        gradient = -2 * x[here].T @ (y[here] - x[here] @ model.coef_[node]) / here.sum()
        out = sum((1 if place[a] == place[node] else -1) * flow for (a, b), flow in model.edge_flow_.items() if node in (a, b))
        np.testing.assert_allclose(gradient + out, 0, atol=1e-5)


def test_tuples_names_and_numbers_of_numpy():
    grid = nx.grid_2d_graph(2, 3)
    x, y, nodes = rows(list(grid.nodes))
    model = GTVRegressor(grid, lam=0.1).fit(x, y, nodes=nodes)
    assert model.nodes_.tolist() == list(grid.nodes) and model.coef_[0, 1].shape == (2,)
    assert model.predict(x, nodes=nodes).shape == y.shape and set(model.edges_) == set(grid.edges)
    assert list(model.coef_.to_pandas().index) == list(grid.nodes)
    edges = pd.DataFrame({"source": np.array([7, 5], dtype=np.int32), "target": np.array([5, 9], dtype=np.int32)})
    x, y, nodes = rows([5, 7, 9])
    listed = GTVRegressor(edges, lam=0.1).fit(x, y, nodes=np.array(nodes, dtype=np.int16))
    assert listed.nodes_.tolist() == [7, 5, 9] and all(type(node) is int for node in listed.nodes_)


def test_orders_of_other_graphs(tmp_path):
    x, y, nodes = rows([3, 20, 1])
    matrix = np.zeros((21, 21))
    matrix[1, 20] = matrix[20, 1] = matrix[3, 20] = matrix[20, 3] = 1.0
    assert GTVRegressor(matrix, lam=0.1).fit(x, y, nodes=nodes).nodes_.tolist() == list(range(21))
    named = GTVRegressor((matrix[np.ix_([20, 3, 1], [20, 3, 1])], [20, 3, 1]), lam=0.1).fit(x, y, nodes=nodes)
    assert named.nodes_.tolist() == [20, 3, 1]
    (tmp_path / "edges.csv").write_text("source,target\n20,1\n3,20\n")
    # A file has text only: the rows know what an id is.
    assert GTVRegressor(tmp_path / "edges.csv", lam=0.1).fit(x, y, nodes=nodes).nodes_.tolist() == [20, 1, 3]
    assert GTVRegressor(lam=0.0).fit(x, y, nodes=nodes).nodes_.tolist() == [3, 20, 1]
    near = GTVRegressor(knn(1, by={1: (0.0,), 3: (1.0,), 20: (3.0,)}), lam=0.1).fit(x, y, nodes=nodes)
    assert near.nodes_.tolist() == [1, 3, 20]


def test_strangers_are_a_warning_and_strangers_alone_an_error():
    x, y, nodes = rows([1, 2, 3, 4, 5, 6])
    with pytest.warns(UserWarning, match=r"does not have 4 nodes of the data.*: 3, 4, 5, \.\.\."):
        model = GTVRegressor([(1, 2)], lam=0.1).fit(x, y, nodes=nodes)
    assert model.nodes_.tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(errors.GraphError, match="other nodes"):
        GTVRegressor([("a", "b")], lam=0.1).fit(x, y, nodes=nodes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GTVRegressor([(k, k + 1) for k in range(1, 6)], lam=0.1).fit(x, y, nodes=nodes)


def test_paths_points_relax_and_asking_follow():
    x, y, nodes = rows(IDS)
    path = GTVRegressor(nx.path_graph(IDS)).path(x, y, nodes=nodes, count=4)
    assert path.nodes.tolist() == IDS and list(path.coef(0)) == IDS
    np.testing.assert_array_equal(path.parameters[1, 2, :2], path.coef(1)[10])
    points = ConvexClustering(nx.path_graph(IDS), lam=0.1).fit(x, nodes=nodes)
    assert points.nodes_.tolist() == IDS and len(points.labels_) == len(x)
    assert all(points.labels_[k] == points._cluster_of_node[IDS.index(node)] for k, node in enumerate(nodes))
    every = ConvexClustering(n_clusters=2).fit(x)
    assert every.nodes_.tolist() == list(range(len(x))) and every.labels_.tolist() == every._cluster_of_node.tolist()
    relax = FedRelax(nx.path_graph(IDS), {node: "ridge" for node in IDS}, public="moments").fit(x, y, nodes=nodes)
    assert relax.nodes_.tolist() == IDS and list(relax.models_) == IDS
    asked = ActiveSampling([10, 2], rounds=3, candidates=2).fit(x, y, nodes=nodes)
    assert asked.nodes_.tolist() == [2, 10] and all(type(c) is int for c in asked.history_[10]["candidate"])


def test_errors_name_nodes_as_they_were_given():
    x, y, nodes = rows([7, 8])
    with pytest.raises(errors.UnknownNodeError) as caught:
        GTVRegressor([(7, 8)], lam=0.1).fit(x, y, nodes=nodes).predict(x[:1], nodes=[9])
    assert caught.value.node == 9
    with pytest.raises(errors.ModelError) as caught:
        FedRelax([(7, 8)], {7: "ridge", 8: "perceptrons"}, public="moments").fit(x, y, nodes=nodes)
    assert caught.value.node == 8
