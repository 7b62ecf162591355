"""The examples run and say what the documentation says they say."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_weather_stations(tmp_path):
    errors = runpy.run_path(str(EXAMPLES / "weather_stations.py"))["main"](tmp_path)
    assert errors["networked"] < min(errors["alone"], errors["one model for all"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["weather_stations.html", "weather_stations.png"]


def test_mixed_models():
    table = runpy.run_path(str(EXAMPLES / "mixed_models.py"))["main"](quick=True)
    assert table["networked"]["all"] < table["alone"]["all"] and list(table.index[:4]) == ["tree", "forest", "boosting", "ridge"]


def test_house_prices(tmp_path):
    model, path, table = runpy.run_path(str(EXAMPLES / "house_prices.py"))["main"](tmp_path)
    error = table["error"]
    assert error["networked"] < min(error["local"], error["global"])
    assert path.n_clusters[-1] == 1 and len(path) == 15
    assert (tmp_path / "house_prices.html").stat().st_size > 10_000
