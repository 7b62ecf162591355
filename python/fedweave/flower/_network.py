"""What the server knows: the names of the nodes, the edges between them and their penalty. It never sees a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .. import _engine
from .._checks import number, one_of
from .._graphs import knn
from .._network import Network, _places, network, without_rows
from .._task import PENALTIES, Rows, Task
from ..errors import GraphError, ParameterError


class ServerNetwork:
    """`lam * sum_e A_e phi(w_i - w_j)` between named nodes, before the number of parameters is known."""

    def __init__(self, graph: Any, lam: float, penalty: str, penalty_matrix: Any) -> None:
        net = _without_rows(graph)
        if not net.names:
            raise GraphError("graph: it has no nodes")
        self.names, self._net = net.names, net
        self.index = {name: i for i, name in enumerate(net.names)}
        self.lam = number("lam", lam, 0.0)
        self.penalty = one_of("penalty", penalty, PENALTIES)
        self.matrix = None
        if penalty == "quadratic":
            if penalty_matrix is None:
                raise ParameterError("penalty 'quadratic' needs penalty_matrix", name="penalty_matrix", value=None)
            self.matrix = np.ascontiguousarray(penalty_matrix, dtype=np.float64)
        self.coupling(1 if self.matrix is None else len(self.matrix))  # refuses bad edges now, not in the first round

    def __len__(self) -> int:
        return len(self.names)

    def coupling(self, dim: int) -> Coupling:
        """The edges, for models of `dim` parameters."""
        net, none = self._net, np.zeros(0, dtype=np.int64)
        rows = Rows(np.zeros((0, dim)), None, None, none, len(net.names), net.heads, net.tails, net.weights)
        features, settings = [f"x{j}" for j in range(dim)], {"penalty": self.penalty, "lambda": self.lam}
        task = Task(rows, net.names, features, settings, penalty_matrix=self.matrix)
        return Coupling(_engine.Coupling(task), len(net.names), dim, self.lam, self.penalty)


def _without_rows(graph: Any) -> Network:
    """The nodes of a graph in the order of their names, and its edges."""
    if isinstance(graph, knn):
        if graph.columns:
            raise GraphError("knn: the server has no rows to find positions in; give by={node: position}")
        nodes = _places(graph).ids
        return network(graph, nodes, len(nodes), {})
    return without_rows(graph)


class Coupling:
    """The engine's edges, and the flows out of the nodes."""

    def __init__(self, engine: Any, nodes: int, dim: int, lam: float, penalty: str) -> None:
        self.engine, self.nodes, self.dim, self.lam, self.penalty = engine, nodes, dim, lam, penalty
        edges = engine.edges()
        self.heads, self.tails = edges["heads"], edges["tails"]
        count, rows = len(self.heads), np.arange(len(self.heads))
        ones = np.ones(count)
        places = (np.concatenate([rows, rows]), np.concatenate([self.heads, self.tails]))
        incidence = sparse.csr_array((np.concatenate([ones, -ones]), places), shape=(count, nodes))
        self.transpose = sparse.csr_array(incidence.T)

    def divergence(self, u: np.ndarray) -> np.ndarray:
        """`D'u`, a row per node."""
        return np.ascontiguousarray(self.transpose @ u)
