"""Answers of the engine as users see them: nodes in the order of the graph, edges from the earlier node to the later one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._graphs import Positions
from ._network import Network
from ._nodes import numbered
from ._table import EdgeEnds, Table, edge_name
from .errors import SizeError


def keep_edges(out: dict[str, Any], net: Network) -> tuple[Table, Table, np.ndarray]:
    """Weights and flows by edge, and which ends have the same model. A flow goes from the earlier of `nodes_` to the later."""
    place = net.place
    heads, tails = place[out["heads"]], place[out["tails"]]
    turned = heads > tails
    heads, tails = np.where(turned, tails, heads), np.where(turned, heads, tails)
    flows = np.where(turned[:, None], -out["u"], out["u"])
    order = np.lexsort((tails, heads))
    pairs = EdgeEnds(net.ids, heads[order], tails[order])
    weights = Table(pairs, out["edge_weights"][order], name=edge_name)
    return weights, Table(pairs, flows[order], name=edge_name), out["fused"][order]


def members(labels: np.ndarray, nodes: np.ndarray) -> list[list[Any]]:
    """The nodes of every cluster."""
    clusters: list[list[Any]] = [[] for _ in range(int(labels.max()) + 1 if len(labels) else 0)]
    for label, node in zip(labels.tolist(), nodes.tolist()):
        clusters[label].append(node)
    return clusters


def show(found: dict[str, Any] | None, order: np.ndarray) -> dict[str, Any] | None:
    """Arrays whose last dimension is the nodes, in the order users see; other entries as they are."""
    if found is None:
        return None
    by_node = ("train", "validation", "networked", "local", "global")
    return {name: value[..., order] if name in by_node else value for name, value in found.items()}


def place_of_nodes(net: Network) -> Positions | None:
    """Where nodes are, in the order users see."""
    at = net.positions
    return None if at is None else Positions(at.columns, at.values[net.order], at.geographic)


def groups_of(groups: Any, rows: int) -> np.ndarray | None:
    """The group of every row, numbered as they first appear."""
    if groups is None:
        return None
    values = groups.tolist() if hasattr(groups, "tolist") else groups.to_list() if hasattr(groups, "to_list") else list(groups)
    if len(values) != rows:
        raise SizeError(f"groups: expected one per row of X, {rows}, found {len(values)}", what="groups", expected=rows, found=len(values))
    _, code = numbered(values)
    return np.fromiter(map(code.__getitem__, values), dtype=np.uint32, count=rows)
