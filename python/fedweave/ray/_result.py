"""What a cluster found."""

from __future__ import annotations

from dataclasses import dataclass

from .._table import Table


@dataclass
class RayResult:
    """`models[node]` are the parameters of a node, the intercept last; `status` is `converged` or `iteration-limit`."""

    models: Table
    status: str
    rounds: int
    residual: float
    parts: int
    edges_cut: int
    restarts: int
    seconds: float

    def __str__(self) -> str:
        again = f", {self.restarts} restarts" if self.restarts else ""
        return (
            f"{self.status} after {self.rounds} rounds, residual {self.residual:.3g}; {len(self.models)} nodes in {self.parts} parts, "
            f"{self.edges_cut} edges cut, {self.seconds:.1f} s{again}"
        )
