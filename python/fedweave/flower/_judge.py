"""When to stop, from what nodes are willing to say: numbers about their models, never a row.

With its step a node answers `L_i(w_i)`. The step itself tells the rest of the optimality conditions: `(v_i - w_i) / tau_i` is a
(sub)gradient of `L_i` at `w_i`. In the next round the server sends models and flows back to be judged; the node bounds
`L_i(w_i) + L_i*(-(D'u)_i) + (D'u)_i'w_i`, and the sum over nodes and edges is a certified gap, the same as on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._network import Coupling

FAR = 1e3

@dataclass
class Point:
    """Models and flows, with what is known about them."""

    w: np.ndarray
    flows: np.ndarray
    objective: float | None
    kkt_residual: float


@dataclass
class Verdict:
    """A node about a point: its own bracket of the duality gap."""

    gap: float
    residue: float
    slope: float


@dataclass
class Judge:
    """Keeps the best models and the best lower bound; they need not come from the same round."""

    coupling: Coupling
    tol: float
    best: Any = None  # a Point, once one was seen
    lower: float = -np.inf
    proves: bool = False
    heard: bool = False
    history: dict[str, list[float]] = field(
        default_factory=lambda: {"round": [], "objective": [], "certified_gap": [], "kkt_residual": [], "answers": []}
    )

    def see(self, w: np.ndarray, slopes: np.ndarray, values: np.ndarray, flows: np.ndarray) -> Point:
        """Looks at models with subgradients `slopes`, NaN before the first answer; `values` holds the losses, NaN where a node did not say."""
        net = self.coupling
        total = float(values.sum())
        objective = total + net.engine.variation(w) if np.isfinite(total) else None
        stationarity = np.linalg.norm(slopes + net.divergence(flows), axis=1) / (1 + np.linalg.norm(slopes, axis=1))
        # A node that has never answered is as far from the optimum as can be.
        stationarity = float(np.where(np.isnan(stationarity), np.inf, stationarity).max())
        feasibility, complementarity = net.engine.kkt(w, flows, 0.0 if objective is None else objective)
        point = Point(w, flows, objective, max(stationarity, feasibility, complementarity))
        if self.best is None or self._better(point, self.best):
            self.best = point
        return point

    @staticmethod
    def _better(new: Point, old: Point) -> bool:
        if new.objective is None or old.objective is None:
            return new.kkt_residual <= old.kkt_residual
        return new.objective <= old.objective

    def certify(self, point: Point, verdicts: list[Verdict | None]) -> None:
        """Improves the lower bound by what the nodes say about a point, if all of them say something."""
        self.proves, self.heard = False, True
        if point.objective is None or any(verdict is None for verdict in verdicts):
            return
        # A bound is a difference of numbers of the size of the objective: far away, their rounding is all that is left of it.
        if abs(point.objective) > FAR * max(1.0, abs(self.best.objective)):
            return
        said = [np.array([getattr(v, name) for v in verdicts]) for name in ("gap", "residue", "slope")]
        gap = self.coupling.engine.bound(point.w, point.flows, point.objective, *said)
        if gap is not None:
            self.proves = True
            self.lower = max(self.lower, point.objective - gap)

    @property
    def certified_gap(self) -> float | None:
        """A bound on the distance of the best objective to the smallest, if there is one."""
        if self.best is None or self.best.objective is None or not np.isfinite(self.lower):
            return None
        return max(self.best.objective - self.lower, 4 * np.finfo(float).eps * abs(self.best.objective))

    def done(self, point: Point) -> bool:
        """By the gap where flows prove something, else by the residual; not before everybody could have said something."""
        gap = self.certified_gap
        if gap is not None and gap <= self.tol * max(1.0, abs(self.best.objective)):
            return True
        return self.heard and not self.proves and gap is None and point.kkt_residual <= self.tol

    def note(self, round: int, point: Point, answers: int) -> None:
        """Writes a line of the history."""
        gap = self.certified_gap
        line = (round, np.nan if point.objective is None else point.objective, np.nan if gap is None else gap)
        for name, value in zip(self.history, (*line, point.kkt_residual, answers)):
            self.history[name].append(value)
