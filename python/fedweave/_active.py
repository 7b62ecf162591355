"""Nodes that learn from others without a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from . import _engine
from ._any_model import AnyModel, ask, table_of
from ._checks import number, seed_of, threads_of, warn
from ._engine import LossKind
from ._frames import take_apart
from ._local import models_of
from ._network import Network, network
from ._nodes import name_of, objects
from ._public import public_of, say_aloud
from ._table import Table
from ._task import AskTask, Rows, Task, feature_names
from .errors import FedweaveError, UnknownNodeError


class ActiveSampling(AnyModel):
    """A node asks a few others, drawn at random in every round, how they would improve its model, and takes the best answer.

    What is the best answer is judged on the node's own rows. Rows of others are only ever seen through their answers: a gradient step
    on their loss, or the model fitted to their rows (weight `eta` in all) and to what the model said on public rows of the node that asks
    (weight 1 in all), so that it stays close.

    Parameters
    ----------
    own : the node that asks, or a list of them; None for all nodes
    model : None for a linear model (squared loss, or logistic for classes) and gradient steps of size `eta`; an estimator or the
        description of a model of the engine, as in `FedRelax`
    candidates : how many are asked in a round; None: 10, or all there are
    rounds : how often
    eta : step of an answer, None: one that never diverges; with a `model`, what the rows of others weigh against staying close, None: 1
    fit_intercept, ridge : of the linear model
    task, public, public_rows, standardize, node, n_jobs, random_state : as in `FedRelax`

    Attributes
    ----------
    models_ : by asking node; for linear models `coef_` and `intercept_`
    rewards_ : by asking node, for every round `{candidate: reward}`: by how much its answer would have lowered the loss
    learnt_from_ : by asking node, `(candidate, rounds won, sum of rewards)`, most rounds first
    history_ : by asking node, for every round the candidate, its reward, and the loss afterwards

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import ActiveSampling
    >>> rng = np.random.default_rng(0)
    >>> X, ids = rng.normal(size=(60, 2)), np.repeat(list("abcdef"), 10)
    >>> y = np.where(ids < "d", X[:, 0], -X[:, 0])
    >>> model = ActiveSampling("a", candidates=3, eta=0.2, fit_intercept=False).fit(X, y, nodes=ids)
    >>> sorted(name for name, rounds, reward in model.learnt_from_["a"] if reward > 0.1)
    ['b', 'c']
    >>> abs(model.coef_["a"]).round(2)
    array([1., 0.])
    """

    def __init__(
        self,
        own: Any = None,
        model: Any = None,
        *,
        candidates: int | None = None,
        rounds: int = 100,
        eta: float | None = None,
        task: str = "regression",
        fit_intercept: bool = True,
        ridge: float = 0.0,
        public: Any = "auto",
        public_rows: int = 100,
        standardize: bool = False,
        node: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.own = own
        self.model = model
        self.candidates = candidates
        self.rounds = rounds
        self.eta = eta
        self.task = task
        self.fit_intercept = fit_intercept
        self.ridge = ridge
        self.public = public
        self.public_rows = public_rows
        self.standardize = standardize
        self.node = node
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, nodes: Any = None) -> Any:
        """Trains the models of the nodes that ask; `nodes` names the node of each row."""
        X, nodes, _ = take_apart(X, nodes, self.node, [])
        x, target, classes = self._check_data(X, y)
        if nodes is None:
            raise FedweaveError("active sampling: which nodes? give nodes=ids (one per row of X), or node='column' and a DataFrame")
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, x, dtype=np.float64)
        net = network(None, nodes, x.shape[0], {})
        own, linear = self._own(net), self.model is None
        settings = self._settings(own)
        names = [str(name) for name in self.classes_] if classes else []
        models, public = None, None
        if linear:
            target, names = self._linear_target(settings, target, classes, names)
        else:
            asking = net.names if own is None else own
            models = dict(zip(asking, models_of(self.model, asking, classes, settings["seed"], "model")))
            drawn, public = public_of(self, net.names)
            settings |= {**drawn, "task": self.task}
        rows = Rows.of(x, target, weight, net, linear and bool(self.fit_intercept))
        task = Task(rows, net.names, feature_names(self), settings, classes=names, threads=threads_of(self.n_jobs))
        out = ask(_engine.active, AskTask(task, models, public), net)
        for notice in out["notices"][: len(out["notices"]) if linear else -1]:
            warn(f"ActiveSampling: {notice}")
        if not linear:
            say_aloud(self, out["notices"][-1])
        self._keep(out, net, linear)
        return self

    def _settings(self, own: list[str] | None) -> dict[str, Any]:
        """What the engine is told, for linear models and others."""
        return {
            "asker": own,
            "candidates": None if self.candidates is None else int(number("candidates", self.candidates, 1)),
            "rounds": int(number("rounds", self.rounds, 1)),
            "eta": None if self.eta is None else number("eta", self.eta, 0.0, strict=True),
            "standardize": bool(self.standardize),
            "seed": seed_of(self.random_state),
        }

    def _linear_target(
        self, settings: dict[str, Any], target: np.ndarray, classes: int, names: list[str]
    ) -> tuple[np.ndarray, list[str]]:
        """The loss of linear models, and what it is a loss of: numbers, -1 and 1, or the positions of classes."""
        settings["ridge"] = number("ridge", self.ridge, 0.0)
        self._loss = {0: "squared", 2: "logistic"}.get(classes, "multinomial")
        settings["loss"] = self._loss
        return (2.0 * target - 1.0, []) if classes == 2 else (target, names)

    def _own(self, net: Network) -> list[str] | None:
        """The names of the nodes that ask."""
        if self.own is None:
            return None
        several = isinstance(self.own, (list, set, np.ndarray)) or (isinstance(self.own, tuple) and name_of(self.own) not in net.names)
        asking = [name_of(node) for node in (self.own if several else [self.own])]
        for name in asking:
            if name not in net.names:
                raise UnknownNodeError(f"own: there is no node {name!r} in the data", node=name)
        if not asking:
            raise FedweaveError("own: nobody asks; name a node, or None for all")
        return list(dict.fromkeys(asking))

    def _keep(self, out: dict[str, Any], net: Network, linear: bool) -> None:
        ids, place = objects(net.by_name.ids), net.place
        pupils = sorted(out["pupils"], key=lambda pupil: place[pupil["node"]])
        asking = [ids[pupil["node"]] for pupil in pupils]
        self._scaling = out["scaling"]
        self._known = {net.names[pupil["node"]]: k for k, pupil in enumerate(pupils)}
        self.nodes_ = objects(asking)
        if linear:
            blocks = len(self.classes_) if LossKind(self._loss).scores_classes else 1
            self._models = [Linear(p["w"].reshape(blocks, -1), bool(self.fit_intercept), self._loss) for p in pupils]
            coef, intercept = (np.array([getattr(m, a) for m in self._models]) for a in ("coef", "intercept"))
            if blocks == 1:
                coef, intercept = coef[:, 0], intercept[:, 0]
            self.coef_, self.intercept_ = Table(asking, coef), Table(asking, intercept)
        else:
            self._models = [p["model"] for p in pupils]
        self.models_ = table_of(asking, self._models)
        self.rewards_ = {
            node: [dict(zip(ids[who].tolist(), r.tolist())) for who, r in zip(p["asked"], p["rewards"])] for node, p in zip(asking, pupils)
        }
        self.learnt_from_ = {n: [(ids[i], k, r) for i, k, r in p["teachers"]] for n, p in zip(asking, pupils)}
        self.history_ = {
            node: {"candidate": ids[p["candidate"]], "reward": p["reward"], "loss": p["loss"], "bytes": p["bytes"]}
            for node, p in zip(asking, pupils)
        }
        self.n_iter_ = int(self.rounds)


class Linear:
    """A linear model of one node: numbers, or the probabilities that its scores stand for."""

    def __init__(self, w: np.ndarray, intercept: bool, loss: str) -> None:
        self.w = w.reshape(1, -1)
        self.coef = w[:, :-1] if intercept else w
        self.intercept = w[:, -1] if intercept else np.zeros(len(w))
        self.loss = loss

    def outputs(self, x: np.ndarray) -> np.ndarray:
        """A number, or the probability of every class, for every row."""
        kind = LossKind(self.loss)
        said = kind.respond(_engine.scores(x, np.zeros(len(x), dtype=np.int64), self.w, len(self.coef)))
        return np.hstack([1.0 - said, said]) if kind.is_classifier and said.shape[1] == 1 else said

    def __repr__(self) -> str:
        return f"Linear(coef={self.coef.squeeze()}, intercept={self.intercept.squeeze()})"
