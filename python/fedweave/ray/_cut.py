"""A network cut into parts: who holds which node, and what a part must know of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _engine
from .._checks import one_of
from .._task import Rows, Task
from ..errors import GraphError, ParameterError
from ._tables import read_edges

CUTTERS = ("auto", "metis", "own")


@dataclass
class Network:
    """Nodes in the order of their names, and each edge once."""

    names: list[str]
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    coupling: _engine.Coupling


@dataclass
class Piece:
    """The nodes of a part and of others next to them, in the order of their names, and the edges at its own nodes."""

    names: list[str]
    part_of: list[int]
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray

    def own(self, part: int) -> list[int]:
        """Which of the nodes are those of the part."""
        return [i for i, at in enumerate(self.part_of) if at == part]


def read_network(with_rows: list[str], path: str) -> Network:
    """Nodes with rows, nodes with edges, and the edges of a file, checked."""
    ends, weights = read_edges(path)
    at_edges = {*ends[0], *ends[1]}
    if at_edges and not at_edges.intersection(with_rows):
        some = [", ".join(map(repr, sorted(names)[:3])) for names in (set(with_rows), at_edges)]
        raise GraphError(f"{path}: no edge is at a node with rows; rows are at {some[0]}, edges at {some[1]}")
    names = sorted(at_edges.union(with_rows))
    index = dict(zip(names, range(len(names))))
    heads, tails = (np.fromiter(map(index.__getitem__, end), dtype=np.int64, count=len(end)) for end in ends)
    none = np.zeros(0, dtype=np.int64)
    rows = Rows(np.zeros((0, 1)), np.zeros(0), None, none, len(names), heads, tails, weights)
    coupling = _engine.Coupling(Task(rows, names, ["x"], {"lambda": 1.0}))
    once = coupling.edges()
    return Network(names, once["heads"], once["tails"], once["edge_weights"], coupling)


def labels(network: Network, parts: int, by: str) -> np.ndarray:
    """The part of every node: by METIS where it is installed, else by the engine's own cut. Parts without nodes are left out."""
    one_of("cut", by, CUTTERS)
    parts = min(parts, len(network.names))
    found = None if by == "own" or parts == 1 else _metis(network, parts, by)
    if found is None:
        found = _engine.cut(network.coupling, parts)
    return np.unique(found, return_inverse=True)[1]


def _metis(network: Network, parts: int, by: str) -> Any:
    try:
        import pymetis
    except ImportError:
        if by == "auto":
            return None
        raise ParameterError("cut='metis' needs pymetis: pip install 'fedweave[ray]'", name="cut", value=by) from None
    ends = np.concatenate([network.heads, network.tails])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(len(network.names) + 1))
    others = np.concatenate([network.tails, network.heads])[order]
    return np.asarray(pymetis.part_graph(parts, xadj=starts, adjncy=others)[1])


def pieces(network: Network, part: np.ndarray) -> list[Piece]:
    """What each part is told."""
    return [_piece(network, part, own) for own in range(int(part.max()) + 1)]


def _piece(network: Network, part: np.ndarray, own: int) -> Piece:
    heads, tails = network.heads, network.tails
    mine = (part[heads] == own) | (part[tails] == own)
    held = np.union1d(np.flatnonzero(part == own), np.union1d(heads[mine], tails[mine]))
    number = np.full(len(network.names), -1)
    number[held] = np.arange(len(held))
    names = [network.names[i] for i in held]
    return Piece(names, part[held].tolist(), number[heads[mine]], number[tails[mine]], network.weights[mine])
