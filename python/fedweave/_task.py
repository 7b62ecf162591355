"""What the engine is asked: read attribute by attribute in `crates/fedweave-py/src/task.rs`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Task:
    """A problem and how to solve it. Nodes are numbered in the order of their names."""

    x: np.ndarray
    y: np.ndarray | None
    weight: np.ndarray | None
    node_of_row: np.ndarray
    nodes: int
    heads: np.ndarray
    tails: np.ndarray
    edge_weights: np.ndarray
    loss: str = "squared"
    huber_delta: float = 1.0
    quantile: float = 0.5
    classes: int = 0
    penalty: str = "norm2"
    penalty_matrix: np.ndarray | None = None
    intercept: bool = True
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
