"""Nodes: the engine knows indices in the order of their names; users get the ids back that they gave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import FedweaveError, SizeError


def name_of(node: Any) -> str:
    """The name of a node: its text. Whole numbers are written without a point, so 7, 7.0 and "7" are one node."""
    if isinstance(node, str):
        return node
    if isinstance(node, np.generic):
        node = node.item()
    if isinstance(node, float) and node.is_integer():
        node = int(node)
    return str(node)


def plain(node: Any) -> Any:
    """An id as it is given back: numbers of NumPy become those of Python."""
    return node.item() if isinstance(node, np.generic) else node


def objects(values: Iterable[Any]) -> np.ndarray:
    """Ids as an array, also if they are tuples."""
    values = list(values)
    array = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        array[k] = value
    return array


@dataclass
class Named:
    """Distinct nodes, in the order of their first appearance: as they were given, and by their names."""

    ids: list[Any]
    names: list[str]

    def by_name(self) -> dict[str, Any]:
        """Ids by their names."""
        return dict(zip(self.names, self.ids))


def names_of_rows(nodes: Any, rows: int) -> tuple[Named, np.ndarray]:
    """The distinct nodes, and for every row the position of its node among them."""
    array = nodes.to_numpy() if hasattr(nodes, "to_numpy") else nodes
    if isinstance(array, np.ndarray) and array.ndim == 1 and 0 < len(array) == rows:
        return _names_of_runs(array)
    values = nodes.tolist() if hasattr(nodes, "tolist") else nodes.to_list() if hasattr(nodes, "to_list") else nodes
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"nodes: expected one id per row of X, got {type(nodes).__name__}")
    values = list(values)
    if len(values) != rows:
        message = f"nodes: expected one id per row of X, {rows}, found {len(values)}"
        raise SizeError(message, what="nodes", expected=rows, found=len(values))
    try:
        named, code = numbered(values)
    except NamelessNode as error:
        row = error.position(values)
        raise FedweaveError(f"nodes: row {row} has no node id", row=row) from None
    except TypeError:
        raise TypeError("nodes: ids must be strings, numbers or tuples, one per row of X") from None
    return named, np.fromiter(map(code.__getitem__, values), dtype=np.int64, count=rows)


def numbered(nodes: Iterable[Any]) -> tuple[Named, dict[Any, int]]:
    """Nodes as they come, and for every id the position of its node. Ids with the same text are one node."""
    distinct = dict.fromkeys(nodes)
    if set(map(type, distinct)) in ({str}, {int}) and "" not in distinct:
        # The usual case, without a loop: different ids have different names.
        ids_as_given = list(distinct)
        return Named(ids_as_given, list(map(str, ids_as_given))), dict(zip(distinct, range(len(distinct))))
    for node in distinct:
        if node is None or node != node or node == "":
            raise NamelessNode(node)
    names = [name_of(node) for node in distinct]
    ids: dict[str, Any] = {}
    for name, node in zip(names, distinct):
        ids.setdefault(name, node)
    position = dict(zip(ids, range(len(ids))))
    return Named([plain(node) for node in ids.values()], list(ids)), dict(zip(distinct, map(position.__getitem__, names)))


class NamelessNode(Exception):
    """An id that names nothing: None, NaN or an empty text."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def position(self, values: Iterable[Any]) -> int | None:
        """Where it is among `values`."""
        return next((k for k, value in enumerate(values) if value is self.node or value == self.node), None)


def _names_of_runs(nodes: np.ndarray) -> tuple[Named, np.ndarray]:
    """Rows of a node mostly follow each other: an id is looked up once per run."""
    try:
        starts = np.flatnonzero(np.r_[True, np.asarray(nodes[1:] != nodes[:-1], dtype=bool)])
    except (TypeError, ValueError):  # ids that cannot be compared, such as pandas.NA
        starts = np.arange(len(nodes))
    try:
        named, codes = names_of_rows(nodes[starts].tolist(), len(starts))
    except FedweaveError as error:
        row = int(starts[error.row])
        raise FedweaveError(f"nodes: row {row} has no node id", row=row) from None
    return named, np.repeat(codes, np.diff(np.r_[starts, len(nodes)]))


def locate(known: dict[str, int], nodes: Any, rows: int, what: str = "predict") -> np.ndarray:
    """The index of the node of every row, among nodes that are known."""
    from .errors import UnknownNodeError

    named, codes = names_of_rows(nodes, rows)
    names = named.names
    unknown = [node for node, name in zip(named.ids, names) if name not in known]
    if unknown:
        some = ", ".join(repr(name) for name in unknown[:3])
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        examples = ", ".join(repr(name) for name in list(known)[:3])
        message = f"{what}: no model for node {some}{more}; the models are those of {examples}, ..."
        raise UnknownNodeError(message, node=unknown[0], nodes=unknown)
    index = np.fromiter((known[name] for name in names), dtype=np.int64, count=len(names))
    return index[codes]
