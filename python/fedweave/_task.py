"""What the engine is asked: read attribute by attribute in `rows.rs`, `task.rs`, `relax.rs` and `active.rs` of `crates/fedweave-py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._graphs import Positions
from ._network import Network

PENALTIES = ("norm2", "norm1", "norminf", "squared", "quadratic", "blocks")


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
    """Rows with their names, and settings: those of the command line, by key."""

    rows: Rows
    names: list[str]
    features: list[str]
    settings: dict[str, Any]
    classes: list[str] = field(default_factory=list)
    two_classes: list[str] = field(default_factory=list)
    positions: Positions | None = None
    losses: list[str | None] | None = None
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    penalty_matrix: np.ndarray | None = None
    threads: int = 0
    progress: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        # What is said about the intercept is what the rows have.
        self.settings = {**self.settings, "no-intercept": not self.rows.intercept} if self.coupled else self.settings

    @property
    def coupled(self) -> bool:
        """True for models with parameters; models of any class have intercepts of their own."""
        return "task" not in self.settings


@dataclass
class Newcomers:
    """Nodes that join a network, in the order of their names: read in `join.rs`. Edges are (new, known, weight)."""

    network: str
    loss: str
    classes: int
    w: np.ndarray
    names: list[str]
    rows: Rows
    at: np.ndarray | None
    edges: list[tuple[int, int, float]] | None


@dataclass
class RelaxTask:
    """Models of any class, coupled by predictions. `models` has a text or an adapter per node, `public` rows for all or for each."""

    task: Task
    models: list[Any]
    public: list[np.ndarray] | None
    track: bool


@dataclass
class AskTask:
    """Nodes that learn from others. `models` has a text or an adapter for those that ask, or is None for gradient steps."""

    task: Task
    models: Mapping[str, Any] | None
    public: list[np.ndarray] | None


def feature_names(estimator: Any) -> list[str]:
    """Those of a DataFrame, or x0, x1, ..."""
    named = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if named is None else [str(name) for name in named]
