"""What a strategy found."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from flwr.serverapp.strategy import Result

from .._table import Table, edge_name


@dataclass(repr=False)
class NetworkResult(Result):
    """What a strategy found. `arrays` holds the models by node, as `models` does; give it to `start` to go on from there."""

    models: Table = field(default_factory=lambda: Table([], np.zeros((0, 0))))
    flows: Table = field(default_factory=lambda: Table([], np.zeros((0, 0)), name=edge_name))
    objective: float | None = None
    certified_gap: float | None = None
    kkt_residual: float = float("inf")
    status: str = "round-limit"
    rounds: int = 0
    seconds: float = 0.0
    history: dict[str, list[float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        gap = "none" if self.certified_gap is None else f"{self.certified_gap:.1e}"
        return (
            f"{self.status} after {self.rounds} rounds: {len(self.models)} models, objective {self.objective}, "
            f"certified gap {gap}, kkt residual {self.kkt_residual:.1e}"
        )
