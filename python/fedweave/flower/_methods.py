"""The methods as a server runs them: rounds of the engine. Each asks every node for the same thing, a proximal step,

    w_i = argmin_w L_i(w) + |w - v_i|^2 / (2 tau_i)

and differs in the points `v_i` it sends and in what it does with the answers. A node that does not answer keeps its model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _engine
from .._checks import number
from ..errors import MethodError
from ._network import Coupling


class Method:
    """A method between rounds: `models` is where nodes are."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.models = engine, engine.models

    def start_at(self, node: int, w: np.ndarray) -> None:
        """Lets a node start from `w`."""
        self.engine.start_at(node, w)
        self.models = self.engine.models

    def begin(self) -> tuple[np.ndarray, np.ndarray]:
        """The points `v`, a row per node, and the lengths `tau` of the steps that nodes are asked for."""
        v, tau = self.engine.begin()
        return v, tau

    def complete(self, answers: np.ndarray, there: np.ndarray) -> None:
        """Goes on with the answers of the nodes that are `there`."""
        self.engine.complete(answers, there)
        self.models = self.engine.models

    def flows(self, answers: np.ndarray) -> np.ndarray:
        """Flows in the domain of the conjugates that fit the answers."""
        flows: np.ndarray = self.engine.flows(answers)
        return flows


def primal_dual(coupling: Coupling, step_ratio: float | None, relaxation: float) -> Method:
    """Algorithm 1 of gtv-minimization: a flow on every edge. `step_ratio=None` adapts the ratio of primal to dual steps."""
    ratio = None if step_ratio is None else number("step_ratio", step_ratio, 0.0, strict=True)
    relaxation = number("relaxation", relaxation, 0.0, strict=True)
    return Method(_engine.Rounds.primal_dual(coupling.engine, ratio, relaxation))


def pdmm(
    coupling: Coupling,
    rho: float | None,
    eta: float | None,
    tau: float | None,
    nu: float | None,
    share: float,
    curvatures: float,
) -> Method:
    """Algorithm 1 of convex-clustering-pdmm, corrected. Without `rho` it follows from the sum of the curvatures that nodes tell."""
    positive = [None if v is None else number(name, v, 0.0, strict=True) for name, v in (("rho", rho), ("tau", tau))]
    rest = [None if v is None else number(name, v, 0.0) for name, v in (("eta", eta), ("nu", nu))]
    return Method(_engine.Rounds.pdmm(coupling.engine, positive[0], rest[0], positive[1], rest[1], share, curvatures))


def fedrelax(coupling: Coupling) -> Method:
    """Every node minimises the objective over its own model while its neighbours hold still: a step from their mean."""
    if coupling.penalty != "squared":
        message = f"FedRelax needs penalty='squared', not {coupling.penalty!r}; GTVMin and PDMM take any"
        raise MethodError(message, method="fedrelax", needs="the squared penalty")
    return Method(_engine.Rounds.fedrelax(coupling.engine))
