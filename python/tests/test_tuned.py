"""`TunedRegressor` and `TunedClassifier`: what they keep, times, recipes, and bad input."""

import datetime
import pickle

import numpy as np
import pandas as pd
import pytest

from fedweave import TunedClassifier, TunedRegressor
from fedweave._times import times_of
from fedweave.errors import FedweaveError, LabelError, ParameterError, SizeError

EDGES = [("a", "b"), ("b", "c"), ("c", "d")]


def rows(seed, per_node=40, shock=0.0):
    """Features, labels, nodes and times; `shock` is the size of what all nodes share at a time."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(["a", "b", "c", "d"], per_node)
    x = rng.normal(size=(len(ids), 2))
    times = np.tile(np.arange(per_node), 4)
    shared = shock * rng.normal(size=per_node)
    y = x @ [1.0, -1.0] + (ids == "a") + shared[times] + 0.3 * rng.normal(size=len(ids))
    return x, y, ids, times


def test_what_a_race_leaves():
    x, y, ids, _ = rows(0)
    model = TunedRegressor(EDGES, folds=3).fit(x, y, nodes=ids)
    table = model.candidates_
    assert list(table.columns) == ["name", "error", "standard_error", "share", "chosen"]
    assert table["share"].sum() == pytest.approx(1.0) and table["error"].is_monotonic_increasing
    winners = [part.rsplit(":", 1)[0] for part in model.recipe_.split(",")]
    assert winners == table[table["share"] > 0]["name"].tolist()
    assert model.status_ == "done" and model.nodes_.tolist() == ["a", "b", "c", "d"]
    assert model.cv_error_ == pytest.approx(np.mean(model.cv_errors_)) and model.cv_error_ < 0.15
    assert "<html" in model.report()[:200].lower()
    order = np.random.default_rng(0).permutation(len(y))
    again = pickle.loads(pickle.dumps(model)).predict(x[order], nodes=ids[order])
    np.testing.assert_array_equal(again, model.predict(x, nodes=ids)[order])


def test_threads_do_not_matter():
    x, y, ids, _ = rows(0)
    one, two = (TunedRegressor(EDGES, folds=3, n_jobs=n).fit(x, y, nodes=ids) for n in (1, 2))
    assert one._blend == two._blend


def test_a_recipe_fits_the_same_models():
    """As a text, a list of parts, or shares by name."""
    x, y, ids, _ = rows(0)
    parts = ["learnt:0.25", "pooled:0.75"]
    said = [
        TunedRegressor(EDGES, recipe=recipe).fit(x, y, nodes=ids).predict(x, nodes=ids)
        for recipe in (parts, ",".join(parts), {"learnt": 0.25, "pooled": 0.75})
    ]
    np.testing.assert_array_equal(said[0], said[1])
    np.testing.assert_array_equal(said[0], said[2])
    alone = [TunedRegressor(EDGES, recipe=name).fit(x, y, nodes=ids).predict(x, nodes=ids) for name in ("learnt", "pooled")]
    np.testing.assert_allclose(said[0], 0.25 * alone[0] + 0.75 * alone[1], atol=1e-10)


def test_rows_of_the_same_time_help():
    """A quarter of the rows is left out; what all nodes share at their times is seen at the others."""
    x, y, ids, times = rows(0, shock=2.0)
    new = np.random.default_rng(1).random(len(y)) < 0.25
    dates = np.datetime64("2025-03-01") + times.astype("timedelta64[D]")
    error = {}
    for name, when in {"none": None, "numbers": times, "dates": dates}.items():
        model = TunedRegressor(EDGES).fit(x[~new], y[~new], nodes=ids[~new], times=None if when is None else when[~new])
        said = model.predict(x[new], nodes=ids[new], times=None if when is None else when[new])
        error[name] = np.mean((said - y[new]) ** 2)
    assert error["numbers"] < 0.3 * error["none"] and error["dates"] == pytest.approx(error["numbers"], rel=0.05)


def test_times_are_numbers_or_days():
    stamps = pd.Series([pd.Timestamp("1970-01-02 06:00"), pd.NaT])
    for given, days in (
        ([3, 4.5], [3.0, 4.5]),
        (["3", "4.5"], [3.0, 4.5]),
        (np.array(["1970-01-02T06", "NaT"], dtype="datetime64[h]"), [1.25, np.nan]),
        (stamps, [1.25, np.nan]),
        (stamps.dt.tz_localize("UTC").dt.tz_convert("Europe/Helsinki"), [1.25, np.nan]),
        (["1970-01-02 06:00", "1970-01-03"], [1.25, 2.0]),
        ([datetime.date(1970, 1, 2), datetime.date(1969, 12, 31)], [1.0, -1.0]),
        (pd.Series([7, None], dtype="Int64"), [7.0, np.nan]),
    ):
        np.testing.assert_array_equal(times_of(given, 2), days)
    for wrong in ([True, False], ["spring", "autumn"]):
        with pytest.raises(TypeError, match="times"):
            times_of(wrong, 2)


def test_rows_observed_since_the_fit_help():
    """At times after the training rows only others' labels tell what is shared."""
    x, y, ids, times = rows(0, per_node=60, shock=2.0)
    frame = pd.DataFrame({"u": x[:, 0], "v": x[:, 1], "node": ids, "when": times})
    known, other = times < 50, (times >= 50) & (ids != "b")
    new = (times >= 50) & (ids == "b")
    model = TunedRegressor(EDGES, node="node", time="when").fit(frame[known], y[known])
    assert model.feature_names_in_.tolist() == ["u", "v"]
    blind = model.predict(frame[new])
    told = model.predict(frame[new], observed=(frame[other], y[other]))
    assert np.mean((told - y[new]) ** 2) < 0.3 * np.mean((blind - y[new]) ** 2)
    given = model.predict(frame[new], observed=(frame[["u", "v"]][other], y[other], ids[other], times[other]))
    np.testing.assert_array_equal(given, told)


def test_intervals_and_sets_hold():
    x, y, ids, _ = rows(0)
    new_x, new_y, new_ids, _ = rows(1)
    said, lower, upper = TunedRegressor(EDGES).fit(x, y, nodes=ids).predict(new_x, nodes=new_ids, interval=0.9)
    assert 0.83 <= np.mean((lower <= new_y) & (new_y <= upper)) <= 0.97 and np.all((lower <= said) & (said <= upper))
    model = TunedClassifier(EDGES).fit(x, np.where(y > 0, "up", "down"), nodes=ids)
    said, sets = model.predict(new_x, nodes=new_ids, interval=0.9)
    truth = (new_y > 0).astype(int)
    assert np.mean(sets[np.arange(len(truth)), truth]) >= 0.83
    proba = model.predict_proba(new_x, nodes=new_ids)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(said, model.classes_[(proba[:, 1] > 0.5).astype(int)])
    assert model.score(new_x, np.where(new_y > 0, "up", "down"), nodes=new_ids) > 0.85


def test_columns_of_a_frame_are_groups_and_times():
    x, y, ids, times = rows(0)
    frame = pd.DataFrame({"u": x[:, 0], "v": x[:, 1], "node": ids, "day": times})
    by_name = TunedRegressor(EDGES, node="node", split_by="day", folds=4).fit(frame, y)
    given = TunedRegressor(EDGES, folds=4).fit(frame[["u", "v"]], y, nodes=ids, groups=times)
    assert by_name.recipe_ == given.recipe_ and by_name.cv_error_ == given.cv_error_
    assert "`day`" in by_name.summary_["split"]


def test_bad_input():
    x, y, ids, times = rows(0, per_node=10)
    for wrong, kind in (
        ({"folds": 1}, ParameterError),
        ({"split": "first"}, ParameterError),
        ({"recipe": 3}, ParameterError),
        ({"recipe": "learnt:-1"}, ParameterError),
        ({"recipe": "no such thing"}, ParameterError),
        ({"time": "when"}, ValueError),
        ({"split_by": "day"}, ValueError),
        ({"loss": "logistic"}, ParameterError),
        ({"options": {"penalty": "norm1"}}, ParameterError),
    ):
        with pytest.raises(kind):
            TunedRegressor(EDGES, **wrong).fit(x, y, nodes=ids)
    with pytest.raises(SizeError):
        TunedRegressor(EDGES).fit(x, y, nodes=ids, times=times[:-1])
    with pytest.raises(TypeError, match="times"):
        TunedRegressor(EDGES).fit(x, y, nodes=ids, times=["spring"] * len(y))
    with pytest.raises(FedweaveError, match="row 0 has no time"):
        TunedRegressor(EDGES).fit(x, y, nodes=ids, times=np.full(len(y), np.nan))
    with pytest.raises(LabelError, match="binary"):
        TunedClassifier(EDGES).fit(x, np.arange(len(y)) % 3, nodes=ids)
    model = TunedRegressor(EDGES, recipe="pooled").fit(x, y, nodes=ids)
    with pytest.raises(TypeError, match="observed"):
        model.predict(x, nodes=ids, observed=x)
    with pytest.raises(FedweaveError, match="when"):
        model.predict(x, nodes=ids, observed=(x, y, ids))
