"""Temperatures at 207 weather stations: one model per station, neighbours on the map drawn together.

    python examples/weather_stations.py [folder for the pictures]

Data: `data/fmi_hourly_2024.csv.gz` (Finnish Meteorological Institute, CC BY 4.0).
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from fedweave import GTVRegressor, knn, plot_network

DATA = Path(__file__).parents[1] / "data" / "fmi_hourly_2024.csv.gz"
FEATURES = ["t", "t2", "t3", "sin_hour", "cos_hour"]


def main(out: Path | None = None) -> dict[str, float]:
    frame = pd.read_csv(DATA)
    # Ten hours of every station to learn from, the others to be judged by.
    rng = np.random.default_rng(0)
    frame["train"] = frame.groupby("station")["t"].transform(lambda s: rng.permutation(len(s)) < 10)
    train, test = frame[frame["train"]], frame[~frame["train"]]
    columns = ["station", "lat", "lon", *FEATURES]

    graph = knn(4, by=["lat", "lon"])
    model = GTVRegressor(graph, node="station", penalty="squared", ridge=1e-3, standardize=True)
    model.fit(train[columns], train["temp"])
    alone = GTVRegressor(graph, node="station", ridge=1e-3, standardize=True, lam=0.0).fit(train[columns], train["temp"])
    pooled = GTVRegressor(ridge=1e-3, standardize=True).fit(train[FEATURES], train["temp"])

    predictions = {
        "alone": alone.predict(test[columns]),
        "one model for all": pooled.predict(test[FEATURES]),
        "networked": model.predict(test[columns]),
    }
    squares = pd.DataFrame({name: (test["temp"] - p) ** 2 for name, p in predictions.items()})
    by_station = squares.groupby(test["station"]).mean()
    errors = by_station.mean().to_dict()

    print(f"{len(model.nodes_)} stations, {len(model.edges_)} edges, lam = {model.lam_:.3g} chosen on held-out rows")
    gap = "no certificate" if model.certified_gap_ is None else f"within {model.certified_gap_:.1e} of the optimum"
    print(f"objective {model.objective_:.6g}, {gap}")
    for name, error in errors.items():
        print(f"  {name:<18} mean squared error {error:6.2f} °C²")
    if out is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 7), layout="constrained")
        plot_network(model, by_station["networked"], ax=figure.subplots())
        figure.savefig(out / "weather_stations.png", dpi=120)
        model.report(out / "weather_stations.html", title="Temperature at 207 weather stations")
    return errors


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
