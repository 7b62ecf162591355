"""A table with a row per node (or per edge): an array that is looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ._nodes import name_of


def edge_name(edge: Any) -> tuple[str, str]:
    """An edge by the names of its ends, in whatever order it was named."""
    a, b = (name_of(end) for end in edge)
    return (a, b) if a <= b else (b, a)


class EdgeEnds(Sequence[tuple[Any, Any]]):
    """The ends of edges, paired when somebody looks."""

    def __init__(self, nodes: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> None:
        self._nodes, self._heads, self._tails = nodes, heads, tails

    @cached_property
    def _pairs(self) -> list[tuple[Any, Any]]:
        return list(zip(self._nodes[self._heads].tolist(), self._nodes[self._tails].tolist()))

    def __len__(self) -> int:
        return len(self._heads)

    def __getitem__(self, k: Any) -> Any:
        return self._pairs[k]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._pairs)


class Table(Mapping[Any, Any]):
    """`table[node]` is the row of a node; `np.asarray(table)` is all of them, in the order of `keys()`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedweave import Table
    >>> table = Table([7, 8], np.array([[1.0, 2.0], [3.0, 4.0]]), ["slope", "bend"])
    >>> table[8], table["8"]
    (array([3., 4.]), array([3., 4.]))
    >>> list(table), table.shape
    ([7, 8], (2, 2))
    """

    def __init__(
        self,
        keys: Sequence[Hashable] | np.ndarray,
        values: np.ndarray,
        columns: Sequence[str] | None = None,
        name: Callable[[Any], Hashable] = name_of,
    ) -> None:
        self._keys = keys if isinstance(keys, EdgeEnds) else list(keys)
        self._values = values
        self.columns = None if columns is None else list(columns)
        self._name = name

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        """Made when first needed: not every table is looked into."""
        return {self._name(key): k for k, key in enumerate(self._keys)}

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._values[self._index[self._name(key)]]
        except (KeyError, TypeError, ValueError):
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        try:
            return self._name(key) in self._index
        except (TypeError, ValueError):
            return False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._values, dtype=dtype) if copy else np.asarray(self._values, dtype=dtype)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, then the shape of a row."""
        return self._values.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions of the array."""
        return self._values.ndim

    def to_numpy(self) -> np.ndarray:
        """All rows, in the order of `keys()`."""
        return self._values

    def to_pandas(self) -> Any:
        """The table as a pandas Series (one number per row) or DataFrame; several classes become column pairs."""
        import pandas as pd

        edges = bool(self._keys) and self._name is edge_name
        index = pd.MultiIndex.from_tuples(list(self._keys)) if edges else pd.Index(list(self._keys), tupleize_cols=False)
        if self._values.ndim == 1:
            return pd.Series(self._values, index=index)
        flat = self._values.reshape(len(self._keys), -1)
        fits = self.columns is not None and len(self.columns) == flat.shape[1]
        return pd.DataFrame(flat, index=index, columns=self.columns if fits else None)

    def __repr__(self) -> str:
        head = "\n".join(f"{key}: {self._values[k]}" for k, key in enumerate(self._keys[:5]))
        more = f"\n... {len(self) - 5} more" if len(self) > 5 else ""
        return f"Table of shape {self.shape}\n{head}{more}"
