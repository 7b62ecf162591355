"""Nodes that learn from others without a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.validation import _check_sample_weight

from . import _engine
from ._any_model import AnyModel, ask, table_of
from ._checks import number, seed_of, threads_of
from ._frames import take_apart
from ._local import models_of
from ._network import Network, network
from ._nodes import name_of
from ._public import public_of, say_aloud
from ._table import Table
from ._task import ActiveTask, Public, Rows
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
    candidates : how many are asked in a round
    rounds : how often
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
        candidates: int = 10,
        rounds: int = 100,
        eta: float = 0.1,
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
        own, seed = self._own(net), seed_of(self.random_state)
        linear = self.model is None
        models, public, loss = None, Public(None, "normal", 1), "squared"
        if not linear:
            models = models_of(self.model, [net.names[i] for i in own], classes, seed, "model")
            public = public_of(self, net.names)
        elif classes:
            loss = "logistic" if classes == 2 else "multinomial"
            target = 2.0 * target - 1.0 if classes == 2 else target
        out = ask(
            _engine.active,
            ActiveTask(
                Rows.of(x, target, weight, net, linear and bool(self.fit_intercept)),
                own,
                models,
                classes,
                loss,
                number("ridge", self.ridge, 0.0),
                number("eta", self.eta, 0.0, strict=True),
                int(number("candidates", self.candidates, 1)),
                int(number("rounds", self.rounds, 0)),
                public,
                bool(self.standardize),
                threads_of(self.n_jobs),
                seed,
            ),
            net.names,
        )
        if not linear:
            say_aloud(self, out["public"])
        self._keep(out, net, own, linear)
        return self

    def _own(self, net: Network) -> list[int]:
        """The nodes that ask, by their positions."""
        if self.own is None:
            return list(range(len(net.names)))
        several = isinstance(self.own, (list, tuple, set, np.ndarray))
        index = {name: i for i, name in enumerate(net.names)}
        asking = [name_of(node) for node in (self.own if several else [self.own])]
        for name in asking:
            if name not in index:
                raise UnknownNodeError(f"own: there is no node {name!r} in the data", node=name)
        if not asking:
            raise FedweaveError("own: nobody asks; name a node, or None for all")
        return [index[name] for name in dict.fromkeys(asking)]

    def _keep(self, out: dict[str, Any], net: Network, own: list[int], linear: bool) -> None:
        names, pupils = np.array(net.names, dtype=object), out["pupils"]
        asking = names[own].tolist()
        self._scaling = out["scaling"]
        self._known = {name: k for k, name in enumerate(asking)}
        self.nodes_ = np.array(asking, dtype=object)
        if linear:
            blocks = len(self.classes_) if self.task == "classification" and len(self.classes_) > 2 else 1
            self._models = [Linear(p["w"].reshape(blocks, -1), bool(self.fit_intercept), self.task) for p in pupils]
            coef, intercept = (np.array([getattr(m, a) for m in self._models]) for a in ("coef", "intercept"))
            if blocks == 1:
                coef, intercept = coef[:, 0], intercept[:, 0]
            self.coef_, self.intercept_ = Table(asking, coef), Table(asking, intercept)
        else:
            self._models = [p["model"] for p in pupils]
        self.models_ = table_of(asking, self._models)
        self.rewards_ = {
            name: [dict(zip(names[who].tolist(), r.tolist())) for who, r in zip(p["asked"], p["rewards"])]
            for name, p in zip(asking, pupils)
        }
        self.learnt_from_ = {n: [(net.names[i], k, r) for i, k, r in p["teachers"]] for n, p in zip(asking, pupils)}
        self.history_ = {
            name: {"candidate": names[p["candidate"]], "reward": p["reward"], "loss": p["loss"], "bytes": p["bytes"]}
            for name, p in zip(asking, pupils)
        }
        self.n_iter_ = int(self.rounds)


class Linear:
    """A linear model of one node: scores, or the probabilities they stand for."""

    def __init__(self, w: np.ndarray, intercept: bool, task: str) -> None:
        self.coef = w[:, :-1] if intercept else w
        self.intercept = w[:, -1] if intercept else np.zeros(len(w))
        self.task = task

    def outputs(self, x: np.ndarray) -> np.ndarray:
        """A number, or the probability of every class, for every row."""
        scores = x @ self.coef.T + self.intercept
        if self.task != "classification":
            return scores
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        upper = expit(scores)
        return np.hstack([1.0 - upper, upper])

    def __repr__(self) -> str:
        return f"Linear(coef={self.coef.squeeze()}, intercept={self.intercept.squeeze()})"
