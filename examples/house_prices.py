"""House prices in Sacramento: one model per zip code, the whole path of models, and a map.

    python examples/house_prices.py [folder for the pictures]

Data: `data/sacramento.csv`.
"""

import sys
from pathlib import Path

import pandas as pd

from fedweave import GTVRegressor, GTVRegressorCV, LambdaPath, compare, knn, plot_network, plot_path

DATA = Path(__file__).parents[1] / "data" / "sacramento.csv"
FEATURES = ["beds", "baths", "sqft"]


def main(out: Path | None = None) -> tuple[GTVRegressorCV, LambdaPath, pd.DataFrame]:
    frame = pd.read_csv(DATA)
    houses, price = frame[["node", "latitude", "longitude", *FEATURES]], frame["log10_price"]
    graph = knn(5, by=["latitude", "longitude"])

    # How strongly should neighbours agree? Cross-validation says.
    model = GTVRegressorCV(graph, node="node", standardize=True, ridge=1e-3, cv=5).fit(houses, price)
    print(f"{len(model.nodes_)} zip codes, lam = {model.lam_:.3g} of {len(model.lams_)} values, {len(model.clusters_)} clusters")

    # From a model per zip code to one for all.
    path = GTVRegressor(graph, node="node", standardize=True, ridge=1e-3).path(houses, price, count=15)
    print(path.to_pandas()[["lams", "n_clusters", "objective"]].to_string(index=False))

    # Was the network worth it?
    plain = GTVRegressor(graph, node="node", standardize=True, ridge=1e-3, lam=model.lam_)
    table, chart = compare(plain, houses, price, splits=5)
    print(table.round(4).to_string())

    if out is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11, 5), layout="constrained")
        left, right = figure.subplots(1, 2)
        plot_network(model, ax=left)
        plot_path(path, FEATURES.index("sqft"), ax=right)
        figure.savefig(out / "house_prices.png", dpi=120)
        chart.savefig(out / "house_prices_compare.png", dpi=120)
        model.report(out / "house_prices.html", title="House prices in Sacramento")
    return model, path, table


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
