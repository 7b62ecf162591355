"""Bad input: a ValueError or TypeError that names the fact, never a crash."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from test_sklearn import rows

from fedweave import ActiveSampling, ConvexClustering, FedRelax, GTVClassifier, GTVRegressor, GTVRegressorCV, compare, errors, knn

X, Y, IDS, GRAPH = rows()


def fit(graph=GRAPH, x=X, y=Y, nodes=IDS, **settings):
    return GTVRegressor(graph, **({"lam": 0.1} | settings)).fit(x, y, nodes=nodes)


def relax(models="linear", x=X, y=Y, nodes=IDS, **settings):
    return FedRelax(GRAPH, models, **({"lam": 0.1, "public": X[:5]} | settings)).fit(x, y, nodes=nodes)


def active(own="n0", model=None, **settings):
    return ActiveSampling(own, model, **({"candidates": 2, "rounds": 2} | settings)).fit(X, Y, nodes=IDS)


class Liar:
    """It predicts whatever it was told to."""

    def __init__(self, says):
        self.says = says

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return self.says(X)


def bad(x, at, value):
    x = x.copy()
    x[at] = value
    return x


CASES = {
    "rows of y": (lambda: fit(y=Y[:-1]), ValueError, "inconsistent"),
    "rows of nodes": (lambda: fit(nodes=IDS[:-1]), errors.SizeError, "120, found 119"),
    "nodes is a word": (lambda: fit(nodes="n0"), TypeError, "one id per row"),
    "nodes is a number": (lambda: fit(nodes=3), TypeError, "one id per row"),
    "nodes of lists": (lambda: fit(nodes=[[1]] * len(Y)), TypeError, "strings, numbers or tuples"),
    "node missing": (lambda: fit(nodes=[None, *IDS[1:]]), ValueError, "row 0 has no node id"),
    "node NaN": (lambda: fit(nodes=[1.5, float("nan")] + [1.5] * (len(Y) - 2)), ValueError, "row 1 has no node id"),
    "x one-dimensional": (lambda: fit(x=X[:, 0]), ValueError, "2D"),
    "NaN in X": (lambda: fit(x=bad(X, (3, 1), np.nan)), ValueError, "NaN"),
    "infinity in X": (lambda: fit(x=bad(X, (3, 1), np.inf)), ValueError, "infinity"),
    "NaN in y": (lambda: fit(y=bad(Y, 3, np.nan)), ValueError, "NaN"),
    "text in X": (lambda: fit(x=np.array([["a"]] * len(Y))), ValueError, "could not convert"),
    "no rows": (lambda: fit(x=X[:0], y=Y[:0], nodes=[]), ValueError, "0 sample"),
    "graph without nodes": (lambda: fit(nodes=None), ValueError, "a graph needs nodes"),
    "other names": (lambda: fit(graph=nx.path_graph(["a", "b"])), errors.GraphError, "other nodes .'a', 'b'"),
    "matrix without names": (lambda: fit(graph=nx.to_scipy_sparse_array(GRAPH)), errors.GraphError, "matrix, names"),
    "matrix, wrong names": (lambda: fit(graph=(np.eye(2), ["a"])), errors.GraphError, "2 rows, but there are 1 names"),
    "matrix not symmetric": (lambda: fit(graph=(np.triu(np.ones((6, 6)), 1), list(GRAPH))), errors.GraphError, "symmetric"),
    "directed": (lambda: fit(graph=nx.DiGraph([("n0", "n1")])), errors.GraphError, "directed"),
    "self loop": (lambda: fit(graph=[("n0", "n0")]), errors.SelfLoopError, "'n0' has an edge to itself"),
    "negative weight": (lambda: fit(graph=[("n0", "n1", -2)]), errors.EdgeWeightError, "-2"),
    "weight of text": (lambda: fit(graph=[("n0", "n1", "x")]), errors.EdgeWeightError, "'x', not a number"),
    "two weights": (lambda: fit(graph=[("n0", "n1", 1), ("n1", "n0", 2)]), errors.EdgeConflictError, "'n1' - 'n0'"),
    "edge of one end": (lambda: fit(graph=[("n0",)]), errors.GraphError, "edge 0"),
    "table without source": (lambda: fit(graph=pd.DataFrame({"a": [1]})), errors.GraphError, "source, target"),
    "graph a number": (lambda: fit(graph=7), TypeError, "networkx.Graph"),
    "graph file missing": (lambda: fit(graph="no/such.csv"), errors.FileError, "no such file"),
    "knn without positions": (lambda: fit(graph=knn(2)), errors.GraphError, "where are the nodes"),
    "knn column missing": (lambda: fit(graph=knn(2, by=["lat"])), errors.GraphError, "no column 'lat'"),
    "knn too many": (lambda: fit(graph=knn(6, by={n: (0.0, i) for i, n in enumerate(GRAPH)})), errors.GraphError, "k is 6"),
    "knn incomplete": (lambda: fit(graph=knn(1, by={"n0": (0.0, 1.0)})), errors.GraphError, "'n1' has no position"),
    "loss": (lambda: fit(loss="cubic"), errors.ParameterError, "one of squared"),
    "penalty": (lambda: fit(penalty="x"), errors.ParameterError, "one of norm2"),
    "solver": (lambda: fit(solver="x"), errors.ParameterError, "one of auto"),
    "lam negative": (lambda: fit(lam=-1), errors.ParameterError, "lam is -1"),
    "lam text": (lambda: fit(lam="best"), errors.ParameterError, "auto"),
    "lam None": (lambda: fit(lam=None), TypeError, "lam: expected a number"),
    "lam huge": (lambda: fit(lam=1e200), errors.ParameterError, "1e100"),
    "tol": (lambda: fit(tol=0), errors.ParameterError, "above 0"),
    "max_iter": (lambda: fit(max_iter=0), errors.ParameterError, "at least 1"),
    "ridge": (lambda: fit(ridge=np.nan), errors.ParameterError, "ridge is nan"),
    "n_jobs": (lambda: fit(n_jobs=0), errors.ParameterError, "n_jobs"),
    "huber": (lambda: fit(loss="huber", huber_delta=0), errors.ParameterError, "huber_delta"),
    "quantile": (lambda: fit(loss="quantile", quantile=1.5), errors.ParameterError, "quantile"),
    "quadratic": (lambda: fit(penalty="quadratic"), errors.ParameterError, "penalty_matrix"),
    "quadratic shape": (lambda: fit(penalty="quadratic", penalty_matrix=np.eye(2)), ValueError, "has 2 columns, a model has 4 parameters"),
    "poisson labels": (lambda: fit(loss="poisson", y=-np.abs(Y)), errors.LabelError, "poisson"),
    "scale": (lambda: fit(x=bad(X, (5, 2), 1e200)), errors.ScaleError, "column 2"),
    "row weight": (
        lambda: GTVRegressor(GRAPH, lam=0.1).fit(X, Y, sample_weight=bad(np.ones(len(Y)), 7, -1.0), nodes=IDS),
        errors.RowWeightError,
        "row 7",
    ),
    "separable": (
        lambda: GTVClassifier(GRAPH, lam=0.1, ridge=0).fit(X, X[:, 0] > 0, nodes=IDS),
        errors.NoMinimiserError,
        "at node 'n0'.*ridge",
    ),
    "one class": (lambda: GTVClassifier().fit(X, np.ones(len(Y))), errors.LabelError, "one class"),
    "hinge of three": (lambda: GTVClassifier(loss="squared-hinge").fit(X, np.arange(len(Y)) % 3), ValueError, "two classes"),
    "unknown node": (lambda: fit().predict(X[:1], nodes=["zz"]), errors.UnknownNodeError, "'zz'.*'n0'"),
    "predict without nodes": (lambda: fit().predict(X), ValueError, "which nodes"),
    "predict other width": (lambda: fit().predict(X[:, :2], nodes=IDS), ValueError, "features"),
    "node column of an array": (lambda: GTVRegressor(GRAPH, node="s").fit(X, Y), TypeError, "DataFrame"),
    "node column missing": (lambda: GTVRegressor(GRAPH, node="s").fit(pd.DataFrame(X), Y), ValueError, "no such column"),
    "lam by too few rows": (lambda: fit(x=X[::20], y=Y[::20], nodes=IDS[::20], lam="auto"), ValueError, "held out"),
    "cv": (lambda: GTVRegressorCV(GRAPH, cv=1).fit(X, Y, nodes=IDS), errors.ParameterError, "cv is 1"),
    "lams": (lambda: GTVRegressorCV(GRAPH, lams=[-1.0]).fit(X, Y, nodes=IDS), errors.ParameterError, "lams"),
    "path without edges": (lambda: GTVRegressor().path(X, Y), ValueError, "no edges"),
    "path count": (lambda: GTVRegressor(GRAPH).path(X, Y, nodes=IDS, count=1), errors.ParameterError, "count"),
    "n_clusters": (lambda: ConvexClustering(n_clusters=0).fit(X), errors.ParameterError, "n_clusters"),
    "compare without nodes": (lambda: compare(GTVRegressor(GRAPH), X, Y), ValueError, "which nodes"),
    "model is a number": (lambda: relax(3), TypeError, "node 'n0'.*got 3, which has no fit"),
    "model is a class": (lambda: relax(Ridge), TypeError, "Ridge is a class; give an instance"),
    "model without predict": (lambda: relax(StandardScaler()), TypeError, "has no predict"),
    "model is a function": (lambda: relax({n: np.mean for n in GRAPH}), TypeError, "has no fit"),
    "model unknown": (lambda: relax("perceptrons"), errors.ModelError, "node 'n0': unknown model 'perceptrons'; known models"),
    "model option": (lambda: relax({"model": "tree", "depth": 3}), errors.ModelError, "no option 'depth'; its options"),
    "description without name": (lambda: relax({n: {"max_depth": 3} for n in GRAPH}), TypeError, "needs the name of a model"),
    "model for classes": (lambda: relax("logistic"), errors.ModelError, "node 'n0'.*needs classes"),
    "models for some": (lambda: relax({"n0": Ridge()}), errors.ModelError, "no model for node 'n1' .and 4 more"),
    "models for others": (lambda: relax({"zz": Ridge()}), errors.UnknownNodeError, "no node 'zz'"),
    "classifier for numbers": (lambda: relax(LogisticRegression()), errors.ModelError, "task='classification'"),
    "regression for classes": (lambda: relax(Ridge(), y=Y > 0, task="classification"), TypeError, "predict_proba"),
    "relax one class": (lambda: relax("tree", y=np.ones(len(Y)), task="classification"), errors.LabelError, "one class"),
    "relax lam": (lambda: relax(lam=-1.0), errors.ParameterError, "lam is -1"),
    "relax rounds": (lambda: relax(rounds=-1), errors.ParameterError, "rounds is -1"),
    "relax order": (lambda: relax(order="never"), errors.ParameterError, "together, in-turn"),
    "relax task": (lambda: relax(task="ranking"), errors.ParameterError, "regression, classification"),
    "relax NaN": (lambda: relax(x=bad(X, (3, 1), np.nan)), ValueError, "NaN"),
    "relax rows of y": (lambda: relax(y=Y[:-1]), ValueError, "inconsistent"),
    "relax rows of nodes": (lambda: relax(nodes=IDS[:-1]), errors.SizeError, "120, found 119"),
    "relax without nodes": (lambda: relax(nodes=None), ValueError, "a graph needs nodes"),
    "relax unknown node": (lambda: relax().predict(X[:1], nodes=["zz"]), errors.UnknownNodeError, "'zz'.*'n0'"),
    "relax predict without nodes": (lambda: relax().predict(X), ValueError, "which nodes"),
    "relax other width": (lambda: relax().predict(X[:, :2], nodes=IDS), ValueError, "features"),
    "public width": (lambda: relax(public=X[:, :2]), errors.SizeError, "rows of 3 features, as in X, found the shape .120, 2"),
    "public NaN": (lambda: relax(public=bad(X, (3, 1), np.nan)), errors.NotFiniteError, "public: row 3"),
    "public empty": (lambda: relax(public=X[:0]), ValueError, "public: there are no rows"),
    "public word": (lambda: relax(public="some"), errors.ParameterError, "one of auto, moments"),
    "public nonsense": (lambda: relax(public=[["a"]]), TypeError, "public: expected rows of numbers"),
    "public for some": (lambda: relax(public={"n0": X[:5]}), ValueError, "node 'n1' has no public rows"),
    "public for others": (lambda: relax(public={"zz": X[:5]}), errors.UnknownNodeError, "no node 'zz'"),
    "public rows": (lambda: relax(public="normal", public_rows=0), errors.ParameterError, "public_rows is 0"),
    "few rows to draw from": (lambda: relax(x=X[::40], y=Y[::40], nodes=IDS[::40], public="range"), errors.MethodError, "5 rows"),
    "predictions of another shape": (lambda: relax(Liar(lambda x: np.zeros((len(x), 2)))), errors.ModelError, r"shape \(5, 2\)"),
    "predictions not finite": (lambda: relax(Liar(lambda x: np.full(len(x), np.nan))), errors.ModelError, "not finite"),
    "predictions are words": (lambda: relax(Liar(lambda x: ["a"] * len(x))), ValueError, "could not convert"),
    "active without nodes": (lambda: ActiveSampling().fit(X, Y), ValueError, "which nodes"),
    "active unknown node": (lambda: active("zz"), errors.UnknownNodeError, "no node 'zz'"),
    "active nobody": (lambda: active([]), ValueError, "nobody asks"),
    "active candidates": (lambda: active(candidates=6), errors.ParameterError, "at least 1 and at most 5 others"),
    "active eta": (lambda: active(eta=0.0), errors.ParameterError, "eta is 0"),
    "active model": (lambda: active(model=3), TypeError, "model: node 'n0'"),
    "active other node": (lambda: active().predict(X[:1], nodes=["n1"]), errors.UnknownNodeError, "'n1'"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_names_the_fact(case):
    act, kind, fact = CASES[case]
    with pytest.raises(kind, match=fact):
        act()


def test_errors_carry_their_fields_and_travel():
    with pytest.raises(errors.LabelError) as caught:
        fit(loss="poisson", y=bad(np.round(np.abs(Y)), 11, -4.0), nodes=IDS[::-1])  # sorted by node it is another row
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.row, error.label, error.loss) == (11, -4.0, "poisson") and isinstance(error, ValueError)
    with pytest.raises(errors.FileError) as caught:
        fit(graph="no/such.csv")
    assert caught.value.path == "no/such.csv" and caught.value.line is None


def test_a_file_fault_has_its_line(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,weight\nn0,n1,1\nn1,n2,-1\n")
    with pytest.raises(errors.FileError, match="edges.csv:3") as caught:
        fit(graph=path)
    assert caught.value.line == 3
