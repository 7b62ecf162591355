"""The answers of the nodes: the newest of each, and what they say about the point that is being judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flwr.app import Message

from ..errors import NotFiniteError, SizeError
from ._judge import Point, Verdict
from ._wire import METRICS, arrays_of, record_of

SAID = ("gap", "residue", "slope")


class Answers:
    """A row per node: its newest model, the subgradient there and the loss."""

    def __init__(self, names: Sequence[str], dim: int) -> None:
        n, self.names, self.dim = len(names), names, dim
        self.w, self.slopes, self.losses = np.zeros((n, dim)), np.full((n, dim), np.nan), np.full(n, np.nan)
        self.asked, self.there = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self.pending: Any = None  # the Point that nodes judge
        self._said: dict[int, Verdict | None] = {}

    def ask(self, v: np.ndarray, tau: np.ndarray, asked: np.ndarray) -> None:
        """A new round."""
        self.v, self.tau, self.asked = v, tau.copy(), asked
        self.there = np.zeros(len(self.names), dtype=bool)

    # -- answers --------------------------------------------------------------------------------

    def read(self, i: int, reply: Message) -> None:
        """Takes the reply of a node, if it can be an answer."""
        name, said = self.names[i], record_of(reply, METRICS)
        w = self.checked(name, arrays_of(reply).get("w"))
        numbers = {key: self._number(name, key, said[key]) for key in ("loss", *SAID) if key in said}
        verdict = tuple(numbers[key] for key in SAID) if all(key in numbers for key in SAID) else None
        self.put(i, w, numbers.get("loss"), verdict)

    def put(self, i: int, w: np.ndarray, loss: float | None, verdict: Any) -> None:
        """An answer that is in order."""
        if not self.asked[i] or self.there[i]:
            return  # an answer to a question of another round
        self.w[i], self.slopes[i], self.there[i] = w, (self.v[i] - w) / self.tau[i], True
        self.losses[i] = np.nan if loss is None else loss
        if self.pending is not None and i not in self._said:
            self._said[i] = None if verdict is None else Verdict(*verdict)

    def checked(self, name: str, w: Any) -> np.ndarray:
        """A model of a node, if it can be one."""
        shape = None if w is None else np.shape(w)
        if shape != (self.dim,):
            found = "nothing" if shape is None else f"an array of shape {shape}"
            message = f"node {name!r}: expected a model of {self.dim} parameters, found {found}"
            raise SizeError(message, what="parameters", expected=self.dim, found=shape, node=name)
        w = np.asarray(w, dtype=np.float64)
        if not np.isfinite(w).all():
            j = int(np.flatnonzero(~np.isfinite(w))[0])
            raise NotFiniteError(f"node {name!r}: parameter {j} of its model is {w[j]}", node=name, row=j, what="model")
        return w

    @staticmethod
    def _number(name: str, key: str, value: Any) -> float:
        value = float(value)
        if np.isnan(value) or (key == "loss" and np.isinf(value)):
            raise NotFiniteError(f"node {name!r}: its {key} is {value}", node=name, row=None, what=key)
        return value

    # -- the point that is being judged ---------------------------------------------------------

    def judge_next(self, point: Point, outflow: np.ndarray) -> None:
        """From now on nodes are asked about this point, whose flows out of the nodes are `outflow`."""
        self.pending, self._outflow, self._said = point, outflow, {}

    def to_judge(self, i: int) -> dict[str, np.ndarray]:
        """What a node is to judge; nothing if it has said all it can."""
        if self.pending is None or i in self._said:
            return {}
        return {"w": self.pending.w[i], "flow": self._outflow[i]}

    def verdicts_complete(self) -> bool:
        """Everybody has been heard about the point."""
        return self.pending is not None and len(self._said) == len(self.names)

    def verdicts(self) -> list[Verdict | None]:
        """What they said, in the order of the nodes."""
        return [self._said[i] for i in range(len(self.names))]
