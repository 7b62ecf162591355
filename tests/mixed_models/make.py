"""Mixed-effects models of two datasets by statsmodels, as references for the learnt coupling without a graph.

    python tests/mixed_models/make.py        (needs numpy, pandas, statsmodels)

Writes references.json beside itself: rows, and for both likelihoods the common mean, the covariance of the effects, the noise, the
log-likelihood, and predictions of every tenth row. Features come before the intercept. The first dataset has all rows of
data/sacramento.csv; the second the first twelve houses of every cell of data/lucas_housing.csv.gz.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels
from statsmodels.regression.mixed_linear_model import MixedLM

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "data"
EVERY = 10


def sacramento() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, features with a last column of ones, labels."""
    rows = pd.read_csv(DATA / "sacramento.csv")
    return rows.node.to_numpy(), np.c_[rows.sqft / 1000, np.ones(len(rows))], rows.log10_price.to_numpy()


def lucas() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of the second dataset."""
    rows = pd.read_csv(DATA / "lucas_housing.csv.gz")
    rows = rows[rows.groupby("node").cumcount() < 12]
    return rows.node.to_numpy(), np.c_[rows.log_living_area - 7, rows.age, np.ones(len(rows))].round(6), rows.log10_price.to_numpy()


def fitted(node: np.ndarray, x: np.ndarray, y: np.ndarray, reml: bool) -> dict:
    """The estimates of one likelihood; started from several points, the best wins."""
    model = MixedLM(y, x, groups=node, exog_re=x)
    found = [model.fit(reml=reml, method=method, gtol=1e-10, maxiter=5000) for method in ("lbfgs", "bfgs", "powell")]
    best = max(found, key=lambda result: result.llf)
    effects = np.array([np.asarray(best.random_effects[name]) for name in node[::EVERY]])
    return {
        "mu": list(best.fe_params),
        "covariance": np.asarray(best.cov_re).ravel().tolist(),
        "s2": float(best.scale),
        "log_likelihood": float(best.llf),
        "predictions": (x[::EVERY] * (np.asarray(best.fe_params) + effects)).sum(axis=1).tolist(),
    }


def reference(name: str, node: np.ndarray, x: np.ndarray, y: np.ndarray) -> dict:
    """Rows and estimates of a dataset."""
    _, number = np.unique(node, return_inverse=True)
    rows = {"name": name, "node": number.tolist(), "dim": x.shape[1], "x": x.ravel().tolist(), "y": y.tolist()}
    return rows | {"restricted": fitted(node, x, y, True), "maximum": fitted(node, x, y, False)}


def main() -> None:
    """Writes the file."""
    datasets = [reference("sacramento", *sacramento()), reference("lucas_housing", *lucas())]
    text = json.dumps({"statsmodels": statsmodels.__version__, "every": EVERY, "datasets": datasets}, indent=None)
    (HERE / "references.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
