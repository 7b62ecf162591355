"""When rows were observed, as numbers: dates in days, as on the command line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .errors import SizeError

SECONDS_OF_A_DAY = 86_400.0


def times_of(times: Any, rows: int) -> np.ndarray:
    """Numbers as they are; dates, or dates with times of the day, in days since 1970. NaN where a time is missing."""
    if getattr(getattr(times, "dtype", None), "tz", None) is not None:
        times = times.to_numpy(dtype="datetime64[ns]")  # of a zone, by pandas: in universal time
    values = np.asarray(times.to_numpy() if hasattr(times, "to_numpy") else times)
    if values.shape != (rows,):
        raise SizeError(f"times: expected one per row of X, {rows}, found {values.size}", what="times", expected=rows, found=values.size)
    if values.dtype.kind in "iuf":
        return np.ascontiguousarray(values, dtype=np.float64)
    if values.dtype.kind == "U" or (values.dtype.kind == "O" and all(isinstance(value, str) for value in values)):
        # A column of text: numbers if all of them are, else dates.
        try:
            return values.astype(np.float64)
        except ValueError:
            pass
    return _days(values)


def _days(values: np.ndarray) -> np.ndarray:
    """Whole seconds, whatever the unit was, as days."""
    try:
        if values.dtype.kind not in "MOU":
            raise TypeError
        with warnings.catch_warnings():
            # Times of a zone become universal time, which is what is wanted.
            warnings.filterwarnings("ignore", message="no explicit representation of timezones")
            dates = values.astype("datetime64[s]")
    except (TypeError, ValueError):
        raise TypeError(f"times: expected numbers or dates, got {values.tolist()[0]!r}") from None
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64) / SECONDS_OF_A_DAY)
