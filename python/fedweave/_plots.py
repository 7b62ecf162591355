"""Pictures, with matplotlib: the network, the path, the convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._graphs import LONGITUDE
from ._nodes import name_of
from .errors import FedweaveError


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'fedweave[plot]'") from None
    return plt


def plot_network(estimator: Any, color: Any = "cluster", *, positions: Any = None, ax: Any = None) -> Any:
    """Draws the nodes and edges of a fitted estimator; returns the axes.

    `color` is "cluster", or a number per node: an array in the order of `nodes_` or a mapping from node to number (errors, say).
    `positions` maps nodes to (x, y); without it the positions of `knn` are used (a map if they are latitude and longitude), or
    a spring layout of the graph (networkx) is computed. Edges whose ends differ are dashed.

    Examples
    --------
    >>> from fedweave import GTVRegressor, plot_network
    >>> X, y, ids = [[0.0], [1.0], [0.0], [1.0]], [0.0, 1.0, 0.0, 2.0], ["a", "a", "b", "b"]
    >>> model = GTVRegressor([("a", "b")], lam=10.0).fit(X, y, nodes=ids)
    >>> plot_network(model, positions={"a": (0, 0), "b": (1, 0)}).get_title()
    '2 nodes, 1 cluster, lam = 10'
    """
    check_is_fitted(estimator, "_coef")
    ax = ax if ax is not None else _pyplot().gca()
    xy, labels = _layout(estimator, positions)
    index = {node: i for i, node in enumerate(estimator.nodes_.tolist())}
    for e, (a, b) in enumerate(estimator.edges_):
        ends = xy[[index[a], index[b]]]
        fused = bool(estimator._fused[e])
        ax.plot(*ends.T, color="0.75", lw=0.8, ls="-" if fused else ":", zorder=1)
    if isinstance(color, str) and color == "cluster":
        ax.scatter(*xy.T, c=estimator._cluster_of_node % 20, cmap="tab20", vmin=0, vmax=19, s=24, zorder=2)
    else:
        drawn = ax.scatter(*xy.T, c=_by_node(estimator, color), cmap="viridis", s=24, zorder=2)
        ax.figure.colorbar(drawn, ax=ax)
    if labels:
        ax.set_xlabel(labels[0])
        ax.set_ylabel(labels[1])
        if {label.lower() for label in labels} & LONGITUDE:
            middle = np.radians(np.clip(np.nanmean(xy[:, 1]), -80, 80))
            ax.set_aspect(1 / np.cos(middle))
    else:
        ax.set_axis_off()
    clusters = len(estimator.clusters_)
    ax.set_title(f"{len(index)} nodes, {clusters} cluster{'s' if clusters != 1 else ''}, lam = {estimator.lam_:.3g}")
    return ax


def plot_path(path: Any, feature: int = 0, *, ax: Any = None) -> Any:
    """Draws one parameter of every node, and the number of clusters, along a `LambdaPath`; returns the axes.

    Examples
    --------
    >>> from fedweave import GTVRegressor, plot_path
    >>> X, y, ids = [[0.0], [1.0], [0.0], [1.0]], [0.0, 1.0, 0.0, 2.0], ["a", "a", "b", "b"]
    >>> path = GTVRegressor([("a", "b")]).path(X, y, nodes=ids, count=5)
    >>> plot_path(path, feature=0).get_ylabel()
    'parameter 1'
    """
    ax = ax if ax is not None else _pyplot().gca()
    if not 0 <= feature < path.parameters.shape[2]:
        raise FedweaveError(f"plot_path: feature {feature}; there are {path.parameters.shape[2]} parameters")
    positive = path.lams > 0
    ax.plot(path.lams[positive], path.parameters[positive, :, feature], lw=0.8, alpha=0.7)
    ax.set_xscale("log")
    ax.set_xlabel("lam")
    ax.set_ylabel(f"parameter {feature + 1}")
    right = ax.twinx()
    right.step(path.lams[positive], path.n_clusters[positive], where="mid", color="black", lw=1.5)
    right.set_ylabel("clusters")
    return ax


def plot_convergence(estimator: Any, *, ax: Any = None) -> Any:
    """Draws the certified gap and the KKT residual over the iterations; returns the axes.

    Examples
    --------
    >>> from fedweave import GTVRegressor, plot_convergence
    >>> X, y, ids = [[0.0], [1.0], [0.0], [1.0]], [0.0, 1.0, 0.0, 2.0], ["a", "a", "b", "b"]
    >>> model = GTVRegressor([("a", "b")], lam=0.1).fit(X, y, nodes=ids)
    >>> plot_convergence(model).get_xlabel()
    'iteration'
    """
    check_is_fitted(estimator, "_coef")
    ax = ax if ax is not None else _pyplot().gca()
    history = estimator.history_
    for name, label in (("certified_gap", "certified gap"), ("kkt_residual", "KKT residual")):
        values = history[name]
        seen = np.isfinite(values) & (values > 0)
        if seen.any():
            ax.plot(history["iteration"][seen], values[seen], marker=".", label=label)
    if ax.lines:
        ax.set_yscale("log")
        ax.legend()
    ax.set_xlabel("iteration")
    ax.set_title(f"{estimator.solver_}: {estimator.status_}")
    return ax


def _layout(estimator: Any, positions: Any) -> tuple[np.ndarray, list[str]]:
    nodes = estimator.nodes_.tolist()
    if positions is not None:
        given = {name_of(node): at for node, at in positions.items()}
        missing = [node for node in nodes if name_of(node) not in given]
        if missing:
            raise FedweaveError(f"plot_network: no position for node {missing[0]!r} ({len(missing)} such)")
        return np.array([given[name_of(node)] for node in nodes], dtype=float), []
    known = estimator.positions_
    if known is not None and known.values.shape[1] == 2:
        swapped = known.geographic and known.columns[0].lower() not in LONGITUDE
        order = [1, 0] if swapped else [0, 1]
        return known.values[:, order], [known.columns[k] for k in order]
    try:
        import networkx as nx
    except ImportError:
        raise ImportError("a layout needs networkx: install it, or give positions={node: (x, y)}") from None
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(estimator.edges_)
    at = nx.spring_layout(graph, seed=0)
    return np.array([at[node] for node in nodes]), []


def _by_node(estimator: Any, color: Any) -> np.ndarray:
    nodes = estimator.nodes_.tolist()
    if hasattr(color, "items"):
        given = {name_of(node): value for node, value in color.items()}
        return np.array([given.get(name_of(node), np.nan) for node in nodes], dtype=float)
    values = np.asarray(color, dtype=float)
    if values.shape != (len(nodes),):
        raise FedweaveError(f"plot_network: color needs one number per node, {len(nodes)}, found shape {values.shape}")
    return values
