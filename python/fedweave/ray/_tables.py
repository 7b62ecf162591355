"""Rows and edges from Parquet. Nobody reads more than it needs: the driver the edges and the column of the nodes, a part its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from .._nodes import name_of
from ..errors import FileError, GraphError


@dataclass
class RowsFile:
    """Where the rows are, and which columns matter. `features` None: all columns of numbers that are left."""

    path: str
    node: str
    target: str
    features: list[str]
    intercept: bool

    @classmethod
    def of(cls, path: str, node: str, target: str, features: Sequence[str] | None, intercept: bool) -> RowsFile:
        """Checks the columns."""
        schema = _dataset(path).schema
        for column in [node, target, *(features or [])]:
            if column not in schema.names:
                raise FileError(f"{path}: there is no column {column!r}; it has {', '.join(schema.names)}", path=path, line=None)
        if features is None:
            rest = [field for field in schema if field.name not in (node, target)]
            features = [field.name for field in rest if pa.types.is_floating(field.type) or pa.types.is_integer(field.type)]
        if not features and not intercept:
            raise FileError(f"{path}: no features and no intercept leave nothing to fit", path=path, line=None)
        return cls(path, node, target, list(features), intercept)

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters of a model."""
        return [*self.features, *(["intercept"] if self.intercept else [])]

    def names(self) -> list[str]:
        """The nodes that have rows."""
        column = _dataset(self.path).to_table(columns=[self.node]).column(0)
        return _names(column.unique(), self.path, self.node)

    def read(self, index: dict[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, targets and node numbers of the rows of these nodes, in the order of the file."""
        table = _dataset(self.path).scanner(columns=[self.node, self.target, *self.features])
        pieces = [self._piece(batch, index) for batch in table.to_batches()]
        width = len(self.features)
        empty = (np.zeros((0, width)), np.zeros(0), np.zeros(0, dtype=np.int64))
        x, y, node = (np.concatenate(columns) for columns in zip(empty, *pieces))
        return x, y, node

    def _piece(self, batch: pa.RecordBatch, index: dict[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        codes = batch.column(0).dictionary_encode()
        known = np.array([index.get(name_of(node), -1) for node in codes.dictionary.to_pylist()], dtype=np.int64)
        number = known[codes.indices.to_numpy(zero_copy_only=False)] if len(known) else np.zeros(0, dtype=np.int64)
        kept = number >= 0
        columns = [self._numbers(batch.column(k), name)[kept] for k, name in enumerate([self.target, *self.features], start=1)]
        x = np.column_stack(columns[1:]) if self.features else np.zeros((int(kept.sum()), 0))
        return x, columns[0], number[kept]

    def _numbers(self, column: pa.Array, name: str) -> np.ndarray:
        if column.null_count:
            raise FileError(f"{self.path}: column {name!r} has empty cells", path=self.path, line=None)
        try:
            values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        except (TypeError, ValueError):
            raise FileError(f"{self.path}: column {name!r} does not hold numbers", path=self.path, line=None) from None
        if not np.isfinite(values).all():
            raise FileError(f"{self.path}: column {name!r} holds a number that is not finite", path=self.path, line=None)
        return values


def read_edges(path: str) -> tuple[list[list[str]], np.ndarray]:
    """Ends and weights of edges: the first two columns, and the third if there is one."""
    table = _dataset(path).to_table()
    if table.num_columns < 2:
        raise GraphError(f"{path}: edges need two columns, the nodes at their ends, and may have a third, their weight")
    ends = [_names(table.column(k), path, table.column_names[k]) for k in (0, 1)]
    if table.num_columns == 2:
        return ends, np.ones(table.num_rows)
    weights = table.column(2)
    if weights.null_count or not (pa.types.is_floating(weights.type) or pa.types.is_integer(weights.type)):
        raise GraphError(f"{path}: column {table.column_names[2]!r} must hold the weights of edges, a number in each row")
    return ends, weights.to_numpy().astype(np.float64)


def _names(column: pa.ChunkedArray, path: str, title: str) -> list[str]:
    names = ["" if node is None else name_of(node) for node in column.to_pylist()]
    if "" in names:
        raise FileError(f"{path}: column {title!r} has empty cells; it must name a node in each row", path=path, line=None)
    return names


def _dataset(path: str) -> ds.Dataset:
    try:
        return ds.dataset(path, format="parquet")
    except (OSError, pa.ArrowInvalid) as error:
        raise FileError(f"{path}: {error}", path=path, line=None) from None
