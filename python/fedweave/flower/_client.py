"""The client's side: a node answers with proximal steps of its own loss, by the engine or by any trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from .. import _engine
from .._checks import number, one_of
from .._nodes import name_of
from .._task import Rows, Task
from ..errors import FedweaveError, ParameterError
from ._wire import ARRAYS, CONFIG, DESCRIBE, METRICS, MODEL, PROX, Ask, arrays_of, pack, record_of

LOSSES = (
    "squared", "absolute", "huber", "logistic", "multinomial", "squared-hinge", "poisson", "quantile", "point",
)  # fmt: skip


class Trainer(Protocol):
    """Any model: something that makes proximal steps. `dim`, and `value(w)` for the loss, may be there."""

    def prox(self, ask: Ask) -> np.ndarray:
        """The model that is asked for, as one vector."""


class LocalLoss:
    """The loss of this node's rows, with exact proximal steps by the engine.

    `L` is the mean over the rows plus `ridge * |w|^2`, sparing the intercept, which is the last parameter (of each class).
    `X` may have no rows: the node then gets its model from its neighbours. Labels of `logistic` and `squared-hinge` are -1/+1
    or 0/1; those of `multinomial` are 0 to `classes - 1`; `point` takes the mean of X itself and no `y`.
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        loss: str = "squared",
        fit_intercept: bool = True,
        ridge: float = 0.0,
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        classes: int = 0,
        sample_weight: Any = None,
    ) -> None:
        x = np.asarray(X, dtype=np.float64)
        if x.ndim != 2:
            raise FedweaveError(f"X: expected a table, a row per data point, found an array of shape {x.shape}")
        if y is None and loss != "point" and len(x):
            raise FedweaveError(f"y: the {loss} loss needs labels, one per row of X")
        labels, weights = (None if c is None else np.ascontiguousarray(c, dtype=np.float64).reshape(-1) for c in (y, sample_weight))
        none = np.zeros(0, dtype=np.int64)
        intercept = bool(fit_intercept) and loss != "point"
        task = Task(
            Rows(x, labels, weights, np.zeros(len(x), dtype=np.int64), 1, none, none, np.zeros(0), intercept),
            ["0"],
            [f"x{j}" for j in range(x.shape[1])],
            {
                "loss": one_of("loss", loss, LOSSES),
                "huber-delta": number("huber_delta", huber_delta, 0.0, strict=True),
                "quantile": number("quantile", quantile, 0.0, strict=True),
                "ridge": number("ridge", ridge, 0.0),
                "lambda": 0.0,
            },
            classes=[str(k) for k in range(int(number("classes", classes, 0)))],
        )
        self.engine = _engine.LocalLoss(task)
        self.dim = self.engine.dim

    def prox(self, ask: Ask) -> np.ndarray:
        """The exact step."""
        return self.engine.prox(np.ascontiguousarray(ask.v), float(ask.tau))

    def value(self, w: np.ndarray) -> float:
        """The loss of a model."""
        return self.engine.value(np.ascontiguousarray(w))

    def judge(self, w: np.ndarray, flow: np.ndarray) -> tuple[float, float, float]:
        """What bounds `L(w) + L*(-flow) + flow'w`."""
        return self.engine.fenchel_gap(np.ascontiguousarray(w), np.ascontiguousarray(-flow))

    @property
    def curvature(self) -> float | None:
        """Mean second derivative at zero, for a good step size; `None` for losses with kinks."""
        return self.engine.curvature()


def node_of(context: Context) -> str:
    """The node of the graph that a supernode is: `node=...` of its node config, else its `partition-id`."""
    for key in ("node", "partition-id"):
        if key in context.node_config:
            return name_of(context.node_config[key])
    raise ParameterError(
        "this supernode does not know which node of the graph it is: start it with --node-config 'node=\"name\"'",
        name="node", value=None,
    )  # fmt: skip


def node_app(load: Callable[[Context], Trainer], node: Callable[[Context], str] = node_of) -> ClientApp:
    """A `ClientApp` that takes part in `GTVMin`, `PDMM` and `FedRelax`.

    `load(context)` returns what this node trains: a `LocalLoss`, or anything with `prox(ask)`. It is called for every message,
    because Flower may run each one in a process of its own; a loader that reads much should keep what it read.
    """
    app = ClientApp()

    def trainer(context: Context) -> Trainer:
        found = load(context)
        if not callable(getattr(found, "prox", None)):
            raise TypeError(f"load returned {type(found).__name__}; expected a LocalLoss or something with prox(ask)")
        return found

    @app.query(DESCRIBE.split(".")[1])
    def describe(message: Message, context: Context) -> Message:
        name = name_of(node(context))
        at = trainer(context)
        facts: dict[str, Any] = {"node": name, "exact": isinstance(at, LocalLoss)}
        for name, kind in (("dim", int), ("curvature", float)):
            value = getattr(at, name, None)
            if value is not None:
                facts[name] = kind(value)
        return Message(pack(**{CONFIG: facts}), reply_to=message)

    @app.train(PROX.split(".")[1])
    def prox(message: Message, context: Context) -> Message:
        return Message(answer(trainer(context), message, name_of(node(context))), reply_to=message)

    @app.evaluate(MODEL.split(".")[1])
    def model(message: Message, context: Context) -> Message:
        context.state[ARRAYS] = message.content[ARRAYS]
        loss = _value(trainer(context), arrays_of(message)["w"])
        metrics: dict[str, Any] = {} if loss is None else {"loss": loss}
        return Message(pack(**{METRICS: metrics}), reply_to=message)

    return app


def answer(trainer: Trainer, message: Message, node: str) -> Any:
    """The answer to `train.prox`."""
    asked, sent = record_of(message, CONFIG), arrays_of(message)
    if asked["node"] != node:
        raise FedweaveError(f"the server takes this supernode for node {asked['node']!r}, but it is {node!r}")
    ask = Ask(node, sent["v"], asked["tau"], asked["round"], asked["accuracy"], sent["start"])
    w = np.asarray(trainer.prox(ask), dtype=np.float64)
    metrics: dict[str, float] = {}
    loss = _value(trainer, w)
    if loss is not None:
        metrics["loss"] = loss
    if "flow" in sent and hasattr(trainer, "judge"):
        metrics.update(zip(("gap", "residue", "slope"), map(float, trainer.judge(sent["w"], sent["flow"]))))
    return pack({"w": w}, **{METRICS: metrics})


def _value(trainer: Trainer, w: np.ndarray) -> float | None:
    value = getattr(trainer, "value", None)
    return None if value is None else float(value(w))
