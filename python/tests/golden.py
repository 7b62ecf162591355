"""The golden problems, as a user of the Python package would pose them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedweave import ConvexClustering, GTVClassifier, GTVRegressor

FOLDER = Path(__file__).parents[2] / "tests" / "golden"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
FIVE = (
    "p02_chain20_d2_sq_norm2_nodata",
    "p05_sbm30_d5_sq_squaredpen",
    "p07_grid5x6_d2_logistic01_norm2",
    "p11_complete15_d3_sqhinge_norm2",
    "p19_chain50_d1_point_norm2_fusedlasso",
)


@dataclass
class Golden:
    name: str
    problem: dict[str, Any]
    optimum: dict[str, Any]
    rows: pd.DataFrame
    edges: Path

    def settings(self, **more: Any) -> dict[str, Any]:
        params = self.problem["loss_params"]
        bias = "c" in params
        return {
            "graph": self.edges,
            "loss": self.problem["loss"].replace("_", "-"),
            "penalty": self.problem["penalty"],
            "lam": self.problem["lambda"],
            "fit_intercept": bias,
            "ridge": params["c"] / 2 if bias else params.get("ridge", 0.0),
            "huber_delta": params.get("delta", 1.0),
        } | more

    def fit(self, **more: Any) -> Any:
        settings = self.settings(**more)
        loss = settings["loss"]
        nodes = self.rows["node"].to_numpy()
        x = self.rows.filter(regex="^x").to_numpy(dtype=float)
        y = self.rows["y"].to_numpy()
        if loss == "point":
            for key in ("loss", "fit_intercept", "ridge", "huber_delta"):
                settings.pop(key)
            return ConvexClustering(**settings).fit(x, nodes=nodes)
        if loss in ("logistic", "squared-hinge"):
            settings.pop("huber_delta")
            return GTVClassifier(**settings).fit(x, y, nodes=nodes)
        return GTVRegressor(**settings).fit(x, y, nodes=nodes)


def load(name: str) -> Golden:
    folder = FOLDER / name
    read = lambda file: json.loads((folder / file).read_text())  # noqa: E731
    return Golden(name, read("problem.json"), read("solution.json"), read_table(folder / "nodes.csv"), folder / "edges.csv")


def read_table(path: Path, skip: tuple[str, ...] = ("node",)) -> pd.DataFrame:
    """A table with exact numbers: what pandas reads by itself may differ in the last bit."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.assign(**{c: [float(cell) for cell in frame[c]] for c in frame.columns if c not in skip})


def parameters(model: Any) -> np.ndarray:
    """Models as `parameters.csv` has them: a row per node, the intercept last."""
    coef = np.asarray(model.coef_)
    if getattr(model, "fit_intercept", False):
        return np.column_stack([coef, np.asarray(model.intercept_)])
    return coef


def flags(golden: Golden) -> list[str]:
    """What the command line is told about the same problem."""
    s = golden.settings()
    words = ["--loss", s["loss"], "--penalty", s["penalty"], "--lambda", repr(s["lam"]), "--ridge", repr(s["ridge"])]
    words += ["--drop", "y"] if s["loss"] == "point" else ["--target", "y"]
    words += [] if s["fit_intercept"] else ["--no-intercept"]
    return words + (["--huber-delta", repr(s["huber_delta"])] if s["loss"] == "huber" else [])
