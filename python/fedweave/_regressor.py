"""Regression with a model at every node."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from ._base import Networked
from ._cross import CrossValidated
from ._engine import LossKind
from ._network import Network
from ._table import Table


class _Regression(RegressorMixin, Networked):
    LOSSES = tuple(kind.name for kind in LossKind.all() if kind.predicts and not kind.is_classifier)

    coef_: Any
    intercept_: Any

    def _check_data(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return x, np.ascontiguousarray(y, dtype=np.float64)

    def _loss_name(self) -> str:
        return str(self.loss)

    def _coded(self, y: Any, rows: int) -> np.ndarray:
        """Labels of more rows, as the engine has them."""
        target = np.ascontiguousarray(check_array(y, ensure_2d=False, dtype=np.float64))
        check_consistent_length(np.empty(rows), target)
        return target

    def _put_models(self, net: Network, single: bool) -> None:
        coef, intercept = self._coef[:, 0], self._intercept[:, 0]
        if single:
            self.coef_, self.intercept_ = coef[0], float(intercept[0])
        else:
            columns = getattr(self, "feature_names_in_", None)
            self.coef_, self.intercept_ = Table(net.ids, coef, columns), Table(net.ids, intercept)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None, groups: Any = None) -> Any:
        """Fits a model for every node: `nodes` names the node of each row. Without it there is one node.

        With `groups`, rows are held out by whole groups (dates, say), the same at all nodes.
        """
        return self._fit(X, y, sample_weight, nodes, groups)

    def predict(self, X: Any, nodes: Any = None, interval: float | None = None, new: str | None = None) -> Any:
        """Predicts each row with the model of its node.

        With `interval=0.9` also the lower and upper ends of an interval that holds the label of a row with this probability:
        `(predictions, lower, upper)`. It is calibrated on rows that models had not seen: those held out to choose `lam`, or folds if
        `options={"calibrate": 10}`; with `options={"coupling": "learnt"}` models know themselves how well they are known.
        With `new="join"` also rows of nodes that were not there at the fit: see `join`.
        """
        if new is not None:
            return self._join_asked(X, nodes, new, interval).predict(X, nodes=nodes)
        scores, index = self._scores(X, nodes)
        said = self._responses(scores, index)
        return said if interval is None else (said, *self._ends(said, X, nodes, interval))

    def _responses(self, scores: np.ndarray, index: np.ndarray) -> np.ndarray:
        if self._names_of_losses is None:
            return LossKind(self.loss).respond(scores)[:, 0]
        said = np.empty(len(scores))
        of_row = np.array(self._names_of_losses, dtype=object)[index]
        for name in set(of_row.tolist()):
            here = of_row == name
            said[here] = LossKind(name).respond(scores[here])[:, 0]
        return said

    def score(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None) -> float:
        """The coefficient of determination of the predictions."""
        return float(r2_score(y, self.predict(X, nodes=nodes), sample_weight=sample_weight))


class GTVRegressor(_Regression):
    """A linear model at every node of a graph; neighbours are drawn together.

    Minimises `sum_i L_i(w_i) + lam * sum_e A_e * phi(w_i - w_j)`, where `L_i` is the mean loss over the rows of node i plus
    `ridge * |w_i|^2` (sparing the intercept).

    Parameters
    ----------
    graph : networkx.Graph, scipy sparse matrix, DataFrame or list of edges, path, or `knn(k, by=...)`
        Row i of a matrix is the node named i; `(matrix, names)` gives other names.
    loss : "squared", "absolute", "huber" (`huber_delta`), "poisson" or "quantile" (`quantile`); or a mapping from node to one of them
    penalty : "norm2", "norm1", "norminf", "squared", "quadratic" (`penalty_matrix`) or "blocks" (`blocks`)
    lam : a number, or "auto" to choose it on held-out rows and fit again with all; a list: the values to choose from
    solver : "auto", "primal-dual", "newton" or "newton-cg"; or one that exchanges messages: "fedgd", "fedsgd", "async-fedgd", "fedrelax", "pdmm",
        "projected-gradient", or with a server "fedavg", "ifca", "pfedme"
    options : whatever else `fedweave fit` can be told, by name: `{"rounds": 100, "step": 0.1}`, `{"coupling": "learnt"}`, ...
    tol : stop at `certified_gap_ <= tol * max(1, |objective_|)`
    node : name of the column of a DataFrame X that names the node of a row
    node_weight : "equal", every node counts the same, or "rows", every row does
    loss_column : name of the column of a DataFrame X that names the loss of a node
    blocks : `[(penalty, strength, features), ...]`: one penalty for each block of features (names, positions, or "intercept")
    validation : rows of every node to hold out: a share, or a number; a fifth where lam is to be chosen
    split : "random", or "last": the last rows of every node are held out; with `options={"folds": 5}` also "nodes": whole nodes
    lam_rule : "minimum" of the held-out error, or "one-se": the largest lam within one standard error of it
    standardize : scale the features while solving; the models are for the features as they came
    n_jobs : threads; the result does not depend on it

    Attributes
    ----------
    coef_, intercept_ : by node (`coef_["a"]`), an array without `nodes`
    nodes_, labels_, clusters_ : the nodes, as they were given and in the order of the graph; the cluster of each; the nodes of each cluster
    objective_, certified_gap_, kkt_residual_ : the value found and a proven bound on its distance to the smallest (or None)
    n_iter_, history_, status_, solver_, lam_ : how it was found
    edges_, edge_flow_ : weights and flows by edge (`edge_flow_["a", "b"]`); a flow goes from the earlier of `nodes_` to the later
    lam_search_, held_out_errors_ : values of lam that were tried; errors on held-out rows, by node in the order of `nodes_`
    summary_ : what the command line writes to summary.json

    Examples
    --------
    >>> from fedweave import GTVRegressor
    >>> X, y, ids = [[0.0], [1.0], [0.0], [1.0]], [0.0, 1.0, 0.0, 2.0], ["a", "a", "b", "b"]
    >>> alone = GTVRegressor([("a", "b")], lam=0.0).fit(X, y, nodes=ids)
    >>> alone.coef_["b"].round(3)
    array([2.])
    >>> together = GTVRegressor([("a", "b")], lam=10.0).fit(X, y, nodes=ids)
    >>> together.clusters_, together.coef_["b"].round(3)
    ([['a', 'b']], array([1.5]))
    >>> together.predict([[2.0]], nodes=["a"]).round(2)
    array([3.])
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        loss: Any = "squared",
        penalty: str = "norm2",
        lam: Any = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100_000,
        fit_intercept: bool = True,
        ridge: float = 0.0,
        node: str | None = None,
        node_weight: str = "equal",
        standardize: bool = False,
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        penalty_matrix: Any = None,
        blocks: Any = None,
        loss_column: str | None = None,
        options: Any = None,
        validation: float | None = None,
        split: str = "random",
        lam_rule: str = "minimum",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.loss = loss
        self.penalty = penalty
        self.lam = lam
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.ridge = ridge
        self.node = node
        self.node_weight = node_weight
        self.standardize = standardize
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.penalty_matrix = penalty_matrix
        self.blocks = blocks
        self.loss_column = loss_column
        self.options = options
        self.validation = validation
        self.split = split
        self.lam_rule = lam_rule
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class GTVRegressorCV(CrossValidated, _Regression):
    """`GTVRegressor` with lam chosen by cross-validation.

    `lams` are the values to choose from (a geometric grid from the data if None); `cv` is a number of folds, drawn separately
    for every node, or a splitter of scikit-learn. Afterwards `lam_` is the choice, `lams_` the values (largest first) and
    `cv_errors_` the mean held-out loss of each value (rows) and fold (columns). Everything else is as in `GTVRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import GTVRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(40, 2)), np.repeat(["a", "b", "c", "d"], 10)
    >>> y = X[:, 0] + rng.normal(size=40)
    >>> model = GTVRegressorCV([("a", "b"), ("b", "c"), ("c", "d")], lams=[1e-6, 10.0], cv=5).fit(X, y, nodes=ids)
    >>> model.lam_, model.cv_errors_.shape
    (10.0, (2, 5))
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        lams: Any = None,
        cv: Any = 5,
        loss: Any = "squared",
        penalty: str = "norm2",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100_000,
        fit_intercept: bool = True,
        ridge: float = 0.0,
        node: str | None = None,
        node_weight: str = "equal",
        standardize: bool = False,
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        penalty_matrix: Any = None,
        blocks: Any = None,
        loss_column: str | None = None,
        options: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.graph = graph
        self.lams = lams
        self.cv = cv
        self.loss = loss
        self.penalty = penalty
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.ridge = ridge
        self.node = node
        self.node_weight = node_weight
        self.standardize = standardize
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.penalty_matrix = penalty_matrix
        self.blocks = blocks
        self.loss_column = loss_column
        self.options = options
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
