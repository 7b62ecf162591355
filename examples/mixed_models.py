"""House prices in Lucas County: trees, forests, boosting and ridge regression at 100 places, coupled by what they predict.

    python examples/mixed_models.py [--quick]

Every place has ten sales to learn from and five to choose the strength of the coupling by; all others judge. Places tell their five
nearest what they predict for a hundred houses elsewhere in the county, whose prices nobody knows.

Data: `data/lucas_housing.csv.gz`.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from fedweave import FedRelax, knn

DATA = Path(__file__).parents[1] / "data" / "lucas_housing.csv.gz"
TRAIN, VALIDATION, PUBLIC = 10, 5, 100
LAMS = (0.003, 0.01, 0.03, 0.1)


def kinds(quick: bool):
    """The models; sizes that suit ten rows as well as several hundred."""
    return {
        "tree": DecisionTreeRegressor(min_samples_leaf=2),
        "forest": RandomForestRegressor(10 if quick else 50, min_samples_leaf=2),
        "boosting": HistGradientBoostingRegressor(max_iter=20 if quick else 50, min_samples_leaf=2),
        "ridge": Ridge(alpha=1.0),
    }


def parts_of(frame: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
    """The place of every sale in a random order of the sales of its node."""
    return frame.groupby("node")["x"].transform(lambda s: rng.permutation(len(s)))


def error(rows: pd.DataFrame, predicted: np.ndarray) -> pd.Series:
    """Mean squared error of every node."""
    return ((rows["log10_price"] - predicted) ** 2).groupby(rows["node"]).mean()


def one_split(frame: pd.DataFrame, models: dict, public: pd.DataFrame, seed: int, lams: tuple, rounds: int):
    """Test errors by node, networked and alone, and the lam that was best on the validation rows."""
    order = parts_of(frame, np.random.default_rng(seed))
    train, test = frame[order < TRAIN], frame[order >= TRAIN + VALIDATION]
    validation = frame[(order >= TRAIN) & (order < TRAIN + VALIDATION)]
    tried = []
    for lam in lams:
        model = FedRelax(
            knn(5, by=["x", "y"]),
            models,
            lam,
            public=public,
            node="node",
            rounds=rounds,
            row_weights="plain",  # an own sale weighs 1, as it would in a fit without a network
            standardize=True,
            track=False,
            random_state=seed,
        )
        model.fit(train.drop(columns="log10_price"), train["log10_price"])
        tried.append((error(validation, model.predict(validation.drop(columns="log10_price"))).mean(), lam, model))
    _, lam, model = min(tried, key=lambda t: t[:2])
    houses = test.drop(columns="log10_price")
    return error(test, model.predict(houses)), error(test, model.predict_local(houses)), lam


def main(quick: bool = False) -> pd.DataFrame:
    frame = pd.read_csv(DATA)
    nodes, splits = (24, 1) if quick else (100, 5)
    here = frame[frame["node"] < nodes]
    elsewhere = frame[frame["node"] >= 100].drop(columns=["node", "x", "y", "log10_price"])
    public = elsewhere.sample(40 if quick else PUBLIC, random_state=0)
    classes = kinds(quick)
    names = {node: list(classes)[node % len(classes)] for node in sorted(here["node"].unique())}
    models = {node: classes[name] for node, name in names.items()}

    rows = []
    for seed in range(splits):
        networked, alone, lam = one_split(here, models, public, seed, LAMS[1:3] if quick else LAMS, 2 if quick else 5)
        for name in [*classes, "all"]:
            mine = networked.index[[name in ("all", names[node]) for node in networked.index]]
            rows.append({"model": name, "networked": networked[mine].mean(), "alone": alone[mine].mean(), "lam": lam})
    table = pd.DataFrame(rows)
    table["gain"] = table["alone"] - table["networked"]
    lams = table.groupby("model").first()["lam"].iloc[0] if splits == 1 else sorted(table["lam"].unique())
    shown = table.groupby("model", sort=False)[["alone", "networked", "gain"]].mean()
    shown["standard error of gain"] = table.groupby("model")["gain"].sem()
    print(f"{nodes} places, {TRAIN} sales each, {splits} splits; mean squared error of log10 price; lam chosen: {lams}")
    print(shown.round(5).to_string())
    return shown


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
