"""The solution as a function of lambda."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ._network import Network
from ._table import Table


class LambdaPath:
    """Models and clusters along a grid of lambda, smallest first.

    `lams`, `n_clusters`, `objective`, `certified_gap` and `status` have an entry per value; `labels[k]` is the cluster of each of
    `nodes`; `coef(k)` and `intercept(k)` are the models; `train_error[k]` and (with held-out rows) `validation_error[k]` are the errors
    of each of `nodes`. `lam_max` is the smallest value with one model per component, if there is one; `breakpoints` are intervals in which
    clusters change; `stopped` says why the path ended early, if it did. `chosen` is the value that the command line would choose,
    `chosen_because` says why; `recovery` says where a partition that was asked about is provably recovered.

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

    def __init__(self, net: Network, out: dict[str, Any], blocks: int, features: int) -> None:
        order = net.order
        self.nodes = net.ids
        self.lams: np.ndarray = out["lams"]
        self.n_clusters: np.ndarray = out["n_clusters"]
        self.objective: np.ndarray = out["objective"]
        self.certified_gap: np.ndarray = out["certified_gap"]
        self.status: list[str] = out["status"]
        self.labels: np.ndarray = np.array(out["labels"]).reshape(len(self.lams), len(order))[:, order]
        self.train_error: np.ndarray = out["train"][:, order]
        self.validation_error: np.ndarray | None = None if out["validation"] is None else out["validation"][:, order]
        self.lam_max: float | None = out["lambda_max"]
        self.breakpoints: list[tuple[float, float]] = out["breakpoints"]
        self.stopped: str | None = out["stopped"]
        self.parameters: np.ndarray = out["w"][:, order]
        self.chosen: int = out["chosen"]
        self.chosen_because: str = out["chosen_because"]
        self.summary: dict[str, Any] = json.loads(out["summary"])
        self.recovery: dict[str, Any] | None = self.summary["path"]["recovery"]
        self._report: str = out["report"]
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

    def report(self, path: Any = None, title: str | None = None) -> str:
        """The path as one HTML page, with the models of the chosen value; written to `path` if there is one."""
        from ._report import page

        return page(self._report, path, title)

    def __repr__(self) -> str:
        span = f"{self.lams[0]:.3g} to {self.lams[-1]:.3g}" if len(self) else "nothing"
        return f"LambdaPath: {len(self)} values from {span}, {len(self.nodes)} nodes, clusters {self.n_clusters.tolist()}"
