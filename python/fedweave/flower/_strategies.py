"""The three strategies."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _methods
from ._network import Coupling
from ._strategy import NetworkStrategy


class GTVMin(NetworkStrategy):
    """The primal-dual method (Algorithm 1 of gtv-minimization): the server keeps a flow on every edge. Any loss, any penalty.

    `step_ratio` is the ratio of primal to dual steps, 1 in the paper, adapted if None; `relaxation` is 1 in the paper. Everything
    else is as in `NetworkStrategy`.
    """

    def __init__(self, graph: Any, *, lam: float, step_ratio: float | None = None, relaxation: float = 1.8, **common: Any) -> None:
        super().__init__(graph, lam=lam, **common)
        self.step_ratio, self.relaxation = step_ratio, relaxation
        self.make_method(self.network.coupling(1 if self.network.matrix is None else len(self.network.matrix)))

    def make_method(self, coupling: Coupling) -> _methods.Method:
        """The method."""
        return _methods.primal_dual(coupling, self.step_ratio, self.relaxation)


class PDMM(NetworkStrategy):
    """PDMM (Algorithm 1 of convex-clustering-pdmm, corrected): made for rounds in which only a `fraction` of the nodes takes part.

    `rho`, `eta`, `tau` and `nu` are the paper's; by default `rho` is twice the mean curvature of the losses per neighbour, as the
    nodes tell it, `eta = rho`, `nu = 2/3` and `tau = s / (3 (2 - s))` for a fraction `s`. Everything else is as in `NetworkStrategy`.
    """

    def __init__(
        self,
        graph: Any,
        *,
        lam: float,
        rho: float | None = None,
        eta: float | None = None,
        tau: float | None = None,
        nu: float | None = None,
        **common: Any,
    ) -> None:
        super().__init__(graph, lam=lam, **common)
        self.rho, self.steps = rho, (eta, tau, nu)
        self.make_method(self.network.coupling(1 if self.network.matrix is None else len(self.network.matrix)))

    def make_method(self, coupling: Coupling) -> _methods.Method:
        """The method, with the steps that the curvatures of the nodes suggest."""
        said = [member.facts["curvature"] for member in self.roster.members.values() if "curvature" in member.facts]
        return _methods.pdmm(coupling, self.rho, *self.steps, self.fraction, float(np.sum(said)))


class FedRelax(NetworkStrategy):
    """FedRelax (Algorithm 5.4 of the book), all nodes at once: each minimises the objective over its own model while its neighbours
    hold still. Only for the squared penalty, where it needs the fewest rounds. Everything else is as in `NetworkStrategy`.
    """

    def __init__(self, graph: Any, *, lam: float, penalty: str = "squared", **common: Any) -> None:
        super().__init__(graph, lam=lam, penalty=penalty, **common)
        self.make_method(self.network.coupling(1))

    def make_method(self, coupling: Coupling) -> _methods.Method:
        """The method."""
        return _methods.fedrelax(coupling)
