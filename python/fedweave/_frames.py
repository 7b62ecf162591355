"""Tables of any library, taken apart: features, node ids, positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def is_frame(X: Any) -> bool:
    """A pandas or polars DataFrame, or something like it."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def take_apart(X: Any, nodes: Any, node: str | None, places: Sequence[str]) -> tuple[Any, Any, dict[str, np.ndarray]]:
    """The features, the node ids (from the column `node` unless given) and the columns `places`, which are no features."""
    if not is_frame(X):
        if node is not None and nodes is None:
            raise TypeError(f"node={node!r} names a column: X must be a DataFrame with it, or give nodes=")
        return X, nodes, {}
    names = list(X.columns)
    if node is not None and nodes is None:
        if node not in names:
            raise ValueError(f"node={node!r}: X has no such column; it has {', '.join(map(str, names))}")
        nodes = X[node]
    taken = {c: X[c].to_numpy() for c in places if c in names}
    dropped = [c for c in names if c == node or c in taken]
    if dropped:
        kept = [c for c in names if c not in dropped]
        X = X[kept] if not hasattr(X, "select") else X.select(kept)
    return X, nodes, taken
