#!/usr/bin/env python3
"""Turns raw public datasets into tidy tables for Fedweave: one row per data point, one column that names its node.

    python3 scripts/prepare_data.py SOURCE_DIR OUT_DIR [NAME ...]

SOURCE_DIR holds one folder per dataset (see data/README.md for where they come from and under which licence):

    fmi/hourly_2024.csv.gz              Latitude, Longitude, Timestamp, temp, name
    fmi/splits_hourly_2024.csv.gz       row, node, set_rs1, pos_rs1, set_rs4740, pos_rs4740
    fmi/daily_2025_tidy.csv             node, tmax_1, ..., tmin_5, y_tmax, y_tmin
    fmi/daily_2025_nodes.csv            node, name, lat, lon, rows
    fmi/splits_daily_2025.csv.gz        row, node, set_rs42, pos_rs42
    fmi/init_daily_2025_seed42.csv      node, w0, ..., w9
    lucas_housing/data.csv.gz           node, x, y, age, TLA, beds, ..., lotsize, syear, price
    lucas_housing/node_info.csv         node, x, y, rows
    sacramento/data.csv                 node, beds, baths, sqft, ..., price
    sacramento/node_info.csv            node, zip, city, latitude, longitude, rows

Without a name everything is prepared. Only the standard library is used, and the same input gives the same bytes on
every machine with the same version of Python and zlib.
"""

import csv
import datetime
import gzip
import io
import math
import sys
from pathlib import Path

DIGITS = 6


def fmi(source):
    """Temperature at weather stations: a cubic trend, t running from 0 to 1 over the 96 hours, and the hour of the day."""
    rows = read(source / "fmi" / "hourly_2024.csv.gz")
    time = {text: datetime.datetime.fromisoformat(text) for text in {row["Timestamp"] for row in rows}}
    first, last = min(time.values()), max(time.values())
    require_one_place_per_station(rows)
    yield "station", "lat", "lon", "time", "t", "t2", "t3", "sin_hour", "cos_hour", "temp"
    for row in sorted(rows, key=lambda row: (row["name"], time[row["Timestamp"]])):
        moment = time[row["Timestamp"]]
        t = (moment - first) / (last - first)
        angle = 2 * math.pi * moment.hour / 24
        features = (t, t**2, t**3, math.sin(angle), math.cos(angle))
        # Coordinates and temperatures are kept as the source writes them.
        yield (row["name"], row["Latitude"], row["Longitude"], moment.isoformat(), *map(number, features), row["temp"])


def fmi_splits(source):
    """The number of the station and the split of every row of fmi_hourly_2024.csv.gz, in its order."""
    rows = read(source / "fmi" / "hourly_2024.csv.gz")
    parts = read(source / "fmi" / "splits_hourly_2024.csv.gz")
    time = {text: datetime.datetime.fromisoformat(text) for text in {row["Timestamp"] for row in rows}}
    yield "node", "rs1", "rs4740"
    for _, part in sorted(zip(rows, parts), key=lambda pair: (pair[0]["name"], time[pair[0]["Timestamp"]])):
        yield part["node"], part["set_rs1"], part["set_rs4740"]


def fmi_order(source):
    """The line of every row of fmi_hourly_2024.csv.gz in the source, counted from 0."""
    rows = read(source / "fmi" / "hourly_2024.csv.gz")
    time = {text: datetime.datetime.fromisoformat(text) for text in {row["Timestamp"] for row in rows}}
    yield ("row",)
    for place in sorted(range(len(rows)), key=lambda place: (rows[place]["name"], time[rows[place]["Timestamp"]])):
        yield (str(place),)


def fmi_daily(source):
    """Ten rows a station: five daily maxima and minima, and the maximum of the next day."""
    folder = source / "fmi"
    place = {row["node"]: row for row in read(folder / "daily_2025_nodes.csv")}
    past = [f"{kind}_{day}" for kind in ("tmax", "tmin") for day in range(1, 6)]
    yield "node", "station", "lat", "lon", *past, "y_tmax", "rs42"
    for row, part in zip(read(folder / "daily_2025_tidy.csv"), read(folder / "splits_daily_2025.csv.gz")):
        at = place[row["node"]]
        yield (row["node"], at["name"], at["lat"], at["lon"], *(row[name] for name in past), row["y_tmax"], part["set_rs42"])


def fmi_start(source):
    """Start weights, uniform on [-1, 1]."""
    rows = read(source / "fmi" / "init_daily_2025_seed42.csv")
    yield tuple(rows[0])
    for row in rows:
        yield tuple(row.values())


def lucas(source):
    """House sales in Lucas County, Ohio; a node is a square cell, x and y its mean position in metres."""
    folder = source / "lucas_housing"
    place = {row["node"]: row for row in read(folder / "node_info.csv")}
    same = ("rooms", "beds", "baths", "halfbaths", "garagesqft")
    yield ("node", "x", "y", "log_living_area", "age", "age2", "log_lot_size", *same, "years_since_1993", "log10_price")
    for row in read(folder / "data.csv.gz"):
        cell, age = place[row["node"]], float(row["age"])
        features = (math.log(float(row["TLA"])), age, age**2, math.log(float(row["lotsize"])))
        counts = (float(row[name]) for name in same)
        year = int(row["syear"]) - 1993
        position = (float(cell["x"]), float(cell["y"]))
        price = math.log10(float(row["price"]))
        yield (row["node"], *map(number, (*position, *features, *counts, year, price)))


def sacramento(source):
    """Homes sold around Sacramento; a node is a zip code, latitude and longitude its mean position."""
    folder = source / "sacramento"
    place = {row["node"]: row for row in read(folder / "node_info.csv")}
    yield "node", "latitude", "longitude", "beds", "baths", "sqft", "log10_price"
    for row in read(folder / "data.csv"):
        area = place[row["node"]]
        # Eight digits: six are 10 m at these longitudes.
        position = (number(float(area[name]), 8) for name in ("latitude", "longitude"))
        features = (float(row[name]) for name in ("beds", "baths", "sqft"))
        price = math.log10(float(row["price"]))
        yield (area["zip"].removeprefix("z"), *position, *map(number, (*features, price)))


DATASETS = {
    "fmi": (fmi, "fmi_hourly_2024.csv.gz"),
    "fmi-splits": (fmi_splits, "fmi_hourly_2024_splits.csv.gz"),
    "fmi-order": (fmi_order, "fmi_hourly_2024_order.csv.gz"),
    "fmi-daily": (fmi_daily, "fmi_daily_2025.csv.gz"),
    "fmi-start": (fmi_start, "fmi_daily_2025_start.csv.gz"),
    "lucas": (lucas, "lucas_housing.csv.gz"),
    "sacramento": (sacramento, "sacramento.csv"),
}


def require_one_place_per_station(rows):
    places = {}
    for row in rows:
        places.setdefault(row["name"], set()).add((row["Latitude"], row["Longitude"]))
    doubtful = sorted(name for name, where in places.items() if len(where) > 1)
    if doubtful:
        sys.exit(f"stations with one name and several positions: {', '.join(doubtful)}")


def number(value, digits=DIGITS):
    """A number with few digits. What only rounding left (the sine of pi) is zero, and zero has no sign."""
    text = f"{round(value, 12):.{digits}g}"
    return "0" if float(text) == 0 else text


def read(path):
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        sys.exit(f"{path}: no such file; the first argument is the folder with the raw datasets")


def write(path, table):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    content = text.getvalue().encode()
    if path.suffix == ".gz":
        # No time stamp and no file name inside: the same table is the same file.
        content = gzip.compress(content, compresslevel=9, mtime=0)
    path.write_bytes(content)
    print(f"{path}: {text.getvalue().count(chr(10)) - 1} rows, {len(content)} bytes")


def main(arguments):
    if len(arguments) < 2 or not set(arguments[2:]) <= DATASETS.keys():
        sys.exit(f"usage: prepare_data.py SOURCE_DIR OUT_DIR [{'|'.join(DATASETS)} ...]")
    source, out = Path(arguments[0]), Path(arguments[1])
    for name in arguments[2:] or DATASETS:
        make, file = DATASETS[name]
        table = list(make(source))
        out.mkdir(parents=True, exist_ok=True)
        write(out / file, table)


if __name__ == "__main__":
    main(sys.argv[1:])
