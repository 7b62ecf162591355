"""The solution as a function of lambda."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._table import Table


class LambdaPath:
    """Models and clusters along a grid of lambda, smallest first.

    `lams`, `n_clusters`, `objective`, `certified_gap` and `status` have an entry per value; `labels[k]` is the cluster of each of
    `nodes`; `coef(k)` and `intercept(k)` are the models. `lam_max` is the smallest value with one model per component, if
    there is one; `breakpoints` are intervals in which clusters change; `stopped` says why the path ended early, if it did.

    Examples
    --------
    >>> from fedweave import GTVRegressor
    >>> X, y, ids = [[0.0], [1.0], [0.0], [1.0]], [0.0, 1.0, 0.0, 2.0], ["a", "a", "b", "b"]
    >>> path = GTVRegressor([("a", "b")]).path(X, y, nodes=ids, lams=[0.001, 10.0])
    >>> path.n_clusters.tolist()
    [2, 1]
    >>> path.coef(1)["a"].round(2)
    array([1.5])
    """

    def __init__(self, names: list[str], out: dict[str, Any], blocks: int, features: int) -> None:
        self.nodes = np.array(names, dtype=object)
        self.lams: np.ndarray = out["lams"]
        self.n_clusters: np.ndarray = out["n_clusters"]
        self.objective: np.ndarray = out["objective"]
        self.certified_gap: np.ndarray = out["certified_gap"]
        self.status: list[str] = out["status"]
        self.labels = np.array(out["labels"]).reshape(len(self.lams), len(names))
        self.lam_max: float | None = out["lambda_max"]
        self.breakpoints: list[tuple[float, float]] = out["breakpoints"]
        self.stopped: str | None = out["stopped"]
        self.parameters: np.ndarray = out["w"]
        self._shape = (blocks, features)

    def __len__(self) -> int:
        return len(self.lams)

    def coef(self, k: int) -> Table:
        """The models at `lams[k]`, without intercepts."""
        models, (blocks, features) = self._models(k), self._shape
        return Table(self.nodes.tolist(), models[:, 0, :features] if blocks == 1 else models[:, :, :features])

    def intercept(self, k: int) -> Table | None:
        """The intercepts at `lams[k]`, if there are any."""
        models, (blocks, features) = self._models(k), self._shape
        if models.shape[2] == features:
            return None
        return Table(self.nodes.tolist(), models[:, 0, features] if blocks == 1 else models[:, :, features])

    def _models(self, k: int) -> np.ndarray:
        return self.parameters[k].reshape(len(self.nodes), self._shape[0], -1)

    def to_pandas(self) -> Any:
        """One row per value of lambda."""
        import pandas as pd

        columns = {name: getattr(self, name) for name in ("lams", "n_clusters", "objective", "certified_gap", "status")}
        return pd.DataFrame(columns)

    def longest_stretch(self) -> int:
        """The middle of the longest stretch of lambda, on a logarithmic scale, with the same clusters, more than
        one and at most half as many as nodes; the middle of the grid if there is none. Components that no lam can join last for ever."""
        best, length, k = len(self) // 2, 0.0, 0
        if self.n_clusters[-1] > 1 and self.lam_max is not None and self.lams[-1] >= self.lam_max:
            return len(self) - 1
        while k < len(self):
            end = k
            while end + 1 < len(self) and np.array_equal(self.labels[end + 1], self.labels[k]):
                end += 1
            stretch = abs(np.log(self.lams[end] / self.lams[k])) if self.lams[k] > 0 else 0.0
            if 1 < self.n_clusters[k] <= len(self.nodes) / 2 and stretch > length:
                best, length = (k + end) // 2, float(stretch)
            k = end + 1
        return best

    def __repr__(self) -> str:
        span = f"{self.lams[0]:.3g} to {self.lams[-1]:.3g}" if len(self) else "nothing"
        return f"LambdaPath: {len(self)} values from {span}, {len(self.nodes)} nodes, clusters {self.n_clusters.tolist()}"
