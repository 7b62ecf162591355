"""Models of any class at the nodes of a graph, coupled by what they predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _engine
from ._any_model import TASKS, AnyModel, ask, table_of
from ._checks import number, one_of, seed_of, threads_of
from ._fitted import groups_of, show
from ._frames import take_apart
from ._graphs import knn
from ._local import models_of
from ._network import Network, network, one_node
from ._public import public_of, say_aloud
from ._settings import held_out_settings, lam_settings
from ._task import RelaxTask, Rows, Task, feature_names


class FedRelax(AnyModel):
    """A model of any class at every node of a graph; neighbours are drawn together by what they predict on public rows.

    In every round each node is fitted once: to its own rows, weight `1 / m_i` each, and for every neighbour j to the public rows of
    j labelled by the model of j, weight `lam * A_ij / |P_j|` each. Nothing but predictions crosses an edge.

    Parameters
    ----------
    graph : as in `GTVRegressor`
    models : an estimator, or a model of the engine ("tree", "ridge alpha=0.1", `{"model": "tree", "max_depth": 5}`), for all nodes; or
        a mapping from node to either. An estimator is anything with `fit(X, y, sample_weight)` and `predict` (`predict_proba` for
        classes). One whose `fit` takes no sample_weight gets rows drawn again in proportion to their weights, with a warning.
        Estimators are copied; a `random_state` of None follows from that of FedRelax.
    lam : strength of the coupling; 0 is every node alone; "auto" chooses it on held-out rows and fits again with all, a list gives the
        values to choose from
    validation, split : rows to hold out, as in `GTVRegressor`
    calibrate : so many folds for the intervals of `predict(..., interval=0.9)`; without, they are from the rows held out, if any
    public : rows without labels: an array for all nodes, `{node: array}`, a DataFrame (with the column `node`, if that is given); or
        "moments", "range" or "normal" to draw `public_rows` rows for every node. "auto" is "moments", with a warning that says what
        nodes share for it.
    task : "regression" or "classification"
    rounds : 5 in the paper
    order : "together", all from the predictions of the round before, or "in-turn", each from the newest
    judged_on : "neighbours", on their public rows, or "both", on a node's own as well, which minimises the objective exactly
    row_weights : "means", as above; "plain", an own row weighs 1 and a public one `lam * A_ij`. With "means" all own rows together
        weigh 1: what an estimator measures in weights (the alpha of Ridge, the min_child_weight of XGBoost) then counts for the mean, not
        for the sum over rows.
    distil : so many standard normal rows, labelled by the node's own model, join every fit
    standardize : features with mean 0 and deviation 1, for all models
    node : name of the column of a DataFrame X that names the node of a row
    track : measure objective and error after every round; False saves predictions
    n_jobs : threads of the engine; estimators run on the thread that calls `fit`. The result does not depend on it.

    Attributes
    ----------
    models_, local_models_ : by node, after the last round and before the first (every node alone)
    history_ : by round: objective, train_error, validation_error, messages, bytes
    lam_, lam_search_, held_out_errors_ : the strength, the values that were tried, errors on held-out rows
    nodes_, classes_, public_, status_, n_iter_, objective_ : the nodes, the classes, where public rows came from, how it ended

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import FedRelax
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=30)
    >>> ids = np.repeat(["a", "b", "c"], 10)
    >>> models = {"a": DecisionTreeRegressor(max_depth=3), "b": "ridge alpha=0.01", "c": "linear"}
    >>> model = FedRelax([("a", "b"), ("b", "c")], models, lam=0.5, public="moments").fit(X, y, nodes=ids)
    >>> model.predict([[1.0, 0.0]], nodes=["c"]).round(1)
    array([1.])
    >>> model.models_["b"].spec
    'ridge alpha=0.01 intercept=true'
    >>> model.history_["round"].tolist()
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(
        self,
        graph: Any = None,
        models: Any = "ridge",
        lam: Any = 0.1,
        *,
        public: Any = "auto",
        public_rows: int = 100,
        task: str = "regression",
        rounds: int = 5,
        order: str = "together",
        judged_on: str = "neighbours",
        row_weights: str = "means",
        distil: int = 0,
        standardize: bool = False,
        node: str | None = None,
        validation: float | None = None,
        split: str = "random",
        calibrate: int | None = None,
        track: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.graph = graph
        self.models = models
        self.lam = lam
        self.public = public
        self.public_rows = public_rows
        self.task = task
        self.rounds = rounds
        self.order = order
        self.judged_on = judged_on
        self.row_weights = row_weights
        self.distil = distil
        self.standardize = standardize
        self.node = node
        self.validation = validation
        self.split = split
        self.calibrate = calibrate
        self.track = track
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None, groups: Any = None) -> Any:
        """Trains a model for every node: `nodes` names the node of each row. Without it there is one node.

        With `groups`, rows are held out by whole groups (dates, say), the same at all nodes.
        """
        settings = self._settings()
        places = self.graph.columns if isinstance(self.graph, knn) else []
        X, nodes, columns = take_apart(X, nodes, self.node, places)
        x, target, classes = self._check_data(X, y)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, x, dtype=np.float64)
        net = one_node(self.graph, x.shape[0]) if nodes is None else network(self.graph, nodes, x.shape[0], columns)
        models = models_of(self.models, net.names, classes, settings["seed"])
        drawn, public = public_of(self, net.names)
        if drawn and not len(net.heads):
            drawn["public-from"] = "normal"  # nobody is asked, so nobody needs to share anything
        task = Task(
            Rows.of(x, target, weight, net),
            net.names,
            feature_names(self),
            {**settings, **drawn},
            classes=[str(name) for name in self.classes_] if classes else [],
            positions=net.positions,
            groups=groups_of(groups, x.shape[0]),
            threads=threads_of(self.n_jobs),
        )
        if groups is not None:
            task.settings |= {"split-by": "groups", "split": None}
        out = ask(_engine.relax, RelaxTask(task, models, public, bool(self.track)), net)
        if isinstance(out["interrupt"], Exception):
            raise out["interrupt"]
        if len(net.heads):
            say_aloud(self, out["public"])
        self._keep(out, net, nodes is None)
        return self

    def _settings(self) -> dict[str, Any]:
        held_out = held_out_settings(self)
        held_out.pop("lambda-rule")
        return {
            **lam_settings(self.lam),
            **held_out,
            "task": one_of("task", self.task, TASKS),
            "rounds": int(number("rounds", self.rounds, 0)),
            "order": one_of("order", self.order, ("together", "in-turn")),
            "judged-on": one_of("judged_on", self.judged_on, ("neighbours", "both")),
            "row-weights": one_of("row_weights", self.row_weights, ("means", "plain")),
            "distil": int(number("distil", self.distil, 0)),
            "standardize": bool(self.standardize),
            "time-limit": None if self.time_limit is None else number("time_limit", self.time_limit, 0.0),
            "seed": seed_of(self.random_state),
            "calibrate": None if self.calibrate is None else int(number("calibrate", self.calibrate, 2)),
        }

    def _keep(self, out: dict[str, Any], net: Network, single: bool) -> None:
        self._models, self._local = ([out[which][i] for i in net.order] for which in ("models", "local"))
        self._scaling = out["scaling"]
        self._doubts, self._order = str(out["intervals"]), net.order
        self._known = None if single else net.known()
        self.nodes_ = net.ids
        self.models_ = table_of(net.ids, self._models)
        self.local_models_ = table_of(net.ids, self._local)
        self.lam_ = out["lam"]
        self.lam_search_ = show(out.get("tuning"), net.order)
        self.held_out_errors_ = show(out.get("held_out"), net.order)
        self.history_ = out["history"]
        self.objective_ = float(self.history_["objective"][-1])
        self.n_iter_ = len(self.history_["round"]) - 1
        self.status_ = out["status"]
        self.public_ = out["public"]
        if out["interrupt"] is not None:
            # The models so far are kept; whoever pressed Ctrl-C wants to get out.
            raise out["interrupt"]

    def predict_local(self, X: Any, nodes: Any = None) -> np.ndarray:
        """What every node would predict alone: the baseline."""
        check_is_fitted(self, "_local")
        return self._labels(self._outputs(self._local, X, nodes))
