"""Public rows: rows without labels that all nodes may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._checks import number, one_of, warn
from ._frames import is_frame
from ._nodes import locate, name_of
from .errors import FedweaveError, NotFiniteError, SizeError, UnknownNodeError

SOURCES = ("auto", "moments", "range", "normal")


def public_of(estimator: Any, names: Sequence[str]) -> tuple[dict[str, Any], list[np.ndarray] | None]:
    """What `public` and `public_rows` of a fitted-to-be estimator mean for nodes of these names: settings, or rows for all or for each."""
    public = estimator.public
    if isinstance(public, str):
        source = one_of("public", public, SOURCES)
        rows = int(number("public_rows", estimator.public_rows, 1))
        return {"public-from": "moments" if source == "auto" else source, "public-rows": rows}, None
    if isinstance(public, Mapping):
        given = {name_of(node): rows for node, rows in public.items()}
        unknown = [node for node in given if node not in set(names)]
        if unknown:
            raise UnknownNodeError(f"public: there is no node {unknown[0]!r} in the data or the graph", node=unknown[0])
        return {}, [_array(estimator, _of(given, name), f" of node {name!r}") for name in names]
    node = getattr(estimator, "node", None)
    if is_frame(public) and node is not None and node in list(public.columns):
        index = locate({name: i for i, name in enumerate(names)}, public[node], public.shape[0], "public")
        x = _array(estimator, public)
        return {}, [_of({i: x[index == i] for i in np.unique(index)}, i, name) for i, name in enumerate(names)]
    return {}, [_array(estimator, public)]


def say_aloud(estimator: Any, words: str) -> None:
    """Nodes give something away when public rows are drawn by default: whoever did not ask for it should know."""
    if isinstance(estimator.public, str) and estimator.public == "auto":
        name = type(estimator).__name__
        warn(f"{name}: {words}; public='moments' says that this is meant")


def _of(given: Mapping[Any, Any], key: Any, name: str | None = None) -> Any:
    rows = given.get(key)
    if rows is None or not len(rows):
        name = key if name is None else name
        raise FedweaveError(f"public: node {name!r} has no public rows; give it some, or one array for all nodes", node=name)
    return rows


def _array(estimator: Any, rows: Any, whose: str = "") -> np.ndarray:
    """Rows with the features of X."""
    names = getattr(estimator, "feature_names_in_", None)
    if is_frame(rows) and names is not None:
        missing = [name for name in names if name not in list(rows.columns)]
        if missing:
            raise FedweaveError(f"public{whose}: there is no column {missing[0]!r}, which X has")
        rows = rows[list(names)]
    try:
        x = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"public{whose}: expected rows of numbers, one of {', '.join(SOURCES)}, or a mapping from node to rows") from None
    p = estimator.n_features_in_
    if x.ndim != 2 or x.shape[1] != p:
        message = f"public{whose}: expected rows of {p} features, as in X, found the shape {x.shape}"
        raise SizeError(message, what="public", expected=p, found=x.shape[-1] if x.ndim else 0)
    if not len(x):
        raise FedweaveError(f"public{whose}: there are no rows")
    for row in np.flatnonzero(~np.isfinite(x).all(axis=1))[:1]:
        raise NotFiniteError(f"public{whose}: row {row} has a number that is not finite", row=int(row), what="public")
    return np.ascontiguousarray(x)
