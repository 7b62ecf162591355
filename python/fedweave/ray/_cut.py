"""A network cut into parts: who holds which node, and what a part must know of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _engine
from .._task import Rows, Task
from ..errors import ParameterError

CUTTERS = ("auto", "metis", "own")


@dataclass
class Piece:
    """The nodes of a part and of others next to them, in the order of their names, and the edges at its own nodes."""

    names: list[str]
    part_of: list[int]
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray


def labels(names: list[str], heads: np.ndarray, tails: np.ndarray, weights: np.ndarray, parts: int, by: str) -> np.ndarray:
    """The part of every node: by METIS where it is installed, else by the engine's own cut."""
    if by not in CUTTERS:
        raise ParameterError(f"cut is {by!r}; it must be one of {', '.join(CUTTERS)}", name="cut", value=by)
    parts = min(parts, len(names))
    if by != "own" and parts > 1:
        try:
            import pymetis
        except ImportError:
            if by == "metis":
                raise ParameterError("cut='metis' needs pymetis: pip install 'fedweave[ray]'", name="cut", value=by) from None
        else:
            return _metis(pymetis, len(names), heads, tails, parts)
    none = np.zeros(0, dtype=np.int64)
    rows = Rows(np.zeros((0, 1)), None, None, none, len(names), heads, tails, weights)
    return _engine.cut(_engine.Coupling(Task(rows, names, ["x"], {"penalty": "norm2", "lambda": 1.0})), parts)


def _metis(pymetis: Any, nodes: int, heads: np.ndarray, tails: np.ndarray, parts: int) -> np.ndarray:
    """Parts without nodes are left out."""
    ends = np.concatenate([heads, tails])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(nodes + 1))
    _, found = pymetis.part_graph(parts, xadj=starts, adjncy=np.concatenate([tails, heads])[order])
    return np.unique(np.asarray(found), return_inverse=True)[1]


def pieces(names: list[str], part: np.ndarray, heads: np.ndarray, tails: np.ndarray, weights: np.ndarray) -> list[Piece]:
    """What each part is told."""
    return [_piece(names, part, heads, tails, weights, own) for own in range(int(part.max()) + 1)]


def _piece(names: list[str], part: np.ndarray, heads: np.ndarray, tails: np.ndarray, weights: np.ndarray, own: int) -> Piece:
    mine = (part[heads] == own) | (part[tails] == own)
    held = np.union1d(np.flatnonzero(part == own), np.union1d(heads[mine], tails[mine]))
    number = np.full(len(names), -1)
    number[held] = np.arange(len(held))
    return Piece([names[i] for i in held], part[held].tolist(), number[heads[mine]], number[tails[mine]], weights[mine])
