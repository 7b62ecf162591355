"""What the engine is asked: read attribute by attribute in `rows.rs`, `task.rs`, `relax.rs` and `active.rs` of `crates/fedweave-py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._network import Network

PENALTIES = ("norm2", "norm1", "norminf", "squared", "quadratic")


@dataclass
class Rows:
    """The rows of all nodes, and the edges. Nodes are numbered in the order of their names."""

    x: np.ndarray
    y: np.ndarray | None
    weight: np.ndarray | None
    node_of_row: np.ndarray
    nodes: int
    heads: np.ndarray
    tails: np.ndarray
    edge_weights: np.ndarray
    intercept: bool = False

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray | None, weight: np.ndarray | None, net: Network, intercept: bool = False) -> Rows:
        """The rows of a network."""
        return cls(x, y, weight, net.node_of_row, len(net.names), net.heads, net.tails, net.weights, intercept)


@dataclass
class Task:
    """A problem and how to solve it."""

    rows: Rows
    loss: str = "squared"
    huber_delta: float = 1.0
    quantile: float = 0.5
    classes: int = 0
    penalty: str = "norm2"
    penalty_matrix: np.ndarray | None = None
    ridge: float = 0.0
    weigh_rows: bool = False
    standardize: bool = False
    solver: str = "auto"
    tol: float = 1e-6
    max_iter: int = 100_000
    lam: float | None = None
    time_limit: float | None = None
    threads: int = 0
    seed: int = 0
    progress: Callable[..., Any] | None = None


@dataclass
class Public:
    """Public rows: given (one array for all nodes, or one each), or `rows` of them drawn for every node."""

    given: list[np.ndarray] | None = None
    source: str = "moments"
    rows: int = 100


@dataclass
class RelaxTask:
    """Models of any class, coupled by predictions. `models` has a text or an adapter per node; no `classes`: regression."""

    rows: Rows
    models: list[Any]
    classes: int
    public: Public
    lam: float
    rounds: int
    order: str
    judged_on: str
    row_weights: str
    distil: int
    standardize: bool
    track: bool
    threads: int
    time_limit: float | None
    seed: int


@dataclass
class ActiveTask:
    """Nodes that learn from others. `models` has a text or an adapter per node of `own`, or is None for gradient steps."""

    rows: Rows
    own: list[int]
    models: list[Any] | None
    classes: int
    loss: str
    ridge: float
    eta: float
    candidates: int
    rounds: int
    public: Public
    standardize: bool
    threads: int
    seed: int
